// SPDX-License-Identifier: GPL-2.0
/*
 * slot.c - a send of a run: its buffer, its mapping and its work request, and
 * whose it is. Called by queue.c, in the run's thread alone.
 */
#include "send.h"

#include <linux/cache.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "wire.h"

static bool rxps_has_header(const struct rxps_config *cfg)
{
	return cfg->size >= sizeof(struct rxpost_wire_hdr) &&
	       !(cfg->op->flags & RXPS_OP_READ);
}

static u32 rxps_slot_buf_size(const struct rxps_config *cfg)
{
	return cfg->size ? max_t(u32, cfg->size, L1_CACHE_BYTES) : 0;
}

/**
 * rxps_slots_bytes() - what the slots of a run take
 * @cfg: of the run
 *
 * Context: any. Return: bytes that rxps_slots_alloc() allocates at the most,
 * with what the allocator adds.
 */
u64 rxps_slots_bytes(const struct rxps_config *cfg)
{
	const struct rxps_queue *queue;
	u64 nr = cfg->in_flight;

	return nr * kmalloc_size_roundup(rxps_slot_buf_size(cfg)) +
	       PAGE_ALIGN(nr * sizeof(*queue->slots)) +
	       kmalloc_size_roundup(nr * sizeof(*queue->free));
}

/* All of a message that stays: only sequence number and time come later. */
static void rxps_slot_fill(u8 *buf, u32 size, u32 index)
{
	struct rxpost_wire_hdr *hdr = (void *)buf;
	u32 head = size >= sizeof(*hdr) ? sizeof(*hdr) : 0;
	u32 i;

	for (i = head; i < size; i++)
		buf[i] = i + index;
	if (!head)
		return;
	*hdr = (struct rxpost_wire_hdr) {
		.magic	= cpu_to_le32(RXPOST_WIRE_MAGIC),
		.len	= cpu_to_le32(size),
		.sum	= cpu_to_le32(rxpost_wire_sum(buf + head, size - head)),
	};
}

static int rxps_slot_init(struct rxps_run *run, u32 index)
{
	struct rxps_slot *slot = &run->queue.slots[index];
	struct ib_device *device = run->device;
	u32 size = run->cfg.size;
	u64 addr;

	slot->wr.wr_id = index;
	rxps_op_prepare(&run->cfg, slot);
	if (!size)
		return 0;

	slot->buf = kmalloc_node(rxps_slot_buf_size(&run->cfg),
				 GFP_KERNEL | __GFP_NOWARN |
				 __GFP_RETRY_MAYFAIL,
				 ibdev_to_node(device));
	if (!slot->buf)
		return -ENOMEM;
	rxps_slot_fill(slot->buf, size, index);

	addr = ib_dma_map_single(device, slot->buf, size,
				 rxps_op_direction(run->cfg.op));
	if (ib_dma_mapping_error(device, addr))
		goto free_buf;

	slot->sge.addr = addr;
	slot->sge.length = size;
	slot->sge.lkey = run->queue.pd->local_dma_lkey;
	slot->wr.sg_list = &slot->sge;
	slot->wr.num_sge = 1;
	return 0;

free_buf:
	kfree(slot->buf);
	slot->buf = NULL;
	return -EIO;
}

/**
 * rxps_slots_free() - undo rxps_slots_alloc()
 * @run: run, whose QP is gone
 *
 * Also takes slots that rxps_slot_init() never saw or could not finish.
 *
 * Context: the run's thread.
 */
void rxps_slots_free(struct rxps_run *run)
{
	struct rxps_queue *queue = &run->queue;
	struct rxps_slot *slot;
	u32 i;

	for (i = 0; i < run->cfg.in_flight; i++) {
		slot = &queue->slots[i];
		if (!slot->buf)
			continue;
		ib_dma_unmap_single(run->device, slot->sge.addr,
				    slot->sge.length,
				    rxps_op_direction(run->cfg.op));
		kfree(slot->buf);
	}
	kvfree(queue->free);
	vfree(queue->slots);
}

/**
 * rxps_slots_alloc() - give a run its in_flight slots, all of them free
 * @run: run, with a PD
 *
 * Context: the run's thread. Return: 0 or a negative errno; after 0 the caller
 * owes rxps_slots_free().
 */
int rxps_slots_alloc(struct rxps_run *run)
{
	struct rxps_queue *queue = &run->queue;
	u32 nr = run->cfg.in_flight;
	u32 i;
	int ret;

	queue->free = kvcalloc(nr, sizeof(*queue->free), GFP_KERNEL);
	if (!queue->free)
		return -ENOMEM;
	queue->slots = vzalloc_node(array_size(nr, sizeof(*queue->slots)),
				    ibdev_to_node(run->device));
	if (!queue->slots) {
		kvfree(queue->free);
		return -ENOMEM;
	}

	for (i = 0; i < nr; i++) {
		ret = rxps_slot_init(run, i);
		if (ret)
			goto free_slots;
		queue->free[nr - 1 - i] = i;
		cond_resched();
	}
	queue->nr_free = nr;
	queue->stamps = rxps_has_header(&run->cfg) ||
			run->cfg.op->flags & RXPS_OP_IMM;
	return 0;

free_slots:
	rxps_slots_free(run);
	return ret;
}

/* The slot is the CPU's until the second sync gives it to the device. */
static void rxps_slot_head(struct rxps_run *run, struct rxps_slot *slot,
			   u64 seq, u64 now)
{
	struct rxpost_wire_hdr *hdr = slot->buf;

	ib_dma_sync_single_for_cpu(run->device, slot->sge.addr, sizeof(*hdr),
				   DMA_TO_DEVICE);
	hdr->seq = cpu_to_le64(seq);
	hdr->time_ns = cpu_to_le64(now);
	ib_dma_sync_single_for_device(run->device, slot->sge.addr,
				      sizeof(*hdr), DMA_TO_DEVICE);
}

/**
 * rxps_slot_stamp() - write what is of this message alone
 * @run: run, whose messages have anything of the kind (queue.stamps)
 * @slot: its slot, about to be posted
 * @seq: sequence number of the message
 * @now: ktime_get_ns()
 *
 * Context: the run's thread.
 */
void rxps_slot_stamp(struct rxps_run *run, struct rxps_slot *slot, u64 seq,
		     u64 now)
{
	if (rxps_has_header(&run->cfg))
		rxps_slot_head(run, slot, seq, now);
	if (run->cfg.op->flags & RXPS_OP_IMM)
		slot->wr.ex.imm_data = cpu_to_be32(lower_32_bits(seq));
}

/**
 * rxps_slot_complete() - take a slot back from the device
 * @run: run
 * @wr_id: of a completion
 *
 * Context: the run's thread. Return: whether there is such a slot and the
 * completion is its own.
 */
bool rxps_slot_complete(struct rxps_run *run, u64 wr_id)
{
	struct rxps_queue *queue = &run->queue;
	u32 index = wr_id & RXPS_WR_SLOT_MASK;
	struct rxps_slot *slot;

	if (index >= run->cfg.in_flight)
		return false;
	slot = &queue->slots[index];
	if (slot->wr.wr_id != wr_id || !(wr_id & RXPS_WR_GENERATION))
		return false;

	slot->wr.wr_id += RXPS_WR_GENERATION;
	queue->free[queue->nr_free++] = index;
	return true;
}
