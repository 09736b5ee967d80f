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

static const struct setting {
	const char *name;
	enum settings_sort sort;
	bool reloads;
	size_t offset;
	const char *text;		/* the default of a text, or NULL */
	uint64_t number;		/* and of others, between least and most */
	uint64_t least;
	uint64_t most;
} settings_known[] = {
#define TEXT_OF(field, text) \
	{ #field, TEXT, false, offsetof(struct settings, field), text, 0, 0, 0 }
#define FIXED(sort, field, number, least, most) \
	{ #field, sort, false, offsetof(struct settings, field), NULL, number, least, most }
#define LIVE(sort, field, number, least, most) \
	{ #field, sort, true, offsetof(struct settings, field), NULL, number, least, most }
	TEXT_OF(database, "/var/lib/hwheeld/log.sqlite"),
	TEXT_OF(synchronous, "FULL"),
	TEXT_OF(socket, "/run/hwheeld/socket"),
	FIXED(OCTAL, socket_mode, 0660, 0, 0777),
	TEXT_OF(group, NULL),
	TEXT_OF(listen, NULL),
	TEXT_OF(token_file, NULL),
	TEXT_OF(certificate, NULL),
	TEXT_OF(certificate_key, NULL),
	TEXT_OF(etcd, NULL),
	TEXT_OF(etcd_ca, NULL),
	TEXT_OF(etcd_certificate, NULL),
	TEXT_OF(etcd_key, NULL),
	FIXED(NUMBER, etcd_quota, 2ULL << 30, 1 << 24, 1ULL << 40),
	FIXED(CHOICE, etcd_may_lose, 0, 0, 1),
	TEXT_OF(mark, "/var/lib/hwheeld/mark"),
	TEXT_OF(advertise, NULL),
	TEXT_OF(peer_token_file, NULL),
	TEXT_OF(peer_ca, NULL),
	TEXT_OF(cluster, "hwheeld"),
	TEXT_OF(node, NULL),
	FIXED(NUMBER, shards, 16, 1, 4096),
	FIXED(DURATION, session, 3 * NS_PER_S, NS_PER_S, 3600 * NS_PER_S),
	FIXED(DURATION, tick, 10 * NS_PER_MS, 50000, 60 * NS_PER_S),
	FIXED(NUMBER, timeouts, 2000000, 1, 16000000),
	FIXED(NUMBER, connections, 1024, 1, 65536),
	LIVE(NUMBER, memory, 2ULL << 30, 1 << 20, 1ULL << 40),
	LIVE(NUMBER, queues, 10000, 1, 1000000),
	LIVE(NUMBER, queue_timeouts, 2000000, 1, 16000000),
	LIVE(NUMBER, client_connections, 512, 1, 65536),
	LIVE(NUMBER, queue_polls, 512, 1, 65536),
	LIVE(NUMBER, body, 1 << 20, 1024, 64 << 20),
	LIVE(NUMBER, payload, PAYLOAD_MAX, 0, PAYLOAD_MAX),
	LIVE(NUMBER, batch, 1000, 1, 100000),
	LIVE(NUMBER, take, 1000, 1, 100000),
	LIVE(NUMBER, bodies, 64 << 20, 1 << 20, 1ULL << 32),
	LIVE(DURATION, request_time, 30 * NS_PER_S, NS_PER_MS, 3600 * NS_PER_S),
	LIVE(DURATION, wait, 60 * NS_PER_S, 0, 3600 * NS_PER_S),
	LIVE(DURATION, lease, 30 * NS_PER_S, NS_PER_MS, SETTINGS_DAY),
	LIVE(DURATION, lease_most, 3600 * NS_PER_S, NS_PER_MS, SETTINGS_DAY),
	LIVE(DURATION, delay, 10 * SETTINGS_YEAR, 0, 100 * SETTINGS_YEAR),
	LIVE(DURATION, grace, 5 * NS_PER_S, 0, 3600 * NS_PER_S),
};

static uint64_t *settings_number(struct settings *to, const struct setting *setting)
{
	return (uint64_t *)((char *)to + setting->offset);
}

static char **settings_text(struct settings *to, const struct setting *setting)
{
	return (char **)((char *)to + setting->offset);
}

static void settings_set_text(struct settings *to, const struct setting *setting, const char *text)
{
	char **at = settings_text(to, setting);

	free(*at);
	*at = text && *text ? memory_copy(text, strlen(text)) : NULL;
}

/* Returns NULL, or what is wrong. */
static const char *settings_set(struct settings *to, const char *name, const char *text)
{
	const struct setting *it = settings_known;
	const char *wrong = NULL;
	uint64_t number = 0;
	__u64 ns = 0;

	while (it < settings_known + ARRAY_SIZE(settings_known) && strcmp(it->name, name))
		it++;
	if (it == settings_known + ARRAY_SIZE(settings_known))
		return "no such setting";
	switch (it->sort) {
	case TEXT:
		settings_set_text(to, it, text);
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
		*settings_number(to, it) = number;
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
			wrong = settings_set(to, settings_trim(name), settings_trim(value));
		}
		if (wrong)
			say(LOG_ERR, "%s:%u: %s", path, i, wrong);
	}
	return wrong ? -EINVAL : 0;
}

static int settings_check(const struct settings *to)
{
	static const char levels[] = " FULL NORMAL OFF EXTRA ";
	const char *wrong = NULL;
	char level[16] = "";

	if (to->synchronous)
		snprintf(level, sizeof(level), " %s ", to->synchronous);
	if (!to->database)
		wrong = "database is needed";
	else if (!*level || strchr(to->synchronous, ' ') || !strstr(levels, level))
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
			settings_set_text(to, &settings_known[i], NULL);
}

int settings_read(struct settings *to, const char *path)
{
	FILE *stream = path ? fopen(path, "re") : NULL;
	int error = 0;

	*to = (struct settings) { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(settings_known); i++) {
		if (settings_known[i].sort == TEXT)
			settings_set_text(to, &settings_known[i], settings_known[i].text);
		else
			*settings_number(to, &settings_known[i]) = settings_known[i].number;
	}
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
		bool differs = it->sort == TEXT ?
			       strcmp(*settings_text(to, it) ?: "", *settings_text(new, it) ?: "") :
			       *settings_number(to, it) != *settings_number(new, it);

		if (it->reloads)
			*settings_number(to, it) = *settings_number(new, it);
		else if (differs)
			say(LOG_WARNING, "configuration: %s needs a restart", it->name);
	}
	settings_free(new);
}
