package e2e

// This file owns the rig: a fresh soft RDMA device for each test, and the proof
// afterwards that the test left nothing on it.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

const (
	netdevName = "rxnet0"
	deviceName = "rxe0"
)

var listenAddr = netip.MustParseAddrPort("10.9.0.1:7471")

// rig is one test's device, client and deadline.
type rig struct {
	device
	t        *testing.T
	ctx      context.Context
	ctl      *ctl.Client
	baseline map[string]uint64
	parked   bool // the device is left for another test
}

// newRig is newRigOn for rxe.
func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOn(t, rxe())
}

// newRigOn loads the modules, makes a netdev with an address and a device on it, or
// takes over what a test before has parked (park_test.go). When the test ends, its
// receivers must be gone, the device's RDMA resources must be what they were, and
// nothing may be mapped or allocated.
func newRigOn(t *testing.T, d device) *rig {
	t.Helper()
	r := &rig{device: d, t: t}
	for _, module := range []string{"rxpost_recv", "rxpost_send"} {
		if !loaded(module) {
			modprobe(t, module)
		}
	}

	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(t.Context(), testTime)
	t.Cleanup(cancel)
	c, err := ctl.New()
	if err != nil {
		t.Fatal(err)
	}
	r.ctl = c
	if !r.takeOver() {
		r.addNetdev()
		r.addDevice()
	}
	r.baseline = r.resources()
	// Runs before the clean-ups above: last in, first out.
	t.Cleanup(r.finish)
	return r
}

func (r *rig) addNetdev() {
	r.t.Helper()
	link := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: netdevName}}
	if err := netlink.LinkAdd(link); err != nil {
		r.t.Fatalf("add %s: %v", netdevName, err)
	}
	r.deleteNetdevLast()
	r.connect(link)
}

func (r *rig) deleteNetdevLast() {
	r.t.Cleanup(func() {
		if r.parked {
			return
		}
		if err := netlink.LinkDel(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: netdevName}}); err != nil {
			r.t.Errorf("delete %s: %v", netdevName, err)
		}
	})
}

// connect gives the netdev the rig's address.
func (r *rig) connect(link netlink.Link) {
	r.t.Helper()
	addr, err := netlink.ParseAddr(listenAddr.Addr().String() + "/24")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := netlink.AddrAdd(link, addr); err != nil {
		r.t.Fatalf("give %s an address: %v", netdevName, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		r.t.Fatalf("set %s up: %v", netdevName, err)
	}
}

// addDevice makes the rig's device. A test that deleted it need not make it again.
func (r *rig) addDevice() {
	r.t.Helper()
	if err := rdma.Host().Add(r.device.name, r.device.kind, netdevName); err != nil {
		r.t.Fatal(err)
	}
	r.deleteDeviceLast()
}

func (r *rig) deleteDeviceLast() {
	name := r.device.name
	r.t.Cleanup(func() {
		if r.parked {
			return
		}
		err := rdma.Host().Delete(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.t.Error(err)
		}
	})
}

// resources counts what exists on the device: PDs, CQs, QPs, MRs, CM ids.
func (r *rig) resources() map[string]uint64 {
	r.t.Helper()
	devices, err := rdma.Host().List()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range devices {
		if d.Name == r.device.name {
			return d.Resources
		}
	}
	return nil
}

// finish asserts that the test left nothing behind.
func (r *rig) finish() {
	r.t.Helper()
	// Closing the socket stops what runs the test left; they end in order.
	if err := r.ctl.Close(); err != nil {
		r.t.Error(err)
	}
	c, err := ctl.New()
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	if loaded("rxpost_recv") {
		ctx, cancel := context.WithTimeout(context.Background(), settleTime)
		defer cancel()
		r.leftNothing(ctx, c)
	}
	r.park()
}

func (r *rig) leftNothing(ctx context.Context, c *ctl.Client) {
	r.t.Helper()
	receivers, err := c.Receivers(ctx)
	if err != nil {
		r.t.Error(err)
	}
	for _, left := range receivers {
		r.t.Errorf("receiver %s was left behind", left.Name)
		if _, err := c.Delete(ctx, left.Name); err != nil {
			r.t.Error(err)
		}
	}
	info, err := c.Info(ctx)
	if err != nil {
		r.t.Error(err)
	}
	if info.Mappings != 0 || info.Memory != 0 {
		r.t.Errorf("left behind: %d mappings, %d bytes of slots",
			info.Mappings, info.Memory)
	}
	r.atBaseline()
}

// atBaseline waits until the device's RDMA resources are what they were.
func (r *rig) atBaseline() {
	r.t.Helper()
	if r.resources() == nil {
		return // the test removed the device, and with it everything on it
	}
	r.eventually("RDMA resources at the baseline", func() error {
		if diff := cmp.Diff(r.baseline, r.resources()); diff != "" {
			return fmt.Errorf("(-baseline +now):\n%s", diff)
		}
		return nil
	})
}

// eventually waits until check finds nothing wrong, for settleTime at the most.
// It is for what the kernel ends on its own time and sends no event about.
// It returns whether that came about.
func (r *rig) eventually(what string, check func() error) bool {
	r.t.Helper()
	deadline := time.After(settleTime)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return true
		}
		select {
		case <-deadline:
			logStacks(r.t)
			r.t.Errorf("not in %v: %s: %v", settleTime, what, err)
			return false
		case <-tick.C:
		}
	}
}

// add makes receiver r0 on the rig's address.
func (r *rig) add(cfg ctl.ReceiverConfig) ctl.Receiver {
	r.t.Helper()
	cfg.Name = "r0"
	cfg.Addr = listenAddr
	rcv, err := r.ctl.Add(r.ctx, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return rcv
}

// delete deletes receiver r0 and checks its last ledger: balanced, nothing
// outstanding, no mapping left.
func (r *rig) delete() ctl.Ledger {
	r.t.Helper()
	ev, err := r.ctl.Delete(r.ctx, "r0")
	if err != nil {
		r.t.Fatal(err)
	}
	if ev.Ledger == nil {
		r.t.Fatal("the receiver-gone event was lost")
	}
	if err := ev.Ledger.Balanced(); err != nil {
		r.t.Error(err)
	}
	if ev.Ledger.Outstanding != 0 || ev.Ledger.Slots != 0 {
		r.t.Errorf("left in the ledger: %+v", *ev.Ledger)
	}
	if ev.Mappings == nil {
		r.t.Error("the event does not say how many mappings are left")
	} else if *ev.Mappings != 0 {
		r.t.Errorf("mappings left: %d", *ev.Mappings)
	}
	return *ev.Ledger
}

// start starts a run against the rig's address, as fast as the device may.
func (r *rig) start(cfg ctl.RunConfig) uint32 {
	r.t.Helper()
	if r.iwarp && cfg.RoundTrip && !cfg.Hold {
		return r.startLive(cfg) // nothing more is sent until the first is answered
	}
	cfg.Addr = listenAddr
	id, err := r.ctl.StartRun(r.ctx, r.paced(cfg))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// startLive starts a run and lets it send once its connection is live: before,
// siw may leave a message alone unread (docs/known-issues.md), and the CM lets a
// peer write.
func (r *rig) startLive(cfg ctl.RunConfig) uint32 {
	r.t.Helper()
	live := func() int {
		return countIf(r.conns(), func(c ctl.Conn) bool { return c.State == ctl.ConnStateLive })
	}
	before := live()
	cfg.Hold = true
	id := r.start(cfg)
	r.await("the connection is live", func() bool { return live() == before+1 })
	if err := r.ctl.ReleaseRuns(r.ctx); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// send sends Count messages and fails the test unless all were completed.
func (r *rig) send(cfg ctl.RunConfig) ctl.Run {
	r.t.Helper()
	run, err := r.ctl.WaitRun(r.ctx, r.start(cfg))
	if err != nil {
		r.t.Fatal(err)
	}
	if run.Err() != nil || run.Completed != *cfg.Count {
		r.t.Fatalf("sent %d of %d: %v", run.Completed, *cfg.Count, run.Err())
	}
	return run
}

// receiver reads receiver r0, whose ledger must balance in every reading.
func (r *rig) receiver() ctl.Receiver {
	r.t.Helper()
	rcv, err := r.ctl.Receiver(r.ctx, "r0")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := rcv.Ledger.Balanced(); err != nil {
		r.t.Error(err)
	}
	return rcv
}

// faultDir has the fault points of rxpost_recv.
const faultDir = "/sys/kernel/debug/rxpost_recv/fault/"

// fault arms a fault point of rxpost_recv; it is disarmed when the test ends.
func (r *rig) fault(name string, value int) {
	r.t.Helper()
	file := faultDir + name
	if err := os.WriteFile(file, fmt.Appendln(nil, value), 0); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := os.WriteFile(file, []byte("0\n"), 0); err != nil {
			r.t.Error(err)
		}
	})
}

func ptr[T any](v T) *T { return &v }
