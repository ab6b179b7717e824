// Package sample is a Go test to be run in a VM by the tests of rxvm.
package sample

import (
	"os"
	"testing"
)

// The package's folder is the working directory, with its testdata.
func TestData(t *testing.T) {
	data, err := os.ReadFile("testdata/greeting.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s from kernel %s", data, os.Getenv("RXVM_KERNEL"))
}

func TestInVM(t *testing.T) {
	if os.Getenv("RXVM") != "1" {
		t.Error("not in a VM")
	}
}

// TestHang waits for good when it is asked to.
func TestHang(t *testing.T) {
	if os.Getenv("RXPOST_SAMPLE_HANG") == "" {
		return
	}
	os.Stdout.WriteString("hanging\n")
	select {}
}

func TestFail(t *testing.T) {
	if os.Getenv("RXPOST_SAMPLE_FAIL") != "" {
		t.Error("failing as asked")
	}
}
