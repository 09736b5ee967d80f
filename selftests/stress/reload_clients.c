// SPDX-License-Identifier: GPL-2.0-only
/*
 * reload_clients THREADS RELOADS: threads that come and go, while somebody loads and unloads
 * the module all the time. Each opens the device, arms what is short and what is long, alone,
 * in batches and in mapped memory, reads what expires, and closes, with all that is still
 * pending. When it has done so some times, it only opens and closes the
 * device, which lets the module go sooner or later, until it is a new one. That the device
 * is not there, or is about to go, is no error; that anything fails on a file which is open
 * is one.
 *
 * Ends when each of them has met so many new devices, known by their inodes, and prints
 * how often what was done. Exits with 0, or with 1 and a line that says what was wrong.
 */

#include "device.h"

#include <pthread.h>
#include <sys/stat.h>

#define MAX_THREADS	64
#define MAX_VISITS	4
#define BATCH		64
#define WAIT_MS		30000

/**
 * struct client - a thread
 * @thread:  itself
 * @rnd:     its random numbers
 * @inode:   of the device that it had last
 * @reloads: how often that was another one
 * @visits:  how often it will use this one
 * @opens:   how often it could open the device
 * @absent:  how often it was not there
 * @armed:   timeouts
 * @read:    events
 */
struct client {
	pthread_t	thread;
	unsigned int	rnd;
	ino_t		inode;
	unsigned long	reloads;
	unsigned int	visits;
	unsigned long	opens;
	unsigned long	absent;
	unsigned long	armed;
	unsigned long	read;
};

static struct client clients[MAX_THREADS];
static unsigned int threads;
static unsigned long reloads;

static void note_device(struct client *c, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat))
		err(1, "fstat");
	c->opens++;
	if (stat.st_ino == c->inode)
		return;
	c->reloads += c->inode != 0;
	c->inode = stat.st_ino;
	c->visits = 1 + rand_r(&c->rnd) % MAX_VISITS;
}

static bool is_absent(int err)
{
	return err == ENOENT || err == ENODEV || err == ENXIO;
}

/* Returns the file, or -1 if there is no device. */
static int open_if_there(struct client *c)
{
	int fd = open("/dev/hwheel", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		note_device(c, fd);
	} else {
		if (!is_absent(errno))
			err(1, "open");
		c->absent++;
	}
	return fd;
}

/* Every other file has a wheel of its own. */
static void configure(struct client *c, int fd)
{
	struct hwheel_config config = {
		.slots = 64, .tick_ns = MSEC, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};

	if (c->opens % 2 && ioctl(fd, HWHEEL_IOC_CONFIG, &config))
		err(1, "CONFIG");
}

static void arm_batch(int fd)
{
	struct hwheel_op ops[BATCH] = { 0 };
	int i;

	for (i = 0; i < BATCH; i++) {
		ops[i].op = HWHEEL_OP_ARM;
		ops[i].time_ns = i % 2 ? i * SEC : i * MSEC / 8;
	}
	submit(fd, ops, BATCH);
}

/* A record that is far, in a file of its own */
static void map_one(struct client *c, struct map *m)
{
	int fd = open_device();

	configure(c, fd);
	make_records(m, fd, 1);
	map_records(m);
	if (arm_record(m, 0, HWHEEL_MAP_NEVER) && map_kick(m))
		err(1, "KICK");
}

/* There is one, sooner or later. */
static void read_some(struct client *c, int fd)
{
	struct hwheel_event events[BATCH];
	ssize_t got, i;

	await_event(fd, WAIT_MS);
	got = read(fd, events, sizeof(events));
	if (got <= 0 || got % sizeof(*events))
		err(1, "read");
	got /= sizeof(*events);
	for (i = 0; i < got; i++)
		if (events[i].fired_ns < events[i].deadline_ns)
			errx(1, "an event was early");
	c->read += got;
}

/* A mapping holds its file, so either the close or the munmap() is the last to let go. */
static void visit(struct client *c, int fd)
{
	struct map m;

	configure(c, fd);
	map_one(c, &m);
	arm(fd, HOUR);
	arm(fd, rand_r(&c->rnd) % (3 * MSEC));
	arm_batch(fd);
	c->armed += 3 + BATCH;
	read_some(c, fd);
	if (c->opens % 3)
		unmap_records(&m);
	close(m.fd);
	close(fd);
	if (c->opens % 3 == 0)
		unmap_records(&m);
}

static void use_device(struct client *c)
{
	int fd = open_if_there(c);

	if (fd < 0)
		return;
	if (!c->visits) {
		close(fd);
		return;
	}
	visit(c, fd);
	c->visits--;
}

static __u64 now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

/*
 * A thread that only opens and closes stays away for much longer than that takes, so that all
 * are away at a time sooner or later, also where everything is slow.
 */
static void *run(void *data)
{
	struct client *c = data;

	while (c->reloads < reloads) {
		__u64 began = now_us(), most = 20000;

		use_device(c);
		if (!c->visits)
			most += 2 * threads * (now_us() - began);
		usleep(rand_r(&c->rnd) % most);
	}
	return NULL;
}

static void print_sums(void)
{
	struct client sum = { 0 };
	unsigned int i;

	for (i = 0; i < threads; i++) {
		sum.opens += clients[i].opens;
		sum.absent += clients[i].absent;
		sum.armed += clients[i].armed;
		sum.read += clients[i].read;
	}
	printf("opens=%lu\nopens_without_device=%lu\narmed=%lu\nread=%lu\n",
	       sum.opens, sum.absent, sum.armed, sum.read);
}

int main(int argc, char **argv)
{
	unsigned int i;

	threads = argc == 3 ? atoi(argv[1]) : 0;
	if (threads < 1 || threads > MAX_THREADS) {
		printf("usage: reload_clients THREADS RELOADS\n");
		return 1;
	}
	reloads = strtoul(argv[2], NULL, 10);
	for (i = 0; i < threads; i++) {
		clients[i].rnd = i + 1;
		if (pthread_create(&clients[i].thread, NULL, run, &clients[i]))
			err(1, "pthread_create");
	}
	for (i = 0; i < threads; i++)
		pthread_join(clients[i].thread, NULL);
	print_sums();
	return 0;
}
