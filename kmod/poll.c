// SPDX-License-Identifier: GPL-2.0
/*
 * poll.c - one CQ and the thread that polls it.
 *
 * The thread owns every connection attached to it: it alone posts to their
 * queues (repost.c), judges their completions (complete.c) and keeps their
 * books. Others reach it by
 * rxpost_poller_command() and rxpost_poller_kick(). A turn is: commands, up to
 * budget completions, one pass of sink and repost over the connections that
 * were touched, then those whose time has come. Nothing in a turn allocates;
 * nothing sleeps, but to move to another CPU when told to.
 *
 * Waiting. An empty CQ is spun on for spin-us (hybrid) or for ever (busy, while
 * a connection exists), then armed, polled once more, because a completion may
 * have come between the last poll and the arming, and slept on. The sleep ends
 * with a completion, a command or the nearest deadline of repost.c or sink.c.
 */
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "rxpost.h"
#include "tasklet.h"

static void poller_wake(struct rxpost_poller *p)
{
	/* What the thread is to see comes first: it looks after clearing. */
	smp_store_release(&p->notified, true);
	wake_up_process(p->task);
}

/* On rxe (6.12) this runs under the CQ's lock with interrupts off. */
static void on_completion(struct ib_cq *cq, void *context)
{
	poller_wake(context);
}

static void on_cq_event(struct ib_event *event, void *context)
{
	struct rxpost_poller *p = context;

	if (event->event != IB_EVENT_CQ_ERR)
		return;
	WRITE_ONCE(p->cq_failed, true);
	smp_mb(); /* see rxpost_poller_kick() */
	poller_wake(p);
}

static void poller_detach(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	p->conns[conn->index] = NULL;
	p->nr_conns--;
	rxpost_sink_forget(p, conn);
	rxpost_repost_forget(conn);
	rxpost_publish(conn);
	/* Not ours from here on: the worker may free it at any moment. */
	rxpost_conn_detached(conn);
}

static void poller_attach(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	p->conns[conn->index] = conn;
	p->nr_conns++;
	conn->due = true;
	rxpost_sink_retune(conn);
	rxpost_repost(p, conn);
	conn->queue.counters.lowest = conn->queue.account.ledger.outstanding;
	rxpost_publish(conn);
	p->late.due = true;
	complete(&conn->filled);
}

static void poller_drain(struct rxpost_poller *p, struct rxpost_conn *conn,
			 bool expired)
{
	conn->draining = true;
	rxpost_sink_forget(p, conn);
	rxpost_repost_forget(conn);
	if (!rxpost_outstanding(conn) || expired ||
	    rxpost_fault(RXPOST_FAULT_EXPIRE))
		poller_detach(p, conn);
	else
		rxpost_publish(conn);
}

static void obey(struct rxpost_poller *p, struct rxpost_conn *conn)
{
	/* Whoever sets a bit after this queues the connection anew. */
	u32 cmds = atomic_xchg(&conn->commands, 0);
	u32 index = conn->index;

	if (cmds & BIT(RXPOST_CMD_ATTACH))
		poller_attach(p, conn);
	/* An expiry may find that the connection has just detached. */
	if (cmds & (BIT(RXPOST_CMD_DRAIN) | BIT(RXPOST_CMD_EXPIRE)) &&
	    p->conns[index] == conn)
		poller_drain(p, conn, cmds & BIT(RXPOST_CMD_EXPIRE));
	/* Whoever expired it frees it only after this. */
	if (cmds & BIT(RXPOST_CMD_EXPIRE))
		complete(&conn->expire_seen);
}

static bool obey_all(struct rxpost_poller *p)
{
	struct llist_node *list = llist_del_all(&p->commands);
	struct rxpost_conn *conn, *next;

	if (likely(!list))
		return false;
	p->now_ns = ktime_get_ns();
	list = llist_reverse_order(list);
	llist_for_each_entry_safe(conn, next, list, command_node)
		obey(p, conn);
	return true;
}

/*
 * The thread moves itself, so that nobody else has to keep it from ending. For
 * a CPU that has gone offline in the meantime the next change tries again.
 */
static void pin(struct rxpost_poller *p)
{
	const struct rxpost_config *cfg = &p->rcv->cfg;
	u32 n = READ_ONCE(cfg->nr_cpus);
	u32 cpu = n ? READ_ONCE(cfg->cpus[p->index % n]) : RXPOST_CPU_ANY;
	const struct cpumask *mask = &p->home;

	if (cpu != RXPOST_CPU_ANY)
		mask = cpumask_of(cpu);
	else if (!p->pinned)
		return; /* the kernel or an administrator says where */
	/* Where it is, not where it was sent: the kernel moves it, too (7.3). */
	if (cpumask_equal(current->cpus_ptr, mask) ||
	    !set_cpus_allowed_ptr(current, mask))
		p->pinned = cpu != RXPOST_CPU_ANY;
}

/* A new target: look at every connection once. */
static bool obey_kick(struct rxpost_poller *p, struct rxpost_conn **touched)
{
	u32 i;

	if (likely(!READ_ONCE(p->kicked)))
		return false;
	/*
	 * Cleared first: a kick that comes now is not lost. The barrier pairs
	 * with rxpost_poller_kick().
	 */
	smp_store_mb(p->kicked, false);
	pin(p);
	for (i = 0; i < p->rcv->cfg.max_conns; i++) {
		if (!p->conns[i])
			continue;
		p->conns[i]->due = true;
		rxpost_sink_retune(p->conns[i]);
		rxpost_touch(p->conns[i], touched);
	}
	return true;
}

static void obey_cq_failure(struct rxpost_poller *p)
{
	if (likely(!READ_ONCE(p->cq_failed)) || p->cq_mourned)
		return;
	p->cq_mourned = true;
	rxpost_conns_kill(p->rcv, p, "the completion queue failed");
}

/* After the turn's completions: one repost pass, then the books are shown. */
static void settle(struct rxpost_poller *p, struct rxpost_conn *touched)
{
	while (touched) {
		struct rxpost_conn *conn = touched;

		touched = conn->next_touched;
		conn->touched = false;
		if (unlikely(conn->queue.account.unripe))
			rxpost_sink_settle(p, conn);
		rxpost_repost(p, conn);
		if (unlikely(conn->draining && !rxpost_outstanding(conn)))
			poller_detach(p, conn);
		else
			rxpost_publish(conn);
	}
}

/* The fault points of a turn. */
static void inject(struct rxpost_poller *p, struct rxpost_conn **touched)
{
	struct ib_event overflow = { .event = IB_EVENT_CQ_ERR };

	rxpost_complete_late(p, touched);
	if (p->nr_conns && rxpost_fault(RXPOST_FAULT_OVERFLOW))
		on_cq_event(&overflow, p);
}

static bool timed_work(struct rxpost_poller *p)
{
	if (list_empty(&p->waiting) && list_empty(&p->retry))
		return false;
	return rxpost_repost_due(p);
}

/* One turn; whether there was anything to do. */
static bool poller_turn(struct rxpost_poller *p)
{
	struct rxpost_conn *touched = NULL;
	bool worked;
	int n;

	worked = obey_all(p);
	worked |= obey_kick(p, &touched);
	obey_cq_failure(p);
	if (static_branch_unlikely(&rxpost_faults))
		inject(p, &touched);

	n = ib_poll_cq(p->cq, READ_ONCE(p->rcv->cfg.budget), p->wc);
	p->now_ns = ktime_get_ns();
	if (n > 0) {
		p->hist.turns.polls++;
		rxpost_complete(p, n, &touched);
	}
	if (unlikely(timerqueue_getnext(&p->sinks)))
		worked |= rxpost_sink_due(p, &touched);
	settle(p, touched);
	worked |= timed_work(p);
	return worked || n > 0;
}

static bool may_spin(struct rxpost_poller *p)
{
	const struct rxpost_config *cfg = &p->rcv->cfg;

	switch (READ_ONCE(cfg->poll_mode)) {
	case RXPOST_POLL_MODE_BUSY:
		return p->nr_conns;
	case RXPOST_POLL_MODE_HYBRID:
		return p->now_ns - p->busy_ns <
		       (u64)READ_ONCE(cfg->spin_us) * NSEC_PER_USEC;
	default:
		return false;
	}
}

static void poller_sleep(struct rxpost_poller *p)
{
	u64 when = min(rxpost_repost_deadline(p), rxpost_sink_deadline(p));
	ktime_t expires = ns_to_ktime(when);

	set_current_state(TASK_IDLE);
	/* Pairs with poller_wake(): either it is seen here or it wakes the thread. */
	if (!READ_ONCE(p->notified) && !kthread_should_stop()) {
		p->hist.turns.sleeps++;
		schedule_hrtimeout_range(when == U64_MAX ? NULL : &expires,
					 20 * NSEC_PER_USEC, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
}

/* The CQ was empty: spin, or arm it, or, armed and still empty, sleep. */
static void poller_idle(struct rxpost_poller *p)
{
	int ret;

	if (p->armed) {
		poller_sleep(p);
		p->armed = false;
		return;
	}
	if (may_spin(p)) {
		cpu_relax();
		return;
	}
	WRITE_ONCE(p->notified, false);
	/* Commands that came before the line above are looked at once more. */
	smp_mb();
	ret = ib_req_notify_cq(p->cq, IB_CQ_NEXT_COMP |
				      IB_CQ_REPORT_MISSED_EVENTS);
	/*
	 * A CQ that cannot be armed would never wake us: it has failed. rxe and
	 * siw arm always.
	 */
	if (unlikely(ret < 0))
		WRITE_ONCE(p->cq_failed, true);
	p->armed = ret <= 0;
}

static int poll_thread(void *data)
{
	struct rxpost_poller *p = data;

	/* A new thread gets its device's node on its way here (7.3). */
	cpumask_copy(&p->home, current->cpus_ptr);
	pin(p);
	while (!kthread_should_stop()) {
		if (poller_turn(p)) {
			p->busy_ns = p->now_ns;
			p->armed = false;
		} else {
			poller_idle(p);
		}
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/**
 * rxpost_poller_command() - ask a connection's poller for something
 * @conn: the connection; the caller keeps it from being freed
 * @cmd: what is asked
 *
 * Context: any, does not sleep. The poller answers through @conn: filled for
 * an attach, rxpost_conn_detached() for a drain.
 */
void rxpost_poller_command(struct rxpost_conn *conn,
			   enum rxpost_conn_command cmd)
{
	struct rxpost_poller *p = conn->poller;

	/*
	 * In one step: were the command seen before it counts as queued, it
	 * could be obeyed, and the connection freed, before it is on the list.
	 */
	if (!(atomic_fetch_or(BIT(cmd) | BIT(RXPOST_CMD_QUEUED),
			      &conn->commands) & BIT(RXPOST_CMD_QUEUED)))
		llist_add(&conn->command_node, &p->commands);
	poller_wake(p);
}

/**
 * rxpost_poller_kick() - let a poller see a changed configuration
 * @p: the poller
 *
 * Context: any, does not sleep.
 */
void rxpost_poller_kick(struct rxpost_poller *p)
{
	/* The configuration is seen before the kick: see obey_kick(). */
	smp_store_release(&p->kicked, true);
	/*
	 * Two writes here, of kicked and notified; the thread clears one and reads
	 * the other. That is in order only if both sides have a full barrier.
	 */
	smp_mb();
	poller_wake(p);
}

static int create_thread(struct rxpost_poller *p)
{
	struct task_struct *task;

	task = kthread_create_on_node(poll_thread, p,
				      ibdev_to_node(p->binding->dev),
				      "rxpost_%s/%u", p->rcv->cfg.name,
				      p->index);
	if (IS_ERR(task))
		return PTR_ERR(task);
	p->task = get_task_struct(task);
	return 0;
}

static int create_cq(struct rxpost_poller *p, u32 cqe)
{
	struct ib_device *dev = p->binding->dev;
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		.comp_vector = p->index % dev->num_comp_vectors,
	};
	struct ib_cq *cq;

	if (rxpost_fault(RXPOST_FAULT_CQ))
		return -ENOMEM;
	cq = ib_create_cq(dev, on_completion, on_cq_event, p, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	p->cq = cq;
	return 0;
}

/**
 * rxpost_poller_create() - make a CQ and start its thread
 * @b: the binding it is for; its rcv and dev are set
 * @index: its place in the binding
 * @cqe: completions that can be outstanding at once
 *
 * Context: process, may sleep. Return: the poller or an ERR_PTR; the caller
 * ends it with rxpost_poller_stop() and rxpost_poller_free().
 */
struct rxpost_poller *rxpost_poller_create(struct rxpost_binding *b, u32 index,
					   u32 cqe)
{
	struct rxpost_poller *p;
	int ret = -ENOMEM;

	p = kzalloc_node(sizeof(*p), GFP_KERNEL, ibdev_to_node(b->dev));
	if (!p)
		return ERR_PTR(-ENOMEM);
	p->binding = b;
	p->rcv = b->rcv;
	p->index = index;
	init_llist_head(&p->commands);
	INIT_LIST_HEAD(&p->waiting);
	INIT_LIST_HEAD(&p->retry);
	timerqueue_init_head(&p->sinks);
	p->conns = kvcalloc(b->rcv->cfg.max_conns, sizeof(*p->conns),
			    GFP_KERNEL);
	if (!p->conns)
		goto free_poller;
	/* The thread exists before the CQ, whose handler wakes it. */
	ret = create_thread(p);
	if (ret)
		goto free_conns;
	ret = create_cq(p, cqe);
	if (ret)
		goto stop_thread;
	wake_up_process(p->task);
	return p;

stop_thread:
	kthread_stop(p->task);
	put_task_struct(p->task);
free_conns:
	kvfree(p->conns);
free_poller:
	kfree(p);
	return ERR_PTR(ret);
}

/**
 * rxpost_poller_stop() - stop the thread
 * @p: the poller; nothing is attached to it and no QP uses its CQ
 *
 * Its figures are final from here on. Context: process, may sleep.
 */
void rxpost_poller_stop(struct rxpost_poller *p)
{
	kthread_stop(p->task);
}

/**
 * rxpost_poller_free() - destroy the CQ and free the poller
 * @p: the poller, stopped
 *
 * Context: process, may sleep.
 */
void rxpost_poller_free(struct rxpost_poller *p)
{
	rxpost_tasklets_settle();
	ib_destroy_cq(p->cq);
	/*
	 * A tasklet of the provider may be inside our handler still; softirqs
	 * are read-side sections, so this waits for it.
	 */
	synchronize_rcu();
	put_task_struct(p->task);
	kvfree(p->conns);
	kfree(p);
}
