// SPDX-License-Identifier: GPL-2.0-only
/*
 * populate close|stop|exit|kill NR [own]: a file with NR timeouts pending, in all of the
 * wheel's slots and beyond, and what becomes of them:
 *
 *  close  the file is closed, which ends them
 *  stop   STOP hands back each of them; some are read, and the file is closed
 *  exit   the process ends with the file open
 *  kill   another process is killed in the midst of STOP, and the file is closed
 *
 * They are on the default wheel, or on one of the file's own. Needs CAP_SYS_RESOURCE if NR
 * is more than a file may hold. Meanwhile another file on the default wheel goes on.
 *
 * Prints how many were pending and the time it took, one "NAME=VALUE" a line. Exits with
 * 0, or with 1 and a line that says what was wrong.
 */

#include "device.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define BATCH		HWHEEL_SUBMIT_MAX
#define WAIT_MS		60000
#define SPREAD_NS	1000003ULL

static unsigned long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / MSEC;
}

static int open_for(unsigned int nr, bool own)
{
	return open_configured((struct hwheel_config){
		.max_timeouts = nr, .slots = own ? 512 : 0,
		.kind = own ? HWHEEL_KIND_HASHED : HWHEEL_KIND_DEFAULT, .clock = CLOCK_MONOTONIC,
	});
}

/* None expires before the test is long over. */
static void arm_batch(int fd, struct hwheel_op *ops, unsigned int first, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.cookie = first + i,
			.time_ns = HOUR + (first + i) * SPREAD_NS,
		};
	submit(fd, ops, n);
}

static void arm_all(int fd, unsigned int nr)
{
	static struct hwheel_op ops[BATCH];
	unsigned int i, n;

	for (i = 0; i < nr; i += n) {
		n = nr - i < BATCH ? nr - i : BATCH;
		arm_batch(fd, ops, i, n);
	}
}

/* Reads each event once, in parts, and checks its cookie. */
static void read_all(int fd, unsigned int nr)
{
	static struct hwheel_event events[BATCH];
	unsigned char *seen = calloc(nr, 1);
	ssize_t got, i;
	unsigned int n = 0;

	while ((got = read(fd, events, sizeof(events))) > 0) {
		got /= sizeof(*events);
		for (i = 0; i < got; i++)
			if (events[i].type != HWHEEL_EVENT_STOPPED ||
			    events[i].cookie >= nr || seen[events[i].cookie]++)
				errx(1, "an event is not what it should be");
		n += got;
	}
	if (got || n != nr)
		errx(1, "not all events are there");
	free(seen);
}

static void stop_all(int fd, unsigned int nr)
{
	if (ioctl(fd, HWHEEL_IOC_STOP) != (int)nr)
		err(1, "STOP");
	if (get_stats(fd).pending)
		errx(1, "still pending");
	read_all(fd, nr);
	close(fd);
}

/* Another file's timeout fires, however many there are. */
static void use_wheel(int fd)
{
	struct hwheel_event event;

	arm(fd, 0);
	await_event(fd, WAIT_MS);
	if (read(fd, &event, sizeof(event)) != sizeof(event))
		err(1, "read of another file");
}

static pid_t start_stop(int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	if (ioctl(fd, HWHEEL_IOC_STOP) < 0)
		err(1, "STOP");
	while (1)
		pause();
}

/* Kills the process in the midst of STOP. The test looks whether STOP was quicker. */
static void leave_to_kill(int fd)
{
	pid_t pid = start_stop(fd);
	int status;

	while (!get_stats(fd).stopped)
		if (waitpid(pid, &status, WNOHANG))
			errx(1, "it ended before it was killed");
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || status != SIGKILL)
		errx(1, "it was not killed");
	printf("stopped_when_killed=%llu\n", get_stats(fd).stopped);
	close(fd);
}

static void end(const char *how, int fd, unsigned int nr)
{
	if (!strcmp(how, "close"))
		close(fd);
	else if (!strcmp(how, "stop"))
		stop_all(fd, nr);
	else if (!strcmp(how, "kill"))
		leave_to_kill(fd);
	else if (strcmp(how, "exit"))
		errx(1, "not known, see the top of populate.c");
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	unsigned long long start = now_ms(), armed;
	int fd, other;

	if (!nr) {
		printf("usage: populate close|stop|exit|kill NR [own]\n");
		return 1;
	}
	other = open_device();
	fd = open_for(nr, argc > 3);
	arm_all(fd, nr);
	if (get_stats(fd).pending != nr)
		errx(1, "not all are pending");
	use_wheel(other);
	armed = now_ms();
	printf("pending=%u\narmed_in_ms=%llu\n", nr, armed - start);
	end(argv[1], fd, nr);
	printf("ended_in_ms=%llu\n", now_ms() - armed);
	use_wheel(other);
	return 0;
}
