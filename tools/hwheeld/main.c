// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwheeld: timeouts that outlive programs, the daemon, and the machine's power.
 *
 *	client -> listener -> exchange -> route -> put, cancel, take -> change -> store
 *	                                              |                   |
 *	                          alarm -> life -> timeout, queue <-------+ committed
 *
 * One thread runs all this in a loop, and locks nothing; the store has a thread of its own. A
 * request is suspended until its change is committed, and only then changes what is in memory.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/client.h"
#include "http/exchange.h"
#include "http/listener.h"
#include "http/metrics.h"
#include "http/route.h"
#include "log/replay.h"
#include "loop.h"
#include "queue/change.h"
#include "queue/handover.h"
#include "queue/life.h"
#include "queue/queue.h"
#include "queue/take.h"
#include "say.h"
#include "settings.h"

/* Where the file is if there is no option */
#define CONFIGURATION	"/etc/hwheeld.conf"

/* A lost store is tried again after so long. */
#define RETRY_NS	NS_PER_S

/* The wheel has room for the timeouts of so many nodes. */
#define NODES	4
#define MOST_TIMEOUTS	16777216	/* of an open file, see hwheel(4) */

const char *argp_program_version = "hwheeld " HWHEEL_VERSION;

static const char *configuration = CONFIGURATION;
static struct store *store;
static struct alarm *retry, *last_moment;
static bool stopping, out_of_time, alarms_rang;
static int signals = -1, wall = -1;

/* Sources */

static void note_alarms(struct loop_source *source)
{
	(void)source;
	alarms_rang = true;
}

static void reap_store(struct loop_source *source)
{
	(void)source;
	store->ops->reap(store);
	if (now_has_jumped())
		life_time_has_jumped();
}

/* It is set to the largest time that the kernel takes, and only tells that the clock was set. */
static void watch_wall(void)
{
	struct itimerspec never = { .it_value.tv_sec = (time_t)(INT64_MAX / NS_PER_S) };

	timerfd_settime(wall, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static void wall_was_set(struct loop_source *source)
{
	struct store_time time;
	uint64_t expirations;

	(void)source;
	if (read(wall, &expirations, sizeof(expirations)) >= 0 || errno != ECANCELED)
		return;
	watch_wall();
	now_mark(&time);
	store->ops->mark(store, &time);
	metrics.wall_steps++;
	if (!now_is_shared())
		life_wall_was_set();
}

static void reload(void)
{
	struct settings new;

	if (settings_read(&new, configuration)) {
		say(LOG_WARNING, "the configuration stays as it was");
		return;
	}
	settings_reload(&new);
	say(LOG_NOTICE, "the configuration was read again");
}

static void last_moment_came(void *owner, uint64_t at_ns)
{
	(void)owner;
	(void)at_ns;
	out_of_time = true;
}

static void stop(void)
{
	if (stopping)
		return;
	stopping = true;
	say(LOG_NOTICE, "stopping");
	listener_quiesce();
	exchange_stop();
	take_end();
	alarm_set(&last_moment, now_ns() + settings.grace, last_moment_came, NULL);
}

static void take_signal(struct loop_source *source)
{
	struct signalfd_siginfo info;

	(void)source;
	while (read(signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload();
		else
			stop();
	}
}

static struct loop_source alarms_source = { .ready = note_alarms };
static struct loop_source store_source = { .ready = reap_store };
static struct loop_source wall_source = { .ready = wall_was_set };
static struct loop_source signals_source = { .ready = take_signal };

/* The loop */

static void try_again(void *owner, uint64_t at_ns)
{
	(void)owner;
	(void)at_ns;
	store->ops->recover(store);
}

static void look_after_store(void)
{
	store->ops->flush(store);
	if (store->ops->is_lost(store) && !retry)
		alarm_set(&retry, now_ns() + RETRY_NS, try_again, NULL);
}

static bool is_done(void)
{
	return stopping && (out_of_time || (!exchange_count() && !change_count()));
}

/* Requests go first: the time of one that has come while a commit hung is not over. */
static void take_events(void)
{
	listener_run();
	if (alarms_rang || !alarm_wait_ms())
		alarm_reap();
	alarms_rang = false;
}

/* The shorter one; -1 is for ever. */
static int wait_ms(void)
{
	unsigned int alarm = (unsigned int)alarm_wait_ms();
	unsigned int listener = (unsigned int)listener_wait_ms();

	return (int)(alarm < listener ? alarm : listener);
}

static void run(void)
{
	while (!is_done()) {
		loop_wait(wait_ms());
		take_events();
		do {
			take_serve();
			if (!stopping)
				change_clean();
			look_after_store();
		} while (queue_has_ready());
	}
}

/* Beginning */

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals < 0 ? -errno : 0;
}

static int open_wall(void)
{
	wall = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (wall < 0)
		return -errno;
	watch_wall();
	return 0;
}

static int open_sources(void)
{
	return loop_begin() ?: open_wall() ?:
	       loop_add(alarm_fd(), EPOLLIN, &alarms_source) ?:
	       loop_add(store->ops->fd(store), EPOLLIN, &store_source) ?:
	       loop_add(wall, EPOLLIN, &wall_source) ?:
	       loop_add(signals, EPOLLIN, &signals_source);
}

static struct store *open_zookeeper(void)
{
#ifdef HAS_ZOOKEEPER
	return zk_store_open(&handover_moves);
#else
	say(LOG_ERR, "configuration: this hwheeld was built without ZooKeeper");
	return NULL;
#endif
}

/* Time goes on from what the store knows, before anything is read that is measured in it. */
static int open_store(void)
{
	struct store_time time;
	int error;

	store = settings.zookeeper ? open_zookeeper() :
		sqlite_store_open(settings.database, settings.synchronous);
	if (!store)
		return -EIO;
	store->ops->time(store, &time);
	error = now_begin(&time) ?: store->ops->mark(store, &time) ?: replay(store);
	if (error)
		say(LOG_ERR, "store: it cannot be used: %s", strerror(-error));
	change_begin(store);
	route_begin(store);
	return error;
}

/* Each connection has two alarms at most. A node of a cluster may get the timeouts of others. */
static int open_wheel(void)
{
	uint64_t nodes = settings.zookeeper ? NODES : 1;
	uint64_t count = nodes * settings.timeouts + 2 * settings.connections + 1024;

	if (count < timeout_count() + 2 * settings.connections + 1024)
		count = timeout_count() + 2 * settings.connections + 1024;
	if (count > MOST_TIMEOUTS)
		count = MOST_TIMEOUTS;
	return alarm_open(settings.tick, count);
}

static int begin(void)
{
	int error = getrandom(&hash_seed, sizeof(hash_seed), 0) == sizeof(hash_seed) ? 0 : -EIO;

	error = error ?: open_signals() ?: client_begin() ?: open_store();
	error = error ?: open_wheel() ?: open_sources();
	if (error)
		return error;
	life_arm_all();
	error = listener_begin();
	if (!error)
		say(LOG_NOTICE, "ready, with %zu timeouts", timeout_count());
	return error;
}

/*
 * As it closes, the store ends all changes, which answers their requests. Requests that come since
 * the stop began are not routed: none reaches the store that is gone, and none is suspended, with
 * which libmicrohttpd would not end.
 */
static void end(void)
{
	struct store_time time;

	now_mark(&time);
	store->ops->mark(store, &time);
	client_give_up_all();
	store->ops->close(store);
	listener_run();
	listener_end();
	alarm_close();
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	(void)state;
	if (key != 'c')
		return ARGP_ERR_UNKNOWN;
	configuration = argument;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "config", 'c', "FILE", 0, "Read this file, not " CONFIGURATION, 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Keep timeouts that outlive programs and restarts, and give them to\n"
		       "clients when they are due. hwheeld(8) says more.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (settings_read(&settings, configuration))
		return 2;
	if (begin())
		return 1;
	run();
	end();
	return 0;
}
