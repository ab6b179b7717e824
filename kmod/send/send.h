/* SPDX-License-Identifier: GPL-2.0 */
/*
 * send.h - the one private header of rxpost_send.ko.
 *
 * A run is one connection and one kthread that keeps it full of sends. The
 * thread owns everything of the run that is not marked otherwise below; the
 * rest of the module only asks it to end (rxps_run_end()) and reads what it
 * publishes.
 *
 *   netlink.c  attributes to a config, answers, dumps, events
 *   registry.c which runs there are, and who frees them
 *   run.c      life and thread of one run
 *   conn.c     address, route, connection; the only file that knows rdma_cm
 *   queue.c    PD, CQ, slots, posting and completions, the ledger
 */
#ifndef _RXPS_SEND_H
#define _RXPS_SEND_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/genetlink.h>
#include <rdma/ib_verbs.h>
#include <uapi/linux/rxpost_send.h>

struct rdma_cm_id;

#define RXPS_SIZE_MAX		0x100000U	/* bytes in a message */
#define RXPS_BATCH_MAX		64U
#define RXPS_IN_FLIGHT_MAX	4096U
#define RXPS_MEMORY_MAX		(256ULL << 20)	/* size * in-flight */
#define RXPS_RATE_MAX		1000000000ULL	/* messages a second */
#define RXPS_TIMEOUT_MIN_MS	10U
#define RXPS_TIMEOUT_MAX_MS	600000U
#define RXPS_LIVE_MAX		1024		/* runs not yet done */
#define RXPS_KEPT_MAX		4096		/* runs of open sockets, done or not */

#define RXPS_POLL_BUDGET	16
#define RXPS_WC_STATUSES	(IB_WC_GENERAL_ERR + 1)
#define RXPS_REASON_MAX		192

/**
 * struct rxps_config - what a run was asked to do; constant once it started
 * @dst: address and port to connect to
 * @count: messages to send, 0 is without end
 * @rate: messages a second at the most, 0 is without limit
 * @size: bytes in a message
 * @batch: sends in one call of ib_post_send()
 * @in_flight: most sends posted and not completed, and the number of slots
 * @duration_ms: time after which no more is sent, 0 is without end
 * @connect_timeout_ms: longest wait for address, route and connection together
 * @drain_timeout_ms: longest wait for outstanding sends at the end
 */
struct rxps_config {
	struct sockaddr_storage dst;
	u64 count;
	u64 rate;
	u32 size;
	u32 batch;
	u32 in_flight;
	u32 duration_ms;
	u32 connect_timeout_ms;
	u32 drain_timeout_ms;
};

/**
 * struct rxps_ledger - where every send went
 * @posted: accepted by the device
 * @completed: completed with success
 * @flushed: completed with IB_WC_WR_FLUSH_ERR
 * @failed: completed with any other error
 * @reclaimed: never completed, taken back after the QP was gone
 * @bytes: bytes in completed sends
 * @post_calls: calls of ib_post_send()
 * @first_ns: time of the first post, 0 before it
 * @last_ns: time of the last completion
 * @status: completions by enum ib_wc_status
 */
struct rxps_ledger {
	u64 posted;
	u64 completed;
	u64 flushed;
	u64 failed;
	u64 reclaimed;
	u64 bytes;
	u64 post_calls;
	u64 first_ns;
	u64 last_ns;
	u64 status[RXPS_WC_STATUSES];
};

static inline u32 rxps_ledger_outstanding(const struct rxps_ledger *ledger)
{
	return ledger->posted - ledger->completed - ledger->flushed -
	       ledger->failed - ledger->reclaimed;
}

/**
 * struct rxps_slot - one send: its WR, its SGE and its buffer
 * @wr: posted as it stands; wr.wr_id names the slot and its generation
 * @sge: the whole buffer
 * @buf: kmalloc()ed, mapped while the slot exists; NULL when size is 0
 *
 * One slot fills one cache line where those have 64 bytes.
 */
struct rxps_slot {
	struct ib_send_wr wr;
	struct ib_sge sge;
	void *buf;
} ____cacheline_aligned_in_smp;

/**
 * struct rxps_queue - the sends of a run; touched by its thread alone
 * @pd: protection domain
 * @cq: completions of the sends
 * @slots: in_flight of them
 * @free: stack of indices of slots the device does not have
 * @nr_free: height of that stack
 * @not_before: no post before this time (back-off or rate), in ns
 * @rate_next: when the rate allows the next batch, in ns
 * @backoff_ns: how long to wait after the next refusal
 * @strays: completions that belong to no posted send
 * @wc: where ib_poll_cq() writes
 */
struct rxps_queue {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct rxps_slot *slots;
	u16 *free;
	u32 nr_free;
	u64 not_before;
	u64 rate_next;
	u64 backoff_ns;
	u64 strays;
	struct ib_wc wc[RXPS_POLL_BUDGET];
};

/* How far the connection got; moves forward only. */
enum rxps_conn_state {
	RXPS_CONN_IDLE,
	RXPS_CONN_ADDR,		/* address known, and with it the device */
	RXPS_CONN_ROUTE,	/* route known */
	RXPS_CONN_ESTABLISHED,	/* sends may be posted */
};

/**
 * struct rxps_run - one run
 * @refs: held by the registry and by whoever looked the run up
 * @id: key in the registry, never reused
 * @portid: netlink socket the run belongs to
 * @cfg: constant
 * @task: the thread; its reference is held as long as the run exists, because
 *	a completion handler of rxe on 6.1 may run late
 * @orphan: the socket is gone, nobody asks for the result; registry lock
 * @finished: the thread has nothing left to do; registry lock
 * @reaped: the reaper's, once the run has left the registry
 * @released: completed once the run holds nothing of its device any more
 *
 * @lock: protects @state, @ending, @dead, @error, @reason, @device, @qpn
 *	and @devname. Taken by CM and QP event handlers, with interrupts off.
 * @state: enum rxpost_send_run_state
 * @ending: no more sends are to be posted; read without @lock by the thread
 * @dead: outstanding sends have no chance any more; read likewise
 * @error: positive errno, 0 when the run ended as asked
 * @reason: why the run ended before its time
 * @device: set as soon as the address is resolved, NULL again once released
 * @qpn: QP number, 0 before there is one
 * @devname: survives the device
 *
 * @cm_id: RDMA CM id
 * @qp: the CM id's QP
 * @conn_state: written by the CM handler, read by the thread
 * @connect_by: when the connection must stand, in jiffies
 * @queue: slots and completions
 *
 * @seq: makes one reading of @ledger consistent
 * @ledger: written by the thread inside @seq
 */
struct rxps_run {
	refcount_t refs;
	u32 id;
	u32 portid;
	struct rxps_config cfg;
	struct task_struct *task;
	bool orphan;
	bool finished;
	struct list_head reaped;
	struct completion released;

	spinlock_t lock; /* see above */
	u32 state;
	bool ending;
	bool dead;
	int error;
	char reason[RXPS_REASON_MAX];
	struct ib_device *device;
	u32 qpn;
	char devname[IB_DEVICE_NAME_MAX];

	struct rdma_cm_id *cm_id;
	struct ib_qp *qp;
	enum rxps_conn_state conn_state;
	unsigned long connect_by;
	struct rxps_queue queue;

	seqcount_t seq;
	struct rxps_ledger ledger;
};

/* main.c */
extern struct genl_family rxpost_send_family;

/* netlink.c */
void rxps_nl_run_done(struct rxps_run *run);

/* registry.c */
int rxps_run_new(const struct rxps_config *cfg, u32 portid, u32 *id,
		 struct netlink_ext_ack *extack);
struct rxps_run *rxps_run_get(u32 id);
struct rxps_run *rxps_run_get_next(u32 id);
void rxps_run_put(struct rxps_run *run);
void rxps_runs_leave(struct rxps_run *run);
void rxps_runs_finished(struct rxps_run *run);
void rxps_runs_orphan(u32 portid);
void rxps_runs_device_gone(struct ib_device *device);
void rxps_runs_exit(void);

/* run.c */
int rxps_run_thread(void *data);
__printf(3, 4)
void rxps_run_end(struct rxps_run *run, int error, const char *fmt, ...);
__printf(2, 3)
void rxps_run_failed(struct rxps_run *run, const char *fmt, ...);

/* conn.c */
int rxps_conn_resolve(struct rxps_run *run);
int rxps_conn_create_qp(struct rxps_run *run);
int rxps_conn_connect(struct rxps_run *run);
void rxps_conn_disconnect(struct rxps_run *run);
void rxps_conn_destroy_qp(struct rxps_run *run);
void rxps_conn_destroy(struct rxps_run *run);

/* queue.c */
int rxps_queue_create(struct rxps_run *run);
void rxps_queue_destroy(struct rxps_run *run);
u32 rxps_queue_post(struct rxps_run *run, u64 now);
u32 rxps_queue_poll(struct rxps_run *run);
bool rxps_queue_arm(struct rxps_run *run);
u64 rxps_queue_post_at(const struct rxps_run *run);
void rxps_queue_reclaim(struct rxps_run *run);
void rxps_ledger_read(struct rxps_run *run, struct rxps_ledger *ledger);

#endif /* _RXPS_SEND_H */
