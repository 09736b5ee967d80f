/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may send requests: users of a group, and who has a token. */
#ifndef AUTH_H
#define AUTH_H

#include "http/request.h"

/* Reads the tokens, and finds the group. Returns 0 or a negative errno, and says what is wrong. */
int auth_begin(struct service *service);

/* Reads the tokens again. If they are wrong, says so, and the old ones stay. */
int auth_read_tokens(struct service *service);

/* Answers a request that is not permitted, or beyond a limit. Returns true if it did. */
bool auth_refuse(struct request *request);

#endif /* AUTH_H */
