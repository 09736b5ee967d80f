// SPDX-License-Identifier: GPL-2.0-only
/*
 * The older text format, which the textfile collector of node_exporter reads, has the same lines,
 * but no type "info": so a gauge tells what each wheel is like. The module does not sum the
 * lateness up, so the histogram has buckets alone.
 */
#include <stdbool.h>

#include "openmetrics.h"

#define WHOLE_TICK	8	/* the bin below which one tick is */

/* A value may have a quotation mark. */
static void print_label(FILE *stream, const char *name, const char *value)
{
	fprintf(stream, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putc('\\', stream);
		putc(*value == '\n' ? ' ' : *value, stream);
	}
	putc('"', stream);
}

static void print_family(FILE *stream, const char *name, const char *type, const char *help)
{
	fprintf(stream, "# TYPE hwheel_%s %s\n# HELP hwheel_%s %s\n", name, type, name, help);
}

static void print_wheels(FILE *stream, const struct wheels *wheels)
{
	print_family(stream, "wheel", "gauge", "a wheel, and what it is like");
	for (size_t i = 0; i < wheels->count; i++) {
		const struct wheel *wheel = &wheels->all[i];

		fputs("hwheel_wheel{", stream);
		print_label(stream, "wheel", wheel->file);
		print_label(stream, ",kind", wheel->kind);
		print_label(stream, ",clock", wheel->clock);
		print_label(stream, ",creator", wheel->creator);
		fputs("} 1\n", stream);
	}
}

static void print_ticks(FILE *stream, const struct wheels *wheels)
{
	print_family(stream, "tick_seconds", "gauge", "the tick of a wheel");
	for (size_t i = 0; i < wheels->count; i++) {
		fputs("hwheel_tick_seconds{", stream);
		print_label(stream, "wheel", wheels->all[i].file);
		fprintf(stream, "} %.9g\n", (double)wheels->all[i].tick_ns / 1e9);
	}
}

static void print_counter(FILE *stream, const struct wheels *wheels,
			  const struct wheel_counter *counter)
{
	bool rises = counter->sort == COUNTER_RISES;

	print_family(stream, counter->name, rises ? "counter" : "gauge", counter->meaning);
	for (size_t i = 0; i < wheels->count; i++) {
		fprintf(stream, "hwheel_%s%s{", counter->name, rises ? "_total" : "");
		print_label(stream, "wheel", wheels->all[i].file);
		fprintf(stream, "} %llu\n",
			(unsigned long long)*wheel_value(&wheels->all[i], counter));
	}
}

static void print_buckets(FILE *stream, const struct wheel *wheel)
{
	double limit = 1.0 / (1 << WHOLE_TICK);
	__u64 sum = 0;

	for (size_t i = 0; i < HWHEEL_LATENESS_BINS; i++, limit *= 2) {
		sum += wheel->lateness[i];
		fputs("hwheel_lateness_ticks_bucket{", stream);
		print_label(stream, "wheel", wheel->file);
		if (i < HWHEEL_LATENESS_BINS - 1)
			fprintf(stream, ",le=\"%.9g\"} ", limit);
		else
			fputs(",le=\"+Inf\"} ", stream);
		fprintf(stream, "%llu\n", (unsigned long long)sum);
	}
}

static void print_lateness(FILE *stream, const struct wheels *wheels)
{
	print_family(stream, "lateness_ticks", "histogram",
		     "how late timeouts expired, in ticks, without mapped ones");
	for (size_t i = 0; i < wheels->count; i++)
		print_buckets(stream, &wheels->all[i]);
}

void openmetrics_print(FILE *stream, const struct wheels *wheels)
{
	print_wheels(stream, wheels);
	print_ticks(stream, wheels);
	for (size_t i = 0; i < wheel_counters_count; i++)
		print_counter(stream, wheels, &wheel_counters[i]);
	print_lateness(stream, wheels);
	fputs("# EOF\n", stream);
}
