/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients take timeouts that are due, and wait for some if there are none. */
#ifndef TAKE_H
#define TAKE_H

#include "exchange.h"

void take(struct exchange *exchange, const char *queue);

/* Gives what is due to those that wait. */
void take_serve(void);

/* The client has hung up: nobody waits any more. Does nothing if it waits for no timeouts. */
void take_give_up(struct exchange *exchange);

/* Answers all that wait; for the end. */
void take_end(void);

#endif /* TAKE_H */
