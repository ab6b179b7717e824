// SPDX-License-Identifier: GPL-2.0
/*
 * queue.c - the queue of a run: PD and CQ, posting, completions, the ledger.
 * Knows verbs and nothing of rdma_cm. Called by the run's thread alone, except
 * rxps_ledger_read().
 */
#include "send.h"

#include <linux/math64.h>

#include "tasklet.h"

#define RXPS_BACKOFF_MIN_NS	NSEC_PER_MSEC
#define RXPS_BACKOFF_MAX_NS	(64 * NSEC_PER_MSEC)
#define RXPS_RATE_BURST_NS	(10 * NSEC_PER_MSEC)	/* what a late batch may catch up */

/**
 * rxps_ledger_read() - one consistent reading of a run's ledger
 * @run: run
 * @ledger: where to write it
 *
 * Context: any.
 */
void rxps_ledger_read(struct rxps_run *run, struct rxps_ledger *ledger)
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&run->seq);
		*ledger = run->ledger;
	} while (read_seqcount_retry(&run->seq, seq));
}

/* Called by the device; on rxe under the CQ's lock with interrupts off. */
static void rxps_queue_wake(struct ib_cq *cq, void *context)
{
	struct rxps_run *run = context;

	wake_up_process(run->task);
}

static void rxps_queue_cq_event(struct ib_event *event, void *context)
{
	struct rxps_run *run = context;

	rxps_run_end(run, -EIO, "device %s ended the CQ: %s", run->devname,
		     ib_event_msg(event->event));
}

/* Requests and completions must fit before anything is spent on them. */
static int rxps_queue_check(struct rxps_run *run)
{
	const struct ib_device_attr *attrs = &run->device->attrs;
	u32 sends = run->cfg.in_flight;
	u32 receives = rxps_answers_need(&run->cfg);
	u32 nr = max(sends, receives);

	if (attrs->max_qp_wr < 0 || nr > attrs->max_qp_wr) {
		rxps_run_end(run, -EINVAL,
			     "in-flight %u does not fit device %s: a QP there holds %d and %u are needed",
			     sends, run->devname, attrs->max_qp_wr, nr);
		return -EINVAL;
	}
	nr = sends + receives + 1;
	if (attrs->max_cqe < 0 || nr > attrs->max_cqe) {
		rxps_run_end(run, -EINVAL,
			     "in-flight %u does not fit device %s: a CQ there holds %d and %u are needed",
			     sends, run->devname, attrs->max_cqe, nr);
		return -EINVAL;
	}
	return 0;
}

/**
 * rxps_queue_create() - PD, CQ and slots for a run whose device is known
 * @run: run
 *
 * Context: the run's thread. Return: 0 or a negative errno; after 0 the caller
 * owes rxps_queue_destroy().
 */
int rxps_queue_create(struct rxps_run *run)
{
	struct rxps_queue *queue = &run->queue;
	struct ib_device *device = run->device;
	struct ib_cq_init_attr attr = {
		.cqe		= run->cfg.in_flight +
				  rxps_answers_need(&run->cfg) + 1,
		.comp_vector	= run->id % max(device->num_comp_vectors, 1),
	};
	int ret;

	ret = rxps_op_check(run) ?: rxps_queue_check(run);
	if (ret)
		return ret;

	queue->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(queue->pd)) {
		ret = PTR_ERR(queue->pd);
		goto report;
	}

	queue->cq = ib_create_cq(device, rxps_queue_wake, rxps_queue_cq_event,
				 run, &attr);
	if (IS_ERR(queue->cq)) {
		ret = PTR_ERR(queue->cq);
		goto dealloc_pd;
	}

	ret = rxps_slots_alloc(run);
	if (ret)
		goto destroy_cq;
	ret = rxps_answers_create(run);
	if (ret)
		goto free_slots;
	return 0;

free_slots:
	rxps_slots_free(run);
destroy_cq:
	ib_destroy_cq(queue->cq);
dealloc_pd:
	ib_dealloc_pd(queue->pd);
report:
	rxps_run_end(run, ret, "no room for %u sends of %u bytes%s on device %s: %pe",
		     run->cfg.in_flight, run->cfg.size,
		     run->cfg.round_trip ? " and their answers" : "",
		     run->devname, ERR_PTR(ret));
	return ret;
}

/**
 * rxps_queue_destroy() - undo rxps_queue_create()
 * @run: run, whose QP is gone
 *
 * Context: the run's thread.
 */
void rxps_queue_destroy(struct rxps_run *run)
{
	rxps_answers_destroy(run);
	rxps_slots_free(run);
	rxpost_tasklets_settle();
	ib_destroy_cq(run->queue.cq);
	ib_dealloc_pd(run->queue.pd);
}

/* The @i-th free slot from the top of the stack. */
static struct rxps_slot *rxps_slot_top(struct rxps_queue *queue, u32 i)
{
	return &queue->slots[queue->free[queue->nr_free - 1 - i]];
}

/* Chains @nr slots from the top of the stack, built from its end. */
static struct ib_send_wr *rxps_chain_build(struct rxps_run *run, u32 nr,
					   u64 now)
{
	struct rxps_queue *queue = &run->queue;
	struct ib_send_wr *next = NULL;
	struct rxps_slot *slot;
	u32 i = nr;

	while (i--) {
		u64 seq = run->ledger.posted + i;

		slot = rxps_slot_top(queue, i);
		slot->wr.wr_id += RXPS_WR_GENERATION;
		if (queue->stamps)
			rxps_slot_stamp(run, slot, seq, now);
		if (run->answers.nr)
			rxps_answers_expect(run, seq, now);
		slot->wr.next = next;
		next = &slot->wr;
	}
	return next;
}

/*
 * Everything before @bad was accepted, @bad and all after it was not. Should
 * @bad not be in the chain at all, the slots are left with the device: they
 * come back when the QP is gone, whatever the device thinks.
 */
static u32 rxps_chain_accepted(const struct ib_send_wr *head,
			       const struct ib_send_wr *bad)
{
	u32 nr = 0;

	for (; head && head != bad; head = head->next)
		nr++;
	return nr;
}

/* Refused slots never left the stack; they only get a fresh generation. */
static void rxps_chain_settle(struct rxps_run *run, u32 nr, u32 accepted,
			      u64 now)
{
	struct rxps_queue *queue = &run->queue;
	u32 i;

	for (i = accepted; i < nr; i++)
		rxps_slot_top(queue, i)->wr.wr_id += RXPS_WR_GENERATION;
	queue->nr_free -= accepted;

	rxps_ledger_begin(run);
	if (accepted && !run->ledger.first_ns)
		run->ledger.first_ns = now;
	run->ledger.posted += accepted;
	run->ledger.post_calls++;
	rxps_ledger_end(run);
}

/* Later, and ever later; a device that has nothing to do and refuses is ill. */
static void rxps_queue_refused(struct rxps_run *run, int ret, u64 now)
{
	struct rxps_queue *queue = &run->queue;

	if (queue->backoff_ns >= RXPS_BACKOFF_MAX_NS &&
	    !rxps_ledger_outstanding(&run->ledger)) {
		rxps_run_end(run, ret, "device %s accepts no sends: %pe",
			     run->devname, ERR_PTR(ret));
		return;
	}
	queue->backoff_ns = clamp_t(u64, 2 * queue->backoff_ns,
				    RXPS_BACKOFF_MIN_NS, RXPS_BACKOFF_MAX_NS);
	queue->not_before = now + queue->backoff_ns;
}

static void rxps_queue_pace(struct rxps_run *run, u32 nr, u64 now)
{
	struct rxps_queue *queue = &run->queue;

	queue->backoff_ns = 0;
	if (!run->cfg.rate)
		return;
	queue->rate_next = max(queue->rate_next ?: now,
			       now - RXPS_RATE_BURST_NS);
	queue->rate_next += div64_u64(nr * (u64)NSEC_PER_SEC, run->cfg.rate);
	queue->not_before = queue->rate_next;
}

/* How many to post next: a batch, or what remains; 0 while room is short. */
static u32 rxps_queue_want(const struct rxps_run *run)
{
	const struct rxps_config *cfg = &run->cfg;
	u32 room = min(run->queue.nr_free, rxps_answers_room(run));
	u32 want = cfg->batch;

	if (cfg->count)
		want = min_t(u64, want, cfg->count - run->ledger.posted);
	return want <= room ? want : 0;
}

/**
 * rxps_queue_post_at() - when rxps_queue_post() will have something to post
 * @run: run
 *
 * Context: the run's thread. Return: a time in ns, U64_MAX if a completion
 * must come first or everything is posted.
 */
u64 rxps_queue_post_at(const struct rxps_run *run)
{
	return rxps_queue_want(run) ? run->queue.not_before : U64_MAX;
}

/**
 * rxps_queue_post() - post one batch if it is time
 * @run: run
 * @now: ktime_get_ns()
 *
 * Context: the run's thread, connection established and run not ending.
 * Return: sends the device accepted.
 */
u32 rxps_queue_post(struct rxps_run *run, u64 now)
{
	const struct ib_send_wr *bad;
	struct ib_send_wr *head;
	u32 want, accepted;
	int ret;

	want = rxps_queue_want(run);
	if (!want || now < run->queue.not_before)
		return 0;

	head = rxps_chain_build(run, want, now);
	bad = head; /* a driver that leaves it alone has accepted nothing */
	ret = ib_post_send(run->qp, head, &bad);
	accepted = ret ? rxps_chain_accepted(head, bad) : want;

	rxps_chain_settle(run, want, accepted, now);
	if (ret)
		rxps_queue_refused(run, ret, now);
	else
		rxps_queue_pace(run, accepted, now);
	return accepted;
}

static void rxps_ledger_count(struct rxps_run *run, enum ib_wc_status status)
{
	struct rxps_ledger *ledger = &run->ledger;

	switch (status) {
	case IB_WC_SUCCESS:
		ledger->completed++;
		ledger->bytes += run->cfg.size;
		break;
	case IB_WC_WR_FLUSH_ERR:
		ledger->flushed++;
		break;
	default:
		ledger->failed++;
		break;
	}
	ledger->status[min_t(u32, status, IB_WC_GENERAL_ERR)]++;
}

/*
 * The end of TCP, which siw reports to the CM, by flushes, and as an error of
 * the send that TCP did not take (6.12 siw_qp_sq_process()), in any order.
 */
static bool rxps_queue_is_cut_off(const struct rxps_run *run,
				  const struct ib_wc *wc)
{
	return rxps_is_iwarp(run->device) &&
	       (wc->status == IB_WC_WR_FLUSH_ERR ||
		(wc->status == IB_WC_LOC_QP_OP_ERR &&
		 !(wc->wr_id & RXPS_WR_ANSWER)));
}

/* Says why a connection died, as far as the first error tells it. */
static void rxps_queue_failed(struct rxps_run *run, const struct ib_wc *wc)
{
	bool answer = wc->wr_id & RXPS_WR_ANSWER;
	const char *what = answer ? "a receive for an answer" : "a send";
	const char *status = ib_wc_status_msg(wc->status);
	const char *text;

	if (rxps_queue_is_cut_off(run, wc)) {
		rxps_conn_closed(run);
		return;
	}
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		rxps_run_end(run, -EIO,
			     "%s failed with \"%s\": the connection was lost",
			     what, status);
		return;
	}
	if (!answer)
		text = rxps_op_failure(run->cfg.op, wc->status);
	else if (wc->status == IB_WC_LOC_LEN_ERR)
		text = "the answer was longer than a header";
	else
		text = NULL;
	rxps_run_failed(run, "%s failed with \"%s\"%s%s", what, status,
			text ? ": " : "", text ?: "");
}

/* Returns whether the completion is for something that was posted. */
static bool rxps_queue_take(struct rxps_run *run, const struct ib_wc *wc,
			    u64 now)
{
	if (wc->wr_id & RXPS_WR_ANSWER)
		return rxps_answer_complete(run, wc, now);
	if (!rxps_slot_complete(run, wc->wr_id))
		return false;
	rxps_ledger_count(run, wc->status);
	run->ledger.last_ns = now;
	return true;
}

/* A receive that was not used up goes with its connection; that is no error. */
static bool rxps_queue_is_failure(const struct ib_wc *wc)
{
	return wc->status != IB_WC_SUCCESS &&
	       !(wc->status == IB_WC_WR_FLUSH_ERR &&
		 wc->wr_id & RXPS_WR_ANSWER);
}

/**
 * rxps_queue_poll() - take up to RXPS_POLL_BUDGET completions
 * @run: run
 *
 * The clock is read once for all of them: they had all come by then.
 *
 * Context: the run's thread. Return: completions taken.
 */
u32 rxps_queue_poll(struct rxps_run *run)
{
	struct rxps_queue *queue = &run->queue;
	const struct ib_wc *failure = NULL;
	u32 strays = 0;
	int i, nr;
	u64 now;

	nr = ib_poll_cq(queue->cq, RXPS_POLL_BUDGET, queue->wc);
	if (nr <= 0)
		return 0;
	now = ktime_get_ns();

	rxps_ledger_begin(run);
	for (i = 0; i < nr; i++) {
		const struct ib_wc *wc = &queue->wc[i];

		if (!rxps_queue_take(run, wc, now))
			strays++;
		else if (!failure && rxps_queue_is_failure(wc))
			failure = wc;
	}
	if (run->answers.nr)
		run->ledger.receives = run->answers.account.ledger;
	rxps_ledger_end(run);

	if (strays && !queue->strays)
		pr_warn("%s: QP %u: completion for a request that is not posted\n",
			run->devname, run->qpn);
	queue->strays += strays;
	if (failure)
		rxps_queue_failed(run, failure);
	return nr;
}

/**
 * rxps_queue_arm() - ask for a wake-up at the next completion
 * @run: run
 *
 * Context: the run's thread, already in the state it wants to sleep in.
 * Return: true if there is something to poll and it must not sleep.
 */
bool rxps_queue_arm(struct rxps_run *run)
{
	struct ib_cq *cq = run->queue.cq;

	if (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		return true;
	return rxps_queue_poll(run);
}

/**
 * rxps_queue_reclaim() - take back requests that will never complete
 * @run: run, whose QP is gone
 *
 * Context: the run's thread.
 */
void rxps_queue_reclaim(struct rxps_run *run)
{
	u32 rest;

	while (rxps_queue_poll(run))
		cond_resched();

	rxps_answers_reclaim(run);
	rest = rxps_ledger_outstanding(&run->ledger);
	if (!rest)
		return;
	pr_warn("%s: QP %u: %u sends did not complete in %u ms, taken back\n",
		run->devname, run->qpn, rest, run->cfg.drain_timeout_ms);
	rxps_ledger_begin(run);
	run->ledger.reclaimed += rest;
	rxps_ledger_end(run);
}
