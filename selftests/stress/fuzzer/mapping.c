// SPDX-License-Identifier: GPL-2.0-only
/*
 * The deadlines as memory: mmap() with right and wrong arguments, what can be done to a
 * mapping, and stores. Of those that a thread makes itself in a file that it has for itself
 * it is known what comes of them; others are scribbled over.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.h"
#include "scribble.h"

#define PAGE		4096UL
#define PER_PAGE	(PAGE / sizeof(__u64))
#define RW		(PROT_READ | PROT_WRITE)

/* More than any file may hold */
#define TOO_MANY	(16777216 / PER_PAGE + 1)

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

static size_t random_pages(struct caller *c, const struct file *file)
{
	size_t all = pages_of(file->model.max * sizeof(__u64));

	switch (random_below(&c->rnd, 8)) {
	case 0:
		return all;
	case 1:
		return all + 1 + random_below(&c->rnd, 2);
	case 2:
		return TOO_MANY << random_below(&c->rnd, 10);
	case 3:
		return 0;
	default:
		return 1 + random_below(&c->rnd, all < 20 ? all : 20);
	}
}

static struct request random_request(struct caller *c, const struct file *file)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_WRITE, RW, RW, RW, RW, RW };
	struct request r = { .flags = MAP_SHARED };

	r.size = random_pages(c, file) * PAGE;
	if (r.size && random_chance(&c->rnd, 8))
		r.size -= random_below(&c->rnd, PAGE);
	r.prot = prots[random_below(&c->rnd, 8)];
	if (random_chance(&c->rnd, 12))
		r.flags = MAP_PRIVATE | MAP_NORESERVE;	/* or it may be too much */
	if (random_chance(&c->rnd, 8))
		r.flags |= MAP_POPULATE;
	if (random_chance(&c->rnd, 12))
		r.offset = 1 + (random_next(&c->rnd) >> 40);
	if (r.offset && !random_chance(&c->rnd, 4))
		r.offset = (r.offset + 1) * PAGE;
	return r;
}

/* What there is in any file, and what there is in none; else it is up to its limit. */
static bool is_certain(const struct request *r, bool valid)
{
	size_t pages = pages_of(r->size);

	if (!valid)
		return r->flags & MAP_PRIVATE || r->offset || !pages || pages >= TOO_MANY;
	return pages == 1;
}

static bool is_valid(const struct model *model, const struct request *r)
{
	size_t pages = pages_of(r->size);

	return r->flags & MAP_SHARED && !r->offset && pages &&
	       pages <= pages_of(model->max * sizeof(__u64));
}

/* Who shares a file does not know its limit for sure. */
static void check_map(const struct file *file, const struct request *r, bool valid, int err)
{
	bool invalid = err == EINVAL;

	if (file->model.shared && !is_certain(r, valid))
		return;
	if (invalid == valid)
		contradict("mmap of %zu bytes at %lld, flags %#x, %llu time-outs: %d", r->size,
			   (long long)r->offset, r->flags, file->model.max, err);
}

/* NULL if that failed. */
static __u64 *map(struct caller *c, struct file *file, const struct request *r)
{
	bool valid = is_valid(&file->model, r);
	void *words;
	int err;

	if (valid || file->model.shared)
		model_may_map(&file->model);
	words = mmap(NULL, r->size, r->prot, r->flags, file->fd, r->offset);
	err = words == MAP_FAILED ? errno : 0;
	tally_note(&c->tally, CALL_MMAP, -err);
	check_map(file, r, valid, err);
	if (err)
		return NULL;
	model_mapped(&file->model, pages_of(r->size));
	return words;
}

/* What can be done to a mapping. It is gone after that. */

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

static char *resize(char *at, size_t pages, size_t to)
{
	char *moved = mremap(at, pages * PAGE, to * PAGE, MREMAP_MAYMOVE);

	if (moved != MAP_FAILED)
		return moved;
	contradict("mremap from %zu to %zu pages: %d", pages, to, errno);
	return at;
}

/* Nothing is there that nobody has mapped. */
static void grow(struct caller *c, struct file *file, char *at, size_t pages)
{
	size_t more = pages + 1 + random_below(&c->rnd, 100);
	char *moved = resize(at, pages, more);

	if (!file->model.shared && more > file->model.mapped &&
	    (!ioctl(file->fd, HWHEEL_IOC_INFO, moved + (more - 1) * PAGE) || errno != EFAULT))
		contradict("memory beyond what was mapped");
	unmap(c, file, moved, more);
}

static void shrink(struct caller *c, struct file *file, char *at, size_t pages)
{
	size_t less = 1 + random_below(&c->rnd, pages);

	unmap(c, file, resize(at, pages, less), less);
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

static void give_to_scribbler(struct caller *c, struct file *file, char *at, size_t pages)
{
	model_scribbled(&file->model);
	scribble_over(&c->rnd, (__u64 *)at, pages * PAGE);
}

/* The first one is for the stores of our own. */
static void keep(struct caller *c, struct file *file, char *at, size_t pages)
{
	if (file->words || file->model.shared) {
		give_to_scribbler(c, file, at, pages);
		return;
	}
	file->words = (__u64 *)at;
	file->nr_words = pages * PER_PAGE;
}

void call_mmap(struct caller *c, struct file *file)
{
	static void (* const ends[])(struct caller *c, struct file *file, char *at,
				     size_t pages) = {
		unmap, unmap_pieces, grow, shrink, advise, keep, keep, keep,
	};
	struct request r = random_request(c, file);
	unsigned int end = random_below(&c->rnd, ARRAY_SIZE(ends));
	__u64 *words = map(c, file, &r);

	if (!words)
		return;
	if (ends[end] == keep && r.prot != RW)
		end = 0;
	ends[end](c, file, (char *)words, pages_of(r.size));
}

void call_unmap(struct file *file)
{
	if (file->words && munmap(file->words, file->nr_words * sizeof(__u64)))
		contradict("munmap: %d", errno);
	file->words = NULL;
}

/* Of many files, not of all */
static void map_to_store(struct caller *c, struct file *file)
{
	const struct request r = {
		.size = file->model.max * sizeof(__u64), .prot = RW, .flags = MAP_SHARED,
	};
	__u64 *words;

	if (file->words || file->model.shared || !random_chance(&c->rnd, 4))
		return;
	words = map(c, file, &r);
	if (words)
		keep(c, file, (char *)words, pages_of(r.size));
}

/* Later than it is, but not so much that it would be too much */
void call_store(struct caller *c, struct file *file)
{
	__u64 id = model_id(&file->model, &c->rnd, true), *word, to, before;
	struct span due = { 0 };

	map_to_store(c, file);
	if (!file->words || HWHEEL_INDEX(id) >= file->nr_words ||
	    !model_may_store(&file->model, id, &due))
		return;
	word = &file->words[HWHEEL_INDEX(id)];
	before = __atomic_load_n(word, __ATOMIC_RELAXED);
	to = due.hi + 1 + random_below(&c->rnd, 50 * MSEC);
	__atomic_store_n(word, to, __ATOMIC_RELAXED);
	tally_note(&c->tally, CALL_STORE, 0);
	model_stored(&file->model, id, before, to);
}
