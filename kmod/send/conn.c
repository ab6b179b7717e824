// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - address, route, connection and QP of a run; the only file that
 * knows rdma_cm. Called by the run's thread; the CM calls back into
 * rxps_conn_event(), which only takes notes and wakes that thread.
 *
 * Every failure is told to rxps_run_end() with a sentence where it is found,
 * so callers look at the return value only to unwind.
 */
#include "send.h"

#include <linux/ctype.h>
#include <linux/jiffies.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "wire.h"

/*
 * Not 7, which rxe takes for "without end" (6.12 sw/rxe/rxe_comp.c:774): a peer
 * whose last word was lost would keep the run for good.
 */
#define RXPS_RETRY_COUNT	6
#define RXPS_RNR_RETRY_COUNT	7	/* without end */
#define RXPS_RNR_TIMER		IB_RNR_TIMER_000_64	/* 640 us, as rxpost_recv's */
#define RXPS_REJECT_TEXT_MAX	80

static void rxps_conn_advance(struct rxps_run *run, enum rxps_conn_state state)
{
	/* pairs with rxps_conn_wait() */
	smp_store_release(&run->conn_state, state);
	wake_up_process(run->task);
}

/* From here on removal of the device finds the run. */
static void rxps_conn_bind(struct rxps_run *run, struct ib_device *device)
{
	spin_lock_irq(&run->lock);
	run->device = device;
	strscpy(run->devname, dev_name(&device->dev), sizeof(run->devname));
	spin_unlock_irq(&run->lock);
	rxps_conn_advance(run, RXPS_CONN_ADDR);
}

static void rxps_conn_addr_error(struct rxps_run *run, int status)
{
	const struct sockaddr_storage *dst = &run->cfg.dst;

	if (status == -ENODEV)
		rxps_run_end(run, status, "no RDMA device leads to %pISc", dst);
	else
		rxps_run_end(run, status ?: -EHOSTUNREACH,
			     "the address %pISc could not be resolved: %pe",
			     dst, ERR_PTR(status));
}

/* A receiver that refuses may say why, as plain text. */
static void rxps_conn_reject_text(struct rdma_cm_id *cm_id,
				  struct rdma_cm_event *event,
				  char *text, size_t size)
{
	u8 len = 0;
	const char *data = rdma_consumer_reject_data(cm_id, event, &len);
	size_t i;

	/* siw reports a consumer's refusal as if it were none: -ECONNRESET */
	if (!data && rxps_is_iwarp(cm_id->device)) {
		data = event->param.conn.private_data;
		len = event->param.conn.private_data_len;
	}

	for (i = 0; data && i < len && i + 1 < size; i++) {
		if (!isascii(data[i]) || !isprint(data[i]))
			break;
		text[i] = data[i];
	}
	text[i] = '\0';
}

static void rxps_conn_rejected(struct rxps_run *run, struct rdma_cm_id *cm_id,
			       struct rdma_cm_event *event)
{
	const struct sockaddr_storage *dst = &run->cfg.dst;
	char text[RXPS_REJECT_TEXT_MAX];

	if (event->status == IB_CM_REJ_INVALID_SERVICE_ID) {
		rxps_run_end(run, -ECONNREFUSED, "no one listens at %pISpc", dst);
		return;
	}

	rxps_conn_reject_text(cm_id, event, text, sizeof(text));
	rxps_run_end(run, -ECONNREFUSED, "%pISpc refused the connection: %s",
		     dst, *text ? text : rdma_reject_msg(cm_id, event->status));
}

/**
 * rxps_conn_closed() - end a run whose connection is no more
 * @run: run, connected
 *
 * Context: any. Returns at once.
 */
void rxps_conn_closed(struct rxps_run *run)
{
	rxps_run_end(run, -ECONNRESET, "the peer closed the connection");
}

/* A QP that may have no READ under way would keep one that is posted for ever. */
static void rxps_conn_established(struct rxps_run *run,
				  const struct rdma_conn_param *param)
{
	if (run->cfg.op->flags & RXPS_OP_READ && !param->initiator_depth)
		rxps_run_end(run, -EOPNOTSUPP,
			     "%pISpc allows no READ: it accepted without responder resources",
			     &run->cfg.dst);
	else
		rxps_conn_advance(run, RXPS_CONN_ESTABLISHED);
}

/*
 * Called by the CM under the id's handler mutex, which rdma_destroy_id() also
 * takes. Never returns other than 0: the thread destroys the id.
 */
static int rxps_conn_event(struct rdma_cm_id *cm_id,
			   struct rdma_cm_event *event)
{
	struct rxps_run *run = cm_id->context;
	const struct sockaddr_storage *dst = &run->cfg.dst;
	int status = event->status;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rxps_conn_bind(run, cm_id->device);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rxps_conn_advance(run, RXPS_CONN_ROUTE);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rxps_conn_established(run, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		rxps_conn_addr_error(run, status);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rxps_conn_rejected(run, cm_id, event);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		rxps_run_end(run, status < 0 ? status : -EHOSTUNREACH,
			     "no connection to %pISpc: %s", dst,
			     rdma_event_msg(event->event));
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rxps_conn_closed(run);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rxps_run_end(run, -ENODEV, "device %s was removed",
			     run->devname);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rxps_run_end(run, -EADDRNOTAVAIL,
			     "the network below device %s changed",
			     run->devname);
		break;
	default:
		break;
	}
	return 0;
}

/* Sleeps until the connection got as far as @want; @what says in a time-out. */
static int rxps_conn_wait(struct rxps_run *run, enum rxps_conn_state want,
			  const char *what)
{
	enum rxps_conn_state state;
	long left;

	for (;;) {
		set_current_state(TASK_IDLE);
		/* pairs with rxps_conn_advance() */
		state = smp_load_acquire(&run->conn_state);
		left = run->connect_by - jiffies;
		if (state >= want || READ_ONCE(run->ending) || left <= 0)
			break;
		schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);

	if (READ_ONCE(run->ending))
		return -ECANCELED;
	if (state >= want)
		return 0;
	rxps_run_end(run, -ETIMEDOUT, "%s %pISpc took longer than %u ms", what,
		     &run->cfg.dst, run->cfg.connect_timeout_ms);
	return -ETIMEDOUT;
}

/**
 * rxps_conn_resolve() - find device and route for a run's address
 * @run: run
 *
 * Afterwards run->device is known and stays until rxps_conn_destroy().
 *
 * Context: the run's thread. Return: 0 or a negative errno; either way the
 * caller owes rxps_conn_destroy().
 */
int rxps_conn_resolve(struct rxps_run *run)
{
	struct sockaddr *dst = (struct sockaddr *)&run->cfg.dst;
	u32 timeout_ms = run->cfg.connect_timeout_ms;
	struct rdma_cm_id *cm_id;
	int ret;

	run->connect_by = jiffies + msecs_to_jiffies(timeout_ms);
	cm_id = rdma_create_id(&init_net, rxps_conn_event, run, RDMA_PS_TCP,
			       IB_QPT_RC);
	if (IS_ERR(cm_id)) {
		ret = PTR_ERR(cm_id);
		rxps_run_end(run, ret, "no RDMA CM id: %pe", cm_id);
		return ret;
	}
	run->cm_id = cm_id;

	ret = rdma_resolve_addr(cm_id, NULL, dst, timeout_ms);
	if (ret) {
		rxps_conn_addr_error(run, ret);
		return ret;
	}
	ret = rxps_conn_wait(run, RXPS_CONN_ADDR, "resolving the address of");
	if (ret)
		return ret;

	ret = rdma_resolve_route(cm_id, timeout_ms);
	if (ret) {
		rxps_run_end(run, ret, "no route to %pISpc: %pe", dst,
			     ERR_PTR(ret));
		return ret;
	}
	return rxps_conn_wait(run, RXPS_CONN_ROUTE, "finding a route to");
}

/* Called by the device, in any context. */
static void rxps_conn_qp_event(struct ib_event *event, void *context)
{
	struct rxps_run *run = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
		/* siw's word for a TCP connection that is no more */
		if (rxps_is_iwarp(run->device)) {
			rxps_conn_closed(run);
			break;
		}
		fallthrough;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		rxps_run_end(run, -EIO, "device %s ended the QP: %s",
			     run->devname, ib_event_msg(event->event));
		break;
	default:
		break;
	}
}

/**
 * rxps_conn_create_qp() - give a resolved run its QP
 * @run: run, with its queue already created
 *
 * The send queue has room for one batch more than may be outstanding, where
 * the device allows it: rxe frees an entry only after its completion is seen.
 * Without round trips the receive queue stays empty; rxe and siw demand that
 * there is one.
 *
 * Context: the run's thread. Return: 0 or a negative errno; after 0 the caller
 * owes rxps_conn_destroy_qp().
 */
int rxps_conn_create_qp(struct rxps_run *run)
{
	const struct rxps_config *cfg = &run->cfg;
	struct ib_qp_init_attr attr = {
		.event_handler	= rxps_conn_qp_event,
		.qp_context	= run,
		.send_cq	= run->queue.cq,
		.recv_cq	= run->queue.cq,
		.cap = {
			.max_send_wr	= min_t(u32, cfg->in_flight + cfg->batch,
						run->device->attrs.max_qp_wr),
			.max_recv_wr	= rxps_answers_need(cfg) ?: 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_ALL_WR,
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(run->cm_id, run->queue.pd, &attr);
	if (ret) {
		rxps_run_end(run, ret, "device %s made no QP for %u sends: %pe",
			     run->devname, attr.cap.max_send_wr, ERR_PTR(ret));
		return ret;
	}

	run->qp = run->cm_id->qp;
	spin_lock_irq(&run->lock);
	run->qpn = run->qp->qp_num;
	spin_unlock_irq(&run->lock);
	return 0;
}

/*
 * A peer that sends more than answers may find no receive; it is not to wait
 * the 655 ms that a QP asks for by itself. Means nothing to iWARP.
 */
static int rxps_conn_set_rnr_timer(struct rxps_run *run)
{
	int ret;

	if (!run->cfg.round_trip)
		return 0;
	ret = rdma_set_min_rnr_timer(run->cm_id, RXPS_RNR_TIMER);
	if (ret)
		rxps_run_end(run, ret, "no RNR timer for the QP: %pe",
			     ERR_PTR(ret));
	return ret;
}

/**
 * rxps_conn_connect() - connect a run's QP and wait until it may send
 * @run: run
 *
 * iWARP providers connect their TCP socket inside rdma_connect(), which is
 * then as long as TCP makes it.
 *
 * Context: the run's thread. Return: 0 or a negative errno.
 */
int rxps_conn_connect(struct rxps_run *run)
{
	const struct rxps_config *cfg = &run->cfg;
	const struct rxpost_wire_priv priv = {
		.magic		= cpu_to_le32(RXPOST_PRIV_MAGIC),
		.version	= cpu_to_le32(RXPOST_WIRE_VERSION),
		.clock_id	= cpu_to_le64(rxpost_wire_clock_id()),
		.size		= cpu_to_le32(cfg->size),
		.batch		= cpu_to_le32(cfg->batch),
		.in_flight	= cpu_to_le32(cfg->in_flight),
	};
	struct rdma_conn_param param = {
		.private_data		= &priv,
		.private_data_len	= sizeof(priv),
		.initiator_depth	= rxps_op_read_depth(run),
		.retry_count		= RXPS_RETRY_COUNT,
		.rnr_retry_count	= RXPS_RNR_RETRY_COUNT,
	};
	int ret;

	ret = rxps_conn_set_rnr_timer(run);
	if (ret)
		return ret;
	ret = rdma_connect(run->cm_id, &param);
	if (ret == -ECONNREFUSED) {
		rxps_run_end(run, ret, "no one listens at %pISpc", &cfg->dst);
		return ret;
	}
	if (ret) {
		rxps_run_end(run, ret, "no connection to %pISpc: %pe",
			     &cfg->dst, ERR_PTR(ret));
		return ret;
	}
	return rxps_conn_wait(run, RXPS_CONN_ESTABLISHED, "connecting to");
}

/**
 * rxps_conn_disconnect() - close the connection and let what is posted flush
 * @run: run
 *
 * A connection that never stood is not closed: on iWARP rdma_disconnect() would
 * wait for the attempt to end. But its QP may have receives. Disconnect comes
 * before the error state, which siw takes for an abort; but with sends left an
 * abort it is: siw flushes them on the way from RTS to ERR, and not from CLOSING,
 * where a disconnect takes it (6.12 siw_qp_nextstate_from_close()).
 *
 * Context: the run's thread.
 */
void rxps_conn_disconnect(struct rxps_run *run)
{
	bool abort = rxps_is_iwarp(run->device) &&
		     rxps_ledger_outstanding(&run->ledger);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (READ_ONCE(run->conn_state) < RXPS_CONN_ESTABLISHED) {
		if (run->answers.nr)
			ib_modify_qp(run->qp, &attr, IB_QP_STATE);
		return;
	}
	if (abort)
		ib_modify_qp(run->qp, &attr, IB_QP_STATE);
	rdma_disconnect(run->cm_id);
	if (!abort)
		ib_modify_qp(run->qp, &attr, IB_QP_STATE);
}

/**
 * rxps_conn_destroy_qp() - destroy a run's QP
 * @run: run
 *
 * Afterwards the device has no buffer of the run any more.
 *
 * Context: the run's thread.
 */
void rxps_conn_destroy_qp(struct rxps_run *run)
{
	rdma_destroy_qp(run->cm_id);
	run->qp = NULL;
}

/**
 * rxps_conn_destroy() - destroy what rxps_conn_resolve() left
 * @run: run, without QP and queue
 *
 * Afterwards no event comes and removal of the device does not wait for the
 * run.
 *
 * Context: the run's thread.
 */
void rxps_conn_destroy(struct rxps_run *run)
{
	if (run->cm_id)
		rdma_destroy_id(run->cm_id);
	run->cm_id = NULL;

	spin_lock_irq(&run->lock);
	run->device = NULL;
	spin_unlock_irq(&run->lock);
}
