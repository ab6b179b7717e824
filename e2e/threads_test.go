package e2e

// This file owns the thread ids that the modules publish: of pollers, workers
// and runs.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// threadName is what the kernel calls a thread, "" when there is none.
func threadName(t *testing.T, pid uint32) string {
	t.Helper()
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(comm))
}

func TestThreadIDs(t *testing.T) {
	r := newRig(t)
	made := r.add(ctl.ReceiverConfig{Pollers: u32(2)})
	rcv := r.receiver()
	if made.WorkerPID != rcv.WorkerPID || len(rcv.PollerPIDs) != 2 {
		t.Fatalf("made with worker %d; now %d, pollers %v", made.WorkerPID, rcv.WorkerPID, rcv.PollerPIDs)
	}
	run := r.heldRuns(1, ctl.RunConfig{Count: ptr(uint64(1))})[0]
	for pid, want := range map[uint32]string{
		rcv.WorkerPID:     "rxpost_r0",
		rcv.PollerPIDs[0]: "rxpost_r0/0",
		rcv.PollerPIDs[1]: "rxpost_r0/1",
		run.PID:           fmt.Sprint("rxps/", run.ID),
	} {
		if got := threadName(t, pid); got != want {
			t.Errorf("thread %d is %q, not %q", pid, got, want)
		}
	}
	r.release()
	ended, err := r.ctl.WaitRun(r.ctx, run.ID)
	if err != nil || ended.PID != 0 {
		t.Errorf("a run that is done has thread %d, error %v", ended.PID, err)
	}
	r.deleteSoon()
	r.must("the threads to end with their receiver", func() error {
		for _, pid := range append(rcv.PollerPIDs, rcv.WorkerPID) {
			if name := threadName(t, pid); strings.HasPrefix(name, "rxpost_r0") {
				return fmt.Errorf("thread %d: %s", pid, name)
			}
		}
		return nil
	})
}
