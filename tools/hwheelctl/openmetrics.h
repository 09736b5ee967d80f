/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of wheels and their histograms as OpenMetrics, which Prometheus reads. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include <stdio.h>

#include "wheels.h"

void openmetrics_print(FILE *stream, const struct wheels *wheels);

#endif /* OPENMETRICS_H */
