// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of userspace on the timeouts of a file, one at a time or many.
 *
 * One way for both: operations are copied in, checked, prepared, performed under the
 * lock of the file, and what they tell is copied out. Preparing makes the timeouts of those
 * that arm; their ids are copied out before they are armed, so that there is nothing to
 * undo when that copy faults. SET finds out what it has to do as it is performed, and its id is
 * copied out with the results.
 *
 * A batch is done in chunks, for each of which the lock is taken once to prepare and once
 * to perform; the clock is read once for all. All records of a chunk are written before any
 * of them is performed: what can't be written is not done, nor what comes after it.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include <uapi/linux/hwheel.h>

#include "engine/edge.h"
#include "engine/wheel.h"
#include "entry.h"
#include "file.h"
#include "ioctl_op.h"
#include "timens.h"

/* A chunk is on the stack, and the worker may have to wait for the lock as long as it takes. */
#define CHUNK	16

/**
 * struct call - a system call
 * @file:   on whose timeouts it operates
 * @wheel: they are on, as far as the caller knows, or NULL
 * @now:   its time, which relative ones count from; 0: not known yet
 */
struct call {
	struct hwheel_file	*file;
	struct hwheel		*wheel;
	u64			now;
};

/**
 * struct chunk - operations on their way
 * @ops:     as copied in, then with what they told
 * @entries: in the places of those that arm, their timeouts
 */
struct chunk {
	struct hwheel_op	ops[CHUNK];
	struct hwheel_entry	*entries[CHUNK];
};

/* What of an operation must be 0; its number is one that there is. */
static u64 unused_of(const struct hwheel_op *op)
{
	u64 unused = (op->flags & ~HWHEEL_ABSOLUTE) | op->reserved;

	switch (op->op) {
	case HWHEEL_OP_ARM:
		return unused | op->id;
	case HWHEEL_OP_SET:
		return unused;
	case HWHEEL_OP_REFRESH:
		return unused | op->cookie;
	case HWHEEL_OP_CANCEL:
	case HWHEEL_OP_WITHDRAW:
		return unused | op->flags | op->cookie | op->time_ns;
	default:
		return unused | op->cookie | op->time_ns;
	}
}

static int op_check(const struct hwheel_op *op)
{
	if (op->op < HWHEEL_OP_ARM || op->op > HWHEEL_OP_WITHDRAW)
		return -EINVAL;
	return unused_of(op) ? -EINVAL : 0;
}

/* It arms, if it was not found to fail: between preparing and performing it has a timeout. */
static bool is_arm(const struct hwheel_op *op)
{
	return !op->result && op->op == HWHEEL_OP_ARM;
}

/* Without a timeout it can't arm any more. */
static struct hwheel_entry *op_add(struct hwheel_file *file, struct hwheel_op *op)
{
	struct hwheel_entry *entry = hwheel_entry_add(file);

	if (IS_ERR(entry)) {
		op->result = PTR_ERR(entry);
	} else {
		entry->cookie = op->cookie;
		op->id = entry->id;
	}
	return entry;
}

/* Operations that may make room, or may need it */
static bool concerns_room(const struct hwheel_op *ops, unsigned int nr)
{
	while (nr--)
		if (!ops[nr].result &&
		    (ops[nr].op == HWHEEL_OP_CANCEL || ops[nr].op >= HWHEEL_OP_SET))
			return true;
	return false;
}

/*
 * Ends before an operation that may find the file full, if those before it are to be performed
 * first, as they make room or take it. Returns how many are prepared.
 */
static unsigned int op_add_all(struct hwheel_file *file, struct hwheel_op *ops,
			       struct hwheel_entry **entries, unsigned int nr)
{
	unsigned int i;

	spin_lock(&file->table.lock);
	for (i = 0; i < nr; i++) {
		if (!is_arm(&ops[i]))
			continue;
		if (unlikely(file->counts.held + CHUNK > file->max) && concerns_room(ops, i))
			break;
		entries[i] = op_add(file, &ops[i]);
	}
	spin_unlock(&file->table.lock);
	return i;
}

/* After adding timeouts: once there is one the file keeps its wheel. */
static __always_inline void find_wheel(struct call *call)
{
	struct hwheel *wheel = hwheel_file_wheel(call->file);

	if (call->wheel != wheel) {
		call->wheel = wheel;
		call->now = 0;
	}
}

/* Returns how many were prepared: one at least, if there are any. */
static unsigned int op_prepare(struct call *call, struct hwheel_op *ops,
			       struct hwheel_entry **entries, unsigned int nr)
{
	bool arms = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		entries[i] = NULL;
		ops[i].result = op_check(&ops[i]);
		arms |= is_arm(&ops[i]);
	}
	if (arms)
		nr = op_add_all(call->file, ops, entries, nr);
	find_wheel(call);
	return nr;
}

static u64 now_of(struct call *call)
{
	if (!call->now)
		call->now = hwheel_now(call->wheel);
	return call->now;
}

static u64 deadline_of(struct call *call, const struct hwheel_op *op)
{
	if (op->flags & HWHEEL_ABSOLUTE)
		return hwheel_timens_from_user(&call->file->timens, call->wheel,
					     op->time_ns);
	return now_of(call) + min(op->time_ns, HWHEEL_NEVER);
}

static int op_query(struct call *call, struct hwheel_op *op)
{
	u64 deadline;
	int state;

	state = hwheel_entry_query(call->file, call->wheel, op->id, &op->cookie,
				   &deadline);
	if (state < 0)
		return state;
	if (op->flags & HWHEEL_ABSOLUTE)
		op->time_ns = hwheel_timens_to_user(&call->file->timens, call->wheel,
						    deadline);
	else
		op->time_ns = deadline - min(deadline, now_of(call));
	return state;
}

/* Without one to move or to arm again. May drop the lock, to sleep. */
static int op_set_new(struct call *call, struct hwheel_op *op)
{
	struct hwheel_entry *entry = hwheel_entry_add(call->file);
	u64 id;
	int err;

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	find_wheel(call);
	entry->cookie = op->cookie;
	id = entry->id;
	err = hwheel_entry_arm_at(entry, deadline_of(call, op));
	if (err)
		return err;
	/* It may have expired in a pass that is not over yet. */
	hwheel_entry_withdraw(call->file, op->id);
	op->id = id;
	return 0;
}

/* Not a part of op_perform(), as the others would have its frame. */
static noinline int op_set(struct call *call, struct hwheel_op *op)
{
	int err = -ENOENT;

	if (likely(call->wheel))
		err = hwheel_entry_set_at(call->file, call->wheel, &op->id, op->cookie,
					  deadline_of(call, op));
	return err == -ENOENT ? op_set_new(call, op) : err;
}

static int op_perform(struct call *call, struct hwheel_op *op,
		      struct hwheel_entry *entry)
{
	/* No timeout was armed yet. */
	if (unlikely(!call->wheel) && op->op != HWHEEL_OP_SET)
		return -ENOENT;
	switch (op->op) {
	case HWHEEL_OP_ARM:
		return hwheel_entry_arm_at(entry, deadline_of(call, op));
	case HWHEEL_OP_REFRESH:
		return hwheel_entry_refresh_at(call->file, call->wheel, op->id,
					     deadline_of(call, op));
	case HWHEEL_OP_CANCEL:
		return hwheel_entry_cancel(call->file, op->id);
	case HWHEEL_OP_SET:
		return op_set(call, op);
	case HWHEEL_OP_WITHDRAW:
		return hwheel_entry_withdraw(call->file, op->id);
	default:
		return op_query(call, op);
	}
}

/* Returns whether there is something to be told. */
static bool op_perform_all(struct call *call, struct hwheel_op *ops,
			   struct hwheel_entry **entries, unsigned int nr)
{
	bool news = false;
	unsigned int i;

	spin_lock(&call->file->table.lock);
	for (i = 0; i < nr; i++) {
		if (!ops[i].result)
			ops[i].result = op_perform(call, &ops[i], entries[i]);
		news |= ops[i].result | (ops[i].op >= HWHEEL_OP_SET);
	}
	spin_unlock(&call->file->table.lock);
	/* An arm that fails drops its timeout, WITHDRAW an event. */
	if (news)
		hwheel_file_publish_end(call->file);
	return news;
}

/*
 * Copying, field by field: what is not needed is not copied. Access to user memory is
 * opened once for all records, and in between nothing may be called, which includes parts
 * that the compiler would make functions of: so these are functions of their own.
 */

/*
 * Where not all can get 64 bits at once. One by one: copy_from_user() copies in blocks on ARM, and
 * may miss more than can't be read.
 */
static unsigned int copy_ops(struct hwheel_op *ops, const struct hwheel_op __user *user,
			     unsigned int nr)
{
	unsigned int i = 0;

	while (i < nr && !copy_from_user(&ops[i], &user[i], sizeof(ops[i])))
		i++;
	return i;
}

/* Returns how many of them could be read. */
static noinline unsigned int read_ops(struct hwheel_op *ops,
				      const struct hwheel_op __user *user,
				      unsigned int nr)
{
	unsigned int i;

	if (!IS_ENABLED(CONFIG_64BIT))
		return copy_ops(ops, user, nr);
	if (!user_access_begin(user, nr * sizeof(*ops)))
		return 0;
	for (i = 0; i < nr; i++) {
		unsafe_get_user(ops[i].op, &user[i].op, fault);
		unsafe_get_user(ops[i].flags, &user[i].flags, fault);
		unsafe_get_user(ops[i].reserved, &user[i].reserved, fault);
		unsafe_get_user(ops[i].id, &user[i].id, fault);
		unsafe_get_user(ops[i].cookie, &user[i].cookie, fault);
		unsafe_get_user(ops[i].time_ns, &user[i].time_ns, fault);
	}
fault:
	user_access_end();
	return i;
}

/*
 * Writes the results that are known before the operation, and the first and the last field: then
 * all bytes of a record are known to be writable, as it lies on no more than two pages. Returns
 * how many records are.
 */
static noinline unsigned int write_ops(struct hwheel_op __user *user,
				       const struct hwheel_op *ops,
				       unsigned int nr)
{
	unsigned int i;

	if (!user_access_begin(user, nr * sizeof(*user)))
		return 0;
	for (i = 0; i < nr; i++) {
		unsafe_put_user(ops[i].op, &user[i].op, fault);
		unsafe_put_user(ops[i].result, &user[i].result, fault);
		unsafe_put_user(ops[i].id, &user[i].id, fault);
		unsafe_put_user(ops[i].time_ns, &user[i].time_ns, fault);
	}
fault:
	user_access_end();
	return i;
}

/*
 * Writes results; an earlier write said that the operation had no error, and which id that of SET
 * was.
 */
static noinline bool write_results(struct hwheel_op __user *user,
				   const struct hwheel_op *ops, unsigned int nr)
{
	unsigned int i;

	if (!user_access_begin(user, nr * sizeof(*user)))
		return false;
	for (i = 0; i < nr; i++) {
		if (!ops[i].result && ops[i].op != HWHEEL_OP_SET)
			continue;
		unsafe_put_user(ops[i].result, &user[i].result, fault);
		unsafe_put_user(ops[i].id, &user[i].id, fault);
		unsafe_put_user(ops[i].cookie, &user[i].cookie, fault);
		unsafe_put_user(ops[i].time_ns, &user[i].time_ns, fault);
	}
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

/* Does up to @nr operations, adds how many to *@done, and returns whether to go on. */
static bool do_chunk(struct call *call, struct chunk *chunk,
		     struct hwheel_op __user *user, unsigned int nr,
		     unsigned int *done)
{
	unsigned int ready, writable, i;

	ready = read_ops(chunk->ops, user, nr);
	ready = op_prepare(call, chunk->ops, chunk->entries, ready);
	writable = write_ops(user, chunk->ops, ready);
	for (i = writable; i < ready; i++)
		if (is_arm(&chunk->ops[i]))
			hwheel_entry_drop(chunk->entries[i]);
	*done += writable;
	/* If this copy faults and the last one did not, they are done all the same. */
	if (op_perform_all(call, chunk->ops, chunk->entries, writable) &&
	    !write_results(user, chunk->ops, writable))
		return false;
	return writable && writable == ready && !fatal_signal_pending(current);
}

/* A batch; returns how many operations were done, or an error if none was. */
long hwheel_ioctl_submit(struct hwheel_file *file,
			 const struct hwheel_submit __user *argp)
{
	struct call call = { .file = file };
	struct hwheel_op __user *user;
	struct hwheel_submit submit;
	unsigned int done = 0;
	struct chunk chunk;

	if (copy_from_user(&submit, argp, sizeof(submit)))
		return -EFAULT;
	if (submit.nr > HWHEEL_SUBMIT_MAX || submit.reserved)
		return -EINVAL;
	user = u64_to_user_ptr(submit.ops);
	while (done < submit.nr &&
	       do_chunk(&call, &chunk, user + done, min(submit.nr - done, CHUNK), &done))
		cond_resched();
	return submit.nr && !done ? -EFAULT : done;
}

/* What a single operation tells, but its result */
static int put_answer(const struct hwheel_op *op, struct hwheel_op __user *user)
{
	if (op->op == HWHEEL_OP_SET && !op->result)
		return put_user(op->id, &user->id);
	if (op->op != HWHEEL_OP_QUERY || op->result < 0)
		return 0;
	return put_user(op->cookie, &user->cookie) ?:
	       put_user(op->time_ns, &user->time_ns);
}

/* @code names the operation, the record may. Returns its result. */
long hwheel_ioctl_op(struct hwheel_file *file, u32 code,
		     struct hwheel_op __user *user)
{
	struct call call = { .file = file };
	struct hwheel_entry *entry;
	struct hwheel_op op;

	if (!read_ops(&op, user, 1))
		return -EFAULT;
	op.op = op.op ?: code;
	if (op.op != code)
		return -EINVAL;
	op_prepare(&call, &op, &entry, 1);
	/* That of SET is written again when it is performed. */
	if (!op.result && (code == HWHEEL_OP_ARM || code == HWHEEL_OP_SET) &&
	    put_user(op.id, &user->id)) {
		if (entry)
			hwheel_entry_drop(entry);
		return -EFAULT;
	}
	op_perform_all(&call, &op, &entry, 1);
	return put_answer(&op, user) ?: op.result;
}
