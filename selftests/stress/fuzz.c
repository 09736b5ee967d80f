// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz [CALLS [THREADS [SEED]]]: calls /dev/hwheel at random, with valid and invalid
 * arguments, and checks all that it answers against what the device is said to do.
 *
 * Each thread has some files for itself, of which it knows exactly what they hold, and
 * shares others with all threads. Files are closed and opened anew all the time, half of
 * them after it was seen that nothing is left in them; children hold them meanwhile, and so
 * do mappings of their records, which a thread of its own scribbles over. Threads
 * interrupt each other with signals. Half of the threads have no CAP_SYS_RESOURCE.
 *
 * A thread's choices come from SEED and its number alone; how the threads meet, and what
 * the device answers, is up to the machine. An outcome may therefore be missing after
 * CALLS calls: the threads begin another round then.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest.h"

#include "fuzzer/call.h"
#include "fuzzer/scribble.h"

#define MAX_THREADS	64
#define OWN		3
#define SHARED		4
#define PATIENCE_S	120
#define FEW_CALLS	100000
#define MAX_ROUNDS	20

/**
 * struct thread - a thread that calls
 * @thread:  itself
 * @caller:  what it calls with
 * @own:     the files that it has for itself
 * @child:   a process that has been forked; 0 if there is none
 */
struct thread {
	pthread_t	thread;
	struct caller	caller;
	struct file	*own[OWN];
	pid_t		child;
};

static struct thread threads[MAX_THREADS];
static unsigned int nr_threads = 4;
static unsigned long nr_calls = FEW_CALLS;
static unsigned long calls_each;	/* of a thread, in all rounds so far */
static __u64 seed;

static struct file *shared[SHARED];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static __thread struct caller *self;

static void on_signal(int signal)
{
	(void)signal;
	if (self)
		__atomic_fetch_add(&self->signals, 1, __ATOMIC_RELAXED);
}

/* Files */

static struct file *file_open(struct caller *c, bool is_shared)
{
	struct file *file = calloc(1, sizeof(*file));
	struct hwheel_info info;

	if (!file)
		ksft_exit_fail_msg("no memory\n");
	file->refs = 1;
	file->blocking = random_chance(&c->rnd, 2);
	file->fd = open("/dev/hwheel", O_RDWR | O_CLOEXEC | (file->blocking ? 0 : O_NONBLOCK));
	tally_note(&c->tally, CALL_OPEN, file->fd < 0 ? -errno : 0);
	if (file->fd < 0 || ioctl(file->fd, HWHEEL_IOC_INFO, &info))
		ksft_exit_fail_msg("/dev/hwheel: %s\n", strerror(errno));
	if (model_init(&file->model, &info, is_shared))
		ksft_exit_fail_msg("no memory\n");
	c->limit = info.max_timeouts;
	if (random_chance(&c->rnd, 2))
		call_config(c, file);
	if (random_chance(&c->rnd, 4))
		call_map(c, file);
	return file;
}

/* Nobody else uses it. */
static void file_close(struct caller *c, struct file *file)
{
	if (random_chance(&c->rnd, 2))
		call_to_the_end(c, file);
	if (random_chance(&c->rnd, 2))
		call_unmap(file);
	close(file->fd);
	call_unmap(file);
	records_free(&file->records);
	model_free(&file->model);
	free(file);
}

static void file_put(struct caller *c, struct file *file)
{
	if (!__atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL))
		file_close(c, file);
}

static struct file *shared_get(unsigned int i)
{
	struct file *file;

	pthread_mutex_lock(&shared_lock);
	file = shared[i];
	__atomic_fetch_add(&file->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&shared_lock);
	return file;
}

/* Unless another thread has done so */
static void shared_replace(struct caller *c, unsigned int i, struct file *old)
{
	struct file *file = file_open(c, true);

	pthread_mutex_lock(&shared_lock);
	if (shared[i] == old)
		shared[i] = file;
	else
		old = file;
	pthread_mutex_unlock(&shared_lock);
	file_put(c, old);
}

/* Children */

/* Looks at each file, and changes nothing that the parent would not know of. */
static bool look_at(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct hwheel_op op = { .id = 1ULL << 32 };
	struct hwheel_file_stats stats;
	struct hwheel_info info;
	bool query;

	query = ioctl(fd, HWHEEL_IOC_QUERY, &op) >= 0 || errno == ENOENT;
	return query && !ioctl(fd, HWHEEL_IOC_INFO, &info) && poll(&pfd, 1, 0) >= 0 &&
	       !ioctl(fd, HWHEEL_IOC_STATS, &stats) && !close(dup(fd));
}

/* Some stay, and hold the files until they are killed. */
static void child(struct thread *t)
{
	int i, stays = random_chance(&t->caller.rnd, 2);

	for (i = 0; i < OWN; i++)
		if (!look_at(t->own[i]->fd))
			_exit(1);
	for (i = 0; i < SHARED; i++)
		if (!look_at(shared[i]->fd))
			_exit(1);
	while (stays)
		pause();
	_exit(0);
}

static void child_reap(struct thread *t)
{
	int status = 0;

	if (!t->child)
		return;
	kill(t->child, SIGKILL);
	while (waitpid(t->child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) != SIGKILL)
		contradict("a child ended with status %#x", status);
	t->child = 0;
}

static void child_fork(struct thread *t)
{
	child_reap(t);
	t->child = fork();
	if (!t->child)
		child(t);
	if (t->child < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
}

/* Threads */

static const struct action {
	void		(*call)(struct caller *c, struct file *file);
	unsigned int	weight;
} actions[] = {
	{ call_single,	112 },
	{ call_submit,	32 },
	{ call_read,	36 },
	{ call_poll,	16 },
	{ call_epoll,	10 },
	{ call_info,	8 },
	{ call_stats,	10 },
	{ call_config,	5 },
	{ call_unknown,	5 },
	{ call_wait,	8 },
	{ call_stop,	2 },
	{ call_map,	4 },
	{ call_kick,	4 },
	{ call_mmap,	4 },
};

static void act(struct caller *c, struct file *file)
{
	unsigned int choice = random_below(&c->rnd, 256), i = 0;

	while (choice >= actions[i].weight)
		choice -= actions[i++].weight;
	actions[i].call(c, file);
}

/* A file that was stopped is not good for much, nor one that is mapped and shared. */
static unsigned int life(const struct model *model)
{
	if (model->stopped)
		return 20;
	return model->shared && model->layout.records ? 60 : 400;
}

static bool is_over(struct caller *c, const struct file *file)
{
	return file->worn || random_chance(&c->rnd, life(&file->model));
}

static void act_on_own(struct thread *t)
{
	struct file **file = &t->own[random_below(&t->caller.rnd, OWN)];

	if (random_chance(&t->caller.rnd, 2))
		call_records(&t->caller, *file);
	act(&t->caller, *file);
	if (!is_over(&t->caller, *file))
		return;
	file_put(&t->caller, *file);
	*file = file_open(&t->caller, false);
}

static void act_on_shared(struct caller *c)
{
	unsigned int i = random_below(&c->rnd, SHARED);
	struct file *file = shared_get(i);

	act(c, file);
	if (is_over(c, file))
		shared_replace(c, i, file);
	file_put(c, file);
}

static void step(struct thread *t)
{
	struct random *rnd = &t->caller.rnd;

	if (random_chance(rnd, 2))
		act_on_own(t);
	else
		act_on_shared(&t->caller);
	if (random_chance(rnd, 100))
		pthread_kill(threads[random_below(rnd, nr_threads)].thread, SIGUSR1);
	if (random_chance(rnd, 1500))
		child_fork(t);
}

/* Capabilities are each thread's own. Returns whether it has CAP_SYS_RESOURCE then. */
static bool set_privilege(bool privileged)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		ksft_exit_fail_msg("capget: %s\n", strerror(errno));
	if (!privileged)
		data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &header, data))
		ksft_exit_fail_msg("capset: %s\n", strerror(errno));
	return data[0].effective & 1U << CAP_SYS_RESOURCE;
}

static void *run(void *data)
{
	struct thread *t = data;
	struct caller *c = &t->caller;
	int i;

	self = c;
	c->privileged = set_privilege((t - threads) % 2 == 0);
	for (i = 0; i < OWN; i++)
		t->own[i] = file_open(c, false);
	pthread_barrier_wait(&barrier);
	while (c->tally.calls < calls_each && !contradicted())
		step(t);
	/* Nobody gets a signal who is not there any more. */
	pthread_barrier_wait(&barrier);
	child_reap(t);
	for (i = 0; i < OWN; i++)
		file_put(c, t->own[i]);
	self = NULL;
	return NULL;
}

static void caller_init(struct caller *c, __u64 its_seed)
{
	random_seed(&c->rnd, its_seed);
	c->ops = calloc(HWHEEL_SUBMIT_MAX, sizeof(*c->ops));
	c->facts = calloc(HWHEEL_SUBMIT_MAX, sizeof(*c->facts));
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!c->ops || !c->facts || c->epoll < 0 || memory_map(&c->arg) || memory_map(&c->data))
		ksft_exit_fail_msg("no memory\n");
}

static void threads_init(void)
{
	unsigned int i;

	pthread_barrier_init(&barrier, NULL, nr_threads);
	for (i = 0; i < nr_threads; i++)
		caller_init(&threads[i].caller, seed + i);
}

/* What main itself calls comes before the threads, and after them. */
static void threads_start(struct caller *main_caller)
{
	unsigned int i;

	for (i = 0; i < SHARED; i++)
		shared[i] = file_open(main_caller, true);
	calls_each += nr_calls / nr_threads + 1;
	for (i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i].thread, NULL, run, &threads[i]))
			ksft_exit_fail_msg("no thread\n");
}

static unsigned long calls_so_far(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		sum += __atomic_load_n(&threads[i].caller.tally.calls, __ATOMIC_RELAXED);
	return sum;
}

/* As long as there are calls that return, it goes on. */
static void thread_join(struct thread *t)
{
	unsigned long before = 0, calls;
	struct timespec end;

	for (;;) {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += PATIENCE_S;
		if (!pthread_timedjoin_np(t->thread, NULL, &end))
			return;
		calls = calls_so_far();
		printf("# %lu calls\n", calls);
		if (calls == before)
			ksft_exit_fail_msg("no call has returned for long\n");
		before = calls;
	}
}

static void threads_finish(struct caller *main_caller)
{
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		thread_join(&threads[i]);
	for (i = 0; i < SHARED; i++)
		file_put(main_caller, shared[i]);
}

/* The verdict */

static struct tally tally_of_all(const struct caller *main_caller)
{
	struct tally sum = main_caller->tally;
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		tally_add(&sum, &threads[i].caller.tally);
	return sum;
}

static unsigned long parameter(const char *name)
{
	unsigned long value = 0;
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hwheel/parameters/%s", name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/* Names the outcomes that are missing. */
static bool covers(const struct tally *tally)
{
	const struct reach reach = {
		.max_pending = parameter("max_pending"),
		.max_wheels = parameter("max_user_wheels") < nr_threads,
		.unprivileged = nr_threads > 1,
	};

	return tally_covers(tally, &reach);
}

/* The threads' rounds; returns how all of their calls ended. */
static struct tally call_until_covered(struct caller *main_caller)
{
	struct tally tally;
	int rounds = 0;

	do {
		threads_start(main_caller);
		threads_finish(main_caller);
		tally = tally_of_all(main_caller);
	} while (nr_calls >= FEW_CALLS && ++rounds < MAX_ROUNDS && !contradicted() &&
		 !covers(&tally));
	return tally;
}

static void report(const struct tally *tally)
{
	tally_print(tally);
	printf("# operations=%lu\n", tally->calls);
	printf("# %u %% of the ioctls and reads succeeded\n", tally_success_percent(tally));
	ksft_test_result(!contradicted(), "all answers are as described\n");
	ksft_test_result(tally_success_percent(tally) >= 30, "30 %% succeed\n");
	if (nr_calls < FEW_CALLS)
		ksft_test_result_skip("too few calls for each outcome\n");
	else
		ksft_test_result(covers(tally), "each outcome was seen\n");
}

static void parse(int argc, char **argv)
{
	if (argc > 1)
		nr_calls = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		nr_threads = strtoul(argv[2], NULL, 0);
	if (argc > 3)
		seed = strtoull(argv[3], NULL, 0);
	else if (getrandom(&seed, 4, 0) != 4)
		ksft_exit_fail_msg("getrandom: %s\n", strerror(errno));
	if (argc > 4 || !nr_calls || !nr_threads || nr_threads > MAX_THREADS)
		ksft_exit_fail_msg("usage: fuzz [CALLS [THREADS (1 to 64) [SEED]]]\n");
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	static struct caller main_caller;
	struct tally tally;

	ksft_print_header();
	parse(argc, argv);
	ksft_set_plan(3);
	printf("# seed %llu: fuzz %lu %u %llu\n", seed, nr_calls, nr_threads, seed);
	fflush(stdout);
	sigaction(SIGUSR1, &action, NULL);
	caller_init(&main_caller, seed + MAX_THREADS);
	main_caller.privileged = set_privilege(true);
	if (scribble_begin(seed + MAX_THREADS + 1))
		ksft_exit_fail_msg("no thread\n");
	threads_init();
	tally = call_until_covered(&main_caller);
	scribble_end();
	report(&tally);
	ksft_finished();
}
