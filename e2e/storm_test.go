package e2e

// This file owns storms: device, netdev and modules are removed under traffic, in
// a loop, while others (actor_test.go) do whatever rxctl could do. After every so
// many removals all stops, and the books must balance and nothing be left.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

const (
	// removalsAWave is how many removals there are between two checks.
	removalsAWave = 5
	stormRuns     = 2 // under traffic at each removal
)

// storm is what removals and actors share.
type storm struct {
	r       *rig
	log     kernelLog
	dice    *rand.Rand
	netdev  int // its number, which a new one takes again
	removed map[string]int
	cycles  atomic.Int64 // connections and receivers that ended
}

// removal takes something away from under traffic. It returns false if that is in
// use by others than us, and stays.
type removal struct {
	name   string
	remove func(*storm) bool
	// How the runs of the steady traffic may end; none for one whose end nobody
	// is left to tell.
	ends []string
}

const (
	deviceLeft = "device rxe0 was removed"
	netChanged = "the network below device rxe0 changed"
	// rxe moves a QP to ERR when it has no way to send any more: the send that
	// found none is the first to fail (rxe_req.c, rxe_requester()).
	noWay   = `a send failed with "WR flushed": the connection was lost`
	noRoute = `a send failed with "local QP operation error"`
)

func removals() []removal {
	all := []removal{
		{"device", (*storm).removeDevice, []string{peerLeft, deviceLeft}},
		{"receiver's module", func(s *storm) bool { return s.unload("rxpost_recv") }, []string{peerLeft}},
		{"sender's module", func(s *storm) bool { return s.unload("rxpost_send") }, nil},
		{"driver", func(s *storm) bool { return s.unload("rdma_rxe") }, []string{peerLeft, deviceLeft}},
	}
	if !netdevStays() {
		all = append(all, removal{"netdev", (*storm).removeNetdev,
			[]string{peerLeft, deviceLeft, netChanged, noWay, noRoute}})
	}
	return all
}

// netdevStays says whether the netdev is not removed here: rxe of 6.1 loses the
// disconnects of several connections whose netdev goes, whoever they belong to,
// and they wait for those for good (docs/known-issues.md).
func netdevStays() bool { return os.Getenv("RXVM_KERNEL") == "6.1" }

func TestStorm(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Fatal("a storm wants two CPUs: rxvm --smp 2")
	}
	r := newRig(t)
	link, err := netlink.LinkByName(netdevName)
	if err != nil {
		t.Fatal(err)
	}
	s := &storm{r: r, log: newKernelLog(t), dice: dice(t), netdev: link.Attrs().Index, removed: map[string]int{}}
	for end := time.Now().Add(lasting(20 * time.Second)); time.Now().Before(end); {
		s.wave()
	}
	if netdevStays() {
		t.Log("the netdev was left alone: rxe of 6.1 does not survive that (docs/known-issues.md)")
	}
	total := 0
	for name, n := range s.removed {
		t.Logf("%4d %s", n, name)
		total += n
	}
	figure(t, "removals under traffic", total)
	figure(t, "teardown cycles", int(s.cycles.Load()))
	if total == 0 {
		t.Error("nothing was removed")
	}
}

// wave is some removals among actors, and then the quiet in which to look.
func (s *storm) wave() {
	s.r.t.Helper()
	// A deadline of its own: a soak has many.
	ctx, cancel := context.WithTimeout(s.r.t.Context(), testTime)
	defer cancel()
	s.r.ctx = ctx
	stop := make(chan struct{})
	g, ctx := errgroup.WithContext(ctx)
	for _, deeds := range casts() {
		a := &actor{s: s, ctx: ctx, dice: rand.New(rand.NewPCG(s.dice.Uint64(), 0)), deeds: deeds}
		g.Go(func() error { return a.act(stop) })
	}
	for range removalsAWave {
		if ctx.Err() != nil {
			break // an actor failed, and says so below
		}
		s.remove(removals()[s.dice.IntN(len(removals()))])
	}
	close(stop)
	bounded(s.r.t, "the actors' end", settleTime, g.Wait)
	s.quiet()
}

// remove removes one thing under traffic and puts it back.
func (s *storm) remove(what removal) {
	t := s.r.t
	t.Helper()
	began := time.Now()
	s.steady()
	listening := time.Since(began)
	tr := s.r.launch(stormRuns, ctl.RunConfig{})
	s.r.flowing(stormRuns)
	flowing := time.Since(began)
	if what.remove(s) {
		s.removed[what.name]++
	} else {
		what.ends = nil
	}
	gone := time.Since(began)
	if what.ends == nil {
		tr.vanish()
	} else {
		tr.ended(what.ends...)
	}
	s.cycles.Add(stormRuns)
	ended := time.Since(began)
	s.restore()
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	t.Logf("%s: listened after %v, traffic %v, gone %v, runs ended %v, back %v", what.name,
		round(listening), round(flowing), round(gone), round(ended), round(time.Since(began)))
}

// steady waits until r0 listens and nobody is left of the runs before, whose
// connections would be taken for those of the next. It makes r0 if that went with
// its module.
func (s *storm) steady() {
	s.r.t.Helper()
	cfg := ctl.ReceiverConfig{Name: "r0", Addr: listenAddr, Depth: u32(smallDepth), SlotSize: u32(smallSlot),
		MaxConns: u32(8), Sink: ptr(ctl.SinkVerify), DrainTimeout: minute}
	s.r.must("r0 listens", func() error {
		rcv, err := s.r.ctl.Receiver(s.r.ctx, "r0")
		if errors.Is(err, os.ErrNotExist) {
			rcv, err = s.r.ctl.Add(s.r.ctx, cfg)
		}
		if err == nil && (rcv.State != ctl.ReceiverStateListening || rcv.Conns != 0) {
			err = fmt.Errorf("it is %v, with %d connections", rcv.State, rcv.Conns)
		}
		return err
	})
}

// removeDevice returns when the device is gone.
func (s *storm) removeDevice() bool {
	s.bounded("link del", func() error { return rdma.Host().Delete(deviceName) })
	return true
}

// removeNetdev takes the netdev away, and the device above with it.
func (s *storm) removeNetdev() bool {
	s.bounded("netdev del", func() error {
		return netlink.LinkDel(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: netdevName}})
	})
	return true
}

// unload unloads a module. A program that has the driver's device open keeps the
// driver, and a request that is being answered its family's module.
func (s *storm) unload(module string) bool {
	var err error
	s.bounded("rmmod "+module, func() error {
		err = unix.DeleteModule(module, unix.O_NONBLOCK)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil
		}
		return err
	})
	return err == nil
}

// bounded is the function of that name, without a line for each success.
func (s *storm) bounded(what string, do func() error) {
	s.r.t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			s.r.t.Fatalf("%s: %v", what, err)
		}
	case <-time.After(slack):
		logStacks(s.r.t)
		s.r.t.Fatalf("%s: not done in %v", what, slack)
	}
}

// restore puts back what is missing, whatever took it away.
func (s *storm) restore() {
	t := s.r.t
	t.Helper()
	for _, module := range []string{"rdma_rxe", "rxpost_recv", "rxpost_send"} {
		if !loaded(module) { // or being unloaded, and loaded again by who asks next
			modprobe(t, module)
		}
	}
	if _, err := netlink.LinkByName(netdevName); errors.As(err, new(netlink.LinkNotFoundError)) {
		// Its device goes after it, in a work item.
		s.r.must("no device without netdev", func() error {
			if _, err := os.Stat("/sys/class/infiniband/" + deviceName); !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("%s is there: %w", deviceName, err)
			}
			return nil
		})
		plugNetdev(t, s.netdev)
	} else if err != nil {
		t.Fatal(err)
	}
	if s.r.resources() != nil {
		return
	}
	// A device keeps its name for a moment after it was last seen (6.1 device.c:1496,
	// device_del() long before xa_erase()).
	s.r.must("the device's name is free", func() error {
		err := rdma.Host().Add(deviceName, "rxe", netdevName)
		if err != nil && !errors.Is(err, unix.ENFILE) {
			t.Fatal(err)
		}
		return err
	})
}

// plugNetdev makes the rig's netdev again, under its former number.
func plugNetdev(t *testing.T, index int) {
	t.Helper()
	link := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: netdevName, Index: index}}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatalf("add %s: %v", netdevName, err)
	}
	addr, err := netlink.ParseAddr(listenAddr.Addr().String() + "/24")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(netlink.AddrAdd(link, addr), netlink.LinkSetUp(link)); err != nil {
		t.Fatalf("%s: %v", netdevName, err)
	}
}

// quiet deletes what is left and checks that with it everything has ended.
func (s *storm) quiet() {
	r := s.r
	r.t.Helper()
	r.runsGone()
	receivers, err := r.ctl.Receivers(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, rcv := range receivers {
		s.goes(rcv.Name)
	}
	r.leftNothing(r.ctx, r.ctl)
	r.must("no thread of the modules", func() error {
		if left := moduleThreads(); len(left) != 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
	if lines := s.log.lines("rxpost_recv: "); len(lines) != 0 {
		r.t.Errorf("the kernel says %q", lines)
	}
	if r.t.Failed() {
		r.t.FailNow() // the next wave would only bury it
	}
}

// goes deletes a receiver, or waits for the end of one that an actor deleted, and
// checks its last books.
func (s *storm) goes(name string) {
	t := s.r.t
	t.Helper()
	ev, err := s.r.ctl.Delete(s.r.ctx, name)
	if errors.Is(err, unix.EBUSY) {
		s.r.must("the end of "+name, func() error {
			_, err := s.r.ctl.Receiver(s.r.ctx, name)
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
		return
	}
	if errors.Is(err, os.ErrNotExist) {
		return // its deletion had ended just now
	}
	if err != nil {
		t.Fatal(err)
	}
	s.cycles.Add(1)
	if err := lastBooks(ev); err != nil {
		t.Error(err)
	}
}

// lastBooks checks the books of a receiver that is gone. An event that was lost
// has none.
func lastBooks(ev ctl.Event) error {
	if ev.Ledger == nil {
		return nil
	}
	if err := ev.Ledger.Balanced(); err != nil {
		return err
	}
	if ev.Ledger.Outstanding != 0 || ev.Ledger.Slots != 0 || ev.Ledger.Reclaimed != 0 || ev.Mappings == nil || *ev.Mappings != 0 {
		return fmt.Errorf("receiver %s is gone with ledger %+v, mappings %v", ev.ReceiverName, *ev.Ledger, ev.Mappings)
	}
	return nil
}

// moduleThreads are those of receivers, pollers and runs.
func moduleThreads() []string {
	var names []string
	comms, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is right
	for _, file := range comms {
		comm, _ := os.ReadFile(file) // it may end at any time
		name := strings.TrimSpace(string(comm))
		if moduleThread(name) {
			names = append(names, name)
		}
	}
	return names
}

func moduleThread(name string) bool {
	return strings.HasPrefix(name, "rxps/") || strings.HasPrefix(name, "rxpost_")
}
