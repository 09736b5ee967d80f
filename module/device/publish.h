/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_PUBLISH_H
#define _HWHEEL_PUBLISH_H

struct hwheel_file;
struct hwheel_timeout_ops;

extern const struct hwheel_timeout_ops hwheel_publish_ops;

void hwheel_publish_init(struct hwheel_file *file);

#endif /* _HWHEEL_PUBLISH_H */
