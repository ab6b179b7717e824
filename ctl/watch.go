// This file owns what a caller sees of events.

package ctl

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Watcher follows the events of the receiver module.
type Watcher struct {
	sub *subscription
	ctx context.Context // bounds every Next, as Watch says
}

// Watch starts to collect events; what happens after it returned is not missed.
// The end of ctx ends the watch.
func (c *Client) Watch(ctx context.Context) (*Watcher, error) {
	sub, err := c.subscribe(ctx, "watch events", familyName, groupEvents)
	if err != nil {
		return nil, err
	}
	return &Watcher{sub: sub, ctx: ctx}, nil
}

// Next waits for one event. Events that were lost show as one of type
// [EventTypeLost]; its Count is 0 when it was this socket that overflowed, for
// then nobody knows the number. When the context of the watch ends, the error
// matches that context's; when the module is unloaded, it matches
// [ErrNotLoaded], and a module loaded later wants a new watch.
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
