/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/rxpost_send.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_RXPOST_SEND_GEN_H
#define _LINUX_RXPOST_SEND_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/rxpost_send.h>

extern const struct nla_policy rxpost_send_run_get_nl_policy[RXPOST_SEND_A_RUN_ID + 1];

extern const struct nla_policy rxpost_send_run_new_nl_policy[RXPOST_SEND_A_RUN_HOLD + 1];

extern const struct nla_policy rxpost_send_run_stop_nl_policy[RXPOST_SEND_A_RUN_ID + 1];

extern const struct nla_policy rxpost_send_run_go_nl_policy[RXPOST_SEND_A_RUN_ID + 1];

extern const struct nla_policy rxpost_send_rtt_get_nl_policy[RXPOST_SEND_A_RTT_FROM_NS + 1];

/* Ops table for rxpost_send */
extern const struct genl_ops rxpost_send_nl_ops[5];

int rxpost_send_nl_run_get_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_send_nl_run_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int rxpost_send_nl_run_new_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_send_nl_run_stop_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_send_nl_run_go_doit(struct sk_buff *skb, struct genl_info *info);
int rxpost_send_nl_rtt_get_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	RXPOST_SEND_NLGRP_EVENTS,
};

#endif /* _LINUX_RXPOST_SEND_GEN_H */
