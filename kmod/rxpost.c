// SPDX-License-Identifier: GPL-2.0
/*
 * rxpost.c - the spine of the module: init and exit, receivers made and
 * destroyed, the bound on their memory.
 *
 * Receivers are made by a request (netlink.c) and destroyed by a work item of
 * their own, because destruction waits for devices and peers and a netlink
 * handler must not.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "rxpost.h"

static unsigned int memory_limit_mb;
module_param(memory_limit_mb, uint, 0644);
MODULE_PARM_DESC(memory_limit_mb,
		 "Most MiB of slot memory for all receivers together; 0 (default) is a quarter of the machine's memory");

/* Protects the list, names, states, bindings, last_id and reserved. */
DEFINE_MUTEX(rxpost_mutex);
LIST_HEAD(rxpost_receivers);

static struct workqueue_struct *destroy_wq;
static u32 last_id;		/* rxpost_mutex */
static u64 reserved;		/* rxpost_mutex */

/**
 * rxpost_memory_limit() - bound on the slot memory of all receivers
 *
 * Context: any. Return: bytes.
 */
u64 rxpost_memory_limit(void)
{
	u32 mb = READ_ONCE(memory_limit_mb);

	return mb ? (u64)mb << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 2;
}

/**
 * rxpost_memory_reserved() - slot memory set aside for all connections that
 *	receivers may admit
 *
 * Context: process, rxpost_mutex held. Return: bytes.
 */
u64 rxpost_memory_reserved(void)
{
	lockdep_assert_held(&rxpost_mutex);
	return reserved;
}

/**
 * rxpost_memory_left() - part of the bound that is not spoken for
 *
 * Context: process, rxpost_mutex held. Return: bytes; 0 also when the bound was
 * lowered below what is in use.
 */
u64 rxpost_memory_left(void)
{
	u64 limit = rxpost_memory_limit();

	lockdep_assert_held(&rxpost_mutex);
	return limit - min(reserved, limit);
}

static void free_receiver(struct kref *ref)
{
	struct rxpost_receiver *rcv = container_of(ref, struct rxpost_receiver,
						   ref);

	kvfree(rcv->generations);
	kvfree(rcv->conn_by_index);
	kfree(rcv);
}

/**
 * rxpost_receiver_get() - take a reference
 * @rcv: the receiver; the caller holds rxpost_mutex or a reference
 *
 * Context: any.
 */
void rxpost_receiver_get(struct rxpost_receiver *rcv)
{
	kref_get(&rcv->ref);
}

/**
 * rxpost_receiver_put() - drop a reference
 * @rcv: the receiver, which may be freed
 *
 * Context: process.
 */
void rxpost_receiver_put(struct rxpost_receiver *rcv)
{
	kref_put(&rcv->ref, free_receiver);
}

/* Everything of it is off its device: forget it, then say so. */
static void destroy_receiver(struct work_struct *work)
{
	struct rxpost_receiver *rcv = container_of(work, struct rxpost_receiver,
						   destroy_work);

	rxpost_binding_teardown(rcv, "the receiver was deleted");
	kthread_destroy_worker(rcv->worker);
	mutex_lock(&rxpost_mutex);
	list_del_init(&rcv->node);
	reserved -= rcv->reserved;
	mutex_unlock(&rxpost_mutex);
	rxpost_event(RXPOST_EVENT_TYPE_RECEIVER_GONE, rcv, NULL, "deleted");
	rxpost_receiver_put(rcv);
}

static struct rxpost_receiver *alloc_receiver(const struct rxpost_config *cfg)
{
	struct rxpost_receiver *rcv = kzalloc(sizeof(*rcv), GFP_KERNEL);

	if (!rcv)
		return NULL;
	kref_init(&rcv->ref);
	INIT_LIST_HEAD(&rcv->node);
	INIT_WORK(&rcv->destroy_work, destroy_receiver);
	kthread_init_work(&rcv->retune_work, rxpost_retune);
	spin_lock_init(&rcv->lock);
	init_waitqueue_head(&rcv->conns_gone);
	rcv->cfg = *cfg;
	rcv->past_counters.lowest = U32_MAX;
	return rcv;
}

static int reserve_memory(struct rxpost_receiver *rcv,
			  const struct rxpost_ask *ask)
{
	const struct rxpost_config *cfg = &rcv->cfg;
	u64 need = rxpost_conn_bytes(cfg) * cfg->max_conns;
	u64 left = rxpost_memory_left();

	if (need > left)
		return rxpost_refuse(ask, -ENOSPC, 0,
				     "needs %llu MiB of slots, %llu MiB are not reserved; see memory_limit_mb",
				     DIV_ROUND_UP_ULL(need, 1 << 20),
				     left >> 20);
	rcv->reserved = need;
	return 0;
}

static int alloc_tables(struct rxpost_receiver *rcv)
{
	u32 n = rcv->cfg.max_conns;
	struct kthread_worker *worker;

	rcv->conn_by_index = kvcalloc(n, sizeof(*rcv->conn_by_index),
				      GFP_KERNEL);
	rcv->generations = kvcalloc(n, sizeof(*rcv->generations), GFP_KERNEL);
	if (!rcv->conn_by_index || !rcv->generations)
		return -ENOMEM;
	worker = rxpost_run_worker("rxpost_%s", rcv->cfg.name);
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	rcv->worker = worker;
	rcv->worker_pid = task_pid_nr(worker->task);
	return 0;
}

static int check_unique(const struct rxpost_config *cfg,
			const struct rxpost_ask *ask)
{
	struct rxpost_receiver *other;

	list_for_each_entry(other, &rxpost_receivers, node) {
		if (strcmp(other->cfg.name, cfg->name))
			continue;
		return rxpost_refuse(ask, -EEXIST, RXPOST_A_RECEIVER_NAME,
				     other->state == RXPOST_RECEIVER_STATE_CLOSING ?
				     "receiver %s is still being torn down" :
				     "a receiver %s exists already", cfg->name);
	}
	return 0;
}

/**
 * rxpost_receiver_create() - make a receiver and listen
 * @cfg: its configuration, checked by config.c
 * @ask: the request, for refusals
 * @out: the receiver, owned by the list
 *
 * Context: process, rxpost_mutex held. Return: 0 or a negative errno, with
 * nothing left behind; refused in words unless memory is short.
 */
int rxpost_receiver_create(const struct rxpost_config *cfg,
			   const struct rxpost_ask *ask,
			   struct rxpost_receiver **out)
{
	struct rxpost_receiver *rcv;
	int ret;

	lockdep_assert_held(&rxpost_mutex);
	ret = check_unique(cfg, ask);
	if (ret)
		return ret;
	rcv = alloc_receiver(cfg);
	if (!rcv)
		return -ENOMEM;
	ret = rxpost_binding_create(rcv, ask);
	if (ret)
		goto put_receiver;
	ret = reserve_memory(rcv, ask);
	if (ret)
		goto abort_binding;
	ret = alloc_tables(rcv);
	if (ret)
		goto abort_binding;
	/* From here on there may be events of its connections. */
	rcv->id = ++last_id;
	ret = rxpost_binding_start(rcv, ask);
	if (ret)
		goto abort_binding;

	reserved += rcv->reserved;
	list_add_tail(&rcv->node, &rxpost_receivers);
	*out = rcv;
	rxpost_event(RXPOST_EVENT_TYPE_RECEIVER_NEW, rcv, NULL,
		     "listening on %pISpc", &rcv->cfg.addr);
	return 0;

abort_binding:
	rxpost_binding_abort(rcv);
	if (rcv->worker)
		kthread_destroy_worker(rcv->worker);
put_receiver:
	rxpost_receiver_put(rcv);
	return ret;
}

/**
 * rxpost_receiver_delete() - begin to destroy a receiver
 * @rcv: the receiver, not closing yet
 *
 * Context: process, rxpost_mutex held. A receiver-gone event says when it is
 * done.
 */
void rxpost_receiver_delete(struct rxpost_receiver *rcv)
{
	lockdep_assert_held(&rxpost_mutex);
	rcv->state = RXPOST_RECEIVER_STATE_CLOSING;
	queue_work(destroy_wq, &rcv->destroy_work);
}

static void delete_all(void)
{
	struct rxpost_receiver *rcv;

	mutex_lock(&rxpost_mutex);
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		if (rcv->state != RXPOST_RECEIVER_STATE_CLOSING)
			rxpost_receiver_delete(rcv);
	}
	mutex_unlock(&rxpost_mutex);
}

static int __init rxpost_init(void)
{
	int ret;

	/* Unbound: receivers are destroyed side by side, not one by one. */
	destroy_wq = alloc_workqueue("rxpost_destroy", WQ_UNBOUND, 0);
	if (!destroy_wq)
		return -ENOMEM;
	rxpost_faults_init();
	ret = rxpost_devices_register();
	/* The core's table of clients has room: with no memory left, too. */
	if (ret)
		goto stop_devices;
	ret = rxpost_netlink_init();
	if (ret)
		goto unregister_devices;
	return 0;

unregister_devices:
	rxpost_devices_unregister();
stop_devices:
	/* Devices that were there are looked at already. */
	rxpost_devices_stop();
	rxpost_faults_exit();
	destroy_workqueue(destroy_wq);
	return ret;
}

static void __exit rxpost_exit(void)
{
	rxpost_netlink_exit();
	rxpost_devices_stop();
	delete_all();
	/* Waits for all destructions. */
	destroy_workqueue(destroy_wq);
	rxpost_devices_unregister();
	rxpost_faults_exit();
}

module_init(rxpost_init);
module_exit(rxpost_exit);

MODULE_DESCRIPTION("In-kernel RDMA receiver, measured and steered over netlink");
MODULE_AUTHOR("The rxpost authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(RXPOST_VERSION);
MODULE_ALIAS_GENL_FAMILY(RXPOST_FAMILY_NAME);
