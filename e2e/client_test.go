package e2e

// This file owns clients that others wrote, Debian's rdmacm-utils, each a
// process: rdma_client, which sends one message of 16 bytes and waits for an
// answer; rping, which sends one of 16 bytes and wants its memory read; cmtime,
// which connects a hundred times and sends nothing.

import (
	"bytes"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

// foreign makes a command of a client; out is what it prints.
func (r *rig) foreign(name string, args ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	r.t.Helper()
	// Not skipped: without it nothing proves that strangers are served.
	path, err := exec.LookPath(name)
	if err != nil {
		r.t.Fatalf("the VM lacks %s: rxvm --add /usr/bin/%[1]s --add-rdma-userland", name)
	}
	cmd = exec.CommandContext(r.ctx, path, args...)
	out = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// where is the rig's address as these clients want it.
func where(addr, port string) []string {
	return []string{addr, listenAddr.Addr().String(), port, strconv.Itoa(int(listenAddr.Port()))}
}

// startDebianClient starts rdma_client.
func (r *rig) startDebianClient() *exec.Cmd {
	r.t.Helper()
	cmd, _ := r.foreign("rdma_client", where("-s", "-p")...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd
}

// debianClient starts rdma_client and waits for its message, r0's first.
func (r *rig) debianClient() *exec.Cmd {
	r.t.Helper()
	cmd := r.startDebianClient()
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

// From a receiver that answers it has what it wants, and ends well.
func TestDebianClientIsAnswered(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkEcho)})
	client, out := r.foreign("rdma_client", where("-s", "-p")...)
	bounded(t, "rdma_client", settleTime, client.Run)
	if want := "rdma_client: end 0\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("rdma_client says %q, want %q", out, want)
	}
	rcv := r.alone()
	if c := rcv.Counters; c.Messages != 1 || c.Bytes != 16 || c.Accepted != 1 {
		t.Errorf("counters: %+v", c)
	}
	if l := rcv.Sends; l == nil || l.Posted != 1 || l.Completed != 1 || l.Outstanding != 0 {
		t.Errorf("answers: %+v", l)
	}
	r.deleteSoon()
}

// A hundred connections of one process: all are served, and all end in order,
// each of whose receives is flushed.
func TestCMTime(t *testing.T) {
	r := newRig(t)
	const conns, depth = 100, 16
	r.add(ctl.ReceiverConfig{Depth: ptr(uint32(depth)), Sink: ptr(ctl.SinkVerify), MaxConns: ptr(uint32(conns))})
	client, out := r.foreign("cmtime", append(where("-s", "-p"), "-c", strconv.Itoa(conns))...)
	bounded(t, "cmtime", settleTime, client.Run)
	for _, step := range []string{"connect", "disconnect", "destroy"} {
		if !strings.Contains(out.String(), step) {
			t.Errorf("cmtime reports no %q:\n%s", step, out)
		}
	}
	rcv := r.alone()
	if c := rcv.Counters; c.Accepted != conns || c.Rejected != 0 || c.Messages != 0 {
		t.Errorf("counters: %+v", c)
	}
	want := ctl.Ledger{Posted: conns * depth, Flushed: conns * depth}
	if rcv.Ledger != want || rcv.Mappings != 0 || rcv.Memory != 0 {
		t.Errorf("receiver: %+v, want ledger %+v", rcv, want)
	}
	r.deleteSoon()
}

// rping asks for what a receiver does not do, and waits. A deletion ends the
// wait: it is told, and exits by itself.
func TestRping(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	client, out := r.foreign("rping", append(where("-a", "-p"), "-c", "-C", "1")...)
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	r.await("one message", func() bool { return r.receiver().Counters.Messages == 1 })
	if c := r.receiver().Counters; c.Bytes != 16 || c.Unrecognised != 1 || c.Damaged != 0 {
		t.Errorf("counters: %+v", c)
	}
	if ledger := r.deleteSoon(); ledger.Completed != 1 || ledger.Flushed != ledger.Posted-1 {
		t.Errorf("ledger: %+v", ledger)
	}
	bounded(t, "rping's end", slack, func() error {
		if err := client.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			return err
		}
		return nil
	})
	if !client.ProcessState.Exited() || !strings.Contains(out.String(), "client DISCONNECT EVENT") {
		t.Errorf("rping: %v:\n%s", client.ProcessState, out)
	}
}
