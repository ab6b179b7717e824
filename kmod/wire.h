/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - what rxpost_send puts on the wire and rxpost_recv reads from it.
 *
 * Everything is little-endian and laid out without holes. Nothing in here is
 * trusted by the receiver: a message without the magic is a stranger's and is
 * counted, not interpreted.
 */
#ifndef _RXPOST_WIRE_H
#define _RXPOST_WIRE_H

#include <linux/build_bug.h>
#include <linux/crc32.h>
#include <linux/kernel.h>
#include <linux/sched/task.h>
#include <linux/types.h>

/* Of both modules. */
#define RXPOST_VERSION		"0.1.0"

#define RXPOST_WIRE_MAGIC	0x50585231	/* "1RXP" read as little-endian */
#define RXPOST_PRIV_MAGIC	0x51585231	/* "1RXQ" */
#define RXPOST_WIRE_VERSION	1

/**
 * struct rxpost_wire_hdr - first bytes of every message of a known sender
 * @magic: RXPOST_WIRE_MAGIC
 * @len: bytes in the whole message, this header included
 * @seq: 0 for the first message of a connection, then one more each time
 * @time_ns: CLOCK_MONOTONIC of the sender when it posted the message
 * @sum: rxpost_wire_sum() over the payload behind the header
 * @pad: zero
 */
struct rxpost_wire_hdr {
	__le32 magic;
	__le32 len;
	__le64 seq;
	__le64 time_ns;
	__le32 sum;
	__le32 pad;
};

/**
 * struct rxpost_wire_priv - private data of a known sender's connect request
 * @magic: RXPOST_PRIV_MAGIC
 * @version: RXPOST_WIRE_VERSION
 * @clock_id: rxpost_wire_clock_id(); equal on both sides when sender and
 *	receiver share a clock
 * @size: bytes in a message
 * @batch: sends posted in one call
 * @in_flight: most sends posted and not completed
 * @pad: zero
 *
 * RoCE leaves 56 bytes of private data in a connect request.
 */
struct rxpost_wire_priv {
	__le32 magic;
	__le32 version;
	__le64 clock_id;
	__le32 size;
	__le32 batch;
	__le32 in_flight;
	__le32 pad;
};

static_assert(sizeof(struct rxpost_wire_hdr) == 32);
static_assert(sizeof(struct rxpost_wire_priv) == 32);

/* Checksum of nothing, to add to. */
#define RXPOST_WIRE_SUM_NONE	((u32)~0u)

/**
 * rxpost_wire_sum_add() - checksum of a payload with some more of it
 * @sum: checksum of what comes before, or RXPOST_WIRE_SUM_NONE
 * @more: what comes next
 * @len: bytes of it
 *
 * Context: any.
 */
static inline u32 rxpost_wire_sum_add(u32 sum, const void *more, size_t len)
{
	return crc32_le(sum, more, len);
}

/**
 * rxpost_wire_sum() - checksum of a message's payload
 * @payload: first byte behind the header
 * @len: bytes of payload
 *
 * Context: any.
 */
static inline u32 rxpost_wire_sum(const void *payload, size_t len)
{
	return rxpost_wire_sum_add(RXPOST_WIRE_SUM_NONE, payload, len);
}

/**
 * rxpost_wire_clock_id() - names the clock that CLOCK_MONOTONIC reads
 *
 * Two modules must find the same number without knowing each other, and no
 * other boot may find it. The per-boot secret behind %p hashing gives just
 * that: the same pointer hashes alike all over one running kernel.
 *
 * Context: process. Return: 0 while the kernel has too little entropy to tell.
 */
static inline u64 rxpost_wire_clock_id(void)
{
	char text[2 * sizeof(void *) + 1];
	u64 lo, hi;

	snprintf(text, sizeof(text), "%p", &init_task);
	if (kstrtou64(text, 16, &lo))
		return 0;
	snprintf(text, sizeof(text), "%p", &init_task.pid);
	if (kstrtou64(text, 16, &hi))
		return 0;
	return hi << 32 | lo;
}

#endif /* _RXPOST_WIRE_H */
