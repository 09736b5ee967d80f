// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heartbeat.h"
#include "must.h"

static int listen_anywhere(struct sockaddr_in *address)
{
	int listener = must_sys(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	const struct timeval patience = { .tv_sec = JOB_PATIENCE / 1000 };
	socklen_t length = sizeof(*address);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	must_sys(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)),
		 "setsockopt");
	must_sys(bind(listener, (struct sockaddr *)address, length), "bind");
	must_sys(listen(listener, CONNECTIONS), "listen");
	must_sys(getsockname(listener, (struct sockaddr *)address, &length), "getsockname");
	return listener;
}

int main(int argc, char **argv)
{
	struct job_order order = job_order(argc, argv);
	struct heartbeat_client *clients;
	struct sockaddr_in address;
	int listener = listen_anywhere(&address);
	struct job job;
	int go[2];
	int status;

	clients = mmap(NULL, CONNECTIONS * sizeof(*clients), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (clients == MAP_FAILED)
		err(1, "mmap");
	must_sys(pipe(go), "pipe");
	if (!must_sys(fork(), "fork")) {
		close(listener);
		close(go[1]);
		heartbeat_clients(clients, order.seed, &address, go[0]);
		return 0;
	}
	close(go[0]);
	job_start(&job, "heartbeat", &order, UINT16_MAX + 1);
	heartbeat_serve(&job, listener, go[1]);
	must_sys(wait(&status), "wait");
	if (status)
		job_wrong(&job, "the clients failed", status);
	return heartbeat_report(&job, clients);
}
