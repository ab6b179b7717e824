package e2e

// This file owns fuzzers without privilege. Each is a process of its own: this
// program, started again.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// strangerVariable has what a stranger is to do, as JSON.
const strangerVariable = "RXPOST_STRANGER"

// stranger is a fuzzer without privilege, and what came of it.
type stranger struct {
	Name    string
	Absent  bool // its network namespace has none of the families
	IDs     map[string]uint16
	Seed    uint64
	Stream  uint64
	Time    time.Duration
	Bound   time.Duration
	Made    int
	Slowest time.Duration
	Failure string
}

// beStranger does what the variable says and returns the exit status.
func beStranger(job string) int {
	var s stranger
	if err := json.Unmarshal([]byte(job), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	families, err := readFamilies(s.IDs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	w := newFuzzWorker(s.Name, newFuzzer(s.Seed, s.Stream, families), caller{absent: s.Absent}, s.Bound)
	ctx, cancel := context.WithTimeout(context.Background(), s.Time)
	defer cancel()
	if err := w.work(ctx); err != nil {
		s.Failure = err.Error()
	}
	s.Made, s.Slowest = w.made, w.slowest
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		return 2
	}
	return 0
}

// strangers are the kinds of them: nobody; root of a user namespace, which is
// nobody outside; and the same with a network of its own.
func strangers() map[string]*syscall.SysProcAttr {
	rootOf := func(namespaces uintptr) *syscall.SysProcAttr {
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
		return &syscall.SysProcAttr{Cloneflags: namespaces, UidMappings: ids, GidMappings: ids}
	}
	return map[string]*syscall.SysProcAttr{
		"nobody":      {Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
		"user-ns":     rootOf(syscall.CLONE_NEWUSER),
		"user-net-ns": rootOf(syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET),
	}
}

// strangersIn starts a fuzzer of each of these kinds. The function that it returns waits for them
// and returns how many requests they made.
func (r *rig) strangersIn(seed uint64, families []*nlFamily, d time.Duration, kinds ...string) (wait func() int) {
	r.t.Helper()
	ids := map[string]uint16{}
	for _, f := range families {
		ids[f.name] = f.id
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, stream := 0, uint64(100)
	for _, name := range kinds {
		attr := strangers()[name]
		stream++
		s := stranger{Name: name, Absent: name == "user-net-ns", IDs: ids, Seed: seed, Stream: stream, Time: d, Bound: slack}
		wg.Go(func() {
			got := r.lead(s, attr)
			mu.Lock()
			defer mu.Unlock()
			made += got
		})
	}
	return func() int { wg.Wait(); return made }
}

// lead runs one stranger.
func (r *rig) lead(s stranger, attr *syscall.SysProcAttr) int {
	t := r.t
	job, err := json.Marshal(s)
	if err != nil {
		t.Error(err)
		return 0
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(r.ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), strangerVariable+"="+string(job))
	cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = attr, &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v: %s", s.Name, err, errOut.String())
		return 0
	}
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Errorf("%s: %v: %s", s.Name, err, out.String())
		return 0
	}
	if s.Failure != "" {
		t.Errorf("stream %d: %s", s.Stream, s.Failure)
	}
	t.Logf("%s: %d requests, the slowest exchange took %v", s.Name, s.Made, s.Slowest)
	if s.Made == 0 {
		t.Errorf("%s asked for nothing", s.Name)
	}
	return s.Made
}

// Whoever has no privilege changes nothing, whatever they send.
func TestFuzzWithoutPrivilege(t *testing.T) {
	r := newRig(t)
	seed := dice(t).Uint64()
	r.addSmall(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	world, resources := r.world(), r.resources()
	made := r.strangersIn(seed, loadedFamilies(t), lasting(5*time.Second), slices.Sorted(maps.Keys(strangers()))...)()
	r.unchanged("requests without privilege", world, resources)
	if runs, err := r.ctl.Runs(r.ctx); err != nil || len(runs) != 0 {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	figure(t, "netlink messages", made)
	r.send(ctl.RunConfig{Count: ptr(uint64(100))})
	r.deleteSoon()
}
