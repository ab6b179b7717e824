/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wr_id.h - what a work request's wr_id says.
 *
 * Indices and a generation, never a pointer: a completion can come for a queue
 * that is gone (rxe and siw leave a destroyed QP's completions in a shared CQ:
 * drivers/infiniband/sw/rxe/rxe_qp.c, siw/siw_verbs.c), and its wr_id is then
 * the only thing left to judge it by.
 *
 *	63    60 59              40 39          24 23               0
 *	| kind  |    generation    |  connection  |      slot       |
 */
#ifndef _RXPOST_WR_ID_H
#define _RXPOST_WR_ID_H

#include <linux/bitfield.h>
#include <linux/types.h>

#define RXPOST_WR_KIND		GENMASK_ULL(63, 60)
#define RXPOST_WR_GENERATION	GENMASK_ULL(59, 40)
#define RXPOST_WR_CONN		GENMASK_ULL(39, 24)
#define RXPOST_WR_SLOT		GENMASK_ULL(23, 0)

#define RXPOST_GENERATION_MASK	(RXPOST_WR_GENERATION >> 40)

/* 0 is no kind: a wr_id of zero bytes is refused. */
enum rxpost_wr_kind {
	RXPOST_WR_RECV = 1,
	RXPOST_WR_SEND = 2,
};

static inline u64 rxpost_wr_id(enum rxpost_wr_kind kind, u32 generation,
			       u32 conn, u32 slot)
{
	return FIELD_PREP(RXPOST_WR_KIND, kind) |
	       FIELD_PREP(RXPOST_WR_GENERATION, generation) |
	       FIELD_PREP(RXPOST_WR_CONN, conn) |
	       FIELD_PREP(RXPOST_WR_SLOT, slot);
}

#endif /* _RXPOST_WR_ID_H */
