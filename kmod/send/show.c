// SPDX-License-Identifier: GPL-2.0
/*
 * show.c - what netlink tells of runs: replies, dumps, events, and histograms
 * of round trips. Called by generic netlink, in parallel; rxps_nl_run_event()
 * by a run's thread. Reads what the thread publishes and waits for nothing.
 */
#include "send.h"

#include <linux/in.h>
#include <linux/in6.h>

#include "gen/rxpost_send-nl.h"

#define RXPS_RTT_BUCKETS	64	/* in one answer, which has then 2.3 KB */

static int rxps_nl_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put_u64_64bit(skb, type, value, RXPOST_SEND_A_RUN_PAD);
}

static int rxps_nl_put_dst(struct sk_buff *skb, const struct rxps_config *cfg)
{
	const struct sockaddr_in6 *sin6 = (const void *)&cfg->dst;
	const struct sockaddr_in *sin = (const void *)&cfg->dst;

	if (cfg->dst.ss_family == AF_INET6)
		return nla_put_in6_addr(skb, RXPOST_SEND_A_RUN_ADDR,
					&sin6->sin6_addr) ?:
		       nla_put_be16(skb, RXPOST_SEND_A_RUN_PORT,
				    sin6->sin6_port);
	return nla_put_in_addr(skb, RXPOST_SEND_A_RUN_ADDR,
			       sin->sin_addr.s_addr) ?:
	       nla_put_be16(skb, RXPOST_SEND_A_RUN_PORT, sin->sin_port);
}

/* Where the peer may be written is told to those only who may write there. */
static int rxps_nl_put_op(struct sk_buff *skb, const struct rxps_config *cfg,
			  bool admin)
{
	u32 flags = admin ? cfg->op->flags : 0;

	if (nla_put_u32(skb, RXPOST_SEND_A_RUN_OPCODE,
			rxps_op_number(cfg->op)) ||
	    (flags & RXPS_OP_ADDR &&
	     rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_REMOTE_ADDR,
			     cfg->remote_addr)) ||
	    (flags & RXPS_OP_RKEY &&
	     nla_put_u32(skb, RXPOST_SEND_A_RUN_RKEY, cfg->rkey)))
		return -EMSGSIZE;
	return 0;
}

static int rxps_nl_put_config(struct sk_buff *skb,
			      const struct rxps_config *cfg, bool admin)
{
	if (rxps_nl_put_dst(skb, cfg) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_SIZE, cfg->size) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_COUNT, cfg->count) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_DURATION_MS, cfg->duration_ms) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_BATCH, cfg->batch) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_IN_FLIGHT, cfg->in_flight) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_CONNECT_TIMEOUT_MS,
			cfg->connect_timeout_ms) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_DRAIN_TIMEOUT_MS,
			cfg->drain_timeout_ms) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_RATE, cfg->rate) ||
	    (cfg->hold && nla_put_flag(skb, RXPOST_SEND_A_RUN_HOLD)) ||
	    rxps_nl_put_op(skb, cfg, admin))
		return -EMSGSIZE;
	return 0;
}

static int rxps_nl_put_bucket(struct sk_buff *skb, u32 key, u64 count)
{
	struct nlattr *nest;

	nest = nla_nest_start(skb, RXPOST_SEND_A_RUN_STATUS);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, RXPOST_SEND_A_BUCKET_KEY, key) ||
	    nla_put_u64_64bit(skb, RXPOST_SEND_A_BUCKET_COUNT, count,
			      RXPOST_SEND_A_BUCKET_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static u64 rxps_nl_elapsed(const struct rxps_ledger *ledger, u32 state)
{
	if (!ledger->first_ns)
		return 0;
	if (state != RXPOST_SEND_RUN_STATE_DONE)
		return ktime_get_ns() - ledger->first_ns;
	/* no completion at all: the run ended with its first post */
	return max(ledger->last_ns, ledger->first_ns) - ledger->first_ns;
}

static int rxps_nl_put_ledger(struct sk_buff *skb,
			      const struct rxps_ledger *ledger, u32 state)
{
	u32 i;

	if (rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_POSTED, ledger->posted) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_COMPLETED,
			    ledger->completed) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_FLUSHED, ledger->flushed) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_FAILED, ledger->failed) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_RECLAIMED,
			    ledger->reclaimed) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_OUTSTANDING,
			rxps_ledger_outstanding(ledger)) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_BYTES, ledger->bytes) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_POST_CALLS,
			    ledger->post_calls) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_ELAPSED_NS,
			    rxps_nl_elapsed(ledger, state)))
		return -EMSGSIZE;

	for (i = 0; i < RXPS_WC_STATUSES; i++)
		if (ledger->status[i] &&
		    rxps_nl_put_bucket(skb, i, ledger->status[i]))
			return -EMSGSIZE;
	return 0;
}

static int rxps_nl_put_receives(struct sk_buff *skb,
				const struct rxpost_ledger *ledger)
{
	const int pad = RXPOST_SEND_A_LEDGER_PAD;
	struct nlattr *nest;

	nest = nla_nest_start(skb, RXPOST_SEND_A_RUN_RECEIVES);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, RXPOST_SEND_A_LEDGER_POSTED,
			      ledger->posted, pad) ||
	    nla_put_u64_64bit(skb, RXPOST_SEND_A_LEDGER_COMPLETED,
			      ledger->completed, pad) ||
	    nla_put_u64_64bit(skb, RXPOST_SEND_A_LEDGER_FLUSHED,
			      ledger->flushed, pad) ||
	    nla_put_u64_64bit(skb, RXPOST_SEND_A_LEDGER_FAILED,
			      ledger->failed, pad) ||
	    nla_put_u64_64bit(skb, RXPOST_SEND_A_LEDGER_RECLAIMED,
			      ledger->reclaimed, pad) ||
	    nla_put_u32(skb, RXPOST_SEND_A_LEDGER_OUTSTANDING,
			ledger->outstanding) ||
	    nla_put_u32(skb, RXPOST_SEND_A_LEDGER_HELD, ledger->held) ||
	    nla_put_u32(skb, RXPOST_SEND_A_LEDGER_FREE, ledger->free) ||
	    nla_put_u32(skb, RXPOST_SEND_A_LEDGER_SLOTS, ledger->slots)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int rxps_nl_put_answers(struct sk_buff *skb,
			       const struct rxps_config *cfg,
			       const struct rxps_ledger *ledger)
{
	if (!cfg->round_trip)
		return 0;
	if (nla_put_flag(skb, RXPOST_SEND_A_RUN_ROUND_TRIP) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_ANSWER_TIMEOUT_MS,
			cfg->answer_timeout_ms) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_ANSWERS, ledger->answers) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_UNANSWERED,
			    rxps_unanswered(ledger)) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_UNMATCHED,
			    ledger->unmatched) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_DAMAGED, ledger->damaged) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_FOREIGN, ledger->foreign) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_RTT_MIN_NS,
			    ledger->rtt_min) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_RTT_MAX_NS,
			    ledger->rtt_max) ||
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_RTT_SUM_NS,
			    ledger->rtt_sum))
		return -EMSGSIZE;
	return rxps_nl_put_receives(skb, &ledger->receives);
}

/* Everything under the run's lock, so that state and reason fit together. */
static int rxps_nl_put_state(struct sk_buff *skb, struct rxps_run *run,
			     u32 *state)
{
	int ret = 0;

	spin_lock_irq(&run->lock);
	*state = run->state;
	if (nla_put_u32(skb, RXPOST_SEND_A_RUN_ID, run->id) ||
	    nla_put_u32(skb, RXPOST_SEND_A_RUN_STATE, run->state) ||
	    (*run->devname &&
	     nla_put_string(skb, RXPOST_SEND_A_RUN_DEVICE, run->devname)) ||
	    (run->qpn && nla_put_u32(skb, RXPOST_SEND_A_RUN_QPN, run->qpn)) ||
	    (run->error &&
	     nla_put_u32(skb, RXPOST_SEND_A_RUN_ERROR, run->error)) ||
	    (*run->reason &&
	     nla_put_string(skb, RXPOST_SEND_A_RUN_REASON, run->reason)) ||
	    (run->state != RXPOST_SEND_RUN_STATE_DONE &&
	     nla_put_u32(skb, RXPOST_SEND_A_RUN_PID, task_pid_nr(run->task))))
		ret = -EMSGSIZE;
	spin_unlock_irq(&run->lock);
	return ret;
}

static int rxps_nl_put_run(struct sk_buff *skb, struct rxps_run *run,
			   u32 portid, u32 seq, int flags, u8 cmd, bool admin)
{
	struct rxps_ledger ledger;
	u32 state;
	void *hdr;

	hdr = genlmsg_put(skb, portid, seq, &rxpost_send_family, flags, cmd);
	if (!hdr)
		return -EMSGSIZE;

	if (rxps_nl_put_state(skb, run, &state))
		goto cancel;
	rxps_ledger_read(run, &ledger);
	if (rxps_nl_put_config(skb, &run->cfg, admin) ||
	    rxps_nl_put_ledger(skb, &ledger, state) ||
	    rxps_nl_put_answers(skb, &run->cfg, &ledger))
		goto cancel;
	genlmsg_end(skb, hdr);
	return 0;

cancel:
	genlmsg_cancel(skb, hdr);
	return -EMSGSIZE;
}

/**
 * rxpost_send_nl_run_get_doit() - show one run
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno with a sentence.
 */
int rxpost_send_nl_run_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rxps_run *run = rxps_nl_find(info, RXPOST_SEND_A_RUN_ID);
	struct sk_buff *reply;
	int ret;

	if (IS_ERR(run))
		return PTR_ERR(run);

	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply) {
		ret = -ENOMEM;
		goto put_run;
	}
	ret = rxps_nl_put_run(reply, run, info->snd_portid, info->snd_seq, 0,
			      RXPOST_SEND_CMD_RUN_GET,
			      netlink_capable(skb, CAP_NET_ADMIN));
	if (ret)
		nlmsg_free(reply);
	else
		ret = genlmsg_reply(reply, info);
put_run:
	rxps_run_put(run);
	return ret;
}

/**
 * rxpost_send_nl_run_get_dumpit() - show all runs, in the order of their ids
 * @skb: answer to fill
 * @cb: dump; args[0] is the last id shown
 *
 * Context: process. Return: bytes in @skb, 0 at the end, or a negative errno.
 */
int rxpost_send_nl_run_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	struct rxps_run *run;
	int ret = 0;

	while (!ret && (run = rxps_run_get_next(cb->args[0] + 1))) {
		ret = rxps_nl_put_run(skb, run, NETLINK_CB(cb->skb).portid,
				      cb->nlh->nlmsg_seq, NLM_F_MULTI,
				      RXPOST_SEND_CMD_RUN_GET,
				      netlink_capable(cb->skb, CAP_NET_ADMIN));
		if (!ret)
			cb->args[0] = run->id;
		rxps_run_put(run);
	}
	return skb->len ?: ret;
}

/**
 * rxps_nl_run_event() - tell the events group how a run is
 * @run: run
 * @cmd: RXPOST_SEND_CMD_RUN_READY or RXPOST_SEND_CMD_RUN_DONE
 *
 * Context: the run's thread. An event that finds no memory is lost; the state
 * can be asked for.
 */
void rxps_nl_run_event(struct rxps_run *run, u8 cmd)
{
	struct sk_buff *skb;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	if (rxps_nl_put_run(skb, run, 0, 0, 0, cmd, false)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_multicast(&rxpost_send_family, skb, 0,
			  RXPOST_SEND_NLGRP_EVENTS, GFP_KERNEL);
}

static int rxps_nl_put_rtt_bucket(struct sk_buff *skb,
				  const struct rxpost_histogram *rtt, u32 index)
{
	struct nlattr *nest;

	nest = nla_nest_start(skb, RXPOST_SEND_A_RTT_BUCKET);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, RXPOST_SEND_A_RTT_BUCKET_FROM_NS,
			      rxpost_histogram_from(index),
			      RXPOST_SEND_A_RTT_BUCKET_PAD) ||
	    nla_put_u64_64bit(skb, RXPOST_SEND_A_RTT_BUCKET_COUNT,
			      READ_ONCE(rtt->count[index]),
			      RXPOST_SEND_A_RTT_BUCKET_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* As many buckets as an answer may have, and where the rest begins. */
static int rxps_nl_put_rtt(struct sk_buff *skb,
			   const struct rxpost_histogram *rtt, u64 from)
{
	u32 index = rxpost_histogram_index(from);
	u32 nr = 0;

	if (rxpost_histogram_from(index) < from)
		index++;
	while ((index = rxpost_histogram_next(rtt, index)) <
	       RXPOST_HISTOGRAM_BUCKETS) {
		if (nr++ == RXPS_RTT_BUCKETS)
			return nla_put_u64_64bit(skb,
						 RXPOST_SEND_A_RTT_NEXT_NS,
						 rxpost_histogram_from(index),
						 RXPOST_SEND_A_RTT_PAD);
		if (rxps_nl_put_rtt_bucket(skb, rtt, index++))
			return -EMSGSIZE;
	}
	return 0;
}

static int rxps_nl_reply_rtt(struct genl_info *info, struct rxps_run *run)
{
	struct nlattr *from = info->attrs[RXPOST_SEND_A_RTT_FROM_NS];
	struct sk_buff *reply;
	void *hdr;

	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put_reply(reply, info, &rxpost_send_family, 0,
				RXPOST_SEND_CMD_RTT_GET);
	if (!hdr || nla_put_u32(reply, RXPOST_SEND_A_RTT_ID, run->id) ||
	    rxps_nl_put_rtt(reply, run->rtt, from ? nla_get_u64(from) : 0)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

/**
 * rxpost_send_nl_rtt_get_doit() - round trips of a run, by time
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno with a sentence.
 */
int rxpost_send_nl_rtt_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rxps_run *run = rxps_nl_find(info, RXPOST_SEND_A_RTT_ID);
	int ret;

	if (IS_ERR(run))
		return PTR_ERR(run);
	if (run->rtt) {
		ret = rxps_nl_reply_rtt(info, run);
	} else {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[RXPOST_SEND_A_RTT_ID],
				    "id: the run has no round trips");
		ret = -EINVAL;
	}
	rxps_run_put(run);
	return ret;
}
