package e2e

// This file owns queue pairs that obey nobody: user-space ones on rxe, which send
// what they like when they like. They speak the kernel's uverbs and rxe ABI
// (include/uapi/rdma/{ib_user_verbs,rdma_user_rxe}.h).

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	verbGetContext = 0
	verbAllocPD    = 3
	verbRegMR      = 9
	verbCreateCQ   = 18
	verbCreateQP   = 24
	verbModifyQP   = 26
	verbPostSend   = 28

	accessLocalWrite, accessRemoteWrite, accessRemoteRead = 1, 2, 4

	qpsInit, qpsRTR, qpsRTS = 1, 2, 3

	wrWrite, wrSend, wrSendImm, wrRead = 0, 2, 3, 4

	qpAttrSize = 144 // struct ib_uverbs_qp_attr

	// struct rxe_queue_buf: log2 of the entries' size, mask, indices, entries.
	queueMask, queueProducer, queueConsumer, queueData = 4, 128, 256, 384
	// struct rxe_send_wqe
	wqeOpcode, wqeRemote, wqeRKey, wqeIova, wqeSSN, wqeDMA, wqeSGE = 12, 24, 32, 152, 176, 184, 208

	wcSuccess = 0
)

// verbs is one program's open device with one PD.
type verbs struct {
	t  *testing.T
	fd int
	pd uint32
}

// openVerbs opens the rig's device.
func openVerbs(t *testing.T) *verbs {
	t.Helper()
	v := &verbs{t: t, fd: -1}
	names, _ := filepath.Glob("/sys/class/infiniband_verbs/uverbs*/ibdev") // the pattern is right
	for _, name := range names {
		if dev, _ := os.ReadFile(name); strings.TrimSpace(string(dev)) != deviceName {
			continue
		}
		fd, err := unix.Open("/dev/infiniband/"+filepath.Base(filepath.Dir(name)), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		v.fd = fd
	}
	if v.fd < 0 {
		t.Fatalf("%s has no verbs device among %v; run with --add-rdma-userland", deviceName, names)
	}
	t.Cleanup(v.close)
	async := v.ask(verbGetContext, nil, 8)
	if err := unix.Close(int(binary.NativeEndian.Uint32(async))); err != nil {
		t.Error(err)
	}
	v.pd = binary.NativeEndian.Uint32(v.ask(verbAllocPD, nil, 4))
	return v
}

// close ends all as the end of the process would.
func (v *verbs) close() {
	if v.fd >= 0 {
		if err := unix.Close(v.fd); err != nil {
			v.t.Error(err)
		}
	}
	v.fd = -1
}

// ask writes one command; what follows where to answer is in req, and the answer
// has size bytes. A command without an answer is all in req.
func (v *verbs) ask(cmd uint32, req []byte, size int) []byte {
	v.t.Helper()
	answer := make([]byte, max(size, 1))
	if size > 0 {
		where := binary.NativeEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&answer[0]))))
		req = append(where, req...)
	}
	head := binary.NativeEndian.AppendUint32(nil, cmd)
	head = binary.NativeEndian.AppendUint16(head, uint16((8+len(req))/4))
	head = binary.NativeEndian.AppendUint16(head, uint16(size/4))
	if _, err := unix.Write(v.fd, append(head, req...)); err != nil {
		v.t.Fatalf("verbs command %d: %v", cmd, err)
	}
	return answer[:size]
}

// words makes a request of 32-bit fields.
func words(fields ...uint32) []byte {
	var b []byte
	for _, f := range fields {
		b = binary.NativeEndian.AppendUint32(b, f)
	}
	return b
}

// memory is what a program registered.
type memory struct {
	bytes      []byte
	lkey, rkey uint32
}

func (m memory) addr() uint64 { return uint64(uintptr(unsafe.Pointer(&m.bytes[0]))) }

// register makes memory that others can reach as access says.
func (v *verbs) register(size int, access uint32) memory {
	v.t.Helper()
	m := memory{bytes: v.mmap(-1, 0, size, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)}
	var req []byte
	for _, f := range []uint64{m.addr(), uint64(size), m.addr()} {
		req = binary.NativeEndian.AppendUint64(req, f)
	}
	got := v.ask(verbRegMR, append(req, words(v.pd, access)...), 12)
	m.lkey, m.rkey = binary.NativeEndian.Uint32(got[4:]), binary.NativeEndian.Uint32(got[8:])
	return m
}

func (v *verbs) mmap(fd int, offset uint64, size, flags int) []byte {
	v.t.Helper()
	b, err := unix.Mmap(fd, int64(offset), size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		v.t.Fatalf("mmap of %d bytes: %v", size, err)
	}
	v.t.Cleanup(func() {
		if err := unix.Munmap(b); err != nil {
			v.t.Error(err)
		}
	})
	return b
}

// queue maps a queue that rxe shares with user space.
func (v *verbs) queue(info []byte) ring {
	v.t.Helper()
	return ring(v.mmap(v.fd, binary.NativeEndian.Uint64(info), int(binary.NativeEndian.Uint32(info[8:])), unix.MAP_SHARED))
}

// ring is a struct rxe_queue_buf.
type ring []byte

func (r ring) index(at int) *uint32 { return (*uint32)(unsafe.Pointer(&r[at])) }

// entry returns the entry at an index.
func (r ring) entry(i uint32) []byte {
	size := 1 << binary.NativeEndian.Uint32(r)
	return r[queueData+int(i)*size:][:size]
}

// advance moves one of the two indices.
func (r ring) advance(at int) {
	p := r.index(at)
	atomic.StoreUint32(p, (atomic.LoadUint32(p)+1)&binary.NativeEndian.Uint32(r[queueMask:]))
}

// rawQP is a queue pair, with the peer that connects it.
type rawQP struct {
	*rawPeer
	v      *verbs
	handle uint32
	qpn    uint32
	peer   uint32 // the queue pair at the other end, from RTR on
	sq, cq ring
	buf    memory
	sent   uint32
}

// dialQP makes a queue pair that knows the way to the rig's address.
func dialQP(t *testing.T) *rawQP {
	t.Helper()
	const sends, receives = 16, 1
	q := &rawQP{rawPeer: dialRaw(t), v: openVerbs(t)}
	// user_handle, entries, vector, no channel, reserved
	got := q.v.ask(verbCreateCQ, words(0, 0, 2*sends, 0, 1<<32-1, 0), 24)
	cq := binary.NativeEndian.Uint32(got)
	q.cq = q.v.queue(got[8:])
	// user_handle, PD, CQs, SRQ, WRs, SGEs, inline; all signalled, RC
	req := words(0, 0, q.v.pd, cq, cq, 0, sends, receives, 1, 1, 0)
	got = q.v.ask(verbCreateQP, append(req, 1, qptRC, 0, 0), 64)
	q.handle, q.qpn = binary.NativeEndian.Uint32(got), binary.NativeEndian.Uint32(got[4:])
	q.sq = q.v.queue(got[48:]) // behind that of receives
	q.buf = q.v.register(1<<16, accessLocalWrite)
	q.to(qpsInit)
	return q
}

// to moves the queue pair to a state, with what the connection manager says of it,
// but that it may always read one thing at a time.
func (q *rawQP) to(state uint32) {
	q.t.Helper()
	req := append(make([]byte, 8), words(q.id, state)...)
	a := q.rawPeer.ask(ucmInitQPAttr, req, 0, qpAttrSize)
	if state == qpsRTR {
		q.peer = binary.NativeEndian.Uint32(a[32:])
	}
	ah := a[40:72]
	dest := append(append([]byte{}, ah[:20]...), ah[24], ah[25], 0, 0) // dgid, flow_label, dlid
	dest = append(dest, ah[20], ah[21], ah[22], ah[26], ah[27], ah[28], ah[29], ah[30])
	m := append(dest, make([]byte, 32)...)
	m = append(m, words(q.handle)...)
	m = append(m, a[0:4]...)   // attr_mask
	m = append(m, a[20:40]...) // qkey, rq_psn, sq_psn, dest_qp_num, qp_access_flags
	m = append(m, a[124:128]...)
	m = append(m, byte(state), byte(state), a[12], a[16], 0) // states, path_mtu, path_mig_state
	m = append(m, 1, 1)                                      // max_rd_atomic, max_dest_rd_atomic
	m = append(m, a[132:139]...)                             // min_rnr_timer to alt_timeout
	q.v.ask(verbModifyQP, append(m, 0, 0), 0)
}

// message is one work request.
type message struct {
	opcode     uint32
	bytes      int // of buf
	remote     uint64
	rkey       uint32
	unanswered bool // nobody may ever acknowledge it
}

// post sends one message and returns the status of its completion.
func (q *rawQP) post(m message) uint32 {
	q.t.Helper()
	e := q.sq.entry(atomic.LoadUint32(q.sq.index(queueProducer)))
	clear(e)
	put := func(at int, fields ...uint32) { copy(e[at:], words(fields...)) }
	put(wqeOpcode, m.opcode)
	binary.NativeEndian.PutUint64(e[wqeRemote:], m.remote)
	put(wqeRKey, m.rkey)
	binary.NativeEndian.PutUint64(e[wqeIova:], m.remote)
	put(wqeSSN, q.sent)
	put(wqeDMA, uint32(m.bytes), uint32(m.bytes), 0, 1) // length, left, SGE, SGEs
	binary.NativeEndian.PutUint64(e[wqeSGE:], q.buf.addr())
	put(wqeSGE+8, uint32(m.bytes), q.buf.lkey)
	q.sent++
	q.sq.advance(queueProducer)
	// No work request comes along: look at the queue.
	q.v.ask(verbPostSend, words(q.handle, 0, 0, 128), 4)
	if m.unanswered {
		return wcSuccess
	}
	deadline := time.Now().Add(retryTime + slack)
	for atomic.LoadUint32(q.cq.index(queueProducer)) == atomic.LoadUint32(q.cq.index(queueConsumer)) {
		if time.Now().After(deadline) {
			q.t.Fatalf("no completion of %+v in %v", m, retryTime+slack)
		}
		time.Sleep(100 * time.Microsecond) // nothing wakes a program without a channel
	}
	c := q.cq.entry(atomic.LoadUint32(q.cq.index(queueConsumer)))
	status := binary.NativeEndian.Uint32(c[8:])
	q.cq.advance(queueConsumer)
	return status
}

// die ends queue pair and peer as the end of their process would.
func (q *rawQP) die() {
	q.v.close()
	q.rawPeer.die()
}
