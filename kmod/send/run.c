// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - life and thread of one run.
 *
 *   connecting -> [ready ->] sending -> stopping -> done
 *        |                                 ^         ^
 *        +-- not connected ----------------+         |
 *        +-- nothing to connect with ----------------+
 *
 * A run moves by its own thread alone. Everybody else calls rxps_run_end(),
 * which sets flags and wakes the thread, from any context. Runs are started and
 * found by way of registry.c.
 */
#include "send.h"

#include <linux/hrtimer.h>
#include <linux/jiffies.h>

#define RXPS_SPIN_NS	(10 * NSEC_PER_USEC)	/* polling on after the last work */
#define RXPS_TICK_NS	(100 * NSEC_PER_MSEC)	/* longest sleep */
#define RXPS_SLACK_NS	(10 * NSEC_PER_USEC)	/* timer precision not needed */
/*
 * What is in flight when a run is stopped may make no progress for this part of
 * drain_timeout_ms: 500 ms of the default
 */
#define RXPS_GRACE_PART	10U

static void rxps_run_set_state(struct rxps_run *run, u32 state)
{
	spin_lock_irq(&run->lock);
	run->state = state;
	if (state >= RXPOST_SEND_RUN_STATE_STOPPING)
		WRITE_ONCE(run->ending, true);
	spin_unlock_irq(&run->lock);
}

static __printf(3, 0)
void rxps_run_give_reason(struct rxps_run *run, int error, const char *fmt,
			  va_list args)
{
	lockdep_assert_held(&run->lock);
	run->error = -error;
	vscnprintf(run->reason, sizeof(run->reason), fmt, args);
	WRITE_ONCE(run->ending, true);
}

/**
 * rxps_run_end() - ask a run to end; the first one to ask gives the reason
 * @run: run
 * @error: 0 for a wish, which lets outstanding sends complete for a moment; a
 *	negative errno for what leaves them no chance
 * @fmt: one sentence without full stop
 *
 * Context: any. Returns at once.
 */
void rxps_run_end(struct rxps_run *run, int error, const char *fmt, ...)
{
	unsigned long flags;
	va_list args;

	spin_lock_irqsave(&run->lock, flags);
	if (!run->ending) {
		va_start(args, fmt);
		rxps_run_give_reason(run, error, fmt, args);
		va_end(args);
	}
	if (error)
		WRITE_ONCE(run->dead, true);
	spin_unlock_irqrestore(&run->lock, flags);
	wake_up_process(run->task);
}

/**
 * rxps_run_failed() - end a run because a send failed
 * @run: run
 * @fmt: one sentence without full stop
 *
 * A peer that cannot take a message in hangs up, and that may be heard before
 * the failed send is seen. Then this reason replaces that one: the peer's
 * hanging up was not the cause.
 *
 * Context: the run's thread.
 */
void rxps_run_failed(struct rxps_run *run, const char *fmt, ...)
{
	va_list args;

	spin_lock_irq(&run->lock);
	if (!run->ending || run->error == ECONNRESET ||
	    run->error == ECONNREFUSED) {
		va_start(args, fmt);
		rxps_run_give_reason(run, -EIO, fmt, args);
		va_end(args);
	}
	WRITE_ONCE(run->dead, true);
	spin_unlock_irq(&run->lock);
}

/**
 * rxps_run_go() - let a held run begin
 * @run: run
 *
 * Context: process. Return: false if the run is not held, was let go before, or
 * has come to its end.
 */
bool rxps_run_go(struct rxps_run *run)
{
	bool first;

	spin_lock_irq(&run->lock);
	first = run->cfg.hold && !run->go && !run->ending;
	if (first)
		WRITE_ONCE(run->go, true);
	spin_unlock_irq(&run->lock);
	if (first)
		wake_up_process(run->task);
	return first;
}

static u64 rxps_ms_to_ns(u32 ms)
{
	return (u64)ms * NSEC_PER_MSEC;
}

/* Something may still complete by itself: sends, and with them answers. */
static bool rxps_run_is_due(const struct rxps_run *run)
{
	return rxps_ledger_outstanding(&run->ledger) ||
	       (run->cfg.round_trip && rxps_unanswered(&run->ledger));
}

/* The device has something of the run: sends, or receives for answers. */
static bool rxps_run_is_posted(const struct rxps_run *run)
{
	return rxps_ledger_outstanding(&run->ledger) ||
	       run->ledger.receives.outstanding;
}

/* Sleeps until a completion, a call of rxps_run_end() that matters, or @until. */
static void rxps_run_sleep(struct rxps_run *run, const bool *flag, u64 now,
			   u64 until)
{
	ktime_t expires = ns_to_ktime(min(until, now + RXPS_TICK_NS));

	set_current_state(TASK_IDLE);
	if (!READ_ONCE(*flag) && !rxps_queue_arm(run))
		schedule_hrtimeout_range(&expires, RXPS_SLACK_NS,
					 HRTIMER_MODE_ABS);
	__set_current_state(TASK_RUNNING);
}

static bool rxps_run_complete(const struct rxps_run *run)
{
	return run->cfg.count && run->ledger.completed == run->cfg.count &&
	       !rxps_run_is_due(run);
}

/* Waits, connected, until a held run is let go or asked to end. */
static void rxps_run_hold(struct rxps_run *run)
{
	if (!run->cfg.hold)
		return;
	rxps_run_set_state(run, RXPOST_SEND_RUN_STATE_READY);
	rxps_nl_run_event(run, RXPOST_SEND_CMD_RUN_READY);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (READ_ONCE(run->go) || READ_ONCE(run->ending))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

/* Posts and polls until the run is complete, over, or asked to end. */
static void rxps_run_send(struct rxps_run *run)
{
	u64 now = ktime_get_ns();
	u64 worked = now;
	u64 stop_at = U64_MAX;

	if (run->cfg.duration_ms)
		stop_at = now + rxps_ms_to_ns(run->cfg.duration_ms);

	rxps_run_set_state(run, RXPOST_SEND_RUN_STATE_SENDING);
	while (!READ_ONCE(run->ending)) {
		u32 work = rxps_queue_poll(run);

		now = ktime_get_ns();
		if (now >= stop_at || rxps_run_complete(run))
			break;
		rxps_answers_repost(run, now);
		work += rxps_queue_post(run, now);
		rxps_answers_watch(run, now);
		if (work)
			worked = now;
		else if (now - worked > RXPS_SPIN_NS)
			rxps_run_sleep(run, &run->ending, now,
				       min3(stop_at, rxps_queue_post_at(run),
					    rxps_answers_repost_at(run)));
		cond_resched();
	}
}

/*
 * Waits for what may still complete and be answered, unless the run is dead. A
 * slow peer gets the time it needs for as long as it makes progress, but never
 * more than until @until.
 */
static void rxps_run_settle(struct rxps_run *run, u64 grace, u64 until)
{
	u64 now = ktime_get_ns();
	u64 give_up = min(now + grace, until);

	while (rxps_run_is_due(run) && now < give_up && !READ_ONCE(run->dead)) {
		rxps_answers_repost(run, now);
		if (rxps_queue_poll(run))
			give_up = min(now + grace, until);
		else
			rxps_run_sleep(run, &run->dead, now,
				       min(give_up, rxps_answers_repost_at(run)));
		cond_resched();
		now = ktime_get_ns();
	}
}

/* Waits for what a QP in error gives back. */
static void rxps_run_flush(struct rxps_run *run, u64 until)
{
	static const bool never;
	u64 now = ktime_get_ns();

	while (rxps_run_is_posted(run) && now < until) {
		if (!rxps_queue_poll(run))
			rxps_run_sleep(run, &never, now, until);
		cond_resched();
		now = ktime_get_ns();
	}
}

/*
 * Sends in flight may complete and be answered, within half of what the whole
 * drain may take, unless the connection is known to be lost; then the QP is put
 * into error and flushes the rest.
 */
static void rxps_run_drain(struct rxps_run *run)
{
	u64 now = ktime_get_ns();
	u64 all = rxps_ms_to_ns(run->cfg.drain_timeout_ms);
	u64 grace = rxps_ms_to_ns(run->cfg.drain_timeout_ms / RXPS_GRACE_PART);

	rxps_run_settle(run, grace, now + all / 2);
	rxps_conn_disconnect(run);
	rxps_run_flush(run, now + all);
}

/*
 * A peer that leaves after the last acknowledgment has not failed the run. iWARP
 * has none but the answers of round trips: there a peer that leaves first may
 * not have had it all.
 */
static void rxps_run_judge(struct rxps_run *run)
{
	if (!rxps_run_complete(run))
		return;
	if (rxps_is_iwarp(run->device) && !run->cfg.round_trip)
		return;
	spin_lock_irq(&run->lock);
	run->error = 0;
	run->reason[0] = '\0';
	spin_unlock_irq(&run->lock);
}

static void rxps_run_work(struct rxps_run *run)
{
	unsigned long resolved;

	if (rxps_conn_resolve(run))
		goto destroy_conn;
	resolved = jiffies;
	if (rxps_queue_create(run))
		goto destroy_conn;
	/* Making and filling buffers is no fault of the peer's. */
	run->connect_by += jiffies - resolved;
	if (rxps_conn_create_qp(run))
		goto destroy_queue;
	if (!rxps_answers_fill(run) && !rxps_conn_connect(run)) {
		rxps_run_hold(run);
		rxps_run_send(run);
	}

	rxps_run_set_state(run, RXPOST_SEND_RUN_STATE_STOPPING);
	rxps_run_drain(run);
	rxps_conn_destroy_qp(run);
	rxps_queue_reclaim(run);
	rxps_run_judge(run);
destroy_queue:
	rxps_queue_destroy(run);
destroy_conn:
	rxps_conn_destroy(run);
}

/**
 * rxps_run_thread() - the whole life of a run
 * @data: run, already in the registry
 *
 * Context: the run's thread. Return: 0.
 */
int rxps_run_thread(void *data)
{
	struct rxps_run *run = data;

	rxps_run_work(run);
	/* whoever starts the next run when this one is done finds its place free */
	rxps_runs_leave(run);
	rxps_run_set_state(run, RXPOST_SEND_RUN_STATE_DONE);
	complete_all(&run->released);
	rxps_nl_run_event(run, RXPOST_SEND_CMD_RUN_DONE);
	rxps_runs_finished(run);
	return 0;
}
