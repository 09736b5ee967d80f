/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * Mapped timeouts: what the library keeps of a file's mapping, and of each thread that uses it.
 *
 * A thread has a lane of each wheel that it uses: a submission list, and free records that no other
 * thread takes. Each record has a home, the lane that got it first. A thread that frees a record
 * whose home is another lane gives it back there, so that records which different threads arm do
 * not come to lie on one cache line. (The idea is that of mimalloc, whose pages have a list of what
 * other threads freed.)
 *
 * An id is a generation and the offset of a record: its index + 1, in bytes. A free record is kept
 * as the id that it had last.
 *
 * A thread finds its lane by the slot of the wheel. The lane of a wheel that was closed, and those
 * that a child finds, have no timeout and no room, so a thread that still has one goes on to
 * lane_of().
 *
 * All this is in memory that a forked child finds wiped: there the lanes are nobody's, and the
 * map has no header.
 */
#ifndef MAP_H
#define MAP_H

#include <pthread.h>
#include <stdbool.h>

#include "wheel.h"

#define RECORD_SIZE	((uint32_t)sizeof(struct hwheel_map_record))
#define RECORD_SHIFT	5

/* Of adjacent lines, which a CPU may fetch together */
#define LINE		128

/* Places of a magazine, of which the first is no record's */
#define PLACES		128
#define MAGAZINE_SIZE	(PLACES * sizeof(union id))

/* How many a lane gets at a time: a page of 4 KiB */
#define MAGAZINES	4U

/* How many records move at a time; those of one group have one home. */
#define GROUP		32
#define GROUP_SIZE	(GROUP * RECORD_SIZE)

#define MAX_LANES	1024

/* A generation is a multiple of 4, + 1, so that a tag with QUEUED is bits of it: see record.h. */
#define FIRST_GENERATION	1U
#define GENERATION_STEP		4U
#define LAST_GENERATION		(FIRST_GENERATION - GENERATION_STEP)	/* of 2^30 */

/*
 * A slot of a thread, in bytes, has the thread's lane of a wheel. All wheels for which there is no
 * other one have the last slot, in which no lane is ever.
 */
#define SLOTS		16
#define LAST_SLOT	((SLOTS - 1) * sizeof(struct lane *))

struct map;

/*
 * The machine's byte order says which half of the number is the generation. Programs only pass the
 * number on.
 */
union id {
	uint64_t	number;
	struct {
		uint32_t	generation;
		uint32_t	offset;
	};
} __attribute__((may_alias));

/* From an id to that of the next arm of the record; not from the last generation to the first */
#define NEXT_ID	(((union id){ .generation = GENERATION_STEP }).number)

/* The compiler has the halves in registers of their own, so two stores take the least. */
static inline void id_store(void *number, uint32_t generation, uint32_t offset)
{
	union id *id = number;

	id->generation = generation;
	id->offset = offset;
}

/* Records from an offset to another one, of several threads */
union range {
	uint64_t	both;
	struct {
		uint32_t	from;
		uint32_t	end;
	};
};

/* Of several threads: a head, from 1, and a count of the changes */
struct stack {
	uint64_t	head;
} ATTRIBUTE(aligned(LINE));

/**
 * struct magazine - free records, the last one is used first
 * @bottom: no record's: it has the last generation; in a stack of magazines its link
 * @ids:    those that there are come first
 *
 * A magazine is full when the address behind its last id is a multiple of its size. (The idea is
 * that of Bonwick's allocator: what moves at a time is a magazine.)
 */
struct magazine {
	union {
		union id	bottom;
		uint64_t	link;
	};
	union id		ids[PLACES - 1];
} ATTRIBUTE(aligned(MAGAZINE_SIZE));

/**
 * struct lane - the part of a wheel that one thread uses
 * @wheel:    whose it is; NULL: no thread may use it; with the lock
 * @latest:   deadlines before this one need no look at the clock's offset and range
 * @top:      the next place in the loaded magazine
 * @base:     where offset 0 would be
 * @list:     head of the submission list
 * @lo:       offset of the first of many records whose home this is
 * @span:     how many these are; some more until the lane sees that other threads took some of
 *            the reserve
 * @size:     how many records there are, as the lane has seen it
 * @number:   of the lane, from 1
 * @map:      of the wheel
 * @spare:    another magazine, full or empty, so that no thread moves one in each operation
 * @is_full:  that one is full
 * @reserve:  the records that were in no magazine yet; other threads may take
 *            the end of it
 * @next:     the next one of the thread, or the next one without a thread
 * @full:     stack of full magazines, from which any thread may take one
 * @empties:  stack of the magazines that were full and taken from @full, for the next ones
 * @returned: free records whose home this is, linked by their cookies, from which any thread may
 *            take
 */
struct lane {
	const struct hwheel	*wheel;
	uint64_t		latest;
	union id		*top;
	char			*base;
	uint32_t		*list;
	uint32_t		lo;
	uint32_t		span;
	uint32_t		size;
	unsigned int		number;
	struct map		*map;
	struct magazine		*spare;
	bool			is_full;
	union range		reserve;
	struct lane		*next;
	struct stack		full;
	struct stack		empties;
	struct stack		returned;
};

/**
 * struct map - a file's mapping; all is constant, or changed with the lock, but for @size, @fresh,
 *		@homes, @nr_magazines and @nr_lanes
 * @header:    its beginning; NULL in a child
 * @lists:     the submission lists
 * @nr_lists:  how many
 * @ring:      records that have ended
 * @ring_mask: size of the ring - 1
 * @base:      where the record of offset 0 would be
 * @offset_ns: what the handle's clock shows more than the worker's
 * @max:       how many records there may be
 * @reserved:  bytes of address space, for as many; less than @made once a mapping could not be
 *		put there
 * @size:      offset beyond the last record
 * @fresh:     offset of the first record that no lane has had
 * @homes:     of each group, the number of the lane; 0: none yet
 * @magazines: room for all that there may ever be
 * @nr_magazines: how many were used
 * @max_magazines: how many there may be
 * @made:      bytes of the mapping that the kernel has made; more than are mapped after a failure
 * @step:      how many more records the next growth asks for at most
 * @is_short:  the last growth has failed
 * @lanes:     all
 * @nr_lanes:  how many were used
 * @orphans:   those without a thread
 * @users:     threads that have a lane, and the handle
 */
struct map {
	struct hwheel_map_header	*header;
	struct hwheel_map_list		*lists;
	unsigned int			nr_lists;
	uint32_t			*ring;
	uint32_t			ring_mask;
	char				*base;
	int64_t				offset_ns;
	uint64_t			max;
	size_t				reserved;
	uint32_t			size;
	uint32_t			fresh;
	uint16_t			*homes;
	struct magazine			*magazines;
	uint32_t			nr_magazines;
	uint32_t			max_magazines;
	struct lane			*lanes;
	unsigned int			nr_lanes;
	struct lane			*orphans;
	unsigned int			users;
	size_t				made;
	uint64_t			step;
	bool				is_short;
};

/* map.c */
int map_grow(struct hwheel *wheel, struct map *map);
void map_lock(void);
void map_unlock(void);
void map_put(struct map *map);
void map_close(struct hwheel *wheel);

/* A program has the variable at a constant distance, the shared library a load away. */
#if defined(__PIC__) && !defined(__PIE__)
#define LANE_MODEL	__attribute__((tls_model("initial-exec")))
#else
#define LANE_MODEL	__attribute__((tls_model("local-exec")))
#endif

/* lane.c */
extern __thread struct lane *lanes[SLOTS] LANE_MODEL;
int lanes_begin(void);
int lane_of(struct hwheel *wheel, struct lane **lane);
void lane_shut(struct lane *lane);

/* pool.c */
void lane_load(struct lane *lane);
void lane_inherit(struct lane *lane);
void lane_unload(struct lane *lane);
int lane_refill(struct hwheel *wheel, struct lane *lane);
int lane_spill(struct lane *lane) ATTRIBUTE(cold);
void lane_give_back(struct lane *lane, uint32_t generation, uint32_t offset);

static inline struct lane **slot_of(const struct hwheel *wheel)
{
	return (struct lane **)((char *)lanes + wheel->slot);
}

/* reap.c */
int mapped_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count);

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

static inline struct hwheel_map_record *record_at(const struct lane *lane, uint32_t offset)
{
	return (struct hwheel_map_record *)(lane->base + offset);
}

/*
 * Any number may be asked for, and be no id. The bits below a record's size come to the top, so
 * that no offset within a record is within the bound.
 */
static inline bool is_below(uint32_t at, uint32_t bound)
{
	return (at >> RECORD_SHIFT | at << (32 - RECORD_SHIFT)) < bound;
}

static inline bool lane_is_home(const struct lane *lane, uint32_t offset)
{
	return is_below(offset - lane->lo, lane->span);
}

static inline bool lane_knows(const struct lane *lane, uint32_t offset)
{
	return is_below(offset - RECORD_SIZE, lane->size);
}

static inline bool lane_is_empty(const struct lane *lane)
{
	return (uintptr_t)lane->top % MAGAZINE_SIZE == sizeof(*lane->top);
}

static inline bool is_end_of_magazine(const union id *top)
{
	return (uintptr_t)top % MAGAZINE_SIZE == 0;
}

/*
 * The next generation of the record on top. Returns false if the magazine is empty, or the next one
 * is FIRST_GENERATION again.
 */
static inline bool lane_next(const struct lane *lane, uint32_t *generation)
{
	return !__builtin_add_overflow(lane->top[-1].generation, GENERATION_STEP, generation);
}

/* As lane_next() returns */
static inline bool lane_has_next(const struct lane *lane)
{
	return lane->top[-1].generation < LAST_GENERATION;
}

/* Keeps a record whose home this is. Returns 0. */
static inline int lane_keep(struct lane *lane, union id id)
{
	*lane->top++ = id;
	return unlikely(is_end_of_magazine(lane->top)) ? lane_spill(lane) : 0;
}

#endif /* MAP_H */
