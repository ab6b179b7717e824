// This file tests requests, their errors and their bounds against a fake
// kernel.

package ctl

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
)

// answerWith checks a request and answers with one message.
func answerWith(t *testing.T, cmd uint8, flags netlink.HeaderFlags, encode func(*netlink.AttributeEncoder) error) genltest.Func {
	t.Helper()
	return genltest.CheckRequest(fakeFamilyID, cmd, flags, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
		return []genetlink.Message{message(t, cmd, encode)}, nil
	})
}

func TestAdd(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdReceiverNew, netlink.Request, encodeReceiver))
	got, err := c.Add(t.Context(), ReceiverConfig{Name: "r0", Addr: netip.MustParseAddrPort("10.9.0.1:7471")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantReceiver(), got, netipComparer()); diff != "" {
		t.Errorf("receiver (-want +got):\n%s", diff)
	}
}

func TestReceiversNone(t *testing.T) {
	c, _ := newFake(t, genltest.CheckRequest(fakeFamilyID, cmdReceiverGet, netlink.Request|netlink.Dump,
		func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) { return nil, io.EOF }))
	got, err := c.Receivers(t.Context())
	if err != nil || got == nil || len(got) != 0 {
		t.Errorf("receivers %v, error %v; want an empty list", got, err)
	}
}

func TestConnsOfOne(t *testing.T) {
	var asked string
	c, _ := newFake(t, func(req genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
		asked = attrString(req.Data, attrConnReceiverName)
		return nil, io.EOF
	})
	if _, err := c.Conns(t.Context(), "r7"); err != nil || asked != "r7" {
		t.Errorf("asked for the connections of %q, error %v", asked, err)
	}
}

func TestSetWantsAcknowledgement(t *testing.T) {
	c, _ := newFake(t, genltest.CheckRequest(fakeFamilyID, cmdReceiverSet, netlink.Request|netlink.Acknowledge,
		func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			return []genetlink.Message{{}}, nil
		}))
	if err := c.Set(t.Context(), ReceiverConfig{Name: "r0", Batch: new(uint32(8))}); err != nil {
		t.Error(err)
	}
}

func TestErrno(t *testing.T) {
	tests := []struct {
		errno syscall.Errno
		is    error
	}{
		{syscall.EPERM, os.ErrPermission},
		{syscall.EACCES, os.ErrPermission},
		{syscall.EEXIST, os.ErrExist},
		{syscall.ENOENT, os.ErrNotExist},
		{syscall.ENODEV, os.ErrNotExist},
		{syscall.EINVAL, syscall.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.errno.Error(), func(t *testing.T) {
			c, _ := newFake(t, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
				return nil, genltest.Error(int(tt.errno))
			})
			_, err := c.Receiver(t.Context(), "r0")
			if !errors.Is(err, tt.is) || !errors.Is(err, tt.errno) || errors.Is(err, ErrNotLoaded) {
				t.Errorf("error %v (%T) does not match %v, or too much", err, err, tt.is)
			}
		})
	}
}

func TestNotLoaded(t *testing.T) {
	c, k := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	k.setAbsent(true)
	if _, err := c.Info(t.Context()); !errors.Is(err, ErrNotLoaded) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the module: %v, want ErrNotLoaded and nothing else", err)
	}
	k.setAbsent(false)
	if _, err := c.Info(t.Context()); err != nil {
		t.Errorf("once the module is loaded: %v", err)
	}
	// The family's number is known now; ENOENT for it means that it is gone.
	k.setAbsent(true)
	if _, err := c.Info(t.Context()); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("after the module was unloaded: %v, want ErrNotLoaded", err)
	}
}

// restarting is a kernel in which the module of a client's cached family was
// unloaded, or loaded again: requests to the old number get errno.
type restarting struct {
	transport
	errno syscall.Errno
	times int // requests that get it
	sent  int
}

func (r *restarting) Receive() ([]genetlink.Message, []netlink.Message, error) {
	msgs, headers, err := r.transport.Receive()
	if r.sent++; r.sent <= r.times {
		return nil, nil, &netlink.OpError{Op: "receive", Err: r.errno}
	}
	return msgs, headers, err
}

// TestReloaded meets a module that was unloaded between two requests.
func TestReloaded(t *testing.T) {
	tests := []struct {
		name   string
		errno  syscall.Errno
		times  int
		absent bool
		want   error
		sent   int
	}{
		{"loaded again", syscall.ENOENT, 1, false, nil, 2},
		{"loaded again while it was unloaded", syscall.EPROTONOSUPPORT, 1, false, nil, 2},
		{"gone twice, loaded again", syscall.ENOENT, 2, false, nil, 3},
		{"still being unloaded", syscall.EPROTONOSUPPORT, 9, false, ErrNotLoaded, 3},
		{"unloaded", syscall.ENOENT, 9, true, ErrNotLoaded, 1},
		{"unloaded meanwhile", syscall.EPROTONOSUPPORT, 9, true, ErrNotLoaded, 1},
		{"gone each time", syscall.ENOENT, 9, false, ErrNotLoaded, 3},
		{"another error", syscall.EBUSY, 1, false, syscall.EBUSY, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, k := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
			if _, err := c.Info(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := &restarting{transport: c.conn, errno: tt.errno, times: tt.times}
			c.conn = r
			k.setAbsent(tt.absent)
			_, err := c.Info(t.Context())
			if !errors.Is(err, tt.want) || errors.Is(err, ErrNotLoaded) != (tt.want == ErrNotLoaded) || r.sent != tt.sent {
				t.Errorf("error %v after %d requests, want %v after %d", err, r.sent, tt.want, tt.sent)
			}
		})
	}
}

// TestRenumbered resends to the number that the family has now.
func TestRenumbered(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	c.families[familyName] = genetlink.Family{ID: fakeFamilyID + 100, Version: 1, Name: familyName}
	r := &restarting{transport: c.conn, errno: syscall.ENOENT, times: 1}
	c.conn = r
	if _, err := c.Info(t.Context()); err != nil || c.families[familyName].ID != fakeFamilyID {
		t.Errorf("error %v, family %+v; want an answer of family %#x", err, c.families[familyName], fakeFamilyID)
	}
}

// TestRenumberedAfterDeadline asks for a family long after the last request, whose
// deadline has passed meanwhile.
func TestRenumberedAfterDeadline(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	if _, err := c.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	delete(c.families, familyName) // its module was loaded again
	if _, err := c.Info(t.Context()); err != nil {
		t.Errorf("error %v", err)
	}
}

// TestFamilyNobodyWaitedFor gives up the search for a family before its answer has
// come. The next answer must not be taken for that.
func TestFamilyNobodyWaitedFor(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	late := &lateFamily{transport: c.conn}
	c.conn = late
	if _, err := c.Info(t.Context()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("error %v, want that of a deadline", err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.ABI != 1 || late.left != 0 {
		t.Errorf("the request after it: %+v, %v; %d answers were not received", info, err, late.left)
	}
}

// lateFamily does not get the first answer about a family in time.
type lateFamily struct {
	transport
	asked bool
	left  int // answers that are still to be received
}

func (l *lateFamily) GetFamily(name string) (genetlink.Family, error) {
	if !l.asked {
		l.asked, l.left = true, 1
		return genetlink.Family{}, &netlink.OpError{Op: "receive", Err: os.ErrDeadlineExceeded}
	}
	return l.transport.GetFamily(name)
}

func (l *lateFamily) Receive() ([]genetlink.Message, []netlink.Message, error) {
	if l.left > 0 {
		l.left--
		return nil, nil, nil
	}
	return l.transport.Receive()
}

// TestPassive never asks for a family by name, which would load its module.
func TestPassive(t *testing.T) {
	c, k := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	c.passive = true
	list := &listing{transport: c.conn, t: t}
	c.conn = list
	if _, err := c.Info(t.Context()); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("error %v although no family is listed, want ErrNotLoaded", err)
	}
	list.families = []genetlink.Family{{ID: 1, Name: "other"}, {ID: fakeFamilyID, Version: 1, Name: familyName}}
	if info, err := c.Info(t.Context()); err != nil || info.ABI != 1 {
		t.Errorf("info %+v, error %v", info, err)
	}
	k.setAbsent(true)
	list.families = nil
	if _, err := c.Info(t.Context()); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("error %v after the module was unloaded, want ErrNotLoaded", err)
	}
}

// listing is a kernel with these families, none of which can be asked for.
type listing struct {
	transport
	t        *testing.T
	families []genetlink.Family
}

func (l *listing) ListFamilies() ([]genetlink.Family, error) { return l.families, nil }

func (l *listing) GetFamily(name string) (genetlink.Family, error) {
	l.t.Errorf("family %s was asked for", name)
	return genetlink.Family{}, os.ErrNotExist
}

func TestAbout(t *testing.T) {
	for name, want := range map[string]string{
		"r0":                      "add receiver r0",
		"":                        `add receiver ""`,
		"two\nlines":              `add receiver "two\nlines"`,
		"naïve":                   "add receiver naïve",
		strings.Repeat("x", 32):   "add receiver " + strings.Repeat("x", 32),
		strings.Repeat("x", 3000): `add receiver "` + strings.Repeat("x", 31) + `"…`,
	} {
		if got := about("add receiver", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestConnByIndex(t *testing.T) {
	c, _ := newFake(t, func(req genetlink.Message, nreq netlink.Message) ([]genetlink.Message, error) {
		asked, err := decodeConn(req.Data)
		if err != nil || asked.ReceiverName != "r7" || asked.Index != 3 || nreq.Header.Flags&netlink.Dump != 0 {
			t.Errorf("asked for connection %+v with flags %v, error %v", asked, nreq.Header.Flags, err)
		}
		return []genetlink.Message{{Data: req.Data}}, nil
	})
	if got, err := c.Conn(t.Context(), "r7", 3); err != nil || got.Index != 3 {
		t.Errorf("connection %+v, error %v", got, err)
	}
}

// TestExtendedError checks the kernel's sentence and attribute; genltest cannot
// send them.
func TestExtendedError(t *testing.T) {
	cfg := ReceiverConfig{Name: "r0", Depth: new(uint32(1)), Batch: new(uint32(2))}
	sent := attributes(t, cfg.encode)
	// Behind the headers: the name takes 8 bytes, depth 8, then comes batch.
	oe := &netlink.OpError{Op: "receive", Err: syscall.ERANGE, Message: "batch 2 is above depth 1", Offset: 20 + 16}
	e := newError(t.Context(), "add receiver r0", receiverAttrs(), sent, oe)
	want := &Error{Op: "add receiver r0", Message: "batch 2 is above depth 1", Attr: "batch", Err: syscall.ERANGE}
	if *e != *want {
		t.Errorf("error is %#v, want %#v", e, want)
	}
	if got, want := e.Error(), "add receiver r0: batch 2 is above depth 1 (attribute batch)"; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
	cfg.Allow = &[]netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}
	// Name, depth and batch take 24 bytes, the nest's header 4: this is its
	// address, which has the number of a receiver's pad.
	if got := attrAt(receiverAttrs(), attributes(t, cfg.encode), 20+24+4); got != "allow" {
		t.Errorf("an attribute inside of allow is named %q", got)
	}
	unknown := attributes(t, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(200, 1)
		return nil
	})
	if got := attrAt(receiverAttrs(), unknown, 20); got != "" {
		t.Errorf("attribute 200 is named %q", got)
	}
	for _, offset := range []int{0, 3, 19, 20 + 24, 1000, -4} {
		if got := attrAt(receiverAttrs(), sent, offset); got != "" {
			t.Errorf("offset %d names attribute %q", offset, got)
		}
	}
}

func TestContextEnded(t *testing.T) {
	c, _ := newFake(t, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Receivers(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestStaleAnswer puts an answer to an earlier request before the right one.
func TestStaleAnswer(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	c.conn = &staleConn{transport: c.conn}
	if info, err := c.Info(t.Context()); err != nil || info.ABI != 1 {
		t.Errorf("with a stale answer before: %+v, %v", info, err)
	}
}

// staleConn receives one message of another sequence number first.
type staleConn struct {
	transport
	done bool
}

func (s *staleConn) Receive() ([]genetlink.Message, []netlink.Message, error) {
	if !s.done {
		s.done = true
		return []genetlink.Message{{}}, []netlink.Message{{Header: netlink.Header{Sequence: 1}}}, nil
	}
	return s.transport.Receive()
}

// TestAnswerNobodyWaitedFor gives up a request before its answer has come. The
// next request's answer must not go with it.
func TestAnswerNobodyWaitedFor(t *testing.T) {
	c, _ := newFake(t, answerWith(t, cmdInfoGet, netlink.Request, encodeInfo))
	if _, err := c.Info(t.Context()); err != nil { // the family is known from now on
		t.Fatal(err)
	}
	c.conn = &gluingConn{transport: c.conn}
	if _, err := c.Info(t.Context()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("error %v, want that of a deadline", err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.ABI != 1 {
		t.Errorf("the request after it: %+v, %v", info, err)
	}
}

// gluingConn does not get its first answer in time. It receives it together with
// all that has been answered until then, as the library does with parts of a
// dump.
type gluingConn struct {
	transport
	receives, sends int
}

func (g *gluingConn) Send(m genetlink.Message, family uint16, flags netlink.HeaderFlags) (netlink.Message, error) {
	g.sends++
	return g.transport.Send(m, family, flags)
}

func (g *gluingConn) Receive() ([]genetlink.Message, []netlink.Message, error) {
	g.receives++
	if g.receives == 1 {
		if _, _, err := g.transport.Receive(); err != nil {
			return nil, nil, err
		}
		return nil, nil, os.ErrDeadlineExceeded
	}
	msgs, headers := []genetlink.Message{{}}, []netlink.Message{{Header: netlink.Header{Sequence: 1}}}
	if g.receives > 2 {
		return g.transport.Receive()
	}
	if g.sends == 1 {
		return msgs, headers, nil
	}
	more, moreHeaders, err := g.transport.Receive()
	return append(msgs, more...), append(headers, moreHeaders...), err
}
