// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - the registry of runs, and life and thread of one run.
 *
 *   connecting -> sending -> stopping -> done
 *        |                        ^         ^
 *        +-- not connected -------+         |
 *        +-- nothing to connect with -------+
 *
 * A run moves by its own thread alone. Everybody else calls rxps_run_end(),
 * which sets flags and wakes the thread, from any context. The registry is
 * for netlink.c and main.c; only the reaper frees a run.
 */
#include "send.h"

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#define RXPS_SPIN_NS	(10 * NSEC_PER_USEC)	/* polling on after the last work */
#define RXPS_TICK_NS	(100 * NSEC_PER_MSEC)	/* longest sleep */
#define RXPS_SLACK_NS	(10 * NSEC_PER_USEC)	/* timer precision not needed */
#define RXPS_GRACE_MS	500U	/* for sends in flight when a run is stopped */

static unsigned int memory_limit_mb;
module_param(memory_limit_mb, uint, 0644);
MODULE_PARM_DESC(memory_limit_mb,
		 "Most MiB of message buffers for all runs together; 0 (default) is a quarter of the machine's memory");

/*
 * Protects rxps_runs, rxps_last_id, rxps_live, rxps_memory, rxps_kept and
 * rxps_closing, and orphan and finished of every run. Never held while waiting
 * for a run.
 */
static DEFINE_MUTEX(rxps_runs_lock);
static DEFINE_XARRAY(rxps_runs);
static u32 rxps_last_id;
static u32 rxps_live;
static u64 rxps_memory;		/* of the buffers of all live runs */
static u32 rxps_kept;
static bool rxps_closing;

static DECLARE_WAIT_QUEUE_HEAD(rxps_empty);
static void rxps_reap(struct work_struct *work);
static DECLARE_WORK(rxps_reap_work, rxps_reap);

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

static u64 rxps_ms_to_ns(u32 ms)
{
	return (u64)ms * NSEC_PER_MSEC;
}

static u32 rxps_run_outstanding(const struct rxps_run *run)
{
	return rxps_ledger_outstanding(&run->ledger);
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
	return run->cfg.count && run->ledger.completed == run->cfg.count;
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
		work += rxps_queue_post(run, now);
		if (work)
			worked = now;
		else if (now - worked > RXPS_SPIN_NS)
			rxps_run_sleep(run, &run->ending, now,
				       min(stop_at, rxps_queue_post_at(run)));
		cond_resched();
	}
}

/* Polls until nothing is outstanding, @until has passed or *@flag is set. */
static void rxps_run_settle(struct rxps_run *run, const bool *flag, u64 until)
{
	u64 now = ktime_get_ns();

	while (rxps_run_outstanding(run) && now < until && !READ_ONCE(*flag)) {
		if (!rxps_queue_poll(run))
			rxps_run_sleep(run, flag, now, until);
		cond_resched();
		now = ktime_get_ns();
	}
}

/*
 * Sends in flight get a short grace to complete, unless the connection is
 * known to be lost; then the QP is put into error and flushes the rest.
 */
static void rxps_run_drain(struct rxps_run *run)
{
	static const bool never;
	u64 now = ktime_get_ns();
	u64 until = now + rxps_ms_to_ns(run->cfg.drain_timeout_ms);
	u32 grace_ms = min(RXPS_GRACE_MS, run->cfg.drain_timeout_ms / 2);

	rxps_run_settle(run, &run->dead, now + rxps_ms_to_ns(grace_ms));
	rxps_conn_disconnect(run);
	rxps_run_settle(run, &never, until);
}

/* A peer that leaves after the last acknowledgment has not failed the run. */
static void rxps_run_judge(struct rxps_run *run)
{
	if (!rxps_run_complete(run))
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
	if (!rxps_conn_connect(run))
		rxps_run_send(run);

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

static u64 rxps_memory_need(const struct rxps_config *cfg)
{
	return (u64)max_t(u32, cfg->size, L1_CACHE_BYTES) * cfg->in_flight;
}

static u64 rxps_memory_left(void)
{
	u32 mb = READ_ONCE(memory_limit_mb);
	u64 limit = mb ? (u64)mb << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 2;

	return limit - min(limit, rxps_memory);
}

static int rxps_run_thread(void *data)
{
	struct rxps_run *run = data;

	rxps_run_work(run);
	/* whoever starts the next run when this one is done finds its place free */
	mutex_lock(&rxps_runs_lock);
	rxps_live--;
	rxps_memory -= rxps_memory_need(&run->cfg);
	mutex_unlock(&rxps_runs_lock);
	rxps_run_set_state(run, RXPOST_SEND_RUN_STATE_DONE);
	complete_all(&run->released);
	rxps_nl_run_done(run);

	mutex_lock(&rxps_runs_lock);
	run->finished = true;
	if (run->orphan)
		schedule_work(&rxps_reap_work);
	mutex_unlock(&rxps_runs_lock);
	return 0;
}

static struct rxps_run *rxps_run_alloc(const struct rxps_config *cfg,
				       u32 portid)
{
	struct rxps_run *run;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return NULL;

	refcount_set(&run->refs, 1);
	run->portid = portid;
	run->cfg = *cfg;
	init_completion(&run->released);
	spin_lock_init(&run->lock);
	seqcount_init(&run->seq);
	run->state = RXPOST_SEND_RUN_STATE_CONNECTING;
	return run;
}

static int rxps_runs_room(const struct rxps_config *cfg,
			  struct netlink_ext_ack *extack)
{
	lockdep_assert_held(&rxps_runs_lock);

	if (rxps_closing) {
		NL_SET_ERR_MSG(extack, "rxpost_send is being unloaded");
		return -ESHUTDOWN;
	}
	if (rxps_live >= RXPS_LIVE_MAX) {
		NL_SET_ERR_MSG(extack, "64 runs are under way, no more are allowed");
		return -EBUSY;
	}
	if (rxps_memory_need(cfg) > rxps_memory_left()) {
		NL_SET_ERR_MSG(extack, "buffers of all runs would exceed memory_limit_mb");
		return -ENOSPC;
	}
	if (rxps_kept >= RXPS_KEPT_MAX) {
		NL_SET_ERR_MSG(extack, "1024 runs are kept for open sockets; close some");
		return -EBUSY;
	}
	if (rxps_last_id == U32_MAX - 1) { /* id + 1 must not wrap */
		NL_SET_ERR_MSG(extack, "all run ids are used up; reload rxpost_send");
		return -ENOSPC;
	}
	return 0;
}

/* Gives the run an id, a thread that does not run yet, and a place. */
static int rxps_run_register(struct rxps_run *run,
			     struct netlink_ext_ack *extack)
{
	struct task_struct *task;
	int ret;

	lockdep_assert_held(&rxps_runs_lock);

	ret = rxps_runs_room(&run->cfg, extack);
	if (ret)
		return ret;

	run->id = rxps_last_id + 1;
	task = kthread_create(rxps_run_thread, run, "rxps/%u", run->id);
	if (IS_ERR(task)) {
		NL_SET_ERR_MSG(extack, "no thread for the run");
		return PTR_ERR(task);
	}

	ret = xa_insert(&rxps_runs, run->id, run, GFP_KERNEL);
	if (ret) {
		NL_SET_ERR_MSG(extack, "no memory for the run");
		kthread_stop(task);
		return ret;
	}

	run->task = get_task_struct(task);
	rxps_last_id = run->id;
	rxps_live++;
	rxps_memory += rxps_memory_need(&run->cfg);
	rxps_kept++;
	return 0;
}

/**
 * rxps_run_new() - start a run
 * @cfg: what to do, already checked; copied
 * @portid: netlink socket the run belongs to
 * @id: where to write its id
 * @extack: where to say why not
 *
 * The run is freed by the reaper, after its thread is done and its socket is
 * closed.
 *
 * Context: process, does not wait for the network. Return: 0 or a negative
 * errno, with a sentence in @extack.
 */
int rxps_run_new(const struct rxps_config *cfg, u32 portid, u32 *id,
		 struct netlink_ext_ack *extack)
{
	struct rxps_run *run;
	int ret;

	run = rxps_run_alloc(cfg, portid);
	if (!run) {
		NL_SET_ERR_MSG(extack, "no memory for the run");
		return -ENOMEM;
	}

	mutex_lock(&rxps_runs_lock);
	ret = rxps_run_register(run, extack);
	if (!ret) {
		*id = run->id;
		wake_up_process(run->task);
	}
	mutex_unlock(&rxps_runs_lock);
	if (ret)
		kfree(run);
	return ret;
}

/**
 * rxps_run_get() - find a run by id
 * @id: id
 *
 * Context: process. Return: the run, to be given to rxps_run_put(), or NULL.
 */
struct rxps_run *rxps_run_get(u32 id)
{
	struct rxps_run *run;

	mutex_lock(&rxps_runs_lock);
	run = xa_load(&rxps_runs, id);
	if (run)
		refcount_inc(&run->refs);
	mutex_unlock(&rxps_runs_lock);
	return run;
}

/**
 * rxps_run_get_next() - find the run with the lowest id from @id on
 * @id: lowest id that will do
 *
 * Context: process. Return: the run, to be given to rxps_run_put(), or NULL.
 */
struct rxps_run *rxps_run_get_next(u32 id)
{
	unsigned long index = id;
	struct rxps_run *run;

	mutex_lock(&rxps_runs_lock);
	run = xa_find(&rxps_runs, &index, U32_MAX, XA_PRESENT);
	if (run)
		refcount_inc(&run->refs);
	mutex_unlock(&rxps_runs_lock);
	return run;
}

/**
 * rxps_run_put() - give back a reference to a run
 * @run: run
 *
 * Context: any.
 */
void rxps_run_put(struct rxps_run *run)
{
	if (!refcount_dec_and_test(&run->refs))
		return;
	put_task_struct(run->task);
	kfree(run);
}

/* Takes runs that nobody will ask for out of the registry. */
static void rxps_reap_collect(struct list_head *reaped)
{
	struct rxps_run *run;
	unsigned long index;

	mutex_lock(&rxps_runs_lock);
	xa_for_each(&rxps_runs, index, run) {
		if (!run->orphan || !run->finished)
			continue;
		xa_erase(&rxps_runs, index);
		rxps_kept--;
		list_add_tail(&run->reaped, reaped);
	}
	mutex_unlock(&rxps_runs_lock);
}

static void rxps_reap(struct work_struct *work)
{
	struct rxps_run *run, *next;
	LIST_HEAD(reaped);

	rxps_reap_collect(&reaped);
	/* finished is the last thing a thread sets, not its last step */
	list_for_each_entry(run, &reaped, reaped)
		kthread_stop(run->task);
	/* a completion handler of rxe on 6.1 may still be in a softirq */
	if (!list_empty(&reaped))
		synchronize_rcu();
	list_for_each_entry_safe(run, next, &reaped, reaped)
		rxps_run_put(run);
	wake_up_all(&rxps_empty);
}

/**
 * rxps_runs_orphan() - a netlink socket closed: end and forget its runs
 * @portid: the socket
 *
 * Context: process; does not wait for the runs.
 */
void rxps_runs_orphan(u32 portid)
{
	struct rxps_run *run;
	unsigned long index;

	if (xa_empty(&rxps_runs))
		return;

	mutex_lock(&rxps_runs_lock);
	xa_for_each(&rxps_runs, index, run) {
		if (run->portid != portid)
			continue;
		run->orphan = true;
		rxps_run_end(run, 0, "the socket that started the run was closed");
	}
	mutex_unlock(&rxps_runs_lock);
	schedule_work(&rxps_reap_work);
}

/* Returns whether the run holds anything of @device and was told to end. */
static bool rxps_run_device_gone(struct rxps_run *run,
				 struct ib_device *device)
{
	bool uses;

	spin_lock_irq(&run->lock);
	uses = run->device == device;
	spin_unlock_irq(&run->lock);
	if (uses)
		rxps_run_end(run, -ENODEV, "device %s was removed",
			     run->devname);
	return uses;
}

/**
 * rxps_runs_device_gone() - end all runs on a device and wait for their end
 * @device: device that is being removed
 *
 * Context: process, in the client's .remove; each run bounds its own end.
 */
void rxps_runs_device_gone(struct ib_device *device)
{
	struct rxps_run *run;
	u32 id = 0;

	/* all are told before the first is waited for */
	while ((run = rxps_run_get_next(id + 1))) {
		id = run->id;
		rxps_run_device_gone(run, device);
		rxps_run_put(run);
	}

	id = 0;
	while ((run = rxps_run_get_next(id + 1))) {
		id = run->id;
		if (rxps_run_device_gone(run, device))
			wait_for_completion(&run->released);
		rxps_run_put(run);
	}
}

/**
 * rxps_runs_exit() - let no new run in, end all and wait until they are freed
 *
 * Context: process, module exit only.
 */
void rxps_runs_exit(void)
{
	struct rxps_run *run;
	unsigned long index;

	mutex_lock(&rxps_runs_lock);
	rxps_closing = true;
	xa_for_each(&rxps_runs, index, run) {
		run->orphan = true;
		rxps_run_end(run, -ESHUTDOWN, "rxpost_send is being unloaded");
	}
	mutex_unlock(&rxps_runs_lock);

	schedule_work(&rxps_reap_work);
	wait_event(rxps_empty, xa_empty(&rxps_runs));
	flush_work(&rxps_reap_work);
}
