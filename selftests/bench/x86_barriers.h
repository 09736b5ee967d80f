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
	compiletime_assert_atomic_type(*p);				\
	barrier();							\
	WRITE_ONCE(*p, v);						\
} while (0)

#define __smp_load_acquire(p)						\
({									\
	__unqual_scalar_typeof(*p) __value = READ_ONCE(*p);		\
									\
	compiletime_assert_atomic_type(*p);				\
	barrier();							\
	(typeof(*p))__value;						\
})

#define __smp_mb__before_atomic()	do { } while (0)
#define __smp_mb__after_atomic()	do { } while (0)

#endif /* _BENCH_X86_BARRIERS_H */
