/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to hwheeld on its Unix socket. The programs here are static, which libcurl cannot be;
 * a request that is alone on its connection, as HTTP/1.0 has it, needs little.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

#define DAEMON_SOCKET	"/run/hwheeld/socket"

struct daemon_answer {
	int status;			/* of HTTP */
	struct json_object *body;	/* or NULL */
	char *text;			/* the body as it came */
};

/*
 * Sends a request and reads the answer, to be freed. @text: that becomes one step of the path,
 * behind @path, or NULL; @header: a whole line, or NULL; @body: taken over, or NULL. Returns 0, or
 * an exit code after a message.
 */
int daemon_ask(const char *socket, const char *method, const char *path, const char *text,
	       const char *header, struct json_object *body, struct daemon_answer *answer);
void daemon_free(struct daemon_answer *answer);

/* Says what the daemon has answered, if that is an error. Returns an exit code. */
int daemon_judge(const char *what, const struct daemon_answer *answer);

#endif /* DAEMON_H */
