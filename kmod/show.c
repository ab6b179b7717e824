// SPDX-License-Identifier: GPL-2.0
/*
 * show.c - objects as netlink attributes.
 *
 * One function an object; each returns 0 or -EMSGSIZE and leaves trimming to
 * the caller. No locks of its own. Called by netlink.c and event.c.
 */
#include <net/netlink.h>

#include "rxpost.h"

/**
 * rxpost_put_ledger() - a ledger as a nest
 * @skb: message
 * @attr: the nest's attribute
 * @ledger: what to put
 *
 * Context: any. Return: 0 or -EMSGSIZE.
 */
int rxpost_put_ledger(struct sk_buff *skb, int attr,
		      const struct rxpost_ledger *ledger)
{
	struct nlattr *nest = nla_nest_start(skb, attr);
	const int pad = RXPOST_A_LEDGER_PAD;

	if (!nest ||
	    nla_put_u64_64bit(skb, RXPOST_A_LEDGER_POSTED, ledger->posted,
			      pad) ||
	    nla_put_u64_64bit(skb, RXPOST_A_LEDGER_COMPLETED,
			      ledger->completed, pad) ||
	    nla_put_u64_64bit(skb, RXPOST_A_LEDGER_FLUSHED, ledger->flushed,
			      pad) ||
	    nla_put_u64_64bit(skb, RXPOST_A_LEDGER_FAILED, ledger->failed,
			      pad) ||
	    nla_put_u64_64bit(skb, RXPOST_A_LEDGER_RECLAIMED,
			      ledger->reclaimed, pad) ||
	    nla_put_u32(skb, RXPOST_A_LEDGER_OUTSTANDING,
			ledger->outstanding) ||
	    nla_put_u32(skb, RXPOST_A_LEDGER_HELD, ledger->held) ||
	    nla_put_u32(skb, RXPOST_A_LEDGER_FREE, ledger->free) ||
	    nla_put_u32(skb, RXPOST_A_LEDGER_SLOTS, ledger->slots))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * rxpost_put_addr() - an address and its port
 * @skb: message
 * @addr_attr: attribute of the address
 * @port_attr: attribute of the port
 * @ss: what to put, IPv4 or IPv6
 *
 * Context: any. Return: 0 or -EMSGSIZE.
 */
int rxpost_put_addr(struct sk_buff *skb, int addr_attr, int port_attr,
		    const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET6)
		return nla_put(skb, addr_attr, sizeof(in6->sin6_addr),
			       &in6->sin6_addr) ?:
		       nla_put_be16(skb, port_attr, in6->sin6_port);
	return nla_put(skb, addr_attr, sizeof(in->sin_addr), &in->sin_addr) ?:
	       nla_put_be16(skb, port_attr, in->sin_port);
}

struct count {
	int attr;
	u64 value;
};

static int put_counts(struct sk_buff *skb, const struct count *counts,
		      size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (nla_put_u64_64bit(skb, counts[i].attr, counts[i].value,
				      RXPOST_A_COUNTERS_PAD))
			return -EMSGSIZE;
	}
	return 0;
}

static int put_queue_counts(struct sk_buff *skb,
			    const struct rxpost_counters *c)
{
	const struct count counts[] = {
		{ RXPOST_A_COUNTERS_MESSAGES, c->messages },
		{ RXPOST_A_COUNTERS_BYTES, c->bytes },
		{ RXPOST_A_COUNTERS_IMM, c->imm },
		{ RXPOST_A_COUNTERS_WRITE_IMM, c->write_imm },
		{ RXPOST_A_COUNTERS_POST_CALLS, c->post_calls },
		{ RXPOST_A_COUNTERS_POST_WRS, c->post_wrs },
		{ RXPOST_A_COUNTERS_REFUSED_CALLS, c->refused_calls },
		{ RXPOST_A_COUNTERS_REFUSED_WRS, c->refused_wrs },
		{ RXPOST_A_COUNTERS_POST_SKIPPED, c->post_skipped },
		{ RXPOST_A_COUNTERS_EMPTY, c->empty },
		{ RXPOST_A_COUNTERS_VERIFIED, c->verified },
		{ RXPOST_A_COUNTERS_GAPS, c->gaps },
		{ RXPOST_A_COUNTERS_REPEATS, c->repeats },
		{ RXPOST_A_COUNTERS_DAMAGED, c->damaged },
		{ RXPOST_A_COUNTERS_UNRECOGNISED, c->unrecognised },
	};

	/* Absent while there was no connection to take a lowest of. */
	if (c->lowest != U32_MAX &&
	    nla_put_u32(skb, RXPOST_A_COUNTERS_LOWEST, c->lowest))
		return -EMSGSIZE;
	return put_counts(skb, counts, ARRAY_SIZE(counts));
}

static int put_poller_counts(struct sk_buff *skb, struct rxpost_receiver *rcv,
			     const struct rxpost_turns *turns)
{
	const struct count counts[] = {
		{ RXPOST_A_COUNTERS_STALE, turns->stale },
		{ RXPOST_A_COUNTERS_BOGUS, turns->bogus },
		{ RXPOST_A_COUNTERS_POLLS, turns->polls },
		{ RXPOST_A_COUNTERS_SLEEPS, turns->sleeps },
		{ RXPOST_A_COUNTERS_REJECTED, READ_ONCE(rcv->rejected) },
		{ RXPOST_A_COUNTERS_ACCEPTED, READ_ONCE(rcv->accepted) },
	};

	return put_counts(skb, counts, ARRAY_SIZE(counts));
}

static int put_receiver_counters(struct sk_buff *skb,
				 struct rxpost_receiver *rcv,
				 const struct rxpost_counters *c)
{
	struct nlattr *nest = nla_nest_start(skb, RXPOST_A_RECEIVER_COUNTERS);
	struct rxpost_turns turns;

	rxpost_read_turns(rcv, &turns);
	if (!nest || put_queue_counts(skb, c) ||
	    put_poller_counts(skb, rcv, &turns))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_config(struct sk_buff *skb, const struct rxpost_config *cfg)
{
	const struct { int attr; u32 value; } numbers[] = {
		{ RXPOST_A_RECEIVER_DEPTH, cfg->depth },
		{ RXPOST_A_RECEIVER_DEPTH_MAX, cfg->depth_max },
		{ RXPOST_A_RECEIVER_BATCH, cfg->batch },
		{ RXPOST_A_RECEIVER_BATCH_TIMEOUT_US, cfg->batch_timeout_us },
		{ RXPOST_A_RECEIVER_LOW_WATER, cfg->low_water },
		{ RXPOST_A_RECEIVER_SLOT_SIZE, cfg->slot_size },
		{ RXPOST_A_RECEIVER_MAX_CONNS, cfg->max_conns },
		{ RXPOST_A_RECEIVER_POLLERS, cfg->pollers },
		{ RXPOST_A_RECEIVER_POLL_MODE, cfg->poll_mode },
		{ RXPOST_A_RECEIVER_BUDGET, cfg->budget },
		{ RXPOST_A_RECEIVER_SPIN_US, cfg->spin_us },
		{ RXPOST_A_RECEIVER_SINK, cfg->sink },
		{ RXPOST_A_RECEIVER_DRAIN_TIMEOUT_MS, cfg->drain_timeout_ms },
		{ RXPOST_A_RECEIVER_HOLD_US, cfg->hold_us },
		{ RXPOST_A_RECEIVER_IDLE_TIMEOUT_MS, cfg->idle_timeout_ms },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (nla_put_u32(skb, numbers[i].attr, numbers[i].value))
			return -EMSGSIZE;
	}
	return nla_put_string(skb, RXPOST_A_RECEIVER_NAME, cfg->name) ?:
	       nla_put_string(skb, RXPOST_A_RECEIVER_DEVICE, cfg->device) ?:
	       rxpost_put_addr(skb, RXPOST_A_RECEIVER_ADDR,
			       RXPOST_A_RECEIVER_PORT, &cfg->addr);
}

static int put_u32s(struct sk_buff *skb, int attr, const u32 *values, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (nla_put_u32(skb, attr, values[i]))
			return -EMSGSIZE;
	}
	return 0;
}

static int put_prefix(struct sk_buff *skb, const struct rxpost_prefix *p)
{
	struct nlattr *nest = nla_nest_start(skb, RXPOST_A_RECEIVER_ALLOW);
	int len = p->family == AF_INET ? sizeof(p->in) : sizeof(p->in6);

	if (!nest || nla_put(skb, RXPOST_A_PREFIX_ADDR, len, &p->in6) ||
	    nla_put_u32(skb, RXPOST_A_PREFIX_LEN, p->len))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_lists(struct sk_buff *skb, const struct rxpost_config *cfg)
{
	u32 i;

	for (i = 0; i < cfg->nr_allow; i++) {
		if (put_prefix(skb, &cfg->allow[i]))
			return -EMSGSIZE;
	}
	return put_u32s(skb, RXPOST_A_RECEIVER_SEGMENT, cfg->segments,
			cfg->nr_segments) ?:
	       put_u32s(skb, RXPOST_A_RECEIVER_CPU, cfg->cpus, cfg->nr_cpus);
}

static int put_levels(struct sk_buff *skb, struct rxpost_receiver *rcv)
{
	const struct { int attr; u64 value; } sizes[] = {
		{ RXPOST_A_RECEIVER_MEMORY, atomic64_read(&rcv->memory) },
		{ RXPOST_A_RECEIVER_MEMORY_MAX, rcv->reserved },
		{ RXPOST_A_RECEIVER_MAPPINGS, atomic64_read(&rcv->mappings) },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (nla_put_u64_64bit(skb, sizes[i].attr, sizes[i].value,
				      RXPOST_A_RECEIVER_PAD))
			return -EMSGSIZE;
	}
	return nla_put_u32(skb, RXPOST_A_RECEIVER_ID, rcv->id) ?:
	       nla_put_u32(skb, RXPOST_A_RECEIVER_STATE, rcv->state) ?:
	       nla_put_u32(skb, RXPOST_A_RECEIVER_CONNS,
			   READ_ONCE(rcv->nr_conns)) ?:
	       nla_put_u32(skb, RXPOST_A_RECEIVER_CQE, rcv->cqe);
}

/* On iWARP nobody is told to wait. */
static int put_rnr(struct sk_buff *skb, const struct rxpost_receiver *rcv)
{
	if (rxpost_binding_is_iwarp(rcv->binding))
		return 0;
	if (rcv->rnr_effective_us &&
	    nla_put_u32(skb, RXPOST_A_RECEIVER_RNR_EFFECTIVE_US,
			rcv->rnr_effective_us))
		return -EMSGSIZE;
	return nla_put_u32(skb, RXPOST_A_RECEIVER_RNR_TIMER_US,
			   rcv->cfg.rnr_timer_us) ?:
	       nla_put_u32(skb, RXPOST_A_RECEIVER_RNR_RETRY,
			   rcv->cfg.rnr_retry);
}

static int put_threads(struct sk_buff *skb, struct rxpost_receiver *rcv)
{
	const struct rxpost_binding *b = rcv->binding;
	int ret = 0;
	u32 i;

	spin_lock(&rcv->lock);
	for (i = 0; b && i < b->nr_pollers && !ret; i++)
		ret = nla_put_u32(skb, RXPOST_A_RECEIVER_POLLER_PID,
				  task_pid_nr(b->pollers[i]->task));
	spin_unlock(&rcv->lock);
	return ret ?: nla_put_u32(skb, RXPOST_A_RECEIVER_WORKER_PID,
				  rcv->worker_pid);
}

static int put_sends(struct sk_buff *skb, const struct rxpost_receiver *rcv,
		     int attr, const struct rxpost_ledger *sends)
{
	if (rcv->cfg.sink != RXPOST_SINK_ECHO)
		return 0;
	return rxpost_put_ledger(skb, attr, sends);
}

/**
 * rxpost_put_receiver() - a receiver, its books and counters
 * @skb: message
 * @rcv: the receiver
 *
 * Context: process, rxpost_mutex held. Return: 0 or -EMSGSIZE.
 */
int rxpost_put_receiver(struct sk_buff *skb, struct rxpost_receiver *rcv)
{
	struct rxpost_published sum;

	lockdep_assert_held(&rxpost_mutex);
	rxpost_read_receiver(rcv, &sum);
	return put_config(skb, &rcv->cfg) ?:
	       put_lists(skb, &rcv->cfg) ?:
	       put_levels(skb, rcv) ?:
	       put_rnr(skb, rcv) ?:
	       rxpost_put_ledger(skb, RXPOST_A_RECEIVER_LEDGER, &sum.ledger) ?:
	       put_sends(skb, rcv, RXPOST_A_RECEIVER_SENDS, &sum.sends) ?:
	       put_receiver_counters(skb, rcv, &sum.counters) ?:
	       put_threads(skb, rcv);
}

static int put_conn_counters(struct sk_buff *skb,
			     const struct rxpost_counters *c)
{
	struct nlattr *nest = nla_nest_start(skb, RXPOST_A_CONN_COUNTERS);

	if (!nest || put_queue_counts(skb, c))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_ms_since(struct sk_buff *skb, int attr, u64 then_ns)
{
	return nla_put_u64_64bit(skb, attr,
				 div_u64(ktime_get_ns() - then_ns,
					 NSEC_PER_MSEC),
				 RXPOST_A_CONN_PAD);
}

static int put_conn_facts(struct sk_buff *skb, const struct rxpost_conn *conn)
{
	return nla_put_u32(skb, RXPOST_A_CONN_RECEIVER_ID, conn->rcv->id) ?:
	       nla_put_string(skb, RXPOST_A_CONN_RECEIVER_NAME,
			      conn->rcv->cfg.name) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_INDEX, conn->index) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_GENERATION, conn->generation) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_STATE, conn->state) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_QPN, conn->qpn) ?:
	       rxpost_put_addr(skb, RXPOST_A_CONN_PEER_ADDR,
			       RXPOST_A_CONN_PEER_PORT, &conn->peer) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_RQ_ASKED,
			   conn->rcv->cfg.depth_max) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_RQ_GRANTED, conn->rq_granted) ?:
	       nla_put_u32(skb, RXPOST_A_CONN_POLLER, conn->poller->index) ?:
	       put_ms_since(skb, RXPOST_A_CONN_AGE_MS, conn->born_ns);
}

/* Known from the accept on; iWARP has none. */
static int put_rnr_timer(struct sk_buff *skb, const struct rxpost_conn *conn)
{
	if (!READ_ONCE(conn->upkeep_ns) ||
	    rxpost_binding_is_iwarp(conn->poller->binding))
		return 0;
	return nla_put_u32(skb, RXPOST_A_CONN_RNR_TIMER_US,
			   rxpost_rnr_wait_us(READ_ONCE(conn->rnr_code)));
}

/**
 * rxpost_put_conn() - a connection, its books and counters
 * @skb: message
 * @conn: the connection
 *
 * Context: process, receiver->lock held. Return: 0 or -EMSGSIZE.
 */
int rxpost_put_conn(struct sk_buff *skb, struct rxpost_conn *conn)
{
	struct rxpost_published pub;

	lockdep_assert_held(&conn->rcv->lock);
	rxpost_read_conn(conn, &pub);
	if (put_conn_facts(skb, conn))
		return -EMSGSIZE;
	if (conn->foreign && nla_put_flag(skb, RXPOST_A_CONN_FOREIGN))
		return -EMSGSIZE;
	if (put_rnr_timer(skb, conn))
		return -EMSGSIZE;
	if (pub.last_rx_ns &&
	    put_ms_since(skb, RXPOST_A_CONN_IDLE_MS, pub.last_rx_ns))
		return -EMSGSIZE;
	return rxpost_put_ledger(skb, RXPOST_A_CONN_LEDGER, &pub.ledger) ?:
	       put_sends(skb, conn->rcv, RXPOST_A_CONN_SENDS, &pub.sends) ?:
	       put_conn_counters(skb, &pub.counters);
}

static int put_bucket(struct sk_buff *skb, int attr, u32 key, u64 count)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || nla_put_u32(skb, RXPOST_A_BUCKET_KEY, key) ||
	    nla_put_u64_64bit(skb, RXPOST_A_BUCKET_COUNT, count,
			      RXPOST_A_BUCKET_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_buckets(struct sk_buff *skb, int attr, const u64 *counts,
		       u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (counts[i] && put_bucket(skb, attr, i, counts[i]))
			return -EMSGSIZE;
	}
	return 0;
}

/**
 * rxpost_put_stats() - histograms of a receiver, empty buckets left out
 * @skb: message
 * @rcv: the receiver
 * @hist: its histograms
 *
 * Context: process. Return: 0 or -EMSGSIZE.
 */
int rxpost_put_stats(struct sk_buff *skb, struct rxpost_receiver *rcv,
		     const struct rxpost_histograms *hist)
{
	return nla_put_u32(skb, RXPOST_A_STATS_RECEIVER_ID, rcv->id) ?:
	       nla_put_string(skb, RXPOST_A_STATS_RECEIVER_NAME,
			      rcv->cfg.name) ?:
	       put_buckets(skb, RXPOST_A_STATS_CHAIN, hist->chain,
			   ARRAY_SIZE(hist->chain)) ?:
	       put_buckets(skb, RXPOST_A_STATS_STATUS, hist->status,
			   ARRAY_SIZE(hist->status)) ?:
	       put_buckets(skb, RXPOST_A_STATS_ERRNO, hist->refused,
			   ARRAY_SIZE(hist->refused));
}
