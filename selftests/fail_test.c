// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation and each copy of an operation made to fail in turn: the first one in one
 * try, the second one in the next, until one try meets no failure. Each time the call
 * tells the right error or goes without, changes nothing if it failed, and leaves
 * everything usable. So does loading the module, which is removed for that.
 *
 * Needs a kernel with fault injection (fail-nth), kprobes as events, and kmemleak, which
 * looks for what was left behind; debugfs; beside it hwheel.ko, and hwheel_fault.ko for
 * wheels of other modules. Prints for each operation how many failures it met, where, and
 * how it ended.
 * Fields of a record are copied without calls that could be made to fail: instead memory
 * ends before each one in turn.
 */

#include "mapped.h"
#include "threads.h"

#include <sys/mount.h>
#include <sys/syscall.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define MODULE		"/sys/module/hwheel"
#define LIFE		"/sys/module/hwheel_fault/parameters/life"
#define TRIES_MAX	2000
#define BATCH		40
#define EVENTS		3
#define PAGES		16

static int put_to(int fd, const char *value)
{
	return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

/* Sets a file of the kernel's; 0 or a negative errno. */
static int put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = put_to(fd, value);
	close(fd);
	return ret;
}

/*
 * Faults
 */

enum kind { NONE, ALLOCATION, COPY };

static int nth_fd = -1;

/* The N-th allocation or copy of this thread is to fail; 0: none any more. */
static void fail_nth(unsigned int n)
{
	char number[16];
	int len = snprintf(number, sizeof(number), "%u", n);

	/* Turning it off may be what fails, which turns it off. */
	if (write(nth_fd, number, len) != len && n)
		abort();
}

/* Has it? If it counts down as we look, or we are what fails, it has not. */
static bool has_failed(void)
{
	char left[16] = "";
	ssize_t got = pread(nth_fd, left, sizeof(left) - 1, 0);

	fail_nth(0);
	return got > 0 && !atoi(left);
}

/*
 * Where it failed: the kernel does not log allocations that may fail, so what decides on
 * failures is traced, with the stack.
 */
#define NAME_SIZE	64
#define SITE_SIZE	(2 * NAME_SIZE)
#define TRACING		"/sys/kernel/tracing/"
#define PROBES		TRACING "events/hwheel_fail/"

static void clear_trace(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		abort();
	close(fd);
}

static void begin_to_fail(unsigned int n)
{
	clear_trace();
	fail_nth(n);
}

/*
 * When the trace is read, a module that could not be loaded is gone, and so is what its
 * addresses were called. Where its code was is traced too, and what is how far from its
 * beginning is known from a load before.
 */
#define SYMBOLS_MAX	1024

enum { TEXT, INIT_TEXT, TEXTS };

static struct {
	__u64	start;
	__u64	end;
} texts[TEXTS];

static unsigned int nr_texts;

static struct {
	__u64	offset;
	char	name[NAME_SIZE];
} symbols[SYMBOLS_MAX];

static unsigned int nr_symbols;

static void note_symbol(const char *line, __u64 start)
{
	unsigned long long address;
	char type, name[NAME_SIZE];

	if (nr_symbols == SYMBOLS_MAX || !strstr(line, "[hwheel]") ||
	    sscanf(line, "%llx %c %63s", &address, &type, name) != 3 ||
	    (type != 't' && type != 'T') || address < start)
		return;
	symbols[nr_symbols].offset = address - start;
	memcpy(symbols[nr_symbols++].name, name, sizeof(name));
}

/* Of the module, which is loaded */
static void note_symbols(void)
{
	FILE *section = fopen(MODULE "/sections/.text", "re");
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long start;
	char line[512];

	if (section && file && fscanf(section, "%llx", &start) == 1)
		while (fgets(line, sizeof(line), file))
			note_symbol(line, start);
	if (section)
		fclose(section);
	if (file)
		fclose(file);
}

/* The module has its functions at one place, and those for its init at another. */
static void note_text(const char *line)
{
	const char *text = strstr(line, " text: ");
	const char *start = text ? strstr(text, "start=") : NULL;
	unsigned long long at;
	unsigned int pages;

	if (!start || nr_texts == TEXTS || sscanf(start, "start=%llx pages=%u", &at, &pages) != 2)
		return;
	texts[nr_texts].start = at;
	texts[nr_texts++].end = at + pages * 4096ULL;
}

static bool is_in(unsigned int text, __u64 address)
{
	return text < nr_texts && address >= texts[text].start && address < texts[text].end;
}

/* The function of ours at an address, and where it starts; or NULL */
static const char *name_of(__u64 address, __u64 *start)
{
	const char *name = NULL;
	unsigned int i;

	*start = texts[INIT_TEXT].start;
	if (is_in(INIT_TEXT, address))
		return "hwheel_init";
	*start = texts[TEXT].start;
	for (i = 0; is_in(TEXT, address) && i < nr_symbols; i++) {
		__u64 at = texts[TEXT].start + symbols[i].offset;

		if (at > address || at < *start)
			continue;
		*start = at;
		name = symbols[i].name;
	}
	return name;
}

/* As the kernel would write it: nothing if it is not ours */
static void name_address(char *ours, __u64 address)
{
	__u64 start;
	const char *name = name_of(address, &start);

	if (name)
		snprintf(ours, NAME_SIZE, "%.40s+%#llx", name, address - start);
}

/* What opens and reads our files for us: then we are not on the stack. */
static bool is_seq_file(const char *frame)
{
	return !fnmatch("single_open+*", frame, 0) || !fnmatch("seq_read_iter+*", frame, 0);
}

/* Whether a frame of a stack is of a function of ours, and where in it */
static bool is_ours(char *ours, const char *frame)
{
	*ours = '\0';
	if (!strncmp(frame, "0x", 2))
		name_address(ours, strtoull(frame, NULL, 16));
	else if (strstr(frame, " [hwheel") || is_seq_file(frame))
		snprintf(ours, NAME_SIZE, "%.*s", (int)strcspn(frame, "/ "), frame);
	return *ours;
}

/* The first frame of a stack that is ours is the site, with what it @called, the one before. */
static void note_frame(char *site, char *called, const char *line)
{
	const char *frame = strstr(line, "=> ");
	char ours[NAME_SIZE];

	if (site[0] || !frame)
		return;
	frame += strlen("=> ");
	if (is_ours(ours, frame))
		snprintf(site, SITE_SIZE, "%s %s", ours, called);
	else
		snprintf(called, NAME_SIZE, "%.*s", (int)strcspn(frame, " +"), frame);
}

/* Notes the place in a function of ours, or that it was before the kernel called us. */
static bool was_copy(char site[SITE_SIZE])
{
	FILE *trace = fopen(TRACING "trace", "re");
	char line[512], called[NAME_SIZE] = "";
	bool copy = false;

	site[0] = '\0';
	nr_texts = 0;
	while (trace && fgets(line, sizeof(line), trace)) {
		copy |= !!strstr(line, " copy: ");
		note_text(line);
		note_frame(site, called, line);
	}
	if (trace)
		fclose(trace);
	if (!site[0])
		snprintf(site, SITE_SIZE, "(kernel)");
	return copy;
}

static int trace_failures(void)
{
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (!access(PROBES, F_OK))
		return 0;
	/* With the offset it tells of the module. */
	return put(TRACING "options/sym-offset", "1") ?:
	       put(TRACING "kprobe_events",
		   "r:hwheel_fail/any should_fail_ex failed=$retval:u8\n"
		   "r:hwheel_fail/copy should_fail_usercopy failed=$retval:u8\n"
		   "p:hwheel_fail/text set_memory_rox start=$arg1:x64 pages=$arg2:u32\n"
		   "p:hwheel_fail/init do_one_initcall\n") ?:
	       put(PROBES "any/trigger", "stacktrace if failed == 1") ?:
	       put(PROBES "copy/filter", "failed == 1") ?:
	       put(PROBES "copy/enable", "1") ?:
	       put(PROBES "text/enable", "1") ?:
	       put(PROBES "init/enable", "1");
}

/*
 * What keeps most allocations from failing is switched off. The kernel warns of some that
 * fail, with a stack, which on the console would look like a complaint.
 */
static int prepare_faults(void)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		return -errno;
	return put("/proc/sys/kernel/printk", "5 7") ?:
	       put(DEBUGFS "failslab/ignore-gfp-wait", "N") ?:
	       put(DEBUGFS "failslab/verbose", "0") ?:
	       put(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N") ?:
	       put(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N") ?:
	       put(DEBUGFS "fail_page_alloc/min-order", "0") ?:
	       put(DEBUGFS "fail_page_alloc/verbose", "0") ?:
	       put(DEBUGFS "fail_usercopy/verbose", "0") ?:
	       trace_failures();
}

/*
 * Operations
 */

/**
 * struct state - of one try
 * @fd:     a file, or -1
 * @id:     of a timeout of it that never fires
 * @words:  the deadlines, if they are mapped
 * @ops:    those of a batch
 * @ev:     events that were read
 */
struct state {
	int				fd;
	__u64				id;
	__u64				*words;
	struct hwheel_op		ops[BATCH];
	struct hwheel_event		ev[2 * EVENTS];
};

static int open_file(struct state *state)
{
	state->fd = open_device(O_NONBLOCK);
	return state->fd < 0 ? state->fd : 0;
}

/* With a timeout that is pending */
static int open_pending(struct state *state)
{
	return open_file(state) ?: arm(state->fd, NEVER, 1, &state->id);
}

/* It can be armed, and that is all there is to read. */
static int judge_usable(struct state *state, int ret)
{
	struct hwheel_event ev;

	return arm(state->fd, 0, 2, NULL) ?: next_event(state->fd, &ev) ?:
	       ev.cookie == 2 ? 0 : -EPROTO;
}

static bool counts_are(struct state *state, __u64 pending, __u64 armed)
{
	struct hwheel_statistics stats;

	return !get_stats(state->fd, &stats) && stats.pending == pending &&
	       stats.armed == armed;
}

static int act_open(struct state *state)
{
	return open_file(state);
}

static int judge_open(struct state *state, int ret)
{
	return ret ? open_file(state) ?: judge_usable(state, 0) : judge_usable(state, 0);
}

static int act_info(struct state *state)
{
	struct hwheel_info info;

	return call(state->fd, HWHEEL_IOC_INFO, &info);
}

static int act_stats(struct state *state)
{
	struct hwheel_statistics stats;

	return call(state->fd, HWHEEL_IOC_STATS, &stats);
}

/* Reads a file of the kernel's. */
static int get(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	char text[4096];

	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int act_fdinfo(struct state *state)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", state->fd);
	return get(path);
}

/* Of the first wheel that the module made */
static int act_debugfs(struct state *state)
{
	return get(DEBUGFS "hwheel/dev-1");
}

static const struct hwheel_config configs[] = {
	{ .tick_ns = MSEC, .slots = 16 },
	{ .tick_ns = MSEC, .slots = 16, .levels = 3, .kind = HWHEEL_KIND_HIERARCHICAL },
	{ .tick_ns = MSEC, .slots = 1 << 14 },
};

static int act_config(struct state *state)
{
	return configure(state->fd, &configs[0]);
}

static int act_config_levels(struct state *state)
{
	return configure(state->fd, &configs[1]);
}

static int act_config_large(struct state *state)
{
	return configure(state->fd, &configs[2]);
}

/* If it failed, it can be called again. */
static int judge_config(struct state *state, int ret)
{
	struct hwheel_info info;
	int err = get_info(state->fd, &info);

	if (err || info.own_wheel != !ret)
		return err ?: -EPROTO;
	if (ret)
		err = act_config(state);
	return err ?: judge_usable(state, 0);
}

static int act_arm(struct state *state)
{
	return arm(state->fd, NEVER, 3, NULL);
}

static int judge_arm(struct state *state, int ret)
{
	unsigned int armed = 1 + !ret;

	if (!counts_are(state, armed, armed))
		return -EPROTO;
	return await_held(state->fd, armed) ?: judge_usable(state, 0);
}

/* The file has no memory for timeouts before. */
static int judge_first_arm(struct state *state, int ret)
{
	return counts_are(state, !ret, !ret) ? judge_usable(state, 0) : -EPROTO;
}

/* What a file has room for at first: with one more there must be more room. */
#define ROOM		(16 * 32)

static int prepare_full(struct state *state)
{
	return open_pending(state) ?: arm_batches(state->fd, ROOM - 1) == ROOM - 1 ? 0 : -ENOSPC;
}

/* Those from before are still there. */
static int judge_wider(struct state *state, int ret)
{
	unsigned int armed = ROOM + !ret;
	struct hwheel_op op;

	if (!counts_are(state, armed, armed) || await_held(state->fd, armed))
		return -EPROTO;
	if (query(state->fd, state->id, 0, &op) != HWHEEL_STATE_PENDING || op.cookie != 1)
		return -EPROTO;
	return judge_usable(state, 0);
}

static int act_refresh(struct state *state)
{
	return refresh(state->fd, state->id, 3600 * SEC);
}

static int judge_refresh(struct state *state, int ret)
{
	struct hwheel_op op;

	if (query(state->fd, state->id, 0, &op) != HWHEEL_STATE_PENDING)
		return -EPROTO;
	return (op.time_ns <= 3600 * SEC) == !ret ? judge_usable(state, 0) : -EPROTO;
}

static int act_cancel(struct state *state)
{
	return cancel(state->fd, state->id);
}

static int judge_cancel(struct state *state, int ret)
{
	if (!counts_are(state, !!ret, 1))
		return -EPROTO;
	return await_held(state->fd, !!ret) ?: judge_usable(state, 0);
}

static int act_query(struct state *state)
{
	struct hwheel_op op;

	return query(state->fd, state->id, 0, &op);
}

static int judge_pending(struct state *state, int ret)
{
	return counts_are(state, 1, 1) ? judge_usable(state, 0) : -EPROTO;
}

static int act_submit(struct state *state)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		state->ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.time_ns = NEVER,
			.cookie = i,
		};
	return submit(state->fd, state->ops, BATCH);
}

/* Those that are done tell whether they are armed, or that there was no memory. */
static int judge_submit(struct state *state, int ret)
{
	unsigned int armed = 1;
	int i;

	for (i = 0; i < ret; i++) {
		if (state->ops[i].result && state->ops[i].result != -ENOMEM)
			return -EPROTO;
		armed += !state->ops[i].result;
	}
	if (!counts_are(state, armed, armed))
		return -EPROTO;
	return await_held(state->fd, armed) ?: judge_usable(state, 0);
}

static int prepare_read(struct state *state)
{
	return open_pending(state) ?: fire(state->fd, EVENTS);
}

/*
 * Nothing but the call: who looks at an event asks for the time, and where that is a system
 * call, its copy would be made to fail.
 */
static int act_read(struct state *state)
{
	ssize_t got = read(state->fd, state->ev, EVENTS * sizeof(*state->ev));

	if (got < 0)
		return -errno;
	return got % sizeof(*state->ev) ? -EPROTO : got / sizeof(*state->ev);
}

/* What was not read can still be read, and nothing twice. */
static int judge_read(struct state *state, int ret)
{
	unsigned int seen[EVENTS] = { 0 };
	int got = ret > 0 ? ret : 0, i;

	if (got < EVENTS && read_events(state->fd, &state->ev[got], EVENTS) != EVENTS - got)
		return -EPROTO;
	for (i = 0; i < EVENTS; i++)
		if (event_is_sound(&state->ev[i]) && state->ev[i].cookie < EVENTS)
			seen[state->ev[i].cookie]++;
	if (!each_once(seen, EVENTS) || !counts_are(state, 1, 1 + EVENTS))
		return -EPROTO;
	return judge_usable(state, 0);
}

static int act_mmap(struct state *state)
{
	state->words = map_words(state->fd, PAGES * page_size());
	return state->words ? 0 : -errno;
}

/* If it failed, it can be called again; what is mapped then tells the deadline. */
static int judge_mmap(struct state *state, int ret)
{
	int err = ret ? act_mmap(state) : 0;

	if (err)
		return err;
	if (deadline_of(state->fd, state->id) != load(state->words, state->id))
		return -EPROTO;
	return judge_pending(state, 0);
}

/* Where nothing else is, so that there are no page tables yet */
#define FAR		((void *)0x50000000UL)

static int prepare_fault(struct state *state)
{
	int ret = open_pending(state);

	if (ret)
		return ret;
	state->words = mmap(FAR, PAGES * page_size(), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, state->fd, 0);
	return state->words == FAR ? 0 : -EFAULT;
}

/* The kernel tries again as long as it takes. */
static int act_fault(struct state *state)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		state->words[i * page_size() / sizeof(__u64) + 7] = 0;
	return 0;
}

static int act_stop(struct state *state)
{
	return stop(state->fd);
}

static int judge_stop(struct state *state, int ret)
{
	return ret == 1 && read_any(state->fd, CLOCK_MONOTONIC, state->ev, 3) == 1 &&
	       state->ev[0].type == HWHEEL_EVENT_STOPPED &&
	       read(state->fd, state->ev, sizeof(state->ev)) == 0 ? 0 : -EPROTO;
}

/* Of every kind there is something to be let go of. */
static int prepare_close(struct state *state)
{
	return open_file(state) ?: configure(state->fd, &configs[1]) ?: act_mmap(state) ?:
	       arm(state->fd, NEVER, 1, NULL) ?: arm(state->fd, 0, 2, NULL) ?:
	       await_events(state->fd, 1);
}

static int act_close(struct state *state)
{
	int fd = state->fd;

	munmap(state->words, PAGES * page_size());
	state->words = NULL;
	state->fd = -1;
	return close(fd) ? -errno : 0;
}

static int judge_close(struct state *state, int ret)
{
	return open_file(state) ?: judge_usable(state, ret);
}

static int load_file(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
}

static int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = load_file(fd);
	close(fd);
	return ret;
}

static int remove_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* Not opened by what is made to fail */
static int prepare_load(struct state *state)
{
	int ret = 0;

	if (!access(MODULE, F_OK)) {
		if (!nr_symbols)
			note_symbols();
		ret = remove_module("hwheel");
	}
	if (ret)
		return ret;
	state->fd = open("hwheel.ko", O_RDONLY | O_CLOEXEC);
	return state->fd < 0 ? -errno : 0;
}

static int act_load(struct state *state)
{
	return load_file(state->fd);
}

/* How many there are to fail before a module's init is called, in the trace; 0: it is not */
static unsigned int count_before_init(void)
{
	FILE *trace = fopen(TRACING "trace", "re");
	char line[512], thread[16];
	unsigned int n = 0;
	bool found = false;

	snprintf(thread, sizeof(thread), "-%d ", getpid());
	while (trace && !found && fgets(line, sizeof(line), trace)) {
		if (!strstr(line, thread))
			continue;
		found = strstr(line, " init: ");
		n += !!strstr(line, " any: ");
	}
	if (trace)
		fclose(trace);
	return found ? n : 0;
}

/*
 * Of all that the kernel does with a module it warns where it has no memory to tell how
 * the module's events are traced. After that it makes its files in sysfs, then it calls its
 * init. How many there are before varies by some, so it starts a little earlier.
 */
#define EARLIER		20

static unsigned int first_in_init(void)
{
	struct state state = { .fd = -1 };
	unsigned int n;
	int ret;

	if (prepare_load(&state))
		return 0;
	clear_trace();
	ret = put(PROBES "any/enable", "1") ?: act_load(&state) ?: put(PROBES "any/enable", "0");
	close(state.fd);
	n = count_before_init();
	return ret || n <= EARLIER ? 0 : n - EARLIER;
}

#define WORKERS		"hwheel/*"

/* What a wheel and its module are seen by */
static bool is_gone(void)
{
	static const char * const paths[] = {
		MODULE, DEVICE, "/sys/class/misc/hwheel", DEBUGFS "hwheel",
		TRACING "events/hwheel", NULL,
	};
	const char * const *path;

	for (path = paths; *path; path++) {
		if (access(*path, F_OK))
			continue;
		printf("# %s is there\n", *path);
		return false;
	}
	return true;
}

/* If it failed, nothing is left of it. */
static int judge_load(struct state *state, int ret)
{
	close(state->fd);
	state->fd = -1;
	if (ret)
		return is_gone() ? await_threads(WORKERS, 0) : -EPROTO;
	if (count_threads("/proc", WORKERS) <= 0)
		return -EPROTO;
	return open_file(state) ?: judge_usable(state, 0);
}

/* In the kernel a wheel is created, used and destroyed. */
static int prepare_life(struct state *state)
{
	int ret = access(LIFE, F_OK) ? load_module("hwheel_fault.ko") : 0;

	if (ret)
		return ret;
	state->fd = open(LIFE, O_WRONLY | O_CLOEXEC);
	return state->fd < 0 ? -errno : 0;
}

/* If it failed, it can be tried again. */
static int live(const struct state *state, int ret, const char *kind)
{
	return ret ? put_to(state->fd, kind) : 0;
}

#define LIVE(kind)							\
static int act_live_ ## kind(struct state *state)			\
{									\
	return put_to(state->fd, #kind);				\
}									\
									\
static int judge_live_ ## kind(struct state *state, int ret)		\
{									\
	return live(state, ret, #kind);					\
}

LIVE(plain)
LIVE(levels)
LIVE(large)
LIVE(executor)
LIVE(percpu)

/*
 * Failing them
 */

/**
 * struct site - a place where something failed
 * @name:   where in which function of ours, and what that called
 * @failed: how often, by kind
 * @err:    what the call told; 0: it could do without
 */
struct site {
	char		name[SITE_SIZE];
	unsigned int	failed[COPY + 1];
	int		err;
};

#define SITES_MAX	64

/**
 * struct tally - how the failures of an operation ended
 * @failed:   how many allocations and copies there were to fail, by kind
 * @told:     of how many the call told, by kind; the others it could do without, or had
 *            done a part before
 * @sites:    where; those that are in use have a name
 */
struct tally {
	unsigned int	failed[COPY + 1];
	unsigned int	told[COPY + 1];
	struct site	sites[SITES_MAX];
};

/* Of a copy that failed some may be done; other calls have to tell. */
static bool is_right(enum kind kind, int ret)
{
	switch (kind) {
	case ALLOCATION:
		return ret >= 0 || ret == -ENOMEM;
	case COPY:
		return ret > 0 || ret == -EFAULT;
	default:
		return ret >= 0;
	}
}

static void count_at(struct tally *tally, const char *name, enum kind kind, int err)
{
	struct site *site = tally->sites;

	while (site->name[0] && (strcmp(site->name, name) || site->err != err))
		if (++site == &tally->sites[SITES_MAX])
			return;
	snprintf(site->name, SITE_SIZE, "%s", name);
	site->err = err;
	site->failed[kind]++;
}

static void count(struct tally *tally, const char *site, enum kind kind, int ret)
{
	tally->failed[kind]++;
	tally->told[kind] += ret < 0;
	if (kind != NONE)
		count_at(tally, site, kind, ret < 0 ? ret : 0);
}

static void tell_sites(const char *operation, const struct tally *tally)
{
	const struct site *site;

	for (site = tally->sites; site < &tally->sites[SITES_MAX] && site->name[0]; site++)
		printf("# site: %-14s %-54s %3u allocations, %u copies: %s\n", operation,
		       site->name, site->failed[ALLOCATION], site->failed[COPY],
		       site->err ? strerror(-site->err) : "goes on");
}

/**
 * struct end - failures that have to end a call
 * @nr:   at so many places, or more
 * @site: what these are like, as for a shell
 */
struct end {
	unsigned int	nr;
	const char	*site;
};

static bool have_ended(const struct tally *tally, const struct end *end)
{
	const struct site *site = tally->sites;
	unsigned int nr = 0;

	for (; site < &tally->sites[SITES_MAX] && site->name[0]; site++)
		nr += site->err && !fnmatch(end->site, site->name, 0);
	return nr >= end->nr;
}

/* Those that have not been met, or NULL if there are none */
static const char *find_missing(const struct tally *tally, const struct end *end)
{
	while (end && end->site && have_ended(tally, end))
		end++;
	return end ? end->site : NULL;
}

static void clean_up(struct state *state)
{
	if (state->words)
		munmap(state->words, PAGES * page_size());
	if (state->fd >= 0)
		close(state->fd);
}

FIXTURE(fail)
{
	struct state	state;
	struct tally	tally;
};

/*
 * @name:    of the operation
 * @prepare: what comes before
 * @act:     the call; 0 or a count, or a negative errno
 * @judge:   0 if the file is as it must be after a call that returned @ret
 * @has_none: nothing in it can be made to fail so; fields of a record: see below
 * @first:   which one is the first to fail; 0: it can't tell
 * @ends:    what has to have failed of ours: else it may be the kernel around us alone
 */
FIXTURE_VARIANT(fail)
{
	const char	*name;
	bool		has_none;
	unsigned int	(*first)(void);
	const struct end *ends;
	int		(*prepare)(struct state *state);
	int		(*act)(struct state *state);
	int		(*judge)(struct state *state, int ret);
};

static const struct end open_ends[] = {
	{ 1, "hwheel_set_create+* *kmalloc*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, open)
{
	.name = "open",
	.act = act_open, .judge = judge_open, .ends = open_ends,
};

static const struct end answer_ends[] = {
	{ 1, "* _copy_to_user" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, info)
{
	.name = "info", .prepare = open_file,
	.act = act_info, .judge = judge_usable, .ends = answer_ends,
};

FIXTURE_VARIANT_ADD(fail, stats)
{
	.name = "stats", .prepare = open_file,
	.act = act_stats, .judge = judge_usable, .ends = answer_ends,
};

static const struct end seq_file_ends[] = {
	{ 1, "single_open+* *kmalloc*" },
	{ 1, "seq_read_iter+* *kvmalloc_node*" },
	{ 1, "seq_read_iter+* _copy_to_iter" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, fdinfo)
{
	.name = "fdinfo", .prepare = open_pending,
	.act = act_fdinfo, .judge = judge_pending, .ends = seq_file_ends,
};

FIXTURE_VARIANT_ADD(fail, debugfs)
{
	.name = "debugfs", .prepare = open_pending,
	.act = act_debugfs, .judge = judge_pending, .ends = seq_file_ends,
};

/* The wheel, its slots and which of them are occupied, its thread */
static const struct end small_ends[] = {
	{ 1, "__hwheel_create+* *kmalloc*" },
	{ 2, "* *kvmalloc_node*" },
	{ 1, "hwheel_worker_start+* kthread_create*" },
	{ }
};

/* For slots that need more than a page other memory is found instead. */
static const struct end create_ends[] = {
	{ 1, "__hwheel_create+* *kmalloc*" },
	{ 1, "* *kvmalloc_node*" },
	{ 1, "hwheel_worker_start+* kthread_create*" },
	{ }
};

/* Here both the slots and which of them are occupied need more than that. */
static const struct end large_ends[] = {
	{ 1, "__hwheel_create+* *kmalloc*" },
	{ 1, "hwheel_worker_start+* kthread_create*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, config)
{
	.name = "config", .prepare = open_file,
	.act = act_config, .judge = judge_config, .ends = small_ends,
};

FIXTURE_VARIANT_ADD(fail, config_levels)
{
	.name = "config levels", .prepare = open_file,
	.act = act_config_levels, .judge = judge_config, .ends = small_ends,
};

FIXTURE_VARIANT_ADD(fail, config_large)
{
	.name = "config large", .prepare = open_file,
	.act = act_config_large, .judge = judge_config, .ends = create_ends,
};

FIXTURE_VARIANT_ADD(fail, arm)
{
	.name = "arm", .prepare = open_pending,
	.act = act_arm, .judge = judge_arm, .has_none = true,
};

/* What has room for them, and a page */
static const struct end pages_ends[] = {
	{ 1, "* *kvmalloc_node*" },
	{ 1, "* *alloc_page*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, arm_first)
{
	.name = "first arm", .prepare = open_file,
	.act = act_arm, .judge = judge_first_arm, .ends = pages_ends,
};

FIXTURE_VARIANT_ADD(fail, arm_wider)
{
	.name = "arm wider", .prepare = prepare_full,
	.act = act_arm, .judge = judge_wider, .ends = pages_ends,
};

FIXTURE_VARIANT_ADD(fail, refresh)
{
	.name = "refresh", .prepare = open_pending,
	.act = act_refresh, .judge = judge_refresh, .has_none = true,
};

FIXTURE_VARIANT_ADD(fail, cancel)
{
	.name = "cancel", .prepare = open_pending,
	.act = act_cancel, .judge = judge_cancel, .has_none = true,
};

FIXTURE_VARIANT_ADD(fail, query)
{
	.name = "query", .prepare = open_pending,
	.act = act_query, .judge = judge_pending, .has_none = true,
};

static const struct end submit_ends[] = {
	{ 1, "* _copy_from_user" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, submit)
{
	.name = "submit", .prepare = open_pending,
	.act = act_submit, .judge = judge_submit, .ends = submit_ends,
};

static const struct end read_ends[] = {
	{ 1, "* _copy_to_iter" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, read)
{
	.name = "read", .prepare = prepare_read,
	.act = act_read, .judge = judge_read, .ends = read_ends,
};

FIXTURE_VARIANT_ADD(fail, mmap)
{
	.name = "mmap", .prepare = open_pending,
	.act = act_mmap, .judge = judge_mmap, .ends = pages_ends,
};

FIXTURE_VARIANT_ADD(fail, fault)
{
	.name = "fault", .prepare = prepare_fault,
	.act = act_fault, .judge = judge_pending,
};

FIXTURE_VARIANT_ADD(fail, stop)
{
	.name = "stop", .prepare = open_pending,
	.act = act_stop, .judge = judge_stop, .has_none = true,
};

FIXTURE_VARIANT_ADD(fail, close)
{
	.name = "close", .prepare = prepare_close,
	.act = act_close, .judge = judge_close,
};

FIXTURE_VARIANT_ADD(fail, live_plain)
{
	.name = "live plain", .prepare = prepare_life,
	.act = act_live_plain, .judge = judge_live_plain, .ends = create_ends,
};

FIXTURE_VARIANT_ADD(fail, live_levels)
{
	.name = "live levels", .prepare = prepare_life,
	.act = act_live_levels, .judge = judge_live_levels, .ends = create_ends,
};

FIXTURE_VARIANT_ADD(fail, live_large)
{
	.name = "live large", .prepare = prepare_life,
	.act = act_live_large, .judge = judge_live_large, .ends = large_ends,
};

static const struct end executor_ends[] = {
	{ 1, "hwheel_executor_create+* *kmalloc*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, live_executor)
{
	.name = "live executor", .prepare = prepare_life,
	.act = act_live_executor, .judge = judge_live_executor, .ends = executor_ends,
};

static const struct end percpu_ends[] = {
	{ 1, "__hwheel_create+* pcpu_alloc*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, live_percpu)
{
	.name = "live percpu", .prepare = prepare_life,
	.act = act_live_percpu, .judge = judge_live_percpu, .ends = percpu_ends,
};

/* Those that the init has to undo something after */
static const struct end load_ends[] = {
	{ 1, "__hwheel_create+*" },
	{ 1, "hwheel_worker_start+*" },
	{ 1, "hwheel_init+*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, load)
{
	.name = "load", .prepare = prepare_load,
	.act = act_load, .judge = judge_load,
	.first = first_in_init, .ends = load_ends,
};

FIXTURE_SETUP(fail)
{
	if (prepare_faults())
		SKIP(return, "this kernel has no fail-nth, or no kprobes");
}

FIXTURE_TEARDOWN(fail)
{
	clean_up(&self->state);
	if (!access(LIFE, F_OK))
		EXPECT_EQ(0, remove_module("hwheel_fault"));
	if (access(MODULE, F_OK))
		EXPECT_EQ(0, load_module("hwheel.ko"));
}

/* A load takes some time, and there may be several rounds of them. */
#define TURNS_TIMEOUT	1200
#define ROUNDS_MAX	30

/* How many there are varies by some, so that a round may miss one. */
TEST_F_TIMEOUT(fail, in_turn, TURNS_TIMEOUT)
{
	struct tally *tally = &self->tally;
	struct state *state = &self->state;
	enum kind kind = ALLOCATION;
	char site[SITE_SIZE];
	unsigned int first, n, rounds = 1;
	int ret;

	first = variant->first ? variant->first() : 1;
	ASSERT_NE(0, first);
	for (n = first; kind != NONE; n++) {
		ASSERT_GE(TRIES_MAX, n);
		*state = (struct state){ .fd = -1 };
		if (variant->prepare)
			ASSERT_EQ(0, variant->prepare(state));

		begin_to_fail(n);
		ret = variant->act(state);
		kind = !has_failed() ? NONE : was_copy(site) ? COPY : ALLOCATION;
		count(tally, site, kind, ret);

		ASSERT_TRUE(is_right(kind, ret)) {
			TH_LOG("failure %u, of kind %u: %d", n, kind, ret);
		}
		ASSERT_EQ(0, variant->judge(state, ret)) {
			TH_LOG("after failure %u, of kind %u, which returned %d", n, kind, ret);
		}
		clean_up(state);
		state->fd = -1;
		state->words = NULL;
		if (kind == NONE && find_missing(tally, variant->ends) && rounds < ROUNDS_MAX) {
			rounds++;
			kind = ALLOCATION;
			n = first - 1;
		}
	}
	EXPECT_EQ(variant->has_none, !tally->failed[ALLOCATION] && !tally->failed[COPY]);
	EXPECT_EQ(NULL, find_missing(tally, variant->ends)) {
		TH_LOG("no failure at %s", find_missing(tally, variant->ends));
	}
	EXPECT_EQ(0, tally->sites[SITES_MAX - 1].name[0]);
	TH_LOG("%s: %u rounds: %u allocations failed, %u with ENOMEM; %u copies, %u with EFAULT",
	       variant->name, rounds, tally->failed[ALLOCATION], tally->told[ALLOCATION],
	       tally->failed[COPY], tally->told[COPY]);
	tell_sites(variant->name, tally);
	TH_LOG("operations=%u", tally->failed[ALLOCATION] + tally->failed[COPY]);
}

/*
 * Memory that ends within a record
 */

#define SIZE		sizeof(struct hwheel_op)
#define END_OF(field)	(offsetof(struct hwheel_op, field) + sizeof(__u64))

/* Ends after the first two of three pages; the third one is protected from the module. */
FIXTURE(border)
{
	struct state	state;
	char		*pages;
	char		*border;
	unsigned int	failed;
};

/**
 * struct records - what is in the way of the border
 * @name:   of the operation
 * @code:   its ioctl; 0: a batch
 * @op:     what is asked for
 * @own:    it is asked for the timeout that is there
 * @nr:     so many records
 * @output: where its last output ends in a record, 0 if it has none
 * @judge:  0 if the file is as it must be after a call that returned @ret
 */
struct records {
	const char		*name;
	unsigned int		code;
	struct hwheel_op	op;
	bool			own;
	unsigned int		nr;
	size_t			output;
	int			(*judge)(struct state *state, int ret);
};

FIXTURE_VARIANT(border)
{
	struct records	records;
};

FIXTURE_VARIANT_ADD(border, arm)
{
	.records = {
		.name = "arm",
		.code = HWHEEL_IOC_ARM,
		.op = { .time_ns = NEVER, .cookie = 3 },
		.nr = 1,
		.output = END_OF(id),
		.judge = judge_arm,
	},
};

FIXTURE_VARIANT_ADD(border, refresh)
{
	.records = {
		.name = "refresh",
		.code = HWHEEL_IOC_REFRESH,
		.own = true,
		.op = { .time_ns = 3600 * SEC },
		.nr = 1,
		.judge = judge_refresh,
	},
};

FIXTURE_VARIANT_ADD(border, cancel)
{
	.records = {
		.name = "cancel",
		.code = HWHEEL_IOC_CANCEL,
		.own = true,
		.nr = 1,
		.judge = judge_cancel,
	},
};

FIXTURE_VARIANT_ADD(border, query)
{
	.records = {
		.name = "query",
		.code = HWHEEL_IOC_QUERY,
		.own = true,
		.nr = 1,
		.output = END_OF(time_ns),
		.judge = judge_pending,
	},
};

FIXTURE_VARIANT_ADD(border, submit)
{
	.records = {
		.name = "submit",
		.op = { .op = HWHEEL_OP_ARM, .time_ns = NEVER },
		.nr = BATCH,
		.output = SIZE,
		.judge = judge_submit,
	},
};

FIXTURE_SETUP(border)
{
	const size_t size = page_size();

	self->state.fd = -1;
	self->pages = mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	ASSERT_NE(MAP_FAILED, self->pages);
	self->border = self->pages + 2 * size;
}

FIXTURE_TEARDOWN(border)
{
	clean_up(&self->state);
	munmap(self->pages, 3 * page_size());
}

/* Their first @there bytes are before the border. */
static int call_across(struct state *state, const struct records *records, char *border,
		       size_t there, int protection)
{
	struct hwheel_op *ops = (struct hwheel_op *)(border - there);
	unsigned int i;
	int ret;

	for (i = 0; i < records->nr; i++) {
		ops[i] = records->op;
		ops[i].id = records->own ? state->id : 0;
	}
	if (mprotect(border, page_size(), protection))
		return -errno;
	ret = records->code ? call(state->fd, records->code, ops) :
			      submit(state->fd, ops, records->nr);
	if (mprotect(border, page_size(), PROT_READ | PROT_WRITE))
		return -errno;
	memcpy(state->ops, ops, records->nr * SIZE);
	return ret;
}

/* What the call has to return where so many bytes are there, or not negative. */
static int expected(const struct records *records, size_t there, int protection)
{
	if (!records->code && there >= SIZE)
		return there / SIZE;
	return protection == PROT_NONE || there < records->output ? -EFAULT : 0;
}

TEST_F(border, in_turn)
{
	const struct records *records = &variant->records;
	struct state *state = &self->state;
	size_t end = records->nr * SIZE, there, turn;
	int protection, ret, right;

	/* There the kernel does not see that memory ends where there should be none. */
	turn = kernel_reads_protected() ? end : 0;
	for (; turn < 2 * end; turn += sizeof(__u64)) {
		there = turn % end;
		protection = turn < end ? PROT_NONE : PROT_READ;
		ASSERT_EQ(0, open_pending(state));
		ret = call_across(state, records, self->border, there, protection);
		right = expected(records, there, protection);
		self->failed += !!right;
		ASSERT_TRUE(right ? ret == right : ret >= 0) {
			TH_LOG("%zu bytes there, protection %d: %d", there, protection, ret);
		}
		ASSERT_EQ(0, records->judge(state, ret)) {
			TH_LOG("%zu bytes there, protection %d", there, protection);
		}
		clean_up(state);
		*state = (struct state){ .fd = -1 };
	}
	TH_LOG("%s: memory ended %u times where it was needed; operations=%u", records->name,
	       self->failed, self->failed);
}

/*
 * What was left behind
 */

FIXTURE(left)
{
};

FIXTURE_SETUP(left)
{
	if (prepare_faults())
		SKIP(return, "this kernel has no fail-nth, or no kprobes");
}

FIXTURE_TEARDOWN(left)
{
}

/* An address in a stack where no module is any more */
#define UNNAMED		"    0x"

/*
 * Of the module's, whoever allocated it there: also of one that could not be loaded, which
 * left no names.
 */
static bool is_leak(const char *record)
{
	return strstr(record, "[hwheel") || !strncmp(record, UNNAMED, strlen(UNNAMED));
}

/* Prints all, and returns whether there are any. */
static bool find_leaks(void)
{
	FILE *file = fopen(DEBUGFS "kmemleak", "r");
	char line[256];
	bool leak = false;

	while (file && fgets(line, sizeof(line), file)) {
		printf("# %s", line);
		leak |= is_leak(line);
	}
	if (file)
		fclose(file);
	return !file || leak;
}

/*
 * kmemleak takes nothing for a leak that is younger than 5 s, and may miss the address of
 * something that is moved just then: so it is asked again where it found some.
 */
TEST_F(left, nothing)
{
	int i;

	for (i = 0; i < 3; i++) {
		poll(NULL, 0, 6000);
		ASSERT_EQ(0, put(DEBUGFS "kmemleak", "scan"));
	}
	EXPECT_FALSE(find_leaks());
}

#define ROUNDS	1000
#define MANY	64

static long free_pages(void)
{
	FILE *file = fopen("/proc/vmstat", "r");
	long n = -1;

	if (file && fscanf(file, "nr_free_pages %ld", &n) != 1)
		n = -1;
	if (file)
		fclose(file);
	return n;
}

/* Of what is to be mapped a part is not there; the other part goes with the file. */
static int fail_to_map(unsigned int n)
{
	int fd = open_device(0), ret = 0;
	void *words;

	if (fd < 0)
		return fd;
	begin_to_fail(n);
	words = map_words(fd, MANY * page_size());
	if (!words)
		ret = -errno;
	else
		munmap(words, MANY * page_size());
	has_failed();
	close(fd);
	return ret;
}

/*
 * kmemleak does not know of pages. Half of them or more are there each time; of other memory
 * that is freed the kernel keeps some for a while.
 */
TEST_F(left, no_page)
{
	unsigned int failed = 0, i;
	long before, after;

	before = free_pages();
	ASSERT_LT(0, before);
	for (i = 0; i < ROUNDS; i++)
		failed += fail_to_map(MANY / 2 + 16 + i % 16) == -ENOMEM;
	after = free_pages();
	TH_LOG("%ld pages free, after %u failures %ld", before, failed, after);
	EXPECT_LT(ROUNDS / 2, failed);
	EXPECT_GT(ROUNDS / 2 * MANY / 2, before - after);
}

TEST_HARNESS_MAIN
