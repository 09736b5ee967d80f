// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoints' own code, see file_trace.h. */
#define CREATE_TRACE_POINTS
#include "file_trace.h"
