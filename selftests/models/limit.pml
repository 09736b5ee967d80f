/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limit of a wheel: three timeouts of which two may be pending. Two CPUs arm the first one, and
 * another the second one. An interrupt on the first CPU arms the third one. A timeout may end as
 * soon as it is pending, by a CPU that gives its place back after that.
 *
 *	hwheel_limit_take(), hwheel_limit_begin(),
 *	hwheel_limit_decide(), hwheel_limit_end()		module/engine/limit.h
 *
 * A failed exchange of the count begins again, so a look at it and its exchange are one step.
 *
 * Checked:
 *  - no more timeouts are pending than the limit allows;
 *  - an arm is refused only while as many are pending. One that ended counts until the call that
 *    ended it has given its place back;
 *  - nobody waits for ever, and at the end the count is right.
 *
 * Without these is violated:
 * NO_DOUBT: pending >= 2
 * NO_SIGN: pending >= 2
 * NO_IRQS_OFF: invalid end state
 */
#define LIMIT	2
#define ARMS	2

/* Are places that may be given back apart from those that are taken for good? */
#ifdef NO_DOUBT
#define IN_DOUBT	0
#else
#define IN_DOUBT	1
#endif

/* Is a count below 0 read as one? */
#ifdef NO_SIGN
#define SETTLED		(settled < 0 -> 100 : settled)
#else
#define SETTLED		settled
#endif

/* The interrupt comes in between two steps of the first CPU, unless interrupts are off. */
#ifdef NO_IRQS_OFF
#define IRQS_OFF	skip
#else
#define IRQS_OFF	irqs_off = (irqs_off || cpu == 0)
#endif

/* The count of the limit */
short settled;
byte doubt;

/* The words */
bit is_pending[3];

/* How many timeouts are pending, or ended but have a place */
byte pending;

bit irqs_off, in_irq;

#define RUNS		(cpu != 0 || !in_irq)

inline take()
{
	if
	:: atomic { RUNS && SETTLED >= LIMIT -> assert(pending >= LIMIT); taken = 0 }
	:: atomic {
		RUNS && SETTLED < LIMIT && SETTLED + doubt < LIMIT ->
		doubt = doubt + IN_DOUBT;
		settled = settled + 1 - IN_DOUBT;
		taken = 1
	   }
	fi
}

inline exchange()
{
	atomic {
		RUNS;
		armed = !is_pending[t];
		is_pending[t] = 1;
		pending = pending + armed;
		assert(pending <= LIMIT)
	}
}

inline decide()
{
	atomic {
		RUNS;
		doubt = doubt - IN_DOUBT;
		settled = settled + armed - 1 + IN_DOUBT
	}
}

inline arm()
{
	do
	:: atomic { RUNS && is_pending[t] -> break }
	:: atomic { RUNS && !is_pending[t] -> IRQS_OFF };
		take();
		if
		:: taken -> exchange(); decide()
		:: else
		fi;
		atomic { RUNS; irqs_off = irqs_off && cpu != 0 };
		if
		:: armed || !taken -> break
		:: else
		fi
	od;
	armed = 0
}

/* @cpu 3 is the interrupt on the first one. */
proctype armer(byte cpu; byte t)
{
	bit taken, armed;
	byte n;

	do
	:: n < ARMS ->
		if
		:: cpu == 3 -> atomic { !irqs_off && !in_irq -> in_irq = 1 }
		:: else
		fi;
		arm();
		if
		:: cpu == 3 -> in_irq = 0
		:: else
		fi;
		n++
	:: n == ARMS -> break
	od
}

/* Ends what is pending, or leaves it. */
proctype ender(byte t)
{
	do
	:: atomic { is_pending[t] -> is_pending[t] = 0 };
		atomic { settled--; pending-- }
	:: break
	od
}

init {
	atomic {
		run armer(0, 0);
		run armer(1, 0);
		run armer(2, 1);
		run armer(3, 2);
		run ender(0);
		run ender(1)
	}
	_nr_pr == 1;
	assert(doubt == 0 && settled == pending);
	assert(pending == is_pending[0] + is_pending[1] + is_pending[2])
}
