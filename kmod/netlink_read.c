// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_read.c - requests that change nothing: connections, histograms, the
 * module's totals. The rules of netlink.c hold here too.
 */
#include <linux/slab.h>
#include <net/genetlink.h>

#include "compat.h"
#include "gen/rxpost-nl.h"
#include "rxpost.h"

/* Histograms have up to a few hundred buckets of 28 bytes. */
#define STATS_SIZE	((RXPOST_BATCH_MAX + RXPOST_WC_STATUSES + \
			  RXPOST_ERRNOS + 8) * 32)

static int put_conn_msg(struct sk_buff *skb, u32 portid, u32 seq, int flags,
			struct rxpost_conn *conn)
{
	void *hdr = genlmsg_put(skb, portid, seq, &rxpost_nl_family, flags,
				RXPOST_CMD_CONN_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (rxpost_put_conn(skb, conn)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int reply_conn(struct genl_info *info, struct rxpost_receiver *rcv,
		      u32 index, const struct rxpost_ask *ask)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct rxpost_conn *conn = NULL;
	int ret = -ENOENT;

	if (!skb)
		return -ENOMEM;
	spin_lock(&rcv->lock);
	if (index < rcv->cfg.max_conns)
		conn = rcv->conn_by_index[index];
	if (conn)
		ret = put_conn_msg(skb, info->snd_portid, info->snd_seq, 0,
				   conn);
	spin_unlock(&rcv->lock);
	if (!ret)
		return genlmsg_reply(skb, info);
	nlmsg_free(skb);
	if (!conn)
		rxpost_refuse(ask, ret, RXPOST_A_CONN_INDEX,
			      "receiver %s has no connection %u",
			      rcv->cfg.name, index);
	return ret;
}

/**
 * rxpost_nl_conn_get_doit() - show one connection
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs };
	struct rxpost_receiver *rcv;
	int ret;

	if (!info->attrs[RXPOST_A_CONN_INDEX])
		return rxpost_refuse(&ask, -EINVAL, 0,
				     "say which connection, by index");
	mutex_lock(&rxpost_mutex);
	rcv = rxpost_find_receiver(&ask, RXPOST_A_CONN_RECEIVER_ID,
				   RXPOST_A_CONN_RECEIVER_NAME);
	ret = IS_ERR(rcv) ? PTR_ERR(rcv) :
	      reply_conn(info, rcv,
			 nla_get_u32(info->attrs[RXPOST_A_CONN_INDEX]), &ask);
	mutex_unlock(&rxpost_mutex);
	return ret;
}

/* From index args[1] on; -EMSGSIZE when the rest wants another message. */
static int dump_conns(struct sk_buff *skb, struct netlink_callback *cb,
		      struct rxpost_receiver *rcv)
{
	int ret = 0;

	spin_lock(&rcv->lock);
	for (; cb->args[1] < rcv->cfg.max_conns; cb->args[1]++) {
		struct rxpost_conn *conn = rcv->conn_by_index[cb->args[1]];

		if (!conn)
			continue;
		ret = put_conn_msg(skb, NETLINK_CB(cb->skb).portid,
				   cb->nlh->nlmsg_seq, NLM_F_MULTI, conn);
		if (ret)
			break;
	}
	spin_unlock(&rcv->lock);
	return ret;
}

static int dump_all_conns(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct rxpost_receiver *only)
{
	struct rxpost_receiver *rcv;

	list_for_each_entry(rcv, &rxpost_receivers, node) {
		if (rcv->id < cb->args[0] || (only && rcv != only))
			continue;
		/* The one we stopped at may be gone: begin the next at 0. */
		if (rcv->id != cb->args[0])
			cb->args[1] = 0;
		cb->args[0] = rcv->id;
		if (dump_conns(skb, cb, rcv))
			return -EMSGSIZE;
	}
	return 0;
}

/**
 * rxpost_nl_conn_get_dumpit() - show connections
 * @skb: answer
 * @cb: args[0] is the receiver's id and args[1] the index to go on with
 *
 * Context: process. Return: length of the answer or a negative errno.
 */
int rxpost_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct rxpost_ask ask = { cb->extack, rxpost_dump_attrs(cb) };
	struct rxpost_receiver *only = NULL;
	int ret = 0;

	mutex_lock(&rxpost_mutex);
	if (ask.attrs[RXPOST_A_CONN_RECEIVER_ID] ||
	    ask.attrs[RXPOST_A_CONN_RECEIVER_NAME])
		only = rxpost_find_receiver(&ask, RXPOST_A_CONN_RECEIVER_ID,
					    RXPOST_A_CONN_RECEIVER_NAME);
	if (IS_ERR(only))
		ret = PTR_ERR(only);
	else
		ret = dump_all_conns(skb, cb, only);
	mutex_unlock(&rxpost_mutex);
	return skb->len ?: ret;
}

static int reply_stats(struct genl_info *info, struct rxpost_receiver *rcv)
{
	struct rxpost_histograms *hist;
	struct sk_buff *skb;
	int ret = -ENOMEM;
	void *hdr;

	hist = kzalloc(sizeof(*hist), GFP_KERNEL);
	skb = genlmsg_new(STATS_SIZE, GFP_KERNEL);
	if (!hist || !skb)
		goto free_both;
	rxpost_read_histograms(rcv, hist);
	ret = -EMSGSIZE;
	hdr = genlmsg_put_reply(skb, info, &rxpost_nl_family, 0,
				info->genlhdr->cmd);
	/* STATS_SIZE is that of full histograms. */
	if (!hdr || rxpost_put_stats(skb, rcv, hist))
		goto free_both;
	genlmsg_end(skb, hdr);
	kfree(hist);
	return genlmsg_reply(skb, info);

free_both:
	nlmsg_free(skb);
	kfree(hist);
	return ret;
}

/**
 * rxpost_nl_stats_get_doit() - histograms of a receiver
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs };
	struct rxpost_receiver *rcv;
	int ret;

	mutex_lock(&rxpost_mutex);
	rcv = rxpost_find_receiver(&ask, RXPOST_A_STATS_RECEIVER_ID,
				   RXPOST_A_STATS_RECEIVER_NAME);
	ret = IS_ERR(rcv) ? PTR_ERR(rcv) : reply_stats(info, rcv);
	mutex_unlock(&rxpost_mutex);
	return ret;
}

static int put_info(struct sk_buff *skb)
{
	u64 memory = 0, mappings = 0, reserved;
	struct rxpost_receiver *rcv;
	u32 n = 0;

	mutex_lock(&rxpost_mutex);
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		memory += atomic64_read(&rcv->memory);
		mappings += atomic64_read(&rcv->mappings);
		n++;
	}
	reserved = rxpost_memory_reserved();
	mutex_unlock(&rxpost_mutex);
	return nla_put_u32(skb, RXPOST_A_INFO_ABI, RXPOST_ABI_VERSION) ?:
	       nla_put_string(skb, RXPOST_A_INFO_VERSION, RXPOST_VERSION) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_INFO_MEMORY, memory,
				 RXPOST_A_INFO_PAD) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_INFO_MEMORY_LIMIT,
				 rxpost_memory_limit(), RXPOST_A_INFO_PAD) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_INFO_MAPPINGS, mappings,
				 RXPOST_A_INFO_PAD) ?:
	       nla_put_u32(skb, RXPOST_A_INFO_RECEIVERS, n) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_INFO_MEMORY_RESERVED, reserved,
				 RXPOST_A_INFO_PAD);
}

/**
 * rxpost_nl_info_get_doit() - version, bounds and totals
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_nl_info_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs };
	const struct nlattr *abi = info->attrs[RXPOST_A_INFO_ABI];
	struct sk_buff *reply;
	void *hdr;

	if (abi && nla_get_u32(abi) != RXPOST_ABI_VERSION)
		return rxpost_refuse(&ask, -EPROTONOSUPPORT, RXPOST_A_INFO_ABI,
				     "the module speaks revision %u, the caller %u",
				     RXPOST_ABI_VERSION, nla_get_u32(abi));
	reply = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put_reply(reply, info, &rxpost_nl_family, 0,
				info->genlhdr->cmd);
	/* Cannot be: what never grows fits. */
	if (!hdr || put_info(reply)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}
