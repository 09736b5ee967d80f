// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debug objects.
 *
 * A timeout is active while it is pending or QUEUED: then the wheel refers to it. A work that is
 * handed over is not: the workqueue has debug objects of its own. A caller that arms one that is
 * not active says so between the exchange of the word and the push, while nobody else can have it.
 * The thread that lets it go (the worker, the stopper, a canceller of works) says so before
 * the exchange of the word, as others may free it or arm it after that, and takes it back if the
 * word was another one.
 *
 * Only what is active is tracked. So nothing has to tell when a timeout is not used any more,
 * timeouts may be static, on the stack, or copied while they are idle, and the kernel has no
 * pointer to this module but while there are wheels.
 */
#include <linux/atomic.h>
#include <linux/debugobjects.h>
#include <linux/hwheel.h>
#include <linux/sched/task_stack.h>

#include "debug_objects.h"

/* What the kernel was told to name, for the tests */
atomic_t hwheel_debug_found = ATOMIC_INIT(0);

static const struct debug_obj_descr descr;

static void *debug_hint(void *object)
{
	const struct hwheel_timeout *timeout = object;

	return timeout->ops->expire;
}

/* Tracking begins with the arm, wherever the timeout is. */
static bool is_static_object(void *object)
{
	return true;
}

/* The wheel can't be made to unreference it here, in any context: the object is only forgotten. */
static bool debug_found(void *object, enum debug_obj_state state)
{
	atomic_inc(&hwheel_debug_found);
	if (state == ODEBUG_STATE_ACTIVE)
		debug_object_deactivate(object, &descr);
	return false;
}

static const struct debug_obj_descr descr = {
	.name			= "hwheel_timeout",
	.debug_hint		= debug_hint,
	.is_static_object	= is_static_object,
	.fixup_init		= debug_found,
	.fixup_activate		= debug_found,
	.fixup_free		= debug_found,
};

static void debug_track(struct hwheel_timeout *timeout)
{
	if (object_is_on_stack(timeout))
		debug_object_init_on_stack(timeout, &descr);
	else
		debug_object_init(timeout, &descr);
}

/* It must not be active. */
void hwheel_debug_init(struct hwheel_timeout *timeout)
{
	debug_track(timeout);
	debug_object_free(timeout, &descr);
}

void hwheel_debug_reference(struct hwheel_timeout *timeout)
{
	if (object_is_on_stack(timeout))
		debug_track(timeout);
	debug_object_activate(timeout, &descr);
}

void hwheel_debug_unreference(struct hwheel_timeout *timeout)
{
	debug_object_deactivate(timeout, &descr);
	debug_object_free(timeout, &descr);
}
