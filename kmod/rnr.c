// SPDX-License-Identifier: GPL-2.0
/*
 * rnr.c - the waits that an empty receive queue can ask of a sender.
 *
 * InfiniBand encodes them in five bits, and not in order: code 0 is the
 * longest, 655.36 ms (include/rdma/ib_verbs.h:1202). Users say microseconds;
 * this file alone knows the codes.
 */
#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>

#include "rxpost.h"

/* In order of the wait; the code is the index, but for the last. */
static const u32 wait_us[] = {
	[IB_RNR_TIMER_000_01] = 10,
	[IB_RNR_TIMER_000_02] = 20,
	[IB_RNR_TIMER_000_03] = 30,
	[IB_RNR_TIMER_000_04] = 40,
	[IB_RNR_TIMER_000_06] = 60,
	[IB_RNR_TIMER_000_08] = 80,
	[IB_RNR_TIMER_000_12] = 120,
	[IB_RNR_TIMER_000_16] = 160,
	[IB_RNR_TIMER_000_24] = 240,
	[IB_RNR_TIMER_000_32] = 320,
	[IB_RNR_TIMER_000_48] = 480,
	[IB_RNR_TIMER_000_64] = 640,
	[IB_RNR_TIMER_000_96] = 960,
	[IB_RNR_TIMER_001_28] = 1280,
	[IB_RNR_TIMER_001_92] = 1920,
	[IB_RNR_TIMER_002_56] = 2560,
	[IB_RNR_TIMER_003_84] = 3840,
	[IB_RNR_TIMER_005_12] = 5120,
	[IB_RNR_TIMER_007_68] = 7680,
	[IB_RNR_TIMER_010_24] = 10240,
	[IB_RNR_TIMER_015_36] = 15360,
	[IB_RNR_TIMER_020_48] = 20480,
	[IB_RNR_TIMER_030_72] = 30720,
	[IB_RNR_TIMER_040_96] = 40960,
	[IB_RNR_TIMER_061_44] = 61440,
	[IB_RNR_TIMER_081_92] = 81920,
	[IB_RNR_TIMER_122_88] = 122880,
	[IB_RNR_TIMER_163_84] = 163840,
	[IB_RNR_TIMER_245_76] = 245760,
	[IB_RNR_TIMER_327_68] = 327680,
	[IB_RNR_TIMER_491_52] = 491520,
};

#define RNR_LONGEST_US	655360

/**
 * rxpost_rnr_code() - the shortest wait that is not below what was asked
 * @us: microseconds asked for
 * @code: the code to give to rdma_set_min_rnr_timer()
 * @granted_us: the wait it stands for, in microseconds
 *
 * Context: any. Return: 0, or -ERANGE outside 1 to 655360.
 */
int rxpost_rnr_code(u32 us, u8 *code, u32 *granted_us)
{
	u8 i;

	if (!us || us > RNR_LONGEST_US)
		return -ERANGE;
	for (i = IB_RNR_TIMER_000_01; i < ARRAY_SIZE(wait_us); i++) {
		if (wait_us[i] < us)
			continue;
		*code = i;
		*granted_us = wait_us[i];
		return 0;
	}
	*code = IB_RNR_TIMER_655_36;
	*granted_us = RNR_LONGEST_US;
	return 0;
}

/**
 * rxpost_rnr_wait_us() - the wait a code stands for
 * @code: of the table, 0 to 31
 *
 * Context: any. Return: microseconds.
 */
u32 rxpost_rnr_wait_us(u8 code)
{
	return code ? wait_us[code] : RNR_LONGEST_US;
}

/**
 * rxpost_rnr_effective_us() - what a device makes of a wait
 * @dev: the device; sender and receiver are taken to be of one kind
 * @us: a wait of the table, in microseconds
 *
 * rxe sleeps whole jiffies and at least one
 * (6.12 drivers/infiniband/sw/rxe/rxe_comp.c:85-88). iWARP has no RNR at all: a
 * message without a receive ends the connection.
 *
 * Context: any. Return: microseconds, 0 where nobody waits.
 */
u32 rxpost_rnr_effective_us(const struct ib_device *dev, u32 us)
{
	if (rdma_protocol_iwarp(dev, 1))
		return 0;
	if (dev->ops.driver_id == RDMA_DRIVER_RXE)
		return jiffies_to_usecs(max(usecs_to_jiffies(us), 1UL));
	return us;
}
