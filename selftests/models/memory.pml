/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a machine that is weakly ordered, as far as it matters to the models.
 *
 * A plain store stays in its CPU's store buffer until it lands, which those to different
 * variables do in any order; the CPU itself sees it at once. At a full barrier they all land.
 * Atomic operations change the other variables, in memory.
 * Loads take place in program order, but where a mutation says otherwise: the NO_ACQUIRE_... and
 * SPARE_ACQUIRE_..., and SPARE_MB_LOOK in sleep.pml. Not modelled are the acquires of the
 * worker's reads of the words of timeouts that it has taken from a list: behind them it reads
 * nothing of others before the exchange, a full barrier.
 */
typedef buffered {
	byte mem;
	byte own;
	bit late
}

#define store(var, value)	d_step { var.own = value; var.late = 1 }
#define load_own(var)		(var.late -> var.own : var.mem)
#define land(var)							\
	d_step {							\
		if							\
		:: var.late ->						\
			var.mem = var.own;				\
			var.own = 0;					\
			var.late = 0					\
		:: else							\
		fi							\
	}
