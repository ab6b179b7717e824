// SPDX-License-Identifier: GPL-2.0
/*
 * repost.c - when and how many of a connection's slots are posted.
 *
 * A completed slot, once its sink is done with it, is held until a batch of them
 * is there, because a call of ib_post_recv() costs more than the receives in
 * it. It is held only so long: receives are posted at once when few are
 * outstanding (low-water), and when the oldest has waited batch-timeout-us.
 * What a driver refused is offered again after RXPOST_RETRY_NS, never in a tight
 * loop.
 *
 * Called by poll.c, on the poller's thread, for connections that something
 * happened to. Times wait in two lists, each sorted because every entry waits
 * equally long from the moment it is appended: nothing looks at all connections.
 */
#include "rxpost.h"

/* The most receives that may be outstanding just now. */
static u32 ceiling(const struct rxpost_conn *conn)
{
	u32 depth = READ_ONCE(conn->rcv->cfg.depth);

	/* What was refused at this level a moment ago is so now. */
	if (unlikely(!list_empty(&conn->retry_node)))
		return min(depth, conn->capacity);
	return depth;
}

static void rest_all(struct rxpost_conn *conn)
{
	struct rxpost_queue *q = &conn->queue;

	q->counters.post_skipped += q->account.ledger.held;
	/* The sink can do nothing for them any more. */
	rxpost_account_ripen(&q->account, q->account.unripe);
	while (rxpost_account_rest(&q->account))
		;
}

/* Held slots for which there is no room since the depth was lowered. */
static void rest_surplus(struct rxpost_queue *q, u32 room)
{
	while (unlikely(rxpost_account_ripe(&q->account) > room))
		rxpost_account_rest(&q->account);
}

static void note_waiting(struct rxpost_poller *p, struct rxpost_conn *conn,
			 bool posted)
{
	if (!rxpost_account_ripe(&conn->queue.account)) {
		list_del_init(&conn->waiting_node);
		return;
	}
	/* What is left after a post is younger than what went. */
	if (posted || list_empty(&conn->waiting_node)) {
		conn->held_since_ns = p->now_ns;
		list_move_tail(&conn->waiting_node, &p->waiting);
	}
}

static void note_refused(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	conn->capacity = conn->queue.account.ledger.outstanding;
	conn->refused_ns = p->now_ns;
	list_move_tail(&conn->retry_node, &p->retry);
}

/* Posts @n receives in batches; false when the device refused some. */
static bool post_batches(struct rxpost_poller *p, struct rxpost_conn *conn,
			 u32 n, u32 batch)
{
	while (n) {
		u32 chain = min(n, batch);

		if (rxpost_post(&conn->queue, &p->hist, chain) < chain)
			return false;
		n -= chain;
	}
	return true;
}

/* It is reached at each turn of a queue that is short for its traffic. */
static void tell_low(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	if (p->now_ns - p->low_told_ns < RXPOST_LOW_TELL_NS)
		return;
	p->low_told_ns = p->now_ns;
	rxpost_event(RXPOST_EVENT_TYPE_LOW_WATER, conn->rcv, conn,
		     "%u receives left, low water is %u",
		     conn->queue.account.ledger.outstanding,
		     READ_ONCE(conn->rcv->cfg.low_water));
}

/**
 * rxpost_repost() - post what is due on a connection
 * @p: the poller that owns it
 * @conn: the connection
 *
 * Context: poller thread; does not sleep.
 */
void rxpost_repost(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	const struct rxpost_config *cfg = &conn->rcv->cfg;
	const struct rxpost_ledger *l = &conn->queue.account.ledger;
	u32 batch = READ_ONCE(cfg->batch);
	u32 top, room, n;
	bool all, low;

	if (unlikely(rxpost_no_post(conn))) {
		rest_all(conn);
		list_del_init(&conn->waiting_node);
		list_del_init(&conn->retry_node);
		return;
	}

	top = ceiling(conn);
	room = top > l->outstanding ? top - l->outstanding : 0;
	rest_surplus(&conn->queue, room);
	n = min(room, rxpost_account_ripe(&conn->queue.account) + l->free);
	low = l->outstanding <= READ_ONCE(cfg->low_water);
	if (low && !conn->due)
		tell_low(p, conn);
	all = low || conn->due || !READ_ONCE(cfg->batch_timeout_us);
	conn->due = false;
	if (!all)
		n -= n % batch;
	if (n && !post_batches(p, conn, n, batch))
		note_refused(p, conn);
	note_waiting(p, conn, n);
}

static u64 waiting_until(const struct rxpost_conn *conn)
{
	u64 us = READ_ONCE(conn->rcv->cfg.batch_timeout_us);

	return conn->held_since_ns + us * NSEC_PER_USEC;
}

/**
 * rxpost_repost_due() - post on connections whose time has come
 * @p: the poller; its now_ns is fresh
 *
 * Context: poller thread; does not sleep. Return: whether there were any.
 */
bool rxpost_repost_due(struct rxpost_poller *p)
{
	struct rxpost_conn *conn, *next;
	bool any = false;

	list_for_each_entry_safe(conn, next, &p->waiting, waiting_node) {
		if (waiting_until(conn) > p->now_ns)
			break;
		conn->due = true;
		rxpost_repost(p, conn);
		rxpost_publish(conn);
		any = true;
	}
	list_for_each_entry_safe(conn, next, &p->retry, retry_node) {
		if (conn->refused_ns + RXPOST_RETRY_NS > p->now_ns)
			break;
		list_del_init(&conn->retry_node);
		conn->due = true;
		rxpost_repost(p, conn);
		rxpost_publish(conn);
		any = true;
	}
	return any;
}

/**
 * rxpost_repost_deadline() - when rxpost_repost_due() will have work next
 * @p: the poller
 *
 * Context: poller thread. Return: in ktime_get_ns() time, U64_MAX for never.
 */
u64 rxpost_repost_deadline(struct rxpost_poller *p)
{
	struct rxpost_conn *conn;
	u64 when = U64_MAX;

	conn = list_first_entry_or_null(&p->waiting, struct rxpost_conn,
					waiting_node);
	if (conn)
		when = waiting_until(conn);
	conn = list_first_entry_or_null(&p->retry, struct rxpost_conn,
					retry_node);
	if (conn)
		when = min_t(u64, when, conn->refused_ns + RXPOST_RETRY_NS);
	return when;
}

/**
 * rxpost_repost_forget() - take a connection off the poller's lists
 * @conn: the connection, about to be detached
 *
 * Context: poller thread.
 */
void rxpost_repost_forget(struct rxpost_conn *conn)
{
	rest_all(conn);
	list_del_init(&conn->waiting_node);
	list_del_init(&conn->retry_node);
}
