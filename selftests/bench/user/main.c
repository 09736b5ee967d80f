// SPDX-License-Identifier: GPL-2.0-only
/*
 * user_bench COMMAND: what timeouts cost a program that has them from hwheel, and from
 * others. Prints "bench METRIC IMPL N UNIT VALUE", where N is how many are pending. Run
 * as root where nothing else runs. Commands that count instructions print first how many the
 * machine counts for ten: "check ten_nops 10".
 *
 *   operations        instructions, in a VM that counts them
 *   idle              wake-ups when there is nothing to do; quickest in the same VM
 *   mapped            instructions and calls for mapped timeouts, in the same VM
 *   lives             instructions, with those of the worker, in the same VM
 *   lives_timed       the same in ns
 *   threads           ns for several threads that share a handle
 *   memory            bytes
 *   lateness          of what expires, in ticks
 *   lateness_counted  the same in a VM that counts instructions
 */
#include <err.h>
#include <string.h>

#include "idle.h"
#include "lateness.h"
#include "lives.h"
#include "mapped.h"
#include "memory.h"
#include "operations.h"
#include "threads.h"

static const struct command {
	const char	*name;
	void		(*run)(void);
} commands[] = {
	{ "operations", bench_operations },
	{ "idle", bench_idle },
	{ "mapped", bench_mapped },
	{ "lives", bench_lives },
	{ "lives_timed", bench_lives_timed },
	{ "threads", bench_threads },
	{ "memory", bench_memory },
	{ "lateness", bench_lateness },
	{ "lateness_counted", bench_lateness_counted },
	{ }
};

int main(int argc, char **argv)
{
	const struct command *command;

	for (command = commands; argc == 2 && command->name; command++) {
		if (strcmp(argv[1], command->name))
			continue;
		command->run();
		return 0;
	}
	errx(2, "usage: user_bench COMMAND; the source lists them");
}
