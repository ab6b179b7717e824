// This file tests waiting for several runs at once.

package ctl

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
)

// encodeState writes a run of which little is known.
func encodeState(id uint32, state RunState) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrSendRunID, id)
		ae.Uint32(attrSendRunState, uint32(state))
		return nil
	}
}

// crowd is a kernel with runs in the states given; it refuses a question about
// any other.
func crowd(t *testing.T, states map[uint32]RunState) genltest.Func {
	t.Helper()
	return func(m genetlink.Message, n netlink.Message) ([]genetlink.Message, error) {
		if n.Header.Flags&netlink.Dump != netlink.Dump {
			r, err := decodeRun(m.Data)
			state, ok := states[r.ID]
			if err != nil || !ok {
				return nil, genltest.Error(int(syscall.ENOENT))
			}
			return []genetlink.Message{message(t, cmdSendRunGet, encodeState(r.ID, state))}, nil
		}
		var all []genetlink.Message
		for id, state := range states {
			all = append(all, message(t, cmdSendRunGet, encodeState(id, state)))
		}
		return all, nil
	}
}

func ids(runs []Run) []uint32 {
	var ids []uint32
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestWaitRuns waits for runs of which one is done, one ends by an event, and
// one ends with an event that is lost.
func TestWaitRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := map[uint32]RunState{3: RunStateSending, 4: RunStateDone, 5: RunStateReady, 6: RunStateSending}
		c, k := newFake(t, crowd(t, states))
		set := func(id uint32) {
			c.mu.Lock() // the kernel changes between requests
			states[id] = RunStateDone
			c.mu.Unlock()
		}
		time.AfterFunc(100*time.Millisecond, func() {
			k.events <- fakeEvent{msg: message(t, cmdSendRunReady, encodeState(5, RunStateReady))}
			k.events <- fakeEvent{msg: message(t, cmdSendRunDone, encodeState(6, RunStateDone))}
			set(5)
			k.events <- fakeEvent{msg: message(t, cmdSendRunDone, encodeState(5, RunStateDone))}
		})
		time.AfterFunc(200*time.Millisecond, func() {
			set(3)
			k.events <- fakeEvent{err: &netlink.OpError{Op: "receive", Err: syscall.ENOBUFS}}
		})
		begin := time.Now()
		runs, err := c.WaitRuns(t.Context(), 5, 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]uint32{5, 3, 4}, ids(runs)); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		for _, r := range runs {
			if r.State != RunStateDone {
				t.Errorf("run %d is %v", r.ID, r.State)
			}
		}
		if took := time.Since(begin); took != 200*time.Millisecond {
			t.Errorf("the wait took %v, the runs 200ms", took)
		}
	})
}

func TestReadyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := newFake(t, crowd(t, map[uint32]RunState{3: RunStateConnecting, 4: RunStateDone}))
		k.events <- fakeEvent{msg: message(t, cmdSendRunReady, encodeState(3, RunStateReady))}
		runs, err := c.ReadyRuns(t.Context(), 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		if runs[0].State != RunStateReady || runs[1].State != RunStateDone {
			t.Errorf("runs are %v and %v, want ready and done", runs[0].State, runs[1].State)
		}
	})
}

// TestWaitRunsMissing makes sure that nobody waits for a run that is not there.
func TestWaitRunsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newFake(t, crowd(t, map[uint32]RunState{3: RunStateSending}))
		if _, err := c.WaitRuns(t.Context(), 3, 9); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("error %v, want ENOENT", err)
		}
	})
}

// TestWaitRunsGone waits for a run that is gone when it is asked for: its module
// is being unloaded. Its last event is there all the same.
func TestWaitRunsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := newFake(t, crowd(t, map[uint32]RunState{3: RunStateSending}))
		k.events <- fakeEvent{msg: message(t, cmdSendRunDone, encodeState(9, RunStateDone))}
		runs, err := c.WaitRuns(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		if runs[0].ID != 9 || runs[0].State != RunStateDone {
			t.Errorf("run: %+v", runs[0])
		}
	})
}

func TestReleaseRuns(t *testing.T) {
	asked := 0
	c, _ := newFake(t, genltest.CheckRequest(fakeSendFamilyID, cmdSendRunGo, netlink.Request|netlink.Acknowledge,
		func(m genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
			asked++
			if len(m.Data) != 0 {
				t.Errorf("the request names something: %v", m.Data)
			}
			return []genetlink.Message{{}}, nil
		}))
	if err := c.ReleaseRuns(t.Context()); err != nil || asked != 1 {
		t.Errorf("error %v, asked %d times", err, asked)
	}
}
