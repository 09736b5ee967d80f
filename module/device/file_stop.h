/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FILE_STOP_H
#define _HWHEEL_FILE_STOP_H

struct hwheel_file;

long hwheel_file_stop(struct hwheel_file *file);
void hwheel_file_end(struct hwheel_file *file);

#endif /* _HWHEEL_FILE_STOP_H */
