/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ONCE_H
#define ONCE_H

#include <stdbool.h>

/*
 * libcurl would send a request again if a kept connection ends without an answer: the server may
 * have done it before, and a second connection that fails must not hide that. The easy handle sends
 * its request once, and *@was_sent, which is false by now, is true from then on. It has to stay as
 * long as the handle does.
 */
void once_set(void *handle, bool *was_sent);

#endif /* ONCE_H */
