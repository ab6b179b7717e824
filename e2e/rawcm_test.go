package e2e

// This file owns peers that no well-behaved program is: user-space connection
// managers without a queue pair, which connect, or stop half-way, and never
// send. They speak the kernel's ucma ABI (include/uapi/rdma/rdma_user_cm.h).

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	ucmCreateID     = 0
	ucmBindIP       = 2
	ucmResolveIP    = 3
	ucmResolveRoute = 4
	ucmConnect      = 6
	ucmListen       = 7
	ucmAccept       = 8
	ucmDisconnect   = 10
	ucmInitQPAttr   = 11
	ucmGetEvent     = 12

	sockaddrIn6 = 28
	eventSize   = 336 // struct rdma_ucm_event_resp

	psTCP = 0x0106
	qptRC = 2

	cmAddrResolved    = 0
	cmRouteResolved   = 2
	cmConnectResponse = 5
	cmRejected        = 8
	cmEstablished     = 9
	cmDisconnected    = 10
)

// rawPeer is one id of the user-space connection manager.
type rawPeer struct {
	t  *testing.T
	fd int
	id uint32
}

// dialRaw makes a peer that knows the way to the rig's address.
func dialRaw(t *testing.T) *rawPeer {
	t.Helper()
	return dialRawPort(t, listenAddr.Port())
}

// dialRawPort is dialRaw for another port.
func dialRawPort(t *testing.T, port uint16) *rawPeer {
	t.Helper()
	p := openRaw(t)
	req := append(make([]byte, sockaddrIn6), sockaddr(port)...)
	req = append(req, p.name()...)
	p.ask(ucmResolveIP, binary.NativeEndian.AppendUint32(req, 2000), 0, 0)
	p.expect(cmAddrResolved)
	p.ask(ucmResolveRoute, binary.NativeEndian.AppendUint32(p.name(), 2000), 0, 0)
	p.expect(cmRouteResolved)
	return p
}

// listenRaw makes a program that holds a port of the rig's address.
func listenRaw(t *testing.T, port uint16) *rawPeer {
	t.Helper()
	p := openRaw(t)
	req := append(make([]byte, 8), sockaddr(port)...)
	req = append(req, p.name()...)
	p.ask(ucmBindIP, req, 0, 0)
	p.ask(ucmListen, binary.NativeEndian.AppendUint32(p.name(), 1), 0, 0)
	return p
}

// sockaddr is the rig's address and a port in room for any address.
func sockaddr(port uint16) []byte {
	b := make([]byte, sockaddrIn6)
	binary.NativeEndian.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], port)
	copy(b[4:], listenAddr.Addr().AsSlice())
	return b
}

// openRaw makes an id.
func openRaw(t *testing.T) *rawPeer {
	t.Helper()
	fd, err := unix.Open("/dev/infiniband/rdma_cm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("rdma_cm device: %v; run with --add-rdma-userland", err)
	}
	p := &rawPeer{t: t, fd: fd}
	t.Cleanup(p.die)
	req := make([]byte, 24)
	binary.NativeEndian.PutUint16(req[16:], psTCP)
	req[18] = qptRC
	req[0] = 1 // uid: without one there are no events
	p.id = binary.NativeEndian.Uint32(p.ask(ucmCreateID, req, 8, 4))
	return p
}

// name is how most commands begin.
func (p *rawPeer) name() []byte { return binary.NativeEndian.AppendUint32(nil, p.id) }

// ask writes one command. Its answer, if it has one, is size bytes, and where
// to write it stands at offset at of the request.
func (p *rawPeer) ask(cmd uint32, req []byte, at, size int) []byte {
	p.t.Helper()
	answer := make([]byte, max(size, 1))
	if size > 0 {
		binary.NativeEndian.PutUint64(req[at:], uint64(uintptr(unsafe.Pointer(&answer[0]))))
	}
	head := binary.NativeEndian.AppendUint32(nil, cmd)
	head = binary.NativeEndian.AppendUint16(head, uint16(len(req)))
	head = binary.NativeEndian.AppendUint16(head, uint16(size))
	if _, err := unix.Write(p.fd, append(head, req...)); err != nil {
		p.t.Fatalf("ucma command %d: %v", cmd, err)
	}
	return answer[:size]
}

// nextQPN is the number of the next queue pair that does not exist. One that
// comes again soon would be taken for a stale connection.
var nextQPN atomic.Uint32

// connect sends a connect request with private data and the number of a queue
// pair that does not exist.
func (p *rawPeer) connect(private []byte) {
	p.t.Helper()
	p.connectQP(0x700000+nextQPN.Add(1), private)
}

// connectQP is connect for a queue pair that may exist.
func (p *rawPeer) connectQP(qpn uint32, private []byte) {
	p.t.Helper()
	req := binary.NativeEndian.AppendUint32(nil, qpn)
	req = binary.NativeEndian.AppendUint32(req, 0) // qkey
	req = append(req, append(private, make([]byte, 256-len(private))...)...)
	// private_data_len, srq, responder_resources, initiator_depth,
	// flow_control, retry_count, rnr_retry_count, valid
	req = append(req, byte(len(private)), 0, 0, 0, 0, 7, 7, 1)
	req = binary.NativeEndian.AppendUint32(req, p.id)
	req = append(req, make([]byte, 4+8)...) // reserved, ece
	p.ask(ucmConnect, req, 0, 0)
}

// establish answers the receiver's answer: the last step of a connection.
func (p *rawPeer) establish() {
	p.t.Helper()
	p.expect(cmConnectResponse)
	p.readyToUse()
}

// readyToUse says that the connection is.
func (p *rawPeer) readyToUse() {
	p.t.Helper()
	req := make([]byte, 8+4+4+256+8) // uid, conn_param with valid = 0
	req = binary.NativeEndian.AppendUint32(req, p.id)
	req = append(req, make([]byte, 4+8)...)
	p.ask(ucmAccept, req, 0, 0)
}

// cmEvent is what the connection manager tells a peer.
type cmEvent struct {
	event   uint32
	status  int32
	private []byte // of the other side
}

// next waits for the next event.
func (p *rawPeer) next() cmEvent {
	p.t.Helper()
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	deadline := time.Now().Add(slack)
	n, err := unix.Poll(fds, int(slack/time.Millisecond))
	for err == unix.EINTR { // a signal of Go's own scheduler
		n, err = unix.Poll(fds, max(0, int(time.Until(deadline)/time.Millisecond)))
	}
	if err != nil || n != 1 {
		p.t.Fatalf("no CM event in %v: %v", slack, err)
	}
	got := p.ask(ucmGetEvent, make([]byte, 8), 0, eventSize)
	// uid, id, event, status; QP number, key, private data and its length
	return cmEvent{binary.NativeEndian.Uint32(got[12:]), int32(binary.NativeEndian.Uint32(got[16:])), got[28 : 28+int(got[284])]}
}

// expect waits for the next event, which must be this one.
func (p *rawPeer) expect(want uint32) {
	p.t.Helper()
	if got := p.next(); got.event != want {
		p.t.Fatalf("CM event %d, status %d, want event %d", got.event, got.status, want)
	}
}

// die ends the peer as the end of its process would.
func (p *rawPeer) die() {
	if p.fd < 0 {
		return
	}
	if err := unix.Close(p.fd); err != nil {
		p.t.Error(fmt.Errorf("close rdma_cm: %w", err))
	}
	p.fd = -1
}
