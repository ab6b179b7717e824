// SPDX-License-Identifier: GPL-2.0
/*
 * histogram_test.c - histogram.h against sorted values, in user space.
 *
 * The edges are walked from end to end, and samples of several shapes are both
 * counted and sorted: what a percentile is by the buckets must be what it is by
 * the sorted values, within 1 %. Built with the address and undefined-behaviour
 * sanitizers; `make test-account`.
 *
 *	histogram_test [SEED [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../histogram.h"

#define SAMPLES	20000

static unsigned long seed;

static void die(const char *what, u64 value)
{
	fprintf(stderr, "histogram_test: seed %lu: %s: %llu\n", seed, what,
		(unsigned long long)value);
	exit(1);
}

/* Buckets follow on one another without a gap, and are narrow. */
static void edges(void)
{
	const u32 last = RXPOST_HISTOGRAM_BUCKETS - 1;
	u64 from, to;
	u32 i;

	if (rxpost_histogram_from(0) != 0)
		die("the first bucket does not begin at 0", 0);
	for (i = 0; i < last; i++) {
		from = rxpost_histogram_from(i);
		to = rxpost_histogram_from(i + 1);
		if (to <= from)
			die("a bucket ends before it begins", from);
		if (rxpost_histogram_index(from) != i ||
		    rxpost_histogram_index(to - 1) != i)
			die("an edge is in another bucket", from);
		if (to - from > 1 && (to - from) * 128 > from)
			die("a bucket is wider than 1/128", from);
	}
	if (rxpost_histogram_from(last) != 1ULL << 40)
		die("the last bucket begins elsewhere",
		    rxpost_histogram_from(last));
	if (rxpost_histogram_index(1ULL << 40) != last ||
	    rxpost_histogram_index(~0ULL) != last)
		die("what is too large is not in the last bucket", 0);
}

static u64 random64(void)
{
	return (u64)random() << 42 ^ (u64)random() << 21 ^ (u64)random();
}

/* Shapes: all magnitudes alike, a narrow peak with a tail, a few values. */
static u64 sample(u32 shape)
{
	u64 value = random64();

	switch (shape) {
	case 0:
		return value >> (24 + value % 40);
	case 1:
		return 5000 + value % 300 +
		       (value >> 32) % 100 / 99 * (value >> 40);
	default:
		return 1000ULL << value % 4;
	}
}

static int ascending(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The bucket with the @rank-th smallest value, from 1. */
static u64 at_rank(const struct rxpost_histogram *h, u64 rank)
{
	u64 seen = 0;
	u32 i = 0;

	while ((i = rxpost_histogram_next(h, i)) < RXPOST_HISTOGRAM_BUCKETS) {
		seen += h->count[i];
		if (seen >= rank)
			return rxpost_histogram_from(i);
		i++;
	}
	die("fewer values than there should be", seen);
	return 0;
}

static void percentiles(const struct rxpost_histogram *h, const u64 *sorted)
{
	static const u32 per_myriad[] = { 1, 5000, 9000, 9900, 9990, 9999 };
	u64 rank, want, got;
	u32 i;

	for (i = 0; i < sizeof(per_myriad) / sizeof(*per_myriad); i++) {
		rank = (u64)SAMPLES * per_myriad[i] / 10000;
		want = sorted[rank - 1];
		got = at_rank(h, rank);
		if (got > want || (want - got) * 100 > want)
			die("a percentile is off by more than 1 %", want);
	}
}

static void one_round(u32 shape)
{
	struct rxpost_histogram *h = calloc(1, sizeof(*h));
	u64 *values = calloc(SAMPLES, sizeof(*values));
	u64 sum = 0, counted = 0;
	u32 i;

	for (i = 0; i < SAMPLES; i++) {
		values[i] = sample(shape);
		sum += values[i];
		rxpost_histogram_add(h, values[i]);
	}
	qsort(values, SAMPLES, sizeof(*values), ascending);
	for (i = 0; i < RXPOST_HISTOGRAM_BUCKETS; i++)
		counted += h->count[i];
	if (counted != SAMPLES || h->total != SAMPLES)
		die("buckets and total differ", counted);
	if (h->sum != sum)
		die("the sum is wrong", h->sum);
	if (h->min != values[0] || h->max != values[SAMPLES - 1])
		die("minimum or maximum is wrong", h->min);
	percentiles(h, values);
	free(values);
	free(h);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 30;
	unsigned long i;

	edges();
	seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	for (i = 0; i < rounds; i++, seed++) {
		srandom(seed);
		one_round(i % 3);
	}
	printf("histogram_test: %lu rounds of %d values, last seed %lu: ok\n",
	       rounds, SAMPLES, seed - 1);
	return 0;
}
