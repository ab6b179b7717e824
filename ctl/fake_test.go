// This file owns the kernel that tests talk to: a function that answers
// requests, and a queue of events.

package ctl

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Numbers of the fake families.
const (
	fakeFamilyID     = 0x21
	fakeSendFamilyID = 0x22
	fakeGroupID      = 7
)

// fakeKernel answers requests with a function and sends what is put in events.
type fakeKernel struct {
	answer genltest.Func
	events chan fakeEvent

	mu     sync.Mutex
	joined []uint32 // groups that sockets joined
	absent bool     // no family is registered
	refuse error    // to join a group
}

// fakeEvent is what an event socket receives: a message or an error.
type fakeEvent struct {
	msg  genetlink.Message
	from netlink.HeaderType // the family; 0 stands for the one that was joined
	err  error
}

// newFake returns a client of a fake kernel.
func newFake(t *testing.T, answer genltest.Func) (*Client, *fakeKernel) {
	t.Helper()
	k := &fakeKernel{answer: answer, events: make(chan fakeEvent, 64)}
	c, err := newClient(k.dial)
	if err != nil {
		t.Fatalf("open client: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return c, k
}

// dial opens a socket to the fake kernel.
func (k *fakeKernel) dial() (transport, error) {
	fn := genltest.Func(k.answer)
	for _, f := range []genetlink.Family{
		{ID: unix.GENL_ID_CTRL, Version: 2, Name: ctrlFamilyName, Groups: []genetlink.MulticastGroup{{ID: unix.GENL_ID_CTRL, Name: ctrlGroup}}},
		{ID: fakeFamilyID, Version: 1, Name: familyName, Groups: []genetlink.MulticastGroup{{ID: fakeGroupID, Name: groupEvents}}},
		{ID: fakeSendFamilyID, Version: 1, Name: sendFamilyName, Groups: []genetlink.MulticastGroup{{ID: fakeGroupID, Name: sendGroupEvents}}},
	} {
		fn = serveFamily(f, fn)
	}
	gate := func(greq genetlink.Message, nreq netlink.Message) ([]genetlink.Message, error) {
		if k.isAbsent() {
			return nil, genltest.Error(2) // ENOENT
		}
		return fn(greq, nreq)
	}
	return &fakeConn{Conn: genltest.Dial(gate), kernel: k, moved: make(chan struct{})}, nil
}

// serveFamily is genltest.ServeFamily that passes questions about other
// families on.
func serveFamily(f genetlink.Family, next genltest.Func) genltest.Func {
	serve := genltest.ServeFamily(f, next)
	return func(greq genetlink.Message, nreq netlink.Message) ([]genetlink.Message, error) {
		if nreq.Header.Type == unix.GENL_ID_CTRL && familyOf(greq) != f.Name {
			return next(greq, nreq)
		}
		return serve(greq, nreq)
	}
}

// setAbsent unloads or loads the fake modules.
func (k *fakeKernel) setAbsent(absent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.absent = absent
}

func (k *fakeKernel) isAbsent() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.absent
}

// joins counts the groups that were joined.
func (k *fakeKernel) joins() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.joined)
}

// fakeConn adds to genltest's socket what that lacks: groups and deadlines.
type fakeConn struct {
	*genetlink.Conn
	kernel *fakeKernel

	mu       sync.Mutex
	joined   bool
	deadline time.Time
	moved    chan struct{} // closed when the deadline moves
}

func (c *fakeConn) JoinGroup(id uint32) error {
	c.kernel.mu.Lock()
	defer c.kernel.mu.Unlock()
	if c.kernel.refuse != nil {
		return &netlink.OpError{Op: "join-group", Err: c.kernel.refuse}
	}
	c.kernel.joined = append(c.kernel.joined, id)
	c.joined = true
	return nil
}

func (c *fakeConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	close(c.moved)
	c.moved = make(chan struct{})
	return nil
}

// GetFamily receives, too, and so not after the deadline.
func (c *fakeConn) GetFamily(name string) (genetlink.Family, error) {
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	if !deadline.IsZero() && time.Now().After(deadline) {
		return genetlink.Family{}, &netlink.OpError{Op: "receive", Err: os.ErrDeadlineExceeded}
	}
	return c.Conn.GetFamily(name)
}

func (c *fakeConn) Receive() ([]genetlink.Message, []netlink.Message, error) {
	if !c.joined {
		msgs, headers, err := c.Conn.Receive()
		if oe, ok := errors.AsType[*netlink.OpError](err); ok && !c.kernel.isAbsent() {
			oe.Message = "as the handler says" // as it does for each refusal
		}
		return msgs, headers, err
	}
	for {
		c.mu.Lock()
		deadline, moved := c.deadline, c.moved
		c.mu.Unlock()
		var expired <-chan time.Time
		if !deadline.IsZero() {
			expired = time.After(time.Until(deadline))
		}
		select {
		case e := <-c.kernel.events:
			return []genetlink.Message{e.msg}, []netlink.Message{{Header: netlink.Header{Type: e.from}}}, e.err
		case <-expired:
			return nil, nil, &netlink.OpError{Op: "receive", Err: os.ErrDeadlineExceeded}
		case <-moved:
		}
	}
}

// message makes the message of a command out of encoded attributes.
func message(t *testing.T, cmd uint8, encode func(*netlink.AttributeEncoder) error) genetlink.Message {
	t.Helper()
	return genetlink.Message{Header: genetlink.Header{Command: cmd, Version: 1}, Data: attributes(t, encode)}
}

// attributes encodes attributes.
func attributes(t *testing.T, encode func(*netlink.AttributeEncoder) error) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	if err := encode(ae); err != nil {
		t.Fatalf("encode: %v", err)
	}
	b, err := ae.Encode()
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

// attrString finds a string among attributes; empty if it is not there.
func attrString(b []byte, attr uint16) (text string) {
	_ = decode(b, func(ad *netlink.AttributeDecoder) {
		if ad.Type() == attr {
			text = ad.String()
		}
	})
	return text
}
