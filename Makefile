# SPDX-License-Identifier: GPL-2.0
# The commands at the top. `make help` lists them.

GO      ?= go
BIN     := bin
KERNELS := 6.1 6.12
# Packages whose tests need no VM.
UNITS    = $(shell $(GO) list ./... | grep -v /e2e$$)
VERSION  = $(shell sed -n 's/^.define RXPOST_VERSION[^"]*"\(.*\)"/\1/p' kmod/wire.h)
# What the e2e tests take into the VM: clients and a server that nobody here wrote.
E2E_VM  := $(addprefix --add /usr/bin/,rdma_client rdma_server rping cmtime) --add-rdma-userland

# The VM has no C library of its own: everything that goes in is static.
export CGO_ENABLED = 0

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: deps build ## Receive real RDMA traffic in a VM, retune it live, tear it down
	@$(BIN)/rxvm --kernel 6.12 --add vm/demo.sh:/demo.sh -- sh /demo.sh

test: deps test-account test-go test-vm e2e ## Run every test

test-account: deps ## account.h and histogram.h in user space, against models, with sanitizers
	@mkdir -p $(BIN)
	for t in account_test histogram_test; do \
		$(CC) -std=gnu11 -Wall -Wextra -Werror -O1 -g -fsanitize=address,undefined \
			-fno-sanitize-recover=all -o $(BIN)/$$t kmod/test/user/$$t.c || exit; \
	done
	$(BIN)/account_test 1 400
	$(BIN)/histogram_test 1 300

test-go: deps ## Go's unit tests, with the race detector
	CGO_ENABLED=1 $(GO) test -race $(UNITS)

# What is found stays as a seed in the package's testdata/fuzz: commit it.
FUZZTIME ?= 30s
fuzz: deps ## Fuzz all that decodes or parses, each target for FUZZTIME (30s)
	@test -n "$(UNITS)" || { echo "fuzz: go list finds no package" >&2; exit 1; }
	@for p in $(UNITS); do \
		targets=$$($(GO) test -list '^Fuzz' $$p) || exit; \
		for f in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "fuzz: $$p $$f"; \
			$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit; \
		done; \
	done

test-vm: deps build ## Tests of the harness itself, in VMs
	RXPOST_VM=1 $(GO) test -count=1 -timeout 20m ./cmd/rxvm ./harness

e2e: $(KERNELS:%=e2e-%) ## Tests of the modules, in a VM, on each stock kernel

# -count=1: Go's test cache does not know that a module changed. The kernel first:
# building one takes longer than go test waits for its tests.
E2E_LIMIT := 30m
e2e-debug e2e-kcsan: E2E_LIMIT := 60m
e2e-%: deps build
	@$(BIN)/rxvm build --kernel $* >/dev/null
	$(GO) test -count=1 -timeout $(E2E_LIMIT) -exec "$(CURDIR)/$(BIN)/rxvm --kernel $* $(E2E_VM)" ./e2e

test-debug: e2e-debug ## The same on a kernel that looks for mistakes

defects: defects-debug defects-kcsan ## That each oracle of the tests catches a planted defect

# The kernel first: building one takes longer than these tests may.
defects-%: deps build
	@$(BIN)/rxvm build --kernel $* >/dev/null
	RXPOST_DEFECTS=$* $(GO) test -count=1 -timeout 20m -run '^TestDefects$$' ./cmd/rxvm

# Hours of it: make soak DURATION=8h SEED=7
SEED     ?= 1
DURATION ?= 1h
soak: deps build ## Tests with dice and races for DURATION (1h); writes docs/reliability.md
	$(GO) run ./internal/soak -seed $(SEED) -duration $(DURATION) -table docs/reliability.md \
		-rxvm "$(CURDIR)/$(BIN)/rxvm $(E2E_VM)"

coverage: deps build ## Lines and branches of the modules that the tests reach: a table, and bin/coverage/index.html
	@rm -rf $(BIN)/coverage && mkdir -p $(BIN)/coverage
	$(GO) test -count=1 -timeout 60m \
		-exec "$(CURDIR)/$(BIN)/rxvm --kernel next --coverage $(CURDIR)/$(BIN)/coverage/e2e $(E2E_VM)" ./e2e
	@$(GO) run ./internal/coverage $(BIN)/coverage

lint: deps build ## Everything that finds fault without running it
	@sh .ci/lint

# Not all of build: what is generated may be what rxctl wants to build.
generate: deps ## C and Go of the netlink interface from spec/
	@$(GO) build -o $(BIN)/ ./cmd/rxvm
	$(GO) run ./internal/gen -source "$$($(BIN)/rxvm source)"

kmod: deps build ## Build the modules for each stock kernel
	@for k in $(KERNELS); do $(BIN)/rxvm build --kernel $$k || exit; done

kernels: deps build ## Lock the newest kernels of the mirror and fetch them
	$(BIN)/rxvm kernels --update

build: ## Build rxvm and rxctl into bin/
	@$(GO) build -ldflags '-X main.version=$(VERSION)' -o $(BIN)/ ./cmd/rxvm ./cmd/rxctl

deps: ## Install what is missing, or say the command that does
	@sh vm/deps.sh

clean: ## Remove what was built here; the cache of kernels stays
	rm -rf $(BIN)

.PHONY: help demo test test-account test-go fuzz test-vm e2e test-debug defects soak coverage lint generate kmod kernels build deps clean
.DEFAULT_GOAL := help
