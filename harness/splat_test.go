package harness

// This file owns the scanner's tests: what must be found, and what must not.

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScannerFinds(t *testing.T) {
	tests := []struct {
		name, line, rule string
	}{
		{"warning", "[   12.345678] WARNING: CPU: 1 PID: 145 at kmod/queue.c:48 rxpost_queue_destroy+0xc0/0xff0 [rxpost_recv]", "WARNING"},
		{"warning with the printing task", "[   12.345678][  T145] WARNING: CPU: 1 PID: 145 at kmod/queue.c:48 f+0x1/0x2", "WARNING"},
		{"null pointer", "[    5.1] BUG: kernel NULL pointer dereference, address: 0000000000000008", "BUG"},
		{"page fault", "[    5.100000] BUG: unable to handle page fault for address: ffffc90000a3f000", "BUG"},
		{"BUG_ON", "[    5.100000] kernel BUG at drivers/infiniband/core/cq.c:330!", "BUG"},
		{"slab", "[    5.100000] BUG kmalloc-64 (Tainted: G    B      OE     ): Right Redzone overwritten", "BUG"},
		{"oops on 6.1", "[    5.100000] Oops: 0002 [#1] PREEMPT SMP NOPTI", "oops"},
		{"oops on 6.12", "[    5.100000] Oops: Oops: 0002 [#1] PREEMPT SMP NOPTI", "oops"},
		{"invalid opcode", "[    5.100000] invalid opcode: 0000 [#1] PREEMPT SMP NOPTI", "oops"},
		{"arm", "[    5.100000] Unable to handle kernel paging request at virtual address dead000000000100", "oops"},
		{"protection fault on 6.1", "[    5.100000] general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] SMP", "protection fault"},
		{"protection fault on 6.12", "[    5.100000] Oops: general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP", "protection fault"},
		{"KASAN", "[    9.000001] BUG: KASAN: slab-use-after-free in rxpost_poll+0x1f/0x80 [rxpost_recv]", "KASAN"},
		{"KFENCE", "[    9.000001] BUG: KFENCE: use-after-free read in f+0x1/0x2", "kfence"},
		{"UBSAN", "[    9.000001] UBSAN: shift-out-of-bounds in kmod/wr_id.h:31:9", "UBSAN"},
		{"recursive lock", "[    9.000001] WARNING: possible recursive locking detected", "lockdep"},
		{"circular lock", "[    9.000001] WARNING: possible circular locking dependency detected", "lockdep"},
		{"RCU usage", "[    9.000001] WARNING: suspicious RCU usage", "lockdep"},
		{"lock state", "[    9.000001] WARNING: inconsistent lock state", "lockdep"},
		{"lock order", "[    9.000001] WARNING: SOFTIRQ-safe -> SOFTIRQ-unsafe lock order detected", "lockdep"},
		{"lock left held", "[    9.000001] WARNING: lock held when returning to user space!", "lockdep"},
		{"unlock", "[    9.000001] WARNING: bad unlock balance detected!", "lockdep"},
		{"key", "[    9.000001] INFO: trying to register non-static key.", "lockdep"},
		{"wait context", "[    9.000001] [ BUG: Invalid wait context ]", "lockdep"},
		{"DMA-API", "[    9.000001] DMA-API: rxe0: device driver failed to check map error[device address=0x0000000012345678]", "DMA-API"},
		{"DMA-API with the device", "[    9.000001] rxe rxe0: DMA-API: device driver frees DMA memory it has not allocated", "DMA-API"},
		{"refcount", "[    9.000001] refcount_t: underflow; use-after-free.", "refcount"},
		{"kmemleak's report", "[    9.000001] unreferenced object 0xffff888003a3c000 (size 64):", "leak"},
		{"kmemleak", "[    9.000001] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)", "leak"},
		{"device kept", "[   30.000001] unregister_netdevice: waiting for net0 to become free. Usage count = 2", "leak"},
		{"hung task", "[  242.000001] INFO: task rxctl:145 blocked for more than 120 seconds.", "hung task"},
		{"soft lockup", "[   30.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [rxpost/0:145]", "soft lockup"},
		{"hard lockup", "[   30.000001] NMI watchdog: Watchdog detected hard LOCKUP on cpu 0", "hard lockup"},
		{"workqueue", "[   30.000001] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 33s!", "workqueue lockup"},
		{"RCU self", "[   30.000001] rcu: INFO: rcu_preempt self-detected stall on CPU", "RCU stall"},
		{"RCU others", "[   30.000001] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "RCU stall"},
		{"RCU expedited", "[   30.000001] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 0-... } 21 jiffies", "RCU stall"},
		{"atomic", "[    9.000001] BUG: scheduling while atomic: rxpost/0/145/0x00000002", "atomic sleep"},
		{"sleeping", "[    9.000001] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580", "atomic sleep"},
		{"list add", "[    9.000001] list_add corruption. prev->next should be next (ffff88), but was dead.", "list corruption"},
		{"list del", "[    9.000001] list_del corruption, ffff888003a3c000->next is LIST_POISON1 (dead000000000100)", "list corruption"},
		{"panic", "[    9.000001] Kernel panic - not syncing: Fatal exception", "panic"},
		{"bare trace", "[    9.000001] Call Trace:", "call trace"},
		{"no time stamp", "WARNING: CPU: 0 PID: 1 at init/main.c:1", "WARNING"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScanner()
			s.Line(tt.line)
			var got []string
			for _, sp := range s.Splats() {
				got = append(got, sp.Rule)
			}
			if diff := cmp.Diff([]string{tt.rule}, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScannerIgnores(t *testing.T) {
	tests := []struct {
		name string
		text string
	}{
		{"boot", `[    0.000000] Linux version 6.12.117+deb12-amd64 #1 SMP PREEMPT_DYNAMIC
[    0.000000] Command line: console=ttyS0 panic=-1 oops=panic
[    0.020376] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible
[    0.522909] NMI watchdog: Perf NMI watchdog permanently disabled
[    3.619074] x86/mm: Checked W+X mappings: passed, no W+X pages found.
[    0.000000] Spectre V1 : Mitigation: usercopy/swapgs barriers and __user pointer sanitization
[    4.138786] reboot: Power down`},
		{"debug kernel's boot", `[    0.100000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
[    0.100000] kasan: KernelAddressSanitizer initialized
[    0.100000] DMA-API: preallocated 65536 debug entries
[    0.100000] DMA-API: debugging enabled by kernel config
[    0.100000] kmemleak: Kernel memory leak detector initialized (mem pool available: 15679)
[    0.100000] rcu: RCU lockdep checking is enabled.
[    0.100000] ** This means that this kernel is built for debugging **`},
		{"a program's own fault", `[    7.000000] traps: crasher[151] general protection fault ip:401136 sp:7ffd error:0 in crasher[401000+1000]
[    7.000000] crasher[152]: segfault at 0 ip 0000000000401136 sp 00007ffd error 6 in crasher[401000+1000]`},
		{"our own words", `[    7.000000] rxpost_recv: receiver r0: drain took too long, 3 receives reclaimed on rxe0 QP 17
[    7.000000] rig: TestBUG: begins
[    7.000000] rxpost_recv: loading out-of-tree module taints kernel.
[    7.000000] rxpost_recv: module verification failed: signature and/or required key missing - tainting kernel`},
		{"injected failure", `[    7.000000] FAULT_INJECTION: forcing a failure.
[    7.000000] name failslab, interval 1, probability 0, space 0, times 0
[    7.000000] CPU: 0 UID: 0 PID: 151 Comm: rxctl
[    7.000000] Call Trace:
[    7.000000]  <TASK>
[    7.000000]  dump_stack_lvl+0x5d/0x80
[    7.000000]  should_failslab+0x5/0x10
[    7.000000]  </TASK>
[    7.000000] rxpost_recv: r0: no memory`},
		{"no pages", `[    7.000000] rxpost_r0: vmalloc error: size 4096, failed to allocate pages, mode:0xdc2(GFP_KERNEL|__GFP_HIGHMEM|__GFP_ZERO), nodemask=(null)
[    7.000000] CPU: 0 UID: 0 PID: 151 Comm: rxpost_r0
[    7.000000] Call Trace:
[    7.000000]  <TASK>
[    7.000000]  warn_alloc+0x1b3/0x300
[    7.000000]  </TASK>
[    7.000000] Mem-Info:`},
		{"no room in 7.3", `[    7.000000] rxps/w_0: vmalloc error: size 12288, align 0x4000, vm_struct allocation failed, mode:0xdc2(GFP_KERNEL|__GFP_HIGHMEM|__GFP_ZERO), nodemask=(null)
[    7.000000] Call Trace:
[    7.000000]  <TASK>
[    7.000000]  warn_alloc+0xee/0x110
[    7.000000]  </TASK>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScanner()
			for l := range strings.Lines(tt.text) {
				s.Line(l)
			}
			for _, sp := range s.Splats() {
				t.Errorf("%s: %q", sp.Rule, sp.Lines[0])
			}
		})
	}
}

func TestScannerKeepsTraceTogether(t *testing.T) {
	const text = `[    7.0] before
[    7.1] ------------[ cut here ]------------
[    7.2] WARNING: CPU: 1 PID: 145 at kmod/a.c:1 f+0x1/0x2
[    7.3] Call Trace:
[    7.4]  <TASK>
[    7.5]  f+0x1/0x2
[    7.6]  </TASK>
[    7.7] ---[ end trace 0000000000000000 ]---
[    7.8] after
[    7.9] FAULT_INJECTION: forcing a failure.
[    8.0] Call Trace:
[    8.1]  </TASK>
[    8.2] Call Trace:
`
	s := NewScanner()
	for l := range strings.Lines(text) {
		s.Line(l)
	}
	want := []Splat{
		{Rule: "WARNING", Lines: []string{
			"WARNING: CPU: 1 PID: 145 at kmod/a.c:1 f+0x1/0x2", "Call Trace:", " <TASK>", " f+0x1/0x2", " </TASK>",
		}},
		{Rule: "call trace", Lines: []string{"Call Trace:"}},
	}
	if diff := cmp.Diff(want, s.Splats()); diff != "" {
		t.Errorf("splats (-want +got):\n%s", diff)
	}
}

// What WARN() was given to say stands before the line that gives it away.
func TestScannerKeepsText(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Splat
	}{
		{"text", `[    7.0] before
[    7.1] ------------[ cut here ]------------
[    7.2] queue destroyed with 3 receives outstanding
[    7.2] second line
[    7.3] WARNING: CPU: 1 PID: 145 at kmod/a.c:1 f+0x1/0x2
[    7.4] ---[ end trace 0000000000000000 ]---
[    7.5] WARNING: CPU: 1 PID: 145 at kmod/b.c:1 g+0x1/0x2`, []Splat{
			{
				Rule: "WARNING", Text: []string{"queue destroyed with 3 receives outstanding", "second line"},
				Lines: []string{"WARNING: CPU: 1 PID: 145 at kmod/a.c:1 f+0x1/0x2", "---[ end trace 0000000000000000 ]---"},
			},
			{Rule: "WARNING", Lines: []string{"WARNING: CPU: 1 PID: 145 at kmod/b.c:1 g+0x1/0x2"}},
		}},
		{"after an unended one", `BUG: one
------------[ cut here ]------------
two
kernel BUG at kmod/a.c:1!`, []Splat{
			{Rule: "BUG", Lines: []string{"BUG: one"}},
			{Rule: "BUG", Text: []string{"two"}, Lines: []string{"kernel BUG at kmod/a.c:1!"}},
		}},
		{"too far away", "------------[ cut here ]------------\n" + strings.Repeat("x\n", maxSplatText+1) + "BUG: one",
			[]Splat{{Rule: "BUG", Lines: []string{"BUG: one"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScanner()
			for l := range strings.Lines(tt.text) {
				s.Line(l)
			}
			if diff := cmp.Diff(tt.want, s.Splats()); diff != "" {
				t.Errorf("splats (-want +got):\n%s", diff)
			}
		})
	}
}

// A report shows the text of every splat, and the trace of the first ones.
func TestSplatError(t *testing.T) {
	s := Splat{Rule: "WARNING", Text: []string{"text"}, Lines: []string{"WARNING: x", "Call Trace:"}}
	got := (&SplatError{Splats: []Splat{s, s, s}, Ended: "exit status 0"}).Error()
	const whole, short = "\n--- WARNING\n  text\n  WARNING: x\n  Call Trace:", "\n--- WARNING\n  text\n  WARNING: x"
	if want := "kernel splat: 3 on the console (exit status 0)" + whole + whole + short; got != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// KASAN's report has its best part behind the first trace, and ends with a line of
// its own.
func TestScannerKeepsWhoFreed(t *testing.T) {
	const report = "BUG: KASAN: slab-use-after-free in f+0x1/0x2\nCall Trace:\n <TASK>\n f+0x1/0x2\n </TASK>\n" +
		"\nFreed by task 7:\n kfree+0x1/0x2\n"
	s := NewScanner()
	for line := range strings.Lines(strings.Repeat("=", 66) + "\n" + report + strings.Repeat("=", 66) + "\nnot of it\n") {
		s.Line(line)
	}
	want := append(strings.Split(strings.TrimSuffix(report, "\n"), "\n"), strings.Repeat("=", 66))
	if len(s.Splats()) != 1 {
		t.Fatalf("%d splats", len(s.Splats()))
	}
	if diff := cmp.Diff(want, s.Splats()[0].Lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScannerIsBounded(t *testing.T) {
	s := NewScanner()
	for range 100 {
		s.Line("------------[ cut here ]------------")
		s.Line("WARNING: CPU: 0 PID: 1 at a.c:1")
		for range 1000 {
			s.Line("more")
		}
	}
	if n := len(s.Splats()); n != maxSplats {
		t.Errorf("%d splats, want %d", n, maxSplats)
	}
	if n := len(s.Splats()[0].Lines); n != maxSplatLines {
		t.Errorf("%d lines, want %d", n, maxSplatLines)
	}
}
