// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - figures as others may read them.
 *
 * A poller counts in memory of its own and publishes a copy once a turn;
 * readers (netlink.c, event.c) take that copy whole. Sums over connections are
 * formed here, at reading time, from those that exist and from what ended ones
 * left behind: nothing is added up on the path of a message.
 */
#include <linux/preempt.h>

#include "rxpost.h"

/**
 * rxpost_publish() - let others see the figures of a connection
 * @conn: the connection; the caller owns its queue
 *
 * Context: poller thread, or the worker once detached; does not sleep.
 */
void rxpost_publish(struct rxpost_conn *conn)
{
	struct rxpost_published *p = &conn->published;

	/* A reader spins while the count is odd: do not be preempted then. */
	preempt_disable();
	write_seqcount_begin(&p->seq);
	p->ledger = conn->queue.account.ledger;
	p->counters = conn->queue.counters;
	if (conn->echo)
		p->sends = conn->echo->account.ledger;
	p->last_rx_ns = conn->last_rx_ns;
	write_seqcount_end(&p->seq);
	preempt_enable();
}

/**
 * rxpost_read_conn() - consistent reading of a connection's figures
 * @conn: the connection; the caller keeps it from being freed
 * @out: filled in; its seq is meaningless
 *
 * Context: any.
 */
void rxpost_read_conn(struct rxpost_conn *conn, struct rxpost_published *out)
{
	struct rxpost_published *p = &conn->published;
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&p->seq);
		out->ledger = p->ledger;
		out->counters = p->counters;
		out->sends = p->sends;
		out->last_rx_ns = p->last_rx_ns;
	} while (read_seqcount_retry(&p->seq, seq));
}

static void counters_add(struct rxpost_counters *sum,
			 const struct rxpost_counters *more)
{
	sum->messages += more->messages;
	sum->bytes += more->bytes;
	sum->imm += more->imm;
	sum->write_imm += more->write_imm;
	sum->post_calls += more->post_calls;
	sum->post_wrs += more->post_wrs;
	sum->refused_calls += more->refused_calls;
	sum->refused_wrs += more->refused_wrs;
	sum->post_skipped += more->post_skipped;
	sum->empty += more->empty;
	sum->verified += more->verified;
	sum->gaps += more->gaps;
	sum->repeats += more->repeats;
	sum->damaged += more->damaged;
	sum->unrecognised += more->unrecognised;
	sum->lowest = min(sum->lowest, more->lowest);
}

/* Only totals: the slots no longer exist. */
static void fold_ledger(struct rxpost_ledger *sum,
			const struct rxpost_ledger *ended)
{
	struct rxpost_ledger ledger = *ended;

	ledger.slots = 0;
	ledger.free = 0;
	ledger.held = 0;
	rxpost_ledger_add(sum, &ledger);
}

/**
 * rxpost_fold_conn() - keep the figures of a connection that ends
 * @rcv: its receiver, with its lock held
 * @conn: the connection, its queue freed
 *
 * Context: receiver->lock held.
 */
void rxpost_fold_conn(struct rxpost_receiver *rcv, struct rxpost_conn *conn)
{
	lockdep_assert_held(&rcv->lock);
	fold_ledger(&rcv->past_ledger, &conn->queue.account.ledger);
	if (conn->echo)
		fold_ledger(&rcv->past_sends, &conn->echo->account.ledger);
	counters_add(&rcv->past_counters, &conn->queue.counters);
}

/**
 * rxpost_read_receiver() - sums over all connections, past and present
 * @rcv: the receiver
 * @sum: filled in but for seq; its ledgers are balanced, being sums of balanced
 *	ones; lowest is U32_MAX before the first connection
 *
 * Context: process.
 */
void rxpost_read_receiver(struct rxpost_receiver *rcv,
			  struct rxpost_published *sum)
{
	struct rxpost_published pub;
	u32 i;

	spin_lock(&rcv->lock);
	sum->ledger = rcv->past_ledger;
	sum->counters = rcv->past_counters;
	sum->sends = rcv->past_sends;
	sum->last_rx_ns = 0;
	for (i = 0; i < rcv->cfg.max_conns; i++) {
		if (!rcv->conn_by_index[i])
			continue;
		rxpost_read_conn(rcv->conn_by_index[i], &pub);
		rxpost_ledger_add(&sum->ledger, &pub.ledger);
		rxpost_ledger_add(&sum->sends, &pub.sends);
		counters_add(&sum->counters, &pub.counters);
		sum->last_rx_ns = max(sum->last_rx_ns, pub.last_rx_ns);
	}
	spin_unlock(&rcv->lock);
}

/*
 * Adds a poller's counts to a sum; both are nothing but counters and add as
 * arrays. Their writer may be at work.
 */
static void add_counts(void *sum, const void *more, size_t size)
{
	const u64 *from = more;
	u64 *to = sum;
	size_t i;

	for (i = 0; i < size / sizeof(u64); i++)
		to[i] += READ_ONCE(from[i]);
}

/**
 * rxpost_fold_poller() - keep the figures of a poller that ends
 * @rcv: its receiver
 * @p: the poller, stopped and no longer counted among its binding's
 *
 * Context: receiver->lock held.
 */
void rxpost_fold_poller(struct rxpost_receiver *rcv,
			const struct rxpost_poller *p)
{
	lockdep_assert_held(&rcv->lock);
	add_counts(&rcv->past_hist, &p->hist, sizeof(p->hist));
}

/**
 * rxpost_read_histograms() - histograms of a receiver over all its pollers
 * @rcv: the receiver
 * @out: filled in
 *
 * Context: process, rxpost_mutex held, so that the binding stays.
 */
void rxpost_read_histograms(struct rxpost_receiver *rcv,
			    struct rxpost_histograms *out)
{
	const struct rxpost_binding *b = rcv->binding;
	u32 i;

	lockdep_assert_held(&rxpost_mutex);
	spin_lock(&rcv->lock);
	*out = rcv->past_hist;
	for (i = 0; b && i < b->nr_pollers; i++)
		add_counts(out, &b->pollers[i]->hist, sizeof(*out));
	spin_unlock(&rcv->lock);
}

/**
 * rxpost_read_turns() - plain counts of a receiver over all its pollers
 * @rcv: the receiver
 * @out: filled in
 *
 * Context: process, rxpost_mutex held, so that the binding stays.
 */
void rxpost_read_turns(struct rxpost_receiver *rcv, struct rxpost_turns *out)
{
	const struct rxpost_binding *b = rcv->binding;
	u32 i;

	lockdep_assert_held(&rxpost_mutex);
	spin_lock(&rcv->lock);
	*out = rcv->past_hist.turns;
	for (i = 0; b && i < b->nr_pollers; i++)
		add_counts(out, &b->pollers[i]->hist.turns, sizeof(*out));
	spin_unlock(&rcv->lock);
}
