/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CLEAN_H
#define CLEAN_H

#include "service.h"

/* Removes old records, if there are enough that mean nothing now. */
void clean(struct service *service);

#endif /* CLEAN_H */
