// SPDX-License-Identifier: GPL-2.0
/*
 * upkeep.c - live connections between their accept and their end: the RNR timer
 * of their QPs, and the peers that went silent.
 *
 * Runs on the receiver's worker, as conn.c does, and so never beside the accept
 * or the teardown of any connection of that receiver: while one of these
 * functions looks at a connection, nobody frees it or moves its QP.
 */
#include "rxpost.h"

/*
 * How long a peer has been silent that could have been heard. With messages
 * still held, or nothing posted, it is us who keep it waiting; with answers
 * under way it is the peer, for as long as it takes none. When it took one is not
 * noted with each message, but seen here, from one look to the next.
 */
static u64 silent_ns(struct rxpost_conn *conn)
{
	struct rxpost_published pub;
	u64 now, mark = 0;

	rxpost_read_conn(conn, &pub);
	now = ktime_get_ns();
	if (pub.sends.outstanding)
		mark = pub.sends.completed + 1;
	if (mark != conn->answers_mark) {
		conn->answers_mark = mark;
		conn->answers_ns = now;
	}
	if (!mark && (pub.ledger.held || !pub.ledger.outstanding))
		return 0;
	return now - max3(pub.last_rx_ns, conn->upkeep_ns,
			  mark ? conn->answers_ns : 0);
}

/* Ends a connection that was silent too long, or comes back when it may be. */
static void check_idle(struct rxpost_conn *conn)
{
	u32 ms = READ_ONCE(conn->rcv->cfg.idle_timeout_ms);
	u64 silent_ms;

	if (!ms || test_bit(RXPOST_CONN_DYING, &conn->flags))
		return;
	silent_ms = div_u64(silent_ns(conn), NSEC_PER_MSEC);
	if (silent_ms >= ms) {
		rxpost_conn_kill(conn, "nothing received for %u ms (idle-timeout)",
				 ms);
		return;
	}
	kthread_mod_delayed_work(conn->rcv->worker, &conn->idle_work,
				 msecs_to_jiffies(ms - silent_ms) + 1);
}

static void idle_over(struct kthread_work *work)
{
	check_idle(container_of(work, struct rxpost_conn, idle_work.work));
}

/*
 * RTS to RTS. An error is no reason to end a connection: its QP may just have
 * failed, and what it asks for is shown for each connection.
 */
static void change_rnr_timer(struct rxpost_conn *conn)
{
	u8 code = READ_ONCE(conn->rcv->cfg.rnr_code);
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.min_rnr_timer = code,
	};

	if (code == conn->rnr_code)
		return;
	if (!ib_modify_qp(conn->queue.qp, &attr,
			  IB_QP_STATE | IB_QP_MIN_RNR_TIMER))
		WRITE_ONCE(conn->rnr_code, code);
}

/**
 * rxpost_upkeep_init() - prepare a connection for upkeep
 * @conn: the connection, just made
 *
 * Context: any.
 */
void rxpost_upkeep_init(struct rxpost_conn *conn)
{
	kthread_init_delayed_work(&conn->idle_work, idle_over);
}

/**
 * rxpost_upkeep_begin() - look after a connection from now on
 * @conn: the connection, accepted
 *
 * Context: the receiver's worker.
 */
void rxpost_upkeep_begin(struct rxpost_conn *conn)
{
	WRITE_ONCE(conn->upkeep_ns, ktime_get_ns());
	check_idle(conn);
}

/**
 * rxpost_upkeep_end() - look after a connection no more
 * @conn: the connection, marked as dying
 *
 * Context: the receiver's worker.
 */
void rxpost_upkeep_end(struct rxpost_conn *conn)
{
	kthread_cancel_delayed_work_sync(&conn->idle_work);
}

/* Only the worker, which runs this, takes connections out and frees them. */
static struct rxpost_conn *conn_at(struct rxpost_receiver *rcv, u32 index)
{
	struct rxpost_conn *conn;

	spin_lock(&rcv->lock);
	conn = rcv->conn_by_index[index];
	spin_unlock(&rcv->lock);
	return conn;
}

/**
 * rxpost_retune() - bring live connections in line with a changed configuration
 * @work: the receiver's retune_work
 *
 * Connections that are accepted later read the new configuration themselves.
 * Context: the receiver's worker.
 */
void rxpost_retune(struct kthread_work *work)
{
	struct rxpost_receiver *rcv = container_of(work, struct rxpost_receiver,
						   retune_work);
	u32 i;

	for (i = 0; i < rcv->cfg.max_conns; i++) {
		struct rxpost_conn *conn = conn_at(rcv, i);

		if (!conn || !conn->accepted ||
		    test_bit(RXPOST_CONN_DYING, &conn->flags))
			continue;
		change_rnr_timer(conn);
		check_idle(conn);
	}
}
