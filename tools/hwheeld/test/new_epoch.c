// SPDX-License-Identifier: GPL-2.0-only
/*
 * new_epoch SERVERS CLUSTER SHARDS: gives each shard a new epoch, as a takeover does, and leaves
 * the locks as they are. So the owner cannot know of it but by the check of its next write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADED
#include <zookeeper/zookeeper.h>

static void watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
	(void)handle;
	(void)type;
	(void)state;
	(void)path;
	(void)context;
}

int main(int argc, char **argv)
{
	zhandle_t *handle = NULL;
	char path[256];
	int error;

	zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
	if (argc == 4)
		handle = zookeeper_init(argv[1], watch, 10000, NULL, NULL, 0);
	error = handle ? ZOK : ZBADARGUMENTS;
	while (!error && zoo_state(handle) != ZOO_CONNECTED_STATE)
		usleep(1000);
	for (int i = 0; !error && i < atoi(argv[3]); i++) {
		snprintf(path, sizeof(path), "/%s/shards/%05d", argv[2], i);
		error = zoo_set(handle, path, "another", 7, -1);
	}
	if (error)
		fprintf(stderr, "new_epoch: %s\n", zerror(error));
	if (handle)
		zookeeper_close(handle);
	return error ? 1 : 0;
}
