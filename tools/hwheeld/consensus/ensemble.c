// SPDX-License-Identifier: GPL-2.0-only
/*
 * The client library has threads of its own. They only put calls that have ended, and events, on a
 * list, which the loop takes.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock/now.h"
#include "consensus/ensemble.h"
#include "memory.h"
#include "say.h"

/* An event: a call that nobody has made. Without a path it is one of the session. */
struct ensemble_event {
	struct ensemble_call call;
	int state;
	char *path;
};

static struct {
	zhandle_t *handle;
	char *servers;
	char *secret;
	unsigned int session_ms;
	const struct ensemble_events *events;
	int64_t session;		/* that the events have told of */
	bool has_expired;
	int fd;
	struct ensemble_call *ended, **last;	/* under the lock */
	pthread_mutex_t lock;
} ensemble = { .fd = -1, .last = &ensemble.ended, .lock = PTHREAD_MUTEX_INITIALIZER };

void ensemble_post(struct ensemble_call *call)
{
	uint64_t one = 1;

	call->next = NULL;
	pthread_mutex_lock(&ensemble.lock);
	*ensemble.last = call;
	ensemble.last = &call->next;
	pthread_mutex_unlock(&ensemble.lock);
	if (write(ensemble.fd, &one, sizeof(one)) != sizeof(one))
		say(LOG_ERR, "cluster: the loop cannot be woken: %m");
}

static void ensemble_tell_state(int state)
{
	int64_t session;

	if (!ensemble.handle)
		return;
	if (state == ZOO_CONNECTED_STATE) {
		session = zoo_client_id(ensemble.handle)->client_id;
		ensemble.events->connected(session != ensemble.session);
		ensemble.session = session;
	} else if (state == ZOO_EXPIRED_SESSION_STATE) {
		ensemble.has_expired = true;
	} else if (state == ZOO_AUTH_FAILED_STATE) {
		say(LOG_ERR, "cluster: the servers refuse the secret");
	} else {
		ensemble.events->disconnected();
	}
}

static void ensemble_take_event(struct ensemble_call *call)
{
	struct ensemble_event *event = (struct ensemble_event *)call;

	if (event->path)
		ensemble.events->changed(event->path);
	else
		ensemble_tell_state(event->state);
	free(event->path);
	free(event);
}

static void ensemble_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
	struct ensemble_event *event = memory_get(1, sizeof(*event));

	event->call.done = ensemble_take_event;
	event->state = state;
	if (type != ZOO_SESSION_EVENT)
		event->path = memory_copy(path, strlen(path));
	ensemble_post(&event->call);
}

static void ensemble_authorised(int error, const void *data)
{
	if (error && error != ZCLOSING)
		say(LOG_ERR, "cluster: the secret: %s", zerror(error));
}

static int ensemble_connect_servers(void)
{
	ensemble.handle = zookeeper_init(ensemble.servers, ensemble_watch,
					 (int)ensemble.session_ms, NULL, NULL, 0);
	if (!ensemble.handle) {
		say(LOG_ERR, "cluster: no new session with %s: %m", ensemble.servers);
		return -EIO;
	}
	if (ensemble.secret)
		zoo_add_auth(ensemble.handle, "digest", ensemble.secret,
			     (int)strlen(ensemble.secret), ensemble_authorised, NULL);
	return 0;
}

int ensemble_open(const char *servers, unsigned int session_ms, const char *secret,
		  const struct ensemble_events *events)
{
	zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
	ensemble.servers = memory_copy(servers, strlen(servers));
	ensemble.secret = secret ? memory_copy(secret, strlen(secret)) : NULL;
	ensemble.session_ms = session_ms;
	ensemble.events = events;
	ensemble.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ensemble.fd < 0 ? -errno : ensemble_connect_servers();
}

/* A call that ends may make others, and may be freed. */
static void ensemble_finish_calls(void)
{
	struct ensemble_call *call, *next;

	pthread_mutex_lock(&ensemble.lock);
	call = ensemble.ended;
	ensemble.ended = NULL;
	ensemble.last = &ensemble.ended;
	pthread_mutex_unlock(&ensemble.lock);
	for (; call; call = next) {
		struct String_vector names = call->names;

		next = call->next;
		call->done(call);
		deallocate_String_vector(&names);
	}
}

/* Calls that were under way end here. Then the events of that session are over. */
static void ensemble_end_session(void)
{
	zookeeper_close(ensemble.handle);
	ensemble.handle = NULL;
	while (ensemble.ended)
		ensemble_finish_calls();
}

/* Calls without a session end with an error. */
void ensemble_retry(void)
{
	if (!ensemble.handle)
		ensemble_connect_servers();
}

void ensemble_reap(void)
{
	uint64_t events;

	if (read(ensemble.fd, &events, sizeof(events)) < 0)
		return;
	ensemble_finish_calls();
	if (!ensemble.has_expired)
		return;
	ensemble_end_session();
	ensemble.has_expired = false;
	ensemble.events->expired();
	ensemble_retry();
}

void ensemble_close(void)
{
	ensemble_end_session();
	close(ensemble.fd);
	free(ensemble.servers);
	free(ensemble.secret);
}

bool ensemble_wait(unsigned int ms)
{
	for (; ms && zoo_state(ensemble.handle) != ZOO_CONNECTED_STATE; ms--)
		poll(NULL, 0, 1);
	return zoo_state(ensemble.handle) == ZOO_CONNECTED_STATE;
}

bool ensemble_is_lost(int error)
{
	return error == ZCONNECTIONLOSS || error == ZOPERATIONTIMEOUT;
}

int ensemble_fd(void)
{
	return ensemble.fd;
}

int64_t ensemble_session(void)
{
	return ensemble.session;
}

/* The servers decide how long a session is; clocks differ a little. */
uint64_t ensemble_sure_ns(void)
{
	return (uint64_t)zoo_recv_timeout(ensemble.handle) * NS_PER_MS / 10 * 9;
}

const struct ACL_vector *ensemble_acl(void)
{
	return ensemble.secret ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

zhandle_t *ensemble_handle(void)
{
	return ensemble.handle;
}

/* What the library's threads call */

static void ensemble_end(const void *data, int error)
{
	struct ensemble_call *call = (struct ensemble_call *)data;

	call->error = error;
	call->ended_ns = now_clock_ns(CLOCK_BOOTTIME);
	ensemble_post(call);
}

static void ensemble_end_plain(int error, const void *data)
{
	ensemble_end(data, error);
}

static void ensemble_end_text(int error, const char *text, const void *data)
{
	ensemble_end(data, error);
}

static void ensemble_end_stat(int error, const struct Stat *stat, const void *data)
{
	if (stat)
		((struct ensemble_call *)data)->stat = *stat;
	ensemble_end(data, error);
}

static void ensemble_end_value(int error, const char *value, int length, const struct Stat *stat,
			       const void *data)
{
	struct ensemble_call *call = (struct ensemble_call *)data;

	if (!error && length >= 0) {
		call->value = memory_copy(value, (size_t)length);
		call->length = length;
	}
	ensemble_end_stat(error, stat, data);
}

static void ensemble_end_names(int error, const struct String_vector *names, const void *data)
{
	struct ensemble_call *call = (struct ensemble_call *)data;

	if (!error) {
		allocate_String_vector(&call->names, names->count);
		for (int i = 0; i < names->count; i++)
			call->names.data[i] = memory_copy(names->data[i], strlen(names->data[i]));
	}
	ensemble_end(data, error);
}

static void ensemble_begin(struct ensemble_call *call)
{
	call->error = ZOK;
	call->value = NULL;
	call->length = -1;
	call->names = (struct String_vector) { 0 };
}

/* The library did not take it: it did not happen. */
static void ensemble_check(struct ensemble_call *call, int error)
{
	if (error)
		ensemble_end(call, error);
}

void ensemble_create(struct ensemble_call *call, const char *path, const char *value, int mode)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_acreate(ensemble.handle, path, value, (int)strlen(value),
					 ensemble_acl(), mode, ensemble_end_text, call));
}

void ensemble_delete(struct ensemble_call *call, const char *path)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_adelete(ensemble.handle, path, -1, ensemble_end_plain, call));
}

void ensemble_exists(struct ensemble_call *call, const char *path, bool watch)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_aexists(ensemble.handle, path, watch, ensemble_end_stat, call));
}

void ensemble_get(struct ensemble_call *call, const char *path)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_aget(ensemble.handle, path, 0, ensemble_end_value, call));
}

void ensemble_children(struct ensemble_call *call, const char *path, bool watch)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_aget_children(ensemble.handle, path, watch, ensemble_end_names,
					       call));
}

void ensemble_set(struct ensemble_call *call, const char *path, const char *value, int version)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_aset(ensemble.handle, path, value, (int)strlen(value), version,
				      ensemble_end_stat, call));
}

/*
 * zoo_amulti() of ZooKeeper 3.8 frees what it has not allocated if the session has ended, which the
 * library's threads know before the loop does. No session ends while there is a connection.
 */
void ensemble_multi(struct ensemble_call *call, int count, const zoo_op_t *ops,
		    zoo_op_result_t *results)
{
	ensemble_begin(call);
	ensemble_check(call, zoo_state(ensemble.handle) != ZOO_CONNECTED_STATE ? ZINVALIDSTATE :
	      zoo_amulti(ensemble.handle, count, ops, results, ensemble_end_plain, call));
}
