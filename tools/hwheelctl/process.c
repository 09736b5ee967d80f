// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "process.h"

void process_clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

bool process_name(int pid, char name[PROCESS_NAME])
{
	char path[32], line[PROCESS_NAME];
	FILE *stream;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	stream = fopen(path, "r");
	if (!stream)
		return false;
	found = fgets(line, sizeof(line), stream);
	fclose(stream);
	if (!found)
		return false;
	line[strcspn(line, "\n")] = '\0';
	process_clean(line);
	memcpy(name, line, sizeof(line));
	return true;
}
