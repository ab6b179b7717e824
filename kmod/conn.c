// SPDX-License-Identifier: GPL-2.0
/*
 * conn.c - connections: accept, QP, disconnect, ordered end.
 *
 * With listen.c the only code that knows rdma_cm. A connection is made by the
 * handler of its connect request and from then on belongs to the receiver's
 * worker, a kthread_worker, which runs its few jobs one at a time: accept_work,
 * teardown_work, expire_work, finish_work, and those of upkeep.c. So none of
 * them needs a lock against another, and none runs in a handler, where
 * rdma_destroy_id() would deadlock.
 *
 * The end of a connection, whoever asks for it (rxpost_conn_kill()):
 *	teardown_work	no more posts; rdma_disconnect(), then the QP to ERR (the
 *			other way round is an abort on siw, see must_abort());
 *			the poller drains
 *	poller		detaches at outstanding 0
 *	expire_work	after drain-timeout-ms: the poller detaches anyway
 *	finish_work	QP destroyed, then slots reclaimed, unmapped and freed,
 *			then the id destroyed
 * Nothing here waits for a completion, so the worker stays free for others, but for
 * what rdma_cm and providers wait for in rdma_disconnect() and the destructors.
 */
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "rxpost.h"
#include "trace.h"

static void set_state(struct rxpost_conn *conn, enum rxpost_conn_state state)
{
	bool moved;

	spin_lock(&conn->rcv->lock);
	/* States only advance: an ESTABLISHED that comes late changes nothing. */
	moved = state > conn->state;
	if (moved)
		conn->state = state;
	spin_unlock(&conn->rcv->lock);
	if (moved)
		trace_rxpost_conn_state(conn->rcv->id, conn->index, conn->qpn,
					state);
}

/**
 * rxpost_conn_kill() - end a connection, once
 * @conn: the connection
 * @fmt: why, in words; the first caller's stand
 *
 * Context: any, does not sleep.
 */
void rxpost_conn_kill(struct rxpost_conn *conn, const char *fmt, ...)
{
	va_list args;

	if (test_and_set_bit(RXPOST_CONN_DYING, &conn->flags))
		return;
	va_start(args, fmt);
	vsnprintf(conn->reason, sizeof(conn->reason), fmt, args);
	va_end(args);
	kthread_queue_work(conn->rcv->worker, &conn->teardown_work);
}

/**
 * rxpost_conns_kill() - end all connections of a receiver or of one poller
 * @rcv: the receiver
 * @poller: only those on this poller, or NULL for all
 * @reason: why
 *
 * Context: process, does not sleep.
 */
void rxpost_conns_kill(struct rxpost_receiver *rcv,
		       struct rxpost_poller *poller, const char *reason)
{
	struct rxpost_conn *conn;
	u32 i;

	spin_lock(&rcv->lock);
	for (i = 0; rcv->nr_conns && i < rcv->cfg.max_conns; i++) {
		conn = rcv->conn_by_index[i];
		if (conn && (!poller || conn->poller == poller))
			rxpost_conn_kill(conn, "%s", reason);
	}
	spin_unlock(&rcv->lock);
}

/**
 * rxpost_conn_lost() - end a connection whose QP or CM says that it is over
 * @conn: the connection
 * @why: what it says
 *
 * Of a connection over TCP both come at once, in any order, and nobody is told
 * whether the peer left or a message found no receive.
 * Context: any, does not sleep.
 */
void rxpost_conn_lost(struct rxpost_conn *conn, const char *why)
{
	if (rxpost_binding_is_iwarp(conn->poller->binding))
		why = "closed by the peer, or by iWARP since a message found no receive";
	rxpost_conn_kill(conn, "%s", why);
}

static void on_established(struct rxpost_conn *conn)
{
	/* An answer of the peer that was under way when the end began. */
	if (test_bit(RXPOST_CONN_DYING, &conn->flags))
		return;
	set_state(conn, RXPOST_CONN_STATE_LIVE);
	spin_lock(&conn->rcv->lock);
	conn->rcv->accepted++;
	spin_unlock(&conn->rcv->lock);
	rxpost_event(RXPOST_EVENT_TYPE_CONN_UP, conn->rcv, conn,
		     "%s", conn->foreign ? "not an rxpost sender" : "");
}

/* Never destroys the id, so always returns 0: the worker does, in order. */
static int on_conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rxpost_conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(conn);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rxpost_conn_lost(conn, "the peer disconnected");
		break;
	default:
		rxpost_conn_kill(conn, "%s (%d)", rdma_event_msg(event->event),
				 event->status);
	}
	return 0;
}

/* May come in an interrupt. */
static void on_qp_event(struct ib_event *event, void *context)
{
	struct rxpost_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* Data came before the CM's RTU did. rxe and siw never say so. */
		rdma_notify(conn->id, event->event);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		rxpost_conn_kill(conn, "QP event: %s",
				 ib_event_msg(event->event));
		break;
	default:
		break;
	}
}

static int create_qp(struct rxpost_conn *conn, struct ib_pd *pd)
{
	u32 asked = rxpost_fault_value(RXPOST_FAULT_GRANT);
	const struct rxpost_config *cfg = &conn->rcv->cfg;
	u32 slots = cfg->depth_max;
	struct ib_qp_init_attr attr = {
		.event_handler = on_qp_event,
		.qp_context = conn,
		.send_cq = conn->poller->cq,
		.recv_cq = conn->poller->cq,
		.cap = {
			.max_send_wr = rxpost_sq_wr(cfg),
			.max_recv_wr = asked ?: slots,
			.max_send_sge = 1,
			.max_recv_sge = cfg->nr_segments,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int ret;

	if (rxpost_fault(RXPOST_FAULT_QP))
		return -ENOMEM;
	ret = rdma_create_qp(conn->id, pd, &attr);
	if (ret)
		return ret;
	conn->queue.qp = conn->id->qp;
	conn->qpn = conn->id->qp->qp_num;
	conn->rq_granted = attr.cap.max_recv_wr;
	/*
	 * Below what is going to be posted. Drivers may give more, not less, as
	 * rxe and siw do: no test gets to ENOSPC.
	 */
	if (!asked && attr.cap.max_recv_wr < slots)
		return -ENOSPC;
	if (attr.cap.max_recv_sge < cfg->nr_segments ||
	    attr.cap.max_send_wr < rxpost_sq_wr(cfg))
		return -ENOSPC;
	return 0;
}

/* The first fill, by the poller, while the QP is in INIT: before any peer can send. */
static int attach_conn(struct rxpost_conn *conn)
{
	struct rxpost_published pub;

	conn->attached = true;
	rxpost_poller_command(conn, RXPOST_CMD_ATTACH);
	/* A provider that does not come back; none of the tests' does that. */
	if (!wait_for_completion_timeout(&conn->filled, RXPOST_FILL_TIMEOUT))
		return -ETIMEDOUT;
	rxpost_read_conn(conn, &pub);
	/* An empty queue would refuse every message. */
	return pub.ledger.outstanding ? 0 : -ENOBUFS;
}

static int make_answers(struct rxpost_conn *conn, struct ib_pd *pd)
{
	struct rxpost_echo *echo = rxpost_echo_create(conn, pd);

	if (IS_ERR(echo))
		return PTR_ERR(echo);
	conn->echo = echo;
	return 0;
}

/* On an error @step is what could not be done, in words. */
static int open_conn(struct rxpost_conn *conn, const char **step)
{
	struct ib_pd *pd = conn->poller->binding->pd;
	int ret;

	*step = "make the receive slots";
	ret = rxpost_queue_init(&conn->queue, conn, pd);
	if (ret)
		return ret;
	if (conn->rcv->cfg.sink == RXPOST_SINK_ECHO) {
		*step = "make the answers";
		ret = make_answers(conn, pd);
		if (ret)
			return ret;
	}
	*step = "create a QP of that depth";
	ret = create_qp(conn, pd);
	if (ret)
		return ret;
	*step = "post the first receives";
	return attach_conn(conn);
}

/*
 * The CM lets the peer write (6.12 core/cm.c:4121). There is no key it could
 * write with, but a receiver should not allow what it does not want.
 */
static void forbid_remote_access(struct rxpost_conn *conn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE,
	};
	int ret;

	/*
	 * Not tried on iWARP: siw takes no data in while a QP is modified, and
	 * does not look again (6.12 siw_qp_llp_data_ready()), so that a message
	 * could lie there until the next one comes.
	 */
	if (rxpost_binding_is_iwarp(conn->poller->binding) ||
	    rxpost_fault(RXPOST_FAULT_ACCESS))
		return;
	ret = ib_modify_qp(conn->queue.qp, &attr,
			   IB_QP_STATE | IB_QP_ACCESS_FLAGS);
	if (ret)
		rxpost_conn_kill(conn, "cannot forbid remote access (%d)", ret);
}

static int accept_peer(struct rxpost_conn *conn)
{
	const struct rxpost_config *cfg = &conn->rcv->cfg;
	struct rdma_conn_param param = {
		.rnr_retry_count = cfg->rnr_retry,
	};
	int ret;

	WRITE_ONCE(conn->rnr_code, READ_ONCE(cfg->rnr_code));
	ret = rdma_set_min_rnr_timer(conn->id, conn->rnr_code);
	if (ret)
		return ret;
	set_state(conn, RXPOST_CONN_STATE_FILLED);
	rdma_lock_handler(conn->id);
	ret = rdma_accept(conn->id, &param);
	conn->answered = true;
	conn->accepted = !ret;
	if (!ret)
		forbid_remote_access(conn);
	rdma_unlock_handler(conn->id);
	return ret;
}

static void accept_conn(struct kthread_work *work)
{
	struct rxpost_conn *conn = container_of(work, struct rxpost_conn,
						accept_work);
	const char *step;
	int ret;

	/* The receiver may be closing, or the peer gone, already. */
	if (test_bit(RXPOST_CONN_DYING, &conn->flags))
		return;
	ret = open_conn(conn, &step);
	if (!ret) {
		step = "accept";
		ret = accept_peer(conn);
	}
	if (!ret) {
		rxpost_upkeep_begin(conn);
		return;
	}
	spin_lock(&conn->rcv->lock);
	conn->rcv->rejected++;
	spin_unlock(&conn->rcv->lock);
	rxpost_event(RXPOST_EVENT_TYPE_CONN_REJECTED, conn->rcv, conn,
		     "%pISpc: cannot %s (%d)", &conn->peer, step, ret);
	rxpost_conn_kill(conn, "cannot %s (%d)", step, ret);
}

static void remove_conn(struct rxpost_conn *conn)
{
	struct rxpost_receiver *rcv = conn->rcv;

	spin_lock(&rcv->lock);
	rcv->conn_by_index[conn->index] = NULL;
	rcv->nr_conns--;
	rxpost_fold_conn(rcv, conn);
	/* Under the lock: whoever sees 0 may free the receiver's binding. */
	wake_up(&rcv->conns_gone);
	spin_unlock(&rcv->lock);
	kfree(conn->echo);
	kfree(conn);
}

/* Nobody else knows the connection any more but readers under the lock. */
static void finish(struct rxpost_conn *conn)
{
	/* The peer of a failed receive may hang up before the poller sees it. */
	const char *why = *conn->failure ? conn->failure : conn->reason;

	set_state(conn, RXPOST_CONN_STATE_DEAD);
	if (conn->queue.qp)
		rdma_destroy_qp(conn->id);
	rxpost_queue_free(&conn->queue, conn);
	rxpost_echo_free(conn->echo, conn);
	rxpost_publish(conn);
	/* Waits for handlers, so nothing is told of it after its end. */
	rdma_destroy_id(conn->id);
	rxpost_event(RXPOST_EVENT_TYPE_CONN_DOWN, conn->rcv, conn, "%s", why);
	remove_conn(conn);
}

static void finish_conn(struct kthread_work *work)
{
	struct rxpost_conn *conn = container_of(work, struct rxpost_conn,
						finish_work);

	kthread_cancel_delayed_work_sync(&conn->expire_work);
	/* The poller may have the expiry in hand still; it does not sleep. */
	if (conn->expired)
		wait_for_completion(&conn->expire_seen);
	finish(conn);
}

/**
 * rxpost_conn_detached() - a poller lets go of a connection
 * @conn: the connection; the poller touches it no more
 *
 * Context: poller thread, does not sleep.
 */
void rxpost_conn_detached(struct rxpost_conn *conn)
{
	kthread_queue_work(conn->rcv->worker, &conn->finish_work);
}

static void tell_expired(struct rxpost_conn *conn,
			 const struct rxpost_published *pub)
{
	u32 ms = READ_ONCE(conn->rcv->cfg.drain_timeout_ms);

	/* The tests lose the drains of receives only. */
	if (pub->sends.outstanding)
		rxpost_event(RXPOST_EVENT_TYPE_DRAIN_EXPIRED, conn->rcv, conn,
			     "%u receives and %u answers outstanding after %u ms",
			     pub->ledger.outstanding, pub->sends.outstanding,
			     ms);
	else
		rxpost_event(RXPOST_EVENT_TYPE_DRAIN_EXPIRED, conn->rcv, conn,
			     "%u receives outstanding after %u ms",
			     pub->ledger.outstanding, ms);
}

static void expire_drain(struct kthread_work *work)
{
	struct rxpost_conn *conn = container_of(work, struct rxpost_conn,
						expire_work.work);
	struct rxpost_published pub;

	rxpost_read_conn(conn, &pub);
	conn->expired = true;
	rxpost_poller_command(conn, RXPOST_CMD_EXPIRE);
	tell_expired(conn, &pub);
}

/*
 * Whether the peer has to see an abort. siw flushes sends on the way from RTS to
 * ERR, and not from CLOSING, where a disconnect takes it (6.12
 * siw_qp_nextstate_from_close()): answers that are left would never complete.
 * An answer of the turn that runs just now is not seen; then the drain-timeout is
 * what ends it. Only for a connection that stood: siw tells iwcm of the end,
 * for which that is a BUG as long as it awaits the beginning (6.12 core/iwcm.c,
 * cm_close_handler()).
 */
static bool must_abort(struct rxpost_conn *conn)
{
	struct rxpost_published pub;

	if (!rxpost_binding_is_iwarp(conn->poller->binding))
		return false;
	rxpost_read_conn(conn, &pub);
	return pub.sends.outstanding;
}

/*
 * From here on the peer knows, and the device flushes. The handler lock is not
 * held: on iWARP rdma_disconnect() waits for a connection that is being
 * established, whose event wants that lock before it wakes the waiter (6.12
 * core/iwcm.c, iw_cm_disconnect() and cm_conn_est_handler()). It need not be:
 * accepting, too, is this worker's, so no move of the QP to RTR or RTS can run
 * beside the one to ERR.
 */
static void disconnect(struct rxpost_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool live = READ_ONCE(conn->state) == RXPOST_CONN_STATE_LIVE;
	bool abort;

	set_state(conn, RXPOST_CONN_STATE_DRAINING);
	set_bit(RXPOST_CONN_NO_POST, &conn->flags);
	abort = live && must_abort(conn);
	if (conn->accepted && rxpost_fault_value(RXPOST_FAULT_NOERR))
		return;
	if (abort)
		ib_modify_qp(conn->queue.qp, &attr, IB_QP_STATE);
	if (conn->accepted)
		rdma_disconnect(conn->id);
	else if (!conn->answered)
		rdma_reject(conn->id, conn->reason, strlen(conn->reason) + 1,
			    IB_CM_REJ_CONSUMER_DEFINED);
	/* Both may fail when the peer was faster; the QP must flush anyway. */
	if (conn->queue.qp && !abort)
		ib_modify_qp(conn->queue.qp, &attr, IB_QP_STATE);
}

static void teardown_conn(struct kthread_work *work)
{
	struct rxpost_conn *conn = container_of(work, struct rxpost_conn,
						teardown_work);
	u32 ms = READ_ONCE(conn->rcv->cfg.drain_timeout_ms);

	rxpost_upkeep_end(conn);
	disconnect(conn);
	if (!conn->attached) {
		finish(conn);
		return;
	}
	rxpost_poller_command(conn, RXPOST_CMD_DRAIN);
	kthread_queue_delayed_work(conn->rcv->worker, &conn->expire_work,
				   msecs_to_jiffies(ms));
}

static struct rxpost_poller *poller_of(struct rxpost_binding *b, u32 index)
{
	return b->pollers[index % b->nr_pollers];
}

/*
 * The lowest index that is free and has a poller whose CQ works. Return: it;
 * -ECONNREFUSED when none is free, -EIO when only failed CQs have room.
 */
static int free_index(struct rxpost_binding *b)
{
	struct rxpost_receiver *rcv = b->rcv;
	int ret = -ECONNREFUSED;
	u32 i;

	for (i = 0; i < rcv->cfg.max_conns; i++) {
		if (rcv->conn_by_index[i])
			continue;
		if (!READ_ONCE(poller_of(b, i)->cq_failed))
			return i;
		ret = -EIO;
	}
	return ret;
}

/*
 * Enters the connection under an index, which is what a wr_id and a poller know
 * it by, and queues its acceptance, both under the lock: whoever finds it and
 * ends it queues the teardown behind the acceptance.
 */
static int insert_conn(struct rxpost_binding *b, struct rxpost_conn *conn)
{
	struct rxpost_receiver *rcv = b->rcv;
	int i;

	lockdep_assert_held(&rcv->lock);
	/* Closed since the listener looked, which no test can time. */
	if (!rcv->admitting)
		return -ESHUTDOWN;
	i = free_index(b);
	if (i < 0)
		return i;
	conn->poller = poller_of(b, i);
	conn->index = i;
	conn->generation = ++rcv->generations[i] & RXPOST_GENERATION_MASK;
	rcv->conn_by_index[i] = conn;
	rcv->nr_conns++;
	conn->id->context = conn;
	conn->id->event_handler = on_conn_event;
	kthread_queue_work(rcv->worker, &conn->accept_work);
	return 0;
}

static void init_conn(struct rxpost_conn *conn, struct rxpost_receiver *rcv,
		      struct rdma_cm_id *id)
{
	conn->rcv = rcv;
	conn->id = id;
	conn->born_ns = ktime_get_ns();
	memcpy(&conn->peer, &id->route.addr.dst_addr, sizeof(conn->peer));
	kthread_init_work(&conn->accept_work, accept_conn);
	kthread_init_work(&conn->teardown_work, teardown_conn);
	kthread_init_delayed_work(&conn->expire_work, expire_drain);
	kthread_init_work(&conn->finish_work, finish_conn);
	rxpost_upkeep_init(conn);
	init_completion(&conn->filled);
	init_completion(&conn->expire_seen);
	INIT_LIST_HEAD(&conn->waiting_node);
	INIT_LIST_HEAD(&conn->retry_node);
	timerqueue_init(&conn->sink_node);
	seqcount_init(&conn->published.seq);
	conn->queue.counters.lowest = U32_MAX;
	conn->published.counters.lowest = U32_MAX;
}

/**
 * rxpost_conn_create() - make a connection and have it accepted
 * @b: the binding whose listener heard it
 * @id: the request's id; on success its context and handler are ours
 * @foreign: the request carries no rxpost private data
 *
 * Context: the request's handler. Return: 0; -ESHUTDOWN when the receiver is
 * closing, -ECONNREFUSED when all places are taken, -EIO when the CQs of those
 * that are not have failed, -ENOMEM; then @id is the caller's still.
 */
int rxpost_conn_create(struct rxpost_binding *b, struct rdma_cm_id *id,
		       bool foreign)
{
	struct rxpost_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	int ret;

	if (!conn)
		return -ENOMEM;
	init_conn(conn, b->rcv, id);
	conn->foreign = foreign;
	spin_lock(&b->rcv->lock);
	ret = insert_conn(b, conn);
	spin_unlock(&b->rcv->lock);
	if (ret)
		kfree(conn);
	return ret;
}
