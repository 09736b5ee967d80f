// SPDX-License-Identifier: GPL-2.0-only
/* How another module uses hwheel: sessions that end when they have been idle. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hwheel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define IDLE_NS	(200 * NSEC_PER_MSEC)

/* The timeout is a part of the object that it is for; nothing else is allocated. */
struct session {
	struct hwheel_timeout	idle;
	unsigned int		id;
};

static struct hwheel *wheel;
static struct session *sessions[2];
static DEFINE_SPINLOCK(sessions_lock);

/* The caller that takes a session out of the table has to free it; nobody else may. */
static struct session *session_take(unsigned int id)
{
	struct session *session;

	spin_lock(&sessions_lock);
	session = sessions[id];
	sessions[id] = NULL;
	spin_unlock(&sessions_lock);
	return session;
}

/* Runs on the wheel's thread. The wheel has let go of the timeout: so it may be freed. */
static void session_expire(struct hwheel_timeout *timeout)
{
	struct session *session = container_of(timeout, struct session, idle);

	if (!session_take(session->id))
		return;
	pr_info("session %u was idle for too long\n", session->id);
	kfree(session);
}

static const struct hwheel_timeout_ops session_ops = { .expire = session_expire };

static int session_open(unsigned int id)
{
	struct session *session = kzalloc(sizeof(*session), GFP_KERNEL);
	int err;

	if (!session)
		return -ENOMEM;
	session->id = id;
	hwheel_timeout_init(&session->idle, wheel, &session_ops);
	spin_lock(&sessions_lock);
	sessions[id] = session;
	err = hwheel_arm(&session->idle, IDLE_NS);
	spin_unlock(&sessions_lock);
	return err;
}

/*
 * A packet came: idleness begins anew, by one atomic operation. hwheel_refresh() is for
 * interrupts, too; if this were, all would have to take the lock by spin_lock_irqsave().
 */
static void session_use(unsigned int id)
{
	spin_lock(&sessions_lock);
	if (sessions[id])
		hwheel_refresh(&sessions[id]->idle, IDLE_NS);
	spin_unlock(&sessions_lock);
}

/*
 * The callback does not free a session that was taken, but perhaps it is about to run,
 * or runs. hwheel_cancel_sync() prevents or awaits it, and the wheel lets go; so that is
 * not to be called under a lock that the callback takes.
 */
static void session_close(unsigned int id)
{
	struct session *session = session_take(id);

	if (!session)
		return;
	if (hwheel_cancel_sync(&session->idle))
		pr_info("session %u was closed in time\n", id);
	kfree(session);
}

static void sessions_close(void)
{
	unsigned int id;

	for (id = 0; id < ARRAY_SIZE(sessions); id++)
		session_close(id);
	hwheel_destroy(wheel);
}

static int __init sample_init(void)
{
	const struct hwheel_params params = {
		.name = "sample", .tick_ns = 10 * NSEC_PER_MSEC,
	};
	int err;

	wheel = hwheel_create(&params);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = session_open(0) ?: session_open(1);
	if (err) {
		sessions_close();
		return err;
	}
	session_use(0);
	session_close(1);
	return 0;
}
module_init(sample_init);

/* All callbacks have returned when the wheel is gone, so their code may go, too. */
static void __exit sample_exit(void)
{
	sessions_close();
}
module_exit(sample_exit);

MODULE_DESCRIPTION("How to use hwheel");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
