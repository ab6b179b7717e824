// This file tests devices against a fake netlink library and a fake sysfs.

package rdma

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// fakeLinks is a kernel with the devices that it holds.
type fakeLinks struct {
	list    []*netlink.RdmaLink
	err     error // of Add and RemoveIndex
	deleted uint32
	forgets bool // somebody else removes all just before RemoveIndex
	// The device that goes when its successor should be given, if there is one:
	// the successor is then left out, as the kernel does.
	goes []uint32
}

func (f *fakeLinks) RdmaLinkAdd(_, _, _ string) error { return f.err }

func (f *fakeLinks) RemoveIndex(index uint32) error {
	f.deleted = index
	if f.forgets {
		f.list = nil
	}
	return f.err
}

func (f *fakeLinks) RdmaLinkList() ([]*netlink.RdmaLink, error) {
	var given []*netlink.RdmaLink
	for position := 0; position < len(f.list); position++ {
		l := f.list[position]
		given = append(given, l)
		if len(f.goes) > 0 && l.Attrs.Index == f.goes[0] {
			f.list = slices.Delete(slices.Clone(f.list), position, position+1)
			f.goes = f.goes[1:]
		}
	}
	return given, nil
}

func (f *fakeLinks) RdmaResourceList() ([]*netlink.RdmaResource, error) {
	return []*netlink.RdmaResource{{Index: 3, Name: "rxe0", RdmaResourceSummaryEntries: map[string]uint64{"qp": 1}}}, nil
}

// fakeHost has device rxe0, complete, and device bare, without anything in sysfs.
func fakeHost() (*Devices, *fakeLinks) {
	f := &fakeLinks{list: []*netlink.RdmaLink{
		{Attrs: netlink.RdmaLinkAttrs{Index: 3, Name: "rxe0"}},
		{Attrs: netlink.RdmaLinkAttrs{Index: 4, Name: "bare"}},
	}}
	sys := fstest.MapFS{}
	for path, text := range map[string]string{
		"node_guid": "5054:00ff:fe12:3456\n", "ports/1/state": "4: ACTIVE\n", "ports/1/gid_attrs/ndevs/0": "eth0\n",
		"ports/1/hw_counters/send_rnr_err": "47\n", "ports/1/hw_counters/lifespan": "soon\n",
	} {
		sys["rxe0/"+path] = &fstest.MapFile{Data: []byte(text)}
	}
	return &Devices{sys: sys, links: f}, f
}

func TestList(t *testing.T) {
	d, _ := fakeHost()
	got, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	want := []Device{
		{Name: "rxe0", Index: 3, State: "ACTIVE", Netdev: "eth0", NodeGUID: "5054:00ff:fe12:3456", Resources: map[string]uint64{"qp": 1}},
		{Name: "bare", Index: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestAddErrors(t *testing.T) {
	tests := []struct {
		errno syscall.Errno
		is    error
		want  string
	}{
		{syscall.ENODEV, os.ErrNotExist, "there is no network device eth9"},
		{syscall.EPERM, os.ErrPermission, "CAP_NET_ADMIN, and no VLAN"},
		{syscall.EEXIST, os.ErrExist, "there is a device rxe0"},
		{syscall.EINVAL, syscall.EINVAL, `no driver "rxe"`},
	}
	for _, tt := range tests {
		d, f := fakeHost()
		f.err = tt.errno
		err := d.Add("rxe0", "rxe", "eth9")
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v became %q, want %q", tt.errno, err, tt.want)
		}
	}
}

func TestDelete(t *testing.T) {
	d, f := fakeHost()
	if err := d.Delete("rxe0"); err != nil || f.deleted != 3 {
		t.Errorf("deleted device %d, error %v", f.deleted, err)
	}
	if err := d.Delete("rxe7"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device that is not there: %v, want os.ErrNotExist", err)
	}
	f.err = syscall.EPERM
	if err := d.Delete("rxe0"); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "CAP_NET_ADMIN") {
		t.Errorf("without privilege: %v", err)
	}
	f.err = syscall.EINVAL
	if err := d.Delete("rxe0"); err == nil || !strings.Contains(err.Error(), "no soft device") {
		t.Errorf("a device of hardware: %v", err)
	}
}

// A device that goes while devices are listed hides no other one, and whoever
// removes what just went hears that it is not there.
func TestDeviceGoesMeanwhile(t *testing.T) {
	d, f := fakeHost()
	f.goes = []uint32{3}
	got, err := d.List()
	if diff := cmp.Diff([]Device{{Name: "bare", Index: 4}}, got); diff != "" || err != nil {
		t.Errorf("error %v, devices (-want +got):\n%s", err, diff)
	}
	d, f = fakeHost()
	f.goes = []uint32{3}
	if err := d.Delete("bare"); err != nil || f.deleted != 4 {
		t.Errorf("deleted device %d, error %v", f.deleted, err)
	}
	f.err, f.forgets = syscall.EINVAL, true
	if err := d.Delete("bare"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device that somebody else removed: %v, want os.ErrNotExist", err)
	}
}

func TestCounters(t *testing.T) {
	d, _ := fakeHost()
	got, err := d.Counters("rxe0")
	if diff := cmp.Diff(map[string]uint64{"send_rnr_err": 47}, got); diff != "" || err != nil {
		t.Errorf("error %v, counters (-want +got):\n%s", err, diff)
	}
	if _, err := d.Counters("bare"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device without counters: %v, want os.ErrNotExist", err)
	}
}
