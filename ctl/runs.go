// This file owns the requests about runs of the traffic source.

package ctl

import (
	"context"
	"errors"
	"fmt"
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

// WaitRun waits until a run is done and returns it with its final counters. How
// the run ended is in [Run.Err]; the error returned here is about the waiting.
// The end of ctx ends the wait and not the run.
func (c *Client) WaitRun(ctx context.Context, id uint32) (_ Run, err error) {
	sub, err := c.subscribe(fmt.Sprintf("wait for run %d", id), sendFamilyName, sendGroupEvents)
	if err != nil {
		return Run{}, err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	for {
		// Asking first also covers a run that was done before we joined.
		r, err := c.Run(ctx, id)
		if err != nil || r.State == RunStateDone {
			return r, err
		}
		r, err = sub.awaitRun(ctx, id)
		if !mustLook(err) {
			return r, err
		}
	}
}

// awaitRun returns what the event of a run's end says of it. It does not ask:
// when it was the module's unloading that ended the run, nobody is left to
// answer. An error that mustLook knows says that it is time to ask: the event
// may be lost, or recheck has passed.
func (s *subscription) awaitRun(ctx context.Context, id uint32) (Run, error) {
	deadline := time.Now().Add(recheck)
	for {
		m, err := s.next(ctx, deadline)
		if err != nil {
			return Run{}, err
		}
		r, err := decodeRun(m.Data)
		if err != nil {
			return Run{}, &Error{Op: s.op, Err: err}
		}
		if m.Header.Command == cmdSendRunDone && r.ID == id {
			return r, nil
		}
	}
}

// runRequest is a request about a run.
func runRequest(op string, cmd uint8, encode func(*netlink.AttributeEncoder) error) request {
	return request{op: op, family: sendFamilyName, names: sendRunAttrs(), cmd: cmd, encode: encode}
}
