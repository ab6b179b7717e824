// SPDX-License-Identifier: GPL-2.0
/*
 * config.c - what may be asked of a receiver: attributes to a configuration.
 *
 * Every number has a minimum and a maximum, and every refusal is a sentence
 * that names the attribute. What is more than a number is in lists.c; what
 * depends on the device is checked where the device is known (binding.c).
 * Called by netlink.c.
 */
#include <linux/ctype.h>
#include <linux/slab.h>
#include <net/netlink.h>

#include "compat.h"
#include "rxpost.h"

/**
 * struct knob - one number of the configuration
 * @attr: its attribute
 * @at: its place in struct rxpost_config, a u32
 * @min: least value
 * @max: greatest value
 * @live: it may change while the receiver works
 * @name: what users call it, with its unit
 */
struct knob {
	int attr;
	size_t at;
	u32 min;
	u32 max;
	bool live;
	const char *name;
};

#define KNOB(a, f, lo, hi, l, n) \
	{ RXPOST_A_RECEIVER_##a, offsetof(struct rxpost_config, f), lo, hi, l, n }

static const struct knob knobs[] = {
	KNOB(DEPTH, depth, 1, RXPOST_DEPTH_MAX, true, "depth"),
	KNOB(DEPTH_MAX, depth_max, 1, RXPOST_DEPTH_MAX, false, "depth-max"),
	KNOB(BATCH, batch, 1, RXPOST_BATCH_MAX, true, "batch"),
	KNOB(BATCH_TIMEOUT_US, batch_timeout_us, 0,
	     RXPOST_BATCH_TIMEOUT_MAX_US, true, "batch-timeout (us)"),
	KNOB(LOW_WATER, low_water, 0, RXPOST_DEPTH_MAX, true, "low-water"),
	KNOB(SLOT_SIZE, slot_size, 1, RXPOST_SLOT_SIZE_MAX, false,
	     "slot (bytes)"),
	KNOB(MAX_CONNS, max_conns, 1, RXPOST_CONNS_MAX, false, "max-conns"),
	KNOB(POLLERS, pollers, 1, RXPOST_POLLERS_MAX, false, "pollers"),
	KNOB(POLL_MODE, poll_mode, 0, RXPOST_POLL_MODE_EVENT, true, "poll"),
	KNOB(BUDGET, budget, 1, RXPOST_BUDGET_MAX, true, "budget"),
	KNOB(SPIN_US, spin_us, 0, RXPOST_SPIN_MAX_US, true, "spin (us)"),
	KNOB(SINK, sink, 0, RXPOST_SINK_ECHO, false, "sink"),
	KNOB(RNR_TIMER_US, rnr_timer_us, 1, 655360, true, "rnr-timer (us)"),
	KNOB(RNR_RETRY, rnr_retry, 0, 7, false, "rnr-retry"),
	KNOB(DRAIN_TIMEOUT_MS, drain_timeout_ms, 1,
	     RXPOST_DRAIN_TIMEOUT_MAX_MS, true, "drain-timeout (ms)"),
	KNOB(HOLD_US, hold_us, 0, RXPOST_HOLD_MAX_US, true, "hold (us)"),
	KNOB(IDLE_TIMEOUT_MS, idle_timeout_ms, 0, RXPOST_IDLE_TIMEOUT_MAX_MS,
	     true, "idle-timeout (ms)"),
};

static u32 *knob_value(struct rxpost_config *cfg, const struct knob *k)
{
	return (u32 *)((char *)cfg + k->at);
}

/**
 * rxpost_refuse() - refuse a request in a sentence
 * @ask: the request
 * @err: negative errno to answer with
 * @attr: attribute that is at fault, or 0
 * @fmt: the sentence, 79 characters at most
 *
 * Context: any. Return: @err, to return at once.
 */
int rxpost_refuse(const struct rxpost_ask *ask, int err, int attr,
		  const char *fmt, ...)
{
	va_list args;
	size_t len;
	char *buf;

	if (!ask->extack)
		return err;
	buf = rxpost_refusal_buf(ask->extack, &len);
	va_start(args, fmt);
	vsnprintf(buf, len, fmt, args);
	va_end(args);
	ask->extack->_msg = buf;
	if (attr && ask->attrs && ask->attrs[attr])
		NL_SET_BAD_ATTR(ask->extack, ask->attrs[attr]);
	return err;
}

static int take_knob(struct rxpost_config *cfg, const struct knob *k,
		     const struct rxpost_ask *ask)
{
	const struct nlattr *attr = ask->attrs[k->attr];
	u32 value;

	if (!attr)
		return 0;
	value = nla_get_u32(attr);
	if (value < k->min || value > k->max)
		return rxpost_refuse(ask, -ERANGE, k->attr,
				     "%s %u is outside %u to %u", k->name,
				     value, k->min, k->max);
	*knob_value(cfg, k) = value;
	return 0;
}

static int take_knobs(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		ret = take_knob(cfg, &knobs[i], ask);
		if (ret)
			return ret;
	}
	if (ask->attrs[RXPOST_A_RECEIVER_LOW_WATER])
		cfg->low_water_given = true;
	else if (!cfg->low_water_given)
		cfg->low_water = cfg->depth / 4;
	if (ask->attrs[RXPOST_A_RECEIVER_RNR_TIMER_US] ||
	    ask->attrs[RXPOST_A_RECEIVER_RNR_RETRY])
		cfg->rnr_given = true;
	rxpost_rnr_code(cfg->rnr_timer_us, &cfg->rnr_code, &cfg->rnr_timer_us);
	return 0;
}

/* What must hold between numbers that are each in bounds. */
static int check_together(const struct rxpost_config *cfg,
			  const struct rxpost_ask *ask)
{
	if (cfg->depth > cfg->depth_max)
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_DEPTH,
				     "depth %u is above depth-max %u",
				     cfg->depth, cfg->depth_max);
	if (cfg->batch > cfg->depth)
		return rxpost_refuse(ask, -EINVAL,
				     ask->attrs[RXPOST_A_RECEIVER_BATCH] ?
				     RXPOST_A_RECEIVER_BATCH :
				     RXPOST_A_RECEIVER_DEPTH,
				     "batch %u is above depth %u, so it could never fill",
				     cfg->batch, cfg->depth);
	if (cfg->low_water >= cfg->depth)
		return rxpost_refuse(ask, -EINVAL,
				     ask->attrs[RXPOST_A_RECEIVER_LOW_WATER] ?
				     RXPOST_A_RECEIVER_LOW_WATER :
				     RXPOST_A_RECEIVER_DEPTH,
				     "low-water %u must be below depth %u",
				     cfg->low_water, cfg->depth);
	return 0;
}

static u32 string_len(const struct nlattr *attr)
{
	return strnlen(nla_data(attr), nla_len(attr));
}

static int take_name(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	const struct nlattr *attr = ask->attrs[RXPOST_A_RECEIVER_NAME];
	const char *c;

	if (!attr)
		return rxpost_refuse(ask, -EINVAL, 0, "a name is missing");
	if (string_len(attr) > RXPOST_NAME_LEN)
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_NAME,
				     "a name has at most %u bytes, not %u",
				     RXPOST_NAME_LEN, string_len(attr));
	nla_strscpy(cfg->name, attr, sizeof(cfg->name));
	for (c = cfg->name; *c; c++) {
		if (!isascii(*c) || !(isalnum(*c) || strchr("._-", *c)))
			return rxpost_refuse(ask, -EINVAL,
					     RXPOST_A_RECEIVER_NAME,
					     "a name has letters, digits, '.', '_' and '-' only");
	}
	if (!cfg->name[0])
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_NAME,
				     "the name is empty");
	return 0;
}

static int take_device(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	const struct nlattr *attr = ask->attrs[RXPOST_A_RECEIVER_DEVICE];

	if (!attr)
		return 0;
	if (string_len(attr) >= sizeof(cfg->device))
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_DEVICE,
				     "a device's name has at most %zu bytes, not %u",
				     sizeof(cfg->device) - 1, string_len(attr));
	nla_strscpy(cfg->device, attr, sizeof(cfg->device));
	cfg->device_given = cfg->device[0];
	return 0;
}

static int take_ip(struct rxpost_config *cfg, const struct nlattr *attr,
		   __be16 port, const struct rxpost_ask *ask)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&cfg->addr;
	struct sockaddr_in *in = (struct sockaddr_in *)&cfg->addr;
	bool any;

	switch (nla_len(attr)) {
	case sizeof(in->sin_addr):
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, nla_data(attr), sizeof(in->sin_addr));
		any = in->sin_addr.s_addr == htonl(INADDR_ANY);
		break;
	case sizeof(in6->sin6_addr):
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		memcpy(&in6->sin6_addr, nla_data(attr),
		       sizeof(in6->sin6_addr));
		any = !memchr_inv(&in6->sin6_addr, 0, sizeof(in6->sin6_addr));
		break;
	default:
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_ADDR,
				     "an address has 4 or 16 bytes, not %u",
				     nla_len(attr));
	}
	if (any)
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_ADDR,
				     "a receiver listens on one address; give one of an RDMA device");
	return 0;
}

static int take_addr(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	const struct nlattr *addr = ask->attrs[RXPOST_A_RECEIVER_ADDR];
	const struct nlattr *port = ask->attrs[RXPOST_A_RECEIVER_PORT];

	if (!addr || !port)
		return rxpost_refuse(ask, -EINVAL, 0,
				     "an address and a port are missing");
	if (!nla_get_be16(port))
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_PORT,
				     "port 0 is no port; give one from 1 to 65535");
	return take_ip(cfg, addr, nla_get_be16(port), ask);
}

static void set_defaults(struct rxpost_config *cfg)
{
	*cfg = (struct rxpost_config){
		.depth = 256,
		.batch_timeout_us = 100,
		.slot_size = 4096,
		.poll_mode = RXPOST_POLL_MODE_HYBRID,
		.budget = RXPOST_BUDGET_MAX,
		.spin_us = 50,
		.sink = RXPOST_SINK_DISCARD,
		.rnr_timer_us = 640,
		.rnr_retry = 7,
		.drain_timeout_ms = 5000,
		/* depth_max, batch: by depth; max_conns, pollers: by device */
	};
}

/**
 * rxpost_config_new() - configuration of a receiver to be made
 * @cfg: filled in; max_conns and pollers are 0 when not asked for
 * @ask: the request
 *
 * Context: process. Return: 0 or a negative errno, refused in words.
 */
int rxpost_config_new(struct rxpost_config *cfg, const struct rxpost_ask *ask)
{
	int ret;

	set_defaults(cfg);
	ret = take_name(cfg, ask);
	if (!ret)
		ret = take_addr(cfg, ask);
	if (!ret)
		ret = take_device(cfg, ask);
	if (!ret)
		ret = take_knobs(cfg, ask);
	if (!ret)
		ret = rxpost_take_segments(cfg, ask);
	if (!ret)
		ret = rxpost_take_cpus(cfg, ask);
	if (!ret)
		ret = rxpost_take_allow(cfg, ask);
	if (ret)
		return ret;
	cfg->pollers_given = cfg->pollers;
	if (!cfg->depth_max)
		cfg->depth_max = cfg->depth;
	if (!cfg->batch)
		cfg->batch = min(16U, cfg->depth);
	return check_together(cfg, ask);
}

static int refuse_fixed(const struct rxpost_ask *ask)
{
	static const struct { int attr; const char *name; } fixed[] = {
		{ RXPOST_A_RECEIVER_DEVICE, "device" },
		{ RXPOST_A_RECEIVER_ADDR, "addr" },
		{ RXPOST_A_RECEIVER_PORT, "port" },
		{ RXPOST_A_RECEIVER_SEGMENT, "slot" },
	};
	const char *name = NULL;
	int attr = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed) && !name; i++) {
		attr = fixed[i].attr;
		if (ask->attrs[attr])
			name = fixed[i].name;
	}
	for (i = 0; i < ARRAY_SIZE(knobs) && !name; i++) {
		attr = knobs[i].attr;
		if (ask->attrs[attr] && !knobs[i].live)
			name = knobs[i].name;
	}
	if (!name)
		return 0;
	return rxpost_refuse(ask, -EOPNOTSUPP, attr,
			     "%s is fixed; delete the receiver and add it anew",
			     name);
}

static int check_change(struct rxpost_config *wanted,
			const struct rxpost_ask *ask)
{
	return refuse_fixed(ask) ?:
	       take_knobs(wanted, ask) ?:
	       rxpost_take_cpus(wanted, ask) ?:
	       rxpost_take_allow(wanted, ask) ?:
	       check_together(wanted, ask);
}

static void change(struct rxpost_receiver *rcv,
		   const struct rxpost_config *wanted)
{
	struct rxpost_config *cfg = &rcv->cfg;
	size_t i;

	cfg->low_water_given = wanted->low_water_given;
	cfg->rnr_given = wanted->rnr_given;
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (knobs[i].live)
			WRITE_ONCE(*knob_value(cfg, &knobs[i]),
				   *(u32 *)((char *)wanted + knobs[i].at));
	}
	WRITE_ONCE(cfg->rnr_code, wanted->rnr_code);
	for (i = 0; i < wanted->nr_cpus; i++)
		WRITE_ONCE(cfg->cpus[i], wanted->cpus[i]);
	WRITE_ONCE(cfg->nr_cpus, wanted->nr_cpus);

	spin_lock(&rcv->lock);
	memcpy(cfg->allow, wanted->allow, sizeof(cfg->allow));
	cfg->nr_allow = wanted->nr_allow;
	spin_unlock(&rcv->lock);
}

/**
 * rxpost_config_change() - change a receiver at work
 * @rcv: the receiver, whose configuration others read meanwhile
 * @ask: the request
 *
 * All of the request takes effect, or, when any of it is refused, none. Those
 * who act on it are told by rxpost_binding_kick().
 * Context: process, rxpost_mutex held. Return: 0 or a negative errno, refused
 * in words unless memory is short.
 */
int rxpost_config_change(struct rxpost_receiver *rcv,
			 const struct rxpost_ask *ask)
{
	struct rxpost_config *wanted;
	int ret;

	lockdep_assert_held(&rxpost_mutex);
	wanted = kmemdup(&rcv->cfg, sizeof(rcv->cfg), GFP_KERNEL);
	if (!wanted)
		return -ENOMEM;
	ret = check_change(wanted, ask);
	if (!ret)
		change(rcv, wanted);
	kfree(wanted);
	return ret;
}
