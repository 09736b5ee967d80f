// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

void module_version(char *version, int size)
{
	FILE *stream = fopen(MODULE "/version", "re");

	version[0] = '\0';
	if (!stream)
		return;
	if (fgets(version, size, stream))
		version[strcspn(version, "\n")] = '\0';
	fclose(stream);
}

static int fail_not_loaded(void)
{
	fputs("hwheelctl: the hwheel module is not loaded. Load it with\n"
	      "  sudo modprobe hwheel\n"
	      "or, from a build that is not installed, sudo insmod PATH/hwheel.ko\n", stderr);
	return NOT_LOADED;
}

/*
 * Finds the group in /etc/group, as other sources need shared libraries of glibc's, and these
 * programs are static. udev takes the group from there, too.
 */
static bool find_group(gid_t gid, char *name, size_t size)
{
	FILE *stream = fopen("/etc/group", "re");
	struct group *group;
	bool found = false;

	while (stream && !found && (group = fgetgrent(stream))) {
		found = group->gr_gid == gid;
		if (found)
			snprintf(name, size, "%s", group->gr_name);
	}
	if (stream)
		fclose(stream);
	return found;
}

/* A device that its group may open needs members; any other one needs a group. */
static int fail_not_permitted(void)
{
	struct stat device;
	char group[64];

	fprintf(stderr, "hwheelctl: %s is not open to you. ", HWHEEL_DEVICE);
	if (!stat(HWHEEL_DEVICE, &device) && (device.st_mode & 060) == 060 && device.st_gid &&
	    find_group(device.st_gid, group, sizeof(group)))
		fprintf(stderr, "Use sudo, or become a member of group %s with\n"
			"  sudo usermod -aG %s \"$USER\"\n"
			"which counts from the next login on\n", group, group);
	else
		fprintf(stderr, "Use sudo, or open it to your group with\n"
			"  sudo chgrp \"$(id -gn)\" %s && sudo chmod g+rw %s\n",
			HWHEEL_DEVICE, HWHEEL_DEVICE);
	return NOT_PERMITTED;
}

/* A container has a /dev of its own, and sees the modules of the machine. */
static int fail_no_device(void)
{
	fputs("hwheelctl: the hwheel module is loaded, but there is no " HWHEEL_DEVICE " here.\n"
	      "A container is given the device when it starts:\n"
	      "  podman run --device " HWHEEL_DEVICE " --group-add keep-groups ...\n"
	      "Elsewhere udev makes it:\n"
	      "  sudo udevadm trigger --sysname-match=hwheel\n", stderr);
	return FAILED;
}

int fail_open(int error)
{
	switch (-error) {
	case ENOENT:
		return module_loaded() ? fail_no_device() : fail_not_loaded();
	case ENODEV:
	case ENXIO:
		if (module_loaded())
			break;
		return fail_not_loaded();
	case EACCES:
	case EPERM:
		return fail_not_permitted();
	}
	return fail(HWHEEL_DEVICE, error);
}

/* A parameter of the module with its value, in a buffer of the caller's */
static const char *setting(const char *parameter, char *text, size_t size)
{
	char path[96], value[32] = "?";
	FILE *stream;

	snprintf(path, sizeof(path), MODULE "/parameters/%s", parameter);
	stream = fopen(path, "re");
	if (stream) {
		if (fgets(value, sizeof(value), stream))
			value[strcspn(value, "\n")] = '\0';
		fclose(stream);
	}
	snprintf(text, size, "%s=%s", parameter, value);
	return text;
}

/* Names the parameter of the module that is the limit, and another one that may be. */
static int fail_limit(const char *what, const char *parameter, const char *other,
		      const char *advice)
{
	char text[64], or[64];

	fprintf(stderr, "hwheelctl: %s: the limit is the module's parameter %s%s%s. %s,\n"
		"or load the module with another limit, as hwheel(4) tells\n",
		what, setting(parameter, text, sizeof(text)), other ? " or " : "",
		other ? setting(other, or, sizeof(or)) : "", advice);
	return FAILED;
}

int fail_arm(const struct hwheel *wheel, const char *what, int error)
{
	struct hwheel_info info;

	/* Of a wheel in hwheelctl itself the module has no limit. */
	if (!hwheel_info(wheel, &info) && info.features & HWHEEL_FEATURE_LOCAL)
		return fail(what, error);
	switch (-error) {
	case ENOSPC:
		return fail_limit(what, "max_timeouts", "max_user_bytes", "Arm less at a time");
	case EDQUOT:
		return fail_limit(what, "max_pending", NULL,
				  "Wait until less is pending (sudo hwheelctl list --files)");
	case ERANGE:
		fprintf(stderr, "hwheelctl: %s: a simple wheel takes no delay beyond its turn,\n"
			"which is tick x slots: take another --kind, a longer --tick or more --slots\n",
			what);
		return FAILED;
	}
	return fail(what, error);
}

int fail_configure(const char *what, int error)
{
	switch (-error) {
	case ENOSPC:
		return fail_limit(what, "max_user_wheels", "max_user_bytes",
				  "End programs that have a wheel (sudo hwheelctl list)");
	case EINVAL:
		fprintf(stderr, "hwheelctl: %s: %s. A wheel takes a tick of 50us to 1h, 1 to\n"
			"1048576 slots, and 2 to 8 levels if it is hierarchical, else 1\n",
			what, strerror(-error));
		return FAILED;
	}
	return fail(what, error);
}

/* A kernel that is locked down keeps even root from what tracing would tell. */
static bool is_locked_down(char *level, size_t size)
{
	FILE *stream = fopen("/sys/kernel/security/lockdown", "re");
	char line[64] = "", *begin, *end;

	if (!stream)
		return false;
	if (!fgets(line, sizeof(line), stream))
		line[0] = '\0';
	fclose(stream);
	begin = strchr(line, '[');
	end = strchr(line, ']');
	if (!begin || !end || !strncmp(begin, "[none]", 6))
		return false;
	snprintf(level, size, "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

static int fail_closed(const char *path)
{
	char level[32];

	if (!geteuid() && is_locked_down(level, sizeof(level)))
		fprintf(stderr, "hwheelctl: %s is closed, even to root: the kernel is locked down\n"
			"(%s), by Secure Boot or lockdown=. hwheelctl list, stats and top need no tracing\n",
			path, level);
	else
		fprintf(stderr, "hwheelctl: %s is not open to you. It is for root:\n"
			"put sudo before the command\n", path);
	return NOT_PERMITTED;
}

int fail_kernel_file(const char *path, const char *type, const char *mount, int error)
{
	if (!module_loaded())
		return fail_not_loaded();
	switch (-error) {
	case EACCES:
	case EPERM:
	case EINVAL:	/* so says tracefs that is locked down */
		return fail_closed(path);
	case ENOENT:
		fprintf(stderr,
			"hwheelctl: there is no %s. If %s is not mounted, mount it with\n"
			"  sudo mount -t %s %s %s\n", path, type, type, type, mount);
		return FAILED;
	}
	return fail(path, error);
}

int fail_module_differs(const char *tracepoint)
{
	char version[64];

	module_version(version, sizeof(version));
	fprintf(stderr, "hwheelctl: the loaded module (hwheel %s) lacks the tracepoint %s,\n"
		"or fields of it, that hwheelctl " HWHEEL_VERSION " reads: one is older. When no\n"
		"program uses the module, load the one that is installed with\n"
		"  sudo modprobe -r hwheel && sudo modprobe hwheel\n", version, tracepoint);
	return FAILED;
}
