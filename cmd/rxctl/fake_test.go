// This file owns what commands talk to in tests, and how they are run.

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rxpost/rxpost/ctl"
	"github.com/rxpost/rxpost/internal/rdma"
)

// fakeClient answers with what it holds and remembers what it was asked.
type fakeClient struct {
	err       error // of every request
	receivers []ctl.Receiver
	conns     []ctl.Conn
	run       ctl.Run
	rtt       []ctl.RTTBucket
	gone      ctl.Event
	events    []ctl.Event
	block     bool // waits last until their context ends

	config  ctl.ReceiverConfig
	runs    ctl.RunConfig
	started int  // runs, numbered from 7
	ready   bool // all of them were waited for
	free    bool // all of them were let go
	stopped bool
	asked   uint64 // for one receiver, which works on meanwhile
	closed  bool
}

func (f *fakeClient) Receivers(context.Context) ([]ctl.Receiver, error) { return f.receivers, f.err }

func (f *fakeClient) Receiver(context.Context, string) (ctl.Receiver, error) {
	r := testReceiver()
	r.Counters.Messages += 5000 * f.asked
	r.Counters.PostCalls += 400 * f.asked
	f.asked++
	return r, f.err
}

func (f *fakeClient) Add(_ context.Context, cfg ctl.ReceiverConfig) (ctl.Receiver, error) {
	f.config = cfg
	return testReceiver(), f.err
}

func (f *fakeClient) Set(_ context.Context, cfg ctl.ReceiverConfig) error {
	f.config = cfg
	return f.err
}

func (f *fakeClient) Delete(ctx context.Context, _ string) (ctl.Event, error) {
	if f.block {
		<-ctx.Done()
		return ctl.Event{}, ctx.Err()
	}
	return f.gone, f.err
}

func (f *fakeClient) DeleteNoWait(context.Context, string) (uint32, error) { return 1, f.err }

func (f *fakeClient) Conns(context.Context, string) ([]ctl.Conn, error) { return f.conns, f.err }

func (f *fakeClient) Conn(_ context.Context, name string, index uint32) (ctl.Conn, error) {
	c := testConn()
	c.ReceiverName, c.Index = name, index
	return c, f.err
}

func (f *fakeClient) Stats(context.Context, string) (ctl.Stats, error) { return testStats(), f.err }

func (f *fakeClient) Info(context.Context) (ctl.Info, error) {
	return ctl.Info{ABI: 1, Version: "0.1.0", MemoryLimit: 1 << 30, Receivers: 1}, f.err
}

func (f *fakeClient) StartRun(_ context.Context, cfg ctl.RunConfig) (uint32, error) {
	f.runs = cfg
	f.started++
	return uint32(6 + f.started), f.err
}

func (f *fakeClient) ReleaseRuns(context.Context) error {
	f.free = f.ready
	return f.err
}

func (f *fakeClient) StopRun(_ context.Context, id uint32) error {
	f.stopped = id == uint32(6+f.started)
	return f.err
}

func (f *fakeClient) Run(context.Context, uint32) (ctl.Run, error) { return f.run, f.err }

func (f *fakeClient) Runs(context.Context) ([]ctl.Run, error) {
	runs := []ctl.Run{{ID: 1, Completed: 1e6}} // somebody else's
	for i := range f.started {
		r := f.run
		r.ID = uint32(7 + i)
		runs = append(runs, r)
	}
	return runs, f.err
}

func (f *fakeClient) ReadyRuns(ctx context.Context, ids ...uint32) ([]ctl.Run, error) {
	f.ready = len(ids) == f.started
	runs := make([]ctl.Run, len(ids))
	for i := range runs {
		runs[i].State = ctl.RunStateReady
	}
	return runs, f.err
}

func (f *fakeClient) WaitRuns(ctx context.Context, ids ...uint32) ([]ctl.Run, error) {
	if f.block && !f.stopped {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	runs := make([]ctl.Run, len(ids))
	for i, id := range ids {
		runs[i] = f.run
		runs[i].ID = id
	}
	return runs, f.err
}

func (f *fakeClient) RTT(context.Context, uint32) ([]ctl.RTTBucket, error) { return f.rtt, f.err }

func (f *fakeClient) Watch(context.Context) (watcher, error) { return f, f.err }

// All yields the events and then the end of a watch that was interrupted.
func (f *fakeClient) All() iter.Seq2[ctl.Event, error] {
	return func(yield func(ctl.Event, error) bool) {
		for _, e := range f.events {
			if !yield(e, nil) {
				return
			}
		}
		yield(ctl.Event{}, context.Canceled)
	}
}

func (f *fakeClient) Close() error {
	f.closed = true
	return nil
}

// fakeDevices is a host with one device.
type fakeDevices struct{ err error }

func (f fakeDevices) Add(_, _, _ string) error { return f.err }
func (f fakeDevices) Delete(string) error      { return f.err }

func (f fakeDevices) List() ([]rdma.Device, error) {
	return []rdma.Device{{
		Name: "rxe0", Index: 3, State: "ACTIVE", Netdev: "eth0", NodeGUID: "5054:00ff:fe12:3456",
		Resources: map[string]uint64{"pd": 2, "cq": 3, "qp": 1, "cm_id": 4},
	}}, f.err
}

func (f fakeDevices) Counters(string) (map[string]uint64, error) {
	return map[string]uint64{"send_rnr_err": 47}, f.err
}

// fakeSys is a sysfs with one RDMA device, two network devices and five CPUs.
func fakeSys() fs.FS {
	sys := fstest.MapFS{}
	for path, text := range map[string]string{
		"class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0": "eth0\n",
		"class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1": "eth0\n",
		"class/net/eth0/ifindex":                          "2\n",
		"class/net/lo/ifindex":                            "1\n",
		"devices/system/cpu/online":                       "0-2,8-9\n",
	} {
		sys[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return sys
}

// fakeAddrs are the addresses of eth0.
func fakeAddrs(netdev string) ([]net.Addr, error) {
	if netdev != "eth0" {
		return nil, fmt.Errorf("no network device %s", netdev)
	}
	var addrs []net.Addr
	for _, text := range []string{"10.9.0.1/24", "fd00::1/64", "fe80::1/64"} {
		ip, network, err := net.ParseCIDR(text)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	return addrs, nil
}

// result is what a command line left behind.
type result struct {
	status         int
	stdout, stderr string
}

// rxctl runs one command line against a fake.
func rxctl(ctx context.Context, f *fakeClient, args ...string) result {
	var stdout, stderr bytes.Buffer
	env := &environment{
		stdout: &stdout, stderr: &stderr, version: "v1",
		dial:    func() (client, error) { return f, nil },
		passive: func() (client, error) { return f, nil },
		devices: fakeDevices{},
		sys:     fakeSys(),
		addrs:   fakeAddrs,
	}
	status := run(ctx, env, args)
	return result{status, stdout.String(), stderr.String()}
}

// want fails the test unless a command ended with status and no complaint that
// was not expected.
func (r result) want(t *testing.T, status int) {
	t.Helper()
	if r.status != status || (r.stderr == "") != (status == exitDone) {
		t.Fatalf("exit status %d, want %d; stderr: %q", r.status, status, r.stderr)
	}
}

// testLedger is a balanced ledger.
func testLedger() ctl.Ledger {
	return ctl.Ledger{Posted: 1256, Completed: 1000, Outstanding: 256, Slots: 256}
}

// testReceiver is a receiver at work.
func testReceiver() ctl.Receiver {
	return ctl.Receiver{
		ID: 1, Name: "r0", Device: "rxe0", Addr: netip.MustParseAddr("10.9.0.1"), Port: 7471,
		Depth: 256, DepthMax: 512, Batch: 16, BatchTimeout: 50, LowWater: 64, SlotSize: 4096, MaxConns: 128,
		Pollers: 1, Budget: 16, Spin: 50, Sink: ctl.SinkVerify, RNRTimer: 640, RNRRetry: new(uint32(7)), DrainTimeout: 5000,
		RNREffective: 4000, Conns: 1, Memory: 1 << 20, MemoryMax: 258 << 20, Mappings: 256, CQE: 32767,
		Ledger: testLedger(), Counters: ctl.Counters{Messages: 1000, Bytes: 64000, PostCalls: 80, PostWRs: 1256, Lowest: new(uint32(240))},
		Segments: []uint32{4096}, CPUs: []uint32{}, Allow: []netip.Prefix{}, PollerPIDs: []uint32{123}, WorkerPID: 122,
	}
}

// testStats are the histograms of testReceiver.
func testStats() ctl.Stats {
	return ctl.Stats{
		ReceiverID: 1, ReceiverName: "r0", Chain: []ctl.ChainCount{{Length: 16, Count: 78}, {Length: 4, Count: 2}},
		Status: []ctl.StatusCount{{Status: ctl.WCSuccess, Count: 1000}}, Errno: []ctl.ErrnoCount{{Errno: ctl.Errno(syscall.ENOMEM), Count: 2}},
	}
}

// testConn is a connection of testReceiver.
func testConn() ctl.Conn {
	return ctl.Conn{
		ReceiverID: 1, ReceiverName: "r0", Index: 1, Generation: 4, State: ctl.ConnStateLive, QPN: 17,
		PeerAddr: netip.MustParseAddr("10.9.0.2"), PeerPort: 4000, Foreign: true, RQAsked: 256, RQGranted: 511,
		IdleMS: new(uint64(20)), AgeMS: 1500, Ledger: testLedger(), Counters: testReceiver().Counters, RNRTimer: 640,
	}
}

// testRun is a finished run.
func testRun() ctl.Run {
	return ctl.Run{
		ID: 7, Size: 64, Count: 1000, State: ctl.RunStateDone, Posted: 1000, Completed: 1000, Bytes: 64000,
		PostCalls: 63, Elapsed: 500 * time.Millisecond, Status: []ctl.StatusCount{{Status: ctl.WCSuccess, Count: 1000}},
	}
}
