/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/rxpost.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_RXPOST_GEN_H
#define _LINUX_RXPOST_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/rxpost.h>

/* Common nested types */
extern const struct nla_policy rxpost_prefix_nl_policy[RXPOST_A_PREFIX_LEN + 1];

extern const struct nla_policy rxpost_receiver_get_nl_policy[RXPOST_A_RECEIVER_NAME + 1];

extern const struct nla_policy rxpost_receiver_new_nl_policy[RXPOST_A_RECEIVER_ALLOW + 1];

extern const struct nla_policy rxpost_receiver_set_nl_policy[RXPOST_A_RECEIVER_ALLOW + 1];

extern const struct nla_policy rxpost_receiver_del_nl_policy[RXPOST_A_RECEIVER_NAME + 1];

extern const struct nla_policy rxpost_conn_get_nl_policy[RXPOST_A_CONN_INDEX + 1];

extern const struct nla_policy rxpost_stats_get_nl_policy[RXPOST_A_STATS_RECEIVER_NAME + 1];

extern const struct nla_policy rxpost_info_get_nl_policy[RXPOST_A_INFO_ABI + 1];

/* Ops table for rxpost */
extern const struct genl_ops rxpost_nl_ops[7];

int rxpost_nl_receiver_get_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_nl_receiver_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int rxpost_nl_receiver_new_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_nl_receiver_set_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_nl_receiver_del_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int rxpost_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_nl_info_get_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	RXPOST_NLGRP_EVENTS,
};

#endif /* _LINUX_RXPOST_GEN_H */
