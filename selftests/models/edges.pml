/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * source.pml with an edge of the source's own, for which the worker runs it while its lists are
 * ASLEEP. The worker's next edge comes only while it polls the source. The wheel is not stopped.
 */
#define FIRST		1
#define SECOND		1
#define EDGES		0
#define OWN_EDGES	1

#include "source.pml"
