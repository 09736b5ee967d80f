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

/* A client, in memory that both processes share: the server reads it once the clients have ended */
struct heartbeat_client {
	uint64_t silent_at;	/* after the start; 0: never */
	uint64_t closed;	/* when the server had closed it; 0: not so far */
	unsigned int beats;
	uint16_t port;
	int fd;
};

/*
 * The server: accepts all connections on @listener, writes a byte to @go, then serves until none is
 * left. Only the wheel's events make it close a connection.
 */
void heartbeat_serve(struct job *job, int listener, int go);

/* Prints and returns what heartbeat shows, once the clients have ended */
int heartbeat_report(struct job *job, const struct heartbeat_client *clients);

/*
 * The clients: connect, wait for a byte from @go, then beat. Those that are to
 * fall silent do, the others go on for 3 s, and until the server has closed all
 * the silent ones or has had ample time for it; then they hang up.
 */
void heartbeat_clients(struct heartbeat_client *clients, uint64_t seed,
		       const struct sockaddr_in *server, int go);

/*
 * Times refreshes by hwheel_refresh_at(), or by timerfd_settime(). Returns how many there are in a
 * second. Both get absolute deadlines: an event loop reads the clock once for all that it
 * refreshes, and in an emulated machine, which has no cheap clock, reading it would be most of what
 * is measured.
 */
unsigned int rate_hwheel(void);
unsigned int rate_timerfd(void);

#endif /* DEMO_HEARTBEAT_H */
