# make demo    build midflight, reproduce the studies, print the paths of the reports
# make test    check formatting, lint, and run every test
# make lab     build a Linux kernel that runs in virtual time (docs/lab.md), and measure it
# make wheel   build a wheel into dist/, which pip installs where there is no Rust
# make docs    build the site of the documentation: out/site/index.html
# make verify  compare the simulator with the reference runs from ns-2
# make verify-linux  compare the profile linux, and queueing disciplines, with recorded runs of a Linux kernel, packet by packet
# make golden  write what six schemes do in every starter scenario into tests/golden/behaviour.txt
# make bench   measure the speed, beside ns-2's where that is installed
# make budget  compare instruction counts with crates/bench/budget.toml; make budget-update writes that file
# make fuzz    fuzz the senders and the parsers with coverage guidance: make fuzz FUZZ_RUNS=1000000
# make profile show where the instructions of a workload are spent: make profile WORKLOAD=handoff
# make clean   remove the files that the other targets made
#
# Needs cargo, and Python 3.11 or later with pip and venv; for instruction counts also valgrind, for fuzzing a C++ compiler. Everything is
# installed into .venv. With tshark the captures are also compared with its analysis; with chromium the interactive page
# is tested without a window.

PYTHON ?= $(or $(shell command -v python3.11 || command -v python3),python3)
MATURIN := maturin>=1.16,<1.17

BIN := .venv/bin
BUILD_WHEEL = PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --quiet --release --interpreter $(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')
PYTHON_SOURCES := pyproject.toml README.md $(shell find python lab -type f \
	-not -name '*.so' -not -path '*/__pycache__/*' -not -path '*/.*')

FUZZ_TARGETS := $(addprefix fuzz-,acks paths scenario drill wire)

.PHONY: demo lab test test-rust test-python wheel docs verify verify-linux golden bench budget budget-update fuzz $(FUZZ_TARGETS) no-fuzz profile clean
.DELETE_ON_ERROR:

# Ends by comparing the verdicts with those that README.md and docs/papers.md count.
demo: .venv/installed
	sh examples/demo.sh $(BIN)/midflight
	$(BIN)/python docs/verdicts.py

# The kernel is built once, into the cache of the user.
lab: .venv/installed
	$(BIN)/midflight lab build
	$(BIN)/midflight lab doctor
	$(BIN)/midflight lab compare wifi-to-lte --profile linux

test: test-rust test-python budget $(if $(shell command -v c++),fuzz,no-fuzz)

# Generated tests take the same inputs every time; others with PROPTEST_RNG_SEED=2, more with PROPTEST_CASES=10000.
test-rust: export PROPTEST_RNG_SEED ?= 1
test-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked
	cargo clippy --package midflight-study --no-default-features --tests --locked -- -D warnings
	cargo test --package midflight-quic --no-default-features --lib --locked
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked

test-python: .venv/installed .venv/test-tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy bench docs
	$(BIN)/pytest --numprocesses auto --dist worksteal

# One wheel serves CPython 3.11 and later. Its name states the oldest glibc that it runs with: at most that of this machine,
# or 2.17 with WHEEL_OPTIONS=--zig.
wheel: .venv/dependencies
	$(if $(findstring --zig,$(WHEEL_OPTIONS)),$(BIN)/pip install --quiet ziglang)
	rm -rf dist
	$(BUILD_WHEEL) --out dist $(WHEEL_OPTIONS)
	@ls dist/*.whl

# The notebooks are run; a warning is an error, a link that leads nowhere too.
docs: .venv/installed .venv/docs-tools
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
	$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --show-traceback --quiet -c docs -d out/doctrees . out/site
	rm -rf out/site/rust
	cp -R target/doc out/site/rust
	@echo 'The site: out/site/index.html'

verify: .venv/installed
	$(BIN)/python tests/ns2/verify.py

verify-linux: .venv/installed
	$(BIN)/python tests/linux/verify.py
	$(BIN)/python tests/linux/queues.py

golden: .venv/installed
	$(BIN)/python tests/golden/behaviour.py

bench: .venv/installed
	$(BIN)/python bench/run.py

budget: .venv/dependencies
	$(BIN)/python bench/budget.py

budget-update: .venv/dependencies
	$(BIN)/python bench/budget.py --update

# libFuzzer on stable Rust: the compiler's coverage counters without a sanitizer. Build scripts go without them, so
# the host is named. A run starts from the corpus and from inputs that are in the repository anyway, and keeps what it
# finds in out/fuzz; a crash is left in fuzz/artifacts.
FUZZ_RUNS := 10000
FUZZ_HOST := $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing
FUZZ_SEEDS_scenario := python/midflight/scenarios
FUZZ_SEEDS_drill := $(wildcard drills/rfc*) drills/as-brought

fuzz:
	cd fuzz && cargo fmt --check
	cd fuzz && RUSTFLAGS='$(FUZZ_COVERAGE)' CARGO_TARGET_DIR=target cargo build --release --locked --target $(FUZZ_HOST)
	$(MAKE) --no-print-directory --jobs=$(or $(shell nproc),1) --output-sync=target $(FUZZ_TARGETS)

no-fuzz:
	@echo 'Fuzzing was left out: libFuzzer needs a C++ compiler.'
	@test -z "$$CI"

$(FUZZ_TARGETS): fuzz-%:
	mkdir -p out/fuzz/$* fuzz/artifacts
	fuzz/target/$(FUZZ_HOST)/release/$* -runs=$(FUZZ_RUNS) -seed=1 -timeout=20 -max_len=4096 -print_final_stats=1 \
		-verbosity=0 -artifact_prefix=fuzz/artifacts/$*- out/fuzz/$* fuzz/corpus/$* $(FUZZ_SEEDS_$*)

WORKLOAD := bulk
profile: .venv/dependencies
	$(BIN)/python bench/parts.py $(WORKLOAD)

clean:
	cargo clean
	rm -rf .venv out

# The stamps record that a step is done; a newer source undoes it.
$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/dependencies: pyproject.toml | $(BIN)/python
	$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "midflight needs Python 3.11 or later")'
	$(BIN)/pip install --quiet '$(MATURIN)'
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; print("\n".join(project["dependencies"] + project["optional-dependencies"]["plots"]))' > $@.txt
	$(BIN)/pip install --quiet --requirement $@.txt
	touch $@

.venv/test-tools: .venv/docs-tools
.venv/%-tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"]))' > $@.txt
	$(BIN)/pip install --quiet --requirement $@.txt
	touch $@

.venv/installed: .venv/dependencies $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf .venv/wheel
	$(BUILD_WHEEL) --out .venv/wheel
	$(BIN)/pip install --quiet --no-deps --force-reinstall .venv/wheel/*.whl
	touch $@
