/* SPDX-License-Identifier: GPL-2.0-only */
/* Where clients come in: a Unix socket, and TCP. */
#ifndef LISTENER_H
#define LISTENER_H

#include "service.h"

/* Returns 0 or a negative errno, and says what is wrong. */
int listener_begin(struct service *service);

/*
 * New connections have the certificate that is in the files now. Returns 0 or a negative errno,
 * and says what is wrong; then the old one stays.
 */
int listener_read_certificate(struct service *service);

/* Reads requests, and sends answers that are there. */
void listener_run(struct service *service);

/* How long may the loop wait before the next run? 0 if there is an answer to send, -1: for ever */
int listener_wait_ms(struct service *service);

/* No new connections. */
void listener_quiesce(struct service *service);
void listener_end(struct service *service);

#endif /* LISTENER_H */
