/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault.h - fault points: rare events of drivers and devices, made to happen.
 *
 * Each is a file in debugfs, rxpost_recv/fault/NAME; what is written there
 * arms it. Until the first write they are patched out of the code (a static
 * branch), so that the module that is tested is the module that is used.
 */
#ifndef _RXPOST_FAULT_H
#define _RXPOST_FAULT_H

#include <linux/jump_label.h>
#include <rdma/ib_verbs.h>

enum rxpost_fault_point {
	/* the value lasts until 0 is written */
	RXPOST_FAULT_GRANT,	/* QPs get this receive capacity */
	/* the value is how many times */
	RXPOST_FAULT_UNTOUCHED,	/* a post fails, bad_wr is not written */
	RXPOST_FAULT_LOSE,	/* a completion never comes */
	RXPOST_FAULT_LATE,	/* a flush comes after the next attach */
	RXPOST_FAULT_REPEAT,	/* a completion comes twice */
	RXPOST_FAULT_EXPIRE,	/* a drain expires at once */
	RXPOST_FAULT_MAP,	/* a mapping fails */
	RXPOST_FAULT_ACCESS,	/* a QP keeps the remote access the CM gave it */
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
