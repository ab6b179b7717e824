// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - the rxpost family: requests, dumps.
 *
 * Handlers take rxpost_mutex (the family runs them in parallel), never wait
 * for the network, and answer every refusal with a sentence: all generic
 * netlink families stand still when one wants to register while a handler
 * waits (6.12 net/netlink/genetlink.c:1216-1220).
 */
#include <linux/slab.h>
#include <net/genetlink.h>

#include "compat.h"
#include "gen/rxpost-nl.h"
#include "rxpost.h"

/* Histograms have up to a few hundred buckets of 28 bytes. */
#define STATS_SIZE	((RXPOST_BATCH_MAX + RXPOST_WC_STATUSES + \
			  RXPOST_ERRNOS + 8) * 32)

static struct rxpost_receiver *find_receiver(const struct rxpost_ask *ask,
					     int id_attr, int name_attr)
{
	const struct nlattr *name = ask->attrs[name_attr];
	const struct nlattr *id = ask->attrs[id_attr];
	struct rxpost_receiver *rcv;

	lockdep_assert_held(&rxpost_mutex);
	if (!id && !name) {
		rxpost_refuse(ask, -EINVAL, 0, "say which receiver, by name or id");
		return ERR_PTR(-EINVAL);
	}
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		if ((!id || rcv->id == nla_get_u32(id)) &&
		    (!name || !nla_strcmp(name, rcv->cfg.name)))
			return rcv;
	}
	if (name)
		rxpost_refuse(ask, -ENOENT, name_attr, "no receiver %.31s",
			      (const char *)nla_data(name));
	else
		rxpost_refuse(ask, -ENOENT, id_attr, "no receiver with id %u",
			      nla_get_u32(id));
	return ERR_PTR(-ENOENT);
}

static struct rxpost_receiver *find_alive(const struct rxpost_ask *ask)
{
	struct rxpost_receiver *rcv = find_receiver(ask, RXPOST_A_RECEIVER_ID,
						    RXPOST_A_RECEIVER_NAME);

	if (IS_ERR(rcv) || rcv->state != RXPOST_RECEIVER_STATE_CLOSING)
		return rcv;
	rxpost_refuse(ask, -EBUSY, 0, "receiver %s is being torn down",
		      rcv->cfg.name);
	return ERR_PTR(-EBUSY);
}

/* Consumes @skb. */
static int reply_receiver(struct sk_buff *skb, struct genl_info *info,
			  struct rxpost_receiver *rcv)
{
	void *hdr = genlmsg_put_reply(skb, info, &rxpost_nl_family, 0,
				      info->genlhdr->cmd);

	if (!hdr || rxpost_put_receiver(skb, rcv)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

/**
 * rxpost_nl_receiver_get_doit() - show one receiver
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno.
 */
int rxpost_nl_receiver_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs };
	struct rxpost_receiver *rcv;
	struct sk_buff *reply;
	int ret;

	reply = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	mutex_lock(&rxpost_mutex);
	rcv = find_receiver(&ask, RXPOST_A_RECEIVER_ID, RXPOST_A_RECEIVER_NAME);
	if (IS_ERR(rcv)) {
		nlmsg_free(reply);
		ret = PTR_ERR(rcv);
	} else {
		ret = reply_receiver(reply, info, rcv);
	}
	mutex_unlock(&rxpost_mutex);
	return ret;
}

static int dump_receiver(struct sk_buff *skb, struct netlink_callback *cb,
			 struct rxpost_receiver *rcv)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, &rxpost_nl_family,
				NLM_F_MULTI, RXPOST_CMD_RECEIVER_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (rxpost_put_receiver(skb, rcv)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * rxpost_nl_receiver_get_dumpit() - show all receivers
 * @skb: answer
 * @cb: args[0] is the id shown last; ids only grow, so a dump that is resumed
 *	neither repeats nor misses one that was there all along
 *
 * Context: process. Return: length of the answer or a negative errno.
 */
int rxpost_nl_receiver_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	struct rxpost_receiver *rcv;
	int ret = 0;

	mutex_lock(&rxpost_mutex);
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		if (rcv->id <= cb->args[0])
			continue;
		ret = dump_receiver(skb, cb, rcv);
		if (ret)
			break;
		cb->args[0] = rcv->id;
	}
	mutex_unlock(&rxpost_mutex);
	return skb->len ?: ret;
}

static int make_receiver(struct genl_info *info,
			 const struct rxpost_config *cfg,
			 const struct rxpost_ask *ask)
{
	struct rxpost_receiver *rcv;
	struct sk_buff *reply;
	int ret;

	/* First, so that what was made is not answered with an error. */
	reply = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	mutex_lock(&rxpost_mutex);
	ret = rxpost_receiver_create(cfg, ask, &rcv);
	if (ret)
		nlmsg_free(reply);
	else
		ret = reply_receiver(reply, info, rcv);
	mutex_unlock(&rxpost_mutex);
	return ret;
}

/**
 * rxpost_nl_receiver_new_doit() - make a receiver
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_nl_receiver_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs,
					info->nlhdr };
	struct rxpost_config *cfg;
	int ret;

	cfg = kzalloc(sizeof(*cfg), GFP_KERNEL);
	if (!cfg)
		return -ENOMEM;
	ret = rxpost_config_new(cfg, &ask);
	if (!ret)
		ret = make_receiver(info, cfg, &ask);
	kfree(cfg);
	return ret;
}

/**
 * rxpost_nl_receiver_set_doit() - change a receiver at work
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_nl_receiver_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs,
					info->nlhdr };
	struct rxpost_receiver *rcv;
	int ret;

	mutex_lock(&rxpost_mutex);
	rcv = find_alive(&ask);
	ret = IS_ERR(rcv) ? PTR_ERR(rcv) :
			    rxpost_binding_check(rcv, &ask) ?:
			    rxpost_config_change(rcv, &ask);
	if (!ret)
		rxpost_binding_kick(rcv);
	mutex_unlock(&rxpost_mutex);
	return ret;
}

/**
 * rxpost_nl_receiver_del_doit() - begin to delete a receiver
 * @skb: request
 * @info: its attributes
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_nl_receiver_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct rxpost_ask ask = { info->extack, info->attrs };
	struct rxpost_receiver *rcv;
	struct sk_buff *reply;
	int ret = -EMSGSIZE;
	void *hdr;

	/* First, so that what was begun is not answered with an error. */
	reply = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	mutex_lock(&rxpost_mutex);
	rcv = find_alive(&ask);
	if (IS_ERR(rcv)) {
		ret = PTR_ERR(rcv);
		goto free_reply;
	}
	hdr = genlmsg_put_reply(reply, info, &rxpost_nl_family, 0,
				info->genlhdr->cmd);
	if (!hdr || nla_put_u32(reply, RXPOST_A_RECEIVER_ID, rcv->id))
		goto free_reply;
	genlmsg_end(reply, hdr);
	rxpost_receiver_delete(rcv);
	mutex_unlock(&rxpost_mutex);
	return genlmsg_reply(reply, info);

free_reply:
	mutex_unlock(&rxpost_mutex);
	nlmsg_free(reply);
	return ret;
}

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
	rcv = find_receiver(&ask, RXPOST_A_CONN_RECEIVER_ID,
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
		only = find_receiver(&ask, RXPOST_A_CONN_RECEIVER_ID,
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
	rcv = find_receiver(&ask, RXPOST_A_STATS_RECEIVER_ID,
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
	if (!hdr || put_info(reply)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

static const struct genl_multicast_group groups[] = {
	[RXPOST_NLGRP_EVENTS] = { .name = RXPOST_MCGRP_EVENTS },
};

struct genl_family rxpost_nl_family __ro_after_init = {
	.name = RXPOST_FAMILY_NAME,
	.version = RXPOST_FAMILY_VERSION,
	.netnsok = false,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = rxpost_nl_ops,
	.n_ops = ARRAY_SIZE(rxpost_nl_ops),
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

/**
 * rxpost_netlink_init() - take requests
 *
 * Context: process, may sleep. Return: 0 or a negative errno.
 */
int rxpost_netlink_init(void)
{
	int ret;

	/* Nothing can happen before a request, and no event of it may miss. */
	rxpost_events_start();
	ret = genl_register_family(&rxpost_nl_family);
	if (ret)
		rxpost_events_stop();
	return ret;
}

/**
 * rxpost_netlink_exit() - take no more requests, send no more events
 *
 * On return no handler runs. Context: process, may sleep.
 */
void rxpost_netlink_exit(void)
{
	rxpost_events_stop();
	genl_unregister_family(&rxpost_nl_family);
}
