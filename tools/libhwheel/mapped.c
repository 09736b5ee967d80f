// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Operations on a mapped timeout. Each has a fast path, for a thread that has a lane of the wheel,
 * for most deadlines, and for exchanges that succeed at once; the other cases are in functions of
 * their own.
 *
 * A thread stores the next generation in a record before it arms it. A thread that has an id loads
 * the word first, and then the generation: if that is the id's, the word is that of the timeout, or
 * the exchange fails.
 */
#include "record.h"

/* Returns false if the list is CLOSED. Then nobody looks at the record any more. */
bool push_slowly(const struct lane *lane, uint32_t offset)
{
	struct hwheel_map_record *record = record_at(lane, offset);
	uint32_t head = __atomic_load_n(lane->list, __ATOMIC_RELAXED);

	do {
		if (head == HWHEEL_MAP_CLOSED)
			return false;
		__atomic_store_n(&record->link, head == HWHEEL_MAP_ASLEEP ? 0 : head,
				 __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(lane->list, &head, offset / RECORD_SIZE,
					      false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (head == HWHEEL_MAP_ASLEEP)
		wheel_ioctl(lane->wheel, HWHEEL_IOC_KICK, NULL);
	return true;
}

/* Deadlines on the worker's clock: past ones are 0, and those too far away mean never. */
static uint64_t on_workers_clock(const struct map *map, uint64_t deadline_ns)
{
	int64_t offset = map->offset_ns;
	uint64_t far;

	if (offset > 0 && deadline_ns < (uint64_t)offset)
		return 0;
	if (__builtin_sub_overflow(deadline_ns, offset, &far) || far > LATEST)
		return LATEST;
	return far;
}

/* Loads the word of a timeout. Returns false if that has ended. */
static inline bool load_pending(const struct hwheel_map_record *record, uint32_t generation,
				uint64_t *word)
{
	*word = load_word(record);
	return __atomic_load_n(&record->generation, __ATOMIC_RELAXED) == generation &&
	       (*word & HWHEEL_MAP_STATE) == HWHEEL_MAP_PENDING;
}

/* The word of a cancelled timeout needs no deadline and no tag. */
#define CANCELLED	(HWHEEL_MAP_CANCELLED | HWHEEL_MAP_QUEUED)

/* What ends a timeout; 0: it has ended. Only the thread that reaps an event frees its record. */
static inline uint64_t end_of(uint64_t word, bool or_event)
{
	if ((word & HWHEEL_MAP_STATE) == HWHEEL_MAP_PENDING)
		return CANCELLED;
	if (or_event && (word & (HWHEEL_MAP_STATE | HWHEEL_MAP_WITHDRAWN)) == HWHEEL_MAP_EXPIRED)
		return word | HWHEEL_MAP_WITHDRAWN;
	return 0;
}

/* The load is seq_cst for set_top(). The generation comes after the word. */
static bool exchange_to_end(struct hwheel_map_record *record, uint32_t generation, bool or_event,
			    uint64_t *old)
{
	uint64_t new;

	do {
		*old = __atomic_load_n(&record->word, __ATOMIC_SEQ_CST);
		new = end_of(*old, or_event);
		if (!new || __atomic_load_n(&record->generation, __ATOMIC_RELAXED) != generation)
			return false;
	} while (!exchange(record, old, new, __ATOMIC_RELEASE));
	return true;
}

/* arm */

/*
 * The list is ASLEEP or CLOSED. If it is CLOSED, STOP has ended the timeout, or the thread takes it
 * back: nothing was pushed then. Another thread may have armed the record again.
 */
static int push_armed(struct lane *lane, union id id)
{
	uint64_t old;

	if (push_slowly(lane, id.offset) ||
	    !exchange_to_end(record_at(lane, id.offset), id.generation, false, &old))
		return 0;
	lane_give_back(lane, id.generation, id.offset);
	return -ESHUTDOWN;
}

/* The id is where the caller wants it. */
static SLOW int push_armed_id(struct lane *lane, const uint64_t *number)
{
	return push_armed(lane, (union id){ *number });
}

/*
 * Arms a record that the lane has taken. If it is QUEUED, the exchange fails if the worker clears
 * that meanwhile; or if the walk of STOP has freed the record, which matters no more, as the lists
 * are CLOSED then. If it is not QUEUED, nobody else changes a word that is not PENDING, and a store
 * will do. Returns false if push_armed() has to follow.
 */
static inline bool arm(const struct lane *lane, struct hwheel_map_record *record, uint32_t offset,
		       uint64_t word)
{
	uint64_t old = load_word(record);

	if (old & HWHEEL_MAP_QUEUED && exchange(record, &old, word, __ATOMIC_SEQ_CST))
		return likely(!is_closed(lane));
	__atomic_store_n(&record->word, word, __ATOMIC_RELEASE);
	return likely(push(lane, record, offset));
}

/* A thread that sees the cookie sees the generation, too. */
static inline void write_fields(struct hwheel_map_record *record, uint32_t generation,
				uint64_t cookie)
{
	__atomic_store_n(&record->generation, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&record->cookie, cookie, __ATOMIC_RELEASE);
}

/*
 * Takes the record on top. The id is there before the timeout can expire, for a thread that takes
 * its event.
 */
static inline int arm_top(struct lane *lane, uint64_t deadline_ns, uint64_t cookie,
			  uint32_t generation, uint64_t *id)
{
	uint32_t offset = (--lane->top)->offset;
	struct hwheel_map_record *record = record_at(lane, offset);

	id_store(id, generation, offset);
	write_fields(record, generation, cookie);
	if (!arm(lane, record, offset, word_of(deadline_ns) | tag_of(generation)))
		return push_armed_id(lane, id);
	return 0;
}

/* After its last generation a record goes on with the first one. */
static int find_record(struct hwheel *wheel, struct lane *lane, uint32_t *generation)
{
	int error = 0;

	while (!error && !lane_next(lane, generation) && lane_is_empty(lane))
		error = lane_refill(wheel, lane);
	return error;
}

static int mapped_arm_at(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	struct lane *lane;
	uint32_t generation;
	int error = lane_of(wheel, &lane) ?: find_record(wheel, lane, &generation);

	if (error)
		return error;
	return arm_top(lane, on_workers_clock(lane->map, deadline_ns), cookie, generation, id);
}

static SLOW int arm_slowly(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie,
			   uint64_t *id)
{
	return wheel->place->arm(wheel, HWHEEL_ABSOLUTE, deadline_ns, cookie, id);
}

int hwheel_arm_at(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	struct lane *lane = *slot_of(wheel);
	uint32_t generation;

	if (unlikely(deadline_ns >= lane->latest) || unlikely(!lane_next(lane, &generation)))
		return arm_slowly(wheel, deadline_ns, cookie, id);
	return arm_top(lane, deadline_ns, cookie, generation, id);
}

/* cancel */

/* The record of an offset, or NULL if there is none. Any lane may be its home. */
static struct hwheel_map_record *record_of(const struct map *map, uint32_t offset)
{
	if (!offset || offset % RECORD_SIZE ||
	    offset >= __atomic_load_n(&map->size, __ATOMIC_ACQUIRE))
		return NULL;
	return (struct hwheel_map_record *)(map->base + offset);
}

/* Cancels the timeout; with @or_event, withdraws its event otherwise. */
static int end(struct lane *lane, struct hwheel_map_record *record, union id id, bool or_event)
{
	uint64_t old;

	if (!exchange_to_end(record, id.generation, or_event, &old))
		return -ENOENT;
	if ((old & HWHEEL_MAP_STATE) != HWHEEL_MAP_PENDING)
		return 0;
	if (!(old & HWHEEL_MAP_QUEUED))
		push_slowly(lane, id.offset);
	lane_give_back(lane, id.generation, id.offset);
	return 0;
}

/* Finds the thread's lane, and the record. Returns 0 or a negative errno. */
static int look_up(struct hwheel *wheel, uint32_t offset, struct lane **lane,
		   struct hwheel_map_record **record)
{
	int error = lane_of(wheel, lane);

	if (error)
		return error;
	*record = record_of((*lane)->map, offset);
	return *record ? 0 : -ENOENT;
}

static int mapped_end(struct hwheel *wheel, uint64_t number, bool or_event)
{
	union id id = { number };
	struct hwheel_map_record *record;
	struct lane *lane;

	return look_up(wheel, id.offset, &lane, &record) ?: end(lane, record, id, or_event);
}

static SLOW int cancel_slowly(struct hwheel *wheel, uint64_t id)
{
	return wheel->place->end(wheel, id, false);
}

static SLOW int push_cancelled(struct lane *lane, union id id)
{
	push_slowly(lane, id.offset);
	return lane_keep(lane, id);
}

int hwheel_cancel(struct hwheel *wheel, uint64_t number)
{
	struct lane *lane = *slot_of(wheel);
	struct hwheel_map_record *record;
	union id id = { number };
	uint64_t old;

	if (unlikely(!lane_is_home(lane, id.offset)))
		return cancel_slowly(wheel, number);
	record = record_at(lane, id.offset);
	if (unlikely(!load_pending(record, id.generation, &old)) ||
	    unlikely(!exchange(record, &old, CANCELLED, __ATOMIC_RELEASE)))
		return cancel_slowly(wheel, number);
	if (!(old & HWHEEL_MAP_QUEUED) && unlikely(!push(lane, record, id.offset)))
		return push_cancelled(lane, id);
	return lane_keep(lane, id);
}

/* refresh */

/* The fast path. False: the deadline is an earlier one, or the word has changed. */
static inline bool move_later(struct hwheel_map_record *record, uint64_t *old, uint64_t deadline_ns)
{
	/* One instruction less than two masks */
	uint64_t new = *old ^ ((*old ^ (2 * deadline_ns + 2 * (UNIT_NS - 1))) &
			       -(uint64_t)(2 * UNIT_NS));

	return likely(new >= *old) && likely(exchange(record, old, new, __ATOMIC_RELEASE));
}

/* To an earlier deadline the record has to be pushed. The tag and QUEUED stay. */
static int refresh(const struct lane *lane, struct hwheel_map_record *record, union id id,
		   uint64_t deadline_ns)
{
	uint64_t old, new;

	do {
		if (!load_pending(record, id.generation, &old))
			return -ENOENT;
		new = word_of(deadline_ns) | (old & (2 * UNIT_NS - 1));
		if (new < old)
			new |= HWHEEL_MAP_QUEUED;
	} while (!exchange(record, &old, new, __ATOMIC_RELEASE));
	if (new & ~old & HWHEEL_MAP_QUEUED)
		push_slowly(lane, id.offset);
	return 0;
}

static int mapped_refresh_at(struct hwheel *wheel, uint64_t number, uint64_t deadline_ns)
{
	union id id = { number };
	struct hwheel_map_record *record;
	struct lane *lane;
	int error = look_up(wheel, id.offset, &lane, &record);

	return error ?: refresh(lane, record, id, on_workers_clock(lane->map, deadline_ns));
}

static SLOW int refresh_slowly(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	return wheel->place->refresh(wheel, HWHEEL_ABSOLUTE, id, deadline_ns);
}

int hwheel_refresh_at(struct hwheel *wheel, uint64_t number, uint64_t deadline_ns)
{
	const struct lane *lane = *slot_of(wheel);
	struct hwheel_map_record *record;
	union id id = { number };
	uint64_t old;

	if (unlikely(!lane_knows(lane, id.offset)) || unlikely(deadline_ns >= lane->latest))
		return refresh_slowly(wheel, number, deadline_ns);
	record = record_at(lane, id.offset);
	if (unlikely(!load_pending(record, id.generation, &old)) ||
	    unlikely(!move_later(record, &old, deadline_ns)))
		return refresh_slowly(wheel, number, deadline_ns);
	return 0;
}

/*
 * set
 *
 * Any number of threads set one variable. A thread that finds no pending timeout puts the id of its
 * own record there, by an exchange from the id that it found, and arms the record after that: so a
 * thread that takes the event finds the id. Between the two another thread finds an id that is not
 * pending yet, and replaces it. Of the two timeouts one has to go. Each thread, once its timeout is
 * armed, withdraws the one that it has replaced, and its own if it was replaced:
 *
 *	the first				the other one
 *	word of A = PENDING			variable = B, if that is A
 *	is the variable A?			is the word of A PENDING?
 *
 * Both are a write, a full barrier, and a read, so one of them at least sees the other's write. The
 * thread that withdraws an event of the replaced timeout does that with the same call. If both
 * withdraw one timeout, the exchange of its word lets one of them.
 *
 * The barriers: the exchange of the variable, and the loads of the variable and of the word, are
 * seq_cst. The exchange with which a record is pushed, or that of its word where it is QUEUED, is
 * seq_cst, too, and comes between the word and the variable. No processor that has a compiler moves
 * a load that is seq_cst before one of these, or before a store with release: x86 and s390 as the
 * exchange is a barrier, ARMv8 as LDAR waits for STLR, the others as the load has a full barrier
 * before it.
 *
 * Model: set.pml.
 */

/* Other threads take the variable for a number. */
static inline bool exchange_variable(uint64_t *variable, union id old, union id new)
{
	return __atomic_compare_exchange_n(variable, &old.number, new.number, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Once the timeout is armed: withdraws it if it was replaced, and the one that it has replaced. */
static SLOW int set_end(struct lane *lane, const uint64_t *variable, union id old, union id id)
{
	struct hwheel_map_record *record = record_of(lane->map, old.offset);

	if (record)
		end(lane, record, old, true);
	if (__atomic_load_n(variable, __ATOMIC_SEQ_CST) != id.number)
		end(lane, record_at(lane, id.offset), id, true);
	return 0;
}

/* After arm(). The event of the old timeout stays if the new one was not armed. */
static SLOW int set_push(struct lane *lane, uint64_t *variable, union id old, union id id)
{
	int error = push_armed(lane, id);

	if (!error)
		return set_end(lane, variable, old, id);
	exchange_variable(variable, id, old);
	return error;
}

/* Has no other thread armed that timeout meanwhile, and is there no event? */
static inline bool has_ended(const struct hwheel_map_record *record, union id id)
{
	uint64_t word = __atomic_load_n(&record->word, __ATOMIC_SEQ_CST);

	return __atomic_load_n(&record->generation, __ATOMIC_RELAXED) != id.generation ||
	       !end_of(word, true);
}

/*
 * Arms the record on top. The caller has put its next id into the variable, in place of @old.
 * @record: that of @old, or NULL
 */
static inline ATTRIBUTE(always_inline) int set_top(struct lane *lane, uint64_t *variable,
						   union id old,
						   const struct hwheel_map_record *record,
						   union id id, uint64_t deadline_ns,
						   uint64_t cookie)
{
	struct hwheel_map_record *new = record_at(lane, id.offset);

	lane->top--;
	write_fields(new, id.generation, cookie);
	if (unlikely(!arm(lane, new, id.offset, word_of(deadline_ns) | tag_of(id.generation))))
		return set_push(lane, variable, old, id);
	if (unlikely(record && !has_ended(record, old)) ||
	    unlikely(__atomic_load_n(variable, __ATOMIC_SEQ_CST) != id.number))
		return set_end(lane, variable, old, id);
	return 0;
}

static int mapped_set_at(struct hwheel *wheel, uint64_t *variable, uint64_t deadline_ns,
			 uint64_t cookie)
{
	struct hwheel_map_record *record;
	struct lane *lane;
	union id old, id;
	int error = lane_of(wheel, &lane);

	if (error)
		return error;
	deadline_ns = on_workers_clock(lane->map, deadline_ns);
	do {
		old.number = __atomic_load_n(variable, __ATOMIC_ACQUIRE);
		record = record_of(lane->map, old.offset);
		if (record && !refresh(lane, record, old, deadline_ns))
			return 0;
		error = find_record(wheel, lane, &id.generation);
		if (error)
			return error;
		id.offset = lane->top[-1].offset;
	} while (!exchange_variable(variable, old, id));
	return set_top(lane, variable, old, record, id, deadline_ns, cookie);
}

static SLOW int set_slowly(struct hwheel *wheel, uint64_t *id, uint64_t deadline_ns,
			   uint64_t cookie)
{
	return wheel->place->set(wheel, HWHEEL_ABSOLUTE, id, deadline_ns, cookie);
}

/* With what hwheel_set_at() has found: no pending timeout has the id. */
static ATTRIBUTE(noinline) int set_new(struct hwheel *wheel, uint64_t *variable,
				       uint64_t deadline_ns, uint64_t cookie, union id old,
				       struct lane *lane)
{
	union id id = { lane->top[-1].number + NEXT_ID };

	if (unlikely(!lane_has_next(lane)) || unlikely(!exchange_variable(variable, old, id)))
		return set_slowly(wheel, variable, deadline_ns, cookie);
	return set_top(lane, variable, old, old.number ? record_at(lane, old.offset) : NULL, id,
		       deadline_ns, cookie);
}

/* None yet, or of a record that the lane has not seen */
static ATTRIBUTE(noinline) int set_unknown(struct hwheel *wheel, uint64_t *variable,
					   uint64_t deadline_ns, uint64_t cookie, union id old,
					   struct lane *lane)
{
	return old.number ? set_slowly(wheel, variable, deadline_ns, cookie) :
			    set_new(wheel, variable, deadline_ns, cookie, old, lane);
}

int hwheel_set_at(struct hwheel *wheel, uint64_t *id, uint64_t deadline_ns, uint64_t cookie)
{
	struct lane *lane = *slot_of(wheel);
	struct hwheel_map_record *record;
	union id old;
	uint64_t word;

	if (unlikely(deadline_ns >= lane->latest))
		return set_slowly(wheel, id, deadline_ns, cookie);
	/* Another thread's id, and so its record, are there. */
	old.number = __atomic_load_n(id, __ATOMIC_ACQUIRE);
	if (unlikely(!lane_knows(lane, old.offset)))
		return set_unknown(wheel, id, deadline_ns, cookie, old, lane);
	record = record_at(lane, old.offset);
	if (unlikely(!load_pending(record, old.generation, &word)))
		return set_new(wheel, id, deadline_ns, cookie, old, lane);
	if (unlikely(!move_later(record, &word, deadline_ns)))
		return set_slowly(wheel, id, deadline_ns, cookie);
	return 0;
}

/* query */

/* STOP ends a timeout before its deadline, or as if it had expired. */
static int state_of(uint64_t word, uint64_t fired_ns)
{
	switch (word & HWHEEL_MAP_STATE) {
	case HWHEEL_MAP_PENDING:
		return HWHEEL_STATE_PENDING;
	case HWHEEL_MAP_EXPIRED:
		if (word & HWHEEL_MAP_WITHDRAWN)
			return -ENOENT;
		return fired_ns < deadline_of(word) ? HWHEEL_STATE_STOPPED : HWHEEL_STATE_EXPIRED;
	default:
		return -ENOENT;
	}
}

static uint64_t left_of(const struct hwheel *wheel, uint64_t word)
{
	uint64_t deadline = deadline_of(word) + (uint64_t)wheel->map->offset_ns;
	uint64_t now = hwheel_now(wheel);

	return deadline > now ? deadline - now : 0;
}

static int mapped_query(struct hwheel *wheel, uint64_t number, uint64_t *left_ns, uint64_t *cookie)
{
	const struct map *map = wheel->map;
	const struct hwheel_map_record *record;
	union id id = { number };
	uint64_t word, its_cookie;
	int state;

	if (!map->header)
		return -EBADF;
	record = record_of(map, id.offset);
	if (!record)
		return -ENOENT;
	/* The cookie may be of a free record, or of the next arm: then the word is another one. */
	do {
		word = load_word(record);
		its_cookie = __atomic_load_n(&record->cookie, __ATOMIC_ACQUIRE);
		state = state_of(word, __atomic_load_n(&record->fired_ns, __ATOMIC_ACQUIRE));
		if (__atomic_load_n(&record->generation, __ATOMIC_ACQUIRE) != id.generation)
			return -ENOENT;
	} while (word != load_word(record));
	if (state >= 0 && left_ns)
		*left_ns = left_of(wheel, word);
	if (state >= 0 && cookie)
		*cookie = its_cookie;
	return state;
}

/* The place: a delay takes the fast path, which a call with a deadline comes from. */

static int mapped_arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
		      uint64_t *id)
{
	if (flags & HWHEEL_ABSOLUTE)
		return mapped_arm_at(wheel, time_ns, cookie, id);
	return hwheel_arm_at(wheel, deadline_after(hwheel_now(wheel), time_ns), cookie, id);
}

static int mapped_refresh(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	if (flags & HWHEEL_ABSOLUTE)
		return mapped_refresh_at(wheel, id, time_ns);
	return hwheel_refresh_at(wheel, id, deadline_after(hwheel_now(wheel), time_ns));
}

static int mapped_set(struct hwheel *wheel, uint32_t flags, uint64_t *id, uint64_t time_ns,
		      uint64_t cookie)
{
	if (flags & HWHEEL_ABSOLUTE)
		return mapped_set_at(wheel, id, time_ns, cookie);
	return hwheel_set_at(wheel, id, deadline_after(hwheel_now(wheel), time_ns), cookie);
}

const struct place mapped_place = {
	.arm		= mapped_arm,
	.refresh	= mapped_refresh,
	.set		= mapped_set,
	.end		= mapped_end,
	.query		= mapped_query,
	.next_events	= mapped_next_events,
	.submit		= batch_perform,
	.configure	= device_configure,
	.map		= map_make,
	.info		= device_info,
	.stats		= device_stats,
	.stop		= device_stop,
	.close		= map_close,
};
