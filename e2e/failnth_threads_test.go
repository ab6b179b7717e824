package e2e

// This file owns walks through the failures of what no caller waits for: the
// making and ending of connections in the receiver's worker, what the CM calls in
// its own threads, and the pollers, in which nothing may allocate at all.

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// visitors is how many messages a visit sends. Each finds a receive where a queue
// that runs empty ends the connection.
const visitors = 6

// tiny is a receiver with little to allocate for a connection. On iWARP it has a
// receive for each message of a visit, which in turn has none for answers.
func (r *rig) tiny() ctl.ReceiverConfig {
	cfg := ctl.ReceiverConfig{
		Depth: u32(4), Batch: u32(2), SlotSize: u32(64), MaxConns: u32(2), Sink: ptr(ctl.SinkEcho),
		DrainTimeout: ptr(ctl.Milliseconds(1000)),
	}
	if r.device.iwarp {
		cfg.Depth, cfg.Sink = u32(visitors), ptr(ctl.SinkVerify)
	}
	return cfg
}

func (r *rig) addTiny() ctl.Receiver {
	r.t.Helper()
	return r.add(r.tiny())
}

// visit connects to r0, sends a little, and waits until r0 has forgotten it.
func (r *rig) visit() error {
	r.t.Helper()
	id := r.start(ctl.RunConfig{
		Count: ptr(uint64(visitors)), InFlight: u32(2), ConnectTimeout: ptr(ctl.Milliseconds(4000)),
		DrainTimeout: ptr(ctl.Milliseconds(200)),
	})
	run, err := r.ctl.WaitRun(r.ctx, id)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := runSettled(run); err != nil {
		r.t.Error(err)
	}
	r.alone()
	return run.Err()
}

// visited checks what is said of a visit: its end, with books that add up, and, if
// it was refused, that before. It returns whether it was.
func (r *rig) visited(events listen) (rejected bool) {
	r.t.Helper()
	for {
		ev, err := events.w.Next()
		if err != nil {
			r.t.Fatal(err)
		}
		switch ev.Type {
		case ctl.EventTypeConnRejected:
			rejected = true
		case ctl.EventTypeConnDown:
			if err := ev.Ledger.Balanced(); err != nil {
				r.t.Error(err)
			}
			if ev.Ledger.Outstanding != 0 || ev.Mappings == nil || *ev.Mappings != 0 {
				r.t.Errorf("event: %+v, ledger %+v", ev, *ev.Ledger)
			}
			return rejected
		}
	}
}

// outcomes counts how attempts ended.
type outcomes map[string]int

func (o outcomes) note(err error) {
	if err == nil {
		o["done all the same"]++
		return
	}
	o[err.Error()]++
}

func (o outcomes) log(t *testing.T) {
	for what, n := range o {
		t.Logf("%4d %s", n, what)
	}
}

// Whatever is missing while a connection is made or ended, it ends, with an event,
// and leaves nothing; the next one is served.
func TestConnectionOutOfMemory(t *testing.T) { onEachDevice(t, connectionOutOfMemory) }

func connectionOutOfMemory(t *testing.T, r *rig) {
	in := below(t, "rxpost_recv")
	worker := r.addTiny().WorkerPID
	events, ends := r.listen(), outcomes{}
	if err := r.visit(); err != nil {
		t.Fatal(err)
	}
	r.visited(events)
	same := r.asBefore()
	points, noticed := r.walk("connection, in the worker", 5, func(n int) (bool, error) {
		return in.others(n, []uint32{worker}, r.visit)
	}, func(_ int, err error) {
		ends.note(err)
		if rejected := r.visited(events); rejected && err == nil {
			t.Error("rejected, but the sender was served")
		}
		same()
		if err == nil {
			return
		}
		if err := r.visit(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		r.visited(events)
	})
	ends.log(t)
	if noticed == 0 {
		t.Errorf("%d allocations failed, and no connection with them", points)
	}
	r.deleteReclaiming()
}

// heard is a visit as counters tell of it: events can be what is lost.
func (r *rig) heard() (n uint64) {
	r.t.Helper()
	c := r.receiver().Counters
	return c.Accepted + c.Rejected
}

// The CM's threads run the listener's handler, and others send the events. The
// memory for these may lack, too.
func TestListenerOutOfMemory(t *testing.T) { onEachDevice(t, listenerOutOfMemory) }

func listenerOutOfMemory(t *testing.T, r *rig) {
	in := below(t, "rxpost_recv")
	r.addTiny()
	events := r.listen() // or there is nobody to send events to
	ends := outcomes{}
	if err := r.visit(); err != nil {
		t.Fatal(err)
	}
	same := r.asBefore()
	before := r.heard()
	points, _ := r.walk("connection, in kworkers", 1, func(n int) (failed bool, err error) {
		// A thread that was made meanwhile does not count: three times is proof.
		for range 3 {
			before = r.heard()
			if failed, err = in.others(n, kworkers(t), r.visit); failed || err != nil {
				break
			}
		}
		return failed, err
	}, func(_ int, err error) {
		ends.note(err)
		if n := r.heard() - before; n != 1 {
			t.Errorf("%d connections were accepted or rejected, not 1", n)
		}
		same()
	})
	ends.log(t)
	if points == 0 {
		t.Error("nothing was allocated")
	}
	events.close()
	r.deleteReclaiming()
	r.works()
}

// A poller never allocates: not for messages, nor for a connection that comes,
// goes or fails, nor when it is told to be different.
func TestPollersAllocateNothing(t *testing.T) {
	r := newRig(t)
	in := below(t, "rxpost_recv")
	pollers := r.addTiny().PollerPIDs
	failed, err := in.others(1, pollers, func() error {
		for _, set := range r.setCommands() {
			if err := errors.Join(set.do(), r.visit(), set.do()); err != nil {
				return fmt.Errorf("%s: %w", set.name, err)
			}
		}
		return nil
	})
	if failed || err != nil {
		t.Errorf("a poller allocated: %v; error %v", failed, err)
	}
	r.deleteReclaiming()
}

// A deletion in which memory is missing ends none the less.
func TestDeletionOutOfMemory(t *testing.T) { onEachDevice(t, deletionOutOfMemory) }

func deletionOutOfMemory(t *testing.T, r *rig) {
	in := below(t, "rxpost_recv")
	same := r.asBefore()
	points, _ := r.walk("recv del, in worker and kworkers", 3, func(n int) (failed bool, err error) {
		rcv := r.add(r.device.deep(r.tiny()))
		tr := r.launch(1, r.device.paced(ctl.RunConfig{InFlight: u32(2), DrainTimeout: ptr(ctl.Milliseconds(200))}))
		r.othersGoOn(1, 20)
		failed, err = in.others(n, append(kworkers(t), rcv.WorkerPID), func() error {
			err := errorOf(r.ctl.DeleteNoWait(r.ctx, "r0"))
			r.must("deleted", func() error {
				if err := errorOf(r.ctl.Receiver(r.ctx, "r0")); !errors.Is(err, syscall.ENOENT) {
					return fmt.Errorf("not gone: %w", err)
				}
				return nil
			})
			return err
		})
		r.leave(tr)
		return failed, err
	}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
		same()
	})
	if points == 0 {
		t.Error("nothing was allocated")
	}
	r.works()
}

// listensAgain waits until r0 does, which tries once a second. The allocation that
// fails may be the question's.
func (r *rig) listensAgain() {
	r.t.Helper()
	r.must("listening again", func() error {
		rcv, err := r.ctl.Receiver(r.ctx, "r0")
		if err == nil && rcv.State != ctl.ReceiverStateListening {
			err = fmt.Errorf("it is %v", rcv.State)
		}
		return err
	})
}

// A device goes whatever is missing; and when it returns, a receiver that finds no
// memory for it tries again.
func TestDeviceOutOfMemory(t *testing.T) {
	r := newRig(t)
	in := below(t, "rxpost_recv")
	worker := r.addTiny().WorkerPID
	var tr *traffic
	connect := func() {
		tr = r.launch(1, r.device.paced(ctl.RunConfig{InFlight: u32(2), DrainTimeout: ptr(ctl.Milliseconds(200))}))
		r.othersGoOn(1, 20)
	}
	gone := func() {
		r.t.Helper()
		rcv := r.receiver()
		if rcv.State != ctl.ReceiverStateNoDevice || rcv.Mappings != 0 || rcv.Memory != 0 || rcv.Conns != 0 {
			t.Errorf("receiver: %+v", rcv)
		}
	}
	remove := func() error { return rdma.Host().Delete(r.device.name) }
	points, _ := r.walk("link del", 3, func(n int) (bool, error) {
		connect()
		return in.everywhere(n, append(kworkers(t), worker), remove)
	}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
		r.leave(tr)
		gone()
		r.addDevice()
		r.listensAgain()
	})
	more, _ := r.walk("link add", 7, func(n int) (bool, error) {
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		gone()
		return in.everywhere(n, append(kworkers(t), worker), func() error {
			if err := rdma.Host().Add(r.device.name, r.device.kind, netdevName); err != nil {
				return err
			}
			r.listensAgain()
			return nil
		})
	}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
		if err := r.visit(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
	if points == 0 || more == 0 {
		t.Errorf("%d allocations failed when the device went, %d when it came", points, more)
	}
	r.deleteReclaiming()
	// The new device's resources are not those of the old; it goes if there are none.
	if err := remove(); err != nil {
		t.Error(err)
	}
}
