/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a request ends: with one of these, which leave the answer for answer_send(). Each takes over
 * @object. A part of another request does not end with answer_text().
 */
#ifndef ANSWER_H
#define ANSWER_H

#include "http/request.h"

void answer(struct request *request, unsigned int status, struct json_object *object);
void answer_empty(struct request *request, unsigned int status);

/* @text is malloc()'s, and taken over. */
void answer_text(struct request *request, unsigned int status, const char *type, char *text,
		 size_t length);

/* @text says what is wrong; nothing of it comes from the client. */
void answer_error(struct request *request, unsigned int status, const char *text);

struct text_wrong;

/* The same for a mistake, with the name that the client has for it */
void answer_wrong(struct request *request, const char *text, const struct text_wrong *wrong);

/* Hands the answer to libmicrohttpd; listener.c does so in the next run. */
enum MHD_Result answer_send(struct request *request);

#endif /* ANSWER_H */
