// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/rxpost.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "rxpost-nl.h"

#include <uapi/linux/rxpost.h>

/* Common nested types */
const struct nla_policy rxpost_prefix_nl_policy[RXPOST_A_PREFIX_LEN + 1] = {
	[RXPOST_A_PREFIX_ADDR] = { .type = NLA_BINARY, },
	[RXPOST_A_PREFIX_LEN] = { .type = NLA_U32, },
};

/* RXPOST_CMD_RECEIVER_GET - do */
const struct nla_policy rxpost_receiver_get_nl_policy[RXPOST_A_RECEIVER_NAME + 1] = {
	[RXPOST_A_RECEIVER_ID] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_NAME] = { .type = NLA_NUL_STRING, },
};

/* RXPOST_CMD_RECEIVER_NEW - do */
const struct nla_policy rxpost_receiver_new_nl_policy[RXPOST_A_RECEIVER_ALLOW + 1] = {
	[RXPOST_A_RECEIVER_NAME] = { .type = NLA_NUL_STRING, },
	[RXPOST_A_RECEIVER_DEVICE] = { .type = NLA_NUL_STRING, },
	[RXPOST_A_RECEIVER_ADDR] = { .type = NLA_BINARY, },
	[RXPOST_A_RECEIVER_PORT] = { .type = NLA_U16, },
	[RXPOST_A_RECEIVER_DEPTH] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_DEPTH_MAX] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_BATCH] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_BATCH_TIMEOUT_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_LOW_WATER] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SLOT_SIZE] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_MAX_CONNS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_POLLERS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_POLL_MODE] = NLA_POLICY_MAX(NLA_U32, 2),
	[RXPOST_A_RECEIVER_BUDGET] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SPIN_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SINK] = NLA_POLICY_MAX(NLA_U32, 2),
	[RXPOST_A_RECEIVER_RNR_TIMER_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_RNR_RETRY] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_DRAIN_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SEGMENT] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_HOLD_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_IDLE_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_CPU] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_ALLOW] = NLA_POLICY_NESTED(rxpost_prefix_nl_policy),
};

/* RXPOST_CMD_RECEIVER_SET - do */
const struct nla_policy rxpost_receiver_set_nl_policy[RXPOST_A_RECEIVER_ALLOW + 1] = {
	[RXPOST_A_RECEIVER_ID] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_NAME] = { .type = NLA_NUL_STRING, },
	[RXPOST_A_RECEIVER_DEVICE] = { .type = NLA_NUL_STRING, },
	[RXPOST_A_RECEIVER_ADDR] = { .type = NLA_BINARY, },
	[RXPOST_A_RECEIVER_PORT] = { .type = NLA_U16, },
	[RXPOST_A_RECEIVER_DEPTH] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_DEPTH_MAX] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_BATCH] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_BATCH_TIMEOUT_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_LOW_WATER] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SLOT_SIZE] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_MAX_CONNS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_POLLERS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_POLL_MODE] = NLA_POLICY_MAX(NLA_U32, 2),
	[RXPOST_A_RECEIVER_BUDGET] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SPIN_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SINK] = NLA_POLICY_MAX(NLA_U32, 2),
	[RXPOST_A_RECEIVER_RNR_TIMER_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_RNR_RETRY] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_DRAIN_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_SEGMENT] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_HOLD_US] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_IDLE_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_CPU] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_ALLOW] = NLA_POLICY_NESTED(rxpost_prefix_nl_policy),
};

/* RXPOST_CMD_RECEIVER_DEL - do */
const struct nla_policy rxpost_receiver_del_nl_policy[RXPOST_A_RECEIVER_NAME + 1] = {
	[RXPOST_A_RECEIVER_ID] = { .type = NLA_U32, },
	[RXPOST_A_RECEIVER_NAME] = { .type = NLA_NUL_STRING, },
};

/* RXPOST_CMD_CONN_GET - do */
const struct nla_policy rxpost_conn_get_nl_policy[RXPOST_A_CONN_INDEX + 1] = {
	[RXPOST_A_CONN_RECEIVER_ID] = { .type = NLA_U32, },
	[RXPOST_A_CONN_RECEIVER_NAME] = { .type = NLA_NUL_STRING, },
	[RXPOST_A_CONN_INDEX] = { .type = NLA_U32, },
};

/* RXPOST_CMD_STATS_GET - do */
const struct nla_policy rxpost_stats_get_nl_policy[RXPOST_A_STATS_RECEIVER_NAME + 1] = {
	[RXPOST_A_STATS_RECEIVER_ID] = { .type = NLA_U32, },
	[RXPOST_A_STATS_RECEIVER_NAME] = { .type = NLA_NUL_STRING, },
};

/* RXPOST_CMD_INFO_GET - do */
const struct nla_policy rxpost_info_get_nl_policy[RXPOST_A_INFO_ABI + 1] = {
	[RXPOST_A_INFO_ABI] = { .type = NLA_U32, },
};

/* Ops table for rxpost */
const struct genl_ops rxpost_nl_ops[7] = {
	{
		.cmd		= RXPOST_CMD_RECEIVER_GET,
		.doit		= rxpost_nl_receiver_get_doit,
		.dumpit		= rxpost_nl_receiver_get_dumpit,
		.policy		= rxpost_receiver_get_nl_policy,
		.maxattr	= RXPOST_A_RECEIVER_NAME,
	},
	{
		.cmd		= RXPOST_CMD_RECEIVER_NEW,
		.doit		= rxpost_nl_receiver_new_doit,
		.policy		= rxpost_receiver_new_nl_policy,
		.maxattr	= RXPOST_A_RECEIVER_ALLOW,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= RXPOST_CMD_RECEIVER_SET,
		.doit		= rxpost_nl_receiver_set_doit,
		.policy		= rxpost_receiver_set_nl_policy,
		.maxattr	= RXPOST_A_RECEIVER_ALLOW,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= RXPOST_CMD_RECEIVER_DEL,
		.doit		= rxpost_nl_receiver_del_doit,
		.policy		= rxpost_receiver_del_nl_policy,
		.maxattr	= RXPOST_A_RECEIVER_NAME,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= RXPOST_CMD_CONN_GET,
		.doit		= rxpost_nl_conn_get_doit,
		.dumpit		= rxpost_nl_conn_get_dumpit,
		.policy		= rxpost_conn_get_nl_policy,
		.maxattr	= RXPOST_A_CONN_INDEX,
	},
	{
		.cmd		= RXPOST_CMD_STATS_GET,
		.doit		= rxpost_nl_stats_get_doit,
		.policy		= rxpost_stats_get_nl_policy,
		.maxattr	= RXPOST_A_STATS_RECEIVER_NAME,
	},
	{
		.cmd		= RXPOST_CMD_INFO_GET,
		.doit		= rxpost_nl_info_get_doit,
		.policy		= rxpost_info_get_nl_policy,
		.maxattr	= RXPOST_A_INFO_ABI,
	},
};

static const struct genl_multicast_group rxpost_nl_mcgrps[] = {
	[RXPOST_NLGRP_EVENTS] = { "events", },
};
