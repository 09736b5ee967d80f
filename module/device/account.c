// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts: whoever has files open, and what each of them may have.
 *
 * An account is a uid of the initial user namespace; root has one for each of its cgroups. What a
 * user does in namespaces of its own is on its account, so subordinate uids multiply nothing. A
 * namespace that root made is an account of its own, as are containers that root runs so.
 *
 * All files of an account share it, and its default wheel unless CONFIG has given them another. The
 * first ARM or MAP makes that wheel. Starting a thread and ending one take long, so a wheel that no
 * file is on is kept for a while, and a work item ends it: no close() waits for that.
 *
 * The workers of an account share CPU time that is bounded. An account whose files are closed is
 * kept until its burst is whole: else who opens them again had a new one each time.
 *
 * The memory of the files is charged to the account before it is allocated: entries, mapped memory
 * and private wheels. A default wheel is not: an account has one at most, of a size that the
 * administrator chose. Nor is the file itself, so an account that holds nothing is charged 0.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/hwheel.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "account.h"
#include "engine/gfp.h"
#include "engine/wheel.h"

/* How long a wheel is kept that no file is on */
#define KEPT	HZ

/* Which part of low memory an account may hold by default, as in epoll */
#define SHARE	25

unsigned long long hwheel_account_max_bytes;

/* Parameters of default wheels, and the workqueue that ends these; constant */
static struct hwheel_params defaults;
static unsigned int worker_percent;
static struct workqueue_struct *ender;

static DEFINE_SPINLOCK(lock);	/* protects what follows */
static bool exiting;
static DEFINE_HASHTABLE(accounts, 8);

/* The caller's v2 cgroup */
u64 hwheel_account_cgroup(void)
{
	u64 id = 0;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	id = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();
#endif
	return id;
}

/* The account of an opener with these credentials, in that v2 cgroup */
struct hwheel_account_key hwheel_account_key(const struct cred *cred, u64 cgroup)
{
	struct hwheel_account_key key = { .ns = &init_user_ns, .uid = cred->uid };
	struct user_namespace *ns = cred->user_ns;

	if (ns == &init_user_ns) {
		key.cgroup = uid_eq(key.uid, GLOBAL_ROOT_UID) ? cgroup : 0;
		return key;
	}
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	key.uid = ns->owner;
	if (uid_eq(key.uid, GLOBAL_ROOT_UID))
		key.ns = ns;
	return key;
}

static bool key_eq(const struct hwheel_account_key *a, const struct hwheel_account_key *b)
{
	return a->ns == b->ns && uid_eq(a->uid, b->uid) && a->cgroup == b->cgroup;
}

static u32 key_hash(const struct hwheel_account_key *key)
{
	return hash_ptr(key->ns, 32) ^ hash_64(key->cgroup, 32) ^ __kuid_val(key->uid);
}

static struct hwheel_account *find_or_add(const struct hwheel_account_key *key,
					  struct hwheel_account *new)
{
	struct hwheel_account *account;

	spin_lock(&lock);
	hash_for_each_possible(accounts, account, link, key_hash(key))
		if (key_eq(&account->key, key))
			goto found;
	account = new;
	if (new)
		hash_add(accounts, &new->link, key_hash(key));
found:
	if (account)
		account->refs++;
	spin_unlock(&lock);
	return account;
}

static void free_account(struct hwheel_account *account)
{
	put_user_ns(account->key.ns);
	kfree(account);
}

static void end_wheel(struct work_struct *work);

/* For another file of this account. May sleep. Returns NULL if there is no memory. */
struct hwheel_account *hwheel_account_get(const struct hwheel_account_key *key)
{
	struct hwheel_account *account = find_or_add(key, NULL), *new;

	if (account)
		return account;
	new = kzalloc(sizeof(*new), HWHEEL_GFP_USER);
	if (!new)
		return NULL;
	new->key = *key;
	get_user_ns(new->key.ns);
	mutex_init(&new->create);
	hwheel_bandwidth_init(&new->bandwidth, worker_percent);
	INIT_DELAYED_WORK(&new->end, end_wheel);
	account = find_or_add(key, new);
	if (account != new)
		free_account(new);
	return account;
}

static void end_later_locked(struct hwheel_account *account, unsigned long delay)
{
	lockdep_assert_held(&lock);
	if (!mod_delayed_work(ender, &account->end, delay))
		account->refs++;
}

void hwheel_account_put(struct hwheel_account *account)
{
	bool last;
	u64 owes;

	spin_lock(&lock);
	last = !--account->refs;
	owes = last ? hwheel_bandwidth_whole_in(&account->bandwidth, ktime_get_ns()) : 0;
	if (owes && !exiting) {
		end_later_locked(account, nsecs_to_jiffies(owes) + 1);
		last = false;
	}
	if (last)
		hash_del(&account->link);
	spin_unlock(&lock);
	if (last)
		free_account(account);
}

static void end_wheel(struct work_struct *work)
{
	struct hwheel_account *account =
		container_of(to_delayed_work(work), struct hwheel_account, end);
	struct hwheel *wheel = NULL;

	mutex_lock(&account->create);
	spin_lock(&lock);
	/* If another file was closed meanwhile, the work item runs again. */
	if (!account->users && !delayed_work_pending(&account->end))
		swap(wheel, account->wheel);
	spin_unlock(&lock);
	mutex_unlock(&account->create);
	if (wheel)
		hwheel_destroy(wheel);
	hwheel_account_put(account);
}

/*
 * A wheel of the account's that was created, or not: its worker takes of the account's CPU time,
 * unless it is @exempt. A machine with as many threads as it may have is an error as at other
 * limits, not "would block".
 */
struct hwheel *hwheel_account_made(struct hwheel_account *account, struct hwheel *wheel,
				   bool exempt)
{
	if (wheel == ERR_PTR(-EAGAIN))
		return ERR_PTR(-ENOSPC);
	if (!IS_ERR(wheel) && !exempt)
		hwheel_bandwidth_join(wheel, &account->bandwidth);
	return wheel;
}

/*
 * Named by the user, or by the namespace that is the account. Of root's, the privileged one that
 * starts it decides for the others, who are root, too.
 */
static struct hwheel *account_create(struct hwheel_account *account)
{
	const struct hwheel_account_key *key = &account->key;
	struct hwheel_params params = defaults;
	char name[HWHEEL_NAME_MAX];
	bool exempt = false;

	if (key->ns == &init_user_ns) {
		snprintf(name, sizeof(name), "u%u", __kuid_val(key->uid));
		exempt = uid_eq(key->uid, GLOBAL_ROOT_UID) && capable(CAP_SYS_NICE);
	} else {
		snprintf(name, sizeof(name), "n%u", key->ns->ns.inum);
	}
	params.name = name;
	return hwheel_account_made(account, hwheel_create(&params), exempt);
}

/*
 * The default wheel, for one more file, which leaves it when it is closed. May sleep. Returns
 * ERR_PTR: -ENOMEM, -ENOSPC if the machine has as many threads as it may, -EINTR when killed.
 */
struct hwheel *hwheel_account_use_wheel(struct hwheel_account *account)
{
	struct hwheel *wheel;

	if (mutex_lock_killable(&account->create))
		return ERR_PTR(-EINTR);
	wheel = account->wheel ?: account_create(account);
	if (!IS_ERR(wheel)) {
		account->wheel = wheel;
		spin_lock(&lock);
		account->users++;
		spin_unlock(&lock);
	}
	mutex_unlock(&account->create);
	return wheel;
}

/* The wheel refers to nothing of the file. */
void hwheel_account_leave_wheel(struct hwheel_account *account)
{
	spin_lock(&lock);
	if (!--account->users)
		end_later_locked(account, KEPT);
	spin_unlock(&lock);
}

const struct hwheel_params *hwheel_account_params(void)
{
	return &defaults;
}

static u64 share_of_low_memory(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return (u64)(info.totalram - info.totalhigh) / SHARE << PAGE_SHIFT;
}

/* Default wheels have these parameters, and the workers of an account so much of one CPU. */
int hwheel_account_init(const struct hwheel_params *params, unsigned int percent)
{
	int err;

	worker_percent = percent;
	if (!hwheel_account_max_bytes)
		hwheel_account_max_bytes = share_of_low_memory();
	defaults = *params;
	defaults.flags |= HWHEEL_ACCOUNT | HWHEEL_OWN;
	err = hwheel_params_complete(&defaults);
	if (err)
		return err;
	ender = alloc_workqueue("hwheel_end", WQ_UNBOUND, 0);
	return ender ? 0 : -ENOMEM;
}

/* No file is open: ends the accounts and wheels that are kept, and waits. */
void hwheel_account_exit(void)
{
	struct hwheel_account *account;
	int i;

	spin_lock(&lock);
	exiting = true;
	hash_for_each(accounts, i, account, link)
		end_later_locked(account, 0);
	spin_unlock(&lock);
	destroy_workqueue(ender);
}

/* For memory that a file is about to allocate. Returns 0 or -ENOSPC. */
int hwheel_account_charge(struct hwheel_account *account, u64 bytes)
{
	u64 max = READ_ONCE(hwheel_account_max_bytes);
	s64 old = atomic64_read(&account->bytes);

	do {
		if (old > max || bytes > max - old)
			return -ENOSPC;
	} while (!atomic64_try_cmpxchg_relaxed(&account->bytes, &old, old + bytes));
	return 0;
}

/* The memory is freed. */
void hwheel_account_uncharge(struct hwheel_account *account, u64 bytes)
{
	WARN_ON_ONCE(atomic64_sub_return_relaxed(bytes, &account->bytes) < 0);
}

/* One more private wheel, of up to @max, with so much memory. Returns 0 or -ENOSPC. */
int hwheel_account_add_wheel(struct hwheel_account *account, unsigned int max, u64 bytes)
{
	int err = hwheel_account_charge(account, bytes);

	if (err)
		return err;
	spin_lock(&lock);
	if (account->wheels < max)
		account->wheels++;
	else
		err = -ENOSPC;
	spin_unlock(&lock);
	if (err)
		hwheel_account_uncharge(account, bytes);
	return err;
}

void hwheel_account_remove_wheel(struct hwheel_account *account, u64 bytes)
{
	spin_lock(&lock);
	account->wheels--;
	spin_unlock(&lock);
	hwheel_account_uncharge(account, bytes);
}
