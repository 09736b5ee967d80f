// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl: look at the hwheel module, and try it, from a shell. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "command.h"
#include "fail.h"
#include "state.h"

const char *argp_program_version = "hwheelctl " HWHEEL_VERSION;

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "info",  info_main,  "what the module on this machine can do" },
	{ "arm",   arm_main,   "arm timeouts, wait for them, print how late each came" },
	{ "watch", watch_main, "print what happens to timeouts, as it happens" },
	{ "load",  load_main,  "put load on a wheel, then report how late timeouts were" },
	{ "list",  list_main,  "list the wheels that there are, and who has files open" },
	{ "stats", stats_main, "print statistics of a wheel, with a histogram of lateness" },
	{ "top",   top_main,   "show what goes on, every second" },
	{ "put",   put_main,   "create or restart a durable timeout, which hwheeld keeps" },
	{ "cancel", cancel_main, "cancel a durable timeout" },
	{ "take",  take_main,  "take durable timeouts that are due" },
	{ "ack",   ack_main,   "acknowledge a durable timeout that was taken" },
	{ "export", export_main, "print durable timeouts as lines, for another hwheeld" },
	{ "import", import_main, "put durable timeouts of such lines that are not there" },
	{ "status", status_main, "tell how hwheeld is, and of its queues" },
	{ "help",  NULL,       "print this, or with a COMMAND its options and examples" },
};

#define COMMANDS	ARRAY_SIZE(commands)

static const char doc[] =
"Look at the hwheel kernel module, and try it. Without a COMMAND, show the\n"
"module, the wheels and the files that are open.\n"
"\vDurations are numbers with a unit: 10ns, 100us, 250ms, 1.5s, 2m, 1h, 2d.\n"
"Other numbers may have a letter or an exponent: 100k, 1.5M, 1e6.\n"
"\n"
"First steps:\n"
"  sudo modprobe hwheel             load the module; or: sudo insmod FILE.ko\n"
"  sudo hwheelctl arm 250ms 1s      arm two timeouts and see them expire\n"
"  sudo hwheelctl watch             in another terminal: see what happens\n"
"  sudo hwheelctl load --time 10s   put load on the wheel, see its lateness\n"
"  sudo hwheelctl top               meanwhile, in another terminal\n"
"  sudo hwheelctl stats             what was counted, and a histogram\n"
"\n"
"Exit status: 0 done, 1 it failed, 2 wrong usage, 3 the module is not loaded,\n"
"4 not permitted. `hwheelctl COMMAND --help' has each command's options and\n"
"examples, `man hwheelctl' says more.\n";

static char *command_list(void)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	fputs("Commands:\n", stream);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(stream, "  %-6s %s\n", commands[i].name, commands[i].summary);
	fclose(stream);
	return text;
}

/* The list of commands stands before what is said about them. */
static char *filter_help(int key, const char *text, void *input)
{
	char *list, *whole = NULL;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC || !text)
		return (char *)text;
	list = command_list();
	if (!list || asprintf(&whole, "%s\n%s", list, text) < 0)
		whole = NULL;
	free(list);
	return whole ?: (char *)text;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* The rest of the line is the command's; its messages are to begin with its whole name. */
static int run_command(struct argp_state *state, const char *name)
{
	const struct command *command = find_command(name);
	int first = state->next - 1;
	char *whole;

	if (!command || !command->main)
		argp_error(state, "%s: no such command", name);
	if (asprintf(&whole, "hwheelctl %s", name) < 0)
		abort();
	state->argv[first] = whole;
	state->next = state->argc;
	return command->main(state->argc - first, state->argv + first);
}

/* hwheelctl help COMMAND is hwheelctl COMMAND --help, which ends the program. */
static int run_help(struct argp_state *state)
{
	char *name = state->next < state->argc ? state->argv[state->next] : NULL;

	if (!name || !strcmp(name, "help"))
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	state->argv[state->next - 1] = name;
	state->argv[state->next] = "--help";
	state->argc = state->next + 1;
	return run_command(state, name);
}

static int run(struct argp_state *state, const char *name)
{
	return strcmp(name, "help") ? run_command(state, name) : run_help(state);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	int *status = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		*status = run(state, argument);
		return 0;
	case ARGP_KEY_NO_ARGS:
		*status = state_show();
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Output that could not be printed, as on a full disk, is a failure. */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fputs("hwheelctl: not all of it could be written\n", stderr);
	return status ?: FAILED;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "", 'h', NULL, OPTION_HIDDEN, "As --help", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse, .doc = doc,
		.args_doc = "[COMMAND [ARGUMENT...]]", .help_filter = filter_help,
	};
	int status = DONE;

	argp_err_exit_status = MISUSED;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &status);
	return finish(status);
}
