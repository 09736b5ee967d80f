/* SPDX-License-Identifier: GPL-2.0-only */
/* How all nodes are: each one tells of itself. */
#ifndef SURVEY_H
#define SURVEY_H

#include "http/request.h"

/* @object: what this node knows, as show_cluster() makes it; it is completed, and the answer. */
bool survey_pass(struct request *request, struct json_object *object);

#endif /* SURVEY_H */
