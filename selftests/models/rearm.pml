/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stop.pml with callbacks that arm again, which they do while the wheel is stopped, too. One
 * of the users only gives up its reference, as with all of both there are too many states.
 */
#define REARMS		1
#ifndef SMALL
#define SMALL
#endif

#include "stop.pml"
