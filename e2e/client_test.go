package e2e

// This file owns a client that others wrote: Debian's rdma_client, which sends
// one message of 16 bytes and waits for an answer that no receiver gives.

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// debianClient starts rdma_client and waits for its message.
func (r *rig) debianClient() *exec.Cmd {
	r.t.Helper()
	// Not skipped: without it nothing proves that strangers are served.
	client, err := exec.LookPath("rdma_client")
	if err != nil {
		r.t.Fatal("the VM lacks rdma_client: rxvm --add /usr/bin/rdma_client --add-rdma-userland")
	}
	cmd := exec.CommandContext(r.ctx, client, "-s", listenAddr.Addr().String(),
		"-p", strconv.Itoa(int(listenAddr.Port())))
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.await("one message", func() bool { return r.receiver().Counters.Messages == 1 })
	return cmd
}

// kill ends a process as a crash would: the kernel cleans up after it.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	bounded(t, "end of "+cmd.Path, slack, func() error {
		_ = cmd.Wait() // "signal: killed"
		return nil
	})
}

func TestDebianClient(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	client := r.debianClient()
	c := r.receiver().Counters
	if c.Bytes != 16 || c.Unrecognised != 1 || c.Damaged != 0 || c.Verified != 0 {
		t.Errorf("counters: %+v", c)
	}
	conns := r.conns()
	if len(conns) != 1 || !conns[0].Foreign || conns[0].Ledger.Completed != 1 || conns[0].PeerAddr != listenAddr.Addr() {
		t.Errorf("connections: %+v", conns)
	}
	if ledger := r.deleteSoon(); ledger.Completed != 1 {
		t.Errorf("ledger: %+v", ledger)
	}
	// It waits on: it looks for its answer alone and not for a disconnect.
	kill(t, client)
}

// The real thing: a process that crashes with a connection open.
func TestDebianClientKilled(t *testing.T) {
	r := newRig(t)
	events := r.listen()
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	kill(t, r.debianClient())
	if ev := events.next(ctl.EventTypeConnDown); ev.Reason != "the peer disconnected" || ev.Ledger.Completed != 1 {
		t.Errorf("event: %+v, ledger %+v", ev, ev.Ledger)
	}
	// It is as good as new for the next one.
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}
