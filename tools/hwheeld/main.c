// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheeld: timeouts that outlive programs, the daemon, and the machine's power. README.md has the
 * way of a request. One thread runs all this in a loop, and locks nothing; the store has a thread
 * of its own.
 */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "hash.h"
#include "http/auth.h"
#include "http/listener.h"
#include "log/clean.h"
#include "log/replay.h"
#include "memory.h"
#include "queue/life.h"
#include "queue/room.h"
#include "queue/take.h"
#include "say.h"

/* Where the file is if there is no option */
#define MAIN_CONFIGURATION	"/etc/hwheeld.conf"

/* A lost store is tried again after so long. */
#define MAIN_RETRY_NS	NS_PER_S

/* The wheel has room for the timeouts of so many nodes. */
#define MAIN_NODES	4
#define MAIN_MOST	16777216	/* of an open file, see hwheel(4) */

const char *argp_program_version = "hwheeld " HWHEEL_VERSION;

struct daemon {
	struct service service;		/* what others have; the rest is for beginning and end */
	const char *configuration;
	struct alarm *retry, *last_moment;
	bool is_leaving;
	bool is_out_of_time;
	bool alarms_rang;
	sigset_t ends;			/* signals that end it, and SIGUSR1, for the thread */
	pthread_t early;		/* takes them until clients may come */
	int signals;
	int wall;
	struct loop_source sources[4];
};

/* Sources */

static void main_note_alarms(void *owner)
{
	((struct daemon *)owner)->alarms_rang = true;
}

static void main_reap_store(void *owner)
{
	struct service *service = &((struct daemon *)owner)->service;

	service->store->ops->reap(service->store);
	if (now_has_jumped())
		life_arm_anew(service);
}

/* Set to the largest time that the kernel takes, and readable as the clock was set. */
static void main_watch_wall(const struct daemon *daemon)
{
	struct itimerspec never = { .it_value.tv_sec = (time_t)(INT64_MAX / NS_PER_S) };

	timerfd_settime(daemon->wall, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static void main_mark_time(struct service *service)
{
	struct store_time time;

	now_mark(&time);
	if (service->store->ops->mark)
		service->store->ops->mark(service->store, &time);
}

static void main_wall_was_set(void *owner)
{
	struct daemon *daemon = owner;
	uint64_t expirations;

	if (read(daemon->wall, &expirations, sizeof(expirations)) >= 0 || errno != ECANCELED)
		return;
	main_watch_wall(daemon);
	main_mark_time(&daemon->service);
	daemon->service.metrics.wall_steps++;
	if (!now_is_shared())
		life_arm_anew(&daemon->service);
}

static void main_reload(struct daemon *daemon)
{
	struct service *service = &daemon->service;
	bool is_wrong = auth_read_tokens(service) | listener_read_certificate(service);
	struct settings new;

	if (settings_read(&new, daemon->configuration))
		is_wrong = true;
	else
		settings_reload(&service->settings, &new);
	if (is_wrong)
		say(LOG_WARNING, "what is wrong stays as it was");
	else
		say(LOG_NOTICE, "the configuration was read again");
}

static void main_last_moment(void *owner, uint64_t at_ns)
{
	((struct daemon *)owner)->is_out_of_time = true;
}

/* Other nodes have what this one had, or the time for that is over. */
static void main_stop(struct daemon *daemon)
{
	struct service *service = &daemon->service;

	service->is_stopping = true;
	listener_quiesce(service);
	request_give_up_all(service, REQUEST_STOPPING);
	daemon->is_out_of_time = false;
	alarm_set(&daemon->last_moment, now_ns() + service->settings.grace, main_last_moment,
		  daemon);
}

static void main_leave(struct daemon *daemon)
{
	say(LOG_NOTICE, "stopping");
	daemon->is_leaving = true;
	alarm_set(&daemon->last_moment, now_ns() + daemon->service.settings.grace,
		  main_last_moment, daemon);
}

static void main_take_signal(void *owner)
{
	struct daemon *daemon = owner;
	struct signalfd_siginfo info;

	while (read(daemon->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			main_reload(daemon);
		else if (!daemon->is_leaving)
			main_leave(daemon);
	}
}

/* The loop */

static void main_try_again(void *owner, uint64_t at_ns)
{
	struct store *store = owner;

	store->ops->recover(store);
}

/* Requests go first: the time of one that has come while a commit hung is not over. */
static void main_turn(void *owner)
{
	struct daemon *daemon = owner;
	struct service *service = &daemon->service;
	struct store *store = service->store;
	unsigned int alarm = (unsigned int)alarm_wait_ms();	/* -1 is for ever. */
	unsigned int listener = (unsigned int)listener_wait_ms(service);

	loop_wait(&service->loop, (int)(alarm < listener ? alarm : listener));
	listener_run(service);
	if (daemon->alarms_rang || !alarm_wait_ms())
		alarm_reap();
	daemon->alarms_rang = false;
	do {
		take_serve(service);
		if (!service->is_stopping)
			clean(service);
		store->ops->flush(store);
		if (store->ops->is_lost(store) && !daemon->retry)
			alarm_set(&daemon->retry, now_ns() + MAIN_RETRY_NS, main_try_again, store);
	} while (service->ready && !room_is_full(service));
	/* Answers that are there by now go out before the loop looks for more. */
	if (service->was_resumed)
		listener_run(service);
	if (daemon->is_leaving && !service->is_stopping &&
	    (daemon->is_out_of_time || !store->ops->leave || store->ops->leave(store)))
		main_stop(daemon);
}

static void main_run(struct daemon *daemon)
{
	struct service *service = &daemon->service;

	service->store->turn = main_turn;
	service->store->turn_owner = daemon;
	while (!service->is_stopping ||
	       (!daemon->is_out_of_time && (service->requests || service->changes)))
		main_turn(daemon);
}

/* Beginning */

/* What the beginning waits for may take its time. It promises nothing that an end could break. */
static void *main_end_early(void *data)
{
	const sigset_t *set = data;
	int number;

	if (sigwait(set, &number) || number == SIGUSR1)
		return NULL;
	say(LOG_NOTICE, "stopping before it has begun");
	_exit(0);
}

static int main_open_signals(struct daemon *daemon)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	daemon->ends = set;
	sigaddset(&daemon->ends, SIGUSR1);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &daemon->ends, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon->signals < 0)
		return -errno;
	return -pthread_create(&daemon->early, NULL, main_end_early, &daemon->ends);
}

static int main_open_sources(struct daemon *daemon)
{
	struct loop *loop = &daemon->service.loop;
	struct loop_source *to = daemon->sources;

	daemon->wall = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (daemon->wall < 0)
		return -errno;
	main_watch_wall(daemon);
	return loop_begin(loop) ?:
	       loop_add(loop, alarm_fd(), EPOLLIN, &to[0], main_note_alarms, daemon) ?:
	       loop_add(loop, daemon->service.store->fd, EPOLLIN, &to[1], main_reap_store,
			daemon) ?:
	       loop_add(loop, daemon->wall, EPOLLIN, &to[2], main_wall_was_set, daemon) ?:
	       loop_add(loop, daemon->signals, EPOLLIN, &to[3], main_take_signal, daemon);
}

static struct store *main_open_cluster(struct service *service)
{
#ifdef HAS_CLUSTER
	return cluster_store_open(service);
#else
	say(LOG_ERR, "configuration: this hwheeld was built without libcurl, for several machines");
	return NULL;
#endif
}

/* Time goes on from what the store has, before anything is read that is measured in it. */
static int main_open_store(struct service *service)
{
	const struct settings *settings = &service->settings;
	struct store *store = settings->etcd ? main_open_cluster(service) :
			      sqlite_store_open(settings->database, settings->synchronous);
	struct store_time time = { 0 };
	int error;

	if (!store)
		return -EIO;
	service->store = store;
	if (store->ops->time)
		store->ops->time(store, &time);
	error = now_begin(&time);
	if (!error && store->ops->mark)
		error = store->ops->mark(store, &time);
	error = error ?: replay(service);
	if (store->is_damaged)
		replay_lost(service, 0);
	if (error)
		say(LOG_ERR, "store: it cannot be used: %s", strerror(-error));
	return error;
}

/* Each connection has an alarm. A node of a cluster may get the timeouts of others. */
static int main_open_wheel(const struct service *service)
{
	const struct settings *settings = &service->settings;
	uint64_t count = (settings->etcd ? MAIN_NODES : 1) * settings->timeouts;

	if (count < timeout_count(service))
		count = timeout_count(service);
	count += settings->connections + 1024;
	return alarm_open(settings->tick, count < MAIN_MOST ? count : MAIN_MOST);
}

static int main_begin(struct daemon *daemon)
{
	struct service *service = &daemon->service;
	int error = hash_begin() ?: main_open_signals(daemon) ?: auth_begin(service) ?:
		    main_open_store(service) ?: main_open_wheel(service) ?:
		    main_open_sources(daemon);

	if (error)
		return error;
	replay_arm_all(service);
	pthread_kill(daemon->early, SIGUSR1);
	pthread_join(daemon->early, NULL);
	error = listener_begin(service);
	if (!error)
		say(LOG_NOTICE, "ready, with %zu timeouts", timeout_count(service));
	return error;
}

/*
 * As it closes, the store ends all changes, which answers their requests. Requests that come since
 * the stop began are not routed: none reaches the store that is gone, and none is suspended, with
 * which libmicrohttpd would not end.
 */
static void main_end(struct service *service)
{
	main_mark_time(service);
	request_give_up_all(service, REQUEST_ENDING);
	service->store->ops->close(service->store);
	listener_run(service);
	listener_end(service);
	alarm_close();
}

static error_t main_parse(int key, char *argument, struct argp_state *argp)
{
	if (key != 'c')
		return ARGP_ERR_UNKNOWN;
	*(const char **)argp->input = argument;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "config", 'c', "FILE", 0, "Read this file, not " MAIN_CONFIGURATION, 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = main_parse,
		.doc = "Keep timeouts that outlive programs and restarts, and give them to\n"
		       "clients when they are due. hwheeld(8) says more.",
	};

	struct daemon *daemon;

	/* The reserve is there from the beginning. */
	if (memory_is_short())
		memory_end();
	daemon = memory_get(1, sizeof(*daemon));

	daemon->configuration = MAIN_CONFIGURATION;
	argp_parse(&argp, argc, argv, 0, NULL, &daemon->configuration);
	if (settings_read(&daemon->service.settings, daemon->configuration))
		return 2;
	if (main_begin(daemon))
		return 1;
	main_run(daemon);
	main_end(&daemon->service);
	return 0;
}
