// This file owns event sockets: joining a group, waiting on it, and saying so
// when something was lost.

package ctl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"
	"time"

	"github.com/mdlayher/genetlink"
)

// Watcher follows the events of the receiver module.
type Watcher struct {
	sub *subscription
	ctx context.Context // bounds every Next, as Watch says
}

// Watch starts to collect events; what happens after it returned is not missed.
// The end of ctx ends the watch.
func (c *Client) Watch(ctx context.Context) (*Watcher, error) {
	sub, err := c.subscribe("watch events", familyName, groupEvents)
	if err != nil {
		return nil, err
	}
	return &Watcher{sub: sub, ctx: ctx}, nil
}

// Next waits for one event. Events that were lost show as one of type
// [EventTypeLost]; its Count is 0 when it was this socket that overflowed, for
// then nobody knows the number. When the context of the watch ends, the error
// matches that context's.
func (w *Watcher) Next() (Event, error) {
	for {
		m, err := w.sub.next(w.ctx, time.Time{})
		switch {
		case errors.Is(err, errLost):
			return Event{Type: EventTypeLost}, nil
		case err != nil:
			return Event{}, err
		case m.Header.Command != cmdEvent:
			continue
		}
		return decodeEvent(m.Data)
	}
}

// All ranges over events until the first error, which it yields last.
func (w *Watcher) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := w.Next()
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Close ends the watch.
func (w *Watcher) Close() error { return w.sub.Close() }

// errLost says that a socket overflowed and its owner must look for itself.
var errLost = errors.New("events were lost")

// subscription is a socket that joined the events of one family.
type subscription struct {
	op      string
	conn    transport
	pending []genetlink.Message
}

// subscribe opens a socket of its own for the events of a family.
func (c *Client) subscribe(op, family, group string) (*subscription, error) {
	c.mu.Lock()
	f, err := c.resolve(op, family)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	conn, err := c.dial()
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	for _, g := range f.Groups {
		if g.Name != group {
			continue
		}
		if err := conn.JoinGroup(g.ID); err != nil {
			return nil, &Error{Op: op, Err: errors.Join(err, conn.Close())}
		}
		return &subscription{op: op, conn: conn}, nil
	}
	err = fmt.Errorf("family %s has no group %q", family, group)
	return nil, &Error{Op: op, Err: errors.Join(err, conn.Close())}
}

// next waits for one message, until the deadline if that is not zero. Its
// errors are errLost, os.ErrDeadlineExceeded for the deadline, or an [*Error].
func (s *subscription) next(ctx context.Context, deadline time.Time) (genetlink.Message, error) {
	if len(s.pending) == 0 {
		if err := s.receive(ctx, deadline); err != nil {
			return genetlink.Message{}, err
		}
	}
	m := s.pending[0]
	s.pending = s.pending[1:]
	return m, nil
}

// mustLook reports whether err of next says that an event may have been missed,
// or nothing was heard for a while, so that only asking can tell.
func mustLook(err error) bool {
	return errors.Is(err, errLost) || errors.Is(err, os.ErrDeadlineExceeded)
}

// receive fills pending with at least one message.
func (s *subscription) receive(ctx context.Context, deadline time.Time) error {
	release, err := bound(ctx, s.conn, deadline)
	if err != nil {
		return &Error{Op: s.op, Err: err}
	}
	defer release()
	for len(s.pending) == 0 {
		if err := ctx.Err(); err != nil {
			return &Error{Op: s.op, Err: err}
		}
		s.pending, _, err = s.conn.Receive()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return &Error{Op: s.op, Err: ctx.Err()}
		case errors.Is(err, syscall.ENOBUFS):
			return errLost
		case errors.Is(err, os.ErrDeadlineExceeded):
			return os.ErrDeadlineExceeded
		default:
			return newError(ctx, s.op, nil, nil, err)
		}
	}
	return nil
}

// Close leaves the group.
func (s *subscription) Close() error { return s.conn.Close() }
