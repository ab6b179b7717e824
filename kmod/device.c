// SPDX-License-Identifier: GPL-2.0
/*
 * device.c - RDMA devices that come and go.
 *
 * A receiver whose device is removed stays, with its totals, and listens again
 * once an RDMA device has its address. The removal waits for the receiver's
 * connections; the return is a work item's, which tries again every second as
 * long as a receiver is without a device and a device is there: an address can
 * come to a device at any time. For one whose address is there, and something else
 * is amiss, it tries less and less often, since a try then costs much.
 */
#include <linux/workqueue.h>

#include "compat.h"
#include "rxpost.h"

#define DEVICE_REMOVED	"the device is being removed"
#define REBIND_INTERVAL	HZ
#define REBIND_INTERVAL_MAX	(64 * HZ)

/*
 * What our ib_client knows of a device is which of the two its data points to.
 * Changed under rxpost_mutex once remove() has begun: nothing new may be bound
 * then. Nothing is allocated for it: the core takes no notice of an add() that
 * fails, and the device would be of no use for as long as it is there. Words,
 * because the core keeps the pointer in an xarray.
 */
static u32 here, going;

static int add_device(struct ib_device *dev);
static void remove_device(struct ib_device *dev, void *data);
static void rebind_all(struct work_struct *work);

static struct ib_client rxpost_client = {
	.name = "rxpost",
	.add = add_device,
	.remove = remove_device,
};

static DECLARE_DELAYED_WORK(rebind_work, rebind_all);

/*
 * Protects what follows. Not rxpost_mutex: the core adds devices with its
 * devices_rwsem held, and under rxpost_mutex the core is called.
 */
static DEFINE_SPINLOCK(rebind_lock);
static u32 nr_devices;		/* that are not going */
static u32 news;		/* how many devices came or went */
static unsigned long due;	/* jiffies of rebind_work, if it is pending */
static bool stopped;

/**
 * rxpost_device_usable() - whether a device is here to stay for now
 * @dev: the device
 *
 * Context: process, rxpost_mutex held.
 */
bool rxpost_device_usable(struct ib_device *dev)
{
	lockdep_assert_held(&rxpost_mutex);
	return ib_get_client_data(dev, &rxpost_client) == &here;
}

/* Never later than somebody else wants it. */
static void rebind_in(unsigned long delay)
{
	unsigned long at = jiffies + delay;

	lockdep_assert_held(&rebind_lock);
	if (stopped || !nr_devices ||
	    (delayed_work_pending(&rebind_work) && time_before(due, at)))
		return;
	due = at;
	mod_delayed_work(rxpost_unbound_wq, &rebind_work, delay);
}

/* All are tried, and as often as at first: there is news. */
static void rebind_afresh(unsigned long delay)
{
	lockdep_assert_held(&rebind_lock);
	news++;
	rebind_in(delay);
}

static bool is_waiting(int err)
{
	return err == -EADDRNOTAVAIL || err == -ENODEV;
}

/* Nobody asked, so the log is told, once as long as it is the same. */
static void refuse_rebind(struct rxpost_receiver *rcv, int err,
			  const struct netlink_ext_ack *extack)
{
	if (is_waiting(err) || err == rcv->rebind_err)
		return;
	pr_warn("%s: does not listen again: %s (error %d)\n", rcv->cfg.name,
		extack->_msg ?: "no memory", err);
	rcv->rebind_err = err;
}

/* Another kind of device may have the address now. */
static void tell_back(struct rxpost_receiver *rcv)
{
	bool lost = rcv->cfg.rnr_given && rxpost_binding_is_iwarp(rcv->binding);

	rxpost_event(RXPOST_EVENT_TYPE_DEVICE_BACK, rcv, NULL,
		     "listening on %pISpc again%s", &rcv->cfg.addr,
		     lost ? "; on iWARP, without RNR" : "");
}

/* Return: 0, or the error, of which the log was told. */
static int rebind(struct rxpost_receiver *rcv)
{
	struct netlink_ext_ack extack = { };
	const struct rxpost_ask ask = { .extack = &extack };
	char device[IB_DEVICE_NAME_MAX];
	int ret;

	strscpy(device, rcv->cfg.device, sizeof(device));
	ret = rxpost_binding_create(rcv, &ask);
	if (!ret) {
		ret = rxpost_binding_start(rcv, &ask);
		if (ret)
			rxpost_binding_abort(rcv);
	}
	if (ret) {
		/* It is on that one no more than before. */
		strscpy(rcv->cfg.device, device, sizeof(rcv->cfg.device));
		refuse_rebind(rcv, ret, &extack);
		return ret;
	}
	rcv->rebind_err = 0;
	rcv->state = RXPOST_RECEIVER_STATE_LISTENING;
	tell_back(rcv);
	return 0;
}

/* Return: jiffies until a receiver is to be tried again; 0 if it need not be. */
static unsigned long rebind_due(struct rxpost_receiver *rcv, u32 latest)
{
	unsigned long now = jiffies;
	int ret;

	if (rcv->state != RXPOST_RECEIVER_STATE_NO_DEVICE)
		return 0;
	if (rcv->rebind_news != latest) {
		rcv->rebind_news = latest;
		rcv->rebind_at = now;
		rcv->rebind_interval = REBIND_INTERVAL;
	}
	if (time_before(now, rcv->rebind_at))
		return rcv->rebind_at - now;
	ret = rebind(rcv);
	if (!ret)
		return 0;
	rcv->rebind_interval = is_waiting(ret) ? REBIND_INTERVAL :
		min_t(unsigned long, 2 * rcv->rebind_interval,
		      REBIND_INTERVAL_MAX);
	rcv->rebind_at = jiffies + rcv->rebind_interval;
	return rcv->rebind_interval;
}

static void rebind_all(struct work_struct *work)
{
	unsigned long wait, next = 0;
	struct rxpost_receiver *rcv;
	u32 latest;

	mutex_lock(&rxpost_mutex);
	spin_lock(&rebind_lock);
	latest = news;
	spin_unlock(&rebind_lock);
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		wait = rebind_due(rcv, latest);
		if (wait && (!next || wait < next))
			next = wait;
	}
	mutex_unlock(&rxpost_mutex);

	spin_lock(&rebind_lock);
	/* With news since then the next pass is on its way, and sooner. */
	if (next && latest == news)
		rebind_in(next);
	spin_unlock(&rebind_lock);
}

static int add_device(struct ib_device *dev)
{
	ib_set_client_data(dev, &rxpost_client, &here);
	spin_lock(&rebind_lock);
	nr_devices++;
	rebind_afresh(0);
	spin_unlock(&rebind_lock);
	return 0;
}

/* A receiver on @dev, with a reference. */
static struct rxpost_receiver *next_on_device(const struct ib_device *dev)
{
	struct rxpost_receiver *rcv;

	lockdep_assert_held(&rxpost_mutex);
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		if (rcv->binding && rcv->binding->dev == dev) {
			rxpost_receiver_get(rcv);
			return rcv;
		}
	}
	return NULL;
}

static void lose_device(struct rxpost_receiver *rcv, const char *name)
{
	bool closing;

	rxpost_binding_teardown(rcv, DEVICE_REMOVED);
	mutex_lock(&rxpost_mutex);
	closing = rcv->state == RXPOST_RECEIVER_STATE_CLOSING;
	if (!closing) {
		rcv->state = RXPOST_RECEIVER_STATE_NO_DEVICE;
		/* Under the mutex, so that it is told before the return is. */
		rxpost_event(RXPOST_EVENT_TYPE_DEVICE_GONE, rcv, NULL,
			     "%s was removed", name);
		spin_lock(&rebind_lock);
		rebind_afresh(REBIND_INTERVAL);
		spin_unlock(&rebind_lock);
	}
	mutex_unlock(&rxpost_mutex);
}

/*
 * Runs before the CM's own removal (clients go last in, first out), so no id of
 * ours is left when the CM comes to look for them.
 */
static void remove_device(struct ib_device *dev, void *data)
{
	struct rxpost_receiver *rcv;

	spin_lock(&rebind_lock);
	nr_devices--;
	spin_unlock(&rebind_lock);
	mutex_lock(&rxpost_mutex);
	ib_set_client_data(dev, &rxpost_client, &going);
	/* All are told before the first is waited for: they drain together. */
	list_for_each_entry(rcv, &rxpost_receivers, node) {
		if (rcv->binding && rcv->binding->dev == dev)
			rxpost_binding_close(rcv, DEVICE_REMOVED);
	}
	while ((rcv = next_on_device(dev))) {
		mutex_unlock(&rxpost_mutex);
		lose_device(rcv, dev_name(&dev->dev));
		rxpost_receiver_put(rcv);
		mutex_lock(&rxpost_mutex);
	}
	ib_set_client_data(dev, &rxpost_client, NULL);
	mutex_unlock(&rxpost_mutex);
}

/**
 * rxpost_devices_register() - hear of devices that come and go
 *
 * Context: process, may sleep. Return: 0 or a negative errno.
 */
int rxpost_devices_register(void)
{
	return ib_register_client(&rxpost_client);
}

/**
 * rxpost_devices_stop() - have no receiver listen again
 *
 * Context: process, may sleep.
 */
void rxpost_devices_stop(void)
{
	spin_lock(&rebind_lock);
	stopped = true;
	spin_unlock(&rebind_lock);
	cancel_delayed_work_sync(&rebind_work);
}

/**
 * rxpost_devices_unregister() - hear of them no more
 *
 * Context: process, may sleep; there is no receiver left.
 */
void rxpost_devices_unregister(void)
{
	ib_unregister_client(&rxpost_client);
}
