// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "libhwheel.h"

#define MODULE	"/sys/module/hwheel"

int fail(const char *what, int error)
{
	fprintf(stderr, "hwheelctl: %s: %s\n", what, strerror(-error));
	return FAILED;
}

/* One that is built into the kernel has the folder, too, as it has parameters, but no state. */
bool module_loaded(void)
{
	FILE *stream = fopen(MODULE "/initstate", "r");
	char state[16] = "";
	bool live;

	if (!stream)
		return !access(MODULE, F_OK);
	live = fgets(state, sizeof(state), stream) && !strcmp(state, "live\n");
	fclose(stream);
	return live;
}

static int fail_not_loaded(void)
{
	fputs("hwheelctl: the hwheel module is not loaded. Load it with\n"
	      "  sudo modprobe hwheel\n"
	      "or, from a build that is not installed, sudo insmod PATH/hwheel.ko\n", stderr);
	return NOT_LOADED;
}

int fail_open(int error)
{
	switch (-error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		if (module_loaded())
			break;
		return fail_not_loaded();
	case EACCES:
	case EPERM:
		fprintf(stderr,
			"hwheelctl: %s is not open to you. Use sudo, or open it to your group with\n"
			"  sudo chgrp \"$(id -gn)\" %s && sudo chmod g+rw %s\n",
			HWHEEL_DEVICE, HWHEEL_DEVICE, HWHEEL_DEVICE);
		return NOT_PERMITTED;
	}
	return fail(HWHEEL_DEVICE, error);
}

int fail_kernel_file(const char *path, const char *type, const char *mount, int error)
{
	if (!module_loaded())
		return fail_not_loaded();
	switch (-error) {
	case EACCES:
	case EPERM:
		fprintf(stderr,
			"hwheelctl: %s is not open to you. It is for root: put sudo before the command\n",
			path);
		return NOT_PERMITTED;
	case ENOENT:
		fprintf(stderr,
			"hwheelctl: there is no %s. If %s is not mounted, mount it with\n"
			"  sudo mount -t %s %s %s\n", path, type, type, type, mount);
		return FAILED;
	}
	return fail(path, error);
}
