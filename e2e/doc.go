// Package e2e tests the kernel modules where they live: its tests run inside a
// VM that rxvm boots, on a soft RDMA device of their own, through the same
// interfaces that users have.
//
//	make e2e            all of it, on every stock kernel
//	go test -exec "bin/rxvm --kernel 6.12" -count=1 ./e2e -run Name
package e2e
