package e2e

// This file owns the plain case: messages are received, checked and counted.

import (
	"testing"

	"github.com/rxpost/rxpost/ctl"
)

func TestReceiveVerified(t *testing.T) { onEachDevice(t, receiveVerified) }

func receiveVerified(t *testing.T, r *rig) {
	count := r.some(5000)
	r.add(r.deep(ctl.ReceiverConfig{Sink: ptr(ctl.SinkVerify)}))
	r.send(ctl.RunConfig{Count: &count})

	r.intact(r.alone().Counters, count)
	ledger := r.delete()
	if ledger.Completed != count || ledger.Failed != 0 || ledger.Reclaimed != 0 {
		t.Errorf("ledger: %+v", ledger)
	}
}
