// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon.h"
#include "fail.h"

/* What an answer may have at most: a take has a megabyte of payloads, in which all is escaped */
#define ANSWER_MAX	(64U << 20)

static int fail_connect(const char *path, int error)
{
	if (error == ENOENT || error == ECONNREFUSED) {
		fprintf(stderr, "hwheelctl: hwheeld does not listen at %s. Start it with\n"
			"  sudo systemctl start hwheeld\nor name its socket with --socket\n", path);
		return FAILED;
	}
	fail(path, -error);
	return error == EACCES ? NOT_PERMITTED : FAILED;
}

static int connect_to(const char *path, int *fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return fail(path, -ENAMETOOLONG);
	memcpy(address.sun_path, path, strlen(path) + 1);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return fail("socket", -errno);
	if (!connect(*fd, (struct sockaddr *)&address, sizeof(address)))
		return DONE;
	close(*fd);
	return fail_connect(path, errno);
}

static void print_encoded(FILE *stream, const char *text)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			putc(*text, stream);
		else
			fprintf(stream, "%%%02X", (unsigned char)*text);
	}
}

/* The request as it goes over the wire */
static char *request_text(const char *method, const char *path, const char *text,
			  const char *header, struct json_object *body, size_t *size)
{
	const char *json = body ? json_object_to_json_string(body) : "";
	char *request = NULL;
	FILE *stream = open_memstream(&request, size);

	if (!stream || !json)
		abort();
	fprintf(stream, "%s %s", method, path);
	print_encoded(stream, text ?: "");
	fprintf(stream, " HTTP/1.0\r\nHost: hwheeld\r\n%sContent-Length: %zu\r\n\r\n%s",
		header ?: "", strlen(json), json);
	fclose(stream);
	return request;
}

/* A daemon that does not want all of it has answered, and closed. */
static void send_all(int fd, const char *text, size_t size)
{
	ssize_t sent = 1;

	for (; size && sent > 0; text += sent, size -= (size_t)sent)
		sent = send(fd, text, size, MSG_NOSIGNAL);
}

static char *receive_all(int fd)
{
	size_t length = 0, room = 4096;
	char *text = malloc(room);
	ssize_t got;

	while (text && (got = read(fd, text + length, room - length - 1)) > 0) {
		length += (size_t)got;
		if (length < room - 1)
			continue;
		room *= 2;
		text = room > ANSWER_MAX ? NULL : realloc(text, room);
	}
	if (!text)
		abort();
	text[length] = 0;
	return text;
}

/* A daemon that ends closes connections, too. */
static bool is_whole(const char *text, const char *body)
{
	const char *length = strcasestr(text, "\r\nContent-Length:");

	return !length || length > body ||
	       strtoull(strchr(length, ':') + 1, NULL, 10) <= strlen(body + 4);
}

static int parse(char *text, struct daemon_answer *answer)
{
	char *body = strstr(text, "\r\n\r\n");

	if (!body || sscanf(text, "HTTP/1.%*1d %3d", &answer->status) != 1 ||
	    !is_whole(text, body)) {
		fputs("hwheelctl: hwheeld has ended, or it is something else\n", stderr);
		return FAILED;
	}
	answer->text = strdup(body + 4);
	if (!answer->text)
		abort();
	answer->body = json_tokener_parse(answer->text);
	return DONE;
}

int daemon_ask(const char *socket, const char *method, const char *path, const char *text,
	       const char *header, struct json_object *body, struct daemon_answer *answer)
{
	size_t size = 0;
	char *request = request_text(method, path, text, header, body, &size);
	char *received;
	int fd = -1, status;

	*answer = (struct daemon_answer) { 0 };
	json_object_put(body);
	status = connect_to(socket, &fd);
	if (!status) {
		send_all(fd, request, size);
		received = receive_all(fd);
		status = parse(received, answer);
		free(received);
		close(fd);
	}
	free(request);
	return status;
}

void daemon_free(struct daemon_answer *answer)
{
	json_object_put(answer->body);
	free(answer->text);
}

/* The error comes from the daemon, and not from another client. */
int daemon_judge(const char *what, const struct daemon_answer *answer)
{
	struct json_object *error;
	const char *text = "no reason is given";

	if (answer->status < 300)
		return DONE;
	if (json_object_object_get_ex(answer->body, "error", &error))
		text = json_object_get_string(error);
	fprintf(stderr, "hwheelctl: %s: %s (%d)\n", what, text, answer->status);
	return answer->status == 401 || answer->status == 403 ? NOT_PERMITTED : FAILED;
}
