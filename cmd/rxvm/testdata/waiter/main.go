// Command waiter waits for good, for the tests of rxvm to end it.
package main

import (
	"fmt"
	"time"
)

func main() {
	fmt.Println("up")
	waitForGood()
}

// waitForGood has a name that is easy to find in a goroutine dump. A timer
// keeps the runtime from calling this a deadlock.
func waitForGood() {
	for range time.Tick(time.Hour) {
	}
}
