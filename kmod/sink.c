// SPDX-License-Identifier: GPL-2.0
/*
 * sink.c - what is done with a message once it is ours.
 *
 * Called by the poller for each successful completion, after the buffer was
 * synced for the CPU and before its slot can be posted again. Trusts nothing
 * in the buffer: a stranger may have written it.
 */
#include "rxpost.h"

/* Sequence numbers of one connection arrive in order or something is wrong. */
static void check_sequence(struct rxpost_queue *q, u64 seq)
{
	if (unlikely(seq < q->expect_seq)) {
		q->counters.repeats++;
		return;
	}
	q->counters.gaps += seq - q->expect_seq;
	q->counters.verified++;
	q->expect_seq = seq + 1;
}

static void verify(struct rxpost_conn *conn, const void *buf, u32 len)
{
	const struct rxpost_wire_hdr *hdr = buf;
	struct rxpost_queue *q = &conn->queue;

	if (len < sizeof(*hdr)) {
		q->counters.unrecognised++;
		return;
	}
	if (unlikely(le32_to_cpu(hdr->magic) != RXPOST_WIRE_MAGIC)) {
		/* From a known sender of that size it is damage. */
		if (conn->foreign)
			q->counters.unrecognised++;
		else
			q->counters.damaged++;
		return;
	}
	if (unlikely(le32_to_cpu(hdr->len) != len ||
		     le32_to_cpu(hdr->sum) !=
		     rxpost_wire_sum(hdr + 1, len - sizeof(*hdr)))) {
		q->counters.damaged++;
		return;
	}
	check_sequence(q, le64_to_cpu(hdr->seq));
}

/**
 * rxpost_sink() - consume one message
 * @conn: where it came in
 * @slot: its slot
 * @len: bytes in it, not above the slot's size
 *
 * Context: poller thread; does not sleep.
 */
void rxpost_sink(struct rxpost_conn *conn, const struct rxpost_slot *slot,
		 u32 len)
{
	if (conn->rcv->cfg.sink == RXPOST_SINK_VERIFY)
		verify(conn, slot->buf, len);
}
