package e2e

// This file owns the device that goes and comes back.

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// unplug removes the device and checks what r0 says of it.
func (r *rig) unplug(events listen) {
	r.t.Helper()
	bounded(r.t, "link del", slack, func() error { return rdma.Host().Delete(r.device.name) })
	events.next(ctl.EventTypeDeviceGone)
	if rcv := r.receiver(); rcv.State != ctl.ReceiverStateNoDevice || rcv.Conns != 0 || rcv.Memory != 0 || len(rcv.PollerPIDs) != 0 {
		r.t.Errorf("receiver without a device: %+v", rcv)
	}
}

// The receiver listens again, with its configuration and its totals.
func TestDeviceComesBack(t *testing.T) { onEachDevice(t, deviceComesBack) }

func deviceComesBack(t *testing.T, r *rig) {
	events := r.listen()
	count := r.some(500)
	r.add(r.deep(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify), Pollers: u32(2), Depth: u32(64)}))
	for i := range uint64(min(rounds, 5)) {
		r.send(ctl.RunConfig{Count: ptr(uint64(count))})
		flow := r.flow(2)
		r.unplug(events)
		flow.ended(peerLeft, r.removed())
		before := r.receiver()
		if before.Counters.Accepted != 3*(i+1) {
			t.Errorf("accepted: %d", before.Counters.Accepted)
		}
		// What is changed meanwhile holds afterwards.
		r.set(ctl.ReceiverConfig{Batch: u32(uint32(8 + i))})
		r.addDevice()
		if ev := events.next(ctl.EventTypeDeviceBack); ev.Reason != "listening on 10.9.0.1:7471 again" || ev.Device != r.device.name {
			t.Errorf("event: %+v", ev)
		}
		after := r.receiver()
		if after.State != ctl.ReceiverStateListening || after.Batch != uint32(8+i) || len(after.PollerPIDs) != 2 ||
			after.Ledger.Posted != before.Ledger.Posted || after.Counters.Verified != before.Counters.Verified {
			t.Errorf("before: %+v\nafter: %+v", before, after)
		}
	}
	r.baseline = nil // of a device that is gone; the new one is checked empty
	r.send(ctl.RunConfig{Count: ptr(uint64(count))})
	r.deleteSoon()
	r.baseline = r.resources()
}

// The device is back first, its address only later; the receiver waits for it.
func TestAddressComesBackLater(t *testing.T) { onEachDevice(t, addressComesBackLater) }

func addressComesBackLater(t *testing.T, r *rig) {
	events := r.listen()
	r.add(ctl.ReceiverConfig{})
	link, err := netlink.LinkByName(netdevName)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := netlink.ParseAddr(listenAddr.Addr().String() + "/24")
	if err != nil {
		t.Fatal(err)
	}
	r.unplug(events)
	if err := netlink.AddrDel(link, addr); err != nil {
		t.Fatal(err)
	}
	r.addDevice()
	if rcv := r.receiver(); rcv.State != ctl.ReceiverStateNoDevice {
		t.Errorf("listens without its address: %+v", rcv)
	}
	if err := netlink.AddrAdd(link, addr); err != nil {
		t.Fatal(err)
	}
	events.next(ctl.EventTypeDeviceBack)
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}

// A receiver that waits for its device can be deleted, and its address is then
// free for the next.
func TestDeleteWithoutDevice(t *testing.T) { onEachDevice(t, deleteWithoutDevice) }

func deleteWithoutDevice(t *testing.T, r *rig) {
	events := r.listen()
	r.add(ctl.ReceiverConfig{})
	r.unplug(events)
	r.deleteSoon()
	r.addDevice()
	r.add(ctl.ReceiverConfig{})
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}

// plugRepeatedly makes a soft device on a netdev of its own and removes it, again
// and again.
func plugRepeatedly(t *testing.T, device, netdev string, times int) error {
	t.Helper()
	link := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: netdev}}
	if err := netlink.LinkAdd(link); err != nil {
		return err
	}
	defer func() {
		if err := netlink.LinkDel(link); err != nil {
			t.Error(err)
		}
	}()
	for range times {
		if err := rdma.Host().Add(device, "rxe", netdev); err != nil {
			return err
		}
		if err := rdma.Host().Delete(device); err != nil {
			return err
		}
	}
	return nil
}

// A device that stays is in every list, whatever goes meanwhile. The kernel gives
// the list in pieces, and a device that goes between two of them takes another's
// place in it along.
func TestListWhileDevicesGo(t *testing.T) {
	r := newRig(t)
	lists := 0
	for range rounds {
		// Of a higher number than what goes: that is who would be left out.
		goes := extraDevice(t, 8)
		stays := extraDevice(t, 9)
		gone := make(chan error, 1)
		go func() { gone <- rdma.Host().Delete(goes.device) }()
		for listing := true; listing; lists++ {
			select {
			case err := <-gone:
				if err != nil {
					t.Fatal(err)
				}
				listing = false
			default:
			}
			devices, err := rdma.Host().List()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(devices, func(d rdma.Device) bool { return d.Name == stays.device && d.Resources != nil }) {
				t.Fatalf("%s is not in %+v", stays.device, devices)
			}
		}
		if err := rdma.Host().Delete(stays.device); err != nil {
			t.Fatal(err)
		}
		goes.unplug(t)
		stays.unplug(t)
	}
	t.Logf("%d lists", lists)
	r.atBaseline()
}

// extra is a soft device beside the rig's, on a netdev of its own.
type extra struct{ device, netdev string }

// extraDevice makes one.
func extraDevice(t *testing.T, n int) extra {
	t.Helper()
	e := extra{fmt.Sprint("rxe", n), fmt.Sprint("rxnet", n)}
	link := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: e.netdev}}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatalf("add %s: %v", e.netdev, err)
	}
	if err := rdma.Host().Add(e.device, "rxe", e.netdev); err != nil {
		t.Fatal(err)
	}
	return e
}

// unplug removes the netdev, of which the device is gone.
func (e extra) unplug(t *testing.T) {
	t.Helper()
	if err := netlink.LinkDel(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: e.netdev}}); err != nil {
		t.Fatalf("delete %s: %v", e.netdev, err)
	}
}

// Devices come and go while receivers ask for devices: the core's locks and ours
// are taken by both.
func TestDevicesComeWhileReceiversAreRefused(t *testing.T) {
	r := newRig(t)
	plugs := min(rounds, 40)
	if instrumented() {
		plugs = 1 // lockdep needs to see an order of locks only once
	}
	bounded(t, "devices and receivers", 2*settleTime, func() error {
		var g errgroup.Group
		for i := range 2 {
			g.Go(func() error {
				return plugRepeatedly(t, fmt.Sprint("rxe", 8+i), fmt.Sprint("rxnet", 8+i), plugs)
			})
		}
		plugged := make(chan error, 1)
		go func() { plugged <- g.Wait() }()
		for {
			select {
			case err := <-plugged:
				return err
			default:
			}
			_, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: "r7", Addr: listenAddr, Device: "rxe7"})
			if !errors.Is(err, syscall.EINVAL) {
				return fmt.Errorf("a receiver on another device than its address: %w", err)
			}
		}
	})
	r.add(ctl.ReceiverConfig{})
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}
