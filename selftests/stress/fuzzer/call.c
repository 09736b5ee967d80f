// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls: each with random arguments, of which it is known whether they are valid, and
 * a look at all that it returned and left in memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "call.h"

#define EVENT		sizeof(struct hwheel_event)
#define MAX_EVENTS	256
#define PATIENCE_MS	60000
#define HOUR		(3600 * SEC)

static unsigned int signals_of(const struct caller *c)
{
	return __atomic_load_n(&c->signals, __ATOMIC_RELAXED);
}

static long outcome(long ret)
{
	return ret == -1 ? -errno : ret;
}

long device_ioctl(struct caller *c, struct file *file, enum call call, unsigned long cmd,
		  void *arg)
{
	int fd = random_chance(&c->rnd, 16) ? dup(file->fd) : file->fd;
	long ret = outcome(ioctl(fd, cmd, arg));

	if (fd != file->fd)
		close(fd);
	tally_note(&c->tally, call, ret);
	return ret;
}

/* Times: a third is soon over, many never come, and some are at the bounds of what fits. */

static __u64 random_delay(struct random *rnd)
{
	static const __u64 bounds[] = {
		1, 7, 8, 9, LATEST - 1, LATEST, LATEST + 7, LATEST + 8, 1ULL << 63, -8ULL, -1ULL,
	};

	switch (random_below(rnd, 12)) {
	case 0:
	case 1:
		return 0;
	case 2:
	case 3:
		return random_below(rnd, 5 * MSEC);
	case 4:
		return random_below(rnd, 200 * MSEC);
	case 5:
		return random_below(rnd, 10 * SEC);
	case 6:
		return random_next(rnd) >> random_below(rnd, 64);
	case 7:
		return bounds[random_below(rnd, ARRAY_SIZE(bounds))];
	default:
		return 2 * HOUR + random_below(rnd, 1000 * HOUR);
	}
}

__u64 random_deadline(struct random *rnd, __u64 now)
{
	if (random_chance(rnd, 8))
		return random_delay(rnd);
	if (random_chance(rnd, 8))
		return now - random_below(rnd, now);
	return now + random_delay(rnd);
}

/* Ids: mostly one of the last, else an older one, one that may be the next, or none. */
static __u64 random_id(struct caller *c, struct file *file)
{
	switch (random_below(&c->rnd, 32)) {
	case 0:
		return random_next(&c->rnd);
	case 1:
		return random_next(&c->rnd) >> 48;
	case 2:
		return 0;
	case 3:
	case 4:
		return model_id(&file->model, &c->rnd, true) + 1 + random_below(&c->rnd, 3);
	case 5:
	case 6:
	case 7:
		return model_id(&file->model, &c->rnd, false);
	default:
		return model_id(&file->model, &c->rnd, true);
	}
}

static bool may_arm(__u32 code)
{
	return code == HWHEEL_OP_ARM || code == HWHEEL_OP_SET;
}

static struct hwheel_op random_op(struct caller *c, struct file *file, __u32 code)
{
	struct hwheel_op op = {
		.op = code,
		.result = random_next(&c->rnd) >> 32,
	};

	if (code != HWHEEL_OP_CANCEL && code != HWHEEL_OP_WITHDRAW && random_chance(&c->rnd, 3))
		op.flags = HWHEEL_ABSOLUTE;
	if (may_arm(code))
		op.cookie = random_next(&c->rnd);
	if (code != HWHEEL_OP_ARM)
		op.id = random_id(c, file);
	/* What others arm meanwhile may get the id that this one has guessed. */
	if (code == HWHEEL_OP_SET && file->model.shared && !model_facts(&file->model, op.id).armed)
		op.id = 0;
	if (may_arm(code) || code == HWHEEL_OP_REFRESH)
		op.time_ns = op.flags ? random_deadline(&c->rnd, model_now(&file->model)) :
					random_delay(&c->rnd);
	return op;
}

/* Mostly: a few become valid others. */
static void spoil(struct random *rnd, struct hwheel_op *op)
{
	__u32 bit = 1U << random_below(rnd, 32);

	switch (random_below(rnd, 6)) {
	case 0:
		op->op ^= bit;
		break;
	case 1:
		op->flags |= bit;
		break;
	case 2:
		/* SET takes any. */
		if (op->op == HWHEEL_OP_SET)
			op->flags |= 2;
		else
			op->id ^= 1ULL << random_below(rnd, 64);
		break;
	case 3:
		op->cookie ^= 1ULL << random_below(rnd, 64);
		break;
	case 4:
		op->time_ns ^= 1ULL << random_below(rnd, 64);
		break;
	default:
		op->reserved = bit;
	}
}

static bool is_valid(const struct hwheel_op *op)
{
	if (op->flags & ~HWHEEL_ABSOLUTE || op->reserved)
		return false;
	switch (op->op) {
	case HWHEEL_OP_ARM:
		return !op->id;
	case HWHEEL_OP_REFRESH:
		return !op->cookie;
	case HWHEEL_OP_SET:
		return true;
	case HWHEEL_OP_CANCEL:
	case HWHEEL_OP_WITHDRAW:
		return !op->flags && !op->cookie && !op->time_ns;
	case HWHEEL_OP_QUERY:
		return !op->cookie && !op->time_ns;
	default:
		return false;
	}
}

/* What a single operation and one of a batch have in common */

/**
 * struct judged - an operation that was done
 * @in:     as given to the device
 * @out:    as left by it
 * @ret:    its result
 * @facts:  what was known before
 * @when:   the call was made
 * @arms:   how many ARMs there were in the call
 */
struct judged {
	const struct hwheel_op	*in;
	const struct hwheel_op	*out;
	int			ret;
	struct facts		facts;
	struct span		when;
	unsigned int		arms;
};

static struct span due(const struct judged *j)
{
	return (struct span){
		.lo = deadline_after(j->when.lo, j->in),
		.hi = deadline_after(j->when.hi, j->in),
	};
}

static void judge_arm(struct model *model, const struct judged *j)
{
	if (j->ret) {
		model_refused(model, j->ret, j->arms);
		return;
	}
	if (j->facts.stopped || j->facts.mapped)
		contradict("ARM after %s", j->facts.stopped ? "STOP" : "MAP");
	model_armed(model, j->out->id, j->in->cookie, due(j));
}

static void judge_refresh(struct model *model, const struct judged *j)
{
	if (j->ret == -ENOENT && j->facts.pending)
		contradict("REFRESH: %#llx is pending", j->in->id);
	if (j->ret == -ERANGE)
		model_refused(model, j->ret, 0);
	if (j->ret)
		return;
	if (j->facts.ending)
		contradict("REFRESH: %#llx is not pending", j->in->id);
	model_refreshed(model, j->in->id, due(j));
}

/*
 * It has moved the timeout if the id is the same, else it has armed one; the next one may have the
 * very id that was guessed.
 */
static void judge_set(struct model *model, const struct judged *j)
{
	bool moved = !j->ret && j->facts.armed && j->out->id == j->in->id;

	if (j->facts.pending && !moved && j->ret != -ERANGE)
		contradict("SET: %#llx is pending, but %d", j->in->id, j->ret);
	if (moved) {
		judge_refresh(model, j);
		return;
	}
	judge_arm(model, j);
	if (!j->ret)
		model_replaced(model, j->in->id);
}

static void judge_withdraw(struct model *model, const struct judged *j)
{
	if (j->ret == -ENOENT && j->facts.held)
		contradict("WITHDRAW: ENOENT, but %#llx has an event at least", j->in->id);
	if (!j->ret)
		model_withdrawn(model, j->in->id);
}

static void judge_cancel(struct model *model, const struct judged *j)
{
	if (j->ret == -ENOENT && j->facts.pending)
		contradict("CANCEL: %#llx is pending", j->in->id);
	if (!j->ret)
		model_cancelled(model, j->in->id);
}

static void judge_query(struct model *model, const struct judged *j)
{
	if (j->ret == -ENOENT && j->facts.held)
		contradict("QUERY: ENOENT, but %#llx has an event at least", j->in->id);
	if (j->ret >= 0)
		model_queried(model, &j->facts, j->out, j->ret, j->when);
}

static void judge(struct model *model, const struct judged *j)
{
	if ((j->ret == -EINVAL) == is_valid(j->in))
		contradict("operation %u, flags %#x: %d", j->in->op, j->in->flags, j->ret);
	else if (j->ret == -EINVAL)
		return;
	else if (j->in->op == HWHEEL_OP_ARM)
		judge_arm(model, j);
	else if (j->in->op == HWHEEL_OP_REFRESH)
		judge_refresh(model, j);
	else if (j->in->op == HWHEEL_OP_CANCEL)
		judge_cancel(model, j);
	else if (j->in->op == HWHEEL_OP_SET)
		judge_set(model, j);
	else if (j->in->op == HWHEEL_OP_WITHDRAW)
		judge_withdraw(model, j);
	else
		judge_query(model, j);
}

/* The device writes what it is said to write, @code being the operation, and no more. */
static void check_writes(__u32 code, const struct hwheel_op *in, const struct hwheel_op *out,
			 int ret)
{
	struct hwheel_op want = *in;

	want.result = out->result;
	if (code == HWHEEL_OP_ARM ? ret != -EINVAL : code == HWHEEL_OP_SET && !ret)
		want.id = out->id;
	if (code == HWHEEL_OP_QUERY && ret >= 0) {
		want.cookie = out->cookie;
		want.time_ns = out->time_ns;
	}
	if (memcmp(&want, out, sizeof(want)))
		contradict("operation %u (%d) wrote what it should not", code, ret);
}

/* One operation */

static const struct single {
	enum call	call;
	unsigned long	cmd;
	size_t		writes_to;
} singles[] = {
	[HWHEEL_OP_ARM]	    = { CALL_ARM, HWHEEL_IOC_ARM, offsetof(struct hwheel_op, cookie) },
	[HWHEEL_OP_REFRESH] = { CALL_REFRESH, HWHEEL_IOC_REFRESH, 0 },
	[HWHEEL_OP_CANCEL]  = { CALL_CANCEL, HWHEEL_IOC_CANCEL, 0 },
	[HWHEEL_OP_QUERY]   = { CALL_QUERY, HWHEEL_IOC_QUERY, sizeof(struct hwheel_op) },
	[HWHEEL_OP_SET]	    = { CALL_SET, HWHEEL_IOC_SET, offsetof(struct hwheel_op, cookie) },
	[HWHEEL_OP_WITHDRAW] = { CALL_WITHDRAW, HWHEEL_IOC_WITHDRAW, 0 },
};

static void announce(struct model *model, const struct hwheel_op *op)
{
	if (!is_valid(op))
		return;
	if (may_arm(op->op))
		model_may_arm(model);
	if (op->op == HWHEEL_OP_REFRESH || op->op == HWHEEL_OP_SET)
		model_may_refresh(model, op->id, deadline_after(model_now(model), op));
}

/* False if what the call did is not to be looked at any more. */
static bool check_fault(const struct spot *spot, const struct single *single, long ret)
{
	bool readable = spot->readable >= sizeof(struct hwheel_op);
	bool writable = spot->writable >= single->writes_to;

	if (ret == -EFAULT && readable && writable)
		contradict("ioctl %#lx: EFAULT with good memory", single->cmd);
	if (ret != -EFAULT && !readable)
		contradict("ioctl %#lx: %ld with unreadable memory", single->cmd, ret);
	if (ret >= 0 && !writable)
		contradict("ioctl %#lx: %ld with unwritable memory", single->cmd, ret);
	return ret != -EFAULT;
}

static void do_single(struct caller *c, struct file *file, __u32 code)
{
	struct hwheel_op in = random_op(c, file, code), out, named;
	struct spot spot = memory_any(&c->arg, &c->rnd, sizeof(in));
	struct judged j = { .in = &named, .out = &out, .arms = 1 };

	if (random_chance(&c->rnd, 16))
		spoil(&c->rnd, &in);
	else if (random_chance(&c->rnd, 2))
		in.op = 0;
	named = in;
	named.op = in.op == code ? code : in.op ? UINT32_MAX : code;
	announce(&file->model, &named);
	j.facts = model_facts(&file->model, in.id);
	memcpy(spot.alias, &in, sizeof(in));
	j.when.lo = model_now(&file->model);
	j.ret = device_ioctl(c, file, singles[code].call, singles[code].cmd, spot.user);
	j.when.hi = model_now(&file->model);
	memcpy(&out, spot.alias, sizeof(out));
	if (!check_fault(&spot, &singles[code], j.ret))
		return;
	check_writes(code, &in, &out, j.ret);
	if (out.result != in.result)
		contradict("a single operation wrote its result");
	judge(&file->model, &j);
}

void call_single(struct caller *c, struct file *file)
{
	static const __u32 codes[] = {
		HWHEEL_OP_ARM, HWHEEL_OP_ARM, HWHEEL_OP_ARM, HWHEEL_OP_REFRESH,
		HWHEEL_OP_REFRESH, HWHEEL_OP_CANCEL, HWHEEL_OP_CANCEL, HWHEEL_OP_QUERY,
		HWHEEL_OP_SET, HWHEEL_OP_SET, HWHEEL_OP_WITHDRAW,
	};

	if (!model_reserve(&file->model, 1)) {
		file->worn = true;
		return;
	}
	do_single(c, file, codes[random_below(&c->rnd, ARRAY_SIZE(codes))]);
	model_unreserve(&file->model, 1);
}

/* A batch */

/* Mostly a few; now and then more than a chunk, and rarely all that are allowed. */
static unsigned int random_nr(struct random *rnd)
{
	if (random_chance(rnd, 500))
		return HWHEEL_SUBMIT_MAX - random_below(rnd, 10);
	if (random_chance(rnd, 20))
		return 60 + random_below(rnd, 140);
	return random_below(rnd, 12);
}

/* Few new ones in a large batch, as a model learns only so many. */
static __u32 random_code(struct random *rnd, unsigned int nr)
{
	static const __u32 others[] = {
		HWHEEL_OP_REFRESH, HWHEEL_OP_CANCEL, HWHEEL_OP_QUERY, HWHEEL_OP_WITHDRAW,
	};

	if (random_chance(rnd, nr > 200 ? 20 : 3))
		return HWHEEL_OP_ARM;
	if (nr <= 200 && random_chance(rnd, 5))
		return HWHEEL_OP_SET;
	return others[random_below(rnd, ARRAY_SIZE(others))];
}

static void make_ops(struct caller *c, struct file *file, const struct spot *spot,
		     unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct hwheel_op *op = &c->ops[i];

		*op = random_op(c, file, random_code(&c->rnd, nr));
		if (random_chance(&c->rnd, 16))
			spoil(&c->rnd, op);
		announce(&file->model, op);
		c->facts[i] = model_facts(&file->model, op->id);
	}
	memcpy(spot->alias, c->ops, nr * sizeof(*c->ops));
}

static enum call batched(const struct hwheel_op *op)
{
	if (op->op < HWHEEL_OP_ARM || op->op > HWHEEL_OP_WITHDRAW)
		return CALL_BATCHED_UNKNOWN;
	return CALL_BATCHED_ARM + op->op - HWHEEL_OP_ARM;
}

/* Where one thread has the file for itself, the operations are known in their order. */
static void judge_ops(struct caller *c, struct file *file, const struct spot *spot,
		      unsigned int done, struct judged *j)
{
	struct hwheel_op out;
	unsigned int i;

	for (i = 0; i < done; i++) {
		memcpy(&out, spot->alias + i * sizeof(out), sizeof(out));
		j->in = &c->ops[i];
		j->out = &out;
		j->ret = out.result;
		j->facts = file->model.shared ? c->facts[i] :
						model_facts(&file->model, c->ops[i].id);
		tally_note(&c->tally, batched(j->in), j->ret);
		check_writes(j->in->op, j->in, &out, j->ret);
		judge(&file->model, j);
	}
}

static unsigned int whole_ops(const struct spot *spot, unsigned int nr)
{
	unsigned int readable = spot->readable / sizeof(struct hwheel_op);
	unsigned int writable = spot->writable / sizeof(struct hwheel_op);

	if (nr > readable)
		nr = readable;
	return nr > writable ? writable : nr;
}

/* Nothing but memory ends it early, and nothing of what it did is done by two calls. */
static void check_done(long ret, unsigned int nr, unsigned int whole)
{
	if (ret == -EFAULT ? !nr || whole : nr && !whole)
		contradict("SUBMIT of %u, %u in good memory: %ld", nr, whole, ret);
	else if (ret >= 0 && ret != (long)whole)
		contradict("SUBMIT of %u, %u in good memory: %ld done", nr, whole, ret);
}

/* Returns whether it failed for its argument, as it should. */
static bool check_submit(const struct hwheel_submit *submit, const struct spot *spot, long ret)
{
	bool readable = spot->readable >= sizeof(*submit);
	bool valid = submit->nr <= HWHEEL_SUBMIT_MAX && !submit->reserved;

	if (!readable && ret != -EFAULT)
		contradict("SUBMIT: %ld with unreadable memory", ret);
	else if (readable && (ret == -EINVAL) == valid)
		contradict("SUBMIT of %u: %ld", submit->nr, ret);
	return !readable || !valid || ret == -ENOMEM;
}

static void submit(struct caller *c, struct file *file, unsigned int nr)
{
	struct spot ops = memory_any(&c->data, &c->rnd, nr * sizeof(*c->ops) + !nr);
	struct spot arg = memory_any(&c->arg, &c->rnd, sizeof(struct hwheel_submit));
	struct hwheel_submit submit = { .ops = (unsigned long)ops.user, .nr = nr };
	struct judged j = { .arms = nr };
	long ret;

	if (random_chance(&c->rnd, 32))
		submit.nr = HWHEEL_SUBMIT_MAX + 1 + (random_next(&c->rnd) >> 33);
	if (random_chance(&c->rnd, 32))
		submit.reserved = 1U << random_below(&c->rnd, 32);
	memcpy(arg.alias, &submit, sizeof(submit));
	make_ops(c, file, &ops, nr);
	j.when.lo = model_now(&file->model);
	ret = device_ioctl(c, file, CALL_SUBMIT, HWHEEL_IOC_SUBMIT, arg.user);
	j.when.hi = model_now(&file->model);
	if (check_submit(&submit, &arg, ret))
		return;
	check_done(ret, nr, whole_ops(&ops, nr));
	judge_ops(c, file, &ops, ret < 0 ? 0 : ret, &j);
}

void call_submit(struct caller *c, struct file *file)
{
	unsigned int nr = random_nr(&c->rnd);

	if (!model_reserve(&file->model, nr)) {
		file->worn = true;
		return;
	}
	submit(c, file, nr);
	model_unreserve(&file->model, nr);
}

/* The file and its wheel */

static void check_output(const struct spot *spot, size_t size, long ret, const char *name)
{
	bool writable = spot->writable >= size;

	if ((ret == -EFAULT) == writable)
		contradict("%s: %ld with %zu bytes of writable memory", name, ret, spot->writable);
}

void call_info(struct caller *c, struct file *file)
{
	struct spot spot = memory_any(&c->arg, &c->rnd, sizeof(struct hwheel_info));
	struct hwheel_info info;
	long ret;

	memset(spot.alias, 0x5a, sizeof(info));
	ret = device_ioctl(c, file, CALL_INFO, HWHEEL_IOC_INFO, spot.user);
	check_output(&spot, sizeof(info), ret, "INFO");
	memcpy(&info, spot.alias, sizeof(info));
	if (!ret)
		model_info(&file->model, &info);
}

void call_stats(struct caller *c, struct file *file)
{
	struct spot spot = memory_any(&c->arg, &c->rnd, sizeof(struct hwheel_file_stats));
	struct hwheel_file_stats stats;
	long ret;

	memset(spot.alias, 0x5a, sizeof(stats));
	ret = device_ioctl(c, file, CALL_STATS, HWHEEL_IOC_STATS, spot.user);
	check_output(&spot, sizeof(stats), ret, "STATS");
	memcpy(&stats, spot.alias, sizeof(stats));
	if (!ret)
		model_stats(&file->model, &stats);
}

static __u32 random_slots(struct random *rnd)
{
	if (random_chance(rnd, 256))
		return 1048576 - random_below(rnd, 3);
	return random_below(rnd, 3) ? 0 : 1 + random_below(rnd, 4096);
}

static __u32 random_levels(struct random *rnd, __u32 kind)
{
	switch (kind) {
	case HWHEEL_KIND_HIERARCHICAL:
		return random_chance(rnd, 2) ? 0 : 2 + random_below(rnd, 7);
	default:
		return random_below(rnd, 2);
	}
}

/* A file that several use stays on its clock, so that they know what time it is. */
static __u32 random_clock(struct random *rnd, const struct model *model)
{
	return model->shared || random_chance(rnd, 2) ? CLOCK_MONOTONIC : CLOCK_BOOTTIME;
}

static struct hwheel_config random_config(struct caller *c, struct file *file)
{
	static const __u64 ticks[] = {
		0, 0, 50000, 200 * 1000 + 1, MSEC, 3 * MSEC + 5, 10 * MSEC, 100 * MSEC,
	};
	struct hwheel_config config = { .clock = CLOCK_MONOTONIC };

	if (random_chance(&c->rnd, 3))
		config.max_timeouts = 1 + random_below(&c->rnd, c->limit * 5 / 4);
	else if (random_chance(&c->rnd, 2))
		config.max_timeouts = 1 + random_below(&c->rnd, 40);
	if (random_chance(&c->rnd, 4))
		return config;
	config.tick_ns = ticks[random_below(&c->rnd, 8)];
	config.kind = HWHEEL_KIND_HASHED + random_below(&c->rnd, 3);
	config.flags = random_below(&c->rnd, (HWHEEL_CONFIG_NICE | HWHEEL_CONFIG_CPUS) + 1);
	if (config.kind != HWHEEL_KIND_HIERARCHICAL && random_chance(&c->rnd, 4)) {
		config.turn_ns = 1 + random_below(&c->rnd, SEC);
	} else {
		config.slots = random_slots(&c->rnd);
		config.levels = random_levels(&c->rnd, config.kind);
	}
	config.clock = random_clock(&c->rnd, &file->model);
	return config;
}

/* Always to an invalid one */
static void spoil_config(struct random *rnd, struct hwheel_config *config)
{
	static const __s32 clocks[] = { 0, 2, 3, 4, 5, 6, 8, -1 };

	switch (random_below(rnd, 10)) {
	case 0:
		config->tick_ns = 1 + random_below(rnd, 49999);
		break;
	case 1:
		config->tick_ns = 3600 * SEC + 1 + (random_next(rnd) >> 1);
		break;
	case 2:
		config->max_timeouts = 16777217 + (random_next(rnd) >> 1);
		break;
	case 3:
		config->slots = 1048577 + (random_next(rnd) >> 33);
		break;
	case 4:
		config->levels = 9 + (random_next(rnd) >> 33);
		break;
	case 5:
		config->kind = 4 + (random_next(rnd) >> 33);
		break;
	case 6:
		config->clock = clocks[random_below(rnd, ARRAY_SIZE(clocks))];
		break;
	case 7:
		config->kind = HWHEEL_KIND_DEFAULT;
		config->slots = 1 + random_below(rnd, 4096);
		break;
	case 8:
		config->slots = 1;
		config->turn_ns = 1 + (random_next(rnd) >> 1);
		break;
	default:
		config->kind = HWHEEL_KIND_HIERARCHICAL;
		config->levels = 1;
	}
	if (random_chance(rnd, 8))
		config->flags = 4U << random_below(rnd, 30);
	if (random_chance(rnd, 8))
		config->reserved[random_below(rnd, ARRAY_SIZE(config->reserved))] =
			1U << random_below(rnd, 32);
}

/* Checks the errno of a wrong argument, if it is wrong. */
static void check_config(struct caller *c, const struct hwheel_config *config, bool spoilt,
			 const struct spot *spot, long ret)
{
	bool faults = spot->readable < sizeof(*config);
	bool asks = !faults && !spoilt && config->max_timeouts > c->limit && !c->privileged;

	if ((ret == -EFAULT) != faults)
		contradict("CONFIG: %ld with %zu readable bytes", ret, spot->readable);
	if ((ret == -EINVAL) != (spoilt && !faults))
		contradict("CONFIG: %ld, and it is %svalid", ret, spoilt ? "in" : "");
	if ((ret == -EPERM) != asks)
		contradict("CONFIG: %ld for %llu timeouts", ret, config->max_timeouts);
}

void call_config(struct caller *c, struct file *file)
{
	struct spot spot = memory_any(&c->arg, &c->rnd, sizeof(struct hwheel_config));
	struct hwheel_config config = random_config(c, file);
	bool spoilt = random_chance(&c->rnd, 4);
	long ret;

	if (spoilt)
		spoil_config(&c->rnd, &config);
	else
		model_may_configure(&file->model, &config);
	memcpy(spot.alias, &config, sizeof(config));
	ret = device_ioctl(c, file, CALL_CONFIG, HWHEEL_IOC_CONFIG, spot.user);
	check_config(c, &config, spoilt, &spot, ret);
	if (ret)
		model_not_configured(&file->model, ret);
	else
		model_configured(&file->model, &config);
}

void call_stop(struct caller *c, struct file *file)
{
	long ret;

	model_may_stop(&file->model);
	ret = device_ioctl(c, file, CALL_STOP, HWHEEL_IOC_STOP,
			   random_pointer(&c->rnd));
	if (ret >= 0)
		model_stopped(&file->model, ret);
}

static const unsigned int known[] = {
	HWHEEL_IOC_INFO, HWHEEL_IOC_ARM, HWHEEL_IOC_REFRESH, HWHEEL_IOC_CANCEL, HWHEEL_IOC_QUERY,
	HWHEEL_IOC_SUBMIT, HWHEEL_IOC_CONFIG, HWHEEL_IOC_STOP, HWHEEL_IOC_STATS, HWHEEL_IOC_MAP,
	HWHEEL_IOC_KICK,
};

static bool is_known(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] == cmd)
			return true;
	return false;
}

/* A bit away from a known one, or any of our own. */
void call_unknown(struct caller *c, struct file *file)
{
	struct spot spot = memory_any(&c->arg, &c->rnd, sizeof(struct hwheel_file_stats));
	unsigned int cmd = known[random_below(&c->rnd, ARRAY_SIZE(known))];

	if (random_chance(&c->rnd, 4))
		cmd = _IOC(0, HWHEEL_IOC_MAGIC, 0, 0) | (random_next(&c->rnd) >> 32 & ~0xff00);
	else
		cmd ^= 1U << random_below(&c->rnd, 32);
	if (!is_known(cmd))
		device_ioctl(c, file, CALL_UNKNOWN, cmd, spot.user);
}

/* Events */

static void check_event(const struct hwheel_event *event, __u64 now)
{
	bool stopped = event->type == HWHEEL_EVENT_STOPPED;

	if (!event->id || event->deadline_ns & 7 || event->reserved ||
	    (event->type != HWHEEL_EVENT_EXPIRED && !stopped))
		contradict("an event of the type %u, id %#llx, deadline %llu, reserved %u",
			   event->type, event->id, event->deadline_ns, event->reserved);
	if (!stopped && event->fired_ns < event->deadline_ns)
		contradict("%#llx fired at %llu, early for %llu", event->id, event->fired_ns,
			   event->deadline_ns);
	if (event->fired_ns > now)
		contradict("%#llx fired in the future", event->id);
}

static void take_events(struct file *file, const struct spot *spot, size_t n)
{
	__u64 now = model_now(&file->model);
	struct hwheel_event event;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&event, spot->alias + i * sizeof(event), sizeof(event));
		check_event(&event, now);
		model_event(&file->model, &event);
	}
}

static void check_read(const struct file *file, const struct facts *before,
		       const struct spot *spot, size_t size, long ret)
{
	if (ret == -EINVAL ? size >= EVENT : ret >= 0 && size < EVENT)
		contradict("read of %zu bytes: %ld", size, ret);
	if (ret > 0 && (ret % EVENT || (size_t)ret > size || (size_t)ret > spot->writable))
		contradict("read of %zu bytes, %zu writable: %ld", size, spot->writable, ret);
	if (ret == -EFAULT && spot->writable >= size)
		contradict("read: EFAULT with good memory");
	if (before->ended && (ret > 0 || ret == -EAGAIN))
		contradict("read after the end: %ld", ret);
	if (before->mapped && ret != -EOPNOTSUPP && ret != -EINVAL && ret != -EFAULT)
		contradict("read of a mapped file: %ld", ret);
	if (ret == -EINTR && !file->blocking)
		contradict("read: EINTR of a non-blocking file");
}

static long finish_read(struct file *file, const struct facts *before, const struct spot *spot,
			size_t size, long ret)
{
	check_read(file, before, spot, size, ret);
	if (ret == -EOPNOTSUPP)
		model_told_mapped(&file->model, "read");
	else if (ret > 0)
		take_events(file, spot, ret / EVENT);
	else if (!ret)
		model_ended(&file->model);
	return ret;
}

/* May block. */
static long read_into(struct caller *c, struct file *file, const struct spot *spot, size_t size)
{
	struct facts before = model_facts(&file->model, 0);
	long ret = outcome(read(file->fd, spot->user, size));

	tally_note(&c->tally, CALL_READ, ret);
	return finish_read(file, &before, spot, size, ret);
}

/* Never blocks; into several pieces, one behind the other. */
static long readv_into(struct caller *c, struct file *file, const struct spot *spot, size_t size)
{
	struct facts before = model_facts(&file->model, 0);
	struct iovec pieces[4];
	size_t at = 0;
	int i;
	long ret;

	for (i = 0; i < 3; i++) {
		pieces[i].iov_base = spot->user + at;
		pieces[i].iov_len = random_below(&c->rnd, size - at + 1);
		at += pieces[i].iov_len;
	}
	pieces[3] = (struct iovec){ spot->user + at, size - at };
	ret = outcome(preadv2(file->fd, pieces, 4, -1, RWF_NOWAIT));
	tally_note(&c->tally, CALL_READV, ret);
	return finish_read(file, &before, spot, size, ret);
}

static size_t random_size(struct random *rnd)
{
	switch (random_below(rnd, 16)) {
	case 0:
		return 1 + random_below(rnd, EVENT - 1);
	case 1:
		return random_below(rnd, MAX_EVENTS * EVENT) + 1;
	case 2:
	case 3:
		return EVENT * (1 + random_below(rnd, 8)) + random_below(rnd, EVENT);
	default:
		return EVENT * (1 + random_below(rnd, 100));
	}
}

void call_read(struct caller *c, struct file *file)
{
	size_t size = random_size(&c->rnd);
	struct spot spot = memory_any(&c->data, &c->rnd, size);

	if (file->blocking || random_chance(&c->rnd, 3))
		readv_into(c, file, &spot, size);
	else
		read_into(c, file, &spot, size);
}

/* Only a scribbler damages a list. */
static short possible_events(const struct model *model)
{
	short events = model->scribbled ? POLLERR : 0;

	if (model->shared || model->scribbled || model->used || !model->layout.records)
		events |= POLLIN;
	return model->stopping ? events | POLLHUP : events;
}

/* Returns what poll() returned as events, 0 if it was interrupted. */
static short do_poll(struct caller *c, struct file *file, int timeout_ms)
{
	struct pollfd pfd = { .fd = file->fd, .events = POLLIN | POLLOUT | POLLPRI };
	long ret = outcome(poll(&pfd, 1, timeout_ms));

	tally_note(&c->tally, CALL_POLL, ret);
	if (ret <= 0)
		return 0;
	if (!pfd.revents || pfd.revents & ~possible_events(&file->model))
		contradict("poll: %#x", pfd.revents);
	return pfd.revents;
}

static void read_what_poll_told(struct caller *c, struct file *file, short events)
{
	struct spot spot = memory_good(&c->data, &c->rnd, 2 * EVENT);
	long ret = read_into(c, file, &spot, 2 * EVENT);

	if (events & POLLHUP ? ret : ret <= 0)
		contradict("poll told %#x, and read returned %ld", events, ret);
}

/* Where nobody else reads, what poll() told is still so. */
void call_poll(struct caller *c, struct file *file)
{
	short events = do_poll(c, file, random_chance(&c->rnd, 8) ? random_below(&c->rnd, 15) : 0);

	if (events && !file->model.shared && !file->model.layout.records &&
	    random_chance(&c->rnd, 2))
		read_what_poll_told(c, file, events);
}

/* It forgets a file that is closed by itself. */
void call_epoll(struct caller *c, struct file *file)
{
	struct epoll_event events[8] = {
		{ .events = EPOLLIN | (random_chance(&c->rnd, 2) ? EPOLLET : 0) },
	};
	long ret, i;

	epoll_ctl(c->epoll, random_chance(&c->rnd, 8) ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, file->fd,
		  &events[0]);
	ret = outcome(epoll_wait(c->epoll, events, 8, 0));
	tally_note(&c->tally, CALL_EPOLL, ret);
	for (i = 0; i < ret; i++)
		if (!events[i].events || events[i].events & ~(EPOLLIN | EPOLLHUP | EPOLLERR))
			contradict("epoll: %#x", events[i].events);
}

static bool arm_now(struct caller *c, struct file *file)
{
	struct spot spot = memory_good(&c->arg, &c->rnd, sizeof(struct hwheel_op));
	struct hwheel_op op = { .op = HWHEEL_OP_ARM, .cookie = random_next(&c->rnd) }, out;
	struct judged j = { .in = &op, .out = &out, .arms = 1 };

	announce(&file->model, &op);
	memcpy(spot.alias, &op, sizeof(op));
	j.facts = model_facts(&file->model, 0);
	j.when.lo = model_now(&file->model);
	j.ret = device_ioctl(c, file, CALL_ARM, HWHEEL_IOC_ARM, spot.user);
	j.when.hi = model_now(&file->model);
	memcpy(&out, spot.alias, sizeof(out));
	judge(&file->model, &j);
	return !j.ret;
}

/* Waits for what will come, where nobody else takes it. */
void call_wait(struct caller *c, struct file *file)
{
	struct spot spot = memory_good(&c->data, &c->rnd, EVENT);
	long ret;

	if (file->model.shared || !model_reserve(&file->model, 1))
		return;
	if (arm_now(c, file) && file->blocking) {
		ret = read_into(c, file, &spot, EVENT);
		if (ret != EVENT && ret != -EINTR)
			contradict("waited for an event, and read returned %ld", ret);
	}
	model_unreserve(&file->model, 1);
}

/* A file that was stopped has an event or is at its end once the worker lets go of it. */
static bool await_more(struct caller *c, struct file *file)
{
	unsigned int signals;

	do {
		signals = signals_of(c);
		if (do_poll(c, file, PATIENCE_MS))
			return true;
	} while (signals_of(c) != signals);
	contradict("a file that was stopped does not come to its end");
	return false;
}

static void read_to_the_end(struct caller *c, struct file *file)
{
	struct spot spot = memory_good(&c->data, &c->rnd, MAX_EVENTS * EVENT);
	long ret;

	do {
		if (!await_more(c, file))
			return;
		ret = read_into(c, file, &spot, MAX_EVENTS * EVENT);
	} while (ret > 0);
	if (ret)
		contradict("poll told of an event, and read returned %ld", ret);
}

void call_to_the_end(struct caller *c, struct file *file)
{
	struct spot spot = memory_good(&c->arg, &c->rnd, sizeof(struct hwheel_file_stats));
	struct hwheel_file_stats stats;

	call_stop(c, file);
	if (file->model.layout.records && await_more(c, file))
		records_to_the_end(c, file);
	else if (!file->model.layout.records)
		read_to_the_end(c, file);
	if (device_ioctl(c, file, CALL_STATS, HWHEEL_IOC_STATS, spot.user))
		return;
	memcpy(&stats, spot.alias, sizeof(stats));
	model_all_over(&file->model, &stats);
}
