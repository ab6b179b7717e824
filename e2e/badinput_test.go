package e2e

// This file owns what the kernel refuses to make or change, and in which words.
// After every refusal things are as they were.

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mdlayher/netlink"

	"github.com/rxpost/rxpost/ctl"
)

func u32(n uint32) *uint32 { return &n }

// refusal is a request for r0 on the rig's address, changed a little, and what
// is answered.
type refusal struct {
	what     string
	cfg      ctl.ReceiverConfig
	errno    syscall.Errno
	sentence string
	attr     string // the attribute that is blamed, if one is
}

// addRefusals are what no receiver can be made of.
func addRefusals() []refusal {
	at := func(addr string) netip.AddrPort { return netip.MustParseAddrPort(addr) }
	return []refusal{
		{"no batch", ctl.ReceiverConfig{Batch: u32(0)}, syscall.ERANGE, "batch 0 is outside 1 to 256", "batch"},
		{"huge batch", ctl.ReceiverConfig{Batch: u32(257), Depth: u32(512)}, syscall.ERANGE, "batch 257 is outside 1 to 256", "batch"},
		{"batch above depth", ctl.ReceiverConfig{Batch: u32(33), Depth: u32(32)}, syscall.EINVAL,
			"batch 33 is above depth 32, so it could never fill", "batch"},
		{"low-water at depth", ctl.ReceiverConfig{LowWater: u32(64), Depth: u32(64)}, syscall.EINVAL,
			"low-water 64 must be below depth 64", "low-water"},
		{"depth above depth-max", ctl.ReceiverConfig{Depth: u32(64), DepthMax: u32(32)}, syscall.EINVAL,
			"depth 64 is above depth-max 32", "depth"},
		{"no depth", ctl.ReceiverConfig{Depth: u32(0)}, syscall.ERANGE, "depth 0 is outside 1 to 65536", "depth"},
		{"no slot", ctl.ReceiverConfig{SlotSize: u32(0)}, syscall.ERANGE, "slot (bytes) 0 is outside 1 to 1048576", "slot-size"},
		{"huge slot", ctl.ReceiverConfig{SlotSize: u32(1<<20 + 1)}, syscall.ERANGE,
			"slot (bytes) 1048577 is outside 1 to 1048576", "slot-size"},
		{"no poller", ctl.ReceiverConfig{Pollers: u32(0)}, syscall.ERANGE, "pollers 0 is outside 1 to 16", "pollers"},
		{"no connection", ctl.ReceiverConfig{MaxConns: u32(0)}, syscall.ERANGE, "max-conns 0 is outside 1 to 1024", "max-conns"},
		{"no RNR timer", ctl.ReceiverConfig{RNRTimer: ptr(ctl.Microseconds(0))}, syscall.ERANGE,
			"rnr-timer (us) 0 is outside 1 to 655360", "rnr-timer-us"},
		{"depth above the device", ctl.ReceiverConfig{Depth: u32(65536), SlotSize: u32(1)}, syscall.E2BIG,
			"depth-max 65536 is beyond rxe0's CQs of 32767", "depth"},
		{"unknown device", ctl.ReceiverConfig{Device: "rxe7"}, syscall.EINVAL, "the address belongs to rxe0, not to rxe7", "device"},
		{"any address", ctl.ReceiverConfig{Addr: at("0.0.0.0:7471")}, syscall.EINVAL,
			"a receiver listens on one address; give one of an RDMA device", "addr"},
		{"any IPv6 address", ctl.ReceiverConfig{Addr: at("[::]:7471")}, syscall.EINVAL,
			"a receiver listens on one address; give one of an RDMA device", "addr"},
		{"not local", ctl.ReceiverConfig{Addr: at("10.9.0.2:7471")}, syscall.EADDRNOTAVAIL,
			"10.9.0.2 is on no RDMA device (rxctl link show)", "addr"},
		{"local, no device", ctl.ReceiverConfig{Addr: at("127.0.0.1:7471")}, syscall.EADDRNOTAVAIL,
			"127.0.0.1 is on no RDMA device (rxctl link show)", "addr"},
		{"port 0", ctl.ReceiverConfig{Addr: at("10.9.0.1:0")}, syscall.EINVAL, "port 0 is no port; give one from 1 to 65535", "port"},
		{"bad name", ctl.ReceiverConfig{Name: "r 0"}, syscall.EINVAL, "a name has letters, digits, '.', '_' and '-' only", "name"},
		{"slash", ctl.ReceiverConfig{Name: "../r0"}, syscall.EINVAL, "a name has letters, digits, '.', '_' and '-' only", "name"},
		{"not ASCII", ctl.ReceiverConfig{Name: "ré"}, syscall.EINVAL, "a name has letters, digits, '.', '_' and '-' only", "name"},
	}
}

func TestAddRefused(t *testing.T) {
	r := newRig(t)
	for _, tt := range addRefusals() {
		cfg := tt.cfg
		if cfg.Name == "" {
			cfg.Name = "r0"
		}
		if !cfg.Addr.IsValid() {
			cfg.Addr = listenAddr
		}
		r.refuses(tt, func() error {
			_, err := r.ctl.Add(r.ctx, cfg)
			return err
		})
	}
	// The last name that fits, after all that.
	rcv, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: strings.Repeat("n", ctl.NameLen), Addr: listenAddr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ctl.Delete(r.ctx, rcv.Name); err != nil {
		t.Error(err)
	}
}

// refuses checks a refusal's words and that it changed nothing: receivers,
// their memory, and what is on the device.
func (r *rig) refuses(tt refusal, do func() error) {
	r.t.Helper()
	before, resources := r.world(), r.resources()
	err := do()
	refused(r.t, err, tt.errno, tt.sentence)
	if e, ok := err.(*ctl.Error); ok && e.Attr != tt.attr {
		r.t.Errorf("%s: blames attribute %q, want %q", tt.what, e.Attr, tt.attr)
	}
	r.unchanged(tt.what, before, resources)
}

// unchanged checks that world and resources are what they were.
func (r *rig) unchanged(what string, world any, resources map[string]uint64) {
	r.t.Helper()
	// What counts by itself is no change.
	same := cmp.Options{
		cmpopts.IgnoreFields(ctl.Counters{}, "Polls", "Sleeps"),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	}
	if diff := cmp.Diff(world, r.world(), same...); diff != "" {
		r.t.Errorf("%s: changed (-before +now):\n%s", what, diff)
	}
	r.eventually(what+": device as before", func() error {
		if diff := cmp.Diff(resources, r.resources()); diff != "" {
			return fmt.Errorf("(-before +now):\n%s", diff)
		}
		return nil
	})
}

// world is all that the module tells.
func (r *rig) world() any {
	r.t.Helper()
	receivers, err := r.ctl.Receivers(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := r.ctl.Info(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return struct {
		Receivers []ctl.Receiver
		Info      ctl.Info
	}{receivers, info}
}

// What is fixed is refused by its name, and what is live is refused when it
// makes no sense, all of it or nothing.
func TestSetRefused(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Depth: u32(64), DepthMax: u32(128)})
	fixed := func(what, attr string, cfg ctl.ReceiverConfig) refusal {
		return refusal{what, cfg, syscall.EOPNOTSUPP, what + " is fixed; delete the receiver and add it anew", attr}
	}
	for _, tt := range []refusal{
		fixed("device", "device", ctl.ReceiverConfig{Device: deviceName}),
		fixed("addr", "addr", ctl.ReceiverConfig{Addr: listenAddr}),
		fixed("depth-max", "depth-max", ctl.ReceiverConfig{DepthMax: u32(256)}),
		fixed("slot (bytes)", "slot-size", ctl.ReceiverConfig{SlotSize: u32(64)}),
		fixed("max-conns", "max-conns", ctl.ReceiverConfig{MaxConns: u32(1)}),
		fixed("pollers", "pollers", ctl.ReceiverConfig{Pollers: u32(2)}),
		fixed("sink", "sink", ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)}),
		fixed("rnr-retry", "rnr-retry", ctl.ReceiverConfig{RNRRetry: u32(1)}),
		fixed("sink", "sink", ctl.ReceiverConfig{Batch: u32(32), Sink: ptr(ctl.SinkVerify)}),
		{"depth", ctl.ReceiverConfig{Depth: u32(129)}, syscall.EINVAL, "depth 129 is above depth-max 128", "depth"},
		{"batch", ctl.ReceiverConfig{Batch: u32(65)}, syscall.EINVAL, "batch 65 is above depth 64, so it could never fill", "batch"},
		{"depth below batch", ctl.ReceiverConfig{Depth: u32(15)}, syscall.EINVAL,
			"batch 16 is above depth 15, so it could never fill", "depth"},
		{"half of it", ctl.ReceiverConfig{Batch: u32(8), Budget: u32(17)}, syscall.ERANGE, "budget 17 is outside 1 to 16", "budget"},
		{"spin", ctl.ReceiverConfig{Spin: ptr(ctl.Microseconds(10001))}, syscall.ERANGE, "spin (us) 10001 is outside 0 to 10000", "spin-us"},
		{"drain", ctl.ReceiverConfig{DrainTimeout: ptr(ctl.Milliseconds(0))}, syscall.ERANGE,
			"drain-timeout (ms) 0 is outside 1 to 600000", "drain-timeout-ms"},
		{"nobody", ctl.ReceiverConfig{Name: "r7", Batch: u32(8)}, syscall.ENOENT, "no receiver r7", "name"},
	} {
		cfg := tt.cfg
		if cfg.Name == "" {
			cfg.Name = "r0"
		}
		r.refuses(tt, func() error { return r.ctl.Set(r.ctx, cfg) })
	}
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}

func TestNoSuchReceiver(t *testing.T) {
	r := newRig(t)
	absent := refusal{"absent", ctl.ReceiverConfig{}, syscall.ENOENT, "no receiver r7", "name"}
	r.refuses(absent, func() error { _, err := r.ctl.Receiver(r.ctx, "r7"); return err })
	r.refuses(absent, func() error { _, err := r.ctl.Delete(r.ctx, "r7"); return err })
	absent.attr = "receiver-name"
	r.refuses(absent, func() error { _, err := r.ctl.Stats(r.ctx, "r7"); return err })
	// This one is a dump, and older kernels name no attribute when they refuse
	// one.
	_, err := r.ctl.Conns(r.ctx, "r7")
	refused(t, err, syscall.ENOENT, absent.sentence)
}

// Names and ports are taken once; by whom, the sentence says as far as known.
func TestTaken(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{})
	other := netip.AddrPortFrom(listenAddr.Addr(), 7472)
	for _, tt := range []refusal{
		{"name", ctl.ReceiverConfig{Name: "r0", Addr: other}, syscall.EEXIST, "a receiver r0 exists already", "name"},
		{"port", ctl.ReceiverConfig{Name: "r1", Addr: listenAddr}, syscall.EADDRINUSE,
			"10.9.0.1:7471 is in use; choose another port", "port"},
	} {
		r.refuses(tt, func() error { _, err := r.ctl.Add(r.ctx, tt.cfg); return err })
	}
	// By someone that is not ours.
	p := listenRaw(t, 7473)
	r.refuses(refusal{"port of another program", ctl.ReceiverConfig{}, syscall.EADDRINUSE,
		"10.9.0.1:7473 is in use; choose another port", "port"}, func() error {
		_, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: "r1", Addr: netip.AddrPortFrom(listenAddr.Addr(), 7473)})
		return err
	})
	p.die()
	r.deleteSoon()
}

// The bound of a CQ: the sentence names a number of pollers, and it is right.
func TestQueuesBeyondDevice(t *testing.T) {
	r := newRig(t)
	cfg := ctl.ReceiverConfig{Name: "r0", Addr: listenAddr, Depth: u32(1024), SlotSize: u32(64), MaxConns: u32(100), Pollers: u32(1)}
	r.refuses(refusal{"CQ", cfg, syscall.E2BIG, "needs CQs of 102500, rxe0 allows 32767; pollers 4 would do", "max-conns"},
		func() error { _, err := r.ctl.Add(r.ctx, cfg); return err })
	cfg.Pollers = u32(3)
	r.refuses(refusal{"CQ", cfg, syscall.E2BIG, "needs CQs of 34850, rxe0 allows 32767; pollers 4 would do", "max-conns"},
		func() error { _, err := r.ctl.Add(r.ctx, cfg); return err })
	many := cfg
	many.MaxConns, many.Pollers = u32(497), nil
	r.refuses(refusal{"16 CQs", many, syscall.E2BIG, "even 16 pollers on rxe0 serve no more than 496 connections", "max-conns"},
		func() error { _, err := r.ctl.Add(r.ctx, many); return err })
	// Not told how many, it takes as few as do.
	cfg.Pollers = nil
	rcv, err := r.ctl.Add(r.ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if rcv.Pollers != 4 || rcv.MaxConns != 100 {
		t.Errorf("%d pollers for %d connections", rcv.Pollers, rcv.MaxConns)
	}
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}

func TestMemoryBound(t *testing.T) {
	r := newRig(t)
	const file = "/sys/module/rxpost_recv/parameters/memory_limit_mb"
	setLimit := func(mb string) {
		if err := os.WriteFile(file, []byte(mb), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { setLimit("0") })
	setLimit("10")
	// A little more than 2 MiB a connection.
	cfg := ctl.ReceiverConfig{Depth: u32(512), SlotSize: u32(4096), MaxConns: u32(3)}
	r.add(cfg)
	cfg.Name, cfg.Addr, cfg.MaxConns = "r1", netip.AddrPortFrom(listenAddr.Addr(), 7472), u32(2)
	r.refuses(refusal{"memory", cfg, syscall.ENOSPC, "needs 5 MiB of slots, 3 MiB are not reserved; see memory_limit_mb", ""},
		func() error { _, err := r.ctl.Add(r.ctx, cfg); return err })
	cfg.MaxConns = u32(1)
	if _, err := r.ctl.Add(r.ctx, cfg); err != nil {
		t.Error(err)
	}
	if _, err := r.ctl.Delete(r.ctx, "r1"); err != nil {
		t.Error(err)
	}
	r.deleteSoon()
}

// Below ctl: what a newer or a broken client might send.
func TestMalformedRequests(t *testing.T) {
	const failed = "Attribute failed policy validation"
	r := newRig(t)
	for _, tt := range []struct {
		what string
		more func(*netlink.AttributeEncoder)
		want string
	}{
		{"unknown attribute", func(ae *netlink.AttributeEncoder) { ae.Uint32(200, 1) }, "Unknown attribute type"},
		{"short number", func(ae *netlink.AttributeEncoder) { ae.Uint16(attrDepth, 64) }, "invalid attribute length"},
		{"long number", func(ae *netlink.AttributeEncoder) { ae.Uint64(attrDepth, 64) }, "invalid attribute length"},
		{"odd address", func(ae *netlink.AttributeEncoder) { ae.Bytes(attrAddr, make([]byte, 5)) },
			"an address has 4 or 16 bytes, not 5"},
		{"empty name", func(ae *netlink.AttributeEncoder) { ae.String(attrName, "") }, "the name is empty"},
		{"long name", func(ae *netlink.AttributeEncoder) { ae.String(attrName, strings.Repeat("n", ctl.NameLen+1)) }, "a name has at most 31 bytes, not 32"},
		{"name without end", func(ae *netlink.AttributeEncoder) { ae.Bytes(attrName, []byte("r0")) }, failed},
	} {
		r.refuses(refusal{what: tt.what, errno: syscall.EINVAL, sentence: tt.want}, func() error {
			err := rawAdd(t, tt.more)
			return &ctl.Error{Op: tt.what, Message: sentenceOf(err), Err: err}
		})
	}
}
