// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded, for a machine that has no more threads, or no name servers: while the
 * file named by FAIL_SESSION exists, no session with ZooKeeper begins.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADED
#include <zookeeper/zookeeper.h>

zhandle_t *zookeeper_init(const char *servers, watcher_fn watch, int session_ms,
			  const clientid_t *id, void *context, int flags)
{
	zhandle_t *(*next)(const char *servers, watcher_fn watch, int session_ms,
			   const clientid_t *id, void *context, int flags);
	const char *path = getenv("FAIL_SESSION");

	if (path && !access(path, F_OK)) {
		errno = EAGAIN;
		return NULL;
	}
	*(void **)&next = dlsym(RTLD_NEXT, "zookeeper_init");
	return next(servers, watch, session_ms, id, context, flags);
}
