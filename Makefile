# make test     everything a merge needs, on any machine with Go; installs what is missing
# make check    fmt vet lint test, the quick way: before every commit
# make help     all targets
.DEFAULT_GOAL := help
SHELL := /bin/sh

GO ?= go
GOLANGCI_LINT_VERSION := v2.15.0
PROTOC_GEN_GO_VERSION := v1.36.12
BENCHSTAT_VERSION     := v0.0.0-20260908200009-22c9c6c9d4da

LINT          := bin/golangci-lint-$(GOLANGCI_LINT_VERSION)
PROTOC_GEN_GO := bin/protoc-gen-go-$(PROTOC_GEN_GO_VERSION)

FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 1s
# A test that hangs is ended, with all stacks, before whoever waits gives up.
TIMEOUT ?= 12m

.PHONY: help build test check fmt fmt-check vet lint test-quick race e2e chaos fuzz bench conformance generate verify tools needs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the node, as bin/node
	$(GO) build -trimpath -o bin/node ./cmd/node

test: needs fmt-check vet lint race ## everything a merge needs

check: fmt vet lint test-quick ## before every commit: formats, then checks without the race detector

fmt: $(LINT) ## format all code
	$(LINT) fmt

fmt-check:
	@out=$$(git ls-files -co --exclude-standard '*.go' | grep -v '\.pb\.go$$' | while read -r f; do [ ! -f "$$f" ] || gofmt -l "$$f"; done); \
	if [ -n "$$out" ]; then echo "not formatted (make fmt does it):"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

lint: $(LINT) ## golangci-lint, formatters included
	$(LINT) run ./...

# The tests of e2e run a program that they build: go test does not see when it changed, so
# their results are never taken from its cache.
PACKAGES = $$($(GO) list ./... | grep -v '/e2e')

test-quick: needs
	$(GO) test -timeout $(TIMEOUT) $(PACKAGES)
	$(GO) test -count=1 -timeout $(TIMEOUT) -p 1 ./e2e/...

race: needs ## all tests under the race detector, multi-process ones included
	$(GO) test -race -timeout $(TIMEOUT) $(PACKAGES)
	$(GO) test ./core/sockio # the race detector has other calls there
	$(GO) test -race -count=1 -timeout $(TIMEOUT) -p 1 ./e2e/...

chaos: needs ## a long run of a cluster through faults, as root with namespaces: CHAOS='-netns -seed 7'
	$(GO) run ./e2e/chaos/cmd $(CHAOS)

e2e: needs ## only the tests with whole nodes, not cached
	$(GO) test -race -count=1 -timeout $(TIMEOUT) -p 1 ./e2e/...

fuzz: ## every fuzz target for FUZZTIME (10s) each
	@set -e; for pkg in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

bench: ## benchmarks BENCH ten times each, summed up by benchstat
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count 10 ./... | tee bin/bench.txt
	$(GO) run golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION) bin/bench.txt

conformance: needs ## the vectors of testdata/vectors: passed and failed cases of each file
	@$(GO) test -json -count=1 -run 'Vectors' ./... | $(GO) run ./scripts/conformance

generate: $(PROTOC_GEN_GO) ## generated code and docs; needs protoc
	@command -v protoc >/dev/null || { echo "protoc is missing: install protobuf-compiler (brew: protobuf)"; exit 1; }
	protoc --plugin=protoc-gen-go=$(PROTOC_GEN_GO) --go_out=. --go_opt=paths=source_relative messages/*.proto
	$(GO) generate ./...

verify: generate ## fails when generated files are not up to date
	git diff --exit-code

tools: needs $(LINT) $(PROTOC_GEN_GO) ## everything that is used above, at its pinned version

needs: ## a redis-server and a C compiler for the tests, installed when missing
	@./scripts/install-test-needs.sh

$(LINT):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv bin/golangci-lint $@

$(PROTOC_GEN_GO):
	GOBIN=$(CURDIR)/bin $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)
	@mv bin/protoc-gen-go $@

clean: ## removes bin/ (the embedded Redis's data, .orbweaver/, stays)
	rm -rf bin
