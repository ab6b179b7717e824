package e2e

// This file owns the plain case: messages are received, checked and counted.

import (
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

func TestReceiveVerified(t *testing.T) {
	r := newRig(t)
	r.add(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)})
	r.send(ctl.RunConfig{Count: ptr(uint64(5000))})

	ledger := r.delete()
	if ledger.Completed != 5000 || ledger.Failed != 0 || ledger.Reclaimed != 0 {
		t.Errorf("ledger: %+v", ledger)
	}
}
