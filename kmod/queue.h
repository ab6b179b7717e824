/* SPDX-License-Identifier: GPL-2.0 */
/*
 * queue.h - one receive queue: its slots, where their bytes are, its counters.
 *
 * Made and freed by queue.c; in between it belongs to its poller, and the
 * functions in here are for the poller's thread.
 */
#ifndef _RXPOST_QUEUE_H
#define _RXPOST_QUEUE_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "account.h"
#include "wire.h"

/* Most bytes in an answer of the echo sink: a header. */
#define RXPOST_ECHO_SIZE	sizeof(struct rxpost_wire_hdr)

/*
 * struct rxpost_counters - what happened on one queue, or a sum of such
 *
 * Fields are those of the counters attribute set in spec/rxpost.yaml.
 */
struct rxpost_counters {
	u64 messages;
	u64 bytes;
	u64 imm;
	u64 write_imm;
	u64 post_calls;
	u64 post_wrs;
	u64 refused_calls;
	u64 refused_wrs;
	u64 post_skipped;
	u64 empty;
	u64 verified;
	u64 gaps;
	u64 repeats;
	u64 damaged;
	u64 unrecognised;
	u32 lowest;
};

/**
 * struct rxpost_slot - one receive: work request, its SGEs and its buffers
 * @wr: next is written when a chain is built, the rest once
 * @done_ns: when its message came, if a slow sink has to wait with it
 * @answer: bytes that the echo sink answers with; 0 for no answer
 * @sge: DMA address and length of each segment; behind the last one follow as
 *	many addresses as the kernel knows the segments by (rxpost_slot_buf())
 *
 * With one segment it is one cache line, so that building a chain touches one
 * line a receive. Slots are a power of two bytes apart.
 */
struct rxpost_slot {
	struct ib_recv_wr wr;
	u64 done_ns : 58;	/* nine years of uptime */
	u64 answer : 6;
	struct ib_sge sge[];
};

static_assert(RXPOST_ECHO_SIZE < 1 << 6);

/**
 * struct rxpost_buffers - memory of one segment of all slots of a queue
 * @pages: where the allocations are, of 2^@order pages each
 * @nr_pages: how many are allocated
 * @order: size of each
 * @per_page: buffers in each
 * @stride: bytes from one buffer to the next
 * @size: bytes in a buffer
 */
struct rxpost_buffers {
	void **pages;
	u32 nr_pages;
	u32 order;
	u32 per_page;
	u32 stride;
	u32 size;
};

/*
 * struct rxpost_queue - the receives of one QP
 *
 * Made and freed by the receiver's worker (queue.c); in between the poller's.
 */
struct rxpost_queue {
	struct ib_device *dev;
	struct ib_qp *qp;
	void *slots;		/* see rxpost_slot() */
	u32 slot_shift;
	u32 slot_size;
	u32 nr_segments;
	u32 nr_mapped;		/* segments, counted through all slots */
	struct rxpost_account account;
	struct rxpost_counters counters;
	u64 expect_seq;		/* verify: the sequence number due next */

	u64 bytes;		/* memory it takes */
	struct rxpost_buffers *buffers;	/* one a segment */
};

static inline struct rxpost_slot *rxpost_slot(const struct rxpost_queue *q,
					      u32 i)
{
	return q->slots + ((size_t)i << q->slot_shift);
}

/* The kernel's addresses of a slot's segments. */
static inline void **rxpost_slot_bufs(const struct rxpost_queue *q,
				      struct rxpost_slot *s)
{
	return (void **)&s->sge[q->nr_segments];
}

/**
 * rxpost_slot_head() - first bytes of a message, in one piece
 * @q: the queue
 * @s: the slot, synced for the CPU
 * @room: where to gather them when segments part them
 * @len: how many, not above the slot's size
 *
 * Context: poller thread. Return: where they are, in the slot or in @room.
 */
static inline const void *rxpost_slot_head(const struct rxpost_queue *q,
					   struct rxpost_slot *s, void *room,
					   u32 len)
{
	void **bufs = rxpost_slot_bufs(q, s);
	u32 at = 0, k;

	if (likely(s->sge[0].length >= len))
		return bufs[0];
	for (k = 0; at < len; k++) {
		u32 part = min(len - at, s->sge[k].length);

		memcpy(room + at, bufs[k], part);
		at += part;
	}
	return room;
}

/**
 * rxpost_slot_sum() - checksum of a message's payload, over all its segments
 * @q: the queue
 * @s: the slot, synced for the CPU
 * @len: bytes in the message, its header included
 *
 * Context: poller thread. Return: rxpost_wire_sum() of the payload.
 */
static inline u32 rxpost_slot_sum(const struct rxpost_queue *q,
				  struct rxpost_slot *s, u32 len)
{
	u32 skip = sizeof(struct rxpost_wire_hdr);
	void **bufs = rxpost_slot_bufs(q, s);
	u32 sum = RXPOST_WIRE_SUM_NONE;
	u32 k;

	for (k = 0; len; k++) {
		u32 part = min(len, s->sge[k].length);
		u32 head = min(skip, part);

		sum = rxpost_wire_sum_add(sum, bufs[k] + head, part - head);
		skip -= head;
		len -= part;
	}
	return sum;
}

#endif /* _RXPOST_QUEUE_H */
