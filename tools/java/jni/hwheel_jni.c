// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * What io.hwheel.Device cannot do in Java: open and configure the device, make and map memory,
 * kick the worker, wait for events, stop, and give all of it back.
 *
 * Each function returns a negative errno on failure. No function keeps a reference to a Java
 * object. The Java side owns a descriptor and a range of addresses:
 *
 * - reserve() takes addresses for as many records as there may ever be, so that memory which
 *   comes later lies behind the earlier one, and one buffer reaches all of it.
 * - detach() ends the use of the device. Threads that still use the buffer then find closed lists
 *   and private memory in place of the file's, and a thread that still has the descriptor finds
 *   /dev/null: its number is not given to another file.
 * - release() gives the addresses and the descriptor back, when no object can reach the buffer.
 */
#include <errno.h>
#include <fcntl.h>
#include <jni.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/hwheel.h>

#define DEVICE	"/dev/hwheel"

/* The order of the values in the arrays that Java reads */
enum { INFO_TICK, INFO_MAX, INFO_OWN, INFO_FEATURES, INFO_VALUES };

enum { MAP_RECORDS, MAP_RING_SIZE, MAP_LISTS, MAP_RING, MAP_RECORDS_AT, MAP_SIZE, MAP_VALUES };

/* /dev/null, open from the beginning: a process without a free descriptor can detach a file. */
static int null_device = -1;

static int result(int ret)
{
	return ret < 0 ? -errno : ret;
}

static jint device_open(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	return result(open(DEVICE, O_RDWR | O_CLOEXEC));
}

/* A wheel of the file's own, or, without a tick, the shared one */
static jint configure(JNIEnv *env, jclass class, jint fd, jlong tick_ns, jint slots, jlong max)
{
	struct hwheel_config config = {
		.tick_ns = (__u64)tick_ns,
		.max_timeouts = (__u64)max,
		.slots = (__u32)slots,
		.kind = tick_ns ? HWHEEL_KIND_HASHED : HWHEEL_KIND_DEFAULT,
		.clock = CLOCK_MONOTONIC,
	};

	(void)env;
	(void)class;
	return result(ioctl(fd, HWHEEL_IOC_CONFIG, &config));
}

static jint info(JNIEnv *env, jclass class, jint fd, jlongArray to)
{
	jlong values[INFO_VALUES];
	struct hwheel_info info;

	(void)class;
	if (ioctl(fd, HWHEEL_IOC_INFO, &info))
		return -errno;
	values[INFO_TICK] = (jlong)info.tick_ns;
	values[INFO_MAX] = (jlong)info.max_timeouts;
	values[INFO_OWN] = info.own_wheel;
	values[INFO_FEATURES] = (jlong)info.features;
	(*env)->SetLongArrayRegion(env, to, 0, INFO_VALUES, values);
	return 0;
}

/* Makes records, the first time with a number of lists, later with 0. */
static jint make(JNIEnv *env, jclass class, jint fd, jint records, jint lists, jlongArray to)
{
	struct hwheel_map map = { .records = (__u32)records, .lists = (__u32)lists };
	jlong values[MAP_VALUES];

	(void)class;
	if (ioctl(fd, HWHEEL_IOC_MAP, &map))
		return -errno;
	if (map.version != HWHEEL_MAP_VERSION)
		return -EOPNOTSUPP;
	values[MAP_RECORDS] = map.records;
	values[MAP_RING_SIZE] = map.ring_size;
	values[MAP_LISTS] = (jlong)map.lists_offset;
	values[MAP_RING] = (jlong)map.ring_offset;
	values[MAP_RECORDS_AT] = (jlong)map.records_offset;
	values[MAP_SIZE] = (jlong)map.size;
	(*env)->SetLongArrayRegion(env, to, 0, MAP_VALUES, values);
	return 0;
}

/* A child of the process has none of it, as it has nothing of the file's own mapping either. */
static jobject reserve(JNIEnv *env, jclass class, jlong size)
{
	void *at = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	jobject memory;

	(void)class;
	if (at == MAP_FAILED)
		return NULL;
	madvise(at, (size_t)size, MADV_DONTFORK);
	memory = (*env)->NewDirectByteBuffer(env, at, size);
	if (!memory)
		munmap(at, (size_t)size);
	return memory;
}

static jlong address(JNIEnv *env, jclass class, jobject memory)
{
	(void)class;
	return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, memory);
}

/* Maps a part of the file to where it belongs. */
static jint attach(JNIEnv *env, jclass class, jint fd, jobject memory, jlong from, jlong to)
{
	char *at = (*env)->GetDirectBufferAddress(env, memory);
	void *part = mmap(at + from, (size_t)(to - from), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, fd, (off_t)from);

	(void)class;
	return part == MAP_FAILED ? -errno : 0;
}

static jint kick(JNIEnv *env, jclass class, jint fd)
{
	(void)env;
	(void)class;
	return result(ioctl(fd, HWHEEL_IOC_KICK));
}

/* Waits until there are events, or an end. Returns what there is, as poll() has it. */
static jint await(JNIEnv *env, jclass class, jint fd)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	(void)env;
	(void)class;
	return poll(&file, 1, -1) < 0 ? -errno : file.revents;
}

static jint stop(JNIEnv *env, jclass class, jint fd)
{
	(void)env;
	(void)class;
	return result(ioctl(fd, HWHEEL_IOC_STOP));
}

/* Private memory in place of the file's, with closed lists. NULL: there is none. */
static char *closed_lists(size_t lists, size_t ring, size_t size)
{
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (copy == MAP_FAILED)
		return NULL;
	for (; lists < ring; lists += sizeof(struct hwheel_map_list))
		((struct hwheel_map_list *)(copy + lists))->head = HWHEEL_MAP_CLOSED;
	return copy;
}

/*
 * Replaces the file's memory, all of it at once. No thread sees a gap: the kernel exchanges the
 * pages of a range while it holds the lock that a page fault needs. If there is no memory for the
 * copy, the file's stays. (An mmap() with MAP_FIXED could fail after it has unmapped the range.)
 */
static int replace(char *at, size_t lists, size_t ring, size_t size)
{
	char *copy = closed_lists(lists, ring, size);
	int error;

	if (!copy)
		return -ENOMEM;
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
		return 0;
	error = -errno;
	munmap(copy, size);
	return error;
}

/* Of a file that was stopped, or has no timeout. It is let go of even if the memory stays. */
static jint detach(JNIEnv *env, jclass class, jint fd, jobject memory, jlong lists, jlong ring,
		   jlong size)
{
	char *at = (*env)->GetDirectBufferAddress(env, memory);
	int error = replace(at, (size_t)lists, (size_t)ring, (size_t)size);

	(void)class;
	if (dup3(null_device, fd, O_CLOEXEC) < 0)
		error = -errno;
	return error;
}

static void release(JNIEnv *env, jclass class, jint fd, jlong at, jlong size)
{
	(void)env;
	(void)class;
	if (at)
		munmap((void *)(intptr_t)at, (size_t)size);
	close(fd);
}

static jlong now(JNIEnv *env, jclass class)
{
	struct timespec now;

	(void)env;
	(void)class;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (jlong)now.tv_sec * 1000000000 + now.tv_nsec;
}

static jstring describe(JNIEnv *env, jclass class, jint error)
{
	char text[128];

	(void)class;
	return (*env)->NewStringUTF(env, strerror_r(error, text, sizeof(text)));
}

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define METHOD(name, types, function)	{ (char *)(name), (char *)(types), (void *)(function) }

static const JNINativeMethod methods[] = {
	METHOD("open", "()I", device_open),
	METHOD("configure", "(IJIJ)I", configure),
	METHOD("info", "(I[J)I", info),
	METHOD("make", "(III[J)I", make),
	METHOD("reserve", "(J)Ljava/nio/ByteBuffer;", reserve),
	METHOD("address", "(Ljava/nio/ByteBuffer;)J", address),
	METHOD("attach", "(ILjava/nio/ByteBuffer;JJ)I", attach),
	METHOD("kick", "(I)I", kick),
	METHOD("await", "(I)I", await),
	METHOD("stop", "(I)I", stop),
	METHOD("detach", "(ILjava/nio/ByteBuffer;JJJ)I", detach),
	METHOD("release", "(IJJ)V", release),
	METHOD("now", "()J", now),
	METHOD("describe", "(I)Ljava/lang/String;", describe),
};

/* Called when Java loads the library. */
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	jclass class;
	JNIEnv *env;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return JNI_ERR;
	null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_device < 0)
		return JNI_ERR;
	class = (*env)->FindClass(env, "io/hwheel/Device");
	if (!class || (*env)->RegisterNatives(env, class, methods, ARRAY_SIZE(methods)) != JNI_OK)
		return JNI_ERR;
	return JNI_VERSION_1_8;
}
