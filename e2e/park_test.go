package e2e

// This file owns the devices that a test leaves for the next: on a kernel that
// watches every access (instrumented), to make and to remove one takes longer than
// most tests do.

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/rxpost/rxpost/internal/rdma"
)

// parkedName is what the netdev below a parked device is called, which is down and
// has no address: each kind of device has one.
func parkedName(d device) string { return "parked-" + d.kind }

// park leaves the rig's device and netdev for another test, if this one left both
// and found nothing wrong.
func (r *rig) park() {
	r.t.Helper()
	if !instrumented() || r.t.Failed() || r.resources() == nil {
		return
	}
	link, err := netlink.LinkByName(netdevName)
	if err != nil {
		r.t.Error(err)
		return
	}
	addr, err := netlink.ParseAddr(listenAddr.Addr().String() + "/24")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(netlink.AddrDel(link, addr), netlink.LinkSetDown(link),
		netlink.LinkSetName(link, parkedName(r.device))); err != nil {
		r.t.Error(err)
		return
	}
	r.parked = true
}

// takeOver makes a parked device the rig's, if there is one.
func (r *rig) takeOver() bool {
	r.t.Helper()
	link, err := netlink.LinkByName(parkedName(r.device))
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return false
	}
	if err == nil {
		err = netlink.LinkSetName(link, netdevName)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.deleteNetdevLast()
	r.deleteDeviceLast()
	r.connect(link)
	return true
}

// noneParked removes what is parked, for a test that wants no other device.
func noneParked(t *testing.T) {
	t.Helper()
	for _, d := range devices(t) {
		link, err := netlink.LinkByName(parkedName(d))
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			continue
		}
		if err := errors.Join(err, rdma.Host().Delete(d.name), netlink.LinkDel(link)); err != nil {
			t.Fatal(err)
		}
	}
}
