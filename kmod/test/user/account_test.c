// SPDX-License-Identifier: GPL-2.0
/*
 * account_test.c - account.h against a plain model, in user space.
 *
 * Random sequences of operations, right ones and wrong ones, are done to an
 * account and to a model that is as simple as can be: a list of slots per
 * state. After each operation everything the account says is compared. Built
 * with the address and undefined-behaviour sanitizers; `make test-account`.
 *
 *	account_test [SEED [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../account.h"

#define SLOTS_MAX	70
#define STEPS		4000

/* What is where, by walking lists: nothing in here is clever. */
struct model {
	u32 slots;
	enum rxpost_slot_state state[SLOTS_MAX];
	u32 held[SLOTS_MAX];	/* oldest first */
	u32 nr_held;
	bool unripe[SLOTS_MAX];	/* of @held, the sink is not done with it */
	u64 posted, completed, flushed, failed, reclaimed;
};

static unsigned long seed;

static u32 pick(u32 below)
{
	return (u32)random() % below;
}

static void die(const char *what, u32 step)
{
	fprintf(stderr, "account_test: seed %lu, step %u: %s\n", seed, step,
		what);
	exit(1);
}

static u32 count(const struct model *m, enum rxpost_slot_state state)
{
	u32 i, n = 0;

	for (i = 0; i < m->slots; i++)
		n += m->state[i] == state;
	return n;
}

static void compare_waiting(const struct rxpost_account *a,
			    const struct model *m, u32 step)
{
	u32 i, n = 0;

	for (i = 0; i < m->nr_held; i++) {
		if (m->unripe[i] &&
		    rxpost_account_waiting(a, n++) != m->held[i])
			die("not the slot that waits for the sink", step);
	}
	if (rxpost_account_waiting(a, n) != RXPOST_NO_SLOT)
		die("a slot waits for the sink that does not", step);
	if (rxpost_account_ripe(a) != m->nr_held - n)
		die("ripe slots are counted wrongly", step);
}

static void compare(const struct rxpost_account *a, const struct model *m,
		    u32 step)
{
	const struct rxpost_ledger *l = &a->ledger;
	u32 i, at;

	if (!rxpost_ledger_balanced(l))
		die("the ledger does not balance", step);
	if (l->posted != m->posted || l->completed != m->completed ||
	    l->flushed != m->flushed || l->failed != m->failed ||
	    l->reclaimed != m->reclaimed)
		die("a total is wrong", step);
	if (l->outstanding != count(m, RXPOST_SLOT_POSTED) ||
	    l->held != count(m, RXPOST_SLOT_HELD) ||
	    l->free != count(m, RXPOST_SLOT_FREE))
		die("a level is wrong", step);
	for (i = 0; i < m->slots; i++) {
		if (a->state[i] != m->state[i])
			die("a slot is not where it should be", step);
	}
	for (i = 0; i < l->held; i++) {
		at = (a->held_head + i) % m->slots;
		if (a->held[at] != m->held[i])
			die("held slots are out of order", step);
	}
	compare_waiting(a, m, step);
	for (i = 0; i < l->free; i++) {
		if (m->state[a->free[i]] != RXPOST_SLOT_FREE)
			die("the free stack has a slot that is not free", step);
	}
}

static void drop_oldest(struct model *m)
{
	m->nr_held--;
	memmove(m->held, m->held + 1, m->nr_held * sizeof(m->held[0]));
	memmove(m->unripe, m->unripe + 1, m->nr_held * sizeof(m->unripe[0]));
}

/* The oldest are ripe first. */
static bool any_ripe(const struct model *m)
{
	return m->nr_held && !m->unripe[0];
}

static void do_take(struct rxpost_account *a, struct model *m, u32 step)
{
	u32 slot = rxpost_account_take(a);

	if (slot == RXPOST_NO_SLOT) {
		if (count(m, RXPOST_SLOT_FREE) || any_ripe(m))
			die("no slot, though some could be posted", step);
		return;
	}
	if (slot >= m->slots || m->state[slot] == RXPOST_SLOT_POSTED)
		die("a slot was posted twice", step);
	if (any_ripe(m)) {
		if (slot != m->held[0])
			die("not the slot that was held longest", step);
		drop_oldest(m);
	}
	m->state[slot] = RXPOST_SLOT_POSTED;
	m->posted++;
}

/* Half of the messages are for a sink that takes its time, after each other. */
static void hold(struct rxpost_account *a, struct model *m, u32 slot, u32 step)
{
	bool slow = m->nr_held && m->unripe[m->nr_held - 1] ? true : pick(2);

	m->held[m->nr_held] = slot;
	m->unripe[m->nr_held++] = slow;
	if (slow && !rxpost_account_wait(a))
		die("a message could not wait for its sink", step);
}

static void do_ripen(struct rxpost_account *a, struct model *m, u32 step)
{
	u32 n = pick(4), waiting = 0, i;
	bool right;

	for (i = 0; i < m->nr_held; i++)
		waiting += m->unripe[i];
	right = n <= waiting;
	if (rxpost_account_ripen(a, n) != right)
		die("more ripened than waited", step);
	for (i = 0; right && n && i < m->nr_held; i++) {
		n -= m->unripe[i];
		m->unripe[i] = false;
	}
	/* There is nothing to wait where all do. */
	if (waiting == m->nr_held && !right && rxpost_account_wait(a))
		die("more wait than are held", step);
}

/* Any slot, also one in the wrong state, also one that does not exist. */
static void do_slot(struct rxpost_account *a, struct model *m, u32 op,
		    u32 step)
{
	u32 slot = pick(m->slots + 3);
	bool right = slot < m->slots &&
		     m->state[slot] == RXPOST_SLOT_POSTED;
	enum rxpost_slot_state to = RXPOST_SLOT_FREE;
	bool done;

	switch (op) {
	case 0:
		done = rxpost_account_refuse(a, slot);
		m->posted -= right;
		break;
	case 1:
		done = rxpost_account_flush(a, slot);
		m->flushed += right;
		break;
	case 2:
		done = rxpost_account_fail(a, slot);
		m->failed += right;
		break;
	case 3:
		done = rxpost_account_reclaim(a, slot);
		m->reclaimed += right;
		break;
	case 4:
		done = rxpost_account_sent(a, slot);
		m->completed += right;
		break;
	default:
		done = rxpost_account_complete(a, slot);
		m->completed += right;
		to = RXPOST_SLOT_HELD;
		if (right)
			hold(a, m, slot, step);
		break;
	}
	if (done != right)
		die("right and wrong are told apart wrongly", step);
	if (right)
		m->state[slot] = to;
}

static void do_rest(struct rxpost_account *a, struct model *m, u32 step)
{
	bool any = any_ripe(m);

	if (rxpost_account_rest(a) != any)
		die("rest told wrongly whether there was one", step);
	if (!any)
		return;
	m->state[m->held[0]] = RXPOST_SLOT_FREE;
	drop_oldest(m);
}

static void one_round(void)
{
	struct rxpost_ledger sum = { 0 };
	struct rxpost_account a;
	struct model m = { .slots = 1 + pick(SLOTS_MAX) };
	u8 *state = calloc(m.slots, sizeof(*state));
	u32 *free_slots = calloc(m.slots, sizeof(*free_slots));
	u32 *held = calloc(m.slots, sizeof(*held));
	u32 step;

	/* Of just this size, so that the sanitizer sees a step beyond. */
	rxpost_account_init(&a, m.slots, state, free_slots, held);
	compare(&a, &m, 0);
	for (step = 1; step <= STEPS; step++) {
		u32 op = pick(20);

		if (op < 6)
			do_take(&a, &m, step);
		else if (op < 7)
			do_rest(&a, &m, step);
		else if (op < 10)
			do_ripen(&a, &m, step);
		else
			do_slot(&a, &m, op - 10, step);
		compare(&a, &m, step);
	}
	rxpost_ledger_add(&sum, &a.ledger);
	rxpost_ledger_add(&sum, &a.ledger);
	if (!rxpost_ledger_balanced(&sum) || sum.slots != 2 * m.slots)
		die("a sum of balanced ledgers does not balance", step);
	sum.completed++;
	if (rxpost_ledger_balanced(&sum))
		die("a wrong ledger is taken for balanced", step);
	free(state);
	free(free_slots);
	free(held);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 200;
	unsigned long i;

	seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	for (i = 0; i < rounds; i++, seed++) {
		srandom(seed);
		one_round();
	}
	printf("account_test: %lu rounds of %d steps, last seed %lu: ok\n",
	       rounds, STEPS, seed - 1);
	return 0;
}
