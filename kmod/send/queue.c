// SPDX-License-Identifier: GPL-2.0
/*
 * queue.c - the sends of a run: PD and CQ, slots with their buffers, posting,
 * completions, and the ledger. Knows verbs and nothing of rdma_cm. Called by
 * the run's thread alone, except rxps_ledger_read().
 *
 * wr_id = generation (48 bits) | slot (16 bits). A generation is odd while the
 * device has the slot and never comes twice, so a completion is taken only for
 * the very send it belongs to.
 */
#include "send.h"

#include <linux/cache.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "tasklet.h"
#include "wire.h"

#define RXPS_WR_SLOT_MASK	0xffffULL
#define RXPS_WR_GENERATION	(RXPS_WR_SLOT_MASK + 1)	/* one step; set in odd ones */

#define RXPS_BACKOFF_MIN_NS	NSEC_PER_MSEC
#define RXPS_BACKOFF_MAX_NS	(64 * NSEC_PER_MSEC)
#define RXPS_RATE_BURST_NS	(10 * NSEC_PER_MSEC)	/* what a late batch may catch up */

static_assert(RXPS_IN_FLIGHT_MAX <= RXPS_WR_SLOT_MASK);

/* Preemption is off, so that a reader never spins on a writer that sleeps. */
static void rxps_ledger_begin(struct rxps_run *run)
{
	preempt_disable();
	write_seqcount_begin(&run->seq);
}

static void rxps_ledger_end(struct rxps_run *run)
{
	write_seqcount_end(&run->seq);
	preempt_enable();
}

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

static bool rxps_has_header(const struct rxps_run *run)
{
	return run->cfg.size >= sizeof(struct rxpost_wire_hdr);
}

/* All of a message that stays: only sequence number and time come later. */
static void rxps_slot_fill(u8 *buf, u32 size, u32 index)
{
	struct rxpost_wire_hdr *hdr = (void *)buf;
	u32 head = size >= sizeof(*hdr) ? sizeof(*hdr) : 0;
	u32 i;

	for (i = head; i < size; i++)
		buf[i] = i + index;
	if (!head)
		return;
	*hdr = (struct rxpost_wire_hdr) {
		.magic	= cpu_to_le32(RXPOST_WIRE_MAGIC),
		.len	= cpu_to_le32(size),
		.sum	= cpu_to_le32(rxpost_wire_sum(buf + head, size - head)),
	};
}

static int rxps_slot_init(struct rxps_run *run, u32 index)
{
	struct rxps_slot *slot = &run->queue.slots[index];
	struct ib_device *device = run->device;
	u32 size = run->cfg.size;
	u64 addr;

	slot->wr.wr_id = index;
	slot->wr.opcode = IB_WR_SEND;
	slot->wr.send_flags = IB_SEND_SIGNALED;
	if (!size)
		return 0;

	slot->buf = kmalloc_node(max_t(u32, size, L1_CACHE_BYTES),
				 GFP_KERNEL | __GFP_NOWARN |
				 __GFP_RETRY_MAYFAIL,
				 ibdev_to_node(device));
	if (!slot->buf)
		return -ENOMEM;
	rxps_slot_fill(slot->buf, size, index);

	addr = ib_dma_map_single(device, slot->buf, size, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(device, addr))
		goto free_buf;

	slot->sge.addr = addr;
	slot->sge.length = size;
	slot->sge.lkey = run->queue.pd->local_dma_lkey;
	slot->wr.sg_list = &slot->sge;
	slot->wr.num_sge = 1;
	return 0;

free_buf:
	kfree(slot->buf);
	slot->buf = NULL;
	return -EIO;
}

/* Also takes slots that rxps_slot_init() never saw or could not finish. */
static void rxps_slots_free(struct rxps_run *run)
{
	struct rxps_queue *queue = &run->queue;
	struct rxps_slot *slot;
	u32 i;

	for (i = 0; i < run->cfg.in_flight; i++) {
		slot = &queue->slots[i];
		if (!slot->buf)
			continue;
		ib_dma_unmap_single(run->device, slot->sge.addr,
				    slot->sge.length, DMA_TO_DEVICE);
		kfree(slot->buf);
	}
	kvfree(queue->free);
	vfree(queue->slots);
}

static int rxps_slots_alloc(struct rxps_run *run)
{
	struct rxps_queue *queue = &run->queue;
	u32 nr = run->cfg.in_flight;
	u32 i;
	int ret;

	queue->free = kvcalloc(nr, sizeof(*queue->free), GFP_KERNEL);
	if (!queue->free)
		return -ENOMEM;
	queue->slots = vzalloc_node(array_size(nr, sizeof(*queue->slots)),
				    ibdev_to_node(run->device));
	if (!queue->slots) {
		kvfree(queue->free);
		return -ENOMEM;
	}

	for (i = 0; i < nr; i++) {
		ret = rxps_slot_init(run, i);
		if (ret)
			goto free_slots;
		queue->free[nr - 1 - i] = i;
		cond_resched();
	}
	queue->nr_free = nr;
	return 0;

free_slots:
	rxps_slots_free(run);
	return ret;
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

/* Sends and completions must fit before anything is spent on them. */
static int rxps_queue_check(struct rxps_run *run)
{
	const struct ib_device_attr *attrs = &run->device->attrs;
	u32 nr = run->cfg.in_flight;

	if (attrs->max_qp_wr < 0 || nr > attrs->max_qp_wr) {
		rxps_run_end(run, -EINVAL,
			     "in-flight %u does not fit device %s: a QP there holds %d",
			     nr, run->devname, attrs->max_qp_wr);
		return -EINVAL;
	}
	if (attrs->max_cqe < 0 || nr + 1 > attrs->max_cqe) {
		rxps_run_end(run, -EINVAL,
			     "in-flight %u does not fit device %s: a CQ there holds %d",
			     nr, run->devname, attrs->max_cqe);
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
		.cqe		= run->cfg.in_flight + 1,
		.comp_vector	= run->id % max(device->num_comp_vectors, 1),
	};
	int ret;

	ret = rxps_queue_check(run);
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
	return 0;

destroy_cq:
	ib_destroy_cq(queue->cq);
dealloc_pd:
	ib_dealloc_pd(queue->pd);
report:
	rxps_run_end(run, ret, "no room for %u sends of %u bytes on device %s: %pe",
		     run->cfg.in_flight, run->cfg.size, run->devname,
		     ERR_PTR(ret));
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
	rxps_slots_free(run);
	rxpost_tasklets_settle();
	ib_destroy_cq(run->queue.cq);
	ib_dealloc_pd(run->queue.pd);
}

/* The slot is the CPU's until the second sync gives it to the device. */
static void rxps_slot_stamp(struct rxps_run *run, struct rxps_slot *slot,
			    u64 seq, u64 now)
{
	struct rxpost_wire_hdr *hdr = slot->buf;

	ib_dma_sync_single_for_cpu(run->device, slot->sge.addr, sizeof(*hdr),
				   DMA_TO_DEVICE);
	hdr->seq = cpu_to_le64(seq);
	hdr->time_ns = cpu_to_le64(now);
	ib_dma_sync_single_for_device(run->device, slot->sge.addr,
				      sizeof(*hdr), DMA_TO_DEVICE);
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
	struct ib_send_wr *next = NULL;
	struct rxps_slot *slot;
	u32 i = nr;

	while (i--) {
		slot = rxps_slot_top(&run->queue, i);
		if (rxps_has_header(run))
			rxps_slot_stamp(run, slot, run->ledger.posted + i, now);
		slot->wr.wr_id += RXPS_WR_GENERATION;
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

/* How many to post next: a batch, or what remains; 0 while slots are short. */
static u32 rxps_queue_want(const struct rxps_run *run)
{
	const struct rxps_config *cfg = &run->cfg;
	u32 want = cfg->batch;

	if (cfg->count)
		want = min_t(u64, want, cfg->count - run->ledger.posted);
	return want <= run->queue.nr_free ? want : 0;
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

/* Returns the slot to the stack if the completion is its own. */
static bool rxps_slot_complete(struct rxps_queue *queue, u32 nr, u64 wr_id)
{
	u32 index = wr_id & RXPS_WR_SLOT_MASK;
	struct rxps_slot *slot;

	if (index >= nr)
		return false;
	slot = &queue->slots[index];
	if (slot->wr.wr_id != wr_id || !(wr_id & RXPS_WR_GENERATION))
		return false;

	slot->wr.wr_id += RXPS_WR_GENERATION;
	queue->free[queue->nr_free++] = index;
	return true;
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

/* Says why a connection died, as far as the first error tells it. */
static void rxps_queue_failed(struct rxps_run *run, enum ib_wc_status status)
{
	static const char * const meaning[] = {
		[IB_WC_RETRY_EXC_ERR] = "the peer does not answer any more",
		[IB_WC_RNR_RETRY_EXC_ERR] = "the peer had no receive posted for too long",
		[IB_WC_REM_INV_REQ_ERR] = "the peer found the message too long",
		[IB_WC_REM_OP_ERR] = "the peer could not take the message in",
		[IB_WC_REM_ACCESS_ERR] = "the peer's memory could not be accessed",
	};
	const char *text = NULL;

	if (status == IB_WC_WR_FLUSH_ERR) {
		rxps_run_end(run, -EIO,
			     "a send failed with \"%s\": the connection was lost",
			     ib_wc_status_msg(status));
		return;
	}
	if (status < ARRAY_SIZE(meaning))
		text = meaning[status];
	rxps_run_failed(run, "a send failed with \"%s\"%s%s",
			ib_wc_status_msg(status), text ? ": " : "", text ?: "");
}

/**
 * rxps_queue_poll() - take up to RXPS_POLL_BUDGET completions
 * @run: run
 *
 * Context: the run's thread. Return: completions taken.
 */
u32 rxps_queue_poll(struct rxps_run *run)
{
	enum ib_wc_status worst = IB_WC_SUCCESS;
	struct rxps_queue *queue = &run->queue;
	u32 strays = 0;
	int i, nr;

	nr = ib_poll_cq(queue->cq, RXPS_POLL_BUDGET, queue->wc);
	if (nr <= 0)
		return 0;

	rxps_ledger_begin(run);
	for (i = 0; i < nr; i++) {
		struct ib_wc *wc = &queue->wc[i];

		if (!rxps_slot_complete(queue, run->cfg.in_flight, wc->wr_id)) {
			strays++;
			continue;
		}
		rxps_ledger_count(run, wc->status);
		if (worst == IB_WC_SUCCESS)
			worst = wc->status;
	}
	run->ledger.last_ns = ktime_get_ns();
	rxps_ledger_end(run);

	if (strays && !queue->strays)
		pr_warn("%s: QP %u: completion for a send that is not posted\n",
			run->devname, run->qpn);
	queue->strays += strays;
	if (worst != IB_WC_SUCCESS)
		rxps_queue_failed(run, worst);
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
 * rxps_queue_reclaim() - take back sends that will never complete
 * @run: run, whose QP is gone
 *
 * Context: the run's thread.
 */
void rxps_queue_reclaim(struct rxps_run *run)
{
	u32 rest;

	while (rxps_queue_poll(run))
		cond_resched();

	rest = rxps_ledger_outstanding(&run->ledger);
	if (!rest)
		return;
	pr_warn("%s: QP %u: %u sends did not complete in %u ms, taken back\n",
		run->devname, run->qpn, rest, run->cfg.drain_timeout_ms);
	rxps_ledger_begin(run);
	run->ledger.reclaimed += rest;
	rxps_ledger_end(run);
}
