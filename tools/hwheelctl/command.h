/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands. Each reads its own arguments with argp: argv[0] is "hwheelctl COMMAND".
 * They return an exit code, see fail.h.
 */
#ifndef COMMAND_H
#define COMMAND_H

int ack_main(int argc, char **argv);
int arm_main(int argc, char **argv);
int cancel_main(int argc, char **argv);
int export_main(int argc, char **argv);
int import_main(int argc, char **argv);
int info_main(int argc, char **argv);
int list_main(int argc, char **argv);
int load_main(int argc, char **argv);
int put_main(int argc, char **argv);
int stats_main(int argc, char **argv);
int status_main(int argc, char **argv);
int take_main(int argc, char **argv);
int top_main(int argc, char **argv);
int watch_main(int argc, char **argv);

#endif /* COMMAND_H */
