/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - the kernel interfaces that differ between supported kernels.
 *
 * The only file that may know about versions. RXPOST_HAVE_* are set by Kbuild,
 * which greps the headers it builds against: distributions move interfaces
 * inside a series, so a version number proves nothing.
 */
#ifndef _RXPOST_COMPAT_H
#define _RXPOST_COMPAT_H

#include <linux/kthread.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

/* Attributes of a dump request. */
static inline struct nlattr **rxpost_dump_attrs(struct netlink_callback *cb)
{
#ifdef RXPOST_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

/* Since 6.14 kthread_create_worker() leaves the thread asleep. */
#ifdef RXPOST_HAVE_KTHREAD_RUN_WORKER
#define rxpost_run_worker(fmt, ...)	kthread_run_worker(0, fmt, ##__VA_ARGS__)
#else
#define rxpost_run_worker(fmt, ...)	kthread_create_worker(0, fmt, ##__VA_ARGS__)
#endif

/* Where the unbound one has a new name, in stable kernels too, the old one warns. */
#ifdef RXPOST_HAVE_SYSTEM_DFL_WQ
#define rxpost_unbound_wq	system_dfl_wq
#else
#define rxpost_unbound_wq	system_unbound_wq
#endif

/*
 * Room for a refusal of the caller's own words. It must last until the kernel
 * has sent the answer, which is after the handler returned. Since 6.3 struct
 * netlink_ext_ack has a buffer for it. Before, sentences take turns in
 * a ring: one is overwritten only if RXPOST_REFUSALS others are formed between a
 * handler's return and its answer, a few instructions later.
 */
#ifdef NETLINK_MAX_FMTMSG_LEN
static inline char *rxpost_refusal_buf(struct netlink_ext_ack *extack,
				       size_t *len)
{
	*len = sizeof(extack->_msg_buf);
	return extack->_msg_buf;
}
#else
#define RXPOST_REFUSALS		64
static inline char *rxpost_refusal_buf(struct netlink_ext_ack *extack,
				       size_t *len)
{
	static char ring[RXPOST_REFUSALS][80];
	static atomic_t next;

	*len = sizeof(ring[0]);
	return ring[(u32)atomic_inc_return(&next) % RXPOST_REFUSALS];
}
#endif

#endif /* _RXPOST_COMPAT_H */
