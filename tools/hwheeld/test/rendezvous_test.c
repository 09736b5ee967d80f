// SPDX-License-Identifier: GPL-2.0-only
/* Which node owns which shard, and how a commit is read, without a server. */
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"

#include "consensus/contents.h"
#include "hash.h"

#define SHARDS	256

static const char *const nodes[] = { "one", "two", "three", "four" };

TEST(keys_are_spread_over_all_shards)
{
	unsigned int found[SHARDS] = { 0 };
	char key[16];

	for (int i = 0; i < 25600; i++) {
		size_t length = (size_t)sprintf(key, "key-%d", i);
		unsigned int shard = hash_shard(key, length, SHARDS);

		ASSERT_LT(shard, SHARDS);
		found[shard]++;
	}
	for (int i = 0; i < SHARDS; i++) {
		EXPECT_GT(found[i], 50);
		EXPECT_LT(found[i], 150);
	}
}

/* The keys in the store depend on it: it never changes. */
TEST(a_key_has_the_same_shard_for_ever)
{
	EXPECT_EQ(52, hash_shard("key", 3, SHARDS));
	EXPECT_EQ(153, hash_shard("", 0, SHARDS));
	EXPECT_EQ(0, hash_shard("key", 3, 1));
}

TEST(shards_are_spread_over_all_nodes)
{
	unsigned int found[4] = { 0 };

	for (unsigned int i = 0; i < SHARDS; i++)
		found[hash_owner(i, nodes, 4)]++;
	for (int i = 0; i < 4; i++) {
		EXPECT_GT(found[i], 32);
		EXPECT_LT(found[i], 128);
	}
}

TEST(a_node_that_goes_moves_its_own_shards_only)
{
	for (unsigned int i = 0; i < SHARDS; i++) {
		size_t with = hash_owner(i, nodes, 4);
		size_t without = hash_owner(i, nodes, 3);

		if (with < 3)
			EXPECT_EQ(with, without);
	}
}

TEST(the_order_of_nodes_does_not_matter)
{
	static const char *const turned[] = { "four", "three", "two", "one" };

	for (unsigned int i = 0; i < SHARDS; i++)
		EXPECT_EQ(nodes[hash_owner(i, nodes, 4)],
			  nodes[3 - hash_owner(i, turned, 4)]);
}

TEST(one_node_has_all_shards)
{
	for (unsigned int i = 0; i < SHARDS; i++)
		EXPECT_EQ(0, hash_owner(i, nodes, 1));
}

/* Commits */

static uint64_t numbers[4];
static int decoded;

static void note(void *data, struct record *record)
{
	const char *key = data;

	if (record->key.length == strlen(key) && !memcmp(record->key.text, key, strlen(key)))
		numbers[decoded++] = record->seq;
}

static size_t encode(unsigned char *bytes)
{
	struct record record = { .type = RECORD_CANCEL, .key = { "key", 3, 0, 0 } };
	unsigned char *end = contents_write(contents_write(bytes, &record), &record);

	return (size_t)(end - bytes);
}

TEST(a_commit_is_read_record_by_record)
{
	unsigned char bytes[512];
	size_t size = encode(bytes);

	decoded = 0;
	EXPECT_TRUE(contents_read(bytes, size, 7, note, "key"));
	ASSERT_EQ(2, decoded);
	EXPECT_EQ(7, numbers[0]);
	EXPECT_EQ(8, numbers[1]);
	EXPECT_TRUE(contents_read(bytes, 0, 7, note, "key"));
}

TEST(a_commit_that_was_cut_is_damaged)
{
	unsigned char bytes[512];
	size_t size = encode(bytes);

	for (size_t cut = 1; cut < size; cut++) {
		decoded = 0;
		EXPECT_EQ(cut == size / 2, contents_read(bytes, cut, 7, note, "key"));
	}
	bytes[0] ^= 0x40;
	decoded = 0;
	EXPECT_FALSE(contents_read(bytes, size, 7, note, "key"));
}

TEST_HARNESS_MAIN
