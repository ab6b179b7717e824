package e2e

// This file owns walks through the failures of requests: each allocation that a
// request makes fails once, the first, the second, and so on, until the request
// has been served without any. After each the caller has an error or success, and
// nothing but what succeeded is left.

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rxpost/rxpost/ctl"
)

// mostPoints ends a walk that does not end by itself.
const mostPoints = 5000

// walk does something with the first allocation failing, with the second, until
// none fails, and reports how many did and how many of those were noticed: do
// returned an error. A step above 1 is for what takes long on an
// instrumented kernel: it leaves some out there, the dice say which, unless the
// test may last. try is one attempt; check looks at what it left and undoes it.
func (r *rig) walk(name string, step int, try func(n int) (failed bool, err error), check func(n int, err error)) (points, noticed int) {
	r.t.Helper()
	first := 1
	if !instrumented() || lasting(0) > 0 {
		step = 1
	} else if step > 1 {
		first += diceOf(r.t, name).IntN(step)
	}
	for n := first; n <= mostPoints; n += step {
		failed, err := try(n)
		if !failed && err != nil {
			r.t.Errorf("%s: without a failure: %v", name, err)
		}
		check(n, err)
		if r.t.Failed() {
			r.t.Fatalf("%s: at allocation %d, which ended with: %v", name, n, err)
		}
		if !failed {
			figure(r.t, "fail-nth points: "+name, points)
			r.t.Logf("%s: %d of %d failures were noticed", name, noticed, points)
			return points, noticed
		}
		points++
		if err != nil {
			noticed++
		}
	}
	r.t.Fatalf("%s: %d allocations failed, and there are more", name, points)
	return 0, 0
}

// outOfMemory checks that a request failed, if it did, as it must where memory is
// short. siw listens on a socket, of which the kernel says otherwise: there are too
// many, or (6.12 inet_csk_get_port()) its port is in use.
func (r *rig) outOfMemory(err error) {
	r.t.Helper()
	if err == nil {
		return
	}
	want := []error{syscall.ENOMEM}
	if r.device.iwarp {
		want = append(want, syscall.ENFILE, syscall.EADDRINUSE)
	}
	is := func(target error) bool { return errors.Is(err, target) }
	if e, ok := errors.AsType[*ctl.Error](err); !ok || !slices.ContainsFunc(want, is) {
		r.t.Errorf("not an error of memory: %v (%+v)", err, e)
	}
}

// asBefore returns a check that things are as they were at the call: receivers,
// memory, mappings, and what exists on the device.
func (r *rig) asBefore() (check func()) {
	r.t.Helper()
	type things struct {
		Receivers []string
		Memory    uint64
		Mappings  uint64
		Reserved  uint64
		Resources map[string]uint64
	}
	look := func() (t things) {
		receivers, err := r.ctl.Receivers(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, rcv := range receivers {
			t.Receivers = append(t.Receivers, rcv.Name)
			if err := rcv.Ledger.Balanced(); err != nil {
				r.t.Error(err)
			}
		}
		info, err := r.ctl.Info(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		t.Memory, t.Mappings, t.Reserved = info.Memory, info.Mappings, info.MemoryReserved
		t.Resources = r.resources()
		return t
	}
	before := look()
	return func() {
		r.t.Helper()
		r.eventually("nothing left behind", func() error {
			if diff := gocmp.Diff(before, look()); diff != "" {
				return fmt.Errorf("(-before +now):\n%s", diff)
			}
			return nil
		})
	}
}

// command is a request to walk through.
type command struct {
	name string
	step int // see walk; 0 for one that allocates nothing below the module's own code
	do   func() error
	undo func() // of a success; nil for nothing
}

// walkCommands walks through each command's failures, on a thread of its own.
func (r *rig) walkCommands(in *injection, commands []command) {
	r.t.Helper()
	for _, c := range commands {
		same := r.asBefore()
		points, noticed := r.walk(c.name, max(c.step, 1), func(n int) (bool, error) { return in.own(n, c.do) }, func(_ int, err error) {
			r.outOfMemory(err)
			if err == nil && c.undo != nil {
				c.undo()
			}
			same()
		})
		// Of a sample all may be of the kind that the kernel does without.
		sample := instrumented() && c.step > 1
		if (points > 0) != (c.step > 0) || noticed == 0 && points > 0 && !sample {
			r.t.Errorf("%s: %d allocations failed, %d were noticed; want any: %v", c.name, points, noticed, c.step > 0)
		}
	}
}

// addCommands are ways to make a receiver. Each takes one poller, so that no walk
// is longer than what is new in it.
func (r *rig) addCommands() []command {
	small := ctl.ReceiverConfig{Name: "r0", Addr: listenAddr, Depth: u32(4), SlotSize: u32(64), MaxConns: u32(2)}
	with := func(name string, step int, change func(*ctl.ReceiverConfig)) command {
		cfg := small
		change(&cfg)
		return command{name, step, func() error {
			_, err := r.ctl.Add(r.ctx, cfg)
			return err
		}, func() { r.delete() }}
	}
	return []command{
		with("recv add", 5, func(*ctl.ReceiverConfig) {}),
		with("recv add --device", 13, func(c *ctl.ReceiverConfig) { c.Device = r.device.name }),
		with("recv add --sink echo", 13, func(c *ctl.ReceiverConfig) { c.Sink = ptr(ctl.SinkEcho) }),
		with("recv add --slot 32+32", 13, func(c *ctl.ReceiverConfig) { c.SlotSize, c.Segments = nil, []uint32{32, 32} }),
		with("recv add --cpus --allow", 13, func(c *ctl.ReceiverConfig) {
			c.CPUs = &[]uint32{0}
			c.Allow = &[]netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}
		}),
		with("recv add --pollers 2", 13, func(c *ctl.ReceiverConfig) { c.Pollers = u32(2) }),
	}
}

func TestAddOutOfMemory(t *testing.T) { onEachDevice(t, addOutOfMemory) }

func addOutOfMemory(t *testing.T, r *rig) {
	in := below(t, "rxpost_recv")
	r.walkCommands(in, r.addCommands())
	r.works()
}

// setCommands change one knob each, to and fro.
func (r *rig) setCommands() []command {
	flip := false
	either := func(a, b uint32) *uint32 {
		if flip = !flip; flip {
			return &a
		}
		return &b
	}
	set := func(name string, cfg func() ctl.ReceiverConfig) command {
		return command{"recv set --" + name, 1, func() error {
			c := cfg()
			c.Name = "r0"
			return r.ctl.Set(r.ctx, c)
		}, nil}
	}
	ms := func(n *uint32) *ctl.Milliseconds { return ptr(ctl.Milliseconds(*n)) }
	us := func(n *uint32) *ctl.Microseconds { return ptr(ctl.Microseconds(*n)) }
	rnr := []command{
		set("rnr-timer", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{RNRTimer: us(either(640, 1280))} }),
	}
	if r.device.iwarp {
		rnr = nil
	}
	return append(rnr, []command{
		set("depth", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{Depth: either(3, 4)} }),
		set("batch", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{Batch: either(1, 2)} }),
		set("batch-timeout", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{BatchTimeout: us(either(10, 20))} }),
		set("low-water", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{LowWater: either(1, 2)} }),
		set("poll", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{PollMode: ptr(ctl.PollMode(*either(0, 2)))} }),
		set("budget", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{Budget: either(8, 16)} }),
		set("spin", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{Spin: us(either(0, 50))} }),
		set("drain-timeout", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{DrainTimeout: ms(either(4000, 5000))} }),
		set("hold", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{Hold: us(either(0, 1))} }),
		set("idle-timeout", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{IdleTimeout: ms(either(0, 600_000))} }),
		set("cpus", func() ctl.ReceiverConfig { return ctl.ReceiverConfig{CPUs: &[]uint32{*either(0, 1)}} }),
		set("allow", func() ctl.ReceiverConfig {
			return ctl.ReceiverConfig{Allow: &[]netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}}
		}),
	}...)
}

// readCommands look at r0, which has a connection.
func (r *rig) readCommands() []command {
	read := func(name string, step int, do func() error) command { return command{name, step, do, nil} }
	return []command{
		read("recv show r0", 1, func() error { return errorOf(r.ctl.Receiver(r.ctx, "r0")) }),
		read("recv show", 0, func() error { return errorOf(r.ctl.Receivers(r.ctx)) }),
		read("conn show --conn", 1, func() error { return errorOf(r.ctl.Conn(r.ctx, "r0", 0)) }),
		read("conn show", 0, func() error { return errorOf(r.ctl.Conns(r.ctx, "")) }),
		read("stats r0", 1, func() error { return errorOf(r.ctl.Stats(r.ctx, "r0")) }),
		read("version", 1, func() error { return errorOf(r.ctl.Info(r.ctx)) }),
		read("monitor", 0, func() error {
			w, err := r.ctl.Watch(r.ctx)
			if err != nil {
				return err
			}
			return w.Close()
		}),
	}
}

// errorOf drops the answer.
func errorOf[T any](_ T, err error) error { return err }

func TestRequestsOutOfMemory(t *testing.T) { onEachDevice(t, requestsOutOfMemory) }

func requestsOutOfMemory(t *testing.T, r *rig) {
	in := below(t, "rxpost_recv")
	r.add(ctl.ReceiverConfig{Depth: u32(4), Batch: u32(2), SlotSize: u32(64), MaxConns: u32(2)})
	run := r.heldRuns(1, ctl.RunConfig{Count: ptr(uint64(10))})[0]
	r.othersGoOn(1, 0)
	r.walkCommands(in, r.readCommands())
	r.walkCommands(in, r.setCommands())
	r.release()
	if run, err := r.ctl.WaitRun(r.ctx, run.ID); err != nil || run.Err() != nil || run.Completed != 10 {
		t.Errorf("run %+v, error %v", run, err)
	}
	r.alone()
	r.deleteOutOfMemory(in)
	r.works()
}

// deleteOutOfMemory walks through the request to delete r0, which makes it anew
// after each time that it is gone.
func (r *rig) deleteOutOfMemory(in *injection) {
	r.t.Helper()
	gone := func() error {
		rcv, err := r.ctl.Receiver(r.ctx, "r0")
		if errors.Is(err, syscall.ENOENT) {
			return nil
		}
		return fmt.Errorf("receiver r0 is %v, error %w", rcv.State, err)
	}
	r.walk("recv del", 1, func(n int) (bool, error) {
		return in.own(n, func() error { return errorOf(r.ctl.DeleteNoWait(r.ctx, "r0")) })
	}, func(_ int, err error) {
		r.outOfMemory(err)
		if err != nil {
			if rcv := r.receiver(); rcv.State != ctl.ReceiverStateListening {
				r.t.Errorf("not deleted, and %v", rcv.State)
			}
			return
		}
		r.eventually("deleted", gone)
		r.atBaseline()
		r.add(ctl.ReceiverConfig{Depth: u32(4), SlotSize: u32(64), MaxConns: u32(2)})
	})
	r.deleteSoon()
}

// sendCommands are requests to the traffic source; run is one that is ready, and
// done one that is done.
func (r *rig) sendCommands(c *ctl.Client, ready uint32) []command {
	var id uint32
	start := func(cfg ctl.RunConfig) func() error {
		cfg.Addr = listenAddr
		return func() (err error) {
			id, err = c.StartRun(r.ctx, cfg)
			return err
		}
	}
	wait := func() {
		r.t.Helper()
		if run, err := c.WaitRun(r.ctx, id); err != nil || run.Err() != nil {
			r.t.Errorf("run %+v, error %v", run, err)
		}
	}
	return []command{
		{"send", 2, start(ctl.RunConfig{Count: ptr(uint64(1))}), wait},
		{"send: show one", 1, func() error { return errorOf(c.Run(r.ctx, ready)) }, nil},
		{"send: show all", 0, func() error { return errorOf(c.Runs(r.ctx)) }, nil},
		{"send: stop", 0, func() error { return c.StopRun(r.ctx, ready) }, nil},
	}
}

func TestSendOutOfMemory(t *testing.T) { onEachDevice(t, sendOutOfMemory) }

func sendOutOfMemory(t *testing.T, r *rig) {
	in := below(t, "rxpost_send")
	r.add(ctl.ReceiverConfig{Depth: u32(16), SlotSize: u32(64), MaxConns: u32(4)})
	ready := r.heldRuns(1, ctl.RunConfig{Count: ptr(uint64(1))})[0]
	commands := r.sendCommands(r.ctl, ready.ID)
	// The one that stops it changes what is there.
	r.walkCommands(in, commands[:3])
	r.walk("send: stop", 1, func(n int) (bool, error) { return in.own(n, commands[3].do) }, func(int, error) {})
	r.alone()
	r.deleteSoon()
	r.works()
}
