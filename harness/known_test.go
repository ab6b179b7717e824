package harness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Reports as kernels printed them, without lines that nobody looks at.
const (
	freed612 = `WARNING: CPU: 1 PID: 12 at drivers/infiniband/sw/rxe/rxe_task.c:38 __reserve_if_idle+0x14d/0x1a0 [rdma_rxe]
Workqueue: rxe_wq do_work [rdma_rxe]
RIP: 0010:__reserve_if_idle+0x14d/0x1a0 [rdma_rxe]
Call Trace:
 <TASK>
 rxe_sched_task+0x9f/0xf0 [rdma_rxe]
 rxe_rcv+0x824/0x18a0 [rdma_rxe]
 ? check_keys+0x380/0x380 [rdma_rxe]
 rxe_xmit_packet+0x3b8/0xaa0 [rdma_rxe]
 rxe_requester+0x1606/0x51e0 [rdma_rxe]
 ? rxe_requester+0x51e0/0x51e0 [rdma_rxe]
 rxe_sender+0x13/0x40 [rdma_rxe]
 do_task+0x151/0x490 [rdma_rxe]
 process_one_work+0x850/0x17f0
 </TASK>
`
	// Of the kernel with KCSAN, where functions are too large to become part of others.
	freedKCSAN = `WARNING: CPU: 0 PID: 221 at drivers/infiniband/sw/rxe/rxe_task.c:267 rxe_sched_task+0xa3/0xb0 [rdma_rxe]
Workqueue: rxe_wq do_work [rdma_rxe]
RIP: 0010:rxe_sched_task+0xa3/0xb0 [rdma_rxe]
Call Trace:
 <TASK>
 rxe_resp_queue_pkt+0x25/0x30 [rdma_rxe]
 rxe_rcv+0x407/0xa30 [rdma_rxe]
 rxe_xmit_packet+0x28a/0x520 [rdma_rxe]
 rxe_requester+0xd7f/0x1fb0 [rdma_rxe]
 ? wakeup_preempt+0x5b/0x70
 ? rxe_requester+0x1fb0/0x1fb0 [rdma_rxe]
 rxe_sender+0x13/0x40 [rdma_rxe]
 do_task+0xb9/0x270 [rdma_rxe]
 ? kick_pool+0xbb/0x260
 do_work+0xe/0x10 [rdma_rxe]
 process_one_work+0x369/0x780
 </TASK>
`
	freedKASAN = `BUG: KASAN: slab-use-after-free in __lock_acquire+0x4f1b/0x62d0
Read of size 8 at addr ffff888108c96740 by task kworker/u8:0/12
Call Trace:
 <TASK>
 dump_stack_lvl+0x66/0x90
 print_report+0xc4/0x600
 kasan_report+0xfe/0x130
 __lock_acquire+0x4f1b/0x62d0
 lock_acquire+0x1b6/0x500
 _raw_spin_lock_irqsave+0x42/0x60
 rxe_sched_task+0x4d/0xf0 [rdma_rxe]
 rxe_rcv+0x824/0x18a0 [rdma_rxe]
 rxe_xmit_packet+0x3b8/0xaa0 [rdma_rxe]
 rxe_requester+0x1606/0x51e0 [rdma_rxe]
 rxe_sender+0x13/0x40 [rdma_rxe]
 do_task+0x151/0x490 [rdma_rxe]
 process_one_work+0x850/0x17f0
 </TASK>

Freed by task 75:
 kasan_save_stack+0x33/0x50
 __kasan_slab_free+0x37/0x50
 kfree+0x131/0x3e0
 ib_destroy_qp_user+0x297/0x3c0 [ib_core]
 uverbs_free_qp+0x81/0x160 [ib_uverbs]

The buggy address belongs to the object at ffff888108c96000
==================================================================
`
	race = `BUG: KCSAN: data-race in process_one_work / process_one_work

read to 0xff11000000b34ed0 of 8 bytes by task 85 on cpu 1:
 process_one_work+0x39f/0x780
 worker_thread+0x2d5/0x530

write to 0xff11000000b34ed0 of 8 bytes by task 32 on cpu 0:
 process_one_work+0x3b3/0x780
 worker_thread+0x2d5/0x530

Reported by Kernel Concurrency Sanitizer on:
CPU: 0 UID: 0 PID: 32 Comm: kworker/u8:4 Tainted: G           O       6.12.117-kcsan #1
Workqueue: rxe_wq do_work [rdma_rxe]
==================================================================
`
	freed73 = `WARNING: drivers/infiniband/sw/rxe/rxe_task.c:249 at rxe_sched_task+0x9c/0xb0 [rdma_rxe], CPU#0: kworker/u9:1/28
Workqueue: rxe_wq do_work [rdma_rxe]
RIP: 0010:rxe_sched_task+0x9c/0xb0 [rdma_rxe]
Call Trace:
 <TASK>
 rxe_xmit_packet+0x172/0x2f0 [rdma_rxe]
 rxe_requester+0x5df/0xec0 [rdma_rxe]
 ? rxe_completer+0x68f/0xc50 [rdma_rxe]
 rxe_sender+0x13/0x40 [rdma_rxe]
 do_work+0x65/0x160 [rdma_rxe]
 process_one_work+0x197/0x3a0
 </TASK>
`
)

// The kernel's own faults are counted and are no splats; what differs from them
// in one function of the trace, or in what is complained about, is one.
func TestKnownFaults(t *testing.T) {
	const rxe = "rxe schedules the task of a queue pair that is freed"
	for _, tt := range []struct {
		name, text string
		want       map[string]int
		splats     int
	}{
		{"6.12, a warning", freed612, map[string]int{rxe: 1}, 0},
		{"6.12, KASAN", freedKASAN, map[string]int{rxe: 1}, 0},
		{"6.12 with KCSAN, a warning", freedKCSAN, map[string]int{rxe: 1}, 0},
		{"queued by somebody else", strings.Replace(freedKCSAN, " rxe_resp_queue_pkt+", " rxe_post_send+", 1), map[string]int{}, 1},
		{"7.3, a warning", freed73, map[string]int{rxe: 1}, 0},
		{"a race of the kernel", race, map[string]int{"data races of the kernel's own code": 1}, 0},
		{"our part in a race", strings.Replace(race, "\n\nwrite to", "\n accept_conn+0x1/0x2 [rxpost_recv]\n\nwrite to", 1), map[string]int{}, 1},
		{"the other side is ours", strings.Replace(race, "\n\nReported", "\n rxps_work+0x1/0x2 [rxpost_send]\n\nReported", 1), map[string]int{}, 1},
		{"a race that is asserted", strings.Replace(race, "data-race", "assert: race", 1), map[string]int{}, 1},
		{"many", strings.Repeat(freed73, 2*maxSplats), map[string]int{rxe: 2 * maxSplats}, 0},
		{"and another", freed73 + "BUG: ours\n", map[string]int{rxe: 1}, 1},
		{"ours in its trace", strings.ReplaceAll(freed612, " rxe_requester+", " rxpost_post+0x1/0x2\n rxe_requester+"), map[string]int{}, 1},
		{"from elsewhere", strings.ReplaceAll(freed73, " rxe_xmit_packet+", " rxe_post_recv+"), map[string]int{}, 1},
		{"only perhaps there", strings.ReplaceAll(freed612, " rxe_sched_task+", " ? rxe_sched_task+"), map[string]int{}, 1},
		{"another complaint", strings.ReplaceAll(freedKASAN, "slab-use-after-free", "slab-out-of-bounds"), map[string]int{}, 1},
		{"freed by somebody else", strings.ReplaceAll(freedKASAN, " ib_destroy_qp_user+", " rxpost_queue_free+0x1/0x2 [rxpost_recv]\n ib_destroy_qp_user+"), map[string]int{}, 1},
		{"a timer in its middle", strings.Replace(freedKASAN, " <TASK>\n", " <IRQ>\n __lock_acquire+0x1/0x2\n kthread_delayed_work_timer_fn+0x1/0x2\n </IRQ>\n <TASK>\n", 1), map[string]int{}, 1},
		{"another complaint in its middle", strings.Replace(freedKASAN, "\nFreed by", "\nBUG: sleeping function called from invalid context at a.c:1\nFreed by", 1), map[string]int{}, 1},
		{"not whole", strings.TrimSuffix(freedKASAN, strings.Repeat("=", 66)+"\n"), map[string]int{}, 1},
		{"cut off", strings.Replace(race, "\nwrite to", "\n------------[ cut here ]------------\n poller_turn+0x1/0x2 [rxpost_recv]\nwrite to", 1), map[string]int{}, 1},
		{"a race of a worker", strings.ReplaceAll(race, " worker_thread+", " kthread_worker_fn+"), map[string]int{}, 1},
		{"without a trace", "WARNING: CPU: 1 PID: 12 at drivers/infiniband/sw/rxe/rxe_task.c:38 __reserve_if_idle+0x14d/0x1a0 [rdma_rxe]\n", map[string]int{}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScanner()
			for line := range strings.Lines(tt.text) {
				s.Line(line)
			}
			if diff := cmp.Diff(tt.want, s.Known()); diff != "" {
				t.Errorf("known (-want +got):\n%s", diff)
			}
			// Only KASAN's report turns lockdep off.
			if blinds := tt.splats == 0 && strings.HasPrefix(tt.text, "BUG: KASAN"); s.Blinded() != blinds {
				t.Errorf("blinded: %v, want %v", s.Blinded(), blinds)
			}
			if n := len(s.Splats()); n != tt.splats {
				t.Errorf("%d splats, want %d", n, tt.splats)
			}
		})
	}
}
