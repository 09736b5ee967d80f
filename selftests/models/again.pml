/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * timeout.pml, deeper and narrower: one of the users does several things in a row, shutdown
 * among them, so that a timeout goes round its states while the other one is in the midst of an
 * operation. There is one deadline, so words are equal more often. Callbacks do not arm again, nor
 * is there another timeout.
 *
 *	hwheel_shutdown_sync(), end_closing()		module/engine/cancel_sync.c
 *
 * Without these is violated:
 * NO_RECHECK_SHUT: !shut && ...
 * NO_VOID_RELEASE: !listed && filed == 2 && ...
 */
#ifdef NO_RECHECK_SHUT
#define STAYS_SHUT	false
#endif
#ifdef NO_VOID_RELEASE
#define VOIDS		0
#endif

#define HOLDERS		2
#define REARMS		0
#define HAS_TIME	false
#define HAS_DATA	false
#define HAS_SHUTDOWN	true
#define FIRST		1
#define OTHERS		0
#define SECOND		4

#include "timeout.pml"
