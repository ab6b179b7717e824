// SPDX-License-Identifier: GPL-2.0
/*
 * complete.c - what a completion means.
 *
 * Finds the slot a completion is for, by its wr_id alone, enters it in the
 * books, hands a message to the sink, and ends a connection whose receive, or
 * answer, failed. Called by poll.c, on the poller's thread, once a turn.
 */
#include "rxpost.h"
#include "trace.h"

/* The books that a completion of a kind is for; NULL if there are none. */
static struct rxpost_account *account_of(struct rxpost_conn *conn, u32 kind)
{
	if (likely(kind == RXPOST_WR_RECV))
		return &conn->queue.account;
	return conn->echo ? &conn->echo->account : NULL;
}

/*
 * The connection and slot a completion is for, or NULL: then it is for nobody,
 * is counted, and changes nothing. wc->qp is not looked at: it may be gone.
 */
static struct rxpost_conn *find_conn(struct rxpost_poller *p,
				     const struct ib_wc *wc, u32 kind)
{
	u32 index = FIELD_GET(RXPOST_WR_CONN, wc->wr_id);
	u32 slot = FIELD_GET(RXPOST_WR_SLOT, wc->wr_id);
	bool stale = false;

	if (likely((kind == RXPOST_WR_RECV || kind == RXPOST_WR_SEND) &&
		   index < p->rcv->cfg.max_conns)) {
		u32 gen = FIELD_GET(RXPOST_WR_GENERATION, wc->wr_id);
		struct rxpost_conn *conn = p->conns[index];
		const struct rxpost_account *a;

		stale = !conn || conn->generation != gen;
		a = likely(!stale) ? account_of(conn, kind) : NULL;
		if (likely(a && rxpost_account_is(a, slot,
						  RXPOST_SLOT_POSTED)))
			return conn;
	}

	if (stale)
		p->hist.turns.stale++;
	else
		p->hist.turns.bogus++;
	trace_rxpost_unexpected(wc->wr_id, wc->status, stale);
	return NULL;
}

/* The first @len bytes of a slot are read from now on. */
static void take_from_device(const struct rxpost_queue *q,
			     const struct rxpost_slot *s, u32 len)
{
	const struct ib_sge *sge = s->sge;

	for (; len; sge++) {
		u32 part = min(len, sge->length);

		ib_dma_sync_single_for_cpu(q->dev, sge->addr, part,
					   DMA_FROM_DEVICE);
		len -= part;
	}
}

static void receive(struct rxpost_poller *p, struct rxpost_conn *conn,
		    const struct ib_wc *wc, u32 i)
{
	struct rxpost_queue *q = &conn->queue;
	struct rxpost_slot *slot = rxpost_slot(q, i);
	u32 len = min(wc->byte_len, q->slot_size);

	conn->last_rx_ns = p->now_ns;
	rxpost_account_complete(&q->account, i);
	if (unlikely(wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)) {
		/* An RDMA WRITE: byte_len is not about this buffer. */
		q->counters.imm++;
		q->counters.write_imm++;
		len = 0;
	} else {
		take_from_device(q, slot, len);
		q->counters.messages++;
		q->counters.bytes += len;
		if (unlikely(wc->wc_flags & IB_WC_WITH_IMM))
			q->counters.imm++;
		rxpost_sink(conn, slot, len);
	}
	if (unlikely(conn->slow))
		rxpost_sink_wait(conn, slot, len);
}

/*
 * Our SGEs have one key, which is right, so on rxe this status can only mean
 * the length (6.12 drivers/infiniband/sw/rxe/rxe_mr.c:434-437).
 */
static bool is_too_long(const struct rxpost_queue *q, enum ib_wc_status status)
{
	return status == IB_WC_LOC_LEN_ERR ||
	       (status == IB_WC_LOC_QP_OP_ERR &&
		q->dev->ops.driver_id == RDMA_DRIVER_RXE);
}

static void report(struct rxpost_conn *conn, const struct ib_wc *wc, u32 kind)
{
	const struct rxpost_queue *q = &conn->queue;

	/* The tests' peers take every answer, or go away: those are flushed. */
	if (kind == RXPOST_WR_SEND)
		snprintf(conn->failure, sizeof(conn->failure),
			 "answer failed: %s, vendor code 0x%x",
			 ib_wc_status_msg(wc->status), wc->vendor_err);
	else if (is_too_long(q, wc->status))
		snprintf(conn->failure, sizeof(conn->failure),
			 "message larger than slot: slot %u bytes (%s)",
			 q->slot_size, ib_wc_status_msg(wc->status));
	else
		snprintf(conn->failure, sizeof(conn->failure),
			 "receive failed: %s, vendor code 0x%x",
			 ib_wc_status_msg(wc->status), wc->vendor_err);
	/* The event tells the books as they are with this completion. */
	rxpost_publish(conn);
	rxpost_event(RXPOST_EVENT_TYPE_QP_ERROR, conn->rcv, conn, "%s",
		     conn->failure);
	rxpost_conn_kill(conn, "%s", conn->failure);
}

/* The QP is in ERR, or will be: nothing more is posted to it. */
static void fail(struct rxpost_conn *conn, const struct ib_wc *wc, u32 kind)
{
	if (conn->failed)
		return;
	conn->failed = true;
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		report(conn, wc, kind);
	else if (!conn->draining)
		rxpost_conn_lost(conn, kind == RXPOST_WR_SEND ?
				       "answers were flushed" :
				       "receives were flushed");
}

static void note_level(struct rxpost_conn *conn)
{
	struct rxpost_queue *q = &conn->queue;
	u32 level = q->account.ledger.outstanding;

	if (conn->failed || conn->draining)
		return;
	if (level < q->counters.lowest)
		q->counters.lowest = level;
	if (unlikely(!level))
		q->counters.empty++;
}

/* Not a message: enters what became of its slot, and of its connection. */
static void end_in_error(struct rxpost_conn *conn, const struct ib_wc *wc,
			 u32 slot, u32 kind)
{
	struct rxpost_account *a = account_of(conn, kind);

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		rxpost_account_flush(a, slot);
	else
		rxpost_account_fail(a, slot);
	fail(conn, wc, kind);
}

static void complete_answer(struct rxpost_conn *conn, const struct ib_wc *wc,
			    u32 slot)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		rxpost_account_sent(&conn->echo->account, slot);
	else
		end_in_error(conn, wc, slot, RXPOST_WR_SEND);
}

static void complete_receive(struct rxpost_poller *p, struct rxpost_conn *conn,
			     const struct ib_wc *wc, u32 slot)
{
	p->hist.status[min_t(u32, wc->status, RXPOST_WC_STATUSES - 1)]++;
	trace_rxpost_complete(conn->qpn, slot, wc->status,
			      wc->status ? 0 : wc->byte_len);
	if (likely(wc->status == IB_WC_SUCCESS))
		receive(p, conn, wc, slot);
	else
		end_in_error(conn, wc, slot, RXPOST_WR_RECV);
	note_level(conn);
}

static void complete_one(struct rxpost_poller *p, const struct ib_wc *wc,
			 struct rxpost_conn **touched)
{
	u32 slot = FIELD_GET(RXPOST_WR_SLOT, wc->wr_id);
	u32 kind = FIELD_GET(RXPOST_WR_KIND, wc->wr_id);
	struct rxpost_conn *conn = find_conn(p, wc, kind);

	if (unlikely(!conn))
		return;
	if (likely(kind == RXPOST_WR_RECV))
		complete_receive(p, conn, wc, slot);
	else
		complete_answer(conn, wc, slot);
	rxpost_touch(conn, touched);
}

/* Lets a completion come whose wr_id differs from that of @wc in @bits. */
static void complete_other(struct rxpost_poller *p, const struct ib_wc *wc,
			   u64 bits, struct rxpost_conn **touched)
{
	struct ib_wc other = *wc;

	other.wr_id ^= bits;
	complete_one(p, &other, touched);
}

/* Beside @wc, completions that are for nobody. */
static void confuse(struct rxpost_poller *p, const struct ib_wc *wc,
		    struct rxpost_conn **touched)
{
	u64 id = wc->wr_id;

	if (rxpost_fault(RXPOST_FAULT_INDEX))
		complete_other(p, wc, ~id & RXPOST_WR_CONN, touched);
	if (rxpost_fault(RXPOST_FAULT_SLOT))
		complete_other(p, wc, ~id & RXPOST_WR_SLOT, touched);
	if (rxpost_fault(RXPOST_FAULT_GENERATION))
		complete_other(p, wc, RXPOST_WR_GENERATION, touched);
	if (rxpost_fault(RXPOST_FAULT_KIND))
		complete_other(p, wc, ~id & RXPOST_WR_KIND, touched);
}

/* The fault points of a completion; true when it is not to be seen now. */
static bool faulty(struct rxpost_poller *p, const struct ib_wc *wc,
		   struct rxpost_conn **touched)
{
	if (wc->status == IB_WC_SUCCESS && rxpost_fault(RXPOST_FAULT_LOSE))
		return true;
	if (wc->status == IB_WC_WR_FLUSH_ERR &&
	    rxpost_fault_value(RXPOST_FAULT_NOFLUSH))
		return true;
	if (wc->status == IB_WC_WR_FLUSH_ERR &&
	    p->late.n < ARRAY_SIZE(p->late.wc) &&
	    rxpost_fault(RXPOST_FAULT_LATE)) {
		p->late.wc[p->late.n++] = *wc;
		return true;
	}
	confuse(p, wc, touched);
	if (rxpost_fault(RXPOST_FAULT_REPEAT))
		complete_one(p, wc, touched);
	return false;
}

/**
 * rxpost_complete() - account for the completions of one turn
 * @p: the poller, its wc filled; only wr_id and status are trusted in an error
 * @n: how many
 * @touched: the turn's list of connections to look at
 *
 * Context: poller thread; does not sleep.
 */
void rxpost_complete(struct rxpost_poller *p, int n,
		     struct rxpost_conn **touched)
{
	int i;

	for (i = 0; i < n; i++) {
		if (static_branch_unlikely(&rxpost_faults) &&
		    faulty(p, &p->wc[i], touched))
			continue;
		complete_one(p, &p->wc[i], touched);
	}
}

/**
 * rxpost_complete_late() - account for what RXPOST_FAULT_LATE kept back
 * @p: the poller
 * @touched: the turn's list of connections to look at
 *
 * Does nothing before a connection has attached since. Context: poller thread.
 */
void rxpost_complete_late(struct rxpost_poller *p,
			  struct rxpost_conn **touched)
{
	if (!p->late.due)
		return;
	p->late.due = false;
	while (p->late.n)
		complete_one(p, &p->late.wc[--p->late.n], touched);
}
