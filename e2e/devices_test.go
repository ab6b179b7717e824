package e2e

// This file owns which soft RDMA devices there are, what is true of each, and
// that every test says where it runs (rxe_only_test.go).

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
)

// device is a kind of soft RDMA device.
type device struct {
	kind string // as `rxctl link add --type` has it
	name string
	// iwarp: it sends over TCP. Then a message that finds no receive ends its
	// connection instead of waiting, and a send is complete when it is on its
	// way, whether it arrives or not.
	iwarp    bool
	segments int // of one receive, at the most
}

func rxe() device { return device{kind: "rxe", name: deviceName, segments: 32} }
func siw() device { return device{kind: "siw", name: "siw0", iwarp: true, segments: 6} }

const (
	// siwRate is how many messages a second a sender on siw sends if a test does
	// not care, and siwDepth how many of them can come while the poller is kept
	// off its CPU: nothing else holds the sender back.
	siwRate  = 1000
	siwDepth = 512
)

// devices are those that the kernel has a driver for. Debian's have none for siw.
func devices(t *testing.T) []device {
	t.Helper()
	if hasDriver(t, "siw") {
		return []device{rxe(), siw()}
	}
	return []device{rxe()}
}

func hasDriver(t *testing.T, name string) bool {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	modules, err := os.ReadFile(filepath.Join("/lib/modules", unix.ByteSliceToString(u.Release[:]), "modules.dep"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(modules), "/"+name+".ko")
}

// eachDevice runs a test once for each device.
func eachDevice(t *testing.T, test func(*testing.T, device)) {
	t.Helper()
	for _, d := range devices(t) {
		t.Run(d.kind, func(t *testing.T) { test(t, d) })
	}
}

// onEachDevice runs a test on a rig of each device.
func onEachDevice(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	eachDevice(t, func(t *testing.T, d device) { test(t, newRigOn(t, d)) })
}

// onSIW runs a test on siw where there is siw: on the kernels that are built
// for these tests, see TestKernelHasSIW.
func onSIW(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	for _, d := range devices(t) {
		if d.iwarp {
			test(t, newRigOn(t, d))
		}
	}
}

// What a kernel lacks is not tested there. That must not happen unnoticed.
func TestKernelHasSIW(t *testing.T) {
	kernel := os.Getenv("RXVM_KERNEL")
	built := []string{"debug", "kcsan", "next"} // from vm/config, with siw
	if slices.Contains(built, kernel) && len(devices(t)) != 2 {
		t.Errorf("kernel %s has no driver for siw", kernel)
	}
}

// paced is a run that the receiver keeps up with, where it must, and with no more
// under way than is sent in the time that a run gets to end in order. On a slow
// kernel a machine that does something else holds it up for seconds.
func (d device) paced(cfg ctl.RunConfig) ctl.RunConfig {
	if cfg.DrainTimeout == nil && instrumented() {
		cfg.DrainTimeout = minute
	}
	if !d.iwarp || cfg.RoundTrip {
		return cfg
	}
	if cfg.Rate == nil {
		rate := uint64(siwRate)
		if instrumented() {
			rate /= 4
		}
		cfg.Rate = &rate
	}
	if cfg.InFlight == nil {
		cfg.InFlight = ptr(uint32(4))
	}
	return cfg
}

// deep is a receiver with a queue that does not run empty, where it must not.
func (d device) deep(cfg ctl.ReceiverConfig) ctl.ReceiverConfig {
	if d.iwarp && (cfg.Depth == nil || *cfg.Depth < siwDepth) {
		cfg.Depth = ptr(uint32(siwDepth))
	}
	return cfg
}

// some is how many messages stand for n of them at full speed.
func (d device) some(n uint64) uint64 {
	if d.iwarp {
		return n / 5
	}
	return n
}

// removed is what a run says whose device was taken away.
func (d device) removed() string { return "device " + d.name + " was removed" }

// leaves is what a receiver says of a peer that left.
func (d device) leaves() string {
	if d.iwarp {
		return "closed by the peer, or by iWARP since a message found no receive"
	}
	return "the peer disconnected"
}
