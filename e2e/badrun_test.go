package e2e

// This file owns what a run of the traffic source is refused for, and how one
// ends that finds nobody.

import (
	"net/netip"
	"os"
	"syscall"
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

func TestRunRefused(t *testing.T) {
	r := newRig(t)
	at := func(addr string) netip.AddrPort { return netip.MustParseAddrPort(addr) }
	for _, tt := range []struct {
		cfg      ctl.RunConfig
		sentence string
	}{
		{ctl.RunConfig{Size: u32(1<<20 + 1)}, "size: a message has at most 1 MiB"},
		{ctl.RunConfig{InFlight: u32(0)}, "in-flight: must be 1 to 4096"},
		{ctl.RunConfig{InFlight: u32(4097)}, "in-flight: must be 1 to 4096"},
		{ctl.RunConfig{Batch: u32(0)}, "batch: must be 1 to 64"},
		{ctl.RunConfig{Batch: u32(65)}, "batch: must be 1 to 64"},
		{ctl.RunConfig{Batch: u32(9), InFlight: u32(8)}, "batch: must not exceed in-flight"},
		{ctl.RunConfig{Size: u32(1 << 20), InFlight: u32(257)}, "size: size times in-flight must not exceed 256 MiB"},
		{ctl.RunConfig{Rate: ptr(uint64(1e9 + 1))}, "rate: at most 1000000000 messages a second"},
		{ctl.RunConfig{ConnectTimeout: ptr(ctl.Milliseconds(9))}, "connect-timeout-ms: must be 10 to 600000"},
		{ctl.RunConfig{DrainTimeout: ptr(ctl.Milliseconds(600001))}, "drain-timeout-ms: must be 10 to 600000"},
		{ctl.RunConfig{Addr: at("10.9.0.1:0")}, "port: must not be 0"},
		{ctl.RunConfig{Addr: at("0.0.0.0:7471")}, "addr: must be the address of one host"},
		{ctl.RunConfig{Addr: at("[::]:7471")}, "addr: must be the address of one host"},
		{ctl.RunConfig{Addr: at("224.0.0.1:7471")}, "addr: must be the address of one host"},
		{ctl.RunConfig{Addr: at("[fe80::1]:7471")}, "addr: a link-local address cannot be used"},
	} {
		if !tt.cfg.Addr.IsValid() {
			tt.cfg.Addr = listenAddr
		}
		_, err := r.ctl.StartRun(r.ctx, tt.cfg)
		refused(t, err, syscall.EINVAL, tt.sentence)
	}
	err := r.ctl.StopRun(r.ctx, 1<<31)
	refused(t, err, syscall.ENOENT, "id: no such run")
	runs, err := r.ctl.Runs(r.ctx)
	if err != nil || len(runs) != 0 {
		t.Errorf("runs: %+v, %v", runs, err)
	}
}

// The buffers of all runs together are bounded; a run that is done makes room.
func TestRunMemoryBound(t *testing.T) {
	r := newRig(t)
	const file = "/sys/module/rxpost_send/parameters/memory_limit_mb"
	setLimit := func(mb string) {
		if err := os.WriteFile(file, []byte(mb), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { setLimit("0") })
	setLimit("1")
	r.add(ctl.ReceiverConfig{})
	first := r.start(ctl.RunConfig{Size: u32(4096), InFlight: u32(128)})
	half := ctl.RunConfig{Addr: listenAddr, Size: u32(4096), InFlight: u32(129), Count: ptr(uint64(10))}
	_, err := r.ctl.StartRun(r.ctx, half)
	refused(t, err, syscall.ENOSPC, "buffers of all runs would exceed memory_limit_mb")
	if err := r.ctl.StopRun(r.ctx, first); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ctl.WaitRun(r.ctx, first); err != nil {
		t.Fatal(err)
	}
	r.send(half)
	r.delete()
}

// A run that finds nobody ends in words, in its own time, with nothing sent.
func TestRunFindsNobody(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		addr, sentence string
		errno          syscall.Errno
	}{
		{"10.9.0.1:7999", "no one listens at 10.9.0.1:7999", syscall.ECONNREFUSED},
		{"192.0.2.1:7471", "the address 192.0.2.1 could not be resolved: -ENETUNREACH", syscall.ENETUNREACH},
		{"127.0.0.1:7471", "no route to 127.0.0.1:7471: -ENODEV", syscall.ENODEV},
		{"10.9.0.77:7471", "connecting to 10.9.0.77:7471 took longer than 500 ms", syscall.ETIMEDOUT},
	} {
		id, err := r.ctl.StartRun(r.ctx, ctl.RunConfig{Addr: netip.MustParseAddrPort(tt.addr),
			ConnectTimeout: ptr(ctl.Milliseconds(500))})
		if err != nil {
			t.Fatal(err)
		}
		var run ctl.Run
		bounded(t, tt.addr, slack, func() (err error) {
			run, err = r.ctl.WaitRun(r.ctx, id)
			return err
		})
		refused(t, run.Err(), tt.errno, tt.sentence)
		if err := runSettled(run); err != nil || run.Posted != 0 {
			t.Errorf("run: %+v, %v", run, err)
		}
	}
}
