package e2e

// This file owns what runs are billed for: the memory they take, for as long as
// they take it.

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

const noRoom = "buffers of all runs would exceed memory_limit_mb"

// boundRuns lets all runs together have one MiB until the test ends.
func (r *rig) boundRuns() {
	r.t.Helper()
	const file = "/sys/module/rxpost_send/parameters/memory_limit_mb"
	set := func(mb string) {
		if err := os.WriteFile(file, []byte(mb), 0); err != nil {
			r.t.Fatal(err)
		}
	}
	set("1")
	r.t.Cleanup(func() { set("0") })
}

// A run is billed for what the kernel allocates, which is more than it asks for.
func TestRunMemoryIsWhatIsAllocated(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{SlotSize: u32(8192)})
	r.boundRuns()
	for _, tt := range []struct {
		name       string
		fits, over ctl.RunConfig
	}{
		{ // 64 buffers of 8 or of 16 KiB
			"buffers",
			ctl.RunConfig{Size: u32(8192), InFlight: u32(64)},
			ctl.RunConfig{Size: u32(8193), InFlight: u32(64)},
		},
		{ // 3500 buffers of 64 bytes and their sends are 0.6 MiB
			"arrays of answers",
			ctl.RunConfig{InFlight: u32(3500)},
			ctl.RunConfig{InFlight: u32(3500), RoundTrip: true},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := *r
			r.t = t
			tt.fits.Addr, tt.over.Addr = listenAddr, listenAddr
			tt.fits.Count, tt.over.Count = ptr(uint64(1)), ptr(uint64(1))
			_, err := r.ctl.StartRun(r.ctx, tt.over)
			refused(t, err, syscall.ENOSPC, noRoom)
			r.send(tt.fits)
		})
	}
	r.delete()
}

// A run that is done still has its histogram, 35 KiB of it, until its socket is
// closed: then there is room again.
func TestRunMemoryIsKeptWithTheRun(t *testing.T) {
	const most = (1 << 20) / (35 << 10)
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho)})
	r.boundRuns()
	cfg := ctl.RunConfig{Addr: listenAddr, RoundTrip: true, InFlight: u32(1), Count: ptr(uint64(1))}
	err := r.keepRuns(cfg, most)
	refused(t, err, syscall.ENOSPC, noRoom)
	r.await("room again once the socket is closed", func() bool {
		id, err := r.ctl.StartRun(r.ctx, cfg)
		if errors.Is(err, syscall.ENOSPC) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		run, err := r.ctl.WaitRun(r.ctx, id)
		if err := errors.Join(err, run.Err()); err != nil {
			t.Fatal(err)
		}
		return true
	})
	r.delete()
}

// keepRuns runs cfg on a socket of its own, time and again, until a run is
// refused, and returns the refusal; it closes the socket at the end.
func (r *rig) keepRuns(cfg ctl.RunConfig, most int) error {
	r.t.Helper()
	c, err := ctl.New()
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	for n := range most + 1 {
		id, err := c.StartRun(r.ctx, cfg)
		if err != nil {
			if n < most/2 {
				r.t.Errorf("already run %d is refused", n)
			}
			return err
		}
		run, err := c.WaitRun(r.ctx, id)
		if err := errors.Join(err, run.Err()); err != nil {
			return fmt.Errorf("run %d: %w", n, err)
		}
	}
	return nil
}
