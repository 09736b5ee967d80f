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
#include "log/record.h"
#include "memory.h"
#include "number.h"
#include "say.h"
#include "settings.h"

#define DATABASE	"/var/lib/hwheeld/log.sqlite"
#define YEAR	(365ULL * 24 * 3600 * NS_PER_S)

struct settings settings;

enum sort { TEXT, NUMBER, OCTAL, DURATION, CHOICE };

static const struct setting {
	const char *name;
	enum sort sort;
	bool reloads;
	size_t offset;
	const char *text;		/* the default of a text, or NULL */
	uint64_t number;		/* and of others, between least and most */
	uint64_t least;
	uint64_t most;
} known[] = {
#define AT(field)	offsetof(struct settings, field)
	{ "database",	     TEXT,     false, AT(database), DATABASE, 0, 0, 0 },
	{ "synchronous",     TEXT,     false, AT(synchronous), "FULL", 0, 0, 0 },
	{ "socket",	     TEXT,     false, AT(socket), "/run/hwheeld/socket", 0, 0, 0 },
	{ "socket_mode",     OCTAL,    false, AT(socket_mode), NULL, 0660, 0, 0777 },
	{ "group",	     TEXT,     false, AT(group), NULL, 0, 0, 0 },
	{ "listen",	     TEXT,     false, AT(listen), NULL, 0, 0, 0 },
	{ "token_file",	     TEXT,     false, AT(token_file), NULL, 0, 0, 0 },
	{ "certificate",     TEXT,     false, AT(certificate), NULL, 0, 0, 0 },
	{ "certificate_key", TEXT,     false, AT(certificate_key), NULL, 0, 0, 0 },
	{ "zookeeper",	     TEXT,     false, AT(zookeeper), NULL, 0, 0, 0 },
	{ "zookeeper_secret_file", TEXT, false, AT(zookeeper_secret_file), NULL, 0, 0, 0 },
	{ "zookeeper_may_lose", CHOICE, false, AT(zookeeper_may_lose), NULL, 0, 0, 1 },
	{ "advertise",	     TEXT,     false, AT(advertise), NULL, 0, 0, 0 },
	{ "peer_token_file", TEXT,     false, AT(peer_token_file), NULL, 0, 0, 0 },
	{ "peer_ca",	     TEXT,     false, AT(peer_ca), NULL, 0, 0, 0 },
	{ "cluster",	     TEXT,     false, AT(cluster), "hwheeld", 0, 0, 0 },
	{ "node",	     TEXT,     false, AT(node), NULL, 0, 0, 0 },
	{ "shards",	     NUMBER,   false, AT(shards), NULL, 256, 1, 4096 },
	{ "session",	     DURATION, false, AT(session), NULL, 3 * NS_PER_S, NS_PER_S,
	  60 * NS_PER_S },
	{ "tick",	     DURATION, false, AT(tick), NULL, 10 * NS_PER_MS, 50000,
	  60 * NS_PER_S },
	{ "timeouts",	     NUMBER,   false, AT(timeouts), NULL, 2000000, 1, 16000000 },
	{ "connections",     NUMBER,   false, AT(connections), NULL, 1024, 1, 65536 },
	{ "memory",	     NUMBER,   true, AT(memory), NULL, 2ULL << 30, 1 << 20, 1ULL << 40 },
	{ "queues",	     NUMBER,   true, AT(queues), NULL, 10000, 1, 1000000 },
	{ "queue_timeouts",  NUMBER,   true, AT(queue_timeouts), NULL, 2000000, 1, 16000000 },
	{ "client_connections", NUMBER, true, AT(client_connections), NULL, 512, 1, 65536 },
	{ "queue_polls",     NUMBER,   true, AT(queue_polls), NULL, 512, 1, 65536 },
	{ "body",	     NUMBER,   true, AT(body), NULL, 1 << 20, 1024, 64 << 20 },
	{ "payload",	     NUMBER,   true, AT(payload), NULL, PAYLOAD_MAX, 0, PAYLOAD_MAX },
	{ "batch",	     NUMBER,   true, AT(batch), NULL, 1000, 1, 100000 },
	{ "take",	     NUMBER,   true, AT(take), NULL, 1000, 1, 100000 },
	{ "bodies",	     NUMBER,   true, AT(bodies), NULL, 64 << 20, 1 << 20, 1ULL << 32 },
	{ "request_time",    DURATION, true, AT(request_time), NULL, 30 * NS_PER_S, NS_PER_MS,
	  3600 * NS_PER_S },
	{ "wait",	     DURATION, true, AT(wait), NULL, 60 * NS_PER_S, 0, 3600 * NS_PER_S },
	{ "lease",	     DURATION, true, AT(lease), NULL, 30 * NS_PER_S, NS_PER_MS,
	  24 * 3600 * NS_PER_S },
	{ "lease_most",	     DURATION, true, AT(lease_most), NULL, 3600 * NS_PER_S, NS_PER_MS,
	  24 * 3600 * NS_PER_S },
	{ "delay",	     DURATION, true, AT(delay), NULL, 10 * YEAR, 0, 100 * YEAR },
	{ "grace",	     DURATION, true, AT(grace), NULL, 5 * NS_PER_S, 0, 3600 * NS_PER_S },
};

#define KNOWN	ARRAY_SIZE(known)

static uint64_t *number_at(struct settings *to, const struct setting *setting)
{
	return (uint64_t *)((char *)to + setting->offset);
}

static char **text_at(struct settings *to, const struct setting *setting)
{
	return (char **)((char *)to + setting->offset);
}

static void set_text(struct settings *to, const struct setting *setting, const char *text)
{
	char **at = text_at(to, setting);

	free(*at);
	*at = text && *text ? memory_copy(text, strlen(text)) : NULL;
}

static void set_defaults(struct settings *to)
{
	*to = (struct settings) { 0 };
	for (size_t i = 0; i < KNOWN; i++) {
		if (known[i].sort == TEXT)
			set_text(to, &known[i], known[i].text);
		else
			*number_at(to, &known[i]) = known[i].number;
	}
}

static const char *set_number(struct settings *to, const struct setting *setting, const char *text)
{
	__u64 number = 0;
	uint64_t parsed = 0;
	const char *wrong;

	if (setting->sort == DURATION) {
		wrong = duration_parse(text, &number);
		parsed = number;
	} else if (setting->sort == CHOICE) {
		parsed = !strcmp(text, "yes");
		wrong = parsed || !strcmp(text, "no") ? NULL : "yes or no is expected";
	} else {
		wrong = number_parse(text, setting->sort == OCTAL ? 8 : 10, &parsed) ? NULL :
			"not a number";
	}
	if (wrong)
		return wrong;
	if (parsed < setting->least || parsed > setting->most)
		return "out of range";
	*number_at(to, setting) = parsed;
	return NULL;
}

static const char *set(struct settings *to, const char *name, const char *value)
{
	for (size_t i = 0; i < KNOWN; i++) {
		if (strcmp(known[i].name, name))
			continue;
		if (known[i].sort != TEXT)
			return set_number(to, &known[i], value);
		set_text(to, &known[i], value);
		return NULL;
	}
	return "no such setting";
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static const char *take_line(struct settings *to, char *line)
{
	char *value;

	line[strcspn(line, "#")] = 0;
	line = trim(line);
	if (!*line)
		return NULL;
	value = strchr(line, '=');
	if (!value)
		return "NAME = VALUE is expected";
	*value++ = 0;
	return set(to, trim(line), trim(value));
}

static int read_lines(struct settings *to, const char *path, FILE *stream)
{
	const char *wrong = NULL;
	char line[4096];

	for (unsigned int i = 1; !wrong && fgets(line, sizeof(line), stream); i++) {
		wrong = take_line(to, line);
		if (wrong)
			say(LOG_ERR, "%s:%u: %s", path, i, wrong);
	}
	return wrong ? -EINVAL : 0;
}

static int check(const struct settings *to)
{
	static const char *const levels[] = { "FULL", "NORMAL", "OFF", "EXTRA" };
	const char *wrong = NULL;
	size_t i = 0;

	while (i < 4 && to->synchronous && strcmp(to->synchronous, levels[i]))
		i++;
	if (!to->database)
		wrong = "database is needed";
	else if (i == 4 || !to->synchronous)
		wrong = "synchronous is FULL, EXTRA, NORMAL or OFF";
	else if (!to->socket && !to->listen)
		wrong = "socket or listen is needed";
	else if (to->listen && !to->token_file && !to->peer_token_file)
		wrong = "listen needs token_file";
	else if (to->zookeeper && (!to->listen || !to->peer_token_file))
		wrong = "zookeeper needs listen and peer_token_file, for the other nodes";
	else if (!to->certificate != !to->certificate_key)
		wrong = "certificate and certificate_key belong together";
	else if (to->lease > to->lease_most)
		wrong = "lease is longer than lease_most";
	if (wrong)
		say(LOG_ERR, "configuration: %s", wrong);
	return wrong ? -EINVAL : 0;
}

int settings_read(struct settings *to, const char *path)
{
	FILE *stream;
	int error = 0;

	set_defaults(to);
	if (path) {
		stream = fopen(path, "re");
		if (!stream) {
			say(LOG_ERR, "%s: %m", path);
			error = -EINVAL;
		} else {
			error = read_lines(to, path, stream);
			fclose(stream);
		}
	}
	error = error ?: check(to);
	if (error)
		settings_free(to);
	return error;
}

void settings_free(struct settings *to)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].sort == TEXT)
			set_text(to, &known[i], NULL);
}

static bool same_text(const char *one, const char *other)
{
	return one == other || (one && other && !strcmp(one, other));
}

void settings_reload(struct settings *new)
{
	for (size_t i = 0; i < KNOWN; i++) {
		const struct setting *it = &known[i];

		if (it->reloads)
			*number_at(&settings, it) = *number_at(new, it);
		else if (it->sort == TEXT ? !same_text(*text_at(&settings, it), *text_at(new, it)) :
					    *number_at(&settings, it) != *number_at(new, it))
			say(LOG_WARNING, "configuration: %s needs a restart", it->name);
	}
	settings_free(new);
}
