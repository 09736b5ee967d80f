// SPDX-License-Identifier: GPL-2.0-only
/*
 * user_bench COMMAND: the cost of timeouts to a program that has them from hwheel, and from
 * others. Prints measurements, a JSON object in each line; N is how many are pending. Run as root
 * where nothing else runs. All but lives_timed, threads, lateness and server_user are for a VM that
 * counts instructions.
 */
#include <err.h>
#include <string.h>

#include "commands.h"

static const struct command {
	const char	*name;
	void		(*run)(void);
} commands[] = {
	{ "check", bench_check },
	{ "operations", bench_operations },
	{ "common_lone", bench_common_lone },
	{ "common_moves", bench_common_moves },
	{ "accounts", bench_accounts },
	{ "idle", bench_idle },
	{ "mapped", bench_mapped },
	{ "lives", bench_lives },
	{ "lives_timed", bench_lives_timed },
	{ "threads", bench_threads },
	{ "server", bench_server },
	{ "server_user", bench_server_user },
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
