// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts: whoever has files open, and what each of them may have.
 *
 * An account is a uid of the initial user namespace; root has one for each of its cgroups. What a
 * user does in namespaces of its own is on its account, so subordinate uids multiply nothing. A
 * namespace that root made is an account of its own, as are containers that root runs so.
 *
 * All files of an account share it, and it is there as long as one of them is.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "account.h"
#include "engine/gfp.h"

static DEFINE_SPINLOCK(lock);	/* protects all that follows, and the accounts */
static DEFINE_HASHTABLE(accounts, 8);

/* Of the account that was freed last: nobody is to get a new one within a tick. */
static struct {
	struct hwheel_account_key key;
	struct hwheel_account_time mapped;
} freed;

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
	if (new) {
		hash_add(accounts, &new->link, key_hash(key));
		if (key_eq(key, &freed.key))
			new->mapped = freed.mapped;
	}
found:
	if (account)
		account->files++;
	spin_unlock(&lock);
	return account;
}

static void free_account(struct hwheel_account *account)
{
	put_user_ns(account->key.ns);
	kfree(account);
}

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
	new->slow = jiffies - HWHEEL_ACCOUNT_SLOW - 1;
	account = find_or_add(key, new);
	if (account != new)
		free_account(new);
	return account;
}

void hwheel_account_put(struct hwheel_account *account)
{
	bool last;

	spin_lock(&lock);
	last = !--account->files;
	if (last) {
		hash_del(&account->link);
		freed.key = account->key;
		freed.mapped = account->mapped;
	}
	spin_unlock(&lock);
	if (last)
		free_account(account);
}

/* One more private wheel, of up to @max. Returns 0 or -ENOSPC. */
int hwheel_account_add_wheel(struct hwheel_account *account, unsigned int max)
{
	int err = -ENOSPC;

	spin_lock(&lock);
	if (account->wheels < max) {
		account->wheels++;
		err = 0;
	}
	spin_unlock(&lock);
	return err;
}

void hwheel_account_remove_wheel(struct hwheel_account *account)
{
	spin_lock(&lock);
	account->wheels--;
	spin_unlock(&lock);
}

/* One more mapped file on the shared wheel. Returns 0 or -ENOSPC. */
int hwheel_account_add_mapping(struct hwheel_account *account)
{
	int err = -ENOSPC;

	spin_lock(&lock);
	if (account->mappings < HWHEEL_ACCOUNT_MAPPINGS) {
		account->mappings++;
		err = 0;
	}
	spin_unlock(&lock);
	return err;
}

void hwheel_account_remove_mapping(struct hwheel_account *account)
{
	spin_lock(&lock);
	account->mappings--;
	spin_unlock(&lock);
}
