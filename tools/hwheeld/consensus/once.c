// SPDX-License-Identifier: GPL-2.0-only
#include <curl/curl.h>

#include "consensus/once.h"

/* There is a connection. */
static int once_begin_to_send(void *data, char *address, char *own_address, int port, int own_port)
{
	bool *was_sent = data, again = *was_sent;

	*was_sent = true;
	return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

void once_set(void *handle, bool *was_sent)
{
	curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, once_begin_to_send);
	curl_easy_setopt(handle, CURLOPT_PREREQDATA, was_sent);
}
