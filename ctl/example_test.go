// This file shows the package from outside.

package ctl_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/rxpost/rxpost/ctl"
)

// A receiver is made, retuned while it works, and deleted; what the end leaves
// is its ledger.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := ctl.New()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	r, err := c.Add(ctx, ctl.ReceiverConfig{
		Name:  "r0",
		Addr:  netip.MustParseAddrPort("10.9.0.1:7471"),
		Depth: new(uint32(256)),
		Sink:  new(ctl.SinkVerify),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s can take %d bytes of memory\n", r.Name, r.MemoryMax)
	if err := c.Set(ctx, ctl.ReceiverConfig{Name: "r0", Batch: new(uint32(32))}); err != nil {
		log.Fatal(err)
	}
	gone, err := c.Delete(ctx, "r0")
	if err != nil {
		log.Fatal(err)
	}
	if gone.Ledger != nil {
		fmt.Println("balanced:", gone.Ledger.Balanced() == nil)
	}
}

// A run belongs to its client, which stays open until the run is done.
func ExampleClient_WaitRun() {
	ctx := context.Background()
	c, err := ctl.New()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	id, err := c.StartRun(ctx, ctl.RunConfig{
		Addr:  netip.MustParseAddrPort("10.9.0.1:7471"),
		Count: new(uint64(1000)),
	})
	if err != nil {
		log.Fatal(err)
	}
	run, err := c.WaitRun(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d messages, %v\n", run.Completed, run.Err())
}
