/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault.h - fault points: rare events of drivers and devices, made to happen.
 *
 * Each is a file in debugfs, rxpost_recv/fault/NAME; what is written there
 * arms it. Until the first write they are patched out of the code (a static
 * branch), so that the module that is tested is the module that is used.
 *
 * The file skip beside them is for walks: so many hits of points that are armed
 * by times pass first. With skip at n and a point at 1, its hit n + 1 is taken.
 */
#ifndef _RXPOST_FAULT_H
#define _RXPOST_FAULT_H

#include <linux/jump_label.h>
#include <rdma/ib_verbs.h>

enum rxpost_fault_point {
	/* the value lasts until 0 is written */
	RXPOST_FAULT_GRANT,	/* QPs get this receive capacity */
	RXPOST_FAULT_NOFLUSH,	/* 1: no flush is ever completed */
	RXPOST_FAULT_NOERR,	/* 1: QPs stay in RTS and take messages to their end */
	/* the value is how many times */
	RXPOST_FAULT_CQ,	/* a CQ is not created */
	RXPOST_FAULT_QP,	/* a QP is not created */
	RXPOST_FAULT_UNTOUCHED,	/* a post fails, bad_wr is not written */
	RXPOST_FAULT_REFUSE,	/* a post takes the first half of its chain */
	RXPOST_FAULT_LOSE,	/* a completion never comes */
	RXPOST_FAULT_LATE,	/* a flush comes after the next attach */
	RXPOST_FAULT_REPEAT,	/* a completion comes twice */
	RXPOST_FAULT_EXPIRE,	/* a drain expires at once */
	RXPOST_FAULT_MAP,	/* a mapping fails */
	RXPOST_FAULT_ACCESS,	/* a QP keeps the remote access the CM gave it */
	RXPOST_FAULT_OVERFLOW,	/* a CQ that is polled reports that it overflowed */
	/* likewise: beside a completion comes another one, which has of its wr_id */
	RXPOST_FAULT_INDEX,	/* a connection's index that is out of range */
	RXPOST_FAULT_SLOT,	/* a slot that is out of range */
	RXPOST_FAULT_GENERATION,	/* a generation that is another */
	RXPOST_FAULT_KIND,	/* a kind that nothing is posted under */
	RXPOST_FAULT_POINTS,
};

/**
 * struct rxpost_fault_store - completions that RXPOST_FAULT_LATE kept back
 * @due: a connection attached since
 * @n: entries in @wc
 * @wc: the completions
 */
struct rxpost_fault_store {
	bool due;
	u32 n;
	struct ib_wc wc[64];
};

DECLARE_STATIC_KEY_FALSE(rxpost_faults);

bool rxpost_fault_hit(enum rxpost_fault_point point);
u32 rxpost_fault_level(enum rxpost_fault_point point);
void rxpost_faults_init(void);
void rxpost_faults_exit(void);

/* True once for each time the point was armed. */
static inline bool rxpost_fault(enum rxpost_fault_point point)
{
	return static_branch_unlikely(&rxpost_faults) &&
	       rxpost_fault_hit(point);
}

/* The value of a point that lasts, 0 when it is not armed. */
static inline u32 rxpost_fault_value(enum rxpost_fault_point point)
{
	return static_branch_unlikely(&rxpost_faults) ?
	       rxpost_fault_level(point) : 0;
}

#endif /* _RXPOST_FAULT_H */
