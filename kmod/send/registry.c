// SPDX-License-Identifier: GPL-2.0
/*
 * registry.c - which runs there are: ids, places, memory, and who frees them.
 *
 * A run has its id and its place before it has a thread, which is made without
 * the registry's lock: that takes as long as kthreadd makes it. It is entered
 * before the thread starts, takes a place and the memory of its queue until its
 * thread leaves them (rxps_runs_leave()), and is kept, to be asked for, until its
 * thread has finished and its socket is closed; then the reaper frees it, and
 * nobody else does. For netlink.c, show.c and main.c, and at the end of a run's
 * life for run.c.
 */
#include "send.h"

/* How long the log hears nothing while a provider takes its time. */
#define RXPS_PATIENCE	(60 * HZ)

#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

static unsigned int memory_limit_mb;
module_param(memory_limit_mb, uint, 0644);
MODULE_PARM_DESC(memory_limit_mb,
		 "Most MiB of buffers, work requests and histograms for all runs together; 0 (default) is a quarter of the machine's memory");

/*
 * Protects rxps_runs, rxps_last_id, rxps_live, rxps_memory, rxps_kept and
 * rxps_closing, and orphan and finished of every run. Never held while waiting
 * for a run.
 */
static DEFINE_MUTEX(rxps_runs_lock);
static DEFINE_XARRAY(rxps_runs);
static u32 rxps_last_id;
static u32 rxps_live;
static u64 rxps_memory;		/* of the queues of live runs, and of all runs */
static u32 rxps_kept;
static bool rxps_closing;

static DECLARE_WAIT_QUEUE_HEAD(rxps_empty);
static void rxps_reap(struct work_struct *work);
static DECLARE_WORK(rxps_reap_work, rxps_reap);

/* What a run allocates while it has a device. */
static u64 rxps_memory_live(const struct rxps_config *cfg)
{
	return rxps_slots_bytes(cfg) + rxps_answers_bytes(cfg);
}

/* What it is itself, for as long as it can be asked for. */
static u64 rxps_memory_kept(const struct rxps_config *cfg)
{
	u64 bytes = kmalloc_size_roundup(sizeof(struct rxps_run));

	if (cfg->round_trip)
		bytes += PAGE_ALIGN(sizeof(struct rxpost_histogram));
	return bytes;
}

static u64 rxps_memory_need(const struct rxps_config *cfg)
{
	return rxps_memory_live(cfg) + rxps_memory_kept(cfg);
}

static u64 rxps_memory_left(void)
{
	u32 mb = READ_ONCE(memory_limit_mb);
	u64 limit = mb ? (u64)mb << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 2;

	return limit - min(limit, rxps_memory);
}

/**
 * rxps_runs_leave() - give back the place of a run and the memory of its queue
 * @run: run, that holds nothing of its device any more
 *
 * Itself and its histogram it keeps until the reaper frees it.
 *
 * Context: the run's thread.
 */
void rxps_runs_leave(struct rxps_run *run)
{
	mutex_lock(&rxps_runs_lock);
	rxps_live--;
	rxps_memory -= rxps_memory_live(&run->cfg);
	mutex_unlock(&rxps_runs_lock);
}

/**
 * rxps_runs_finished() - a run's thread has nothing left to do
 * @run: run, that the reaper may free from now on
 *
 * Context: the run's thread.
 */
void rxps_runs_finished(struct rxps_run *run)
{
	mutex_lock(&rxps_runs_lock);
	run->finished = true;
	if (run->orphan)
		schedule_work(&rxps_reap_work);
	mutex_unlock(&rxps_runs_lock);
}

static struct rxps_run *rxps_run_alloc(const struct rxps_config *cfg,
				       u32 portid)
{
	struct rxps_run *run;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return NULL;
	if (cfg->round_trip) {
		/* whole pages, where kmalloc() takes a power of two of them */
		run->rtt = vzalloc(sizeof(*run->rtt));
		if (!run->rtt)
			goto free_run;
	}

	refcount_set(&run->refs, 1);
	run->portid = portid;
	run->cfg = *cfg;
	init_completion(&run->released);
	spin_lock_init(&run->lock);
	seqcount_init(&run->seq);
	run->state = RXPOST_SEND_RUN_STATE_CONNECTING;
	return run;

free_run:
	kfree(run);
	return NULL;
}

/* Of a run that never had a thread, or has none any more. */
static void rxps_run_free(struct rxps_run *run)
{
	vfree(run->rtt);
	kfree(run);
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
		NL_SET_ERR_MSG(extack, __stringify(RXPS_LIVE_MAX)
			       " runs are under way, no more are allowed");
		return -EBUSY;
	}
	if (rxps_memory_need(cfg) > rxps_memory_left()) {
		NL_SET_ERR_MSG(extack, "buffers of all runs would exceed memory_limit_mb");
		return -ENOSPC;
	}
	if (rxps_kept >= RXPS_KEPT_MAX) {
		NL_SET_ERR_MSG(extack, __stringify(RXPS_KEPT_MAX)
			       " runs are kept for open sockets; close some");
		return -EBUSY;
	}
	if (rxps_last_id == U32_MAX - 1) { /* id + 1 must not wrap */
		NL_SET_ERR_MSG(extack, "all run ids are used up; reload rxpost_send");
		return -ENOSPC;
	}
	return 0;
}

/* Gives the run an id and a place, where nobody finds it yet. */
static int rxps_run_reserve(struct rxps_run *run,
			    struct netlink_ext_ack *extack)
{
	int ret;

	mutex_lock(&rxps_runs_lock);
	ret = rxps_runs_room(&run->cfg, extack);
	if (ret)
		goto unlock;
	ret = xa_reserve(&rxps_runs, rxps_last_id + 1, GFP_KERNEL);
	if (ret) {
		NL_SET_ERR_MSG(extack, "no memory for the run");
		goto unlock;
	}
	run->id = ++rxps_last_id;
	rxps_live++;
	rxps_memory += rxps_memory_need(&run->cfg);
	rxps_kept++;
unlock:
	mutex_unlock(&rxps_runs_lock);
	return ret;
}

/* Undoes rxps_run_reserve(); rxps_runs_exit() may wait for that. */
static void rxps_run_release(struct rxps_run *run)
{
	mutex_lock(&rxps_runs_lock);
	xa_release(&rxps_runs, run->id);
	rxps_live--;
	rxps_memory -= rxps_memory_need(&run->cfg);
	rxps_kept--;
	mutex_unlock(&rxps_runs_lock);
	wake_up_all(&rxps_empty);
}

/*
 * Puts the run in its place and lets its thread go, unless the module is being
 * unloaded by now.
 */
static int rxps_run_enter(struct rxps_run *run, struct netlink_ext_ack *extack)
{
	int ret = 0;

	mutex_lock(&rxps_runs_lock);
	if (rxps_closing) {
		NL_SET_ERR_MSG(extack, "rxpost_send is being unloaded");
		ret = -ESHUTDOWN;
	} else {
		/* the place is reserved: this takes no memory */
		xa_store(&rxps_runs, run->id, run, GFP_KERNEL);
		wake_up_process(run->task);
	}
	mutex_unlock(&rxps_runs_lock);
	return ret;
}

static int rxps_run_start(struct rxps_run *run, struct netlink_ext_ack *extack)
{
	struct task_struct *task;
	int ret;

	task = kthread_create(rxps_run_thread, run, "rxps/%u", run->id);
	if (IS_ERR(task)) {
		NL_SET_ERR_MSG(extack, "no thread for the run");
		return PTR_ERR(task);
	}
	run->task = get_task_struct(task);
	ret = rxps_run_enter(run, extack);
	if (ret) {
		kthread_stop(task);
		put_task_struct(task);
	}
	return ret;
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

	ret = rxps_run_reserve(run, extack);
	if (ret)
		goto free_run;
	*id = run->id;
	ret = rxps_run_start(run, extack);
	if (ret)
		goto release;
	return 0;

release:
	rxps_run_release(run);
free_run:
	rxps_run_free(run);
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
	rxps_run_free(run);
}

/**
 * rxps_runs_go() - let all held runs of a netlink socket begin
 * @portid: the socket
 *
 * Context: process. Return: how many began.
 */
u32 rxps_runs_go(u32 portid)
{
	struct rxps_run *run;
	unsigned long index;
	u32 nr = 0;

	mutex_lock(&rxps_runs_lock);
	xa_for_each(&rxps_runs, index, run) {
		if (run->portid == portid && !run->orphan)
			nr += rxps_run_go(run);
	}
	mutex_unlock(&rxps_runs_lock);
	return nr;
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
		rxps_memory -= rxps_memory_kept(&run->cfg);
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
	bool finished = false;

	if (xa_empty(&rxps_runs))
		return;

	mutex_lock(&rxps_runs_lock);
	xa_for_each(&rxps_runs, index, run) {
		if (run->portid != portid)
			continue;
		run->orphan = true;
		finished |= run->finished;
		rxps_run_end(run, 0, "the socket that started the run was closed");
	}
	mutex_unlock(&rxps_runs_lock);
	/* those that are not finished call the reaper when they are */
	if (finished)
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

/* Nothing may be freed before the provider returns: say what is waited for. */
static void rxps_run_await(struct rxps_run *run)
{
	while (!wait_for_completion_timeout(&run->released, RXPS_PATIENCE))
		pr_warn("run %u on %s still waits for the provider\n", run->id,
			run->devname);
}

/**
 * rxps_runs_device_gone() - end all runs on a device and wait for their end
 * @device: device that is being removed
 *
 * Context: process, in the client's .remove; each run bounds its own end, but
 * for what the provider takes to connect or to destroy a QP.
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
			rxps_run_await(run);
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
	while (!wait_event_timeout(rxps_empty, xa_empty(&rxps_runs),
				   RXPS_PATIENCE))
		pr_warn("runs still wait for the provider\n");
	flush_work(&rxps_reap_work);
}
