// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - attributes to a run's config, answers, dumps and events. Called
 * by generic netlink, in parallel; no handler waits for the network.
 */
#include "send.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

#include "gen/rxpost_send-nl.h"

#define RXPS_DEFAULT_SIZE		64
#define RXPS_DEFAULT_BATCH		16U
#define RXPS_DEFAULT_IN_FLIGHT		128
#define RXPS_DEFAULT_TIMEOUT_MS		5000

static int rxps_nl_parse_ipv4(const struct nlattr *attr, __be16 port,
			      struct rxps_config *cfg,
			      struct netlink_ext_ack *extack)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&cfg->dst;

	sin->sin_family = AF_INET;
	sin->sin_port = port;
	sin->sin_addr.s_addr = nla_get_in_addr(attr);
	if (ipv4_is_zeronet(sin->sin_addr.s_addr) ||
	    ipv4_is_multicast(sin->sin_addr.s_addr) ||
	    ipv4_is_lbcast(sin->sin_addr.s_addr)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "addr: must be the address of one host");
		return -EINVAL;
	}
	return 0;
}

static int rxps_nl_parse_ipv6(const struct nlattr *attr, __be16 port,
			      struct rxps_config *cfg,
			      struct netlink_ext_ack *extack)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&cfg->dst;

	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = port;
	sin6->sin6_addr = nla_get_in6_addr(attr);
	if (ipv6_addr_any(&sin6->sin6_addr) ||
	    ipv6_addr_is_multicast(&sin6->sin6_addr)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "addr: must be the address of one host");
		return -EINVAL;
	}
	if (ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "addr: a link-local address cannot be used");
		return -EINVAL;
	}
	return 0;
}

static int rxps_nl_parse_addr(struct genl_info *info, struct rxps_config *cfg)
{
	struct nlattr *addr = info->attrs[RXPOST_SEND_A_RUN_ADDR];
	struct nlattr *port = info->attrs[RXPOST_SEND_A_RUN_PORT];

	if (GENL_REQ_ATTR_CHECK(info, RXPOST_SEND_A_RUN_ADDR)) {
		GENL_SET_ERR_MSG(info, "addr: an address to connect to is needed");
		return -EINVAL;
	}
	if (GENL_REQ_ATTR_CHECK(info, RXPOST_SEND_A_RUN_PORT)) {
		GENL_SET_ERR_MSG(info, "port: a port to connect to is needed");
		return -EINVAL;
	}
	if (!nla_get_be16(port)) {
		NL_SET_ERR_MSG_ATTR(info->extack, port, "port: must not be 0");
		return -EINVAL;
	}

	switch (nla_len(addr)) {
	case sizeof(struct in_addr):
		return rxps_nl_parse_ipv4(addr, nla_get_be16(port), cfg,
					  info->extack);
	case sizeof(struct in6_addr):
		return rxps_nl_parse_ipv6(addr, nla_get_be16(port), cfg,
					  info->extack);
	}
	NL_SET_ERR_MSG_ATTR(info->extack, addr, "addr: must have 4 or 16 bytes");
	return -EINVAL;
}

static u32 rxps_nl_u32(const struct genl_info *info, int type, u32 otherwise)
{
	return info->attrs[type] ? nla_get_u32(info->attrs[type]) : otherwise;
}

static u64 rxps_nl_u64(const struct genl_info *info, int type, u64 otherwise)
{
	return info->attrs[type] ? nla_get_u64(info->attrs[type]) : otherwise;
}

static int rxps_nl_parse_sizes(struct genl_info *info, struct rxps_config *cfg)
{
	struct netlink_ext_ack *extack = info->extack;
	struct nlattr **attrs = info->attrs;

	cfg->size = rxps_nl_u32(info, RXPOST_SEND_A_RUN_SIZE,
				RXPS_DEFAULT_SIZE);
	cfg->in_flight = rxps_nl_u32(info, RXPOST_SEND_A_RUN_IN_FLIGHT,
				     RXPS_DEFAULT_IN_FLIGHT);
	cfg->batch = rxps_nl_u32(info, RXPOST_SEND_A_RUN_BATCH,
				 min(RXPS_DEFAULT_BATCH, cfg->in_flight));

	if (cfg->size > RXPS_SIZE_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[RXPOST_SEND_A_RUN_SIZE],
				    "size: a message has at most 1 MiB");
		return -EINVAL;
	}
	if (!cfg->in_flight || cfg->in_flight > RXPS_IN_FLIGHT_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[RXPOST_SEND_A_RUN_IN_FLIGHT],
				    "in-flight: must be 1 to 4096");
		return -EINVAL;
	}
	if (!cfg->batch || cfg->batch > RXPS_BATCH_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[RXPOST_SEND_A_RUN_BATCH],
				    "batch: must be 1 to 64");
		return -EINVAL;
	}
	if (cfg->batch > cfg->in_flight) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[RXPOST_SEND_A_RUN_BATCH],
				    "batch: must not exceed in-flight");
		return -EINVAL;
	}
	if ((u64)cfg->size * cfg->in_flight > RXPS_MEMORY_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[RXPOST_SEND_A_RUN_SIZE],
				    "size: size times in-flight must not exceed 256 MiB");
		return -EINVAL;
	}
	return 0;
}

static int rxps_nl_parse_times(struct genl_info *info, struct rxps_config *cfg)
{
	struct nlattr **attrs = info->attrs;

	cfg->count = rxps_nl_u64(info, RXPOST_SEND_A_RUN_COUNT, 0);
	cfg->rate = rxps_nl_u64(info, RXPOST_SEND_A_RUN_RATE, 0);
	cfg->duration_ms = rxps_nl_u32(info, RXPOST_SEND_A_RUN_DURATION_MS, 0);
	cfg->connect_timeout_ms =
		rxps_nl_u32(info, RXPOST_SEND_A_RUN_CONNECT_TIMEOUT_MS,
			    RXPS_DEFAULT_TIMEOUT_MS);
	cfg->drain_timeout_ms =
		rxps_nl_u32(info, RXPOST_SEND_A_RUN_DRAIN_TIMEOUT_MS,
			    RXPS_DEFAULT_TIMEOUT_MS);

	if (cfg->rate > RXPS_RATE_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[RXPOST_SEND_A_RUN_RATE],
				    "rate: at most 1000000000 messages a second");
		return -EINVAL;
	}
	if (cfg->connect_timeout_ms < RXPS_TIMEOUT_MIN_MS ||
	    cfg->connect_timeout_ms > RXPS_TIMEOUT_MAX_MS) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    attrs[RXPOST_SEND_A_RUN_CONNECT_TIMEOUT_MS],
				    "connect-timeout-ms: must be 10 to 600000");
		return -EINVAL;
	}
	if (cfg->drain_timeout_ms < RXPS_TIMEOUT_MIN_MS ||
	    cfg->drain_timeout_ms > RXPS_TIMEOUT_MAX_MS) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    attrs[RXPOST_SEND_A_RUN_DRAIN_TIMEOUT_MS],
				    "drain-timeout-ms: must be 10 to 600000");
		return -EINVAL;
	}
	return 0;
}

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

static int rxps_nl_put_config(struct sk_buff *skb,
			      const struct rxps_config *cfg)
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
	    rxps_nl_put_u64(skb, RXPOST_SEND_A_RUN_RATE, cfg->rate))
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
	     nla_put_string(skb, RXPOST_SEND_A_RUN_REASON, run->reason)))
		ret = -EMSGSIZE;
	spin_unlock_irq(&run->lock);
	return ret;
}

static int rxps_nl_put_run(struct sk_buff *skb, struct rxps_run *run,
			   u32 portid, u32 seq, int flags, u8 cmd)
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
	if (rxps_nl_put_config(skb, &run->cfg) ||
	    rxps_nl_put_ledger(skb, &ledger, state))
		goto cancel;
	genlmsg_end(skb, hdr);
	return 0;

cancel:
	genlmsg_cancel(skb, hdr);
	return -EMSGSIZE;
}

static struct rxps_run *rxps_nl_find(struct genl_info *info)
{
	struct nlattr *id = info->attrs[RXPOST_SEND_A_RUN_ID];
	struct rxps_run *run;

	if (GENL_REQ_ATTR_CHECK(info, RXPOST_SEND_A_RUN_ID)) {
		GENL_SET_ERR_MSG(info, "id: the id of a run is needed");
		return ERR_PTR(-EINVAL);
	}
	run = rxps_run_get(nla_get_u32(id));
	if (!run) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "id: no such run");
		return ERR_PTR(-ENOENT);
	}
	return run;
}

/**
 * rxpost_send_nl_run_new_doit() - start a run and answer with its id
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno with a sentence.
 */
int rxpost_send_nl_run_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rxps_config cfg = {};
	struct sk_buff *reply;
	void *hdr;
	u32 id;
	int ret;

	ret = rxps_nl_parse_addr(info, &cfg);
	if (!ret)
		ret = rxps_nl_parse_sizes(info, &cfg);
	if (!ret)
		ret = rxps_nl_parse_times(info, &cfg);
	if (ret)
		return ret;

	/* an answer that can be given is made sure of before the run starts */
	reply = genlmsg_new(nla_total_size(sizeof(id)), GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put_reply(reply, info, &rxpost_send_family, 0,
				RXPOST_SEND_CMD_RUN_NEW);
	if (!hdr) {
		ret = -EMSGSIZE;
		goto free_reply;
	}

	ret = rxps_run_new(&cfg, info->snd_portid, &id, info->extack);
	if (ret)
		goto free_reply;
	nla_put_u32(reply, RXPOST_SEND_A_RUN_ID, id);
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);

free_reply:
	nlmsg_free(reply);
	return ret;
}

/**
 * rxpost_send_nl_run_stop_doit() - ask a run to end
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno with a sentence.
 */
int rxpost_send_nl_run_stop_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rxps_run *run = rxps_nl_find(info);

	if (IS_ERR(run))
		return PTR_ERR(run);
	rxps_run_end(run, 0, "stopped by request");
	rxps_run_put(run);
	return 0;
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
	struct rxps_run *run = rxps_nl_find(info);
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
			      RXPOST_SEND_CMD_RUN_GET);
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
				      RXPOST_SEND_CMD_RUN_GET);
		if (!ret)
			cb->args[0] = run->id;
		rxps_run_put(run);
	}
	return skb->len ?: ret;
}

/**
 * rxps_nl_run_done() - tell the events group that a run is done
 * @run: run, in its final state
 *
 * Context: the run's thread. An event that finds no memory is lost; the state
 * can be asked for.
 */
void rxps_nl_run_done(struct rxps_run *run)
{
	struct sk_buff *skb;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	if (rxps_nl_put_run(skb, run, 0, 0, 0, RXPOST_SEND_CMD_RUN_DONE)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_multicast(&rxpost_send_family, skb, 0,
			  RXPOST_SEND_NLGRP_EVENTS, GFP_KERNEL);
}
