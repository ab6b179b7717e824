package e2e

// This file owns requests whose bytes are wrong: cut off, nested where they must
// not be, or not where they must. Each is answered with an error and a sentence,
// and changes nothing.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
)

// attr is one attribute, whatever is in it.
func attr(typ uint16, payload ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(payload)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, payload...)
	return append(b, make([]byte, -len(b)&3)...)
}

// nest is an attribute of attributes.
func nest(typ uint16, attrs ...[]byte) []byte {
	return attr(typ|unix.NLA_F_NESTED, bytes.Join(attrs, nil)...)
}

func attr32(typ uint16, n uint32) []byte {
	return attr(typ, binary.NativeEndian.AppendUint32(nil, n)...)
}

// rawConn speaks generic netlink to one family.
type rawConn struct {
	t      *testing.T
	conn   *netlink.Conn
	family uint16
}

func dialFamily(t *testing.T, name string) rawConn {
	t.Helper()
	g := dialGenl(t)
	defer g.Close()
	f, err := g.GetFamily(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := netlink.Dial(unix.NETLINK_GENERIC, &netlink.Config{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return rawConn{t, c, f.ID}
}

// ask sends a command with a body and returns what the kernel says.
func (c rawConn) ask(flags netlink.HeaderFlags, data ...byte) error {
	_, err := c.conn.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(c.family), Flags: netlink.Request | netlink.Acknowledge | flags},
		Data:   data,
	})
	return err
}

// broken is a body that no command may take.
type broken struct {
	what     string
	body     []byte
	sentence string
}

// brokenBodies are wrong in a way that is nobody's in particular. id is a number
// attribute of the command.
func brokenBodies(id uint16) []broken {
	cut := attr32(id, 1)
	cut[0] += 4 // says to have four bytes more than there are
	short := attr32(id, 1)
	short[0] = 3 // shorter than its own header
	const leftover, length = "bytes leftover after parsing attributes", "invalid attribute length"
	return []broken{
		{"attribute cut off", cut, leftover},
		{"attribute without a length", short, leftover},
		{"zeros", make([]byte, 8), leftover},
		{"half a number", attr(id, 1, 0), length},
		{"no number", attr(id), length},
		{"unknown attribute", attr32(900, 1), "Unknown attribute type"},
		{"number as a nest", nest(id, attr(1)), "NLA_F_NESTED not expected"},
	}
}

// Every command of both families, in both ways it can be called.
func TestBrokenRequests(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	for _, family := range loadedFamilies(t) {
		c := dialFamily(t, family.name)
		for _, op := range family.ops {
			if op.do {
				r.breaks(c, op, 0)
			}
			if op.dump {
				r.breaks(c, op, netlink.Dump)
			}
		}
	}
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.intact(r.alone().Counters, 100)
	r.deleteSoon()
}

// breaks sends what is wrong with any command as a request for this one.
func (r *rig) breaks(c rawConn, op *nlOp, flags netlink.HeaderFlags) {
	r.t.Helper()
	i := slices.IndexFunc(op.request, func(a *nlAttr) bool { return a.typ == "u32" })
	if i < 0 {
		r.t.Fatalf("%s takes no number: say here how it can be broken", op.name)
	}
	for _, b := range brokenBodies(op.request[i].number) {
		what := fmt.Sprintf("%s, flags %#x, %s", op.name, uint16(flags), b.what)
		r.unmoved(what, b.sentence, func() error {
			return c.ask(flags, append(genlHeader(op.number), b.body...)...)
		})
	}
}

// Commands that do not exist, are the kernel's own, or lack their header.
func TestNoSuchCommand(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	for _, family := range []string{"rxpost", "rxpost_send"} {
		c := dialFamily(t, family)
		for _, cmd := range []byte{0, 200} {
			if err := c.ask(0, cmd, 1, 0, 0); !errors.Is(err, syscall.EOPNOTSUPP) {
				t.Errorf("%s, command %d: %v", family, cmd, err)
			}
		}
		if err := c.ask(0); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s, no header: %v", family, err)
		}
	}
	for what, cmd := range map[string]byte{"event": cmdEvent, "dump of new": cmdReceiverNew} {
		if err := dialFamily(t, "rxpost").ask(netlink.Dump, cmd, 1, 0, 0); !errors.Is(err, syscall.EOPNOTSUPP) {
			t.Errorf("%s: %v", what, err)
		}
	}
	r.deleteSoon()
}

// The attributes that are lists, in requests that are right but for them.
func TestBrokenLists(t *testing.T) {
	const (
		addr, length = 1, 2
		badLength    = "invalid attribute length"
		noNest       = "NLA_F_NESTED is missing"
		alone        = "a prefix without an address stands alone: it lets everybody in"
	)
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	c := dialFamily(t, "rxpost")
	name := attr(attrName, 'r', '0', 0)
	v4 := attr(addr, 10, 9, 0, 0)
	allow := func(attrs ...[]byte) []byte { return nest(attrAllow, attrs...) }
	for _, b := range []broken{
		{"allow: a flag", attr(attrAllow), noNest},
		{"allow: a number", attr32(attrAllow, 24), noNest},
		{"allow: bytes of a prefix, no nest", attr(attrAllow, v4...), noNest},
		{"allow: cut off inside", allow(v4[:6]), "bytes leftover after parsing attributes"},
		{"allow: three bytes of address", allow(attr(addr, 10, 9, 0)), "a prefix's address has 4 or 16 bytes, not 3"},
		{"allow: no byte of address", allow(attr(addr)), "a prefix's address has 4 or 16 bytes, not 0"},
		{"allow: address as a nest", allow(nest(addr, attr32(1, 1))), "NLA_F_NESTED not expected"},
		{"allow: short length", allow(v4, attr(length, 24)), badLength},
		{"allow: length without address", allow(attr32(length, 24)), alone},
		{"allow: everybody and one", append(allow(), allow(v4)...), alone},
		{"allow: other family", allow(attr(addr, make([]byte, 16)...)),
			"the receiver's peers have IPv4 addresses, the prefix has not"},
		{"allow: unknown inside", allow(v4, attr32(9, 1)), "Unknown attribute type"},
		{"allow: good, then bad", append(allow(v4), allow(attr(addr, 1))...), "a prefix's address has 4 or 16 bytes, not 1"},
		{"segment: a flag", attr(attrSegment), badLength},
		{"segment: a nest", nest(attrSegment, attr(1)), "NLA_F_NESTED not expected"},
		{"segment: two bytes", attr(attrSegment, 64, 0), badLength},
		{"segment: good, then short", append(attr32(attrSegment, 64), attr(attrSegment, 64)...), badLength},
		{"cpu: a nest", nest(attrCPU, attr(1)), "NLA_F_NESTED not expected"},
		{"cpu: a byte", attr(attrCPU, 0), badLength},
	} {
		r.unmoved(b.what, b.sentence, func() error {
			return c.ask(0, append(append([]byte{cmdReceiverSet, 1, 0, 0}, name...), b.body...)...)
		})
	}
	// What differs by a bit from these is taken.
	if err := c.ask(0, append(append([]byte{cmdReceiverSet, 1, 0, 0}, name...), allow(v4, attr32(length, 24))...)...); err != nil {
		t.Error(err)
	}
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}

// unmoved is refuses for a request that was made of bytes.
func (r *rig) unmoved(what, sentence string, do func() error) {
	r.t.Helper()
	r.refuses(refusal{what: what, errno: syscall.EINVAL, sentence: sentence}, func() error {
		err := do()
		if err == nil {
			return nil
		}
		return &ctl.Error{Op: what, Message: sentenceOf(err), Err: err}
	})
}
