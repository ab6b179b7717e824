// SPDX-License-Identifier: GPL-2.0
/*
 * lists.c - configuration that is more than a number: a slot's segments, the
 * pollers' CPUs, the prefixes that are let in.
 *
 * Each comes as an attribute that may be there several times. Called by
 * config.c; rxpost_allowed() by listen.c.
 */
#include <linux/cpumask.h>
#include <linux/inetdevice.h>
#include <net/genetlink.h>
#include <net/ipv6.h>

#include "gen/rxpost-nl.h"
#include "rxpost.h"

/* Has @take look at each attribute of a type, until one is refused. */
static int take_each(struct rxpost_config *cfg, int type,
		     int (*take)(struct rxpost_config *cfg,
				 const struct nlattr *attr,
				 const struct rxpost_ask *ask),
		     const struct rxpost_ask *ask)
{
	struct nlattr *attr;
	int rem, ret = 0;

	nlmsg_for_each_attr(attr, ask->nlh, GENL_HDRLEN, rem) {
		if (nla_type(attr) != type)
			continue;
		/* A refusal is to blame this one, not the last of them. */
		ask->attrs[type] = attr;
		ret = take(cfg, attr, ask);
		if (ret)
			break;
	}
	return ret;
}

static u32 count_asked(int type, const struct rxpost_ask *ask)
{
	const struct nlattr *attr;
	u32 n = 0;
	int rem;

	nlmsg_for_each_attr(attr, ask->nlh, GENL_HDRLEN, rem)
		n += nla_type(attr) == type;
	return n;
}

static int add_segment(struct rxpost_config *cfg, u32 size,
		       const struct rxpost_ask *ask)
{
	if (cfg->nr_segments == RXPOST_SEGMENTS_MAX)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_SEGMENT,
				     "a slot has at most %u segments",
				     RXPOST_SEGMENTS_MAX);
	if (!size || size > RXPOST_SLOT_SIZE_MAX)
		return rxpost_refuse(ask, -ERANGE, RXPOST_A_RECEIVER_SEGMENT,
				     "segment %u of %u bytes is outside 1 to %u",
				     cfg->nr_segments, size,
				     RXPOST_SLOT_SIZE_MAX);
	cfg->segments[cfg->nr_segments++] = size;
	return 0;
}

static int take_segment(struct rxpost_config *cfg, const struct nlattr *attr,
			const struct rxpost_ask *ask)
{
	return add_segment(cfg, nla_get_u32(attr), ask);
}

/* What a slot holds must be what its segments hold. */
static int check_sum(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	u32 sum = 0, i;

	for (i = 0; i < cfg->nr_segments; i++)
		sum += cfg->segments[i];
	if (sum > RXPOST_SLOT_SIZE_MAX)
		return rxpost_refuse(ask, -ERANGE, RXPOST_A_RECEIVER_SEGMENT,
				     "segments of %u bytes together are above %u",
				     sum, RXPOST_SLOT_SIZE_MAX);
	if (ask->attrs[RXPOST_A_RECEIVER_SLOT_SIZE] && cfg->slot_size != sum)
		return rxpost_refuse(ask, -EINVAL,
				     RXPOST_A_RECEIVER_SLOT_SIZE,
				     "slot %u is not the sum of its segments, %u",
				     cfg->slot_size, sum);
	cfg->slot_size = sum;
	return 0;
}

/**
 * rxpost_take_segments() - the segments of a slot
 * @cfg: configuration of a receiver to be made; its slot_size is that of the
 *	request or the default
 * @ask: the request
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_take_segments(struct rxpost_config *cfg,
			 const struct rxpost_ask *ask)
{
	if (!ask->attrs[RXPOST_A_RECEIVER_SEGMENT])
		return add_segment(cfg, cfg->slot_size, ask);
	return take_each(cfg, RXPOST_A_RECEIVER_SEGMENT, take_segment, ask) ?:
	       check_sum(cfg, ask);
}

static int take_cpu(struct rxpost_config *cfg, const struct nlattr *attr,
		    const struct rxpost_ask *ask)
{
	u32 cpu = nla_get_u32(attr);

	if (cfg->nr_cpus == RXPOST_POLLERS_MAX)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_CPU,
				     "at most %u CPUs, one a poller",
				     RXPOST_POLLERS_MAX);
	if (cpu == RXPOST_CPU_ANY)
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_CPU,
				     "either any CPU or a list, not both");
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_CPU,
				     "CPU %u is not online", cpu);
	cfg->cpus[cfg->nr_cpus++] = cpu;
	return 0;
}

/**
 * rxpost_take_cpus() - the CPUs of a receiver's pollers
 * @cfg: its configuration; unchanged when the request does not speak of them
 * @ask: the request
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_take_cpus(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	const struct nlattr *last = ask->attrs[RXPOST_A_RECEIVER_CPU];

	if (!last)
		return 0;
	cfg->nr_cpus = 0;
	if (count_asked(RXPOST_A_RECEIVER_CPU, ask) == 1 &&
	    nla_get_u32(last) == RXPOST_CPU_ANY)
		return 0;
	return take_each(cfg, RXPOST_A_RECEIVER_CPU, take_cpu, ask);
}

/* The address and its family; the length is not known yet. */
static int take_prefix_addr(struct rxpost_prefix *p, const struct nlattr *addr,
			    const struct rxpost_ask *ask)
{
	switch (nla_len(addr)) {
	case sizeof(p->in):
		p->family = AF_INET;
		memcpy(&p->in, nla_data(addr), sizeof(p->in));
		return 0;
	case sizeof(p->in6):
		p->family = AF_INET6;
		memcpy(&p->in6, nla_data(addr), sizeof(p->in6));
		return 0;
	default:
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_ALLOW,
				     "a prefix's address has 4 or 16 bytes, not %u",
				     nla_len(addr));
	}
}

/* Leaves no bit behind the prefix, so that what is shown is what counts. */
static void mask_prefix(struct rxpost_prefix *p)
{
	struct in6_addr whole = p->in6;

	if (p->family == AF_INET)
		p->in.s_addr &= inet_make_mask(p->len);
	else
		ipv6_addr_prefix(&p->in6, &whole, p->len);
}

static int add_prefix(struct rxpost_config *cfg, struct nlattr **tb,
		      const struct rxpost_ask *ask)
{
	const struct nlattr *len = tb[RXPOST_A_PREFIX_LEN];
	struct rxpost_prefix p = { };
	u32 bits, most;
	int ret;

	if (cfg->nr_allow == RXPOST_ALLOW_MAX)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_ALLOW,
				     "at most %u prefixes can be allowed",
				     RXPOST_ALLOW_MAX);
	ret = take_prefix_addr(&p, tb[RXPOST_A_PREFIX_ADDR], ask);
	if (ret)
		return ret;
	if (p.family != cfg->addr.ss_family)
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_ALLOW,
				     "the receiver's peers have %s addresses, the prefix has not",
				     cfg->addr.ss_family == AF_INET ? "IPv4" :
								      "IPv6");
	most = p.family == AF_INET ? 32 : 128;
	bits = len ? nla_get_u32(len) : most;
	if (bits > most)
		return rxpost_refuse(ask, -ERANGE, RXPOST_A_RECEIVER_ALLOW,
				     "prefix length %u is above %u", bits, most);
	p.len = bits;
	mask_prefix(&p);
	cfg->allow[cfg->nr_allow++] = p;
	return 0;
}

static int take_prefix(struct rxpost_config *cfg, const struct nlattr *attr,
		       const struct rxpost_ask *ask)
{
	struct nlattr *tb[RXPOST_A_PREFIX_LEN + 1];
	int ret;

	ret = nla_parse_nested(tb, RXPOST_A_PREFIX_LEN, attr,
			       rxpost_prefix_nl_policy, ask->extack);
	if (ret)
		return ret;
	if (tb[RXPOST_A_PREFIX_ADDR])
		return add_prefix(cfg, tb, ask);
	if (tb[RXPOST_A_PREFIX_LEN] ||
	    count_asked(RXPOST_A_RECEIVER_ALLOW, ask) > 1)
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_ALLOW,
				     "a prefix without an address stands alone: it lets everybody in");
	return 0;
}

/**
 * rxpost_take_allow() - the prefixes that are let in
 * @cfg: configuration; unchanged when the request does not speak of them
 * @ask: the request
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_take_allow(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	if (!ask->attrs[RXPOST_A_RECEIVER_ALLOW])
		return 0;
	cfg->nr_allow = 0;
	return take_each(cfg, RXPOST_A_RECEIVER_ALLOW, take_prefix, ask);
}

static bool in_prefix(const struct sockaddr_storage *peer,
		      const struct rxpost_prefix *p)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

	if (peer->ss_family != p->family)
		return false;
	if (p->family == AF_INET)
		return !((in->sin_addr.s_addr ^ p->in.s_addr) &
			 inet_make_mask(p->len));
	return ipv6_prefix_equal(&in6->sin6_addr, &p->in6, p->len);
}

/**
 * rxpost_allowed() - whether a peer may connect
 * @cfg: configuration of the receiver, its lock held
 * @peer: the peer's address
 *
 * Context: any.
 */
bool rxpost_allowed(const struct rxpost_config *cfg,
		    const struct sockaddr_storage *peer)
{
	u32 i;

	for (i = 0; i < cfg->nr_allow; i++) {
		if (in_prefix(peer, &cfg->allow[i]))
			return true;
	}
	return !cfg->nr_allow;
}
