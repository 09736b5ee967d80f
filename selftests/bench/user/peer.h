/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_PEER_H
#define _USER_BENCH_PEER_H

#include "facility.h"

/**
 * struct peer - something that keeps timeouts inside a program, with absolute deadlines
 * @name:       in the results
 * @has_worker: a wheel's worker has a part in what timeouts cost
 * @shared:     that of the default wheel
 * @open:       makes room for timeouts with numbers below @room
 * @arm:        makes @nr of them from @first on pending, each with its deadline
 * @refresh:    gives them others
 * @set:        optional: gives them others, or arms those that have ended
 * @cancel:     ends them
 * @take:       takes those that have expired, and returns how many
 * @wait:       optional: waits until a tick has begun
 * @pass:       optional: lets time pass as the program does that waits for its timeouts
 * @move:       gives @nr of them, by their numbers, one later deadline
 * @turn:       optional: what the program does in each turn of its loop
 * @inside:     optional: calls @body as the loop calls what has to be done
 * @block:      blocks until one has expired, and takes it
 * @close:      ends all
 *
 * Each has its own loop, which is in what is measured. lives.c needs what stands before @move, and
 * common.c what stands behind.
 */
struct peer {
	const char	*name;
	bool		has_worker;
	bool		shared;
	void		(*open)(unsigned int room, __u64 tick_ns);
	void		(*arm)(unsigned int first, unsigned int nr, const __u64 *deadlines);
	void		(*refresh)(unsigned int first, unsigned int nr, const __u64 *deadlines);
	void		(*set)(unsigned int first, unsigned int nr, const __u64 *deadlines);
	void		(*cancel)(unsigned int first, unsigned int nr);
	unsigned int	(*take)(void);
	void		(*wait)(void);
	void		(*pass)(__u64 ns);
	void		(*move)(const unsigned int *which, unsigned int nr, __u64 deadline);
	void		(*turn)(void);
	void		(*inside)(void (*body)(void));
	void		(*block)(void);
	void		(*close)(void);
};

extern const struct peer library_peer, process_peer, heap_peer, wheel_peer, local_peer;
extern const struct peer libuv_peer, libevent_peer, libev_peer;

/* The timerfd of local_peer, which is open */
int local_fd(void);

/* For common.c only: mapped timeouts on other wheels, and system calls */
extern const struct peer shared_peer, slots_peer, levels_peer;
extern const struct peer timerfd_peer, io_uring_peer;

#endif /* _USER_BENCH_PEER_H */
