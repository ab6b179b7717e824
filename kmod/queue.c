// SPDX-License-Identifier: GPL-2.0
/*
 * queue.c - the slots of one receive queue: buffers, DMA mappings, WRs, SGEs.
 *
 * Everything a receive needs is made here, once, before the first post, and
 * taken down after the QP is destroyed. Called by the receiver's worker only
 * (conn.c); between the two calls the queue is its poller's.
 *
 * Buffers are carved from pages, each aligned to a line of the DMA's cache and
 * sharing none with another buffer or with anything else, as DMA demands.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "rxpost.h"

static u32 slot_stride(u32 slot_size)
{
	return ALIGN(slot_size, max(L1_CACHE_BYTES, dma_get_cache_alignment()));
}

static u32 slots_per_page(u32 slot_size)
{
	return max_t(u32, PAGE_SIZE / slot_stride(slot_size), 1);
}

/**
 * rxpost_queue_bytes() - memory one queue takes
 * @slots: number of slots
 * @slot_size: bytes in a slot
 *
 * Counts what is allocated, not what is asked: whole pages, and the work
 * requests and books beside them. Context: any. Return: bytes.
 */
u64 rxpost_queue_bytes(u32 slots, u32 slot_size)
{
	u64 pages = DIV_ROUND_UP(slots, slots_per_page(slot_size));
	u64 per_slot = sizeof(struct rxpost_slot) +
		       sizeof(u8) + 2 * sizeof(u32);	/* alloc_account() */

	return (pages << (PAGE_SHIFT + get_order(slot_size))) +
	       pages * sizeof(struct page *) + slots * per_slot;
}

static int alloc_buffers(struct rxpost_queue *q, u32 slots)
{
	/* Fails a connection rather than have the OOM killer end a bystander. */
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_COMP |
		    __GFP_RETRY_MAYFAIL;
	int node = ibdev_to_node(q->dev);
	u32 n;

	q->order = get_order(q->slot_size);
	q->stride = slot_stride(q->slot_size);
	q->per_page = slots_per_page(q->slot_size);
	n = DIV_ROUND_UP(slots, q->per_page);
	q->pages = kvcalloc(n, sizeof(*q->pages), GFP_KERNEL);
	if (!q->pages)
		return -ENOMEM;
	while (q->nr_pages < n) {
		struct page *page = alloc_pages_node(node, gfp, q->order);

		if (!page)
			return -ENOMEM;
		q->pages[q->nr_pages++] = page;
	}
	return 0;
}

static void free_buffers(struct rxpost_queue *q)
{
	while (q->nr_pages)
		__free_pages(q->pages[--q->nr_pages], q->order);
	kvfree(q->pages);
	q->pages = NULL;
}

static int alloc_account(struct rxpost_queue *q, u32 slots)
{
	u8 *state = kvcalloc(slots, sizeof(*state), GFP_KERNEL);
	u32 *free = kvcalloc(slots, sizeof(*free), GFP_KERNEL);
	u32 *held = kvcalloc(slots, sizeof(*held), GFP_KERNEL);

	if (!state || !free || !held) {
		kvfree(state);
		kvfree(free);
		kvfree(held);
		return -ENOMEM;
	}
	rxpost_account_init(&q->account, slots, state, free, held);
	return 0;
}

static void free_account(struct rxpost_queue *q)
{
	kvfree(q->account.state);
	kvfree(q->account.free);
	kvfree(q->account.held);
	q->account.state = NULL;
	q->account.free = NULL;
	q->account.held = NULL;
}

static int map_slot(struct rxpost_queue *q, struct rxpost_slot *s)
{
	if (rxpost_fault(RXPOST_FAULT_MAP))
		return -EIO;
	s->sge.addr = ib_dma_map_single(q->dev, s->buf, q->slot_size,
					DMA_FROM_DEVICE);
	return ib_dma_mapping_error(q->dev, s->sge.addr) ? -EIO : 0;
}

/*
 * Fills in slot @i for good: only wr.next is written after this. So what is
 * right here (one SGE, its length, its key) is right in every WR of every
 * chain, and needs no second look on the way to the device.
 */
static int init_slot(struct rxpost_queue *q, struct rxpost_conn *conn,
		     struct ib_pd *pd, u32 i)
{
	struct rxpost_slot *s = &q->slots[i];
	int ret;

	s->buf = page_address(q->pages[i / q->per_page]) +
		 (i % q->per_page) * q->stride;
	ret = map_slot(q, s);
	if (ret)
		return ret;
	s->sge.length = q->slot_size;
	s->sge.lkey = pd->local_dma_lkey;
	s->wr.wr_id = rxpost_wr_id(RXPOST_WR_RECV, conn->generation,
				   conn->index, i);
	s->wr.sg_list = &s->sge;
	s->wr.num_sge = 1;
	return 0;
}

static void unmap_slots(struct rxpost_queue *q, struct rxpost_conn *conn)
{
	while (q->nr_mapped) {
		struct rxpost_slot *s = &q->slots[--q->nr_mapped];

		ib_dma_unmap_single(q->dev, s->sge.addr, q->slot_size,
				    DMA_FROM_DEVICE);
		atomic64_dec(&conn->rcv->mappings);
	}
}

static int map_slots(struct rxpost_queue *q, struct rxpost_conn *conn,
		     struct ib_pd *pd)
{
	int ret;

	while (q->nr_mapped < q->account.ledger.slots) {
		ret = init_slot(q, conn, pd, q->nr_mapped);
		if (ret)
			return ret;
		q->nr_mapped++;
		atomic64_inc(&conn->rcv->mappings);
	}
	return 0;
}

/**
 * rxpost_queue_init() - make the slots of a connection's queue
 * @q: zeroed queue inside @conn
 * @conn: the connection, not yet attached to its poller
 * @pd: protection domain whose local_dma_lkey the SGEs carry
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EIO when the device's memory cannot be mapped. On an
 * error nothing is left behind.
 */
int rxpost_queue_init(struct rxpost_queue *q, struct rxpost_conn *conn,
		      struct ib_pd *pd)
{
	const struct rxpost_config *cfg = &conn->rcv->cfg;
	u32 slots = cfg->depth_max;
	int ret;

	q->dev = pd->device;
	q->slot_size = cfg->slot_size;
	q->counters.lowest = U32_MAX;
	q->slots = kvzalloc_node(array_size(slots, sizeof(*q->slots)),
				 GFP_KERNEL, ibdev_to_node(q->dev));
	if (!q->slots)
		return -ENOMEM;
	ret = alloc_account(q, slots);
	if (ret)
		goto free_slots;
	ret = alloc_buffers(q, slots);
	if (ret)
		goto free_buffers;
	ret = map_slots(q, conn, pd);
	if (ret)
		goto unmap_slots;
	atomic64_add(rxpost_queue_bytes(slots, q->slot_size),
		     &conn->rcv->memory);
	return 0;

unmap_slots:
	unmap_slots(q, conn);
free_buffers:
	free_buffers(q);
	free_account(q);
free_slots:
	kvfree(q->slots);
	q->slots = NULL;
	return ret;
}

/* No completion came for these, and with the QP gone none can. */
static void reclaim_slots(struct rxpost_queue *q, struct rxpost_conn *conn)
{
	u32 n = q->account.ledger.outstanding;
	u32 i;

	if (!n)
		return;
	pr_warn("%s: QP %u: reclaimed %u receives that the device never completed\n",
		dev_name(&q->dev->dev), conn->qpn, n);
	for (i = 0; i < q->account.ledger.slots; i++)
		rxpost_account_reclaim(&q->account, i);
}

/**
 * rxpost_queue_free() - take a queue down
 * @q: the queue, detached from its poller or never attached
 * @conn: its connection; the QP must have been destroyed
 *
 * What is still posted is reclaimed, with one warning, and everything is
 * unmapped and freed. The ledger stays readable. Harmless on a queue that was
 * never made. Context: process, may sleep.
 */
void rxpost_queue_free(struct rxpost_queue *q, struct rxpost_conn *conn)
{
	if (!q->slots)
		return;
	reclaim_slots(q, conn);
	unmap_slots(q, conn);
	atomic64_sub(rxpost_queue_bytes(q->account.ledger.slots, q->slot_size),
		     &conn->rcv->memory);
	free_buffers(q);
	free_account(q);
	kvfree(q->slots);
	q->slots = NULL;
}
