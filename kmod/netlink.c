// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - the rxpost family: what is asked about and of receivers. What
 * can only be looked at is in netlink_read.c.
 *
 * Handlers take rxpost_mutex (the family runs them in parallel), never wait
 * for the network, and answer every refusal with a sentence: all generic
 * netlink families stand still when one wants to register while a handler
 * waits (6.12 net/netlink/genetlink.c:1216-1220).
 */
#include <linux/slab.h>
#include <net/genetlink.h>

#include "gen/rxpost-nl.h"
#include "rxpost.h"

/**
 * rxpost_find_receiver() - the receiver that a request names
 * @ask: the request
 * @id_attr: attribute that may hold its id
 * @name_attr: attribute that may hold its name; with both, both must fit
 *
 * Context: process, rxpost_mutex held. Return: the receiver, or an ERR_PTR,
 * refused in words.
 */
struct rxpost_receiver *rxpost_find_receiver(const struct rxpost_ask *ask,
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
	struct rxpost_receiver *rcv;

	rcv = rxpost_find_receiver(ask, RXPOST_A_RECEIVER_ID,
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

	/* Cannot be: a receiver with all its lists fits NLMSG_DEFAULT_SIZE. */
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
	rcv = rxpost_find_receiver(&ask, RXPOST_A_RECEIVER_ID,
				   RXPOST_A_RECEIVER_NAME);
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
	/* Cannot be: one number fits. */
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
