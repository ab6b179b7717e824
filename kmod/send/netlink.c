// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - requests: a run is started, let go, stopped. Called by generic
 * netlink, in parallel; no handler waits for the network.
 */
#include "send.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

#include "gen/rxpost_send-nl.h"
#include "wire.h"

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

static bool rxps_nl_is_timeout(u32 ms)
{
	return ms >= RXPS_TIMEOUT_MIN_MS && ms <= RXPS_TIMEOUT_MAX_MS;
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

static int rxps_nl_parse_op(struct genl_info *info, struct rxps_config *cfg)
{
	struct nlattr *addr = info->attrs[RXPOST_SEND_A_RUN_REMOTE_ADDR];
	struct nlattr *rkey = info->attrs[RXPOST_SEND_A_RUN_RKEY];
	struct netlink_ext_ack *extack = info->extack;

	cfg->op = rxps_op_find(rxps_nl_u32(info, RXPOST_SEND_A_RUN_OPCODE,
					   RXPOST_SEND_OPCODE_SEND));
	if (!cfg->op) {
		NL_SET_ERR_MSG_ATTR(extack,
				    info->attrs[RXPOST_SEND_A_RUN_OPCODE],
				    "opcode: must be 0 to 5 (send to read)");
		return -EINVAL;
	}
	if (addr && !(cfg->op->flags & RXPS_OP_ADDR)) {
		NL_SET_ERR_MSG_ATTR(extack, addr,
				    "remote-addr: only for write, write-imm and read");
		return -EINVAL;
	}
	if (rkey && !(cfg->op->flags & RXPS_OP_RKEY)) {
		NL_SET_ERR_MSG_ATTR(extack, rkey,
				    "rkey: only for send-inv, write, write-imm and read");
		return -EINVAL;
	}
	cfg->remote_addr = rxps_nl_u64(info, RXPOST_SEND_A_RUN_REMOTE_ADDR, 0);
	cfg->rkey = rxps_nl_u32(info, RXPOST_SEND_A_RUN_RKEY, 0);
	return 0;
}

/* Comes after opcode and sizes, which must allow for an answer. */
static int rxps_nl_parse_answers(struct genl_info *info,
				 struct rxps_config *cfg)
{
	struct nlattr *timeout = info->attrs[RXPOST_SEND_A_RUN_ANSWER_TIMEOUT_MS];
	struct nlattr *round_trip = info->attrs[RXPOST_SEND_A_RUN_ROUND_TRIP];
	struct netlink_ext_ack *extack = info->extack;

	cfg->round_trip = nla_get_flag(round_trip);
	cfg->answer_timeout_ms =
		rxps_nl_u32(info, RXPOST_SEND_A_RUN_ANSWER_TIMEOUT_MS,
			    RXPS_DEFAULT_TIMEOUT_MS);
	if (!cfg->round_trip && timeout) {
		NL_SET_ERR_MSG_ATTR(extack, timeout,
				    "answer-timeout-ms: only with round-trip");
		return -EINVAL;
	}
	if (!rxps_nl_is_timeout(cfg->answer_timeout_ms)) {
		NL_SET_ERR_MSG_ATTR(extack, timeout,
				    "answer-timeout-ms: must be 10 to 600000");
		return -EINVAL;
	}
	if (!cfg->round_trip)
		return 0;
	if (!(cfg->op->flags & RXPS_OP_SEND)) {
		NL_SET_ERR_MSG_ATTR(extack, round_trip,
				    "round-trip: only for send, send-imm and send-inv");
		return -EINVAL;
	}
	if (cfg->size < sizeof(struct rxpost_wire_hdr)) {
		NL_SET_ERR_MSG_ATTR(extack, round_trip,
				    "round-trip: size must be 32 at least, for a header");
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
	if (!rxps_nl_is_timeout(cfg->connect_timeout_ms)) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    attrs[RXPOST_SEND_A_RUN_CONNECT_TIMEOUT_MS],
				    "connect-timeout-ms: must be 10 to 600000");
		return -EINVAL;
	}
	if (!rxps_nl_is_timeout(cfg->drain_timeout_ms)) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    attrs[RXPOST_SEND_A_RUN_DRAIN_TIMEOUT_MS],
				    "drain-timeout-ms: must be 10 to 600000");
		return -EINVAL;
	}
	return 0;
}

/**
 * rxps_nl_find() - the run that a request names
 * @info: request
 * @type: attribute that has the id
 *
 * Context: process. Return: the run, to be given to rxps_run_put(), or an
 * ERR_PTR() with a sentence.
 */
struct rxps_run *rxps_nl_find(struct genl_info *info, int type)
{
	struct nlattr *id = info->attrs[type];
	struct rxps_run *run;

	if (GENL_REQ_ATTR_CHECK(info, type)) {
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

static int rxps_nl_parse(struct genl_info *info, struct rxps_config *cfg)
{
	cfg->hold = nla_get_flag(info->attrs[RXPOST_SEND_A_RUN_HOLD]);
	return rxps_nl_parse_addr(info, cfg) ?:
	       rxps_nl_parse_op(info, cfg) ?:
	       rxps_nl_parse_sizes(info, cfg) ?:
	       rxps_nl_parse_times(info, cfg) ?:
	       rxps_nl_parse_answers(info, cfg);
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

	ret = rxps_nl_parse(info, &cfg);
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
	struct rxps_run *run = rxps_nl_find(info, RXPOST_SEND_A_RUN_ID);

	if (IS_ERR(run))
		return PTR_ERR(run);
	rxps_run_end(run, 0, "stopped by request");
	rxps_run_put(run);
	return 0;
}

/**
 * rxpost_send_nl_run_go_doit() - let one held run begin, or all of a socket
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno with a sentence.
 */
int rxpost_send_nl_run_go_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *id = info->attrs[RXPOST_SEND_A_RUN_ID];
	struct rxps_run *run;
	int ret = 0;

	if (!id) {
		if (rxps_runs_go(info->snd_portid))
			return 0;
		GENL_SET_ERR_MSG(info, "no run of this socket is held");
		return -EINVAL;
	}

	run = rxps_nl_find(info, RXPOST_SEND_A_RUN_ID);
	if (IS_ERR(run))
		return PTR_ERR(run);
	if (!rxps_run_go(run)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "id: the run is not held");
		ret = -EINVAL;
	}
	rxps_run_put(run);
	return ret;
}
