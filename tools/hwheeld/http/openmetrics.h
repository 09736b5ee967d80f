/* SPDX-License-Identifier: GPL-2.0-only */
/* GET /metrics: all figures, as OpenMetrics has them. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include "http/request.h"

void openmetrics(struct request *request);

#endif /* OPENMETRICS_H */
