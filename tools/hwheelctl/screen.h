/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal that text is shown on, whole screens at a time. It is left as it was found,
 * also when a signal ends or stops the program. Where stdout is no terminal, the texts come
 * one after the other.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>

enum screen_event {
	SCREEN_WAITED,		/* the time is over */
	SCREEN_RESIZED,
	SCREEN_QUIT,		/* q was typed, or a signal came */
};

void screen_begin(void);

/* Ends the program by the signal that came, if one did. */
void screen_end(void);

bool screen_is_terminal(void);
int screen_rows(void);

/* Shows as many lines of @text as there are rows, and of each as much as fits */
void screen_show(const char *text);

/* Waits, for @ns at most */
enum screen_event screen_wait(unsigned long long ns);

#endif /* SCREEN_H */
