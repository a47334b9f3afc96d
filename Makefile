# conform: `make run` certifies, `make test` tests. Everything else is for people who change conform.
# Only Go and make are needed; what a target needs beside them it names itself.

GO       ?= go
BIN      := bin/conform
OUT      ?= out
# Released binaries and the tests are built without cgo: one static file that runs in a container made FROM scratch.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help
.PHONY: help build run test race fuzz bench lint generate ledger prove crash fleet-load fleet-load-real

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/conform
	@$(GO) build -trimpath -o $(BIN) ./cmd/conform

run: ## certify the bundled transports against the simulator; the report goes to out/
	@t0=$$(date +%s); $(GO) mod download; t1=$$(date +%s); \
	 $(MAKE) --no-print-directory build; t2=$$(date +%s); \
	 rc=0; $(BIN) run --out $(OUT) $(ARGS) || rc=$$?; t3=$$(date +%s); \
	 echo "download $$((t1-t0)) s, build $$((t2-t1)) s, run $$((t3-t2)) s"; exit $$rc

test: ## run all tests
	@$(GO) test -timeout 10m ./...

race: ## run the core's tests under the race detector (needs a C compiler)
	@CGO_ENABLED=1 $(GO) test -race -timeout 15m ./core/... ./simulator/... ./plugins/...

FUZZTIME ?= 20s
fuzz: ## fuzz every decoder for FUZZTIME each (default 20s)
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

bench: ## run the benchmarks; each prints its ratio to something in the same run
	@$(GO) test -run '^$$' -bench . -benchmem ./...

lint: ## gofmt, vet, go mod tidy and the import fences
	@f=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$f" ]; then echo "gofmt differs:"; echo "$$f"; exit 1; fi
	@$(GO) vet ./...
	@$(GO) mod tidy -diff
	@$(GO) test -count=1 ./internal/fence

generate: ## regenerate the protobuf code (needs protoc)
	@command -v protoc >/dev/null || { echo "make generate needs protoc (Debian: protobuf-compiler)"; exit 1; }
	@protoc -I core/plugin/wire/proto --plugin=protoc-gen-go=$$($(GO) tool -n protoc-gen-go) --plugin=protoc-gen-go-grpc=$$($(GO) tool -n protoc-gen-go-grpc) \
	  --go_out=. --go_opt=module=github.com/conform-dev/conform --go-grpc_out=. --go-grpc_opt=module=github.com/conform-dev/conform \
	  conform/transport/v1/transport.proto

ledger: build ## check the contract ledger
	@$(BIN) ledger check

prove: ## break the product on purpose, once per rule, and check that each break is found
	@$(GO) run ./internal/prove

ROUNDS ?= 5000
crash: ## kill a process that writes checkpoints, ROUNDS times (default 5000), and cut its power
	@CONFORM_CRASH_ROUNDS=$(ROUNDS) $(GO) test -count=1 -v -timeout 60m -run 'Crash|Once|PowerLoss' ./core/store/bolt

fleet-load: ## 500 clients at the fleet server's caps for 30 s, its window scaled to 3 s; prints the tally
	@CONFORM_FLEET_LOAD=long $(GO) test -count=1 -v -run '^TestLoad$$' ./simulator/fleetserve

fleet-load-real: ## the same with the real numbers, for 70 s
	@CONFORM_FLEET_LOAD=real $(GO) test -count=1 -v -run '^TestLoad$$' ./simulator/fleetserve
