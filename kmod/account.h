/* SPDX-License-Identifier: GPL-2.0 */
/*
 * account.h - where every receive slot of one queue is.
 *
 * Owns the slot states, the order in which slots are used again, and the
 * ledger. Pure C: no locks, no allocation, no kernel calls; the same text is
 * compiled and tested in user space. Called only by the queue's owner, its
 * poller (poll.c, post.c), and after detach by the worker that frees the queue
 * (queue.c). Whoever else wants the figures reads a published copy (stats.c).
 *
 *            take              complete            rest
 *   FREE ----------> POSTED ------------> HELD ----------> FREE
 *    ^               |   ^                 |
 *    | refuse, flush,|   `-----------------'
 *    | fail, reclaim |          take
 *    `---------------'
 *
 * A slow sink is not done with a message at once: the youngest @unripe of the
 * HELD slots wait for it and can be neither taken nor rested.
 *
 * Every function that names a slot checks its state first and refuses with
 * false, changing nothing, when the slot is not where it must be: so a slot
 * posted twice or completed twice cannot get into the books.
 */
#ifndef _RXPOST_ACCOUNT_H
#define _RXPOST_ACCOUNT_H

#include <linux/types.h>

#ifndef __KERNEL__
#include <stdbool.h>
typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
#endif

enum rxpost_slot_state {
	RXPOST_SLOT_FREE,
	RXPOST_SLOT_POSTED,	/* the device's, from post to completion */
	RXPOST_SLOT_HELD,	/* completed; waits for its batch or its sink */
};

/**
 * struct rxpost_ledger - the books of one queue, or a sum of such books
 * @posted: receives the device accepted
 * @completed: completed with success
 * @flushed: flushed when their QP ended
 * @failed: completed in error
 * @reclaimed: taken back without a completion, after their QP was destroyed
 * @outstanding: slots that are POSTED now
 * @held: slots that are HELD now
 * @free: slots that are FREE now
 * @slots: all slots
 *
 * The levels are counted apart from the totals, so that
 * rxpost_ledger_balanced() compares two independent accounts.
 */
struct rxpost_ledger {
	u64 posted;
	u64 completed;
	u64 flushed;
	u64 failed;
	u64 reclaimed;
	u32 outstanding;
	u32 held;
	u32 free;
	u32 slots;
};

/**
 * struct rxpost_account - slot states and their order of reuse
 * @ledger: the books
 * @state: enum rxpost_slot_state of each slot
 * @free: stack of FREE slots; the one used last is reused first
 * @held: ring of HELD slots, oldest first
 * @held_head: place of the oldest in @held
 * @unripe: how many of the youngest HELD slots the sink is not done with
 *
 * The three arrays have @ledger.slots entries and belong to the caller; @held
 * may be NULL where nothing is ever completed, but only sent.
 */
struct rxpost_account {
	struct rxpost_ledger ledger;
	u8 *state;
	u32 *free;
	u32 *held;
	u32 held_head;
	u32 unripe;
};

#define RXPOST_NO_SLOT	((u32)~0u)

static inline bool rxpost_ledger_balanced(const struct rxpost_ledger *l)
{
	return l->outstanding == l->posted - l->completed - l->flushed -
				 l->failed - l->reclaimed &&
	       (u64)l->outstanding + l->held + l->free == l->slots;
}

/* Adds @more to @sum; a sum of balanced ledgers is balanced. */
static inline void rxpost_ledger_add(struct rxpost_ledger *sum,
				     const struct rxpost_ledger *more)
{
	sum->posted += more->posted;
	sum->completed += more->completed;
	sum->flushed += more->flushed;
	sum->failed += more->failed;
	sum->reclaimed += more->reclaimed;
	sum->outstanding += more->outstanding;
	sum->held += more->held;
	sum->free += more->free;
	sum->slots += more->slots;
}

static inline void rxpost_account_init(struct rxpost_account *a, u32 slots,
				       u8 *state, u32 *free, u32 *held)
{
	u32 i;

	*a = (struct rxpost_account){
		.ledger = { .free = slots, .slots = slots },
		.state = state,
		.free = free,
		.held = held,
	};
	/* Slot 0 on top of the stack: a fill goes through memory upward. */
	for (i = 0; i < slots; i++) {
		state[i] = RXPOST_SLOT_FREE;
		free[i] = slots - 1 - i;
	}
}

static inline bool rxpost_account_is(const struct rxpost_account *a, u32 slot,
				     enum rxpost_slot_state state)
{
	return slot < a->ledger.slots && a->state[slot] == state;
}

/* Takes the slot that was held longest out of the ring; there must be one. */
static inline u32 rxpost_account_pop_held(struct rxpost_account *a)
{
	u32 slot = a->held[a->held_head];

	if (++a->held_head == a->ledger.slots)
		a->held_head = 0;
	a->ledger.held--;
	return slot;
}

/* HELD slots that may be posted again. */
static inline u32 rxpost_account_ripe(const struct rxpost_account *a)
{
	return a->ledger.held - a->unripe;
}

static inline void rxpost_account_push_free(struct rxpost_account *a, u32 slot)
{
	a->state[slot] = RXPOST_SLOT_FREE;
	a->free[a->ledger.free++] = slot;
}

/*
 * Chooses the next slot to post, the ripe one held longest or else a free one,
 * and enters it as POSTED: before the call that hands it over, because from
 * that call on it is the device's. RXPOST_NO_SLOT if there is none.
 */
static inline u32 rxpost_account_take(struct rxpost_account *a)
{
	u32 slot;

	if (rxpost_account_ripe(a))
		slot = rxpost_account_pop_held(a);
	else if (a->ledger.free)
		slot = a->free[--a->ledger.free];
	else
		return RXPOST_NO_SLOT;

	a->state[slot] = RXPOST_SLOT_POSTED;
	a->ledger.posted++;
	a->ledger.outstanding++;
	return slot;
}

/* The device did not accept @slot: it was never posted. */
static inline bool rxpost_account_refuse(struct rxpost_account *a, u32 slot)
{
	if (!rxpost_account_is(a, slot, RXPOST_SLOT_POSTED))
		return false;
	a->ledger.posted--;
	a->ledger.outstanding--;
	rxpost_account_push_free(a, slot);
	return true;
}

/* Where in the ring the HELD slot is that came @nth, 0 being the oldest. */
static inline u32 rxpost_account_place(const struct rxpost_account *a, u32 nth)
{
	u32 at = a->held_head + nth;

	return at < a->ledger.slots ? at : at - a->ledger.slots;
}

/* @slot holds a message now; it waits at the end of the ring. */
static inline bool rxpost_account_complete(struct rxpost_account *a, u32 slot)
{
	if (!rxpost_account_is(a, slot, RXPOST_SLOT_POSTED))
		return false;
	a->held[rxpost_account_place(a, a->ledger.held)] = slot;
	a->state[slot] = RXPOST_SLOT_HELD;
	a->ledger.held++;
	a->ledger.outstanding--;
	a->ledger.completed++;
	return true;
}

/* The slot that was completed last waits for the sink; so do all after it. */
static inline bool rxpost_account_wait(struct rxpost_account *a)
{
	if (a->unripe == a->ledger.held)
		return false;
	a->unripe++;
	return true;
}

/* The @nth slot, from 0, of those that wait for the sink, oldest first. */
static inline u32 rxpost_account_waiting(const struct rxpost_account *a,
					 u32 nth)
{
	if (nth >= a->unripe)
		return RXPOST_NO_SLOT;
	return a->held[rxpost_account_place(a, rxpost_account_ripe(a) + nth)];
}

/* The sink is done with the @n slots that waited longest. */
static inline bool rxpost_account_ripen(struct rxpost_account *a, u32 n)
{
	if (n > a->unripe)
		return false;
	a->unripe -= n;
	return true;
}

/*
 * Ends a POSTED slot that holds nothing anybody wants; @total is the column it
 * goes to.
 */
static inline bool rxpost_account_end(struct rxpost_account *a, u32 slot,
				      u64 *total)
{
	if (!rxpost_account_is(a, slot, RXPOST_SLOT_POSTED))
		return false;
	a->ledger.outstanding--;
	(*total)++;
	rxpost_account_push_free(a, slot);
	return true;
}

static inline bool rxpost_account_flush(struct rxpost_account *a, u32 slot)
{
	return rxpost_account_end(a, slot, &a->ledger.flushed);
}

static inline bool rxpost_account_fail(struct rxpost_account *a, u32 slot)
{
	return rxpost_account_end(a, slot, &a->ledger.failed);
}

static inline bool rxpost_account_reclaim(struct rxpost_account *a, u32 slot)
{
	return rxpost_account_end(a, slot, &a->ledger.reclaimed);
}

/* What was sent is gone: nothing is held when a send completes. */
static inline bool rxpost_account_sent(struct rxpost_account *a, u32 slot)
{
	return rxpost_account_end(a, slot, &a->ledger.completed);
}

/* Lets the ripe slot held longest rest: it will not be posted with its batch. */
static inline bool rxpost_account_rest(struct rxpost_account *a)
{
	if (!rxpost_account_ripe(a))
		return false;
	rxpost_account_push_free(a, rxpost_account_pop_held(a));
	return true;
}

#endif /* _RXPOST_ACCOUNT_H */
