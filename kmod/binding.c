// SPDX-License-Identifier: GPL-2.0
/*
 * binding.c - what a receiver has on one RDMA device: listener, PD, pollers.
 *
 * A binding is made by a request (rxpost.c) or when a device returns (device.c),
 * under rxpost_mutex, and taken down by whoever comes first: the receiver's
 * deletion or the device's removal. Both call rxpost_binding_teardown(); the
 * second one waits for the first. Teardown sleeps for the network and is never
 * called with rxpost_mutex held.
 */
#include <linux/slab.h>

#include "rxpost.h"

/* Longest silence while waiting for a provider to let go of its QPs. */
#define PATIENCE	(60 * HZ)

static void free_binding(struct kref *ref)
{
	kfree(container_of(ref, struct rxpost_binding, ref));
}

/* The address decides the device; one that is named must agree. */
static int check_name(struct rxpost_binding *b, const struct rxpost_ask *ask)
{
	struct rxpost_config *cfg = &b->rcv->cfg;
	const char *name = dev_name(&b->dev->dev);

	if (!rxpost_device_usable(b->dev))
		return rxpost_refuse(ask, -ENODEV, RXPOST_A_RECEIVER_ADDR,
				     "%s is being removed", name);
	if (cfg->device_given && strcmp(cfg->device, name))
		return rxpost_refuse(ask, -EINVAL, RXPOST_A_RECEIVER_DEVICE,
				     "the address belongs to %.20s, not to %.20s",
				     name, cfg->device);
	strscpy(cfg->device, name, sizeof(cfg->device));
	return 0;
}

/**
 * rxpost_sq_wr() - sends that one connection can have outstanding
 * @cfg: its receiver's configuration
 *
 * Context: any.
 */
u32 rxpost_sq_wr(const struct rxpost_config *cfg)
{
	return cfg->sink == RXPOST_SINK_ECHO ? RXPOST_ECHO_WR : RXPOST_SQ_WR;
}

/**
 * rxpost_conn_bytes() - slot memory of one connection
 * @cfg: its receiver's configuration
 *
 * Context: any. Return: bytes.
 */
u64 rxpost_conn_bytes(const struct rxpost_config *cfg)
{
	return rxpost_queue_bytes(cfg) + rxpost_echo_bytes(cfg);
}

/* Completions that one connection can have outstanding. */
static u32 cqe_per_conn(const struct rxpost_config *cfg)
{
	return cfg->depth_max + rxpost_sq_wr(cfg);
}

static u32 cqe_per_poller(const struct rxpost_config *cfg)
{
	return DIV_ROUND_UP(cfg->max_conns, cfg->pollers) * cqe_per_conn(cfg);
}

/* Connections whose completions fit one of the device's CQs. */
static u32 conns_per_poller(struct rxpost_binding *b)
{
	return b->dev->attrs.max_cqe / cqe_per_conn(&b->rcv->cfg);
}

/*
 * What the request left open: 128 connections, or as many as memory allows, and
 * as few pollers as these need; with the pollers given, as many as they serve.
 */
static void choose_sizes(struct rxpost_binding *b)
{
	struct rxpost_config *cfg = &b->rcv->cfg;
	u32 each = max(conns_per_poller(b), 1U);

	if (!cfg->max_conns) {
		u64 most = div64_u64(rxpost_memory_left(),
				     rxpost_conn_bytes(cfg));

		most = min_t(u64, most,
			     (u64)each * (cfg->pollers_given ?
					  cfg->pollers : RXPOST_POLLERS_MAX));
		cfg->max_conns = clamp_t(u64, most, 1, RXPOST_CONNS_DEFAULT);
	}
	if (!cfg->pollers_given)
		cfg->pollers = clamp(DIV_ROUND_UP(cfg->max_conns, each), 1U,
				     (u32)RXPOST_POLLERS_MAX);
}

static int check_cq(struct rxpost_binding *b, const struct rxpost_ask *ask)
{
	struct rxpost_config *cfg = &b->rcv->cfg;
	u32 max = b->dev->attrs.max_cqe;
	u32 need = cqe_per_poller(cfg);
	u32 each = conns_per_poller(b);
	u32 pollers;

	if (need <= max)
		return 0;
	if (!each)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_DEPTH,
				     "depth-max %u is beyond %s's CQs of %u",
				     cfg->depth_max, cfg->device, max);
	pollers = DIV_ROUND_UP(cfg->max_conns, each);
	if (pollers > RXPOST_POLLERS_MAX)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_MAX_CONNS,
				     "even %u pollers on %s serve no more than %u connections",
				     RXPOST_POLLERS_MAX, cfg->device,
				     each * RXPOST_POLLERS_MAX);
	return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_MAX_CONNS,
			     "needs CQs of %u, %s allows %u; pollers %u would do",
			     need, cfg->device, max, pollers);
}

static int check_sge(struct rxpost_binding *b, const struct rxpost_ask *ask)
{
	struct rxpost_config *cfg = &b->rcv->cfg;
	u32 max = b->dev->attrs.max_recv_sge;

	if (cfg->nr_segments <= max)
		return 0;
	return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_SEGMENT,
			     "a slot of %u segments is beyond %s, which takes %u a receive",
			     cfg->nr_segments, cfg->device, max);
}

/**
 * rxpost_binding_is_iwarp() - whether a receiver's device knows no RNR
 * @b: what the receiver has on its device, or NULL
 *
 * On iWARP a message that finds no receive ends its connection.
 * Context: any.
 */
bool rxpost_binding_is_iwarp(const struct rxpost_binding *b)
{
	return b && rdma_protocol_iwarp(b->dev, rdma_start_port(b->dev));
}

/* What was asked for by name must not be without effect. */
static int check_rnr(struct rxpost_binding *b, const struct rxpost_ask *ask)
{
	if (!ask->attrs || !rxpost_binding_is_iwarp(b))
		return 0;
	if (ask->attrs[RXPOST_A_RECEIVER_RNR_TIMER_US])
		return rxpost_refuse(ask, -EOPNOTSUPP,
				     RXPOST_A_RECEIVER_RNR_TIMER_US,
				     "%s is iWARP, which has no RNR timer",
				     b->rcv->cfg.device);
	if (ask->attrs[RXPOST_A_RECEIVER_RNR_RETRY])
		return rxpost_refuse(ask, -EOPNOTSUPP,
				     RXPOST_A_RECEIVER_RNR_RETRY,
				     "%s is iWARP, which has no RNR to retry after",
				     b->rcv->cfg.device);
	return 0;
}

static int check_limits(struct rxpost_binding *b, const struct rxpost_ask *ask)
{
	struct rxpost_config *cfg = &b->rcv->cfg;
	u32 max_wr = b->dev->attrs.max_qp_wr;

	if (cfg->depth_max > max_wr)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_DEPTH,
				     "depth-max %u is above %s's limit of %u",
				     cfg->depth_max, cfg->device, max_wr);
	if (rxpost_sq_wr(cfg) > max_wr)
		return rxpost_refuse(ask, -E2BIG, RXPOST_A_RECEIVER_SINK,
				     "sink echo wants send queues of %u, %s allows %u",
				     rxpost_sq_wr(cfg), cfg->device, max_wr);
	choose_sizes(b);
	return check_sge(b, ask) ?: check_rnr(b, ask) ?: check_cq(b, ask);
}

/**
 * rxpost_binding_create() - find a receiver's device and see what it allows
 * @rcv: the receiver; its device name, max_conns and pollers are filled in
 * @ask: the request, for refusals
 *
 * Binds the listener's id, but lets nobody in. Context: process, rxpost_mutex
 * held. Return: 0; a negative errno, refused in words, with nothing left behind.
 */
int rxpost_binding_create(struct rxpost_receiver *rcv,
			  const struct rxpost_ask *ask)
{
	struct rxpost_binding *b;
	int ret;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	kref_init(&b->ref);
	init_completion(&b->gone);
	b->rcv = rcv;
	ret = rxpost_listener_create(b, ask);
	if (ret)
		goto free_binding;
	ret = check_name(b, ask);
	if (!ret)
		ret = check_limits(b, ask);
	if (ret)
		goto destroy_listener;
	rcv->binding = b;
	return 0;

destroy_listener:
	rdma_destroy_id(b->listener);
free_binding:
	kref_put(&b->ref, free_binding);
	return ret;
}

static void destroy_pollers(struct rxpost_binding *b)
{
	while (b->nr_pollers) {
		struct rxpost_poller *p = b->pollers[b->nr_pollers - 1];

		rxpost_poller_stop(p);
		/* In one step, so that no reading misses its figures. */
		spin_lock(&b->rcv->lock);
		b->nr_pollers--;
		rxpost_fold_poller(b->rcv, p);
		spin_unlock(&b->rcv->lock);
		rxpost_poller_free(p);
	}
}

static int create_pollers(struct rxpost_binding *b)
{
	const struct rxpost_config *cfg = &b->rcv->cfg;

	while (b->nr_pollers < cfg->pollers) {
		struct rxpost_poller *p;

		p = rxpost_poller_create(b, b->nr_pollers, cqe_per_poller(cfg));
		if (IS_ERR(p))
			return PTR_ERR(p);
		b->pollers[b->nr_pollers++] = p;
		b->rcv->cqe = p->cq->cqe;
	}
	return 0;
}

/**
 * rxpost_binding_start() - make PD and pollers, and listen
 * @rcv: the receiver, complete but for this
 * @ask: the request, for refusals
 *
 * Context: process, rxpost_mutex held. Return: 0 or a negative errno; on an
 * error the caller calls rxpost_binding_abort().
 */
int rxpost_binding_start(struct rxpost_receiver *rcv,
			 const struct rxpost_ask *ask)
{
	struct rxpost_binding *b = rcv->binding;
	int ret;

	b->pd = ib_alloc_pd(b->dev, 0);
	if (IS_ERR(b->pd)) {
		ret = PTR_ERR(b->pd);
		b->pd = NULL;
		return rxpost_refuse(ask, ret, 0, "%s gives no PD (error %d)",
				     rcv->cfg.device, ret);
	}
	ret = create_pollers(b);
	if (ret)
		return rxpost_refuse(ask, ret, 0,
				     "cannot make poller %u on %s (error %d)",
				     b->nr_pollers, rcv->cfg.device, ret);
	rcv->rnr_effective_us = rxpost_rnr_effective_us(b->dev,
							rcv->cfg.rnr_timer_us);
	return rxpost_listener_start(b, ask);
}

/*
 * A provider's destroy is not bounded by us: rxe waits up to 50 s, siw for
 * good. Nothing may be freed before it returns, so say what is waited for.
 */
static void await_conns(struct rxpost_binding *b)
{
	struct rxpost_receiver *rcv = b->rcv;

	while (!wait_event_timeout(rcv->conns_gone,
				   !READ_ONCE(rcv->nr_conns), PATIENCE))
		pr_warn("%s: %s: %u connections still wait for the provider to destroy their QPs\n",
			rcv->cfg.name, dev_name(&b->dev->dev),
			READ_ONCE(rcv->nr_conns));
	/* The last one leaves the lock only after its wake-up. */
	spin_lock(&rcv->lock);
	spin_unlock(&rcv->lock);
}

/**
 * rxpost_binding_close() - let nobody in any more and end who is
 * @rcv: the receiver, with a binding
 * @reason: why
 *
 * Context: process, does not sleep; rxpost_mutex held, or the binding claimed.
 */
void rxpost_binding_close(struct rxpost_receiver *rcv, const char *reason)
{
	spin_lock(&rcv->lock);
	rcv->admitting = false;
	spin_unlock(&rcv->lock);
	rxpost_conns_kill(rcv, NULL, reason);
}

/* Listener, connections, pollers, PD: in that order. */
static void take_down(struct rxpost_binding *b, const char *reason)
{
	struct rxpost_receiver *rcv = b->rcv;

	rxpost_binding_close(rcv, reason);
	/* Waits for a running handler; after it there is no new connection. */
	rdma_destroy_id(b->listener);
	/* Of a handler that was past its look at admitting. */
	rxpost_conns_kill(rcv, NULL, reason);
	await_conns(b);
	destroy_pollers(b);
	if (b->pd)
		ib_dealloc_pd(b->pd);
}

/**
 * rxpost_binding_abort() - undo rxpost_binding_create() and a failed start
 * @rcv: the receiver, new or listening again
 *
 * Connections that came in meanwhile end like any other.
 * Context: process; rxpost_mutex may be held, since the receiver has had no
 * time to gather connections that would take long.
 */
void rxpost_binding_abort(struct rxpost_receiver *rcv)
{
	struct rxpost_binding *b = rcv->binding;

	take_down(b, "the receiver could not begin to listen");
	rcv->binding = NULL;
	kref_put(&b->ref, free_binding);
}

/* The binding with a reference, and whether the caller is to take it down. */
static struct rxpost_binding *claim(struct rxpost_receiver *rcv, bool *mine)
{
	struct rxpost_binding *b;

	mutex_lock(&rxpost_mutex);
	b = rcv->binding;
	if (b) {
		kref_get(&b->ref);
		*mine = !b->claimed;
		b->claimed = true;
	}
	mutex_unlock(&rxpost_mutex);
	return b;
}

/**
 * rxpost_binding_teardown() - take a receiver off its device
 * @rcv: the receiver; the caller holds a reference
 * @reason: why, for the connections' events
 *
 * On return nothing of the receiver is left on the device, whoever took it off.
 * Context: process, sleeps; no lock held.
 */
void rxpost_binding_teardown(struct rxpost_receiver *rcv, const char *reason)
{
	struct rxpost_binding *b;
	bool mine;

	b = claim(rcv, &mine);
	if (!b)
		return;
	if (mine) {
		take_down(b, reason);
		mutex_lock(&rxpost_mutex);
		rcv->binding = NULL;
		mutex_unlock(&rxpost_mutex);
		complete_all(&b->gone);
		kref_put(&b->ref, free_binding);
	} else {
		/* As long as the other one takes: see await_conns(). */
		while (!wait_for_completion_timeout(&b->gone, PATIENCE))
			pr_warn("%s: still being taken off its device\n",
				rcv->cfg.name);
	}
	kref_put(&b->ref, free_binding);
}

/**
 * rxpost_binding_check() - whether the device allows what a change asks for
 * @rcv: the receiver, with or without a device
 * @ask: the request
 *
 * Context: process, rxpost_mutex held. Return: 0 or a negative errno, refused
 * in words.
 */
int rxpost_binding_check(struct rxpost_receiver *rcv,
			 const struct rxpost_ask *ask)
{
	lockdep_assert_held(&rxpost_mutex);
	return rcv->binding ? check_rnr(rcv->binding, ask) : 0;
}

/**
 * rxpost_binding_kick() - act on a changed configuration
 * @rcv: the receiver
 *
 * Its pollers and its live connections follow soon.
 * Context: process, rxpost_mutex held.
 */
void rxpost_binding_kick(struct rxpost_receiver *rcv)
{
	struct rxpost_binding *b = rcv->binding;
	u32 i;

	lockdep_assert_held(&rxpost_mutex);
	spin_lock(&rcv->lock);
	for (i = 0; b && i < b->nr_pollers; i++)
		rxpost_poller_kick(b->pollers[i]);
	spin_unlock(&rcv->lock);
	if (b)
		rcv->rnr_effective_us =
			rxpost_rnr_effective_us(b->dev, rcv->cfg.rnr_timer_us);
	kthread_queue_work(rcv->worker, &rcv->retune_work);
}
