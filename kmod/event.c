// SPDX-License-Identifier: GPL-2.0
/*
 * event.c - the one way up: what happened, told to the events group.
 *
 * Events come from handlers and pollers that must neither sleep nor wait for
 * listeners: they are copied into a bounded ring and sent by a work item. What
 * does not fit is counted, and the count is sent.
 */
#include <linux/workqueue.h>
#include <net/genetlink.h>

#include "gen/rxpost-nl.h"
#include "rxpost.h"

/* A crowd of 200 that is let in or refused in one go, several times over. */
#define RING	512

struct record {
	enum rxpost_event_type type;
	u32 receiver;
	char name[RXPOST_NAME_LEN + 1];
	char device[IB_DEVICE_NAME_MAX];
	char reason[RXPOST_REASON_LEN];
	struct rxpost_ledger ledger;
	u64 mappings;
	u64 time_ns;
	u64 lost;		/* events dropped before this one */
	bool has_ledger;
	bool has_conn;
	u32 conn_index;
	u32 qpn;
	struct sockaddr_storage peer;
};

static void send_all(struct work_struct *work);

/* Protects the ring, and stopped. Taken in process context only. */
static DEFINE_SPINLOCK(events_lock);
static struct record events[RING];
static u32 head, used;
static u64 lost;
static bool stopped = true;
static DECLARE_WORK(send_work, send_all);

static void describe_event(struct record *r, struct rxpost_receiver *rcv,
			   struct rxpost_conn *conn)
{
	struct rxpost_published pub;

	strscpy(r->name, rcv->cfg.name, sizeof(r->name));
	strscpy(r->device, rcv->cfg.device, sizeof(r->device));
	r->receiver = rcv->id;
	r->mappings = atomic64_read(&rcv->mappings);
	r->time_ns = ktime_get_real_ns();
	r->has_conn = conn;
	/* A peer can cause as many of these as it likes: no sums for them. */
	r->has_ledger = r->type != RXPOST_EVENT_TYPE_CONN_REJECTED;
	if (!conn && !r->has_ledger)
		return;
	if (conn)
		rxpost_read_conn(conn, &pub);
	else
		rxpost_read_receiver(rcv, &pub);
	r->ledger = pub.ledger;
	if (!conn)
		return;
	r->conn_index = conn->index;
	r->qpn = conn->qpn;
	r->peer = conn->peer;
}

/* A place in the ring, or NULL and one more is lost. */
static struct record *reserve_event(void)
{
	struct record *r;

	lockdep_assert_held(&events_lock);
	if (stopped)
		return NULL;
	if (used == RING) {
		lost++;
		return NULL;
	}
	r = &events[(head + used++) % RING];
	r->lost = lost;
	lost = 0;
	return r;
}

/**
 * rxpost_event() - tell the listeners
 * @type: what happened
 * @rcv: to which receiver
 * @conn: to which of its connections, or NULL
 * @fmt: why, in words
 *
 * Without a connection the ledger told is the receiver's.
 * Context: process, no receiver->lock held; does not sleep.
 */
void rxpost_event(enum rxpost_event_type type, struct rxpost_receiver *rcv,
		  struct rxpost_conn *conn, const char *fmt, ...)
{
	struct record *r;
	va_list args;

	spin_lock(&events_lock);
	r = reserve_event();
	if (r) {
		r->type = type;
		describe_event(r, rcv, conn);
		va_start(args, fmt);
		vsnprintf(r->reason, sizeof(r->reason), fmt, args);
		va_end(args);
		schedule_work(&send_work);
	}
	spin_unlock(&events_lock);
}

static bool take_event(struct record *r)
{
	bool any;

	spin_lock(&events_lock);
	any = used;
	if (any) {
		*r = events[head];
		head = (head + 1) % RING;
		used--;
	}
	spin_unlock(&events_lock);
	return any;
}

static int put_conn(struct sk_buff *skb, const struct record *r)
{
	if (!r->has_conn)
		return 0;
	return nla_put_u32(skb, RXPOST_A_EVENT_CONN_INDEX, r->conn_index) ?:
	       nla_put_u32(skb, RXPOST_A_EVENT_QPN, r->qpn) ?:
	       rxpost_put_addr(skb, RXPOST_A_EVENT_PEER_ADDR,
			       RXPOST_A_EVENT_PEER_PORT, &r->peer);
}

static int put_event(struct sk_buff *skb, const struct record *r)
{
	return nla_put_u32(skb, RXPOST_A_EVENT_TYPE, r->type) ?:
	       nla_put_u32(skb, RXPOST_A_EVENT_RECEIVER_ID, r->receiver) ?:
	       nla_put_string(skb, RXPOST_A_EVENT_RECEIVER_NAME, r->name) ?:
	       nla_put_string(skb, RXPOST_A_EVENT_DEVICE, r->device) ?:
	       put_conn(skb, r) ?:
	       nla_put_string(skb, RXPOST_A_EVENT_REASON, r->reason) ?:
	       (r->has_ledger ? rxpost_put_ledger(skb, RXPOST_A_EVENT_LEDGER,
						  &r->ledger) : 0) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_EVENT_MAPPINGS, r->mappings,
				 RXPOST_A_EVENT_PAD) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_EVENT_TIME_NS, r->time_ns,
				 RXPOST_A_EVENT_PAD);
}

static int put_lost(struct sk_buff *skb, const struct record *r)
{
	return nla_put_u32(skb, RXPOST_A_EVENT_TYPE, RXPOST_EVENT_TYPE_LOST) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_EVENT_COUNT, r->lost,
				 RXPOST_A_EVENT_PAD) ?:
	       nla_put_u64_64bit(skb, RXPOST_A_EVENT_TIME_NS, r->time_ns,
				 RXPOST_A_EVENT_PAD);
}

static void send_event(const struct record *r, u64 carried,
		       int (*put)(struct sk_buff *skb, const struct record *r))
{
	struct sk_buff *skb;
	void *hdr;

	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		goto lose;
	hdr = genlmsg_put(skb, 0, 0, &rxpost_nl_family, 0, RXPOST_CMD_EVENT);
	if (!hdr || put(skb, r)) {
		nlmsg_free(skb);
		goto lose;
	}
	genlmsg_end(skb, hdr);
	/* -ESRCH: nobody listens. A listener that is too slow sees ENOBUFS. */
	genlmsg_multicast(&rxpost_nl_family, skb, 0, RXPOST_NLGRP_EVENTS,
			  GFP_KERNEL);
	return;

lose:
	spin_lock(&events_lock);
	lost += carried;
	spin_unlock(&events_lock);
}

static void send_all(struct work_struct *work)
{
	struct record r;

	while (take_event(&r)) {
		if (r.lost)
			send_event(&r, r.lost, put_lost);
		send_event(&r, 1, put_event);
	}
}

/**
 * rxpost_events_start() - begin to tell; the family is about to be registered
 *
 * Context: process.
 */
void rxpost_events_start(void)
{
	spin_lock(&events_lock);
	stopped = false;
	spin_unlock(&events_lock);
}

/**
 * rxpost_events_stop() - tell no more; the family is about to go
 *
 * Context: process, may sleep.
 */
void rxpost_events_stop(void)
{
	spin_lock(&events_lock);
	stopped = true;
	used = 0;
	spin_unlock(&events_lock);
	cancel_work_sync(&send_work);
}
