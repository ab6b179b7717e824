package e2e

// This file owns walks through the module's own fault points: each is taken at
// its first hit, at its second, until there is no more.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// hitNth arms a fault point for one hit, the n-th, does something, and returns
// whether the point was hit.
func (r *rig) hitNth(point string, n int, do func() error) (hit bool, err error) {
	r.t.Helper()
	r.fault("skip", n-1)
	r.fault(point, 1)
	err = do()
	left, convErr := strconv.Atoi(readLine(r.t, faultDir+point))
	if convErr != nil {
		r.t.Fatal(convErr)
	}
	r.fault(point, 0)
	r.fault("skip", 0)
	return left == 0, err
}

// hits walks through a point, which must be hit so often.
func (r *rig) hits(point string, want int, do func() error, check func(n int, err error)) {
	r.t.Helper()
	same := r.asBefore()
	got, _ := r.walk("fault point "+point, 1, func(n int) (bool, error) { return r.hitNth(point, n, do) }, func(n int, err error) {
		check(n, err)
		same()
	})
	if got != want {
		r.t.Errorf("%s: hit %d times, not %d", point, got, want)
	}
	figure(r.t, "faults injected", got)
}

// Each mapping, and each QP, of a connection fails once.
func TestEachFailureOfAConnection(t *testing.T) {
	const slots, segments = visitors, 2
	for point, c := range map[string]struct {
		hits int
		says string
	}{
		"map": {slots * segments, "cannot make the receive slots (-5)"},
		"qp":  {1, "cannot create a QP of that depth (-12)"},
	} {
		t.Run(point, func(t *testing.T) {
			onEachDevice(t, func(t *testing.T, r *rig) {
				r.add(ctl.ReceiverConfig{Depth: u32(slots), Segments: []uint32{32, 64}, MaxConns: u32(2), Sink: ptr(ctl.SinkVerify)})
				r.hits(point, c.hits, r.visit, func(n int, err error) {
					if n > c.hits {
						return // and it was served: see walk
					}
					if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), c.says) {
						t.Errorf("got %v, want %q", err, c.says)
					}
				})
				r.deleteSoon()
			})
		})
	}
}

// A receiver of which one CQ cannot be had is not made.
func TestEachCQFails(t *testing.T) { onEachDevice(t, eachCQFails) }

func eachCQFails(t *testing.T, r *rig) {
	const pollers = 4
	made := false
	r.hits("cq", pollers, func() error {
		_, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: "r0", Addr: listenAddr, Depth: u32(4), Pollers: u32(pollers)})
		made = err == nil
		return err
	}, func(n int, err error) {
		if made {
			r.delete()
			return
		}
		refused(t, err, syscall.ENOMEM, fmt.Sprintf("cannot make poller %d on %s (error -12)", n-1, r.device.name))
	})
	r.works()
}

// Each post of a first fill, and the first ones under traffic, are refused once,
// in whole and in part; no message is lost by that. With the very first refused
// in whole there is no connection: see TestFirstFillFails.
func TestEachPostRefused(t *testing.T) {
	const messages = 100
	posts := min(12, 2*rounds)
	for point, first := range map[string]int{"refuse": 1, "untouched": 2} {
		t.Run(point, func(t *testing.T) {
			r := newRig(t)
			r.add(ctl.ReceiverConfig{Depth: u32(16), SlotSize: u32(128), Batch: u32(4), MaxConns: u32(2), Sink: ptr(ctl.SinkVerify)})
			for n := first; n < first+posts; n++ {
				hit, err := r.hitNth(point, n, func() error {
					r.send(ctl.RunConfig{Count: ptr(uint64(messages)), InFlight: u32(8)})
					return nil
				})
				rcv := r.alone()
				r.intact(rcv.Counters, uint64((n-first+1)*messages))
				r.posted(rcv)
				if !hit || err != nil || rcv.Counters.RefusedCalls != uint64(n-first+1) {
					t.Fatalf("post %d: refused %v; %+v", n, hit, rcv.Counters)
				}
			}
			figure(t, "faults injected", posts)
			r.deleteSoon()
		})
	}
}
