/* SPDX-License-Identifier: GPL-2.0 */
/*
 * histogram.h - times, counted by size, good for every percentile.
 *
 * Owns where the edges of buckets are. Up to 256 a bucket is one wide; above,
 * each doubling is cut into 128 buckets of one width, so a bucket is never
 * wider than 1/128 of its lower edge and a percentile read from it never off by
 * more than that. Everything from 2^40 on (18 minutes, in ns) is in the last.
 *
 * Pure C: no locks, no allocation, no kernel calls; the same text is compiled
 * and tested in user space. One writer at a time; a reader meanwhile sees each
 * number as it is or was.
 */
#ifndef _RXPOST_HISTOGRAM_H
#define _RXPOST_HISTOGRAM_H

#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/compiler.h>
#else
#include <stdbool.h>
typedef __u32 u32;
typedef __u64 u64;
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}
#endif

#define RXPOST_HISTOGRAM_CUT_BITS	7
#define RXPOST_HISTOGRAM_CUTS		128U	/* buckets in a doubling: 2^7 */
#define RXPOST_HISTOGRAM_TOP_BITS	40	/* the last bucket begins at 2^40 */
#define RXPOST_HISTOGRAM_BUCKETS					\
	(((RXPOST_HISTOGRAM_TOP_BITS - RXPOST_HISTOGRAM_CUT_BITS + 1) <<	\
	  RXPOST_HISTOGRAM_CUT_BITS) + 1)

/**
 * struct rxpost_histogram - times by size
 * @total: values added
 * @sum: of them
 * @min: smallest, 0 before there is one
 * @max: largest
 * @count: values by bucket
 */
struct rxpost_histogram {
	u64 total;
	u64 sum;
	u64 min;
	u64 max;
	u64 count[RXPOST_HISTOGRAM_BUCKETS];
};

/* The bucket that @value belongs to. */
static inline u32 rxpost_histogram_index(u64 value)
{
	u32 shift;

	if (value >> RXPOST_HISTOGRAM_TOP_BITS)
		return RXPOST_HISTOGRAM_BUCKETS - 1;
	if (value < 2 * RXPOST_HISTOGRAM_CUTS)
		return value;
	shift = fls64(value) - 1 - RXPOST_HISTOGRAM_CUT_BITS;
	/* value >> shift is CUTS to 2 * CUTS - 1: its doubling and place there */
	return (shift << RXPOST_HISTOGRAM_CUT_BITS) + (value >> shift);
}

/* Smallest value that belongs to bucket @index; there must be one. */
static inline u64 rxpost_histogram_from(u32 index)
{
	u32 shift;

	if (index < 2 * RXPOST_HISTOGRAM_CUTS)
		return index;
	shift = (index >> RXPOST_HISTOGRAM_CUT_BITS) - 1;
	return (u64)(RXPOST_HISTOGRAM_CUTS +
		     index % RXPOST_HISTOGRAM_CUTS) << shift;
}

static inline void rxpost_histogram_add(struct rxpost_histogram *h, u64 value)
{
	u32 index = rxpost_histogram_index(value);

	WRITE_ONCE(h->count[index], h->count[index] + 1);
	if (!h->total || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->sum += value;
	h->total++;
}

/* The first bucket from @index on that is not empty, or the count of buckets. */
static inline u32 rxpost_histogram_next(const struct rxpost_histogram *h,
					u32 index)
{
	while (index < RXPOST_HISTOGRAM_BUCKETS && !READ_ONCE(h->count[index]))
		index++;
	return index;
}

#endif /* _RXPOST_HISTOGRAM_H */
