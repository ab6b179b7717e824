package e2e

// This file owns what goes on while a deletion waits: nothing else may.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/vishvananda/netlink"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// drainLong is how long the deletion of these tests waits for a completion that
// was lost; promptly is how soon everybody else must be answered meanwhile.
var (
	promptly  = max(time.Second, slowed(500*time.Millisecond))
	drainLong = 5 * promptly
)

// startDrain deletes r0 while it misses one completion, so that the deletion
// lasts as long as its drain-timeout. It returns the receiver's id.
func (r *rig) startDrain() uint32 {
	r.t.Helper()
	r.add(ctl.ReceiverConfig{DrainTimeout: ptr(ctl.Milliseconds(drainLong.Milliseconds()))})
	r.fault("lose", 1)
	tr := r.flow(1)
	id, err := r.ctl.DeleteNoWait(r.ctx, "r0")
	if err != nil {
		r.t.Fatal(err)
	}
	tr.ended(peerLeft)
	return id
}

func TestOthersAnswerWhileDraining(t *testing.T) {
	r := newRig(t)
	events := r.listen()
	began := time.Now()
	id := r.startDrain()
	for _, ask := range others(r) {
		bounded(t, ask.what, promptly, ask.do)
	}
	// All of it was while the deletion waited, or it proves nothing.
	if rcv := r.receiver(); rcv.ID != id || rcv.State != ctl.ReceiverStateClosing || rcv.Ledger.Outstanding != 1 {
		t.Errorf("receiver: %+v", rcv)
	}

	if ev := events.next(ctl.EventTypeDrainExpired); ev.Reason != fmt.Sprintf("1 receives outstanding after %d ms", drainLong.Milliseconds()) {
		t.Errorf("event: %+v", ev)
	}
	gone := events.next(ctl.EventTypeReceiverGone)
	if gone.ReceiverID != id || gone.Ledger.Reclaimed != 1 || gone.Ledger.Outstanding != 0 || *gone.Mappings != 0 {
		t.Errorf("event: %+v, ledger %+v", gone, *gone.Ledger)
	}
	if took := time.Since(began); took < drainLong || took > drainLong+slack {
		t.Errorf("the deletion took %v", took)
	}
	r.works()
}

type request struct {
	what string
	do   func() error
}

// others asks everything that shares a lock or a thread with a deletion.
func others(r *rig) []request {
	list := append(otherFamilies(), ownFamily(r)...)
	return append(list,
		request{"refused: del", func() error {
			_, err := r.ctl.DeleteNoWait(r.ctx, "r0")
			refused(r.t, err, syscall.EBUSY, "receiver r0 is being torn down")
			return nil
		}},
		request{"refused: set", func() error {
			err := r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r0", Batch: ptr(uint32(4))})
			refused(r.t, err, syscall.EBUSY, "receiver r0 is being torn down")
			return nil
		}},
		request{"refused: add", func() error {
			_, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: "r0", Addr: listenAddr})
			refused(r.t, err, syscall.EEXIST, "receiver r0 is still being torn down")
			return nil
		}})
}

func otherFamilies() []request {
	genl := func(do func(*genetlink.Conn) error) func() error {
		return func() error {
			c, err := genetlink.Dial(nil)
			if err != nil {
				return err
			}
			defer c.Close()
			return do(c)
		}
	}
	return []request{
		{"genl ctrl: one family", genl(func(c *genetlink.Conn) error {
			_, err := c.GetFamily("nlctrl")
			return err
		})},
		{"genl ctrl: all families", genl(func(c *genetlink.Conn) error {
			_, err := c.ListFamilies()
			return err
		})},
		{"rtnetlink", func() error {
			_, err := netlink.LinkList()
			return err
		}},
		{"RDMA netlink", func() error {
			_, err := rdma.Host().List()
			return err
		}},
	}
}

// ownFamily is the life of a second receiver, and a run against it.
func ownFamily(r *rig) []request {
	addr := netip.AddrPortFrom(listenAddr.Addr(), listenAddr.Port()+1)
	var run uint32
	return []request{
		{"add", func() error {
			_, err := r.ctl.Add(r.ctx, ctl.ReceiverConfig{Name: "r1", Addr: addr})
			return err
		}},
		{"start a run", func() (err error) {
			run, err = r.ctl.StartRun(r.ctx, ctl.RunConfig{Addr: addr, Count: ptr(uint64(100))})
			return err
		}},
		{"wait for the run", func() error {
			done, err := r.ctl.WaitRun(r.ctx, run)
			if err != nil {
				return err
			}
			return done.Err()
		}},
		{"show", func() error {
			_, err := r.ctl.Receiver(r.ctx, "r1")
			return err
		}},
		{"show all", func() error {
			_, err := r.ctl.Receivers(r.ctx)
			return err
		}},
		{"show connections", func() error {
			_, err := r.ctl.Conns(r.ctx, "")
			return err
		}},
		{"stats of the one that closes", func() error {
			_, err := r.ctl.Stats(r.ctx, "r0")
			return err
		}},
		{"set", func() error { return r.ctl.Set(r.ctx, ctl.ReceiverConfig{Name: "r1", Batch: ptr(uint32(4))}) }},
		{"del", func() error {
			_, err := r.ctl.Delete(r.ctx, "r1")
			return err
		}},
		{"info", func() error {
			_, err := r.ctl.Info(r.ctx)
			return err
		}},
	}
}

// A wait that is given up ends; the deletion goes on.
func TestDelWaitGivenUp(t *testing.T) {
	r := newRig(t)
	events := r.listen()
	r.add(ctl.ReceiverConfig{DrainTimeout: ptr(ctl.Milliseconds(2 * promptly.Milliseconds()))})
	r.fault("lose", 1)
	r.flow(1).vanish()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	wait := make(chan error, 1)
	go func() { wait <- errorOf(r.ctl.Delete(ctx, "r0")) }()
	r.await("the deletion has begun", func() bool { return r.receiver().State == ctl.ReceiverStateClosing })
	cancel()
	if err := <-wait; !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	events.next(ctl.EventTypeReceiverGone)
}
