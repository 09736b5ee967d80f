// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl top: what goes on, live. Each frame is what two readings differ by. */
#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "command.h"
#include "duration.h"
#include "fail.h"
#include "histogram.h"
#include "option.h"
#include "screen.h"
#include "wheels.h"

#define FIXED_ROWS	22	/* of a frame, without the rows of single wheels */

#define HINT_ROWS	2

/*
 * top prints a hint if a hashed wheel moves so many timeouts a second, and so many for each one
 * that was submitted or expired.
 */
#define MANY_MOVES	1000
#define MOVES_PER_LIFE	4

struct request {
	const char *choice;
	__u64 interval_ns;
	__u64 frames;	/* 0: for ever */
	bool json;
};

/* The two latest readings, and when they were made */
struct samples {
	struct wheels old;
	struct wheels new;
	__u64 old_ns;
	__u64 new_ns;
};

static int take_sample(struct samples *samples, const char *choice)
{
	struct wheels spare = samples->old;

	samples->old = samples->new;
	samples->old_ns = samples->new_ns;
	samples->new = spare;
	samples->new_ns = clock_ns();
	return wheels_read(&samples->new, choice);
}

static struct wheel difference(const struct samples *samples, size_t i)
{
	const struct wheel *wheel = &samples->new.all[i];

	return wheel_since(wheel, wheels_find(&samples->old, wheel->id));
}

static struct wheel sum_of(const struct samples *samples)
{
	struct wheel sum = { .file = "all wheels" };

	for (size_t i = 0; i < samples->new.count; i++) {
		struct wheel one = difference(samples, i);

		wheel_add(&sum, &one);
	}
	return sum;
}

/* At most 6 characters: what is large is rounded, and has a letter. */
static const char *short_number(double value, char text[16])
{
	static const char units[] = " kMGTPE";
	int unit = 0;

	while (value >= 999999.5 || (unit && value >= 9999.5)) {
		value /= 1000;
		unit++;
	}
	if (unit)
		snprintf(text, 16, "%.0f%c", value, units[unit]);
	else
		snprintf(text, 16, "%.0f", value);
	return text;
}

/* A column, right-aligned: what happened, for each second */
static void print_rate(FILE *stream, int width, __u64 count, double seconds)
{
	char text[16];

	fprintf(stream, "%*s", width, short_number(count / seconds, text));
}

static void print_wheel(FILE *stream, const struct wheel *wheel, double seconds)
{
	char text[16];

	fprintf(stream, "%-16.16s%8s", wheel->file, short_number(wheel_pending(wheel), text));
	print_rate(stream, 7, wheel->armed, seconds);
	print_rate(stream, 7, wheel->mapped_drained, seconds);
	print_rate(stream, 9, wheel->expired + wheel->mapped_expired, seconds);
	print_rate(stream, 9, wheel->cancelled_queued + wheel->cancelled_filed, seconds);
	print_rate(stream, 7, wheel->refreshed_later + wheel->refreshed_earlier, seconds);
	print_rate(stream, 7, wheel->wakeups, seconds);
	print_rate(stream, 7, wheel->lag, seconds);
	fputc('\n', stream);
}

static bool is_used(const struct wheel *wheel)
{
	return wheel->armed || wheel->mapped_drained;
}

/* Wheels that were never used, the latest first, are left out where there is no room for all. */
static void print_wheels(FILE *stream, const struct samples *samples, double seconds,
			 int other_rows)
{
	size_t count = samples->new.count, most = count, unused = 0, spare = 0, shown = 0;
	int rows = screen_rows() - other_rows;
	size_t room = rows > 1 ? rows : 1;

	for (size_t i = 0; i < count; i++)
		unused += !is_used(&samples->new.all[i]);
	if (screen_is_terminal() && count > room) {
		spare = count - room;
		most = count - unused > room ? room - 1 : room;
	}
	for (size_t i = 0; i < count && shown < most; i++) {
		struct wheel wheel = difference(samples, i);

		if (!is_used(&samples->new.all[i]) && --unused < spare)
			continue;
		print_wheel(stream, &wheel, seconds);
		shown++;
	}
	if (most < room && shown < count)
		fprintf(stream, "... and %zu more\n", count - shown);
}

/*
 * A hashed wheel looks through a slot when one of its timeouts is due, and moves those that are due
 * in a later revolution. It moves a refreshed timeout as well, at most once for a refresh.
 */
static __u64 moves_without_refresh(const struct wheel *wheel)
{
	__u64 refreshed = wheel->refreshed_later + wheel->refreshed_earlier;

	return wheel->moved > refreshed ? wheel->moved - refreshed : 0;
}

/* The refresh may have come before the interval: then it is among all. */
static __u64 far_moves(const struct wheel *all, const struct wheel *since)
{
	__u64 of_all = moves_without_refresh(all), of_since = moves_without_refresh(since);

	if (strcmp(all->kind, "hashed"))
		return 0;
	return of_all < of_since ? of_all : of_since;
}

static bool are_many(__u64 moves, const struct wheel *since, double seconds)
{
	return moves > MANY_MOVES * seconds &&
	       moves > MOVES_PER_LIFE * (since->drained + since->expired);
}

/* The wheel that makes the most of such moves, and how many; none if these are few */
struct far_mover {
	const struct wheel *wheel;
	__u64 moves;
};

static struct far_mover find_far_mover(const struct samples *samples, double seconds)
{
	struct far_mover found = { 0 };

	for (size_t i = 0; i < samples->new.count; i++) {
		const struct wheel *wheel = &samples->new.all[i];
		struct wheel since = difference(samples, i);
		__u64 moves = far_moves(wheel, &since);

		if (moves > found.moves && are_many(moves, &since, seconds))
			found = (struct far_mover){ .wheel = wheel, .moves = moves };
	}
	return found;
}

static void print_hint(FILE *stream, const struct far_mover *mover, double seconds)
{
	char number[16], turn[DURATION_TEXT];

	if (!mover->moves)
		return;
	fprintf(stream, "%.16s makes %s moves a second of what is due after a turn (%s):\n"
		"levels make these rare, see hwheel(4).\n", mover->wheel->file,
		short_number(mover->moves / seconds, number),
		duration_format(mover->wheel->tick_ns * mover->wheel->slots, turn));
}

static void print_frame(FILE *stream, const struct samples *samples, __u64 interval_ns)
{
	double seconds = (samples->new_ns - samples->old_ns) / 1e9;
	struct far_mover mover = find_far_mover(samples, seconds);
	struct wheel sum = sum_of(samples);
	char text[DURATION_TEXT];

	fprintf(stream, "hwheelctl top: %zu wheel%s, %s%s\n", samples->new.count,
		samples->new.count == 1 ? "" : "s",
		duration_format(interval_ns, text),
		screen_is_terminal() ? " at a time; q quits" : "");
	fprintf(stream, "%-16s%8s%7s%7s%9s%9s%7s%7s%7s\n", "WHEEL", "PENDING", "ARM/s",
		"TAKE/s", "EXPIRE/s", "CANCEL/s", "REFR/s", "WAKE/s", "LAG/s");
	if (samples->new.count > 1)
		print_wheel(stream, &sum, seconds);
	print_wheels(stream, samples, seconds, FIXED_ROWS + (mover.moves ? HINT_ROWS : 0));
	print_hint(stream, &mover, seconds);
	fprintf(stream, "Most so far: %llu submissions in a pass, %llu ticks late\n\n",
		sum.drained_max, sum.lag_max);
	fputs("How late those that expired just now were, in ticks, without mapped ones:\n",
	      stream);
	histogram_print(stream, sum.lateness);
}

static int show_text(const struct samples *samples, __u64 interval_ns)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return FAILED;
	print_frame(stream, samples, interval_ns);
	fclose(stream);
	screen_show(text);
	free(text);
	return DONE;
}

static int show_json(const struct samples *samples)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();

	json_add_number(object, "time_ns", samples->new_ns);
	json_add_number(object, "interval_ns", samples->new_ns - samples->old_ns);
	for (size_t i = 0; i < samples->new.count; i++) {
		struct wheel wheel = difference(samples, i);

		json_object_array_add(array, wheel_json(&wheel));
	}
	json_object_object_add(object, "wheels", array);
	json_print(object);
	return DONE;
}

/* Until the next reading is due. A change of size shows the last reading anew. */
static bool wait_for_next(const struct samples *samples, __u64 interval_ns)
{
	for (__u64 past; (past = clock_ns() - samples->new_ns) < interval_ns;) {
		switch (screen_wait(interval_ns - past)) {
		case SCREEN_QUIT:
			return false;
		case SCREEN_RESIZED:
			if (samples->old.count)
				show_text(samples, interval_ns);
			break;
		case SCREEN_WAITED:
			break;
		}
	}
	return true;
}

static int watch(const struct request *request, struct samples *samples)
{
	__u64 frames = 0;
	int error;

	while (wait_for_next(samples, request->interval_ns)) {
		error = take_sample(samples, request->choice);
		if (error)
			return error;
		if (request->json)
			show_json(samples);
		else
			show_text(samples, request->interval_ns);
		if (++frames == request->frames)
			break;
	}
	return 0;
}

static int run(const struct request *request)
{
	struct samples samples = { 0 };
	int error = take_sample(&samples, request->choice);

	if (error)
		return wheels_fail(request->choice, error);
	if (!request->json && request->frames != 1)
		screen_begin();
	error = watch(request, &samples);
	screen_end();
	wheels_free(&samples.old);
	wheels_free(&samples.new);
	return error ? wheels_fail(request->choice, error) : DONE;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 'i':
		request->interval_ns = option_interval(state, key, argument);
		return 0;
	case 'n':
		request->frames = option_number(state, key, argument);
		return 0;
	case OPTION_ONCE:
		request->frames = 1;
		return 0;
	case OPTION_JSON:
		request->json = true;
		return 0;
	case ARGP_KEY_ARG:
		request->choice = option_wheel(state, argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int top_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "interval", 'i', "DURATION", 0, "How long each look is (default 1s)", 0 },
		{ "count", 'n', "N", 0, "End after N looks", 0 },
		{ "once", OPTION_ONCE, NULL, 0, "One look, as plain text", 0 },
		{ "json", OPTION_JSON, NULL, 0, "Print JSON, a line for each look", 0 },
		{ }
	};
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[WHEEL]",
		.doc = "Show what goes on, every second: what is pending, how many are armed,\n"
		       "expire, are cancelled and refreshed a second, how many records\n"
		       "workers take from mapped memory, how often they wake up, how many ticks\n"
		       "they are late for, and how late timeouts expire. q\n"
		       "quits. WHEEL is a name or number from `hwheelctl list'; without it, all.\n"
		       "\vExamples:\n"
		       "  sudo hwheelctl top\n"
		       "  sudo hwheelctl top u0-2 --interval 250ms\n"
		       "  sudo hwheelctl top --once\n"
		       "  sudo hwheelctl top --json --count 60 >minute.json\n",
	};
	struct request request = { .interval_ns = SEC };

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	return run(&request);
}
