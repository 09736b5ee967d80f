/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines for the journal, or for a terminal. No line has a key, a payload or anything else that
 * a client has sent.
 */
#ifndef SAY_H
#define SAY_H

#include <syslog.h>

#define ATTRIBUTE(...)	__attribute__((__VA_ARGS__))

/* @level: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO */
void say(int level, const char *format, ...) ATTRIBUTE(format(printf, 2, 3));

#endif /* SAY_H */
