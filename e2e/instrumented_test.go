package e2e

// This file owns why a test does not run on a kernel that watches every access
// (instrumented), where each takes several times as long: `make test-debug` has to
// end while somebody waits. `-run` and a soak take these, too.

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	wordsOnly  = "it is about sentences, programs and JSON: others have the same kernel code"
	paceOnly   = "it is about a pace, which such a kernel distorts"
	crowdOnly  = "a hundred senders take minutes there; a few take the same code"
	fuzzed     = "TestFuzz has its kind there"
	oneMinute  = "it takes a minute or so there, and others have its code"
	clientOnly = "it is about rxctl's own list of devices"
	userSpace  = "it is about programs and modprobe, not about the modules' code"
)

var fullSpeedOnly = map[string]string{
	"TestAllowList":                       wordsOnly,
	"TestAllowListRefused":                wordsOnly,
	"TestSetRefused":                      wordsOnly,
	"TestNoSuchReceiver":                  wordsOnly,
	"TestRunRefused":                      wordsOnly,
	"TestRunFindsNobody":                  wordsOnly,
	"TestScripts":                         wordsOnly,
	"TestJSONFitsSchema":                  wordsOnly,
	"TestNoSuchCommand":                   wordsOnly,
	"TestRNRTimerIsShown":                 wordsOnly,
	"TestNoRNRIsShown":                    wordsOnly,
	"TestSegmentsRefused":                 wordsOnly,
	"TestSendOpcodeRefused":               wordsOnly,
	"TestSendQPsRefused":                  wordsOnly,
	"TestRTTRefused":                      wordsOnly,
	"TestRoundTripCLI":                    wordsOnly,
	"TestProgressOnTerminal":              wordsOnly,
	"TestMonitor":                         wordsOnly,
	"TestAutoload":                        userSpace,
	"TestAutoloadByMonitor":               userSpace,
	"TestAutoloadWithoutPrivilege":        userSpace,
	"TestAutoloadAtOnce":                  userSpace,
	"TestModuleNotInstalled":              userSpace,
	"TestModprobeSettings":                userSpace,
	"TestModuleNotLoaded":                 userSpace,
	"TestCompletion":                      userSpace,
	"TestCompletionLoadsNothing":          userSpace,
	"TestSystemdUnit":                     userSpace,
	"TestListWhileDevicesGo":              clientOnly,
	"TestBrokenRequests":                  fuzzed,
	"TestMalformedRequests":               fuzzed,
	"TestBrokenLists":                     fuzzed,
	"TestRoundTrip":                       oneMinute,
	"TestRoundTripAnswersFindReceives":    oneMinute,
	"TestRoundTripsPaceThemselves":        oneMinute,
	"TestMonitorThatNeverReads":           oneMinute,
	"TestSegments":                        oneMinute,
	"TestReceiveVerified":                 oneMinute,
	"TestSendReaches":                     oneMinute,
	"TestTuneBatch":                       paceOnly,
	"TestBoundsOfSIW":                     wordsOnly,
	"TestAddRefused":                      wordsOnly,
	"TestCMTime":                          crowdOnly,
	"TestCrowdIsServedFairly":             crowdOnly,
	"TestMoreThanMaxConnsAtOnce":          crowdOnly,
	"TestSendCrowd":                       crowdOnly,
	"TestConnectAndVanish":                crowdOnly,
	"TestConnDumpIsComplete":              crowdOnly,
	"TestIdleReceiverUsesNoCPU":           paceOnly,
	"TestTunePollMode":                    paceOnly,
	"TestTuneSpin":                        paceOnly,
	"TestTuneBudget":                      paceOnly,
	"TestTuneIdle":                        paceOnly,
	"TestEmptyQueueDelaysAndLosesNothing": paceOnly,
	"TestRNRTimerLive":                    paceOnly,
}

// leaveOut makes `go test` pass over what is for kernels at full speed, unless
// tests were asked for by name.
func leaveOut() error {
	flag.Parse()
	asked := flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != ""
	if !instrumented() || asked || os.Getenv("RXPOST_SOAK") != "" {
		return nil
	}
	names := make([]string, 0, len(fullSpeedOnly))
	for name := range fullSpeedOnly {
		names = append(names, name)
	}
	fmt.Fprintf(os.Stderr, "e2e: %d tests are for kernels at full speed (instrumented_test.go)\n", len(names))
	return flag.Set("test.skip", "^("+strings.Join(names, "|")+")$")
}

func TestWhatIsLeftOutExists(t *testing.T) {
	exists := map[string]bool{}
	for f := range tests(t) {
		exists[f.Name.Name] = true
	}
	for name := range fullSpeedOnly {
		if !exists[name] {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
}
