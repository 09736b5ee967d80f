/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_WORKER_H
#define _HWHEEL_WORKER_H

struct hwheel;
struct hwheel_params;

int hwheel_worker_start(struct hwheel *wheel, const struct hwheel_params *params);
unsigned int hwheel_worker_drain(struct hwheel *wheel);
void hwheel_worker_stop(struct hwheel *wheel);

#endif /* _HWHEEL_WORKER_H */
