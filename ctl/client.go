// This file owns the socket: how a request is sent, answered and bounded in
// time.

package ctl

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// replyTimeout bounds the wait for an answer when the context does not. No
// handler waits for the network, so an answer that takes this long is lost.
const replyTimeout = 30 * time.Second

// transport is what a Client needs of a *genetlink.Conn.
type transport interface {
	GetFamily(name string) (genetlink.Family, error)
	ListFamilies() ([]genetlink.Family, error)
	Send(genetlink.Message, uint16, netlink.HeaderFlags) (netlink.Message, error)
	Receive() ([]genetlink.Message, []netlink.Message, error)
	JoinGroup(group uint32) error
	SetReadDeadline(t time.Time) error
	Close() error
}

// Client talks to the kernel over one socket. It is safe for concurrent use;
// requests take turns.
//
// Runs of the traffic source belong to the socket that started them: Close
// stops, in order, every run that this client started.
type Client struct {
	dial     func() (transport, error) // another socket, for events
	passive  bool                      // never asks for a family in a way that loads its module
	mu       sync.Mutex                // protects families and one request at a time on conn
	conn     transport
	families map[string]genetlink.Family
	owed     bool // an answer, or the rest of one, is still to be received; under mu
}

// New opens a client. It needs no module and no privilege: a missing module
// shows at the first request, as [ErrNotLoaded].
func New() (*Client, error) {
	return newClient(dialKernel)
}

// NewPassive is New for a client that must not change anything by looking: it
// takes only what is loaded, and never makes the kernel load a module.
func NewPassive() (*Client, error) {
	c, err := newClient(dialKernel)
	if err == nil {
		c.passive = true
	}
	return c, err
}

// dialKernel opens a socket that reports the kernel's extended errors.
func dialKernel() (transport, error) {
	conn, err := genetlink.Dial(&netlink.Config{Strict: true})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// newClient opens a client on the sockets that dial makes.
func newClient(dial func() (transport, error)) (*Client, error) {
	conn, err := dial()
	if err != nil {
		return nil, &Error{Op: "open netlink socket", Err: err}
	}
	return &Client{dial: dial, conn: conn, families: map[string]genetlink.Family{}}, nil
}

// Close closes the socket, and so ends the runs that the client started.
func (c *Client) Close() error { return c.conn.Close() }

// request is one message to one family.
type request struct {
	op     string // for errors: what is asked for
	family string
	names  []string // of the attributes
	cmd    uint8
	flags  netlink.HeaderFlags // what is wanted besides a reply
	encode func(*netlink.AttributeEncoder) error
}

// do sends r and returns the messages that answer it. All errors are [*Error].
func (c *Client) do(ctx context.Context, r request) ([]genetlink.Message, error) {
	ae := netlink.NewAttributeEncoder()
	if r.encode != nil {
		if err := r.encode(ae); err != nil {
			return nil, &Error{Op: r.op, Err: err}
		}
	}
	data, err := ae.Encode()
	if err != nil {
		return nil, &Error{Op: r.op, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, &Error{Op: r.op, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for attempt := 1; ; attempt++ {
		f, err := c.resolve(ctx, r.op, r.family)
		if err != nil {
			return nil, err
		}
		msgs, err := c.exchange(ctx, f, r, data)
		if err == nil {
			return msgs, nil
		}
		e := newError(ctx, r.op, r.names, data, err)
		if !unheard(e) {
			return nil, e
		}
		delete(c.families, r.family)
		if attempt < attempts {
			continue
		}
		if _, err := c.resolve(ctx, r.op, r.family); err != nil {
			return nil, err
		}
		return nil, fleeting(e)
	}
}

// attempts is how often a request is sent that no module has heard: a module whose
// unloading has begun refuses, its family may go between the search for it and the
// next request, and the third finds it loaded again, under another number.
const attempts = 3

// unheard reports whether e says that no handler has seen the request. Our
// handlers explain each refusal; a bare ENOENT is of the kernel's search for the
// family, and a bare EPROTONOSUPPORT of a module whose unloading has begun.
func unheard(e *Error) bool {
	return e.Message == "" && (e.Err == syscall.ENOENT || e.Err == syscall.EPROTONOSUPPORT)
}

// fleeting describes e, which no handler has seen although the family was there
// each time before and is there again.
func fleeting(e *Error) *Error {
	message := "the kernel module is being unloaded"
	if e.Err == syscall.ENOENT {
		message = "the kernel module was unloaded and loaded again each time it was asked; try again"
	}
	return &Error{Op: e.Op, Message: message, Err: ErrNotLoaded}
}

// resolve finds a family by name, which loads an installed module unless the
// client is passive. c.mu is held.
func (c *Client) resolve(ctx context.Context, op, name string) (genetlink.Family, error) {
	if f, ok := c.families[name]; ok {
		return f, nil
	}
	release, err := c.begin(ctx)
	if err != nil {
		return genetlink.Family{}, newError(ctx, op, nil, nil, err)
	}
	defer release()
	find := c.conn.GetFamily
	if c.passive {
		find = c.listed
	}
	f, err := find(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return f, notLoaded(op, name)
	case err != nil:
		c.owed = unanswered(err)
		return f, newError(ctx, op, nil, nil, err)
	}
	c.families[name] = f
	return f, nil
}

// listed finds a family among those that exist.
func (c *Client) listed(name string) (genetlink.Family, error) {
	all, err := c.conn.ListFamilies()
	if err != nil {
		return genetlink.Family{}, err
	}
	i := slices.IndexFunc(all, func(f genetlink.Family) bool { return f.Name == name })
	if i < 0 {
		return genetlink.Family{}, os.ErrNotExist
	}
	return all[i], nil
}

// exchange sends one message and receives its answer. c.mu is held.
func (c *Client) exchange(ctx context.Context, f genetlink.Family, r request, data []byte) ([]genetlink.Message, error) {
	release, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	msg := genetlink.Message{
		Header: genetlink.Header{Command: r.cmd, Version: f.Version},
		Data:   data,
	}
	sent, err := c.conn.Send(msg, f.ID, netlink.Request|r.flags)
	if err != nil {
		return nil, err
	}
	c.owed = true
	for {
		msgs, headers, err := c.conn.Receive()
		if unanswered(err) {
			return nil, err
		}
		c.owed = false
		if oe, ok := errors.AsType[*netlink.OpError](err); ok && stale(oe.Sequence, sent) {
			continue
		}
		if err != nil || len(headers) == 0 || !stale(headers[0].Header.Sequence, sent) {
			return msgs, err
		}
	}
}

// begin bounds what is received from now on, and receives what is not ours. The
// deadline of the request before has passed, in a client that lives for long. The
// caller, which holds c.mu, calls release when it is done.
func (c *Client) begin(ctx context.Context) (release func(), err error) {
	release, err = bound(ctx, c.conn, time.Now().Add(replyTimeout))
	if err != nil {
		return nil, err
	}
	if err := c.collect(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// collect receives what is left of an answer that nobody waited for until its
// end. Were it still there, the library would take what is left of a dump and the
// answer to the next request for one, and so would the kernel refuse the next
// dump. c.mu is held.
func (c *Client) collect() error {
	if !c.owed {
		return nil
	}
	if _, _, err := c.conn.Receive(); unanswered(err) {
		return err
	}
	c.owed = false
	return nil
}

// unanswered reports whether err says that no answer came in time. The kernel
// answers while it is asked, so the answer comes nevertheless.
func unanswered(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// stale reports whether a message of that sequence number answers an earlier
// request, one whose context ended before its answer came. An error that is no
// message has number 0.
func stale(seq uint32, sent netlink.Message) bool {
	return seq != 0 && seq != sent.Header.Sequence
}

// bound makes receives on conn fail at the deadline or at the end of ctx,
// whichever comes first. The caller calls release when done.
func bound(ctx context.Context, conn transport, deadline time.Time) (release func(), err error) {
	if err := conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(expired)
		// A failure means that the socket is closed, which ends a receive too.
		_ = conn.SetReadDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-expired // or it would cut short the next receive
		}
	}, nil
}
