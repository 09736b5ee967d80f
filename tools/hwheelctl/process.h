/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of processes. Each may give itself whatever name it likes, and here it comes to a
 * terminal of root's, or into JSON: so nothing but printable ASCII is left in one.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>

#define PROCESS_NAME	32	/* bytes, with those of kernel threads, which may be cut */

/* Has each other character be a "?" */
void process_clean(char *text);

/* false if it is gone: then @name stays as it was */
bool process_name(int pid, char name[PROCESS_NAME]);

#endif /* PROCESS_H */
