// SPDX-License-Identifier: GPL-2.0
/*
 * sink.c - what is done with a message once it is ours.
 *
 * rxpost_sink() is called by complete.c for each successful completion, after
 * the buffer was synced for the CPU and before its slot can be posted again. A
 * sink that takes its time (echo, or any with hold-us) leaves the slot HELD and
 * unripe; rxpost_sink_settle(), called by poll.c at the end of a turn, is done
 * with as many of those as it can be, oldest first, and notes when to look
 * again. All on the poller's thread. Trusts nothing in the buffer: a stranger
 * may have written it.
 */
#include "rxpost.h"

/* Sequence numbers of one connection arrive in order or something is wrong. */
static void check_sequence(struct rxpost_queue *q, u64 seq)
{
	if (unlikely(seq < q->expect_seq)) {
		q->counters.repeats++;
		return;
	}
	q->counters.gaps += seq - q->expect_seq;
	q->counters.verified++;
	q->expect_seq = seq + 1;
}

static void verify(struct rxpost_conn *conn, struct rxpost_slot *slot, u32 len)
{
	struct rxpost_queue *q = &conn->queue;
	const struct rxpost_wire_hdr *hdr;
	struct rxpost_wire_hdr room;

	if (len < sizeof(*hdr)) {
		q->counters.unrecognised++;
		return;
	}
	hdr = rxpost_slot_head(q, slot, &room, sizeof(room));
	if (unlikely(le32_to_cpu(hdr->magic) != RXPOST_WIRE_MAGIC)) {
		/* From a known sender of that size it is damage. */
		if (conn->foreign)
			q->counters.unrecognised++;
		else
			q->counters.damaged++;
		return;
	}
	if (unlikely(le32_to_cpu(hdr->len) != len ||
		     le32_to_cpu(hdr->sum) != rxpost_slot_sum(q, slot, len))) {
		q->counters.damaged++;
		return;
	}
	check_sequence(q, le64_to_cpu(hdr->seq));
}

/**
 * rxpost_sink() - consume one message
 * @conn: where it came in
 * @slot: its slot
 * @len: bytes in it, not above the slot's size
 *
 * Context: poller thread; does not sleep.
 */
void rxpost_sink(struct rxpost_conn *conn, struct rxpost_slot *slot, u32 len)
{
	if (conn->rcv->cfg.sink == RXPOST_SINK_VERIFY)
		verify(conn, slot, len);
}

/**
 * rxpost_sink_wait() - leave a slot to rxpost_sink_settle()
 * @conn: where its message came in, with a slow sink
 * @slot: the slot, completed last
 * @len: bytes of its message, 0 when there is none
 *
 * Context: poller thread; does not sleep.
 */
void rxpost_sink_wait(struct rxpost_conn *conn, struct rxpost_slot *slot,
		      u32 len)
{
	slot->done_ns = conn->poller->now_ns;
	slot->answer = conn->echo ? min_t(u32, len, RXPOST_ECHO_SIZE) : 0;
	rxpost_account_wait(&conn->queue.account);
}

static struct rxpost_slot *waiting_slot(struct rxpost_conn *conn, u32 nth)
{
	struct rxpost_queue *q = &conn->queue;

	return rxpost_slot(q, rxpost_account_waiting(&q->account, nth));
}

/* When the message that waits longest has been held long enough. */
static u64 held_until(struct rxpost_conn *conn, u32 nth)
{
	u64 us = READ_ONCE(conn->rcv->cfg.hold_us);

	return waiting_slot(conn, nth)->done_ns + us * NSEC_PER_USEC;
}

/* Messages that can be done with now, as far as their time is concerned. */
static u32 count_due(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	u32 most = conn->queue.account.unripe;
	u32 n = 0;

	/*
	 * Each is looked at once but for those that find no room to answer; of
	 * those that want no answer, too, no more than if they did.
	 */
	if (conn->echo)
		most = min(most, conn->echo->account.ledger.free);
	if (!READ_ONCE(conn->rcv->cfg.hold_us))
		return most;
	while (n < most && held_until(conn, n) <= p->now_ns)
		n++;
	return n;
}

/* Is done with up to @n of the messages that waited longest; how many. */
static u32 finish_some(struct rxpost_conn *conn, u32 n)
{
	if (!conn->echo)
		return n;
	return waiting_slot(conn, 0)->answer ? rxpost_echo_post(conn, n) : 1;
}

static void look_again(struct rxpost_poller *p, struct rxpost_conn *conn,
		       u64 when)
{
	rxpost_sink_forget(p, conn);
	conn->sink_node.expires = when;
	timerqueue_add(&p->sinks, &conn->sink_node);
}

/**
 * rxpost_sink_settle() - be done with the messages that can be done with
 * @p: the poller; its now_ns is fresh
 * @conn: one of its connections; some of its slots are unripe
 *
 * Context: poller thread; does not sleep.
 */
void rxpost_sink_settle(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	struct rxpost_account *a = &conn->queue.account;
	u32 due, done = 1;

	/* Nobody can be answered any more; repost.c lets the slots rest. */
	if (unlikely(rxpost_no_post(conn)))
		return;
	for (due = count_due(p, conn); due && done; due -= done) {
		done = finish_some(conn, due);
		rxpost_account_ripen(a, done);
	}
	if (due)	/* the device refused an answer */
		look_again(p, conn, p->now_ns + RXPOST_RETRY_NS);
	else if (a->unripe && (!conn->echo || conn->echo->account.ledger.free))
		/* Without a hold that is over: in the next turn. */
		look_again(p, conn, held_until(conn, 0));
	/* Else no answer is free, and one that completes has it settled anew. */
	rxpost_sink_retune(conn);
}

/**
 * rxpost_sink_retune() - see whether the sink takes its time from now on
 * @conn: the connection
 *
 * Context: poller thread.
 */
void rxpost_sink_retune(struct rxpost_conn *conn)
{
	conn->slow = conn->echo || conn->queue.account.unripe ||
		     READ_ONCE(conn->rcv->cfg.hold_us);
}

/**
 * rxpost_sink_deadline() - when rxpost_sink_due() will have work next
 * @p: the poller
 *
 * Context: poller thread. Return: in ktime_get_ns() time, U64_MAX for never.
 */
u64 rxpost_sink_deadline(struct rxpost_poller *p)
{
	struct timerqueue_node *first = timerqueue_getnext(&p->sinks);

	return first ? (u64)first->expires : U64_MAX;
}

/**
 * rxpost_sink_due() - have connections settled whose time has come
 * @p: the poller; its now_ns is fresh
 * @touched: the turn's list, which they are put on
 *
 * Context: poller thread; does not sleep. Return: whether there were any.
 */
bool rxpost_sink_due(struct rxpost_poller *p, struct rxpost_conn **touched)
{
	bool any = false;

	while (rxpost_sink_deadline(p) <= p->now_ns) {
		struct rxpost_conn *conn;

		conn = container_of(timerqueue_getnext(&p->sinks),
				    struct rxpost_conn, sink_node);
		rxpost_sink_forget(p, conn);
		rxpost_touch(conn, touched);
		any = true;
	}
	return any;
}

/**
 * rxpost_sink_forget() - take a connection off the poller's times
 * @p: the poller
 * @conn: the connection
 *
 * Context: poller thread.
 */
void rxpost_sink_forget(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	if (!RB_EMPTY_NODE(&conn->sink_node.node))
		timerqueue_del(&p->sinks, &conn->sink_node);
}
