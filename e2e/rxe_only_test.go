package e2e

// This file owns why a test does not run on siw. A test either runs on each
// device (onEachDevice, eachDevice, onSIW) or is listed here, with its file or by
// itself, and a reason; TestEachTestHasItsDevices holds everybody to that.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

const (
	noTraffic = "what it tests comes before any device, or without one"
	noDevice  = "the same code on any device; once is enough"
	bareCM    = "its peer is the bare RDMA CM without a QP, which siw asks for (siw_connect() warns, as a splat)"
	wantsRNR  = "it is about senders that wait for a receive, of which iWARP has none"
	oneFirst  = "it waits for a first message, which siw may leave unread until another comes (docs/known-issues.md)"
	unpaced   = "it wants a sender at full speed or a queue that runs low, and on iWARP an empty queue ends the connection"
)

var rxeOnly = map[string]string{
	"autoload_test.go":     noTraffic,
	"cli_test.go":          noTraffic,
	"completion_test.go":   noTraffic,
	"contrib_test.go":      noTraffic,
	"devices_test.go":      noTraffic,
	"instrumented_test.go": noTraffic,
	"main_test.go":         noTraffic,
	"malformed_test.go":    noTraffic,
	"process_test.go":      noTraffic,
	"rxe_only_test.go":     noTraffic,
	"send_memory_test.go":  noTraffic,

	"TestAllowListRefused":   noTraffic,
	"TestNoSuchReceiver":     noTraffic,
	"TestMalformedRequests":  noTraffic,
	"TestRunRefused":         noTraffic,
	"TestRunMemoryBound":     noTraffic,
	"TestSendOpcodeRefused":  noTraffic,
	"TestSendQPsRefused":     noTraffic,
	"TestRTTRefused":         noTraffic,
	"TestSetRefused":         noTraffic,
	"TestAddRefused":         "its numbers are rxe's; TestBoundsOfSIW has siw's",
	"TestQueuesBeyondDevice": "its numbers are rxe's; the CQs of siw hold 3276800, more than memory does",
	"TestSegmentsRefused":    "its numbers are rxe's; TestBoundsOfSIW has siw's",

	"TestMemoryBound":                         noDevice,
	"TestSegmentsBill":                        noDevice,
	"TestPollersCPUs":                         noDevice,
	"TestDelWaitGivenUp":                      noDevice,
	"TestOthersAnswerWhileDraining":           noDevice,
	"TestDevicesComeWhileReceiversAreRefused": noDevice,
	"TestUnloadSenderTellsWaiter":             noDevice,
	"idle_test.go":                            noDevice,
	"misreport_test.go":                       noDevice,
	"threads_test.go":                         noDevice,
	"failnth_module_test.go":                  noDevice,
	"fuzz_test.go":                            noDevice,
	"hostile_test.go":                         "its peers post by raw verbs on InfiniBand",
	"storm_test.go":                           "it goes for rxe's module and devices",
	"fuzz_stranger_test.go":                   noDevice,
	"TestDeviceOutOfMemory":                   "the removal is the core's, and the walk takes a minute",
	"TestIdleWithoutTakingAnswers":            "on iWARP an answer without a receive ends the connection",
	"TestKeysAreNotShown":                     noDevice,
	"TestPollersAllocateNothing":              unpaced,
	"TestEachPostRefused":                     unpaced,
	"TestListWhileDevicesGo":                  noDevice,
	"send_qps_test.go":                        noDevice,
	"TestRoundTripCLI":                        noDevice,
	"TestOddSlots":                            "TestMessageSizes and TestSegments have its borders",

	"TestIdleTimeout":           bareCM,
	"TestMonitorThatNeverReads": bareCM,
	"TestConnectAndVanish":      bareCM,
	"TestPeerThatNeverSends":    bareCM,
	"TestPeerThatStopsHalfWay":  bareCM,
	"TestPrivateDataNotOurs":    bareCM,
	"TestTaken":                 bareCM,

	"TestDebianClient":           oneFirst,
	"TestDebianClientKilled":     oneFirst,
	"TestDebianClientIsAnswered": oneFirst,
	"TestRping":                  oneFirst,
	"TestDeleteAfterPeerDied":    oneFirst,
	"TestDeleteWhileConnecting":  "a listener that ends while siw connects leaks and warns, whose fault is not established (docs/known-issues.md)",
	"TestCMTime":                 "of its hundred queue pairs dozens fail with EINVAL on siw, against its own server too",

	"rnr_test.go":                      wantsRNR,
	"TestRNRTimerLive":                 wantsRNR,
	"TestRoundTripAnswersFindReceives": wantsRNR,

	"hold_test.go":               unpaced + "; TestEmptyQueueEndsConnection",
	"tuning_test.go":             unpaced,
	"TestLowWaterEvent":          unpaced,
	"TestPartialSuccess":         unpaced,
	"TestLedgerInEveryReading":   unpaced,
	"TestConnDumpIsComplete":     unpaced,
	"TestCrowdIsServedFairly":    unpaced,
	"TestMoreThanMaxConnsAtOnce": unpaced,

	"TestSendOpcodes":          "its opcodes are InfiniBand's; TestOpcodesOnIWARP has those of iWARP",
	"TestWriteOfNothing":       "a WRITE with immediate data uses up a receive, and iWARP has none",
	"send_reach_test.go":       "its server is Debian's, on rxe; what is reached has its own device",
	"TestRunFindsNobody":       "siw's rdma_connect() waits for TCP as long as TCP does, two minutes for an address of nobody's",
	"TestRoundTripFindsNobody": "siw's rdma_connect() waits for TCP as long as TCP does, two minutes for an address of nobody's",
}

// tests returns the tests of this package by name, with their files.
func tests(t *testing.T) map[*ast.FuncDecl]string {
	t.Helper()
	names, err := filepath.Glob("*_test.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("the package's files: %v, %v", names, err)
	}
	found := map[*ast.FuncDecl]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f] = name
			}
		}
	}
	return found
}

// choosesDevices says whether a test hands its body to one of the devices' own
// functions.
func choosesDevices(f *ast.FuncDecl) bool {
	chooses := false
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); ok {
			switch name.Name {
			case "onEachDevice", "eachDevice", "eachLoss", "onSIW":
				chooses = true
			}
		}
		return true
	})
	return chooses
}

func TestEachTestHasItsDevices(t *testing.T) {
	used := map[string]bool{}
	for f, file := range tests(t) {
		name := f.Name.Name
		listed := rxeOnly[name] != "" || rxeOnly[file] != ""
		used[file] = true
		used[name] = true
		switch chooses := choosesDevices(f); {
		case chooses && listed:
			t.Errorf("%s runs on siw, and is listed as one that does not", name)
		case !chooses && !listed:
			t.Errorf("%s (%s) neither runs on each device nor is listed in rxeOnly with a reason", name, file)
		}
	}
	for name := range rxeOnly {
		if !used[name] {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
}
