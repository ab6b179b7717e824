package e2e

// This file owns the fuzzing of both families: what goes on at the same time, and
// what must be true in the end. Nothing that is sent may break what a bystander
// has: traffic, a dump, a reading that adds up.

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rxpost/rxpost/ctl"
)

const (
	crowdPort  = 9000
	crowdConns = 16 // receivers of the crowd that have connections
	fuzzMemory = "64"
)

// bystanders are receivers that nobody touches: they make dumps long.
type bystanders struct {
	names []string
	conns int
}

// fuzzCrowd makes receivers, some of them with a connection that sends nothing.
func (r *rig) fuzzCrowd(n int) bystanders {
	r.t.Helper()
	var c bystanders
	for i := range n {
		cfg := ctl.ReceiverConfig{Name: fmt.Sprintf("crowd%03d", i), Addr: netip.AddrPortFrom(listenAddr.Addr(), uint16(crowdPort+i)),
			Depth: u32(2), SlotSize: u32(64), MaxConns: u32(2), DrainTimeout: minute}
		if _, err := r.ctl.Add(r.ctx, cfg); err != nil {
			r.t.Fatal(err)
		}
		c.names = append(c.names, cfg.Name)
		if i < crowdConns {
			if _, err := r.ctl.StartRun(r.ctx, ctl.RunConfig{Addr: cfg.Addr, Hold: true}); err != nil {
				r.t.Fatal(err)
			}
			c.conns++
		}
	}
	r.must("connections of the crowd", func() error {
		runs, err := r.ctl.Runs(r.ctx)
		if ready := countIf(runs, func(run ctl.Run) bool { return run.State == ctl.RunStateReady }); err == nil && ready != c.conns {
			err = fmt.Errorf("%d of %d are ready", ready, c.conns)
		}
		return err
	})
	return c
}

func countIf[T any](all []T, is func(T) bool) (n int) {
	for _, v := range all {
		if is(v) {
			n++
		}
	}
	return n
}

// watch reads everything and breaks off a dump, by turns, until the context ends.
// It returns how many dumps it broke off.
func (c bystanders) watch(ctx context.Context, f *fuzzer) (made int, err error) {
	client, err := ctl.New()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	dumps := allDumps(f.families)
	for ctx.Err() == nil {
		if err := c.look(ctx, client); err != nil && ctx.Err() == nil {
			return made, err
		}
		n, err := breakOff(f, dumps, slack)
		if made += n; err != nil {
			return made, fmt.Errorf("a dump that is broken off: %w", err)
		}
	}
	return made, nil
}

// look reads everything: each dump has all bystanders, once; every ledger
// balances; the bound of memory holds.
func (c bystanders) look(ctx context.Context, client *ctl.Client) error {
	receivers, err := client.Receivers(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range receivers {
		if err := r.Ledger.Balanced(); err != nil {
			return fmt.Errorf("receiver %s: %w", r.Name, err)
		}
		names = append(names, r.Name)
	}
	if err := c.whole(names); err != nil {
		return err
	}
	conns, err := client.Conns(ctx, "")
	if err != nil {
		return err
	}
	held := countIf(conns, func(conn ctl.Conn) bool { return slices.Contains(c.names, conn.ReceiverName) })
	if held != c.conns {
		return fmt.Errorf("a dump has %d of the crowd's %d connections", held, c.conns)
	}
	info, err := client.Info(ctx)
	if err == nil && (info.Memory > info.MemoryReserved || info.MemoryReserved > info.MemoryLimit) {
		err = fmt.Errorf("memory beyond its bound: %+v", info)
	}
	return err
}

// whole checks that each of the crowd is there once.
func (c bystanders) whole(names []string) error {
	for _, name := range c.names {
		if n := countIf(names, func(s string) bool { return s == name }); n != 1 {
			return fmt.Errorf("a dump has receiver %s %d times", name, n)
		}
	}
	return nil
}

func allDumps(families []*nlFamily) []*fuzzMessage {
	var dumps []*fuzzMessage
	for _, family := range families {
		for _, op := range family.ops {
			if op.dump {
				dumps = append(dumps, &fuzzMessage{family: family, op: op, flags: unix.NLM_F_REQUEST | unix.NLM_F_DUMP,
					body: genlHeader(op.number), verdict: mustTake, what: "broken off"})
			}
		}
	}
	return dumps
}

// readEnds is how many receivers are out of a dump with each read: what it returned,
// and what the kernel prepared meanwhile.
const readEnds = 60

// breakOff begins a dump and closes the socket in the middle, or asks for another
// one there, which has to wait. It returns how many requests it made.
func breakOff(f *fuzzer, dumps []*fuzzMessage, bound time.Duration) (made int, err error) {
	s, err := openFuzz(bound)
	if err != nil {
		return 0, err
	}
	defer s.close()
	m := choose(f, dumps)
	_, raw := s.frame(m)
	if err := s.send(raw); err != nil {
		return 0, err
	}
	answers := map[uint32]*answer{}
	for range f.rng.IntN(1 + crowdSize()/readEnds) {
		if err := s.receive(answers); err != nil {
			return 1, err
		}
		if !opened(answers) {
			return 1, nil // it was a short one
		}
	}
	if m.op.name != "receiver-get" || f.odds(2) {
		return 1, nil
	}
	// The crowd does not fit what has been read so far.
	second := choose(f, dumps)
	seq, raw := s.frame(second)
	if err := s.send(raw); err != nil {
		return 1, err
	}
	for answers[seq] == nil {
		if err := s.receive(answers); err != nil {
			return 2, err
		}
	}
	if a := answers[seq]; !a.ended || a.errno != unix.EBUSY {
		return 2, fmt.Errorf("a second dump at the same time: %+v", a)
	}
	return 2, nil
}

// limitMemory bounds what both modules take.
func limitMemory(t *testing.T, mb string) {
	t.Helper()
	for _, module := range []string{"rxpost_recv", "rxpost_send"} {
		file := "/sys/module/" + module + "/parameters/memory_limit_mb"
		if err := os.WriteFile(file, []byte(mb), 0); err != nil {
			t.Fatal(err)
		}
	}
}

func crowdSize() int {
	if instrumented() {
		return 60
	}
	return 200
}

// Fuzzers with and without privilege, dumps that are broken off, and bystanders.
func TestFuzz(t *testing.T) {
	r := newRig(t)
	seed := dice(t).Uint64()
	limitMemory(t, fuzzMemory)
	t.Cleanup(func() { limitMemory(t, "0") })
	r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	c := r.fuzzCrowd(crowdSize())
	live := r.flood(ctl.RunConfig{Rate: ptr(uint64(2000))})
	families := loadedFamilies(t)
	learn(t, families)

	keep := protected{runs: live.id, names: append([]string{"r0"}, c.names...),
		ports: [][2]uint16{{listenAddr.Port(), listenAddr.Port()}, {crowdPort, crowdPort + uint16(len(c.names))}}}
	for _, name := range keep.names {
		rcv, err := r.ctl.Receiver(r.ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		keep.receivers = max(keep.receivers, rcv.ID)
	}
	r.fuzz(seed, families, c, keep)

	run := live.stop()
	r.clear()
	r.intact(r.alone().Counters, run.Completed)
	r.deleteSoon()
	// Whatever had begun and was never read to its end holds no module.
	for _, module := range []string{"rxpost_send", "rxpost_recv"} {
		r.must("unload "+module, func() error { return unix.DeleteModule(module, unix.O_NONBLOCK) })
		modprobe(t, module)
	}
	r.reconnect()
}

// triesEnough is how many messages of a command have a good one among them: so many
// are made in time, unless the kernel is instrumented.
const triesEnough = 1000

// fuzz lets all of them go on at the same time.
func (r *rig) fuzz(seed uint64, families []*nlFamily, c bystanders, keep protected) {
	const workers = 3
	t := r.t
	d := lasting(20 * time.Second)
	ctx, cancel := context.WithTimeout(r.ctx, d)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, all := 0, tally{}
	guarded := func(name string, do func() (int, error)) {
		wg.Go(func() {
			n, err := do()
			mu.Lock()
			defer mu.Unlock()
			made += n
			if err != nil {
				t.Errorf("%s: %v", name, err)
				cancel()
			}
		})
	}
	for i := range workers {
		f := newFuzzer(seed, uint64(i), families)
		f.spare = keep.spares
		w := newFuzzWorker(fmt.Sprint("stream ", i), f, caller{admin: true}, slack)
		guarded("fuzzer", func() (int, error) {
			err := w.work(ctx)
			t.Logf("%s: %d requests, the slowest exchange took %v", w.name, w.made, w.slowest)
			mu.Lock()
			defer mu.Unlock()
			all.merge(w.tally)
			return w.made, err
		})
	}
	guarded("bystander", func() (int, error) { return c.watch(ctx, newFuzzer(seed, workers, families)) })
	strange := r.strangersIn(seed, families, d, "nobody")
	n := strange()
	wg.Wait()
	made += n
	figure(t, "netlink messages", made)
	for _, family := range families {
		for _, op := range family.ops {
			t.Logf("%s: %v", op.name, all[op.name])
			tried := 0
			for _, n := range all[op.name] {
				tried += n
			}
			if (tried >= triesEnough || !instrumented()) && all[op.name][0] == 0 {
				t.Errorf("%s was never taken: what is made here is not good enough", op.name)
			}
		}
	}
}

// clear deletes all receivers but r0, side by side, and waits until they are gone.
func (r *rig) clear() {
	t := r.t
	t.Helper()
	s, err := openFuzz(slack)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	family := loadedFamilies(t)[0]
	receivers, err := r.ctl.Receivers(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, rcv := range receivers {
		if rcv.Name == "r0" || rcv.State == ctl.ReceiverStateClosing {
			continue
		}
		m := &fuzzMessage{family: family, op: family.op(cmdReceiverDel), flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK,
			body: append(genlHeader(cmdReceiverDel), attr32(attrID, rcv.ID)...)}
		answers, err := s.exchange([]*fuzzMessage{m}, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		// By now it may be on its way out.
		if a := answers[m]; a.errno != 0 && a.errno != unix.EBUSY && a.errno != unix.ENOENT {
			t.Errorf("delete %s: %v %q", rcv.Name, a.errno, a.sentence)
		}
	}
	r.must("no receiver but r0", func() error {
		left, err := r.ctl.Receivers(r.ctx)
		if err == nil && len(left) != 1 {
			err = fmt.Errorf("%d receivers", len(left))
		}
		return err
	})
}
