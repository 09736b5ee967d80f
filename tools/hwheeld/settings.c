// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/now.h"
#include "hwheelctl/array.h"
#include "hwheelctl/duration.h"
#include "memory.h"
#include "say.h"
#include "settings.h"
#include "text.h"

#define SETTINGS_DAY	(24 * 3600 * NS_PER_S)
#define SETTINGS_YEAR	(365 * SETTINGS_DAY)

enum settings_sort { TEXT, NUMBER, OCTAL, DURATION, CHOICE };

/* In struct settings: as the sort has it */
union settings_value {
	char *text;
	uint64_t number;
};

static const struct setting {
	const char *name;
	enum settings_sort sort;
	bool reloads;
	size_t offset;
	const char *text;		/* the default, as in the file; or NULL */
	uint64_t least;			/* of numbers */
	uint64_t most;
} settings_known[] = {
#define TEXT_OF(field, text) \
	{ #field, TEXT, false, offsetof(struct settings, field), text, 0, 0 }
#define FIXED(sort, field, text, least, most) \
	{ #field, sort, false, offsetof(struct settings, field), text, least, most }
#define LIVE(sort, field, text, least, most) \
	{ #field, sort, true, offsetof(struct settings, field), text, least, most }
	TEXT_OF(database, "/var/lib/hwheeld/log.sqlite"),
	TEXT_OF(synchronous, "FULL"),
	TEXT_OF(socket, "/run/hwheeld/socket"),
	FIXED(OCTAL, socket_mode, "0660", 0, 0777),
	TEXT_OF(group, NULL),
	TEXT_OF(listen, NULL),
	TEXT_OF(token_file, NULL),
	TEXT_OF(certificate, NULL),
	TEXT_OF(certificate_key, NULL),
	TEXT_OF(etcd, NULL),
	TEXT_OF(etcd_ca, NULL),
	TEXT_OF(etcd_certificate, NULL),
	TEXT_OF(etcd_key, NULL),
	FIXED(NUMBER, etcd_quota, "2147483648", 1 << 24, 1ULL << 40),
	FIXED(CHOICE, etcd_may_lose, "no", 0, 1),
	TEXT_OF(mark, "/var/lib/hwheeld/mark"),
	TEXT_OF(advertise, NULL),
	TEXT_OF(peer_token_file, NULL),
	TEXT_OF(peer_ca, NULL),
	TEXT_OF(cluster, "hwheeld"),
	TEXT_OF(node, NULL),
	FIXED(NUMBER, shards, "16", 1, 4096),
	FIXED(DURATION, session, "3s", NS_PER_S, 60 * NS_PER_S),
	FIXED(DURATION, tick, "10ms", 50000, 60 * NS_PER_S),
	FIXED(NUMBER, timeouts, "2000000", 1, 16000000),
	FIXED(NUMBER, connections, "1024", 1, 65536),
	LIVE(NUMBER, memory, "2147483648", 1 << 20, 1ULL << 40),
	LIVE(NUMBER, queues, "10000", 1, 1000000),
	LIVE(NUMBER, queue_timeouts, "2000000", 1, 16000000),
	LIVE(NUMBER, client_connections, "512", 1, 65536),
	LIVE(NUMBER, queue_polls, "512", 1, 65536),
	LIVE(NUMBER, body, "1048576", 1024, 64 << 20),
	LIVE(NUMBER, payload, "65536", 0, PAYLOAD_MAX),
	LIVE(NUMBER, batch, "1000", 1, 100000),
	LIVE(NUMBER, take, "1000", 1, 100000),
	LIVE(NUMBER, bodies, "67108864", 1 << 20, 1ULL << 32),
	LIVE(DURATION, request_time, "30s", NS_PER_MS, 3600 * NS_PER_S),
	LIVE(DURATION, wait, "60s", 0, 3600 * NS_PER_S),
	LIVE(DURATION, lease, "30s", NS_PER_MS, SETTINGS_DAY),
	LIVE(DURATION, lease_most, "1h", NS_PER_MS, SETTINGS_DAY),
	LIVE(DURATION, delay, "3650d", 0, 100 * SETTINGS_YEAR),
	LIVE(DURATION, grace, "5s", 0, 3600 * NS_PER_S),
};

static union settings_value *settings_at(struct settings *to, const struct setting *setting)
{
	return (union settings_value *)((char *)to + setting->offset);
}

/* Returns NULL, or what is wrong. */
static const char *settings_set(struct settings *to, const struct setting *it, const char *text)
{
	union settings_value *value = settings_at(to, it);
	const char *wrong = NULL;
	uint64_t number = 0;
	__u64 ns = 0;

	switch (it->sort) {
	case TEXT:
		free(value->text);
		value->text = text && *text ? memory_copy(text, strlen(text)) : NULL;
		return NULL;
	case DURATION:
		wrong = duration_parse(text, &ns);
		number = ns;
		break;
	case CHOICE:
		number = !strcmp(text, "yes");
		wrong = number || !strcmp(text, "no") ? NULL : "yes or no is expected";
		break;
	default:
		wrong = text_number(text, it->sort == OCTAL ? 8 : 10, &number) ? NULL :
			"not a number";
	}
	if (!wrong && (number < it->least || number > it->most))
		wrong = "out of range";
	if (!wrong)
		value->number = number;
	return wrong;
}

static char *settings_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static int settings_read_lines(struct settings *to, const char *path, FILE *stream)
{
	const struct setting *it, *end = settings_known + ARRAY_SIZE(settings_known);
	const char *wrong = NULL;
	char line[4096], *name, *value;

	for (unsigned int i = 1; !wrong && fgets(line, sizeof(line), stream); i++) {
		line[strcspn(line, "#")] = 0;
		name = settings_trim(line);
		if (!*name)
			continue;
		value = strchr(name, '=');
		wrong = "NAME = VALUE is expected";
		if (value) {
			*value++ = 0;
			name = settings_trim(name);
			for (it = settings_known; it < end && strcmp(it->name, name); it++)
				;
			wrong = it == end ? "no such setting" :
				settings_set(to, it, settings_trim(value));
		}
		if (wrong)
			say(LOG_ERR, "%s:%u: %s", path, i, wrong);
	}
	return wrong ? -EINVAL : 0;
}

static int settings_check(const struct settings *to)
{
	const char *level = to->synchronous ?: "", *wrong = NULL;

	if (!to->database)
		wrong = "database is needed";
	else if (strcmp(level, "FULL") && strcmp(level, "EXTRA") && strcmp(level, "NORMAL") &&
		 strcmp(level, "OFF"))
		wrong = "synchronous is FULL, EXTRA, NORMAL or OFF";
	else if (!to->socket && !to->listen)
		wrong = "socket or listen is needed";
	else if (to->listen && !to->token_file && !to->peer_token_file)
		wrong = "listen needs token_file";
	else if (to->etcd && (!to->listen || !to->peer_token_file))
		wrong = "etcd needs listen and peer_token_file, for the other nodes";
	else if (to->etcd && !to->mark)
		wrong = "etcd needs mark";
	else if (!to->certificate != !to->certificate_key)
		wrong = "certificate and certificate_key belong together";
	else if (to->lease > to->lease_most)
		wrong = "lease is longer than lease_most";
	if (wrong)
		say(LOG_ERR, "configuration: %s", wrong);
	return wrong ? -EINVAL : 0;
}

static void settings_free(struct settings *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings_known); i++)
		if (settings_known[i].sort == TEXT)
			settings_set(to, &settings_known[i], NULL);
}

int settings_read(struct settings *to, const char *path)
{
	FILE *stream = path ? fopen(path, "re") : NULL;
	int error = 0;

	*to = (struct settings) { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(settings_known); i++)
		settings_set(to, &settings_known[i], settings_known[i].text);
	if (stream) {
		error = settings_read_lines(to, path, stream);
		fclose(stream);
	} else if (path) {
		say(LOG_ERR, "%s: %m", path);
		error = -EINVAL;
	}
	error = error ?: settings_check(to);
	if (error)
		settings_free(to);
	return error;
}

void settings_reload(struct settings *to, struct settings *new)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings_known); i++) {
		const struct setting *it = &settings_known[i];
		union settings_value *was = settings_at(to, it), *is = settings_at(new, it);
		bool differs = it->sort == TEXT ? strcmp(was->text ?: "", is->text ?: "") :
						  was->number != is->number;

		if (it->reloads)
			*was = *is;
		else if (differs)
			say(LOG_WARNING, "configuration: %s needs a restart", it->name);
	}
	settings_free(new);
}
