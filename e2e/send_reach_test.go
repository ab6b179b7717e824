package e2e

// This file owns opcodes that reach for a peer's memory, against a peer that
// lets them: Debian's rdma_server, which grants READs, has no key to give, and
// waits for a message that never comes.

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

var serverAddr = netip.AddrPortFrom(listenAddr.Addr(), 7472)

// debianServer starts rdma_server, which serves one connection.
func (r *rig) debianServer() (kill func()) {
	r.t.Helper()
	server, err := exec.LookPath("rdma_server")
	if err != nil {
		r.t.Fatal("the VM lacks rdma_server: rxvm --add /usr/bin/rdma_server --add-rdma-userland")
	}
	cmd := exec.CommandContext(r.ctx, server, "-s", serverAddr.Addr().String(), "-p", fmt.Sprint(serverAddr.Port()))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return func() {
		r.t.Helper()
		// It may have ended by itself, with its connection.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if r.t.Failed() {
			r.t.Logf("rdma_server: %v: %s", cmd.ProcessState, out.String())
		}
	}
}

// reach runs cfg against the server, once that listens.
func (r *rig) reach(cfg ctl.RunConfig) ctl.Run {
	r.t.Helper()
	defer r.debianServer()()
	cfg.Addr = serverAddr
	var run ctl.Run
	r.await("rdma_server listens", func() bool {
		id, err := r.ctl.StartRun(r.ctx, cfg)
		if err != nil {
			r.t.Fatal(err)
		}
		if run, err = r.ctl.WaitRun(r.ctx, id); err != nil {
			r.t.Fatal(err)
		}
		return run.Errno == nil || syscall.Errno(*run.Errno) != syscall.ECONNREFUSED
	})
	if err := runSettled(run); err != nil {
		r.t.Error(err)
	}
	return run
}

// What reaches for no memory completes; what does, without the key, does not.
func TestSendReaches(t *testing.T) {
	const refused = `a send failed with "remote access error": the peer's memory could not be accessed`
	for _, tt := range []struct {
		op    ctl.Opcode
		count uint64 // write-imm uses up the server's only receive
	}{
		{ctl.OpcodeRead, 100}, {ctl.OpcodeWrite, 100}, {ctl.OpcodeWriteImm, 1},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			r := newRig(t)
			run := r.reach(ctl.RunConfig{Opcode: &tt.op, Size: u32(0), Count: &tt.count})
			if run.Err() != nil || run.Completed != tt.count {
				t.Errorf("completed %d of %d: %v", run.Completed, tt.count, run.Err())
			}
			run = r.reach(ctl.RunConfig{Opcode: &tt.op, Size: u32(64), Count: &tt.count,
				RemoteAddr: ptr(uint64(4096)), RKey: u32(0x1234)})
			if run.Failed != 1 || run.Completed != 0 || run.Reason != refused {
				t.Errorf("run without the key: %+v, want one failed and %q", run, refused)
			}
		})
	}
}
