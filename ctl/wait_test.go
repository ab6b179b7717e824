// This file tests the waits: for events, for the end of a receiver, for the end
// of a run. They run on a fake clock.

package ctl

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// gone makes the last event of a receiver.
func gone(t *testing.T, id uint32) fakeEvent {
	t.Helper()
	return fakeEvent{msg: message(t, cmdEvent, func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrEventType, uint32(EventTypeReceiverGone))
		ae.Uint32(attrEventReceiverID, id)
		ae.Nested(attrEventLedger, encodeLedger)
		return nil
	})}
}

// closing is a kernel in which receiver 9 was deleted. It is shown for as many
// requests as shown says, and deleted runs at its deletion.
func closing(t *testing.T, shown int, deleted func()) genltest.Func {
	t.Helper()
	id := func(ae *netlink.AttributeEncoder) error {
		ae.Uint32(attrReceiverID, 9)
		return nil
	}
	return func(req genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
		switch req.Header.Command {
		case cmdReceiverDel:
			deleted()
		case cmdReceiverGet:
			if shown == 0 {
				return nil, genltest.Error(int(syscall.ENOENT))
			}
			shown--
		}
		return []genetlink.Message{message(t, req.Header.Command, id)}, nil
	}
}

func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *fakeKernel
		c, k := newFake(t, closing(t, 100, func() {
			if k.joins() != 2 {
				t.Error("the deletion was sent before the groups were joined")
			}
			k.events <- gone(t, 8) // another receiver's
			k.events <- gone(t, 9)
		}))
		e, err := c.Delete(t.Context(), "r0")
		if err != nil || e.ReceiverID != 9 || e.Ledger == nil || *e.Ledger != wantLedger() {
			t.Errorf("event %+v, error %v; want receiver 9 with its ledger", e, err)
		}
	})
}

// TestDeleteEventLost loses the event; asking must make up for it.
func TestDeleteEventLost(t *testing.T) {
	for name, lose := range map[string]func(*fakeKernel){
		"silence":     func(*fakeKernel) {},
		"overflow":    func(k *fakeKernel) { k.events <- fakeEvent{err: syscall.ENOBUFS} },
		"family gone": func(k *fakeKernel) { k.events <- familyGone(t, familyName) },
		"unloaded":    func(k *fakeKernel) { time.AfterFunc(time.Second/2, func() { k.setAbsent(true) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var k *fakeKernel
				c, k := newFake(t, closing(t, 3, func() { lose(k) }))
				begin := time.Now()
				e, err := c.Delete(t.Context(), "r0")
				if err != nil || e.Type != EventTypeReceiverGone || e.ReceiverID != 9 || e.Ledger != nil {
					t.Errorf("event %+v, error %v; want receiver 9 gone without a ledger", e, err)
				}
				if took := time.Since(begin); took > 10*recheck {
					t.Errorf("it took %v to find out", took)
				}
			})
		})
	}
}

// TestDeleteContext ends the wait, and only the wait, with its context.
func TestDeleteContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newFake(t, closing(t, 1<<30, func() {}))
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, err := c.Delete(ctx, "r0")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		if took := time.Since(begin); took != 5500*time.Millisecond {
			t.Errorf("the wait took %v, want 5.5s", took)
		}
	})
}

// familyGone makes the kernel's message that a family was unregistered.
func familyGone(t *testing.T, name string) fakeEvent {
	t.Helper()
	return fakeEvent{from: unix.GENL_ID_CTRL, msg: message(t, unix.CTRL_CMD_DELFAMILY, func(ae *netlink.AttributeEncoder) error {
		ae.String(unix.CTRL_ATTR_FAMILY_NAME, name)
		return nil
	})}
}

// TestWatchUnloaded makes sure that nobody watches a group that is gone.
func TestWatchUnloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := newFake(t, closing(t, 0, func() {}))
		w, err := c.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k.events <- familyGone(t, "someone_else")
		k.events <- gone(t, 1)
		k.events <- familyGone(t, familyName)
		if e, err := w.Next(); err != nil || e.ReceiverID != 1 {
			t.Errorf("event %+v, error %v; want that of receiver 1", e, err)
		}
		if e, err := w.Next(); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("event %+v, error %v; want ErrNotLoaded", e, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestWatchReloaded joins the groups that the family has now, not those it had
// when its number was learnt.
func TestWatchReloaded(t *testing.T) {
	c, k := newFake(t, closing(t, 0, func() {}))
	c.families[familyName] = genetlink.Family{
		ID: fakeFamilyID, Name: familyName, Groups: []genetlink.MulticastGroup{{ID: fakeGroupID + 1, Name: groupEvents}},
	}
	w, err := c.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if !slices.Contains(k.joined, fakeGroupID) {
		t.Errorf("joined groups %v, want %d among them", k.joined, fakeGroupID)
	}
}

// TestWatchRefused loses the group between asking for its number and joining.
func TestWatchRefused(t *testing.T) {
	for errno, loaded := range map[syscall.Errno]bool{syscall.ENOENT: false, syscall.EPERM: true} {
		c, k := newFake(t, closing(t, 0, func() {}))
		k.refuse = errno
		if _, err := c.Watch(t.Context()); err == nil || errors.Is(err, ErrNotLoaded) == loaded {
			t.Errorf("a group cannot be joined for %v: error %v", errno, err)
		}
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := newFake(t, closing(t, 0, func() {}))
		ctx, cancel := context.WithCancel(t.Context())
		w, err := c.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		k.events <- gone(t, 1)
		k.events <- fakeEvent{err: &netlink.OpError{Op: "receive", Err: syscall.ENOBUFS}}
		time.AfterFunc(time.Minute, cancel)
		var types []EventType
		for e, err := range w.All() {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("the watch ended with %v, want its context's error", err)
				}
				break
			}
			types = append(types, e.Type)
		}
		if len(types) != 2 || types[0] != EventTypeReceiverGone || types[1] != EventTypeLost {
			t.Errorf("events %v, want receiver-gone and lost", types)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// running is a kernel with run 2, done when *done says so.
func running(t *testing.T, done *bool) genltest.Func {
	t.Helper()
	return genltest.CheckRequest(fakeSendFamilyID, cmdSendRunGet, netlink.Request,
		func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			state := RunStateSending
			if *done {
				state = RunStateDone
			}
			return []genetlink.Message{message(t, cmdSendRunGet, encodeRun(state))}, nil
		})
}

func TestWaitRun(t *testing.T) {
	for name, tell := range map[string]func(*testing.T, *fakeKernel){
		"event": func(t *testing.T, k *fakeKernel) {
			k.events <- fakeEvent{msg: message(t, cmdSendRunDone, encodeRun(RunStateDone))}
		},
		"overflow": func(_ *testing.T, k *fakeKernel) { k.events <- fakeEvent{err: syscall.ENOBUFS} },
		"silence":  func(*testing.T, *fakeKernel) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := false
				c, k := newFake(t, running(t, &done))
				time.AfterFunc(3300*time.Millisecond, func() {
					c.mu.Lock() // the kernel changes between requests
					done = true
					c.mu.Unlock()
					tell(t, k)
				})
				begin := time.Now()
				r, err := c.WaitRun(t.Context(), 2)
				if err != nil || r.State != RunStateDone {
					t.Errorf("run %+v, error %v; want it done", r, err)
				}
				took := time.Since(begin)
				if name != "silence" && took != 3300*time.Millisecond || took > 5*time.Second {
					t.Errorf("the wait took %v, the run 3.3s", took)
				}
			})
		})
	}
}

func TestWaitRunContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := false
		c, _ := newFake(t, running(t, &done))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.WaitRun(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}

// TestWaitRunUnloaded makes sure that the end of a run is heard although nobody
// can be asked about it any more: its module is being unloaded.
func TestWaitRunUnloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c, k := newFake(t, func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			if asked++; asked > 1 {
				return nil, genltest.Error(int(syscall.ENOENT))
			}
			return []genetlink.Message{message(t, cmdSendRunGet, encodeRun(RunStateSending))}, nil
		})
		k.events <- fakeEvent{msg: message(t, cmdSendRunDone, encodeRun(RunStateDone))}
		k.events <- familyGone(t, sendFamilyName)
		r, err := c.WaitRun(t.Context(), 2)
		if err != nil || r.State != RunStateDone || r.Reason != "nobody listens" {
			t.Errorf("run %+v, error %v; want it as its last event told it", r, err)
		}
	})
}
