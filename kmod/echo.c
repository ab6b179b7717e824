// SPDX-License-Identifier: GPL-2.0
/*
 * echo.c - the answers of the echo sink.
 *
 * Each message is answered with its first bytes, enough for the header that a
 * sender measures its round trips by. Answers have a small send queue of their
 * own, with books of their own, and share their connection's CQ. A message
 * whose answer finds no room stays HELD: so a peer that does not take its
 * answers is told to wait like any that is too fast.
 *
 * Made and freed by the receiver's worker (conn.c); in between rxpost_echo_post()
 * is the poller's (sink.c), and so is what complete.c does with completions.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "rxpost.h"

static u32 answer_stride(void)
{
	return ALIGN(RXPOST_ECHO_SIZE,
		     max(L1_CACHE_BYTES, dma_get_cache_alignment()));
}

/**
 * rxpost_echo_bytes() - memory the answers of one connection take
 * @cfg: its receiver's configuration
 *
 * Context: any. Return: bytes, 0 unless the sink is echo.
 */
u64 rxpost_echo_bytes(const struct rxpost_config *cfg)
{
	if (cfg->sink != RXPOST_SINK_ECHO)
		return 0;
	return sizeof(struct rxpost_echo) +
	       RXPOST_ECHO_WR * (sizeof(struct rxpost_answer) +
				 answer_stride());
}

static void init_answers(struct rxpost_echo *e, struct rxpost_conn *conn,
			 struct ib_pd *pd)
{
	u32 i;

	for (i = 0; i < RXPOST_ECHO_WR; i++) {
		struct rxpost_answer *a = &e->answers[i];

		a->sge.addr = e->addr + i * e->stride;
		a->sge.lkey = pd->local_dma_lkey;
		a->wr.wr_id = rxpost_wr_id(RXPOST_WR_SEND, conn->generation,
					   conn->index, i);
		a->wr.sg_list = &a->sge;
		a->wr.num_sge = 1;
		a->wr.opcode = IB_WR_SEND;
		a->wr.send_flags = IB_SEND_SIGNALED;
	}
}

static int map_answers(struct rxpost_echo *e)
{
	if (rxpost_fault(RXPOST_FAULT_MAP))
		return -EIO;
	e->addr = ib_dma_map_single(e->dev, e->buf, RXPOST_ECHO_WR * e->stride,
				    DMA_TO_DEVICE);
	return ib_dma_mapping_error(e->dev, e->addr) ? -EIO : 0;
}

/**
 * rxpost_echo_create() - make the answers of a connection
 * @conn: the connection, not yet attached to its poller
 * @pd: protection domain whose local_dma_lkey the SGEs carry
 *
 * Context: process, may sleep. Return: the answers, for rxpost_echo_free(); an
 * ERR_PTR of -ENOMEM, or of -EIO when their memory cannot be mapped.
 */
struct rxpost_echo *rxpost_echo_create(struct rxpost_conn *conn,
				       struct ib_pd *pd)
{
	int node = ibdev_to_node(pd->device);
	struct rxpost_echo *e;
	int ret = -ENOMEM;

	e = kzalloc_node(sizeof(*e), GFP_KERNEL, node);
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->dev = pd->device;
	e->stride = answer_stride();
	e->answers = kcalloc_node(RXPOST_ECHO_WR, sizeof(*e->answers),
				  GFP_KERNEL, node);
	if (!e->answers)
		goto free_echo;
	e->buf = kcalloc_node(RXPOST_ECHO_WR, e->stride, GFP_KERNEL, node);
	if (!e->buf)
		goto free_answers;
	ret = map_answers(e);
	if (ret)
		goto free_buf;
	/* Nothing of it is ever held, so there is no ring. */
	rxpost_account_init(&e->account, RXPOST_ECHO_WR, e->state, e->free,
			    NULL);
	init_answers(e, conn, pd);
	atomic64_inc(&conn->rcv->mappings);
	atomic64_add(rxpost_echo_bytes(&conn->rcv->cfg), &conn->rcv->memory);
	return e;

free_buf:
	kfree(e->buf);
free_answers:
	kfree(e->answers);
free_echo:
	kfree(e);
	return ERR_PTR(ret);
}

static void reclaim_answers(struct rxpost_echo *e, struct rxpost_conn *conn)
{
	u32 n = e->account.ledger.outstanding;
	u32 i;

	if (!n)
		return;
	pr_warn("%s: QP %u: reclaimed %u answers that the device never completed\n",
		dev_name(&e->dev->dev), conn->qpn, n);
	for (i = 0; i < RXPOST_ECHO_WR; i++)
		rxpost_account_reclaim(&e->account, i);
}

/**
 * rxpost_echo_free() - take the answers of a connection down
 * @echo: the answers, detached from their poller; their ledger stays readable,
 *	and the caller frees @echo itself, with kfree(). NULL is harmless
 * @conn: their connection; the QP must have been destroyed
 *
 * Context: process, may sleep.
 */
void rxpost_echo_free(struct rxpost_echo *echo, struct rxpost_conn *conn)
{
	if (!echo)
		return;
	reclaim_answers(echo, conn);
	ib_dma_unmap_single(echo->dev, echo->addr,
			    RXPOST_ECHO_WR * echo->stride, DMA_TO_DEVICE);
	atomic64_dec(&conn->rcv->mappings);
	atomic64_sub(rxpost_echo_bytes(&conn->rcv->cfg), &conn->rcv->memory);
	kfree(echo->buf);
	kfree(echo->answers);
	echo->buf = NULL;
	echo->answers = NULL;
}

/* Writes the answer to what is in @slot; the device has no part in it now. */
static void write_answer(struct rxpost_conn *conn, struct rxpost_answer *a,
			 u32 i, struct rxpost_slot *slot)
{
	struct rxpost_echo *e = conn->echo;
	u8 room[RXPOST_ECHO_SIZE];
	u32 len = slot->answer;

	ib_dma_sync_single_for_cpu(e->dev, a->sge.addr, len, DMA_TO_DEVICE);
	memcpy(e->buf + i * e->stride,
	       rxpost_slot_head(&conn->queue, slot, room, len), len);
	ib_dma_sync_single_for_device(e->dev, a->sge.addr, len, DMA_TO_DEVICE);
	a->sge.length = len;
}

/* Of answers to up to @n messages, until one wants none; @built says how many. */
static struct ib_send_wr *build_chain(struct rxpost_conn *conn, u32 n,
				      u32 *built)
{
	struct rxpost_echo *e = conn->echo;
	struct rxpost_queue *q = &conn->queue;
	struct ib_send_wr *head = NULL;
	struct ib_send_wr **link = &head;
	u32 k;

	for (k = 0; k < n && e->account.ledger.free; k++) {
		struct rxpost_slot *slot;
		struct rxpost_answer *a;
		u32 i;

		slot = rxpost_slot(q, rxpost_account_waiting(&q->account, k));
		if (!slot->answer)
			break;
		i = rxpost_account_take(&e->account);
		a = &e->answers[i];
		write_answer(conn, a, i, slot);
		*link = &a->wr;
		link = &a->wr.next;
	}
	*link = NULL;
	*built = k;
	return head;
}

static u32 take_back(struct rxpost_echo *e, const struct ib_send_wr *wr)
{
	u32 n = 0;

	for (; wr; wr = wr->next, n++)
		rxpost_account_refuse(&e->account,
				      FIELD_GET(RXPOST_WR_SLOT, wr->wr_id));
	return n;
}

/**
 * rxpost_echo_post() - answer the messages that have waited longest
 * @conn: their connection, with an echo sink
 * @n: how many at most
 *
 * As one chain. What the device refuses is taken back, and its messages wait
 * on. Context: poller thread; does not sleep. Return: messages answered.
 */
u32 rxpost_echo_post(struct rxpost_conn *conn, u32 n)
{
	const struct ib_send_wr *bad_wr;
	struct ib_send_wr *head;
	u32 built;

	head = build_chain(conn, n, &built);
	if (!head)
		return 0;
	/* As for receives (post.c): untouched means that nothing was taken. */
	bad_wr = head;
	if (likely(!ib_post_send(conn->queue.qp, head, &bad_wr)))
		return built;
	return built - take_back(conn->echo, bad_wr);
}
