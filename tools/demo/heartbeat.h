/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Heartbeats: 1,000 TCP connections between two processes. A client sends a byte
 * every 100 ms; the server closes a connection on which it has heard nothing for
 * 500 ms. A connection is named by the client's TCP port, which both sides know.
 */
#ifndef DEMO_HEARTBEAT_H
#define DEMO_HEARTBEAT_H

#include <netinet/in.h>

#include "clock.h"
#include "job.h"

#define CONNECTIONS	1000
#define SILENT		100
#define IDLE_TIMEOUT	(500 * MSEC)
#define BEAT		(100 * MSEC)
#define BEATING		(3 * SEC)

/*
 * The server: accepts all connections on @listener, writes a byte to @go, then
 * serves until none is left. What it learns about who is silent it learns from
 * the wheel.
 */
void heartbeat_serve(const struct job_order *order, int listener, int go);

/*
 * The clients: connect, wait for a byte from @go, then beat. Those that are to
 * fall silent do, the others go on for 3 s, and until the server has closed all
 * the silent ones or has had ample time for it; then they hang up.
 */
void heartbeat_clients(const struct job_order *order, const struct sockaddr_in *server,
		       int go);

#endif /* DEMO_HEARTBEAT_H */
