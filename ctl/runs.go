// This file owns the requests about runs of the traffic source.

package ctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mdlayher/netlink"
)

// StartRun starts a run and returns its id at once; the run connects and sends
// behind it. The run belongs to this client's socket and ends when that is
// closed. It wants CAP_NET_ADMIN.
func (c *Client) StartRun(ctx context.Context, cfg RunConfig) (id uint32, err error) {
	r, err := one(ctx, c, runRequest(fmt.Sprintf("send to %s", cfg.Addr), cmdSendRunNew, cfg.encode), decodeRun)
	return r.ID, err
}

// StopRun asks a run to stop in order and does not wait for it. It wants
// CAP_NET_ADMIN.
func (c *Client) StopRun(ctx context.Context, id uint32) error {
	r := runRequest(fmt.Sprintf("stop run %d", id), cmdSendRunStop, byID(attrSendRunID, id))
	r.flags = netlink.Acknowledge
	_, err := c.do(ctx, r)
	return err
}

// Run returns one run. A finished run can be asked for until the client that
// started it closes.
func (c *Client) Run(ctx context.Context, id uint32) (Run, error) {
	return one(ctx, c, runRequest(fmt.Sprintf("show run %d", id), cmdSendRunGet, byID(attrSendRunID, id)), decodeRun)
}

// Runs returns all runs, those of other clients included.
func (c *Client) Runs(ctx context.Context) ([]Run, error) {
	r := runRequest("show runs", cmdSendRunGet, nil)
	r.flags = netlink.Dump
	return list(ctx, c, r, decodeRun)
}

// ReleaseRuns lets all runs begin that this client started with
// [RunConfig.Hold]. One that still connects will not wait. It is an error if
// there is none that waits or will. It wants CAP_NET_ADMIN.
func (c *Client) ReleaseRuns(ctx context.Context) error {
	r := runRequest("release runs", cmdSendRunGo, nil)
	r.flags = netlink.Acknowledge
	_, err := c.do(ctx, r)
	return err
}

// ReadyRuns waits until each of the held runs is connected and returns them in
// the order of ids. One that could not connect is returned in state done, one that
// was released meanwhile as it is then.
func (c *Client) ReadyRuns(ctx context.Context, ids ...uint32) ([]Run, error) {
	return c.waitRuns(ctx, "wait for connections", ids, func(r Run) bool { return r.State != RunStateConnecting && r.State != RunStateStopping })
}

// WaitRun is [Client.WaitRuns] for one run.
func (c *Client) WaitRun(ctx context.Context, id uint32) (Run, error) {
	runs, err := c.waitRuns(ctx, fmt.Sprintf("wait for run %d", id), []uint32{id}, Run.isDone)
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}

// WaitRuns waits until all of the runs are done and returns them with their
// final counters, in the order of ids. How a run ended is in [Run.Err]; the
// error returned here is about the waiting. The end of ctx ends the wait and not
// the runs.
func (c *Client) WaitRuns(ctx context.Context, ids ...uint32) ([]Run, error) {
	return c.waitRuns(ctx, "wait for runs", ids, Run.isDone)
}

func (r Run) isDone() bool { return r.State == RunStateDone }

// waitRuns waits until each of the runs is where it is waited for.
func (c *Client) waitRuns(ctx context.Context, op string, ids []uint32, there func(Run) bool) (_ []Run, err error) {
	sub, err := c.subscribe(ctx, op, sendFamilyName, sendGroupEvents)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	w := runWait{there: there, missing: map[uint32]bool{}, found: map[uint32]Run{}}
	for _, id := range ids {
		w.missing[id] = true
	}
	for {
		// Asking first also covers a run that was there before we joined.
		err := w.ask(ctx, c)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotLoaded) {
			// It is gone, which does not come before its last event.
			if w.listen(ctx, sub, lastEvent) == nil {
				return w.all(ids), nil
			}
		}
		if err != nil {
			return nil, err
		}
		err = w.listen(ctx, sub, recheck)
		switch {
		case err == nil:
			return w.all(ids), nil
		case !mustLook(err):
			return nil, err
		}
	}
}

// lastEvent is how long it takes to read an event that was sent already.
const lastEvent = 100 * time.Millisecond

// runWait is a wait for several runs.
type runWait struct {
	there   func(Run) bool
	missing map[uint32]bool // those that are not there yet, by id
	found   map[uint32]Run  // the others
}

// note takes what is known of a run, which may be one that nobody waits for.
func (w runWait) note(r Run) {
	if w.missing[r.ID] && w.there(r) {
		w.found[r.ID] = r
		delete(w.missing, r.ID)
	}
}

// ask asks for the runs that are missing.
func (w runWait) ask(ctx context.Context, c *Client) error {
	known := map[uint32]bool{}
	if len(w.missing) > 1 { // one answer for all is sooner had
		runs, err := c.Runs(ctx)
		if err != nil {
			return err
		}
		for _, r := range runs {
			known[r.ID] = true
			w.note(r)
		}
	}
	for id := range w.missing {
		if known[id] {
			continue
		}
		r, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		w.note(r)
	}
	return nil
}

// listen notes what events say until no run is missing. It does not ask: when it
// was the module's unloading that ended the runs, nobody is left to answer. An
// error that mustLook knows says that it is time to ask: an event may be lost, or
// the time has passed.
func (w runWait) listen(ctx context.Context, sub *subscription, within time.Duration) error {
	deadline := time.Now().Add(within)
	for len(w.missing) > 0 {
		m, err := sub.next(ctx, deadline)
		if err != nil {
			return err
		}
		r, err := decodeRun(m.Data)
		if err != nil {
			return &Error{Op: sub.op, Err: err}
		}
		w.note(r)
	}
	return nil
}

// all returns the runs in the order of ids.
func (w runWait) all(ids []uint32) []Run {
	runs := make([]Run, len(ids))
	for i, id := range ids {
		runs[i] = w.found[id]
	}
	return runs
}

// runRequest is a request about a run.
func runRequest(op string, cmd uint8, encode func(*netlink.AttributeEncoder) error) request {
	return request{op: op, family: sendFamilyName, names: sendRunAttrs(), cmd: cmd, encode: encode}
}
