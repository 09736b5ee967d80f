// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* One timeout: arm it, wait for it, say how late it came. */
#include <stdio.h>
#include <string.h>

#include "libhwheel.h"

int main(void)
{
	struct hwheel_event event;
	struct hwheel *wheel;
	uint64_t id;
	int error;

	error = hwheel_open(&wheel, HWHEEL_ANYWHERE);
	if (!error)
		error = hwheel_arm(wheel, 250 * 1000 * 1000, 42, &id);
	if (!error && hwheel_next_events(wheel, &event, 1) == 1)
		printf("cookie %llu, %llu ns after its deadline\n", event.cookie,
		       event.fired_ns - event.deadline_ns);
	if (error)
		fprintf(stderr, "hwheel: %s\n", strerror(-error));
	return error ? 1 : hwheel_close(wheel);
}
