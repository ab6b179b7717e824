// SPDX-License-Identifier: GPL-2.0
/*
 * listen.c - a binding's listener, and who is let in.
 *
 * The handler of a connect request runs with two handler locks of the CM held
 * and holds up every other connect on the listener (and, on siw, every
 * teardown): it decides, hands the id to the receiver's worker (conn.c) and
 * returns. rxpost counts connections itself, because on RoCE the CM ignores
 * the backlog (6.12 drivers/infiniband/core/cma.c:2652-2667).
 */
#include <rdma/ib_cm.h>

#include "rxpost.h"

/* Before anything is allocated; of room rxpost_conn_create() decides again. */
static int check_peer(struct rxpost_receiver *rcv,
		      const struct sockaddr_storage *peer)
{
	int ret = 0;

	spin_lock(&rcv->lock);
	if (!rcv->admitting)
		ret = -ESHUTDOWN;
	else if (!rxpost_allowed(&rcv->cfg, peer))
		ret = -EACCES;
	else if (rcv->nr_conns >= rcv->cfg.max_conns)
		ret = -ECONNREFUSED;
	spin_unlock(&rcv->lock);
	return ret;
}

/* Tells the peer and the listeners why; the CM destroys @id. */
static int reject(struct rxpost_receiver *rcv, struct rdma_cm_id *id, int err)
{
	char why[RXPOST_REASON_LEN];

	switch (err) {
	case -ESHUTDOWN:
		snprintf(why, sizeof(why), "the receiver is closing");
		break;
	case -EACCES:
		snprintf(why, sizeof(why), "the peer's address is not allowed");
		break;
	case -ECONNREFUSED:
		snprintf(why, sizeof(why), "all %u connections are taken",
			 rcv->cfg.max_conns);
		break;
	case -EIO:
		snprintf(why, sizeof(why), "a completion queue has failed");
		break;
	default:
		snprintf(why, sizeof(why), "no memory for a connection");
	}
	spin_lock(&rcv->lock);
	rcv->rejected++;
	spin_unlock(&rcv->lock);
	rxpost_event(RXPOST_EVENT_TYPE_CONN_REJECTED, rcv, NULL, "%pISpc: %s",
		     &id->route.addr.dst_addr, why);
	rdma_reject(id, why, strlen(why) + 1, IB_CM_REJ_CONSUMER_DEFINED);
	return err;
}

static bool is_foreign(const struct rdma_conn_param *param)
{
	const struct rxpost_wire_priv *priv = param->private_data;

	return param->private_data_len < sizeof(*priv) ||
	       le32_to_cpu(priv->magic) != RXPOST_PRIV_MAGIC ||
	       le32_to_cpu(priv->version) != RXPOST_WIRE_VERSION;
}

static int on_request(struct rxpost_binding *b, struct rdma_cm_id *id,
		      const struct rdma_cm_event *event)
{
	int ret = check_peer(b->rcv, &id->route.addr.dst_addr);

	if (!ret)
		ret = rxpost_conn_create(b, id, is_foreign(&event->param.conn));
	return ret ? reject(b->rcv, id, ret) : 0;
}

static int on_listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rxpost_binding *b = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return on_request(b, id, event);
	/*
	 * Removal of the device is not acted on here: our ib_client's remove
	 * runs before the CM's and has destroyed this id by then.
	 */
	return 0;
}

static int refuse_bind(struct rxpost_binding *b, const struct rxpost_ask *ask,
		       int err)
{
	const struct sockaddr_storage *addr = &b->rcv->cfg.addr;

	switch (err) {
	case -EADDRINUSE:
		return rxpost_refuse(ask, err, RXPOST_A_RECEIVER_PORT,
				     "%pISpc is in use; choose another port",
				     addr);
	case -EADDRNOTAVAIL:
	case -ENODEV:
		return rxpost_refuse(ask, -EADDRNOTAVAIL, RXPOST_A_RECEIVER_ADDR,
				     "%pISc is on no RDMA device (rxctl link show)",
				     addr);
	default:
		return rxpost_refuse(ask, err, RXPOST_A_RECEIVER_ADDR,
				     "cannot bind to %pISpc (error %d)", addr,
				     err);
	}
}

/**
 * rxpost_listener_create() - bind a CM id to the receiver's address
 * @b: the binding; its listener and device are set
 * @ask: the request, for refusals
 *
 * The id keeps the device from going until it is destroyed.
 * Context: process, may sleep. Return: 0 or a negative errno, refused in words.
 */
int rxpost_listener_create(struct rxpost_binding *b,
			   const struct rxpost_ask *ask)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, on_listener_event, b, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (b->rcv->cfg.addr.ss_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, (struct sockaddr *)&b->rcv->cfg.addr);
	if (!ret && !id->device)
		ret = -ENODEV;
	if (ret) {
		rdma_destroy_id(id);
		return refuse_bind(b, ask, ret);
	}
	b->listener = id;
	b->dev = id->device;
	return 0;
}

/**
 * rxpost_listener_start() - let connections in
 * @b: the binding, complete
 * @ask: the request, for refusals
 *
 * Context: process, may sleep. Return: 0 or a negative errno, refused in words.
 */
int rxpost_listener_start(struct rxpost_binding *b,
			  const struct rxpost_ask *ask)
{
	struct rxpost_receiver *rcv = b->rcv;
	int ret;

	spin_lock(&rcv->lock);
	rcv->admitting = true;
	spin_unlock(&rcv->lock);
	ret = rdma_listen(b->listener, rcv->cfg.max_conns);
	return ret ? refuse_bind(b, ask, ret) : 0;
}
