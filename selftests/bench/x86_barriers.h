/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Acquire and release as kernels for x86 have them. Those of a user-mode kernel with CONFIG_SMP
 * are full barriers, behind which the CPU loads nothing ahead, so memory costs a latency each time.
 * Compilers include this before all else.
 */
#ifndef _BENCH_X86_BARRIERS_H
#define _BENCH_X86_BARRIERS_H

#define __smp_store_release(p, v)					\
do {									\
	typeof(p) __place = (p);					\
									\
	compiletime_assert_atomic_type(*__place);			\
	barrier();							\
	WRITE_ONCE(*__place, v);					\
} while (0)

#define __smp_load_acquire(p)						\
({									\
	typeof(p) __place = (p);					\
	__unqual_scalar_typeof(*__place) __value = READ_ONCE(*__place);	\
									\
	compiletime_assert_atomic_type(*__place);			\
	barrier();							\
	(typeof(*__place))__value;					\
})

#define __smp_mb__before_atomic()	do { } while (0)
#define __smp_mb__after_atomic()	do { } while (0)

#endif /* _BENCH_X86_BARRIERS_H */
