// SPDX-License-Identifier: GPL-2.0
/*
 * queue.c - the slots of one receive queue: buffers, DMA mappings, WRs, SGEs.
 *
 * Everything a receive needs is made here, once, before the first post, and
 * taken down after the QP is destroyed. Called by the receiver's worker only
 * (conn.c); between the two calls the queue is its poller's.
 *
 * Each segment of a slot is a buffer and a mapping of its own. Buffers are
 * carved from pages, each aligned to a line of the DMA's cache and sharing none
 * with another buffer or with anything else, as DMA demands.
 */
#include <linux/dma-mapping.h>
#include <linux/kmemleak.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "rxpost.h"

static u32 buffer_stride(u32 size)
{
	return ALIGN(size, max(L1_CACHE_BYTES, dma_get_cache_alignment()));
}

static u32 buffers_per_page(u32 size)
{
	return max_t(u32, PAGE_SIZE / buffer_stride(size), 1);
}

static u64 buffer_bytes(u32 slots, u32 size)
{
	u64 pages = DIV_ROUND_UP(slots, buffers_per_page(size));

	return (pages << (PAGE_SHIFT + get_order(size))) +
	       pages * sizeof(void *);
}

static u32 slot_shift(u32 nr_segments)
{
	size_t per_segment = sizeof(struct ib_sge) + sizeof(void *);

	return order_base_2(max_t(size_t, L1_CACHE_BYTES,
				  sizeof(struct rxpost_slot) +
				  nr_segments * per_segment));
}

/**
 * rxpost_queue_bytes() - memory the queue of one connection takes
 * @cfg: its receiver's configuration
 *
 * Counts what is allocated, not what is asked: whole pages, and the work
 * requests and books beside them. Context: any. Return: bytes.
 */
u64 rxpost_queue_bytes(const struct rxpost_config *cfg)
{
	u64 per_slot = BIT_ULL(slot_shift(cfg->nr_segments)) +
		       sizeof(u8) + 2 * sizeof(u32);	/* alloc_account() */
	u64 bytes = cfg->depth_max * per_slot +
		    cfg->nr_segments * sizeof(struct rxpost_buffers);
	u32 i;

	for (i = 0; i < cfg->nr_segments; i++)
		bytes += buffer_bytes(cfg->depth_max, cfg->segments[i]);
	return bytes;
}

static int alloc_pages_of(struct rxpost_buffers *b, u32 n, int node)
{
	/* Fails a connection rather than have the OOM killer end a bystander. */
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_COMP |
		    __GFP_RETRY_MAYFAIL;

	b->pages = kvcalloc(n, sizeof(*b->pages), GFP_KERNEL);
	if (!b->pages)
		return -ENOMEM;
	while (b->nr_pages < n) {
		struct page *page = alloc_pages_node(node, gfp, b->order);
		void *buf;

		if (!page)
			return -ENOMEM;
		/* Pages are not its business unless told; a peer writes them. */
		buf = page_address(page);
		kmemleak_alloc(buf, PAGE_SIZE << b->order, 1, GFP_KERNEL);
		kmemleak_no_scan(buf);
		b->pages[b->nr_pages++] = buf;
	}
	return 0;
}

static int alloc_buffers(struct rxpost_queue *q,
			 const struct rxpost_config *cfg)
{
	int node = ibdev_to_node(q->dev);
	u32 i;
	int ret;

	q->buffers = kcalloc(q->nr_segments, sizeof(*q->buffers), GFP_KERNEL);
	if (!q->buffers)
		return -ENOMEM;
	for (i = 0; i < q->nr_segments; i++) {
		struct rxpost_buffers *b = &q->buffers[i];

		b->size = cfg->segments[i];
		b->order = get_order(b->size);
		b->stride = buffer_stride(b->size);
		b->per_page = buffers_per_page(b->size);
		ret = alloc_pages_of(b, DIV_ROUND_UP(cfg->depth_max,
						     b->per_page), node);
		if (ret)
			return ret;
	}
	return 0;
}

/* Also takes what alloc_buffers() could not finish. */
static void free_buffers(struct rxpost_queue *q)
{
	u32 i;

	for (i = 0; q->buffers && i < q->nr_segments; i++) {
		struct rxpost_buffers *b = &q->buffers[i];

		while (b->nr_pages) {
			void *buf = b->pages[--b->nr_pages];

			kmemleak_free(buf);
			free_pages((unsigned long)buf, b->order);
		}
		kvfree(b->pages);
	}
	kfree(q->buffers);
	q->buffers = NULL;
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

static int map_segment(struct rxpost_queue *q, struct ib_sge *sge, void *buf,
		       u32 size)
{
	if (rxpost_fault(RXPOST_FAULT_MAP))
		return -EIO;
	sge->addr = ib_dma_map_single(q->dev, buf, size, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(q->dev, sge->addr))
		return -EIO;
	sge->length = size;
	return 0;
}

/*
 * Fills in slot @i for good: only wr.next is written after this. So what is
 * right here (number, lengths and keys of its SGEs) is right in every WR of
 * every chain, and needs no second look on the way to the device.
 */
static int init_slot(struct rxpost_queue *q, struct rxpost_conn *conn,
		     struct ib_pd *pd, u32 i)
{
	struct rxpost_slot *s = rxpost_slot(q, i);
	u32 k;
	int ret;

	for (k = 0; k < q->nr_segments; k++) {
		const struct rxpost_buffers *b = &q->buffers[k];
		void *buf = b->pages[i / b->per_page] +
			    (i % b->per_page) * b->stride;

		ret = map_segment(q, &s->sge[k], buf, b->size);
		if (ret)
			return ret;
		q->nr_mapped++;
		atomic64_inc(&conn->rcv->mappings);
		s->sge[k].lkey = pd->local_dma_lkey;
		rxpost_slot_bufs(q, s)[k] = buf;
	}
	s->wr.wr_id = rxpost_wr_id(RXPOST_WR_RECV, conn->generation,
				   conn->index, i);
	s->wr.sg_list = s->sge;
	s->wr.num_sge = q->nr_segments;
	return 0;
}

/* Also of a slot that init_slot() could not finish. */
static void unmap_slots(struct rxpost_queue *q, struct rxpost_conn *conn)
{
	while (q->nr_mapped) {
		u32 at = --q->nr_mapped;
		const struct ib_sge *sge;

		sge = &rxpost_slot(q, at / q->nr_segments)->
			sge[at % q->nr_segments];
		ib_dma_unmap_single(q->dev, sge->addr, sge->length,
				    DMA_FROM_DEVICE);
		atomic64_dec(&conn->rcv->mappings);
		cond_resched();
	}
}

static int map_slots(struct rxpost_queue *q, struct rxpost_conn *conn,
		     struct ib_pd *pd)
{
	u32 i;
	int ret;

	for (i = 0; i < q->account.ledger.slots; i++) {
		ret = init_slot(q, conn, pd, i);
		if (ret)
			return ret;
		cond_resched();
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
	q->nr_segments = cfg->nr_segments;
	q->slot_shift = slot_shift(cfg->nr_segments);
	q->counters.lowest = U32_MAX;
	q->slots = kvzalloc_node((size_t)slots << q->slot_shift, GFP_KERNEL,
				 ibdev_to_node(q->dev));
	if (!q->slots)
		return -ENOMEM;
	ret = alloc_account(q, slots);
	if (ret)
		goto free_slots;
	ret = alloc_buffers(q, cfg);
	if (ret)
		goto free_buffers;
	ret = map_slots(q, conn, pd);
	if (ret)
		goto unmap_slots;
	q->bytes = rxpost_queue_bytes(cfg);
	atomic64_add(q->bytes, &conn->rcv->memory);
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
	atomic64_sub(q->bytes, &conn->rcv->memory);
	free_buffers(q);
	free_account(q);
	kvfree(q->slots);
	q->slots = NULL;
}
