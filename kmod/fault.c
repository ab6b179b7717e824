// SPDX-License-Identifier: GPL-2.0
/*
 * fault.c - the fault points' files and counts. See fault.h.
 *
 * Called from anywhere; nothing in here sleeps but init, exit and a write.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/fs.h>

#include "fault.h"

DEFINE_STATIC_KEY_FALSE(rxpost_faults);

static const char * const names[RXPOST_FAULT_POINTS] = {
	[RXPOST_FAULT_GRANT]	  = "grant",
	[RXPOST_FAULT_NOFLUSH]	  = "noflush",
	[RXPOST_FAULT_NOERR]	  = "noerr",
	[RXPOST_FAULT_CQ]	  = "cq",
	[RXPOST_FAULT_QP]	  = "qp",
	[RXPOST_FAULT_UNTOUCHED]  = "untouched",
	[RXPOST_FAULT_REFUSE]	  = "refuse",
	[RXPOST_FAULT_LOSE]	  = "lose",
	[RXPOST_FAULT_LATE]	  = "late",
	[RXPOST_FAULT_REPEAT]	  = "repeat",
	[RXPOST_FAULT_EXPIRE]	  = "expire",
	[RXPOST_FAULT_MAP]	  = "map",
	[RXPOST_FAULT_ACCESS]	  = "access",
	[RXPOST_FAULT_OVERFLOW]	  = "overflow",
	[RXPOST_FAULT_INDEX]	  = "index",
	[RXPOST_FAULT_SLOT]	  = "slot",
	[RXPOST_FAULT_GENERATION] = "generation",
	[RXPOST_FAULT_KIND]	  = "kind",
};

static atomic_t armed[RXPOST_FAULT_POINTS];
static atomic_t skip;
static struct dentry *root;

/**
 * rxpost_fault_hit() - use up one armed time of a point
 * @point: the point
 *
 * Context: any. Return: whether it was armed, and no hit was to pass first.
 */
bool rxpost_fault_hit(enum rxpost_fault_point point)
{
	if (atomic_read(&armed[point]) <= 0 ||
	    atomic_dec_if_positive(&skip) >= 0)
		return false;
	return atomic_dec_if_positive(&armed[point]) >= 0;
}

/**
 * rxpost_fault_level() - value of a point that lasts
 * @point: the point
 *
 * Context: any. Return: what was written, 0 when it is not armed.
 */
u32 rxpost_fault_level(enum rxpost_fault_point point)
{
	return atomic_read(&armed[point]);
}

static int fault_get(void *data, u64 *val)
{
	*val = atomic_read((atomic_t *)data);
	return 0;
}

static int fault_set(void *data, u64 val)
{
	if (val > INT_MAX)
		return -ERANGE;
	atomic_set((atomic_t *)data, val);
	if (val)
		static_branch_enable(&rxpost_faults);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(fault_fops, fault_get, fault_set, "%llu\n");

/**
 * rxpost_faults_init() - make the files
 *
 * Without debugfs there are no fault points; that is no error.
 * Context: process, may sleep.
 */
void rxpost_faults_init(void)
{
	struct dentry *dir;
	int i;

	root = debugfs_create_dir("rxpost_recv", NULL);
	dir = debugfs_create_dir("fault", root);
	for (i = 0; i < RXPOST_FAULT_POINTS; i++)
		debugfs_create_file_unsafe(names[i], 0600, dir, &armed[i],
					   &fault_fops);
	debugfs_create_file_unsafe("skip", 0600, dir, &skip, &fault_fops);
}

/**
 * rxpost_faults_exit() - remove the files
 *
 * Context: process, may sleep.
 */
void rxpost_faults_exit(void)
{
	debugfs_remove_recursive(root);
}
