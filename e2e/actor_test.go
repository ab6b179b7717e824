package e2e

// This file owns the actors of a storm: each does one deed after the other, as
// its dice fall, over a socket of its own. What a deed may fail with is a closed
// list; any other error ends the storm.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// guests is how many receivers the actors have: g1 and so on, each with a port.
const guests = 3

// noAnswer is how a run ends whose peer went without a word, or whose REJ was lost.
const noAnswer = `a send failed with "transport retry counter exceeded": the peer does not answer any more`

// actor does deeds until it is stopped. A deed throws all its dice first and the
// same number whatever happens, so that a seed repeats the decisions.
type actor struct {
	s     *storm
	ctx   context.Context
	dice  *rand.Rand
	deeds []deed
	c     *ctl.Client
}

// deed is what an actor does, and what it may fail with.
type deed struct {
	name string
	do   func(*actor) error
	may  []error
}

// casts are the actors' deeds, those of one actor each.
func casts() [][]deed {
	builder := []deed{
		{"add", (*actor).addGuest, []error{ctl.ErrNotLoaded, os.ErrExist,
			syscall.EADDRNOTAVAIL, // no device has the address now
			syscall.ENODEV,        // it is being removed
			syscall.EADDRINUSE,    // by one that is being torn down without its name
		}},
		{"set", (*actor).setGuest, []error{ctl.ErrNotLoaded, syscall.ENOENT, syscall.EBUSY}},
		{"set", (*actor).setGuest, []error{ctl.ErrNotLoaded, syscall.ENOENT, syscall.EBUSY}},
		{"delete", (*actor).deleteGuest, []error{ctl.ErrNotLoaded, syscall.ENOENT, syscall.EBUSY}},
		{"begin to delete", (*actor).beginToDelete, []error{ctl.ErrNotLoaded, syscall.ENOENT, syscall.EBUSY}},
	}
	reader := []deed{
		{"read all", (*actor).readAll, []error{ctl.ErrNotLoaded}},
		{"show", (*actor).show, []error{ctl.ErrNotLoaded, syscall.ENOENT}},
		{"watch", (*actor).watch, []error{ctl.ErrNotLoaded}},
	}
	sender := []deed{
		{"send", (*actor).send, []error{ctl.ErrNotLoaded}},
		{"send and stop", (*actor).sendAndStop, []error{ctl.ErrNotLoaded}},
		{"send and vanish", (*actor).sendAndVanish, []error{ctl.ErrNotLoaded}},
		{"strange client", (*actor).stranger, nil},
	}
	return [][]deed{builder, builder, reader, sender, sender}
}

func (a *actor) act(stop <-chan struct{}) error {
	for a.ctx.Err() == nil {
		select {
		case <-stop:
			return nil
		default:
		}
		d := a.deeds[a.dice.IntN(len(a.deeds))]
		rest := time.Duration(a.dice.IntN(20)) * time.Millisecond
		if err := a.one(d); err != nil {
			return err
		}
		time.Sleep(rest) // two CPUs are for all, and the removals should be many
	}
	return a.ctx.Err()
}

// one does one deed, with a client of its own, whose end is that of its runs.
func (a *actor) one(d deed) error {
	c, err := ctl.New()
	if err != nil {
		return err
	}
	a.c = c
	err = d.do(a)
	for _, may := range d.may {
		if errors.Is(err, may) {
			err = nil
		}
	}
	// A deed that vanishes has closed it.
	if closed := c.Close(); closed != nil && !errors.Is(closed, os.ErrClosed) {
		err = errors.Join(err, closed)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}

// guest throws for one of the actors' receivers.
func (a *actor) guest() (string, netip.AddrPort) {
	n := 1 + a.dice.IntN(guests)
	return fmt.Sprint("g", n), netip.AddrPortFrom(listenAddr.Addr(), listenAddr.Port()+uint16(n))
}

func (a *actor) addGuest() error {
	cfg := ctl.ReceiverConfig{
		Depth: u32(smallDepth), SlotSize: u32(smallSlot), MaxConns: u32(8), DrainTimeout: minute,
		Pollers:  u32(1 + a.dice.Uint32N(2)),
		PollMode: ptr(ctl.PollMode(a.dice.Uint32N(3))),
		Sink:     ptr([]ctl.Sink{ctl.SinkVerify, ctl.SinkEcho, ctl.SinkDiscard}[a.dice.IntN(3)]),
	}
	cfg.Name, cfg.Addr = a.guest()
	_, err := a.c.Add(a.ctx, cfg)
	return err
}

func (a *actor) setGuest() error {
	depth := 1 + a.dice.Uint32N(smallDepth)
	cfg := ctl.ReceiverConfig{
		Depth:        &depth,
		Batch:        u32(1 + a.dice.Uint32()%depth), // above depth it is refused
		BatchTimeout: ptr(ctl.Microseconds(a.dice.Uint32N(2000))),
		PollMode:     ptr(ctl.PollMode(a.dice.Uint32N(3))),
		Hold:         ptr(ctl.Microseconds(a.dice.Uint32N(500))),
		RNRTimer:     ptr(ctl.Microseconds(10 + a.dice.Uint32N(1000))),
		IdleTimeout:  ptr(ctl.Milliseconds(a.dice.Uint32N(2) * 50)),
	}
	cfg.Name, _ = a.guest()
	return a.c.Set(a.ctx, cfg)
}

func (a *actor) deleteGuest() error {
	name, _ := a.guest()
	ev, err := a.c.Delete(a.ctx, name)
	if err != nil {
		return err
	}
	a.s.cycles.Add(1)
	return lastBooks(ev)
}

func (a *actor) beginToDelete() error {
	name, _ := a.guest()
	_, err := a.c.DeleteNoWait(a.ctx, name)
	return err
}

func (a *actor) readAll() error {
	_, _, err := readAll(a.ctx, a.c, ctl.Ledger.Balanced)
	if err != nil {
		return err
	}
	if _, err := a.c.Info(a.ctx); err != nil {
		return err
	}
	_, err = a.c.Runs(a.ctx)
	return err
}

func (a *actor) show() error {
	name, _ := a.guest()
	index := a.dice.Uint32N(8)
	rcv, err := a.c.Receiver(a.ctx, name)
	if err != nil {
		return err
	}
	if err := rcv.Ledger.Balanced(); err != nil {
		return fmt.Errorf("receiver %s: %w", name, err)
	}
	_, err = a.c.Conn(a.ctx, name, index)
	return err
}

// watch hears of something, or leaves without.
func (a *actor) watch() error {
	stays := time.Duration(a.dice.IntN(100)) * time.Millisecond
	ctx, cancel := context.WithTimeout(a.ctx, stays)
	defer cancel()
	w, err := a.c.Watch(ctx)
	if err != nil {
		return ended(ctx, a.ctx, err)
	}
	_, err = w.Next()
	return errors.Join(ended(ctx, a.ctx, err), w.Close())
}

// ended forgives an error that is the end of a context, but not that of all.
func ended(ctx, all context.Context, err error) error {
	if ctx.Err() != nil && all.Err() == nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// runs starts a few runs that end soon by themselves.
func (a *actor) runs() ([]uint32, error) {
	cfg := ctl.RunConfig{
		Size:     u32(a.dice.Uint32N(smallSlot + 1)),
		Count:    ptr(1 + a.dice.Uint64N(2000)),
		InFlight: u32(32), Batch: u32(1 + a.dice.Uint32N(32)),
		Duration:       ptr(ctl.Milliseconds(1 + a.dice.Uint32N(500))),
		ConnectTimeout: ptr(ctl.Milliseconds(10 + a.dice.Uint32N(2000))),
		Hold:           a.dice.IntN(4) == 0,
	}
	_, cfg.Addr = a.guest()
	var ids []uint32
	for range 1 + a.dice.IntN(3) {
		id, err := a.c.StartRun(a.ctx, cfg)
		if errors.Is(err, syscall.ESHUTDOWN) { // rxpost_send is being unloaded
			return ids, ctl.ErrNotLoaded
		}
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	if !cfg.Hold {
		return ids, nil
	}
	err := a.c.ReleaseRuns(a.ctx)
	if e, ok := errors.AsType[*ctl.Error](err); ok && e.Message == "no run of this socket is held" {
		err = nil // all have ended
	}
	return ids, err
}

// send waits for its runs, whose books must balance however they end.
func (a *actor) send() error {
	ids, err := a.runs()
	if err != nil {
		return err
	}
	return a.await(ids)
}

func (a *actor) await(ids []uint32) error {
	runs, err := a.c.WaitRuns(a.ctx, ids...)
	if errors.Is(err, syscall.ENOENT) {
		return ctl.ErrNotLoaded // the module was away, and its runs with it
	}
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := runSettled(run); err != nil {
			return err
		}
		if run.Posted > 0 {
			a.s.cycles.Add(1)
		}
		if err := mayEnd(run); err != nil {
			return err
		}
	}
	return nil
}

// mayEnd returns how a run ended if a storm does not explain that.
func mayEnd(run ctl.Run) error {
	for _, errno := range []syscall.Errno{
		syscall.ECONNREFUSED,  // nobody listens, or the receiver is closing
		syscall.ECONNRESET,    // the peer closed the connection
		syscall.EHOSTUNREACH,  // connect error
		syscall.ENETUNREACH,   // no way to the address
		syscall.ENODEV,        // the device was removed
		syscall.EADDRNOTAVAIL, // the network below it changed
		syscall.ESHUTDOWN,     // rxpost_send is being unloaded
		syscall.ETIMEDOUT,     // connect-timeout
	} {
		if errors.Is(run.Err(), errno) {
			return nil
		}
	}
	for _, reason := range []string{noWay, noRoute, noAnswer} {
		if run.Reason == reason {
			return nil
		}
	}
	// The address that the path begins at is gone: ib_cm finds no port for it
	// (cm.c, cm_init_av_by_path()).
	if errors.Is(run.Err(), syscall.EINVAL) && strings.HasPrefix(run.Reason, "no connection to ") {
		return nil
	}
	return run.Err()
}

func (a *actor) sendAndStop() error {
	ids, err := a.runs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		// Ended already and of a module that was away.
		if err := a.c.StopRun(a.ctx, id); err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	return a.await(ids)
}

// sendAndVanish closes the socket under its runs.
func (a *actor) sendAndVanish() error {
	_, err := a.runs()
	return err
}

// stranger is Debian's client, which is killed after a while.
func (a *actor) stranger() error {
	lives := time.Duration(a.dice.IntN(200)) * time.Millisecond
	_, addr := a.guest()
	ctx, cancel := context.WithTimeout(a.ctx, lives)
	defer cancel()
	err := exec.CommandContext(ctx, "rdma_client", "-s", addr.Addr().String(), "-p", fmt.Sprint(addr.Port())).Run()
	if errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil {
		return nil // killed, or not let in
	}
	return err
}
