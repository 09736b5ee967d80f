// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheels of kernel code, for what owners forget, and files in debugfs for all wheels.
 *
 * Wheels cost a thread each, so very many of them are a mistake of kernel code: Netty and hwheel
 * warn at the 65th. Wheels of programs have a limit of their own, and are not on the list: programs
 * would choose its length, and the device destroys them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hwheel.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include "debugfs.h"
#include "engine/wheel.h"
#include "registry.h"

#define MANY_WHEELS	64

static DEFINE_SPINLOCK(lock);	/* protects all that follows */
static LIST_HEAD(wheels);
static unsigned int nr_wheels;	/* of kernel code */
static unsigned int last_id;

/* The system's is there to save others. */
static bool is_counted(const struct hwheel *wheel)
{
	return !wheel->own && !wheel->system;
}

static void registry_add(struct hwheel *wheel, struct module *owner,
			 const char *creator)
{
	bool many;

	snprintf(wheel->creator, sizeof(wheel->creator), "%s [%s]", creator,
		 module_name(owner));

	spin_lock(&lock);
	wheel->module = owner;
	wheel->id = ++last_id;
	if (!wheel->own)
		list_add_tail(&wheel->registered, &wheels);
	nr_wheels += is_counted(wheel);
	many = nr_wheels > MANY_WHEELS;
	spin_unlock(&lock);
	if (many)
		pr_warn_once("more than %u wheels at a time, the latest made by %s: one wheel can hold very many timeouts\n",
			     MANY_WHEELS, wheel->creator);
	if (wheel->own)
		hwheel_debugfs_add_later(wheel);
	else
		hwheel_debugfs_add(wheel);
}

/*
 * Returns when nobody reads of it in debugfs any more. One that was stopped may be removed
 * before it is destroyed, which removes it again.
 */
static void registry_remove(struct hwheel *wheel)
{
	spin_lock(&lock);
	if (!list_empty(&wheel->registered))
		nr_wheels -= is_counted(wheel);
	list_del_init(&wheel->registered);
	spin_unlock(&lock);
	hwheel_debugfs_remove(wheel);
}

static const struct hwheel_observer registry_observer = {
	.created = registry_add,
	.retired = registry_remove,
};

/* Built-in code may have created wheels before. */
void hwheel_registry_init(void)
{
	hwheel_observe(&registry_observer);
}

/*
 * The next wheel that a module made, or NULL; the module is forgotten with that. The
 * caller has to put it, as it may be destroyed meanwhile.
 */
struct hwheel *hwheel_registry_disown(const struct module *module)
{
	struct hwheel *wheel, *found = NULL;

	spin_lock(&lock);
	list_for_each_entry(wheel, &wheels, registered) {
		if (wheel->module != module)
			continue;
		wheel->module = NULL;
		refcount_inc(&wheel->users);
		found = wheel;
		break;
	}
	spin_unlock(&lock);
	return found;
}

static struct hwheel *first_wheel(void)
{
	struct hwheel *wheel;

	spin_lock(&lock);
	wheel = list_first_entry_or_null(&wheels, struct hwheel, registered);
	spin_unlock(&lock);
	return wheel;
}

/* Modules that are loaded hold a reference to this one: what remains has no owner. */
void hwheel_registry_exit(void)
{
	struct hwheel *wheel;

	while ((wheel = first_wheel()))
		hwheel_destroy(wheel);
}
