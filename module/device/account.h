/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_ACCOUNT_H
#define _HWHEEL_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "engine/bandwidth.h"

struct cred;
struct hwheel;
struct hwheel_params;
struct user_namespace;

/**
 * struct hwheel_account_key - what makes an account
 * @ns:     the initial user namespace, or an outermost one below it that root owns
 * @uid:    in the initial namespace; 0 with another @ns
 * @cgroup: the v2 cgroup, of root in the initial namespace; else 0
 */
struct hwheel_account_key {
	struct user_namespace	*ns;
	kuid_t			uid;
	u64			cgroup;
};

/**
 * struct hwheel_account - whoever has files open
 */
struct hwheel_account {
	/** @link: Among all accounts, under their lock. */
	struct hlist_node	link;
	/** @key: Constant; the namespace is referenced. */
	struct hwheel_account_key key;
	/** @refs: Files, and @end while it is pending or runs; under the lock of all accounts. */
	unsigned int		refs;
	/** @wheels: Private wheels of the files, under that lock. */
	unsigned int		wheels;
	/** @users: Files on @wheel, under that lock. */
	unsigned int		users;
	/** @bytes: Charged for what the files hold. */
	atomic64_t		bytes;
	/** @create: Serialises creating @wheel. */
	struct mutex		create;
	/** @wheel: The default wheel, or NULL; under @create. */
	struct hwheel		*wheel;
	/** @bandwidth: CPU time of the workers of all its wheels, but for exempt ones. */
	struct hwheel_bandwidth	bandwidth;
	/**
	 * @end: Ends @wheel, a while after the last file on it was closed, and keeps the account
	 * until what its workers took is paid for.
	 */
	struct delayed_work	end;
};

/* How many bytes an account may be charged for; it may change at any time. */
extern unsigned long long hwheel_account_max_bytes;

int hwheel_account_init(const struct hwheel_params *params, unsigned int percent);
void hwheel_account_exit(void);
const struct hwheel_params *hwheel_account_params(void);

struct hwheel_account_key hwheel_account_key(const struct cred *cred, u64 cgroup);
u64 hwheel_account_cgroup(void);
struct hwheel_account *hwheel_account_get(const struct hwheel_account_key *key);
void hwheel_account_put(struct hwheel_account *account);

struct hwheel *hwheel_account_use_wheel(struct hwheel_account *account);
void hwheel_account_leave_wheel(struct hwheel_account *account);
struct hwheel *hwheel_account_made(struct hwheel_account *account, struct hwheel *wheel,
				   bool exempt);
int hwheel_account_charge(struct hwheel_account *account, u64 bytes);
void hwheel_account_uncharge(struct hwheel_account *account, u64 bytes);
int hwheel_account_add_wheel(struct hwheel_account *account, unsigned int max, u64 bytes);
void hwheel_account_remove_wheel(struct hwheel_account *account, u64 bytes);

/* The bytes that are charged now */
static inline u64 hwheel_account_bytes(const struct hwheel_account *account)
{
	return atomic64_read(&account->bytes);
}

#endif /* _HWHEEL_ACCOUNT_H */
