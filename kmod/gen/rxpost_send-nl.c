// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/rxpost_send.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "rxpost_send-nl.h"

#include <uapi/linux/rxpost_send.h>

/* RXPOST_SEND_CMD_RUN_GET - do */
const struct nla_policy rxpost_send_run_get_nl_policy[RXPOST_SEND_A_RUN_ID + 1] = {
	[RXPOST_SEND_A_RUN_ID] = { .type = NLA_U32, },
};

/* RXPOST_SEND_CMD_RUN_NEW - do */
const struct nla_policy rxpost_send_run_new_nl_policy[RXPOST_SEND_A_RUN_HOLD + 1] = {
	[RXPOST_SEND_A_RUN_ADDR] = { .type = NLA_BINARY, },
	[RXPOST_SEND_A_RUN_PORT] = { .type = NLA_U16, },
	[RXPOST_SEND_A_RUN_SIZE] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_COUNT] = { .type = NLA_U64, },
	[RXPOST_SEND_A_RUN_DURATION_MS] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_BATCH] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_IN_FLIGHT] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_CONNECT_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_DRAIN_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_RATE] = { .type = NLA_U64, },
	[RXPOST_SEND_A_RUN_OPCODE] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_REMOTE_ADDR] = { .type = NLA_U64, },
	[RXPOST_SEND_A_RUN_RKEY] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_ROUND_TRIP] = { .type = NLA_FLAG, },
	[RXPOST_SEND_A_RUN_ANSWER_TIMEOUT_MS] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RUN_HOLD] = { .type = NLA_FLAG, },
};

/* RXPOST_SEND_CMD_RUN_STOP - do */
const struct nla_policy rxpost_send_run_stop_nl_policy[RXPOST_SEND_A_RUN_ID + 1] = {
	[RXPOST_SEND_A_RUN_ID] = { .type = NLA_U32, },
};

/* RXPOST_SEND_CMD_RUN_GO - do */
const struct nla_policy rxpost_send_run_go_nl_policy[RXPOST_SEND_A_RUN_ID + 1] = {
	[RXPOST_SEND_A_RUN_ID] = { .type = NLA_U32, },
};

/* RXPOST_SEND_CMD_RTT_GET - do */
const struct nla_policy rxpost_send_rtt_get_nl_policy[RXPOST_SEND_A_RTT_FROM_NS + 1] = {
	[RXPOST_SEND_A_RTT_ID] = { .type = NLA_U32, },
	[RXPOST_SEND_A_RTT_FROM_NS] = { .type = NLA_U64, },
};

/* Ops table for rxpost_send */
const struct genl_ops rxpost_send_nl_ops[5] = {
	{
		.cmd		= RXPOST_SEND_CMD_RUN_GET,
		.doit		= rxpost_send_nl_run_get_doit,
		.dumpit		= rxpost_send_nl_run_get_dumpit,
		.policy		= rxpost_send_run_get_nl_policy,
		.maxattr	= RXPOST_SEND_A_RUN_ID,
	},
	{
		.cmd		= RXPOST_SEND_CMD_RUN_NEW,
		.doit		= rxpost_send_nl_run_new_doit,
		.policy		= rxpost_send_run_new_nl_policy,
		.maxattr	= RXPOST_SEND_A_RUN_HOLD,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= RXPOST_SEND_CMD_RUN_STOP,
		.doit		= rxpost_send_nl_run_stop_doit,
		.policy		= rxpost_send_run_stop_nl_policy,
		.maxattr	= RXPOST_SEND_A_RUN_ID,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= RXPOST_SEND_CMD_RUN_GO,
		.doit		= rxpost_send_nl_run_go_doit,
		.policy		= rxpost_send_run_go_nl_policy,
		.maxattr	= RXPOST_SEND_A_RUN_ID,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= RXPOST_SEND_CMD_RTT_GET,
		.doit		= rxpost_send_nl_rtt_get_doit,
		.policy		= rxpost_send_rtt_get_nl_policy,
		.maxattr	= RXPOST_SEND_A_RTT_FROM_NS,
	},
};

static const struct genl_multicast_group rxpost_send_nl_mcgrps[] = {
	[RXPOST_SEND_NLGRP_EVENTS] = { "events", },
};
