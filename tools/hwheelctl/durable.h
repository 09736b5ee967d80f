/* SPDX-License-Identifier: GPL-2.0-only */
/* Timeouts that hwheeld keeps. */
#ifndef DURABLE_H
#define DURABLE_H

/* Prints all of them, as lines of JSON. @socket: or NULL. Returns an exit code. */
int durable_list(const char *socket);

#endif /* DURABLE_H */
