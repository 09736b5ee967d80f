// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped timeouts: MAP, KICK and mmap() with right and wrong arguments, and all that can be done
 * to a mapping. records.c arms there what it knows, and a thread that scribbles over a mapping
 * whatever it likes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.h"
#include "scribble.h"

#define PAGE		((size_t)sysconf(_SC_PAGESIZE))
#define RW		(PROT_READ | PROT_WRITE)

#define PER_PAGE	(PAGE / sizeof(struct hwheel_map_record))

/* More pages than any file can have */
#define TOO_MANY	(2 * 16777216 / PER_PAGE)

/* MAP */

/* Half are few: max_pending leaves no room for many where it is small. */
static __u32 random_records(struct random *rnd, const struct model *model)
{
	if (random_chance(rnd, 2))
		return 1 + random_below(rnd, 16);
	if (random_chance(rnd, 8))
		return 1 + random_below(rnd, 2 * model->max);
	if (random_chance(rnd, 8))
		return model->max;
	return 1 + random_below(rnd, 300);
}

static __u32 random_lists(struct random *rnd)
{
	if (random_chance(rnd, 8))
		return 1 + random_below(rnd, HWHEEL_MAP_LISTS);
	return random_below(rnd, 4);
}

/* Always to an invalid one: all that comes after the lists must be 0. */
static void spoil_map(struct random *rnd, struct hwheel_map *map)
{
	const size_t first = offsetof(struct hwheel_map, flags) / sizeof(__u32);
	const size_t end = sizeof(*map) / sizeof(__u32);
	const __u32 bit = 1U << random_below(rnd, 32);

	if (random_chance(rnd, 4))
		map->records = 0;
	else if (random_chance(rnd, 4))
		map->lists = HWHEEL_MAP_LISTS + 1 + (random_next(rnd) >> 33);
	else
		memcpy((__u32 *)map + first + random_below(rnd, end - first), &bit, sizeof(bit));
}

/* Judges an argument that is wrong by itself. Returns whether that was all. */
static bool check_map(const struct hwheel_map *in, bool spoilt, const struct spot *spot, long ret)
{
	bool faults = spot->readable < sizeof(*in) || spot->writable < sizeof(*in);

	if ((ret == -EFAULT) != faults)
		contradict("MAP: %ld, %zu bytes readable, %zu writable", ret, spot->readable,
			   spot->writable);
	else if (!faults && spoilt && ret != -EINVAL)
		contradict("MAP: %ld of records %u, lists %u, flags %#x, version %u", ret,
			   in->records, in->lists, in->flags, in->version);
	return faults || spoilt;
}

static bool is_power_of_2(__u32 n)
{
	return n && !(n & (n - 1));
}

static void check_numbers(const struct hwheel_map *in, const struct hwheel_map *out)
{
	if (out->version != HWHEEL_MAP_VERSION || out->flags || out->reserved ||
	    out->records < in->records || !out->lists ||
	    (in->lists && out->lists != in->lists) || out->ring_size < out->records ||
	    !is_power_of_2(out->ring_size))
		contradict("MAP of %u records: version %u, records %u, lists %u, ring %u",
			   in->records, out->version, out->records, out->lists, out->ring_size);
}

/* No part overlaps the next one. */
static void check_parts(const struct hwheel_map *out)
{
	__u64 lists_end = out->lists_offset + out->lists * sizeof(struct hwheel_map_list);
	__u64 ring_end = out->ring_offset + out->ring_size * sizeof(__u32);
	__u64 end = out->records_offset + out->records * sizeof(struct hwheel_map_record);

	if (out->lists_offset < sizeof(struct hwheel_map_header) ||
	    out->ring_offset < lists_end || out->records_offset < ring_end || out->size < end)
		contradict("MAP: parts overlap");
}

/* Of a file that one thread has for itself: nothing moves. */
static void check_growth(const struct hwheel_map *before, const struct hwheel_map *in,
			 const struct hwheel_map *out)
{
	if (out->records < before->records + in->records || out->lists != before->lists ||
	    out->ring_size != before->ring_size || out->lists_offset != before->lists_offset ||
	    out->ring_offset != before->ring_offset ||
	    out->records_offset != before->records_offset)
		contradict("MAP has moved something");
}

static void judge_map(struct file *file, const struct hwheel_map *in,
		      const struct hwheel_map *out, long ret)
{
	struct model *model = &file->model;

	if (ret) {
		if (memcmp(in, out, sizeof(*in)))
			contradict("MAP: %ld, but it wrote something", ret);
		model_not_mapped(model, in, ret);
		return;
	}
	check_numbers(in, out);
	check_parts(out);
	if (!model->shared && model->layout.records)
		check_growth(&model->layout, in, out);
	model_mapped(model, in, out);
}

void call_map(struct caller *c, struct file *file)
{
	struct spot spot = memory_any(&c->arg, &c->rnd, sizeof(struct hwheel_map));
	struct hwheel_map in = {
		.records = random_records(&c->rnd, &file->model),
		.lists = random_lists(&c->rnd),
	};
	bool spoilt = random_chance(&c->rnd, 6);
	struct hwheel_map out;
	long ret;

	if (spoilt)
		spoil_map(&c->rnd, &in);
	else
		model_may_map(&file->model);
	memcpy(spot.alias, &in, sizeof(in));
	ret = device_ioctl(c, file, CALL_MAP, HWHEEL_IOC_MAP, spot.user);
	if (check_map(&in, spoilt, &spot, ret))
		return;
	memcpy(&out, spot.alias, sizeof(out));
	judge_map(file, &in, &out, ret);
}

/* KICK */

void call_kick(struct caller *c, struct file *file)
{
	struct facts before = model_facts(&file->model, 0);
	long ret;

	ret = device_ioctl(c, file, CALL_KICK, HWHEEL_IOC_KICK,
			   random_pointer(&c->rnd));
	model_kicked(&file->model, &before, ret);
}

/* mmap() */

/**
 * struct request - the arguments of an mmap()
 * @size:   in bytes
 * @prot:   PROT_*
 * @flags:  MAP_*
 * @offset: in bytes
 */
struct request {
	size_t	size;
	int	prot;
	int	flags;
	off_t	offset;
};

static size_t pages_of(size_t size)
{
	return (size + PAGE - 1) / PAGE;
}

/* How many pages there are; of a file that others use there may be more. */
static size_t all_pages(const struct file *file)
{
	return pages_of(file->model.layout.size);
}

static size_t random_pages(struct random *rnd, size_t all)
{
	switch (random_below(rnd, 8)) {
	case 0:
		return all + 1 + random_below(rnd, 2);
	case 1:
		return TOO_MANY << random_below(rnd, 10);
	case 2:
		return 0;
	case 3:
	case 4:
		return all;
	default:
		return 1 + random_below(rnd, all ?: 1);
	}
}

static off_t random_offset(struct random *rnd, size_t all)
{
	switch (random_below(rnd, 8)) {
	case 0:
		return 1 + random_below(rnd, PAGE - 1);
	case 1:
		return (all + random_below(rnd, 10)) * PAGE;
	case 2:
		return (random_next(rnd) >> 40) * PAGE;
	case 3:
	case 4:
		return random_below(rnd, all ?: 1) * PAGE;
	default:
		return 0;
	}
}

static struct request random_request(struct caller *c, const struct file *file)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_WRITE, RW, RW, RW, RW, RW };
	size_t all = all_pages(file);
	struct request r = {
		.size = random_pages(&c->rnd, all) * PAGE,
		.prot = prots[random_below(&c->rnd, 8)],
		.flags = MAP_SHARED,
		.offset = random_offset(&c->rnd, all),
	};

	if (r.size && random_chance(&c->rnd, 8))
		r.size -= random_below(&c->rnd, PAGE);
	if (random_chance(&c->rnd, 12))
		r.flags = MAP_PRIVATE | MAP_NORESERVE;	/* or it may be too much */
	if (random_chance(&c->rnd, 8))
		r.flags |= MAP_POPULATE;
	return r;
}

static bool is_valid(const struct request *r)
{
	return r->flags & MAP_SHARED && r->offset % PAGE == 0 && r->size;
}

/* All that it asks for is there. It stays, and others may make more. */
static bool is_there(const struct file *file, const struct request *r)
{
	return r->offset / PAGE + pages_of(r->size) <= all_pages(file);
}

/* NULL if that failed. */
static char *map(struct caller *c, struct file *file, const struct request *r)
{
	bool valid = is_valid(r), there = valid && is_there(file, r);
	void *at = mmap(NULL, r->size, r->prot, r->flags, file->fd, r->offset);
	int err = at == MAP_FAILED ? errno : 0;

	tally_note(&c->tally, CALL_MMAP, -err);
	if (err ? there : !valid || (!there && !file->model.shared))
		contradict("mmap of %zu bytes at %lld, flags %#x, with %llu there: %d", r->size,
			   (long long)r->offset, r->flags, file->model.layout.size, err);
	return err ? NULL : at;
}

/* Ways to end a mapping */

static void unmap(struct caller *c, struct file *file, char *at, size_t pages)
{
	(void)c;
	(void)file;
	if (munmap(at, pages * PAGE))
		contradict("munmap: %d", errno);
}

static void unmap_pieces(struct caller *c, struct file *file, char *at, size_t pages)
{
	size_t middle = random_below(&c->rnd, pages);

	unmap(c, file, at + middle * PAGE, 1);
	if (middle)
		unmap(c, file, at, middle);
	if (middle + 1 < pages)
		unmap(c, file, at + (middle + 1) * PAGE, pages - middle - 1);
}

static void grow(struct caller *c, struct file *file, char *at, size_t pages)
{
	size_t more = pages + 1 + random_below(&c->rnd, 100);
	char *moved = mremap(at, pages * PAGE, more * PAGE, MREMAP_MAYMOVE);

	if (moved != MAP_FAILED) {
		contradict("mremap has made a mapping larger");
		at = moved;
		pages = more;
	}
	unmap(c, file, at, pages);
}

static void shrink(struct caller *c, struct file *file, char *at, size_t pages)
{
	size_t less = 1 + random_below(&c->rnd, pages);

	if (mremap(at, pages * PAGE, less * PAGE, 0) != at)
		contradict("mremap from %zu to %zu pages: %d", pages, less, errno);
	unmap(c, file, at, less);
}

static void advise(struct caller *c, struct file *file, char *at, size_t pages)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED,
		MADV_DONTFORK, MADV_HUGEPAGE, MADV_MERGEABLE,
	};

	madvise(at, pages * PAGE, advices[random_below(&c->rnd, ARRAY_SIZE(advices))]);
	mlock(at, PAGE);
	mprotect(at, PAGE, random_chance(&c->rnd, 2) ? PROT_NONE : PROT_READ);
	unmap(c, file, at, pages);
}

/* Its memory is no more what it was. */
static void give_to_scribbler(struct caller *c, struct file *file, char *at, size_t pages)
{
	model_scribbled(&file->model);
	scribble_over(&c->rnd, (__u64 *)at, pages * PAGE);
}

/* The first one: so that a mapping outlives its file */
static void keep(struct caller *c, struct file *file, char *at, size_t pages)
{
	if (file->memory || file->model.shared) {
		unmap(c, file, at, pages);
		return;
	}
	file->memory = at;
	file->size = pages * PAGE;
}

static void look(struct caller *c, struct file *file, char *at, size_t pages)
{
	const struct hwheel_map_header *header = (void *)at;
	const struct model *model = &file->model;

	if (!model->shared && !model->scribbled && !model->used &&
	    (header->version != HWHEEL_MAP_VERSION || header->head || header->tail ||
	     !header->stopped == model->stopped))
		contradict("the header has version %u, stopped %u, tail %llu", header->version,
			   header->stopped, header->tail);
	keep(c, file, at, pages);
}

typedef void (*end_fn)(struct caller *c, struct file *file, char *at, size_t pages);

static end_fn random_end(struct caller *c, const struct file *file, const struct request *r)
{
	static const end_fn ends[] = {
		unmap, unmap_pieces, grow, shrink, advise, keep, give_to_scribbler,
	};

	/* The others access all of it. */
	if (r->prot != RW || !is_there(file, r))
		return ends[random_below(&c->rnd, 5)];
	if (!r->offset && random_chance(&c->rnd, 2))
		return look;
	return ends[random_below(&c->rnd, ARRAY_SIZE(ends))];
}

void call_mmap(struct caller *c, struct file *file)
{
	struct request r = random_request(c, file);
	char *at = map(c, file, &r);

	if (at)
		random_end(c, file, &r)(c, file, at, pages_of(r.size));
}

void call_unmap(struct file *file)
{
	if (file->memory && munmap(file->memory, file->size))
		contradict("munmap: %d", errno);
	file->memory = NULL;
}
