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
#include <linux/inet.h>

#include "rxpost.h"

static bool has_room(struct rxpost_receiver *rcv)
{
	bool room;

	spin_lock(&rcv->lock);
	room = rcv->admitting && rcv->nr_conns < rcv->cfg.max_conns;
	if (!room)
		rcv->rejected++;
	spin_unlock(&rcv->lock);
	return room;
}

/* A non-zero return makes the CM reject the request and destroy @id. */
static int on_request(struct rxpost_binding *b, struct rdma_cm_id *id,
		      const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	const struct rxpost_wire_priv *priv = param->private_data;
	struct rxpost_receiver *rcv = b->rcv;
	struct rxpost_conn *conn;

	if (!has_room(rcv)) {
		rxpost_event(RXPOST_EVENT_TYPE_CONN_REJECTED, rcv, NULL,
			     "%pISpc: all %u connections are taken",
			     &id->route.addr.dst_addr, rcv->cfg.max_conns);
		return -ECONNREFUSED;
	}
	conn = rxpost_conn_create(b, id);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	conn->foreign = param->private_data_len < sizeof(*priv) ||
			le32_to_cpu(priv->magic) != RXPOST_PRIV_MAGIC ||
			le32_to_cpu(priv->version) != RXPOST_WIRE_VERSION;
	kthread_queue_work(rcv->worker, &conn->accept_work);
	return 0;
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
				     "%pISc is not an address of an RDMA device here; see rxctl link show",
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
