/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tasklet.h - waiting for tasklets that are somebody else's.
 *
 * In 6.1 rxe calls completion handlers from a tasklet inside its CQ, and frees
 * the CQ without a look at whether that tasklet is queued (6.1
 * drivers/infiniband/sw/rxe/rxe_cq.c:42-56; 6.12 has no such tasklet). What is
 * freed stays in a CPU's list; once the memory is used again, all behind it in
 * the list is lost, and with it the QPs whose tasklets those were: they can't
 * be destroyed any more. So whoever destroys a CQ waits here first.
 */
#ifndef _RXPOST_TASKLET_H
#define _RXPOST_TASKLET_H

#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/smp.h>

static inline void rxpost_tasklet_nothing(struct tasklet_struct *tasklet)
{
}

static inline void rxpost_tasklet_queue(void *tasklet)
{
	tasklet_schedule(tasklet);
}

/**
 * rxpost_tasklets_settle() - wait until every tasklet queued now has run
 *
 * A CPU runs its tasklets in the order they were queued, so one of ours behind
 * them tells. It may overtake one that another CPU is just running; that one is
 * queued anew and is done after the second round.
 *
 * Context: process, sleeps.
 */
static inline void rxpost_tasklets_settle(void)
{
	struct tasklet_struct ours;
	int round, cpu;

	tasklet_setup(&ours, rxpost_tasklet_nothing);
	for (round = 0; round < 2; round++) {
		for_each_online_cpu(cpu) {
			/* A CPU that left has handed over its tasklets. */
			smp_call_function_single(cpu, rxpost_tasklet_queue,
						 &ours, true);
			tasklet_kill(&ours);
		}
	}
}

#endif /* _RXPOST_TASKLET_H */
