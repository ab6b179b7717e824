// This file owns the end of a receiver. The kernel answers a deletion at once
// and tears down behind it, so the wait for the end is ours.

package ctl

import (
	"context"
	"errors"
	"os"
	"time"
)

// recheck is how long a wait trusts events alone. One that never comes (the
// socket overflowed, the module was unloaded) is made up for by asking.
const recheck = time.Second

// DeleteNoWait starts the teardown of the receiver of that name and returns the
// receiver's id. The receiver shows as closing until an event of type
// [EventTypeReceiverGone] carries that id. It wants CAP_NET_ADMIN.
func (c *Client) DeleteNoWait(ctx context.Context, name string) (id uint32, err error) {
	r, err := one(ctx, c, receiverRequest(about("delete receiver", name), cmdReceiverDel, byName(attrReceiverName, name)), decodeReceiver)
	return r.ID, err
}

// Delete deletes the receiver of that name, waits until nothing of it is left,
// and returns the event that says so, with the final ledger. If that event was
// lost, Ledger is nil in what is returned. The end of ctx ends the wait and not
// the teardown. It wants CAP_NET_ADMIN.
func (c *Client) Delete(ctx context.Context, name string) (_ Event, err error) {
	op := about("wait for the end of receiver", name)
	// Join before asking: the teardown may be over before the answer is read.
	sub, err := c.subscribe(ctx, op, familyName, groupEvents)
	if err != nil {
		return Event{}, err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	id, err := c.DeleteNoWait(ctx, name)
	if err != nil {
		return Event{}, err
	}
	gone := Event{Type: EventTypeReceiverGone, ReceiverID: id, ReceiverName: name}
	return c.awaitGone(ctx, sub, gone)
}

// awaitGone waits for the event gone. Once the kernel no longer knows the
// receiver, its event has one more turn to arrive before gone itself is taken.
func (c *Client) awaitGone(ctx context.Context, sub *subscription, gone Event) (Event, error) {
	for missing := false; ; {
		e, err := sub.awaitEvent(ctx, time.Now().Add(recheck), gone)
		if err == nil {
			return e, nil
		}
		if errors.Is(err, ErrNotLoaded) || mustLook(err) && missing {
			return gone, nil // a module that goes takes its receivers along
		}
		if !mustLook(err) {
			return Event{}, err
		}
		if missing, err = c.isGone(ctx, gone.ReceiverID); err != nil {
			return Event{}, err
		}
	}
}

// awaitEvent waits for an event of the type and receiver of want.
func (s *subscription) awaitEvent(ctx context.Context, deadline time.Time, want Event) (Event, error) {
	for {
		m, err := s.next(ctx, deadline)
		if err != nil {
			return Event{}, err
		}
		e, err := decodeEvent(m.Data)
		if err != nil {
			return Event{}, &Error{Op: s.op, Err: err}
		}
		if e.Type == want.Type && e.ReceiverID == want.ReceiverID {
			return e, nil
		}
	}
}

// isGone reports whether the kernel no longer knows a receiver, or has lost its
// module, which takes the receivers along.
func (c *Client) isGone(ctx context.Context, id uint32) (bool, error) {
	_, err := c.receiverByID(ctx, id)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotLoaded) {
		return true, nil
	}
	return false, err
}
