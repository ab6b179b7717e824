/* SPDX-License-Identifier: GPL-2.0 */
/*
 * send.h - the one private header of rxpost_send.ko.
 *
 * A run is one connection and one kthread that keeps it full of sends. The
 * thread owns everything of the run that is not marked otherwise below; the
 * rest of the module only asks it to end (rxps_run_end()) and reads what it
 * publishes.
 *
 *   netlink.c  requests: attributes to a config
 *   show.c     replies, dumps and events
 *   registry.c which runs there are, and who frees them
 *   run.c      life and thread of one run
 *   conn.c     address, route, connection; the only file that knows rdma_cm
 *   queue.c    PD and CQ; posting, completions, the ledger
 *   slot.c     a send: its buffer and its work request
 *   op.c       what an opcode is and what it asks of the device
 *   answer.c   receives of a run of round trips, and what comes in them
 */
#ifndef _RXPS_SEND_H
#define _RXPS_SEND_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/genetlink.h>
#include <rdma/ib_verbs.h>
#include <uapi/linux/rxpost_send.h>

#include "account.h"
#include "histogram.h"

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

#define RXPS_ANSWER_CHAIN	16U	/* receives in one call of ib_post_recv() */
/*
 * Bytes in one of their slots. The CPU only reads them, so on machines with
 * longer cache lines two slots may share one.
 */
#define RXPS_ANSWER_SIZE	64

#define RXPS_POLL_BUDGET	16
#define RXPS_WC_STATUSES	(IB_WC_GENERAL_ERR + 1)
#define RXPS_REASON_MAX		192

/*
 * wr_id = answer (1 bit) | generation (47 bits) | slot (16 bits). A generation
 * never comes twice, so a completion is taken only for the very request it
 * belongs to.
 */
#define RXPS_WR_ANSWER		BIT_ULL(63)	/* a receive of answer.c */
#define RXPS_WR_SLOT_MASK	0xffffULL
#define RXPS_WR_GENERATION	(RXPS_WR_SLOT_MASK + 1)	/* one step */

static_assert(RXPS_IN_FLIGHT_MAX + RXPS_ANSWER_CHAIN <= RXPS_WR_SLOT_MASK);

/* What an opcode does; the rest of the module asks for nothing else. */
#define RXPS_OP_SEND		BIT(0)	/* brings a message to the peer */
#define RXPS_OP_IMM		BIT(1)	/* carries immediate data */
#define RXPS_OP_RKEY		BIT(2)	/* names a key of the peer's */
#define RXPS_OP_ADDR		BIT(3)	/* names an address of the peer's */
#define RXPS_OP_READ		BIT(4)	/* fills the buffer instead of sending it */

/**
 * struct rxps_op - an opcode
 * @name: as users know it
 * @wr: as verbs know it
 * @flags: RXPS_OP_*
 */
struct rxps_op {
	const char *name;
	enum ib_wr_opcode wr;
	u32 flags;
};

/**
 * struct rxps_config - what a run was asked to do; constant once it started
 * @dst: address and port to connect to
 * @op: what each message is
 * @count: messages to send, 0 is without end
 * @rate: messages a second at the most, 0 is without limit
 * @remote_addr: peer's address, for an @op that names one
 * @rkey: peer's key, likewise
 * @size: bytes in a message
 * @batch: sends in one call of ib_post_send()
 * @in_flight: most sends posted and not completed, and the number of slots;
 *	with @round_trip also the most messages without an answer
 * @duration_ms: time after which no more is sent, 0 is without end
 * @connect_timeout_ms: longest wait for address, route and connection together
 * @drain_timeout_ms: longest wait for outstanding sends at the end
 * @answer_timeout_ms: longest wait for any answer while some are due
 * @round_trip: the peer answers each message
 * @hold: connect, then wait for rxps_run_go()
 */
struct rxps_config {
	struct sockaddr_storage dst;
	const struct rxps_op *op;
	u64 count;
	u64 rate;
	u64 remote_addr;
	u32 rkey;
	u32 size;
	u32 batch;
	u32 in_flight;
	u32 duration_ms;
	u32 connect_timeout_ms;
	u32 drain_timeout_ms;
	u32 answer_timeout_ms;
	bool round_trip;
	bool hold;
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
 * @answers: messages that were answered
 * @unmatched: answers to no message that waits for one
 * @damaged: answers that differ from the message they answer
 * @foreign: received, and no answer
 * @rtt_min: shortest round trip, in ns
 * @rtt_max: longest
 * @rtt_sum: all of them
 * @receives: where the receives are
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
	u64 answers;
	u64 unmatched;
	u64 damaged;
	u64 foreign;
	u64 rtt_min;
	u64 rtt_max;
	u64 rtt_sum;
	struct rxpost_ledger receives;
};

static inline u32 rxps_ledger_outstanding(const struct rxps_ledger *ledger)
{
	return ledger->posted - ledger->completed - ledger->flushed -
	       ledger->failed - ledger->reclaimed;
}

/**
 * struct rxps_slot - one send: its WR, its SGE and its buffer
 * @wr: posted as it stands; wr.wr_id names the slot and its generation, which
 *	is odd while the device has it
 * @rdma: @wr and what opcodes that reach for the peer's memory add to it
 * @buf: kmalloc()ed, mapped while the slot exists; NULL when size is 0
 * @sge: the whole buffer
 *
 * WR and buffer fill one cache line where those have 64 bytes, and the SGE
 * begins the next.
 */
struct rxps_slot {
	union {
		struct ib_send_wr wr;
		struct ib_rdma_wr rdma;
	};
	void *buf;
	struct ib_sge sge;
} ____cacheline_aligned_in_smp;

/**
 * struct rxps_queue - the sends of a run; touched by its thread alone
 * @pd: protection domain
 * @cq: completions of the sends
 * @slots: in_flight of them
 * @free: stack of indices of slots the device does not have
 * @nr_free: height of that stack
 * @stamps: messages have a header or immediate data, which differ in each
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
	bool stamps;
	u64 not_before;
	u64 rate_next;
	u64 backoff_ns;
	u64 strays;
	struct ib_wc wc[RXPS_POLL_BUDGET];
};

/**
 * struct rxps_answers - receives of a run of round trips, and what they are
 *	matched with; touched by its thread alone
 * @account: where each receive is, with the three arrays that belong to it
 * @nr: receives, RXPS_ANSWER_CHAIN more than may be answered at once; 0 for a
 *	run without round trips
 * @wrs: their WRs
 * @sges: their SGEs, one each
 * @buf: all of their buffers
 * @dma: where the device finds @buf
 * @posted_ns: when a message was posted, by sequence number, in a ring; 0 once
 *	it is answered
 * @ring_mask: entries of @posted_ns, less one
 * @oldest: lowest sequence number without an answer
 * @since: when the wait for the next answer began, in ns
 * @not_before: no receive is posted before this time (back-off), in ns
 */
struct rxps_answers {
	struct rxpost_account account;
	u32 nr;
	struct ib_recv_wr *wrs;
	struct ib_sge *sges;
	u8 *buf;
	u64 dma;
	u64 *posted_ns;
	u32 ring_mask;
	u64 oldest;
	u64 since;
	u64 not_before;
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
 * @lock: protects @state, @go, @ending, @dead, @error, @reason, @device, @qpn
 *	and @devname. Taken by CM and QP event handlers, with interrupts off.
 * @state: enum rxpost_send_run_state
 * @go: a held run may begin; set once, read without @lock by the thread
 * @ending: no more sends are to be posted; read likewise
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
 * @answers: of round trips
 *
 * @seq: makes one reading of @ledger consistent
 * @ledger: written by the thread inside @seq
 * @rtt: round trips by time, NULL for a run without them; written by the
 *	thread, read at any time, freed with the run
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
	bool go;
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
	struct rxps_answers answers;

	seqcount_t seq;
	struct rxps_ledger ledger;
	struct rxpost_histogram *rtt;
};

/* Preemption is off, so that a reader never spins on a writer that sleeps. */
static inline void rxps_ledger_begin(struct rxps_run *run)
{
	preempt_disable();
	write_seqcount_begin(&run->seq);
}

static inline void rxps_ledger_end(struct rxps_run *run)
{
	write_seqcount_end(&run->seq);
	preempt_enable();
}

/* Over TCP: a send is complete when it is on its way, whatever becomes of it. */
static inline bool rxps_is_iwarp(const struct ib_device *device)
{
	return rdma_protocol_iwarp(device, rdma_start_port(device));
}

/* Messages that wait for an answer, or will for ever. */
static inline u64 rxps_unanswered(const struct rxps_ledger *ledger)
{
	return ledger->posted - ledger->answers;
}

/* main.c */
extern struct genl_family rxpost_send_family;

/* netlink.c */
struct rxps_run *rxps_nl_find(struct genl_info *info, int type);

/* show.c */
void rxps_nl_run_event(struct rxps_run *run, u8 cmd);

/* registry.c */
int rxps_run_new(const struct rxps_config *cfg, u32 portid, u32 *id,
		 struct netlink_ext_ack *extack);
struct rxps_run *rxps_run_get(u32 id);
struct rxps_run *rxps_run_get_next(u32 id);
void rxps_run_put(struct rxps_run *run);
u32 rxps_runs_go(u32 portid);
void rxps_runs_leave(struct rxps_run *run);
void rxps_runs_finished(struct rxps_run *run);
void rxps_runs_orphan(u32 portid);
void rxps_runs_device_gone(struct ib_device *device);
void rxps_runs_exit(void);

/* run.c */
int rxps_run_thread(void *data);
bool rxps_run_go(struct rxps_run *run);
__printf(3, 4)
void rxps_run_end(struct rxps_run *run, int error, const char *fmt, ...);
__printf(2, 3)
void rxps_run_failed(struct rxps_run *run, const char *fmt, ...);

/* conn.c */
int rxps_conn_resolve(struct rxps_run *run);
int rxps_conn_create_qp(struct rxps_run *run);
int rxps_conn_connect(struct rxps_run *run);
void rxps_conn_closed(struct rxps_run *run);
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

/* slot.c */
u64 rxps_slots_bytes(const struct rxps_config *cfg);
int rxps_slots_alloc(struct rxps_run *run);
void rxps_slots_free(struct rxps_run *run);
void rxps_slot_stamp(struct rxps_run *run, struct rxps_slot *slot, u64 seq,
		     u64 now);
bool rxps_slot_complete(struct rxps_run *run, u64 wr_id);

/* op.c */
const struct rxps_op *rxps_op_find(u32 opcode);
u32 rxps_op_number(const struct rxps_op *op);
enum dma_data_direction rxps_op_direction(const struct rxps_op *op);
int rxps_op_check(struct rxps_run *run);
u8 rxps_op_read_depth(const struct rxps_run *run);
void rxps_op_prepare(const struct rxps_config *cfg, struct rxps_slot *slot);
const char *rxps_op_failure(const struct rxps_op *op, enum ib_wc_status status);

/* answer.c */
u32 rxps_answers_need(const struct rxps_config *cfg);
u64 rxps_answers_bytes(const struct rxps_config *cfg);
int rxps_answers_create(struct rxps_run *run);
void rxps_answers_destroy(struct rxps_run *run);
int rxps_answers_fill(struct rxps_run *run);
u32 rxps_answers_room(const struct rxps_run *run);
void rxps_answers_expect(struct rxps_run *run, u64 seq, u64 now);
bool rxps_answer_complete(struct rxps_run *run, const struct ib_wc *wc,
			  u64 now);
void rxps_answers_repost(struct rxps_run *run, u64 now);
u64 rxps_answers_repost_at(const struct rxps_run *run);
void rxps_answers_watch(struct rxps_run *run, u64 now);
void rxps_answers_reclaim(struct rxps_run *run);

#endif /* _RXPS_SEND_H */
