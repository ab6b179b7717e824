// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - spine of rxpost_send.ko: registers with generic netlink, with the
 * netlink notifier and with the RDMA core, and undoes it in an order in which
 * no run can outlive what it stands on. Called by the module loader only.
 */
#include "send.h"

#include <linux/module.h>
#include <linux/notifier.h>
#include <net/net_namespace.h>

#include "gen/rxpost_send-nl.h"
#include "wire.h"

static const struct genl_multicast_group rxps_mcgrps[] = {
	[RXPOST_SEND_NLGRP_EVENTS] = { .name = RXPOST_SEND_MCGRP_EVENTS, },
};

struct genl_family rxpost_send_family __ro_after_init = {
	.name		= RXPOST_SEND_FAMILY_NAME,
	.version	= RXPOST_SEND_FAMILY_VERSION,
	.netnsok	= false,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= rxpost_send_nl_ops,
	.n_ops		= ARRAY_SIZE(rxpost_send_nl_ops),
	.mcgrps		= rxps_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(rxps_mcgrps),
};

/* Runs for every netlink socket that closes: flags and a work item, no wait. */
static int rxps_netlink_event(struct notifier_block *nb, unsigned long event,
			      void *data)
{
	struct netlink_notify *notify = data;

	if (event == NETLINK_URELEASE &&
	    notify->protocol == NETLINK_GENERIC &&
	    net_eq(notify->net, &init_net))
		rxps_runs_orphan(notify->portid);
	return NOTIFY_DONE;
}

static struct notifier_block rxps_netlink_nb = {
	.notifier_call = rxps_netlink_event,
};

/* Devices are found by address, through the CM: nothing to prepare here. */
static int rxps_device_add(struct ib_device *device)
{
	return 0;
}

/*
 * Comes before the CM's own removal, because this client registers after it.
 * A run that binds to the device behind our back gets the CM's event instead.
 */
static void rxps_device_remove(struct ib_device *device, void *client_data)
{
	rxps_runs_device_gone(device);
}

static struct ib_client rxps_client = {
	.name	= KBUILD_MODNAME,
	.add	= rxps_device_add,
	.remove	= rxps_device_remove,
};

static int __init rxps_init(void)
{
	int ret;

	ret = ib_register_client(&rxps_client);
	if (ret)
		return ret;

	ret = netlink_register_notifier(&rxps_netlink_nb);
	if (ret)
		goto unregister_client;

	ret = genl_register_family(&rxpost_send_family);
	if (ret)
		goto unregister_notifier;
	return 0;

unregister_notifier:
	netlink_unregister_notifier(&rxps_netlink_nb);
unregister_client:
	ib_unregister_client(&rxps_client);
	return ret;
}

/*
 * The family goes after the runs, so that the event of each one's end still
 * has a group to go to; rxps_runs_exit() lets no new run in.
 */
static void __exit rxps_exit(void)
{
	netlink_unregister_notifier(&rxps_netlink_nb);
	rxps_runs_exit();
	genl_unregister_family(&rxpost_send_family);
	ib_unregister_client(&rxps_client);
}

module_init(rxps_init);
module_exit(rxps_exit);

MODULE_DESCRIPTION("Source of RDMA SEND traffic for rxpost");
MODULE_AUTHOR("The rxpost authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(RXPOST_VERSION);
MODULE_ALIAS_GENL_FAMILY(RXPOST_SEND_FAMILY_NAME);
