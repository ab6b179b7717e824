/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rxpost.h - every object of the receiver, and who owns each of its fields.
 *
 *	receiver -- binding -- poller (CQ, kthread)
 *	                |          |
 *	                `-- connection -- queue (slots, account)
 *
 * A receiver outlives its device; a binding is what it has on one device. A
 * connection belongs to one poller from attach to detach: in between only that
 * poller's thread touches its queue, so no lock of ours guards a receive
 * queue. Others ask the poller by command and read published copies.
 *
 * Locks, in order:
 *	rxpost_mutex		netlink's view: the list of receivers, names,
 *				a receiver's binding and state. Sleeps. Never
 *				held over a wait for the network.
 *	the CM's handler lock	rdma_lock_handler(): state of one CM id
 *	events_lock		event.c: what is to be sent. Under any of the above
 *	receiver->lock		see the struct. CM handlers and pollers take it
 * rebind_lock (device.c) is taken with nothing but rxpost_mutex, and nothing is
 * taken with it.
 */
#ifndef _RXPOST_H
#define _RXPOST_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <uapi/linux/rxpost.h>

#include "account.h"
#include "fault.h"
#include "queue.h"
#include "wire.h"
#include "wr_id.h"

#define RXPOST_DEPTH_MAX	65536
#define RXPOST_BATCH_MAX	256
#define RXPOST_BUDGET_MAX	16
#define RXPOST_SLOT_SIZE_MAX	1048576
#define RXPOST_CONNS_MAX	1024
#define RXPOST_CONNS_DEFAULT	128
#define RXPOST_POLLERS_MAX	16
#define RXPOST_BATCH_TIMEOUT_MAX_US	1000000U
#define RXPOST_SPIN_MAX_US	10000U
#define RXPOST_DRAIN_TIMEOUT_MAX_MS	600000U
#define RXPOST_HOLD_MAX_US	600000000U
#define RXPOST_IDLE_TIMEOUT_MAX_MS	86400000U
#define RXPOST_SEGMENTS_MAX	64
#define RXPOST_ALLOW_MAX	16
#define RXPOST_CPU_ANY		U32_MAX

/* rxe and siw refuse a QP without a send queue. */
#define RXPOST_SQ_WR		1
/* Answers of the echo sink that can be on their way on one connection. */
#define RXPOST_ECHO_WR		64
/* How long a refused receive waits before it is offered again. */
#define RXPOST_RETRY_NS		NSEC_PER_MSEC
/* A poller tells of low water no more often. */
#define RXPOST_LOW_TELL_NS	NSEC_PER_SEC
/* Longest wait for a poller to fill a new queue; it works without sleeping. */
#define RXPOST_FILL_TIMEOUT	(10 * HZ)

#define RXPOST_REASON_LEN	96
#define RXPOST_WC_STATUSES	(IB_WC_GENERAL_ERR + 1)
#define RXPOST_ERRNOS		134	/* EHWPOISON is the last, 133 */

struct rxpost_receiver;

/**
 * struct rxpost_prefix - a range of peer addresses
 * @family: AF_INET or AF_INET6
 * @len: leading bits that count
 * @in: the address, for AF_INET
 * @in6: the address, for AF_INET6
 */
struct rxpost_prefix {
	u16 family;
	u8 len;
	union {
		struct in_addr in;
		struct in6_addr in6;
	};
};

/*
 * struct rxpost_config - what a receiver was told
 *
 * The first part is fixed at creation. The second changes under rxpost_mutex
 * with WRITE_ONCE() and is read by pollers and by the receiver's worker with
 * READ_ONCE(): each value is good on its own, and nobody needs two of them to
 * agree. The third changes under rxpost_mutex and receiver->lock.
 */
struct rxpost_config {
	char name[RXPOST_NAME_LEN + 1];
	char device[IB_DEVICE_NAME_MAX];	/* rxpost_mutex, once it is back */
	bool device_given;	/* else the address chooses it */
	struct sockaddr_storage addr;
	u32 depth_max;
	u32 slot_size;		/* sum of @segments */
	u32 segments[RXPOST_SEGMENTS_MAX];
	u32 nr_segments;
	u32 max_conns;
	u32 pollers;
	u32 sink;		/* enum rxpost_sink */
	u32 rnr_retry;
	bool low_water_given;	/* else it follows depth */
	bool pollers_given;	/* else there are as few as do */
	bool rnr_given;		/* timer or retries: not to be ignored silently */

	u32 depth;
	u32 batch;
	u32 batch_timeout_us;
	u32 low_water;
	u32 poll_mode;		/* enum rxpost_poll_mode */
	u32 budget;
	u32 spin_us;
	u32 drain_timeout_ms;
	u32 hold_us;
	u32 idle_timeout_ms;	/* 0 is never */
	u32 rnr_timer_us;	/* as rounded up to rnr_code's wait */
	u8 rnr_code;
	u32 cpus[RXPOST_POLLERS_MAX];
	u32 nr_cpus;		/* 0: pollers run anywhere */

	struct rxpost_prefix allow[RXPOST_ALLOW_MAX];
	u32 nr_allow;		/* 0: everybody is let in */
};

/**
 * struct rxpost_turns - what a poller counts that belongs to no queue
 * @stale: completions of a generation that is gone
 * @bogus: completions whose wr_id cannot be ours
 * @polls: calls of ib_poll_cq that returned something
 * @sleeps: times the thread slept
 */
struct rxpost_turns {
	u64 stale;
	u64 bogus;
	u64 polls;
	u64 sleeps;
};

/**
 * struct rxpost_histograms - distributions, one set a poller, or their sum
 * @chain: calls of ib_post_recv by number of receives handed over
 * @status: completions by enum ib_wc_status
 * @refused: refusing calls by positive errno; unknown ones in the last
 * @turns: plain counts
 *
 * One writer, its poller; readers take each word with READ_ONCE().
 */
struct rxpost_histograms {
	u64 chain[RXPOST_BATCH_MAX + 1];
	u64 status[RXPOST_WC_STATUSES];
	u64 refused[RXPOST_ERRNOS];
	struct rxpost_turns turns;
};

/**
 * struct rxpost_published - a poller's figures as others may read them
 * @seq: taken by the writer once a turn, with preemption off, so that a reader
 *	never sees half of an update and never waits for a sleeping writer
 * @ledger: copy of the queue's ledger
 * @counters: copy of its counters
 * @sends: copy of the ledger of its answers; all 0 unless the sink is echo
 * @last_rx_ns: ktime_get() of the turn that received last, 0 for never
 */
struct rxpost_published {
	seqcount_t seq;
	struct rxpost_ledger ledger;
	struct rxpost_counters counters;
	struct rxpost_ledger sends;
	u64 last_rx_ns;
};

/**
 * struct rxpost_answer - one send of the echo sink
 * @wr: next is written when a chain is built, the rest once
 * @sge: its part of the answers' buffer
 */
struct rxpost_answer {
	struct ib_send_wr wr;
	struct ib_sge sge;
} ____cacheline_aligned;

/*
 * struct rxpost_echo - the answers of one connection
 *
 * Made and freed by the receiver's worker (echo.c); in between the poller's.
 */
struct rxpost_echo {
	struct ib_device *dev;
	struct rxpost_answer *answers;	/* RXPOST_ECHO_WR */
	struct rxpost_account account;	/* answers are FREE or POSTED */
	u8 state[RXPOST_ECHO_WR];
	u32 free[RXPOST_ECHO_WR];
	void *buf;		/* of all answers, mapped as one */
	u64 addr;
	u32 stride;
};

/* Bits of rxpost_conn.commands, set and taken as a whole. */
enum rxpost_conn_command {
	RXPOST_CMD_QUEUED,	/* the node is on the poller's list */
	RXPOST_CMD_ATTACH,	/* own it and fill its queue */
	RXPOST_CMD_DRAIN,	/* post no more; detach at outstanding 0 */
	RXPOST_CMD_EXPIRE,	/* detach now, whatever is outstanding */
};

/* Bits of rxpost_conn.flags. */
enum rxpost_conn_flag {
	RXPOST_CONN_DYING,	/* teardown was asked for, once */
	RXPOST_CONN_NO_POST,	/* the QP is about to leave for ERR */
};

struct genl_family;
struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

/*
 * struct rxpost_conn - one CM id and its QP
 *
 *	NEW --fill--> FILLED --ESTABLISHED--> LIVE
 *	 |               |                      |
 *	 `---------------+----------------------'
 *	                 v
 *	             DRAINING --detach--> DEAD --> freed
 *
 * Freed by the receiver's worker, which alone calls rdma_destroy_id().
 */
struct rxpost_conn {
	struct rxpost_receiver *rcv;
	struct rxpost_poller *poller;
	struct rdma_cm_id *id;
	u32 index;
	u32 generation;
	u32 qpn;
	u32 rq_granted;
	u64 born_ns;
	bool foreign;		/* no rxpost private data in its request */
	u8 rnr_code;		/* of its QP; the receiver's worker */
	u64 upkeep_ns;		/* when it was accepted; likewise */
	u64 answers_mark;	/* upkeep.c's; worker only */
	u64 answers_ns;		/* when that changed; worker only */
	struct sockaddr_storage peer;
	unsigned long flags;	/* enum rxpost_conn_flag, atomic bits */
	u8 state;		/* enum rxpost_conn_state; receiver->lock */
	char reason[RXPOST_REASON_LEN];	/* why it ends; by whoever set DYING */

	/* the receiver's worker */
	bool accepted;
	bool answered;		/* accepted, or rejected by rdma_accept() */
	bool attached;
	bool expired;
	struct kthread_work accept_work;
	struct kthread_work teardown_work;
	struct kthread_delayed_work expire_work;
	struct kthread_delayed_work idle_work;
	struct kthread_work finish_work;

	/* from anyone to the poller */
	atomic_t commands;	/* bits of enum rxpost_conn_command */
	struct llist_node command_node;
	struct completion filled;
	struct completion expire_seen;

	/* the poller's, from attach to detach */
	struct rxpost_queue queue;
	struct rxpost_echo *echo;	/* NULL unless that is the sink */
	bool slow;		/* the sink takes its time with a message */
	bool draining;
	bool failed;		/* a completion in error: its QP is in ERR */
	bool due;		/* post whatever there is, full batch or not */
	bool touched;		/* on the poller's list for this turn */
	struct rxpost_conn *next_touched;
	u64 last_rx_ns;
	u32 capacity;		/* outstanding at the last refusal */
	u64 held_since_ns;
	struct list_head waiting_node;	/* poller->waiting */
	u64 refused_ns;
	struct list_head retry_node;	/* poller->retry */
	struct timerqueue_node sink_node;	/* poller->sinks */
	char failure[RXPOST_REASON_LEN];	/* what made it fail, in words */

	struct rxpost_published published;
};

/*
 * struct rxpost_poller - one CQ and the thread that polls it
 * @task: referenced until the CQ is destroyed and an RCU grace period later:
 *	on kernels where rxe completes from a tasklet, that tasklet can call our
 *	handler late (6.1 drivers/infiniband/sw/rxe/rxe_cq.c:42-56)
 * @notified: set by the completion handler and by commands
 * @kicked: a live part of the configuration changed
 * @cq_failed: the device reported the CQ broken, for good; written by anyone
 * @cq_mourned: the thread has ended the connections of a failed CQ
 * @commands: connections with bits set in their commands
 * @conns: by index; written and read by the thread alone
 * @waiting: connections that hold slots back for a batch, oldest first
 * @retry: connections with refused receives, oldest first
 * @sinks: connections whose sink has to do something, by when
 * @home: CPUs it may run on when it is not pinned
 * @pinned: it moved itself to one CPU
 */
struct rxpost_poller {
	struct rxpost_binding *binding;
	struct rxpost_receiver *rcv;
	u32 index;
	struct ib_cq *cq;
	struct task_struct *task;
	struct rxpost_conn **conns;
	u32 nr_conns;
	u64 now_ns;		/* the turn's clock */
	u64 busy_ns;		/* when there was work last */
	u64 low_told_ns;	/* when it told of low water last */
	bool armed;
	bool cq_mourned;
	struct list_head waiting;
	struct list_head retry;
	struct timerqueue_head sinks;
	struct cpumask home;
	bool pinned;
	struct rxpost_histograms hist;
	struct rxpost_fault_store late;	/* completions a fault point kept back */
	struct ib_wc wc[RXPOST_BUDGET_MAX];

	/* written by other CPUs: not on a line that the thread works with */
	struct llist_head commands ____cacheline_aligned_in_smp;
	bool notified;
	bool kicked;
	bool cq_failed;
};

/*
 * struct rxpost_binding - what a receiver has on one device
 * @claimed: somebody tears it down; rxpost_mutex
 * @gone: completed when nothing of it is left on the device
 *
 * PD, listener and pollers; connections hang on the receiver. Whoever finds it
 * claimed waits for @gone.
 */
struct rxpost_binding {
	struct kref ref;
	struct rxpost_receiver *rcv;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct rdma_cm_id *listener;
	struct rxpost_poller *pollers[RXPOST_POLLERS_MAX];
	u32 nr_pollers;
	bool claimed;
	struct completion gone;
};

/*
 * struct rxpost_receiver - one name, one address, one configuration
 * @lock: protects conn_by_index, generations, nr_conns, each connection's
 *	state, admitting, cfg.allow, past_*, rejected and accepted, and keeps pollers from
 *	leaving the binding (rxpost_mutex keeps the binding). Never
 *	taken by QP, CQ and completion events, which may come in an interrupt:
 *	its holder may wait for a poller to finish publishing, and that poller
 *	may be what the interrupt stopped.
 */
struct rxpost_receiver {
	struct kref ref;
	struct list_head node;		/* rxpost_mutex */
	u32 id;
	u32 state;			/* rxpost_mutex */
	struct rxpost_config cfg;
	struct rxpost_binding *binding;	/* rxpost_mutex */
	struct kthread_worker *worker;	/* accepts and ends connections */
	u32 worker_pid;			/* its thread's, which may have ended */
	struct kthread_work retune_work;
	struct work_struct destroy_work;
	u64 reserved;			/* bytes of the memory bound */
	int rebind_err;			/* of the last try; rxpost_mutex */
	u32 rebind_news;		/* device.c's, at that; rxpost_mutex */
	unsigned long rebind_at;	/* jiffies of the next; rxpost_mutex */
	unsigned long rebind_interval;	/* until the one after; rxpost_mutex */
	u32 rnr_effective_us;
	u32 cqe;

	spinlock_t lock;		/* protects what the struct's head says */
	bool admitting;
	u32 nr_conns;
	struct rxpost_conn **conn_by_index;
	u32 *generations;
	wait_queue_head_t conns_gone;
	struct rxpost_ledger past_ledger;
	struct rxpost_counters past_counters;
	struct rxpost_ledger past_sends;
	struct rxpost_histograms past_hist;
	u64 rejected;
	u64 accepted;

	atomic64_t mappings;		/* live DMA mappings */
	atomic64_t memory;		/* bytes of slot memory */
};

/**
 * struct rxpost_ask - a request being served, for refusing it in a sentence
 * @extack: where the sentence goes, or NULL
 * @attrs: the request's attributes by type, or NULL; of those that may come
 *	several times, the last
 * @nlh: the whole request, or NULL
 */
struct rxpost_ask {
	struct netlink_ext_ack *extack;
	struct nlattr **attrs;
	const struct nlmsghdr *nlh;
};

/* rxpost.c: receivers */
extern struct mutex rxpost_mutex;
extern struct list_head rxpost_receivers;	/* rxpost_mutex, by id */

int rxpost_receiver_create(const struct rxpost_config *cfg,
			   const struct rxpost_ask *ask,
			   struct rxpost_receiver **out);
void rxpost_receiver_delete(struct rxpost_receiver *rcv);
void rxpost_receiver_get(struct rxpost_receiver *rcv);
void rxpost_receiver_put(struct rxpost_receiver *rcv);
u64 rxpost_memory_limit(void);
u64 rxpost_memory_left(void);
u64 rxpost_memory_reserved(void);

/* binding.c: a receiver on its device */
int rxpost_binding_create(struct rxpost_receiver *rcv,
			  const struct rxpost_ask *ask);
int rxpost_binding_start(struct rxpost_receiver *rcv,
			 const struct rxpost_ask *ask);
void rxpost_binding_abort(struct rxpost_receiver *rcv);
void rxpost_binding_close(struct rxpost_receiver *rcv, const char *reason);
void rxpost_binding_teardown(struct rxpost_receiver *rcv, const char *reason);
int rxpost_binding_check(struct rxpost_receiver *rcv,
			 const struct rxpost_ask *ask);
void rxpost_binding_kick(struct rxpost_receiver *rcv);
bool rxpost_binding_is_iwarp(const struct rxpost_binding *b);
u32 rxpost_sq_wr(const struct rxpost_config *cfg);
u64 rxpost_conn_bytes(const struct rxpost_config *cfg);

/* device.c: devices that come and go */
bool rxpost_device_usable(struct ib_device *dev);
int rxpost_devices_register(void);
void rxpost_devices_stop(void);
void rxpost_devices_unregister(void);

/* config.c: what may be asked for */
int rxpost_refuse(const struct rxpost_ask *ask, int err, int attr,
		  const char *fmt, ...) __printf(4, 5);
int rxpost_config_new(struct rxpost_config *cfg, const struct rxpost_ask *ask);
int rxpost_config_change(struct rxpost_receiver *rcv,
			 const struct rxpost_ask *ask);

/* lists.c: configuration that is more than a number */
int rxpost_take_segments(struct rxpost_config *cfg,
			 const struct rxpost_ask *ask);
int rxpost_take_cpus(struct rxpost_config *cfg, const struct rxpost_ask *ask);
int rxpost_take_allow(struct rxpost_config *cfg, const struct rxpost_ask *ask);
bool rxpost_allowed(const struct rxpost_config *cfg,
		    const struct sockaddr_storage *peer);

/* conn.c: connections; with listen.c all that knows rdma_cm */
int rxpost_conn_create(struct rxpost_binding *b, struct rdma_cm_id *id,
		       bool foreign);
void rxpost_conn_kill(struct rxpost_conn *conn, const char *fmt, ...)
	__printf(2, 3);
void rxpost_conn_lost(struct rxpost_conn *conn, const char *why);
void rxpost_conns_kill(struct rxpost_receiver *rcv,
		       struct rxpost_poller *poller, const char *reason);

/* upkeep.c: live connections, between their accept and their end */
void rxpost_upkeep_init(struct rxpost_conn *conn);
void rxpost_upkeep_begin(struct rxpost_conn *conn);
void rxpost_upkeep_end(struct rxpost_conn *conn);
void rxpost_retune(struct kthread_work *work);

/* listen.c: the listener, and who is let in */
int rxpost_listener_create(struct rxpost_binding *b,
			   const struct rxpost_ask *ask);
int rxpost_listener_start(struct rxpost_binding *b,
			  const struct rxpost_ask *ask);

/* queue.c: buffers, mappings, work requests */
u64 rxpost_queue_bytes(const struct rxpost_config *cfg);
int rxpost_queue_init(struct rxpost_queue *q, struct rxpost_conn *conn,
		      struct ib_pd *pd);
void rxpost_queue_free(struct rxpost_queue *q, struct rxpost_conn *conn);

/* post.c: the only caller of ib_post_recv() */
u32 rxpost_post(struct rxpost_queue *q, struct rxpost_histograms *hist, u32 n);

/* echo.c: the answers of the echo sink */
u64 rxpost_echo_bytes(const struct rxpost_config *cfg);
struct rxpost_echo *rxpost_echo_create(struct rxpost_conn *conn,
				       struct ib_pd *pd);
void rxpost_echo_free(struct rxpost_echo *echo, struct rxpost_conn *conn);
u32 rxpost_echo_post(struct rxpost_conn *conn, u32 n);

/* poll.c: the CQ and its thread */
struct rxpost_poller *rxpost_poller_create(struct rxpost_binding *b, u32 index,
					   u32 cqe);
void rxpost_poller_stop(struct rxpost_poller *p);
void rxpost_poller_free(struct rxpost_poller *p);
void rxpost_poller_command(struct rxpost_conn *conn,
			   enum rxpost_conn_command cmd);
void rxpost_poller_kick(struct rxpost_poller *p);
void rxpost_conn_detached(struct rxpost_conn *conn);	/* conn.c */

/* complete.c: what a completion means */
void rxpost_complete(struct rxpost_poller *p, int n,
		     struct rxpost_conn **touched);
void rxpost_complete_late(struct rxpost_poller *p,
			  struct rxpost_conn **touched);

/* repost.c: when a connection's slots are posted */
void rxpost_repost(struct rxpost_poller *p, struct rxpost_conn *conn);
bool rxpost_repost_due(struct rxpost_poller *p);
u64 rxpost_repost_deadline(struct rxpost_poller *p);
void rxpost_repost_forget(struct rxpost_conn *conn);

/* sink.c: what is done with a message */
void rxpost_sink(struct rxpost_conn *conn, struct rxpost_slot *slot, u32 len);
void rxpost_sink_wait(struct rxpost_conn *conn, struct rxpost_slot *slot,
		      u32 len);
void rxpost_sink_settle(struct rxpost_poller *p, struct rxpost_conn *conn);
void rxpost_sink_retune(struct rxpost_conn *conn);
u64 rxpost_sink_deadline(struct rxpost_poller *p);
bool rxpost_sink_due(struct rxpost_poller *p, struct rxpost_conn **touched);
void rxpost_sink_forget(struct rxpost_poller *p, struct rxpost_conn *conn);

/* stats.c: sums and consistent readings */
void rxpost_publish(struct rxpost_conn *conn);
void rxpost_read_conn(struct rxpost_conn *conn, struct rxpost_published *out);
void rxpost_read_receiver(struct rxpost_receiver *rcv,
			  struct rxpost_published *sum);
void rxpost_read_histograms(struct rxpost_receiver *rcv,
			    struct rxpost_histograms *out);
void rxpost_read_turns(struct rxpost_receiver *rcv, struct rxpost_turns *out);
void rxpost_fold_conn(struct rxpost_receiver *rcv, struct rxpost_conn *conn);
void rxpost_fold_poller(struct rxpost_receiver *rcv,
			const struct rxpost_poller *p);

/* event.c: the one way up */
void rxpost_event(enum rxpost_event_type type, struct rxpost_receiver *rcv,
		  struct rxpost_conn *conn, const char *fmt, ...)
	__printf(4, 5);
void rxpost_events_start(void);
void rxpost_events_stop(void);

/* Has a connection looked at when the turn ends; its poller only. */
static inline void rxpost_touch(struct rxpost_conn *conn,
				struct rxpost_conn **touched)
{
	if (conn->touched)
		return;
	conn->touched = true;
	conn->next_touched = *touched;
	*touched = conn;
}

/* Its QP is in ERR, or will be: nothing is posted to it any more. */
static inline bool rxpost_no_post(const struct rxpost_conn *conn)
{
	return conn->failed || conn->draining ||
	       test_bit(RXPOST_CONN_NO_POST, &conn->flags);
}

/* What the device has of a connection's: receives, and answers on their way. */
static inline u32 rxpost_outstanding(const struct rxpost_conn *conn)
{
	u32 n = conn->queue.account.ledger.outstanding;

	return conn->echo ? n + conn->echo->account.ledger.outstanding : n;
}

/* show.c: objects as attributes */
int rxpost_put_receiver(struct sk_buff *skb, struct rxpost_receiver *rcv);
int rxpost_put_conn(struct sk_buff *skb, struct rxpost_conn *conn);
int rxpost_put_stats(struct sk_buff *skb, struct rxpost_receiver *rcv,
		     const struct rxpost_histograms *hist);
int rxpost_put_ledger(struct sk_buff *skb, int attr,
		      const struct rxpost_ledger *ledger);
int rxpost_put_addr(struct sk_buff *skb, int addr_attr, int port_attr,
		    const struct sockaddr_storage *ss);

/* netlink.c: the family */
extern struct genl_family rxpost_nl_family;
struct rxpost_receiver *rxpost_find_receiver(const struct rxpost_ask *ask,
					     int id_attr, int name_attr);
int rxpost_netlink_init(void);
void rxpost_netlink_exit(void);

/* rnr.c: the InfiniBand table of RNR waits */
int rxpost_rnr_code(u32 us, u8 *code, u32 *granted_us);
u32 rxpost_rnr_wait_us(u8 code);
u32 rxpost_rnr_effective_us(const struct ib_device *dev, u32 us);

#endif /* _RXPOST_H */
