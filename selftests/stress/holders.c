// SPDX-License-Identifier: GPL-2.0-only
/*
 * holders PROCESSES EACH: many processes with a file each, every other one on a wheel of its
 * own, that holds EACH pending timeouts, and as many a tenth each that expired and that
 * were just cancelled. Needs CAP_SYS_RESOURCE if that is more than a file may hold.
 *
 * Prints "ready" when all have them, and stays until all are killed, for which they are
 * a process group. Exits with 1 and a line that says what was wrong.
 */

#include "device.h"

#include <sys/wait.h>

#define BATCH	1000

static int open_for(unsigned int max, int own_wheel)
{
	return open_configured((struct hwheel_config){
		.max_timeouts = max,
		.slots = own_wheel ? 4096 : 0,
		.kind = own_wheel ? HWHEEL_KIND_HASHED : HWHEEL_KIND_DEFAULT,
		.clock = CLOCK_MONOTONIC,
	});
}

/* From @first_ns on, a millisecond apart; cancelled at once, if that is to be so. */
static void hold(int fd, unsigned int n, __u64 first_ns, int cancelled)
{
	struct hwheel_op ops[BATCH] = { 0 };
	unsigned int i, size;

	for (; n; n -= size) {
		size = n < BATCH ? n : BATCH;
		for (i = 0; i < size; i++)
			ops[i] = (struct hwheel_op){
				.op = HWHEEL_OP_ARM,
				.time_ns = first_ns ? first_ns + (n - i) * SEC / 1000 : 0,
			};
		submit(fd, ops, size);
		for (i = 0; i < size; i++)
			ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_CANCEL, .id = ops[i].id };
		if (cancelled)
			submit(fd, ops, size);
	}
}

static void be_one(int index, unsigned int each, int ready)
{
	int fd = open_for(each + each / 10 * 2, index & 1);

	hold(fd, each / 10, 0, 0);
	hold(fd, each, HOUR, 0);
	hold(fd, each / 10, HOUR, 1);
	if (write(ready, "", 1) != 1)
		err(1, "write");
	while (1)
		pause();
}

/* Fails when one of them ended. */
static void await(int ready, int processes)
{
	char byte;
	int i;

	for (i = 0; i < processes; i++)
		if (read(ready, &byte, 1) != 1 || waitpid(-1, NULL, WNOHANG))
			errx(1, "not all are there");
}

int main(int argc, char **argv)
{
	int processes = argc == 3 ? atoi(argv[1]) : 0, ready[2], i;
	unsigned int each = argc == 3 ? atoi(argv[2]) : 0;

	if (processes < 1 || each < 1) {
		printf("usage: holders PROCESSES EACH\n");
		return 1;
	}
	setpgid(0, 0);
	if (pipe(ready))
		err(1, "pipe");
	for (i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid)
			be_one(i, each, ready[1]);
	}
	close(ready[1]);
	await(ready[0], processes);
	printf("ready\n");
	fflush(stdout);
	while (1)
		pause();
}
