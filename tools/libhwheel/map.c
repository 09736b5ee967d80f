// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A file's mapping: made, extended and given up. Address space for all records that there may be
 * is taken at first, so that nothing moves.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "map.h"

/* The slots that wheels have; with the lock */
static bool slot_used[SLOTS - 1];

/* Threads begin and end, and wheels grow and close, seldom enough for one lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void map_lock(void)
{
	pthread_mutex_lock(&lock);
}

void map_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* The most magazines: those that all records fill, and two for each lane; as lanes get them */
static size_t magazines_wanted(uint64_t max)
{
	size_t most = (max + getpagesize() / RECORD_SIZE) / (PLACES - 1) + 2 * MAX_LANES + 1;

	return (most + MAGAZINES - 1) / MAGAZINES * MAGAZINES;
}

/* Each part is aligned for the next one. */
static size_t aligned(size_t size)
{
	return (size + MAGAZINE_SIZE - 1) / MAGAZINE_SIZE * MAGAZINE_SIZE;
}

static size_t head_size(void)
{
	return aligned(sizeof(struct map));
}

static size_t lanes_size(void)
{
	return aligned(MAX_LANES * sizeof(struct lane));
}

/* One for each group of the records, which come by the page. */
static size_t homes_size(uint64_t max)
{
	return aligned((max + getpagesize() / RECORD_SIZE) / GROUP * sizeof(uint16_t));
}

static size_t private_size(uint64_t max)
{
	return head_size() + lanes_size() + homes_size(max) +
	       magazines_wanted(max) * MAGAZINE_SIZE;
}

/* Memory that is zero, and that a child finds zero again; or NULL */
static void *private_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, size, MADV_WIPEONFORK)) {
		munmap(memory, size);
		return NULL;
	}
	return memory;
}

static struct map *map_new(uint64_t max)
{
	char *memory = private_memory(private_size(max));
	struct map *map = (struct map *)memory;

	if (!map)
		return NULL;
	map->max = max;
	map->users = 1;
	map->max_magazines = (uint32_t)magazines_wanted(max);
	map->lanes = (struct lane *)(memory + head_size());
	map->homes = (uint16_t *)(memory + head_size() + lanes_size());
	map->magazines = (struct magazine *)((char *)map->homes + homes_size(max));
	return map;
}

/* With the lock held. The last user frees it. */
void map_put(struct map *map)
{
	if (!--map->users)
		munmap(map, private_size(map->max));
}

static unsigned int slot_get(void)
{
	unsigned int i = 0;

	while (i < SLOTS - 1 && slot_used[i])
		i++;
	if (i < SLOTS - 1)
		slot_used[i] = true;
	return i * (unsigned int)sizeof(struct lane *);
}

static void slot_put(unsigned int slot)
{
	if (slot != LAST_SLOT)
		slot_used[slot / sizeof(struct lane *)] = false;
}

static int make(const struct hwheel *wheel, struct hwheel_map *layout)
{
	return wheel_ioctl(wheel, HWHEEL_IOC_MAP, layout);
}

/*
 * The kernel unmaps the reservation before it puts a mapping of the file there, and may refuse that
 * one afterwards. So a part is mapped elsewhere first, and then moved. If even the move fails,
 * another thread may have got the place already: the reservation ends there from then on.
 */
static int map_part(const struct hwheel *wheel, struct map *map, char *at, size_t from, size_t to)
{
	size_t size = to - from;
	void *part = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd, (off_t)from);

	if (part == MAP_FAILED)
		return -ENOMEM;
	if (mremap(part, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at + from) != MAP_FAILED)
		return 0;
	munmap(part, size);
	munmap(at + to, map->reserved - to);
	map->reserved = from;
	return -ENOMEM;
}

/* Address space for the most that there may be, with what there is at its beginning */
static char *map_shared(const struct hwheel *wheel, struct map *map,
			const struct hwheel_map *layout)
{
	char *at;

	map->reserved = layout->records_offset + (size_t)layout->ring_size * RECORD_SIZE;
	at = mmap(NULL, map->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	madvise(at, map->reserved, MADV_DONTFORK);
	if (!map_part(wheel, map, at, 0, layout->size))
		return at;
	munmap(at, map->reserved);
	return NULL;
}

static void place(struct map *map, char *at, const struct hwheel_map *layout)
{
	map->lists = (struct hwheel_map_list *)(at + layout->lists_offset);
	map->nr_lists = layout->lists;
	map->ring = (uint32_t *)(at + layout->ring_offset);
	map->ring_mask = layout->ring_size - 1;
	map->base = at + layout->records_offset - RECORD_SIZE;
	map->fresh = RECORD_SIZE;
	map->size = (layout->records + 1) * RECORD_SIZE;
	map->header = (struct hwheel_map_header *)at;
	map->made = layout->size;
	map->step = map->max;
	map->offset_ns = map->header->clock_offset_ns;
}

/* As many lists as threads can run at once */
static unsigned int lists_wanted(void)
{
	int cpus = get_nprocs();

	return cpus < 1 ? 1 : cpus > HWHEEL_MAP_LISTS ? HWHEEL_MAP_LISTS : (unsigned int)cpus;
}

/* A KICK is refused as long as the file is not mapped. */
static int check_unmapped(const struct hwheel *wheel)
{
	int error = wheel_ioctl(wheel, HWHEEL_IOC_KICK, NULL);

	return error == -EINVAL ? 0 : error ?: -EBUSY;
}

/* Such a file can be mapped, too. */
static bool is_read_write(const struct hwheel *wheel)
{
	return (fcntl(wheel->fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

/* Records that were there before belong to another process, which was faster. */
static int make_first(struct hwheel *wheel, uint32_t records)
{
	struct hwheel_map layout = { .records = records, .lists = lists_wanted() };
	int error = check_unmapped(wheel) ?: make(wheel, &layout);

	if (error)
		return error;
	if (layout.records >= records + getpagesize() / RECORD_SIZE)
		return -EBUSY;
	wheel->layout = layout;
	return 0;
}

/* If an earlier call could not map the records that it had made, this one maps these. */
static int map_begin(struct hwheel *wheel, struct map *map, uint32_t records)
{
	int error = wheel->layout.size ? 0 : make_first(wheel, records);
	char *at;

	if (error)
		return error;
	if (wheel->layout.version != HWHEEL_MAP_VERSION)
		return -EPROTONOSUPPORT;
	at = map_shared(wheel, map, &wheel->layout);
	if (!at)
		return -ENOMEM;
	place(map, at, &wheel->layout);
	return 0;
}

static int map_create(struct hwheel *wheel, uint32_t records)
{
	struct hwheel_info info;
	struct map *map;
	int error = is_read_write(wheel) ? hwheel_info(wheel, &info) : -EBADF;

	if (error)
		return error;
	map = map_new(info.max_timeouts);
	if (!map)
		return -ENOMEM;
	error = map_begin(wheel, map, records);
	if (error) {
		munmap(map, private_size(map->max));
		return error;
	}
	wheel->slot = slot_get();
	wheel->place = &mapped_place;
	__atomic_store_n(&wheel->map, map, __ATOMIC_RELEASE);
	return 0;
}

/* Bytes of the mapping that are mapped; fewer than were made if the last mmap() has failed */
static size_t mapped_size(const struct map *map)
{
	return (size_t)(map->base - (char *)map->header) + map->size;
}

/* Maps the rest of the records that the kernel has made. The caller holds the lock. */
static int map_made(struct hwheel *wheel, struct map *map)
{
	size_t from = mapped_size(map);
	int error = map_part(wheel, map, (char *)map->header, from, map->made);

	if (!error)
		__atomic_store_n(&map->size, map->size + (uint32_t)(map->made - from),
				 __ATOMIC_RELEASE);
	return error;
}

static int make_more(struct hwheel *wheel, struct map *map, uint64_t records)
{
	struct hwheel_map layout = { .records = (uint32_t)records };
	int error = make(wheel, &layout);

	if (!error)
		map->made = layout.size;
	return error;
}

/*
 * Half as many, until there is room for them, or not even for a page of them. Then the next growth
 * begins with a page, and otherwise with twice as many as there was room for.
 */
static int make_most(struct hwheel *wheel, struct map *map, uint64_t records)
{
	uint64_t least = getpagesize() / RECORD_SIZE;
	int error = make_more(wheel, map, records);

	while ((error == -EDQUOT || error == -ENOMEM || error == -ENOSPC) && records > least) {
		records /= 2;
		error = make_more(wheel, map, records);
	}
	map->step = error ? least : 2 * records;
	return error;
}

/* The kernel has made records for which there is no place: see map_part(). */
static bool is_cut(const struct map *map)
{
	return map->made > map->reserved;
}

static uint64_t least_of(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

/* Doubles the map, if there may be and is room for so many. */
static int grow(struct hwheel *wheel, struct map *map)
{
	uint64_t there = map->size / RECORD_SIZE - 1, more = least_of(there, map->max - there);

	if (is_cut(map))
		return -ENOMEM;
	if (mapped_size(map) < map->made)
		return map_made(wheel, map);
	if (there >= map->max)
		return -ENOSPC;
	return make_most(wheel, map, least_of(more, map->step)) ?: map_made(wheel, map);
}

/* With the lock held */
int map_grow(struct hwheel *wheel, struct map *map)
{
	int error = grow(wheel, map);

	__atomic_store_n(&map->is_short, error != 0, __ATOMIC_RELAXED);
	return error;
}

static int map_extend(struct hwheel *wheel, struct map *map, size_t count)
{
	if (is_cut(map))
		return -ENOMEM;
	return make_more(wheel, map, count) ?: map_made(wheel, map);
}

int map_make(struct hwheel *wheel, size_t count)
{
	int error;

	if (!count)
		return -EINVAL;
	if (count > UINT32_MAX)
		return -ENOSPC;
	error = lanes_begin();
	if (error)
		return error;
	map_lock();
	if (!wheel->map)
		error = map_create(wheel, (uint32_t)count);
	else if (!wheel->map->header)
		error = -EBADF;
	else
		error = map_extend(wheel, wheel->map, count);
	map_unlock();
	return error;
}

/*
 * Of a handle that is not used any more. A child has no mapping, and keeps the wiped memory, as
 * threads may look at lanes there.
 */
void map_close(struct hwheel *wheel)
{
	struct map *map = wheel->map;

	map_lock();
	slot_put(wheel->slot);
	if (map->header) {
		for (unsigned int i = 0; i < map->nr_lanes; i++)
			lane_shut(&map->lanes[i]);
		munmap(map->header, map->reserved);
		map_put(map);
	}
	map_unlock();
}
