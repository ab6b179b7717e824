// SPDX-License-Identifier: GPL-2.0
/*
 * answer.c - a run of round trips: its receives, and what comes in them. Called
 * by the run's thread alone; of a run without round trips nothing here knows.
 *
 * There are RXPS_ANSWER_CHAIN receives more than messages may wait for an
 * answer. So less than a chain of them can be held back, and still each message
 * has a receive for its answer. Full chains are posted before messages are, and
 * no message is posted without its receive, so an answer finds none posted only
 * if the peer sends what is no answer. Where each is, account.h says.
 *
 * An answer is matched by its sequence number with the time at which that
 * message was posted. Messages without an answer lie within in_flight sequence
 * numbers, so a ring of that size has them all: whoever leaves one out stops
 * the run after in_flight more.
 */
#include "send.h"

#include <linux/log2.h>
#include <linux/slab.h>

#include "wire.h"

#define RXPS_ANSWER_BACKOFF_NS	NSEC_PER_MSEC

static_assert(sizeof(struct rxpost_wire_hdr) <= RXPS_ANSWER_SIZE);

/**
 * rxps_answers_need() - how many receives a run has
 * @cfg: of the run
 *
 * Context: any. Return: 0 for a run without round trips.
 */
u32 rxps_answers_need(const struct rxps_config *cfg)
{
	return cfg->round_trip ? cfg->in_flight + RXPS_ANSWER_CHAIN : 0;
}

/* Entries of the ring of times of posting. */
static u32 rxps_answers_ring(const struct rxps_config *cfg)
{
	return roundup_pow_of_two(cfg->in_flight);
}

/* A power of two, and so aligned to its own size. */
static u32 rxps_answers_buf_size(const struct rxps_config *cfg)
{
	return roundup_pow_of_two(rxps_answers_need(cfg) * RXPS_ANSWER_SIZE);
}

/**
 * rxps_answers_bytes() - what the receives of a run take
 * @cfg: of the run
 *
 * Context: any. Return: bytes that rxps_answers_create() allocates at the most,
 * with what the allocator adds; 0 for a run without round trips.
 */
u64 rxps_answers_bytes(const struct rxps_config *cfg)
{
	const struct rxps_answers *answers;
	u32 nr = rxps_answers_need(cfg);

	if (!nr)
		return 0;
	return kmalloc_size_roundup(nr * sizeof(*answers->wrs)) +
	       kmalloc_size_roundup(nr * sizeof(*answers->sges)) +
	       kmalloc_size_roundup(rxps_answers_ring(cfg) *
				    sizeof(*answers->posted_ns)) +
	       kmalloc_size_roundup(rxps_answers_buf_size(cfg)) +
	       kmalloc_size_roundup(nr * sizeof(*answers->account.state)) +
	       kmalloc_size_roundup(nr * sizeof(*answers->account.free)) +
	       kmalloc_size_roundup(nr * sizeof(*answers->account.held));
}

/* Also takes what rxps_answers_alloc() could not finish. */
static void rxps_answers_free(struct rxps_answers *answers)
{
	kfree(answers->buf);
	kvfree(answers->posted_ns);
	kvfree(answers->account.held);
	kvfree(answers->account.free);
	kvfree(answers->account.state);
	kvfree(answers->sges);
	kvfree(answers->wrs);
}

static int rxps_answers_alloc(struct rxps_run *run)
{
	struct rxps_answers *answers = &run->answers;
	u32 ring = rxps_answers_ring(&run->cfg);
	int node = ibdev_to_node(run->device);
	u32 nr = answers->nr;
	u8 *state;
	u32 *free, *held;

	answers->wrs = kvcalloc(nr, sizeof(*answers->wrs), GFP_KERNEL);
	answers->sges = kvcalloc(nr, sizeof(*answers->sges), GFP_KERNEL);
	answers->posted_ns = kvcalloc(ring, sizeof(*answers->posted_ns),
				      GFP_KERNEL);
	answers->ring_mask = ring - 1;
	answers->buf = kzalloc_node(rxps_answers_buf_size(&run->cfg),
				    GFP_KERNEL | __GFP_NOWARN |
				    __GFP_RETRY_MAYFAIL, node);
	state = kvcalloc(nr, sizeof(*state), GFP_KERNEL);
	free = kvcalloc(nr, sizeof(*free), GFP_KERNEL);
	held = kvcalloc(nr, sizeof(*held), GFP_KERNEL);
	answers->account.state = state;
	answers->account.free = free;
	answers->account.held = held;
	if (!answers->wrs || !answers->sges || !answers->posted_ns ||
	    !answers->buf || !state || !free || !held)
		return -ENOMEM;
	rxpost_account_init(&answers->account, nr, state, free, held);
	return 0;
}

static void rxps_answers_init_wrs(struct rxps_run *run)
{
	struct rxps_answers *answers = &run->answers;
	u32 i;

	for (i = 0; i < answers->nr; i++) {
		answers->sges[i] = (struct ib_sge) {
			.addr	= answers->dma + (u64)i * RXPS_ANSWER_SIZE,
			.length	= RXPS_ANSWER_SIZE,
			.lkey	= run->queue.pd->local_dma_lkey,
		};
		answers->wrs[i] = (struct ib_recv_wr) {
			.wr_id	 = RXPS_WR_ANSWER | i,
			.sg_list = &answers->sges[i],
			.num_sge = 1,
		};
	}
}

/**
 * rxps_answers_create() - make the receives of a run of round trips
 * @run: run, with a PD
 *
 * Context: the run's thread. Return: 0 or a negative errno; after 0 the caller
 * owes rxps_answers_destroy().
 */
int rxps_answers_create(struct rxps_run *run)
{
	struct rxps_answers *answers = &run->answers;
	int ret;

	answers->nr = rxps_answers_need(&run->cfg);
	if (!answers->nr)
		return 0;
	ret = rxps_answers_alloc(run);
	if (ret)
		goto free_answers;

	answers->dma = ib_dma_map_single(run->device, answers->buf,
					 answers->nr * RXPS_ANSWER_SIZE,
					 DMA_FROM_DEVICE);
	ret = -EIO;
	if (ib_dma_mapping_error(run->device, answers->dma))
		goto free_answers;
	rxps_answers_init_wrs(run);
	return 0;

free_answers:
	rxps_answers_free(answers);
	return ret;
}

/**
 * rxps_answers_destroy() - undo rxps_answers_create()
 * @run: run, whose QP is gone
 *
 * Context: the run's thread.
 */
void rxps_answers_destroy(struct rxps_run *run)
{
	struct rxps_answers *answers = &run->answers;

	if (!answers->nr)
		return;
	ib_dma_unmap_single(run->device, answers->dma,
			    answers->nr * RXPS_ANSWER_SIZE, DMA_FROM_DEVICE);
	rxps_answers_free(answers);
}

/* Takes up to @nr slots and chains them, in the order they are taken. */
static struct ib_recv_wr *rxps_answers_chain(struct rxps_run *run, u32 nr)
{
	struct rxps_answers *answers = &run->answers;
	struct ib_recv_wr *head = NULL;
	struct ib_recv_wr **link = &head;
	u32 slot;

	while (nr--) {
		slot = rxpost_account_take(&answers->account);
		if (slot == RXPOST_NO_SLOT)
			break;
		ib_dma_sync_single_for_device(run->device,
					      answers->sges[slot].addr,
					      RXPS_ANSWER_SIZE,
					      DMA_FROM_DEVICE);
		*link = &answers->wrs[slot];
		link = (struct ib_recv_wr **)&answers->wrs[slot].next;
	}
	*link = NULL;
	return head;
}

/* Everything before @bad was accepted; @bad and all after it are free again. */
static void rxps_answers_refused(struct rxps_answers *answers,
				 const struct ib_recv_wr *bad)
{
	for (; bad; bad = bad->next)
		rxpost_account_refuse(&answers->account,
				      bad->wr_id & RXPS_WR_SLOT_MASK);
}

static int rxps_answers_post(struct rxps_run *run, u32 nr)
{
	struct rxps_answers *answers = &run->answers;
	struct ib_recv_wr *head = rxps_answers_chain(run, nr);
	const struct ib_recv_wr *bad = head; /* as in rxps_queue_post() */
	int ret;

	ret = ib_post_recv(run->qp, head, &bad);
	if (ret)
		rxps_answers_refused(answers, bad);

	rxps_ledger_begin(run);
	run->ledger.receives = answers->account.ledger;
	rxps_ledger_end(run);
	return ret;
}

/**
 * rxps_answers_fill() - post all receives of a run
 * @run: run, with a QP that is not connected yet
 *
 * Context: the run's thread. Return: 0 or a negative errno.
 */
int rxps_answers_fill(struct rxps_run *run)
{
	struct rxps_answers *answers = &run->answers;
	int ret;

	if (!answers->nr)
		return 0;
	ret = rxps_answers_post(run, answers->nr);
	if (ret)
		rxps_run_end(run, ret,
			     "device %s took %u of %u receives for answers: %pe",
			     run->devname, answers->account.ledger.outstanding,
			     answers->nr, ERR_PTR(ret));
	return ret;
}

/**
 * rxps_answers_repost() - post chains of receives, as many as are full
 * @run: run, connected
 * @now: ktime_get_ns()
 *
 * Comes before messages are posted, and as long as any wait for an answer. What
 * a device refuses is offered again later. A receive that was flushed tells that
 * the QP has come to its end and would flush all that follow.
 *
 * Context: the run's thread.
 */
void rxps_answers_repost(struct rxps_run *run, u64 now)
{
	struct rxps_answers *answers = &run->answers;
	const struct rxpost_ledger *ledger = &answers->account.ledger;

	if (now < answers->not_before || ledger->flushed)
		return;
	while (ledger->held + ledger->free >= RXPS_ANSWER_CHAIN) {
		if (rxps_answers_post(run, RXPS_ANSWER_CHAIN)) {
			answers->not_before = now + RXPS_ANSWER_BACKOFF_NS;
			break;
		}
	}
}

/**
 * rxps_answers_repost_at() - when rxps_answers_repost() will try again
 * @run: run
 *
 * Context: the run's thread. Return: a time in ns, U64_MAX if a completion must
 * come first.
 */
u64 rxps_answers_repost_at(const struct rxps_run *run)
{
	const struct rxps_answers *answers = &run->answers;
	const struct rxpost_ledger *ledger = &answers->account.ledger;

	if (ledger->held + ledger->free < RXPS_ANSWER_CHAIN || ledger->flushed)
		return U64_MAX;
	return answers->not_before;
}

/**
 * rxps_answers_room() - how many messages may be posted and wait for answers
 * @run: run
 *
 * Each of them has a place in the ring and a receive for its answer; the latter
 * are short only while the device refuses some.
 *
 * Context: the run's thread. Return: U32_MAX for a run without round trips.
 */
u32 rxps_answers_room(const struct rxps_run *run)
{
	const struct rxps_answers *answers = &run->answers;
	u64 receives = answers->account.ledger.outstanding;
	u64 ring = run->ledger.posted - answers->oldest;

	if (!answers->nr)
		return U32_MAX;
	receives -= min(receives, rxps_unanswered(&run->ledger));
	return min(receives, run->cfg.in_flight - ring);
}

/**
 * rxps_answers_expect() - note a message that is about to be posted
 * @run: run
 * @seq: sequence number of the message, for which there is room
 * @now: ktime_get_ns()
 *
 * One that the device then refuses is noted again with its next try. Only for a
 * run of round trips.
 *
 * Context: the run's thread.
 */
void rxps_answers_expect(struct rxps_run *run, u64 seq, u64 now)
{
	struct rxps_answers *answers = &run->answers;

	if (!rxps_unanswered(&run->ledger))
		answers->since = now;
	answers->posted_ns[seq & answers->ring_mask] = now;
}

/* When message @seq was posted, or NULL if it does not wait for an answer. */
static u64 *rxps_answers_find(struct rxps_run *run, u64 seq)
{
	struct rxps_answers *answers = &run->answers;
	u64 *posted_ns = &answers->posted_ns[seq & answers->ring_mask];

	if (seq - answers->oldest >= run->ledger.posted - answers->oldest)
		return NULL;
	return *posted_ns ? posted_ns : NULL;
}

static void rxps_answers_count(struct rxps_run *run, u64 *posted_ns, u64 now)
{
	struct rxps_answers *answers = &run->answers;
	struct rxps_ledger *ledger = &run->ledger;

	rxpost_histogram_add(run->rtt, now - *posted_ns);
	ledger->answers = run->rtt->total;
	ledger->rtt_min = run->rtt->min;
	ledger->rtt_max = run->rtt->max;
	ledger->rtt_sum = run->rtt->sum;

	*posted_ns = 0;
	answers->since = now;
	while (answers->oldest < ledger->posted &&
	       !answers->posted_ns[answers->oldest & answers->ring_mask])
		answers->oldest++;
}

/* Nothing that came is trusted: it is compared with what was sent. */
static void rxps_answers_read(struct rxps_run *run, u32 slot, u32 len, u64 now)
{
	struct rxps_answers *answers = &run->answers;
	const struct rxpost_wire_hdr *hdr =
		(void *)&answers->buf[slot * RXPS_ANSWER_SIZE];
	u64 *posted_ns;

	ib_dma_sync_single_for_cpu(run->device, answers->sges[slot].addr,
				   RXPS_ANSWER_SIZE, DMA_FROM_DEVICE);
	if (len < sizeof(*hdr) ||
	    le32_to_cpu(hdr->magic) != RXPOST_WIRE_MAGIC) {
		run->ledger.foreign++;
		return;
	}
	posted_ns = rxps_answers_find(run, le64_to_cpu(hdr->seq));
	if (!posted_ns)
		run->ledger.unmatched++;
	else if (le64_to_cpu(hdr->time_ns) != *posted_ns ||
		 le32_to_cpu(hdr->len) != run->cfg.size)
		run->ledger.damaged++;
	else
		rxps_answers_count(run, posted_ns, now);
}

/**
 * rxps_answer_complete() - take a receive back and see what came in it
 * @run: run
 * @wc: completion with RXPS_WR_ANSWER in its wr_id
 * @now: ktime_get_ns(), after it was polled
 *
 * Context: the run's thread, inside rxps_ledger_begin(). Return: whether there
 * is such a receive and the completion is its own.
 */
bool rxps_answer_complete(struct rxps_run *run, const struct ib_wc *wc,
			  u64 now)
{
	struct rxps_answers *answers = &run->answers;
	struct rxpost_account *account = &answers->account;
	u32 slot = wc->wr_id & RXPS_WR_SLOT_MASK;
	bool own;

	if (slot >= answers->nr || answers->wrs[slot].wr_id != wc->wr_id)
		return false;
	if (wc->status == IB_WC_SUCCESS)
		own = rxpost_account_complete(account, slot);
	else if (wc->status == IB_WC_WR_FLUSH_ERR)
		own = rxpost_account_flush(account, slot);
	else
		own = rxpost_account_fail(account, slot);
	if (!own)
		return false;

	/* a second completion of this posting is not this receive's any more */
	answers->wrs[slot].wr_id += RXPS_WR_GENERATION;
	if (wc->status == IB_WC_SUCCESS) {
		rxps_answers_read(run, slot, wc->byte_len, now);
		run->ledger.last_ns = now;
	}
	return true;
}

/**
 * rxps_answers_watch() - end a run whose answers do not come any more
 * @run: run, connected
 * @now: ktime_get_ns()
 *
 * Context: the run's thread.
 */
void rxps_answers_watch(struct rxps_run *run, u64 now)
{
	const struct rxps_answers *answers = &run->answers;
	u32 timeout_ms = run->cfg.answer_timeout_ms;
	u64 due = rxps_unanswered(&run->ledger);

	if (!answers->nr || !due ||
	    now < answers->since + (u64)timeout_ms * NSEC_PER_MSEC)
		return;
	if (!run->ledger.answers)
		rxps_run_end(run, -ETIMEDOUT,
			     "no answer in %u ms: does the peer echo messages (sink echo)?",
			     timeout_ms);
	else
		rxps_run_end(run, -ETIMEDOUT,
			     "no answer in %u ms; messages that wait for one: %llu",
			     timeout_ms, due);
}

/**
 * rxps_answers_reclaim() - take back receives that will never complete
 * @run: run, whose QP is gone and whose CQ is empty
 *
 * Context: the run's thread.
 */
void rxps_answers_reclaim(struct rxps_run *run)
{
	struct rxpost_account *account = &run->answers.account;
	u32 rest = account->ledger.outstanding;
	u32 slot;

	if (!rest)
		return;
	pr_warn("%s: QP %u: %u receives did not complete in %u ms, taken back\n",
		run->devname, run->qpn, rest, run->cfg.drain_timeout_ms);
	for (slot = 0; slot < run->answers.nr; slot++)
		rxpost_account_reclaim(account, slot);
	rxps_ledger_begin(run);
	run->ledger.receives = account->ledger;
	rxps_ledger_end(run);
}
