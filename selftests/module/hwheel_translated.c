// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that used timer_list and delayed_work, as it is with hwheel: doc/kernel.md shows it. Loading
 * the module runs it, on the system wheel, and fails if anything comes out otherwise.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/hwheel.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#define SHORT_NS	(20 * NSEC_PER_MSEC)

static atomic_t alive;

static void *make(size_t size)
{
	void *object = kzalloc(size, GFP_KERNEL);

	if (object)
		atomic_inc(&alive);
	return object;
}

static void discard(void *object)
{
	atomic_dec(&alive);
	kfree(object);
}

/* mod_timer(), and timer_delete_sync() */

struct conn {
	struct hwheel_timeout	idle;
	bool			closed;
};

static void conn_idle(struct hwheel_timeout *timeout)
{
	WRITE_ONCE(container_of(timeout, struct conn, idle)->closed, true);
}

static const struct hwheel_timeout_ops conn_ops = { .expire = conn_idle };

/* mod_timer(&conn->idle, jiffies + HZ / 10); */
static void conn_used(struct conn *conn)
{
	hwheel_mod_jiffies(&conn->idle, jiffies + HZ / 10);
}

/* timer_delete_sync(&conn->idle); kfree(conn); */
static void conn_free(struct conn *conn)
{
	hwheel_cancel_sync(&conn->idle);
	discard(conn);
}

static bool conn_works(void)
{
	struct conn *conn = make(sizeof(*conn));
	bool closed;

	if (!conn)
		return false;
	hwheel_timeout_init(&conn->idle, hwheel_system(), &conn_ops);
	conn_used(conn);
	conn_used(conn);
	msleep(1000);
	closed = READ_ONCE(conn->closed);
	conn_used(conn);
	conn_free(conn);
	return closed;
}

/* timer_shutdown_sync(): the callback arms its timer again. */

struct port {
	struct hwheel_timeout	poll;
	unsigned int		polls;
};

/* mod_timer(&port->poll, jiffies + ...); */
static void port_poll(struct hwheel_timeout *timeout)
{
	struct port *port = container_of(timeout, struct port, poll);

	WRITE_ONCE(port->polls, port->polls + 1);
	hwheel_mod(&port->poll, SHORT_NS);
}

static const struct hwheel_timeout_ops port_ops = { .expire = port_poll };

/* timer_shutdown_sync(&port->poll); kfree(port); */
static void port_free(struct port *port)
{
	hwheel_shutdown_sync(&port->poll);
	discard(port);
}

static bool port_works(void)
{
	struct port *port = make(sizeof(*port));
	bool polled;

	if (!port)
		return false;
	hwheel_timeout_init(&port->poll, hwheel_system(), &port_ops);
	hwheel_mod(&port->poll, 0);
	msleep(1000);
	polled = READ_ONCE(port->polls) > 1;
	port_free(port);
	return polled;
}

/* delayed_work */

struct report {
	struct hwheel_work	work;
	unsigned int		written;
};

static void report_write(struct work_struct *item)
{
	struct report *report = container_of(to_hwheel_work(item), struct report, work);

	msleep(20);
	WRITE_ONCE(report->written, report->written + 1);
}

/* INIT_DELAYED_WORK(&report->work, report_write); */
static void report_init(struct report *report)
{
	hwheel_work_init(&report->work, hwheel_system(), system_unbound_wq, report_write, NULL);
}

/* mod_delayed_work(system_unbound_wq, &report->work, HZ / 10); */
static void report_later(struct report *report)
{
	hwheel_work_mod(&report->work, 100 * NSEC_PER_MSEC);
}

/* cancel_delayed_work_sync(&report->work); kfree(report); */
static void report_free(struct report *report)
{
	hwheel_work_cancel_sync(&report->work);
	discard(report);
}

static bool report_works(void)
{
	struct report *report = make(sizeof(*report));
	bool written;

	if (!report)
		return false;
	report_init(report);
	report_later(report);
	report_later(report);
	hwheel_work_flush(&report->work);
	written = READ_ONCE(report->written) == 1;
	report_later(report);
	report_free(report);
	return written;
}

/* References: a timer that is pending holds one. */

struct session {
	struct hwheel_timeout	retry;
	refcount_t		refs;
};

static void session_put(struct session *session)
{
	if (refcount_dec_and_test(&session->refs))
		discard(session);
}

/* Also for a retry that was cancelled: here the wheel gives its reference up. */
static void session_drop(struct hwheel_timeout *timeout)
{
	session_put(container_of(timeout, struct session, retry));
}

static const struct hwheel_timeout_ops session_ops = {
	.expire = session_drop, .release = session_drop,
};

/* if (!mod_timer(&session->retry, jiffies + ...)) refcount_inc(&session->refs); */
static void session_retry(struct session *session, u64 delay_ns)
{
	refcount_inc(&session->refs);
	if (hwheel_mod(&session->retry, delay_ns) != HWHEEL_NOT_HELD)
		session_put(session);
}

/* if (timer_delete(&session->retry)) session_put(session); */
static void session_stop(struct session *session)
{
	hwheel_cancel(&session->retry);
}

static bool session_works(void)
{
	struct session *session = make(sizeof(*session));

	if (!session)
		return false;
	refcount_set(&session->refs, 1);
	hwheel_timeout_init(&session->retry, hwheel_system(), &session_ops);
	session_retry(session, NSEC_PER_SEC);
	session_retry(session, 2 * NSEC_PER_SEC);
	session_stop(session);
	session_retry(session, 2 * NSEC_PER_SEC);
	session_stop(session);
	session_stop(session);
	msleep(500);
	session_retry(session, SHORT_NS);
	session_put(session);
	msleep(500);
	return !atomic_read(&alive);
}

static int __init translated_init(void)
{
	bool conn = conn_works(), port = port_works();
	bool report = report_works(), session = session_works();

	pr_info("conn %d port %d report %d session %d\n", conn, port, report, session);
	return conn && port && report && session ? 0 : -EPROTO;
}
module_init(translated_init);

static void __exit translated_exit(void)
{
}
module_exit(translated_exit);

MODULE_DESCRIPTION("Code that used timer_list and delayed_work");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
