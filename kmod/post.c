// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - hands receives to the device. The only caller of ib_post_recv().
 *
 * Called by the queue's poller alone, so no lock of ours is held and no second
 * poster can get in between (rdmavt drops its lock after each WR of a chain,
 * drivers/infiniband/sw/rdmavt/qp.c). What drivers promise about a chain that
 * fails in the middle differs; this file relies on the least of it:
 *
 *  - The errno does not say what went wrong: a full queue is -ENOMEM here and
 *    -EINVAL there. It is counted, never interpreted.
 *  - bad_wr starts as the head. A driver that returns an error without writing
 *    it (rxe for a QP that is not valid, mana) has accepted nothing, and that
 *    is what "refused from the head on" then says.
 *  - Everything before bad_wr is the device's, it and all after it are ours.
 */
#include "rxpost.h"
#include "trace.h"

static void give_to_device(const struct rxpost_queue *q,
			   const struct rxpost_slot *s)
{
	u32 i;

	for (i = 0; i < q->nr_segments; i++)
		ib_dma_sync_single_for_device(q->dev, s->sge[i].addr,
					      s->sge[i].length,
					      DMA_FROM_DEVICE);
}

/*
 * Takes @n slots and links their WRs. The slots count as posted from here on:
 * a completion can come before ib_post_recv() returns.
 */
static struct ib_recv_wr *build_chain(struct rxpost_queue *q, u32 n)
{
	struct ib_recv_wr *head = NULL;
	struct ib_recv_wr **link = &head;

	while (n--) {
		struct rxpost_slot *s;

		s = rxpost_slot(q, rxpost_account_take(&q->account));
		give_to_device(q, s);
		*link = &s->wr;
		link = &s->wr.next;
	}
	*link = NULL;
	return head;
}

/* A device that is full in the middle of a chain of @n, as drivers report it. */
static int post_half(struct rxpost_queue *q, struct ib_recv_wr *head, u32 n,
		     const struct ib_recv_wr **bad_wr)
{
	struct ib_recv_wr *last = head;
	struct ib_recv_wr *rest;
	int ret;

	if (n < 2)
		return -ENOMEM;
	for (n /= 2; n > 1; n--)
		last = last->next;
	rest = last->next;
	last->next = NULL;
	ret = ib_post_recv(q->qp, head, bad_wr);
	last->next = rest;
	if (ret)
		return ret;
	*bad_wr = rest;
	return -ENOMEM;
}

static int post_chain(struct rxpost_queue *q, struct ib_recv_wr *head, u32 n,
		      const struct ib_recv_wr **bad_wr)
{
	if (rxpost_fault(RXPOST_FAULT_UNTOUCHED))
		return -EINVAL;
	if (rxpost_fault(RXPOST_FAULT_REFUSE))
		return post_half(q, head, n, bad_wr);
	return ib_post_recv(q->qp, head, bad_wr);
}

/* Takes back @wr and all that follow it. */
static u32 take_back(struct rxpost_queue *q, const struct ib_recv_wr *wr)
{
	u32 n = 0;

	for (; wr; wr = wr->next, n++)
		rxpost_account_refuse(&q->account,
				      FIELD_GET(RXPOST_WR_SLOT, wr->wr_id));
	return n;
}

/**
 * rxpost_post() - post receives as one chain
 * @q: the queue; the caller is its poller
 * @hist: the poller's histograms
 * @n: how many, from 1 to RXPOST_BATCH_MAX and to what is ripe and free
 *
 * Held slots go first, the oldest at the head. Refused receives are free again
 * and stay so until the caller tries again, later.
 *
 * Context: poller thread; does not sleep. Return: receives accepted.
 */
u32 rxpost_post(struct rxpost_queue *q, struct rxpost_histograms *hist, u32 n)
{
	struct ib_recv_wr *head = build_chain(q, n);
	const struct ib_recv_wr *bad_wr = head;
	u32 refused;
	int ret;

	ret = post_chain(q, head, n, &bad_wr);
	q->counters.post_calls++;
	q->counters.post_wrs += n;
	hist->chain[n]++;
	if (likely(!ret)) {
		trace_rxpost_post(q->qp->qp_num, n, 0, 0);
		return n;
	}

	refused = take_back(q, bad_wr);
	q->counters.refused_calls++;
	q->counters.refused_wrs += refused;
	hist->refused[min_t(u32, -ret, RXPOST_ERRNOS - 1)]++;
	trace_rxpost_post(q->qp->qp_num, n, refused, ret);
	return n - refused;
}
