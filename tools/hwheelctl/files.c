// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "libhwheel.h"

static void append(struct files *files, const struct open_file *file)
{
	files->all = reallocarray(files->all, files->count + 1, sizeof(*file));
	if (!files->all)
		abort();
	files->all[files->count++] = *file;
}

static void parse_line(struct open_file *file, const char *line)
{
	const char *text = strchr(line, '\t');
	__u64 value = text ? strtoull(text, NULL, 10) : 0;

	if (!strncmp(line, "wheel:", 6))
		file->wheel = value;
	else if (!strncmp(line, "mapped:", 7))
		file->mapped = value;
	else if (!strncmp(line, "pending:", 8))
		file->pending = value;
	else if (!strncmp(line, "events:", 7))
		file->events = value;
	else if (!strncmp(line, "max_timeouts:", 13))
		file->max_timeouts = value;
}

/* It may be closed, or its process be gone, by now. */
static int read_fdinfo(struct open_file *file)
{
	char path[64], line[256];
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", file->pid, file->fd);
	stream = fopen(path, "r");
	if (!stream)
		return -errno;
	file->wheel = 0;
	file->mapped = false;
	while (fgets(line, sizeof(line), stream))
		parse_line(file, line);
	fclose(stream);
	return file->wheel ? 0 : -ENOENT;
}

static int is_device(const char *folder, const char *name)
{
	char path[384], target[sizeof(HWHEEL_DEVICE)];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	length = readlink(path, target, sizeof(target));
	return length == sizeof(HWHEEL_DEVICE) - 1 && !memcmp(target, HWHEEL_DEVICE, length);
}

static void read_process(struct files *files, int pid)
{
	struct open_file file = { .pid = pid };
	struct dirent *entry;
	char folder[64];
	DIR *stream;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
	stream = opendir(folder);
	if (!stream)
		return;
	process_name(pid, file.command);
	while ((entry = readdir(stream))) {
		file.fd = atoi(entry->d_name);
		if (is_device(folder, entry->d_name) && !read_fdinfo(&file))
			append(files, &file);
	}
	closedir(stream);
}

int files_read(struct files *files)
{
	DIR *stream = opendir("/proc");
	struct dirent *entry;

	if (!stream)
		return -errno;
	files->count = 0;
	while ((entry = readdir(stream)))
		if (atoi(entry->d_name) > 0)
			read_process(files, atoi(entry->d_name));
	closedir(stream);
	return 0;
}

void files_free(struct files *files)
{
	free(files->all);
	*files = (struct files){ 0 };
}
