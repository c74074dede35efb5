# Every way of building, running and checking Vermilion. `make help` lists the targets.
#
# Needs Python 3.11 or newer, a C compiler (Rust's linker) and a Rust toolchain, and says in a line
# which of them is missing and how to get it. Everything else is installed from hash-pinned lock
# files into .venv, from wherever pip is configured to fetch. Stamp files make a second `make` quick;
# the core is rebuilt when its sources change.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# rustup puts cargo here, but a shell started before the installation does not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

VENV := .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough; `make PYTHON=/path/to/python3 ...` overrides it.
PYTHON := $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$candidate" && break; done)

# One interpreter for maturin, cargo and the tests, or the binding would be built once for each.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

CORE := python/vermilion/_core.abi3.so
CORE_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null)
LABORATORY := $(VENV)/.stamp-laboratory
RUNTIME := $(VENV)/.stamp-runtime
DEVELOPMENT := $(VENV)/.stamp-development
RELEASE := $(VENV)/.stamp-release

.PHONY: help demo environment build line-daemon test test-rust test-python test-kernel test-browser test-link kernel \
	evidence evidence-python evidence-rust \
	lint lint-rust lint-python lint-prose docs links examples bench wheel wheels test-wheel lock clean \
	tools profile-tools

help: ## list the targets
	@echo "Vermilion: make <target>"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: build ## set up, keep two changing networks tuned, write report/demo.html
	@mkdir -p report
	$(BIN)/vermilion online oscillating-red varying-round-trip-time --seeds 3 --deadline '0.7 s' \
		--report report/demo.html --journal report/demo.sqlite
	@echo "The report is $(CURDIR)/report/demo.html, the journal report/demo.sqlite"

environment: $(DEVELOPMENT) ## set up .venv with everything that tests, linters and pages need

build: $(CORE) $(LABORATORY) ## set up .venv, build the core in release mode, install the laboratory

test: test-rust test-python ## set up and run the tests of both languages, which takes minutes; what takes longer: evidence

# Examples are compiled and run by the tests already. Properties are tried on the same cases each time, so that a
# change fails for what it changed; evidence tries new ones, and more.
test-rust: export PROPTEST_RNG_SEED ?= 1
test-rust: $(RUNTIME) | tools
	cargo test --locked --workspace --lib --tests
	cargo test --locked --workspace --doc

# The slowest are shown, so that what has become slow is noticed.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal --durations 12 --durations-min 3
test-python: $(CORE) $(LABORATORY) $(DEVELOPMENT)
	$(PYTEST)

# `make -k evidence` goes on after a failure and fails at the end.
evidence: SELECT := -m ""
evidence: evidence-python evidence-rust test-kernel test-link ## run what takes long: agreement with other simulators, examples and pictures of the pages, long runs

evidence-python: $(CORE) $(LABORATORY) $(DEVELOPMENT)
	$(PYTEST) -m evidence --timeout 3600

evidence-rust: | tools
	cargo test --locked --release --workspace -- --ignored
	PROPTEST_CASES=2000 cargo test --locked --release --package vermilion-netsim --lib books

# The first that there is of: what the environment names, what `make kernel` has built, and one that a
# folder beside this one has built for several checkouts.
KERNEL_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vermilion/kernel
KERNEL := $(firstword $(wildcard $(VERMILION_KERNEL) $(KERNEL_CACHE)/linux ../*/testbed/uml/linux))
ifneq ($(VERMILION_KERNEL),)
KERNEL := $(VERMILION_KERNEL)
endif

# A guest whose Python has to compile a module draws other numbers than one that finds it compiled. All is
# compiled first, so that whatever else runs meanwhile changes nothing between two runs of a seed.
test-kernel: $(CORE) $(LABORATORY) $(DEVELOPMENT) ## run the tests on a real Linux kernel, where there is one
	@if [ -z "$(KERNEL)" ]; then \
		echo "no kernel to test against, so the tests on a kernel were not run: make kernel builds one"; \
	else \
		echo "The kernel is $(KERNEL)"; \
		$(BIN)/python -m compileall -q python tests benches; \
		VERMILION_KERNEL="$(abspath $(KERNEL))" $(BIN)/python -m pytest tests/kernel $(SELECT); \
	fi

test-browser: $(CORE) $(LABORATORY) $(DEVELOPMENT) ## run the tests of the live page in Chromium, where there is one
	@if ! command -v chromium chromium-browser >/dev/null || ! command -v chromedriver >/dev/null; then \
		echo "no browser to test in, so the live page was not looked at: on Debian, apt-get install chromium-driver"; \
	else \
		$(BIN)/python -m pytest tests/browser $(SELECT); \
	fi

test-link: $(CORE) $(LABORATORY) $(DEVELOPMENT) ## run the tests of emulated links with real packets, where there are namespaces
	@if ! [ -w /dev/net/tun ]; then \
		echo "no links to test through, so no real packets were carried: /dev/net/tun cannot be opened"; \
	elif ! unshare --net true && ! unshare --user --map-root-user --net true; then \
		echo "no links to test through, so no real packets were carried: network namespaces are not allowed here"; \
	else \
		$(BIN)/python -m pytest tests/link $(SELECT); \
	fi

kernel: ## build the Linux kernel that scenarios run on, unless there is one
	@if [ -n "$(KERNEL)" ]; then echo "The kernel is $(KERNEL)"; \
	else tests/kernel/build-kernel "$(KERNEL_CACHE)" $(LINUX_SOURCE); fi

lint: lint-rust lint-python lint-prose ## formatting, lints, types, stubs against the built core, and prose

# Crates that others build on: each could be published as it is.
PUBLISHED := vermilion-parameters vermilion-aqm vermilion-tcp vermilion-monitor
lint-rust: $(RUNTIME) | tools
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" \
	cargo doc --quiet --locked --workspace --no-deps --document-private-items
	cargo package --quiet --locked --offline --no-verify --allow-dirty $(addprefix -p ,$(PUBLISHED))

lint-python: $(CORE) $(LABORATORY) $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest vermilion._core

lint-prose: $(CORE) $(LABORATORY) $(DEVELOPMENT)
	$(BIN)/python docs/prose_lint.py

docs: $(CORE) $(LABORATORY) $(DEVELOPMENT) ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "The documentation is $(CURDIR)/docs/_build/html/index.html"

links: $(CORE) $(LABORATORY) $(DEVELOPMENT) ## ask every address outside of the documentation whether it is there (needs the Internet)
	$(BIN)/python -m sphinx -b linkcheck --keep-going --quiet docs docs/_build/links

examples: $(CORE) $(LABORATORY) $(DEVELOPMENT) ## run the examples in README.md and docs again and show their output there
	$(BIN)/python docs/refresh_examples.py

bench: $(RUNTIME) | tools ## measure the simulator's speed
	cargo bench --locked

# With PGO=1 the core is built twice: with counters, for a training run (`pgo-command` in pyproject.toml), and
# with what was counted. maturin has the training run in an environment of its own, into which it installs
# the wheel and what that depends on.
PROFDATA := $$(rustc --print sysroot)/lib/rustlib/$$(rustc -vV | sed -n 's/^host: //p')/bin/llvm-profdata
wheel: $(if $(PGO),profile-tools) $(RUNTIME) | tools ## build a wheel for this machine in dist/; PGO=1: optimised by a profile
	env -u CONDA_PREFIX VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin build --release --strip --locked $(if $(PGO),--pgo) \
		--interpreter $(BIN)/python --out dist
	$(LABORATORY_WHEEL)

# The same on every machine.
LABORATORY_WHEEL = $(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-index --no-deps --no-build-isolation \
	--wheel-dir dist ./python

profile-tools: | tools
	@[ -x "$(PROFDATA)" ] || { \
		echo "PGO=1 needs llvm-profdata of this Rust toolchain: rustup component add llvm-tools (or build a plain wheel: make wheel)" >&2; exit 2; }

# The wheels that are published, and what others build from: docs/installing.md. zig links against the
# glibc of 2014, so that a wheel runs on every Linux since, and for another architecture than this one.
WHEELS ?= x86_64 aarch64
wheels: $(RUNTIME) $(RELEASE) | tools ## build and check the wheels and the sdist in dist/
	@for architecture in $(WHEELS); do \
		[ -d "$$(rustc --print sysroot)/lib/rustlib/$$architecture-unknown-linux-gnu" ] || { \
			echo "Rust has no library for $$architecture: rustup target add $$architecture-unknown-linux-gnu (or leave it out: make wheels WHEELS=x86_64)" >&2; exit 2; }; \
	done
	rm -rf dist
	$(BIN)/maturin sdist --out dist
	for architecture in $(WHEELS); do \
		PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --strip --locked --zig --compatibility manylinux2014 \
			--target "$$architecture-unknown-linux-gnu" --out dist; \
	done
	$(LABORATORY_WHEEL)
	$(BIN)/python -m twine check --strict dist/*
	for wheel in dist/vermilion-*.whl; do $(BIN)/python -m auditwheel show "$$wheel"; done

# rustup target add x86_64-unknown-linux-musl aarch64-unknown-linux-musl; the linker comes with Rust.
ROUTERS = $(shell rustup target list --installed 2>/dev/null | grep musl)
line-daemon: | tools ## build vermilion-line, the daemon for routers without Python, for each musl target of this toolchain
	@[ -n "$(ROUTERS)" ] || { echo "Rust has no musl library: rustup target add aarch64-unknown-linux-musl (or that of your router)" >&2; exit 2; }
	for target in $(ROUTERS); do \
		RUSTFLAGS="-C linker=rust-lld" cargo build --locked --profile router -p vermilion-line-daemon --target "$$target"; \
		ls -l "target/$$target/router/vermilion-line"; \
	done

test-wheel: | tools ## install the wheel of dist/ for this machine into an empty environment, and try it
	tests/wheel/try-wheel $(PYTHON) dist

# Needs uv (https://docs.astral.sh/uv/); nothing else here does.
LOCK := uv pip compile --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --quiet --custom-compile-command "make lock"
lock: ## resolve the dependencies anew into requirements/ (needs uv)
	$(LOCK) --upgrade pyproject.toml --group build --output-file requirements/runtime.txt
	$(LOCK) --upgrade pyproject.toml --group build --group test --group lint --group docs \
		--constraint requirements/runtime.txt --output-file requirements/development.txt
	$(LOCK) --upgrade --group pyproject.toml:benchmark \
		--constraint requirements/runtime.txt --output-file requirements/benchmark.txt
	$(LOCK) --upgrade --group pyproject.toml:release \
		--constraint requirements/runtime.txt --output-file requirements/release.txt

clean: ## remove everything that was built, .venv included
	rm -rf $(VENV) target dist docs/_build docs/disciplines report $(CORE) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------

# What cannot be installed into .venv. Asked before anything else, every time: each that is missing
# gives one line, also where .venv is there already and the toolchain has gone.
define NO_PYTHON
Vermilion needs Python 3.11 or newer, and this is $(or $(shell python3 --version 2>/dev/null),none). Get one (Debian 12, Ubuntu 24.04 and Fedora have it: apt-get install python3 python3-venv; else https://docs.astral.sh/uv: uv python install 3.13) and name it: make PYTHON=/path/to/python3
endef
define NO_CARGO
Vermilion needs Rust $(LEAST_RUST) or newer, and there is no cargo. Get it from https://rustup.rs (no root needed), then run make again
endef
define OLD_CARGO
Vermilion needs Rust $(LEAST_RUST) or newer, and this is $$found. Get a newer one: rustup update stable, or https://rustup.rs where cargo comes from the distribution
endef
define NO_COMPILER
Vermilion needs a C compiler, with which Rust links, and there is no cc. Get one: apt-get install gcc libc6-dev (Debian, Ubuntu), dnf install gcc (Fedora), xcode-select --install (macOS)
endef
LEAST_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

tools:
	@missing=; miss() { echo "$$1" >&2; missing=yes; }; \
	[ -n '$(PYTHON)' ] || miss '$(NO_PYTHON)'; \
	if ! command -v cargo >/dev/null; then miss '$(NO_CARGO)'; else \
		found=$$(cargo --version | cut -d ' ' -f 2); \
		least=$$(printf '%s\n' '$(LEAST_RUST)' "$$found" | sort -V | head -n 1); \
		[ "$$least" = '$(LEAST_RUST)' ] || miss "$(OLD_CARGO)"; \
	fi; \
	command -v cc >/dev/null || miss '$(NO_COMPILER)'; \
	[ -z "$$missing" ] || exit 2

# Where the venv module comes without pip (Debian packages it apart), the system's pip helps out.
$(BIN)/python: | tools
	@if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		$(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -c 'import venv, pip' 2>/dev/null; then \
		$(PYTHON) -m venv --without-pip $(VENV); \
	else \
		echo "$(PYTHON) lacks the venv module; on Debian: apt-get install python3-venv" >&2; exit 2; \
	fi

# pip is itself locked: the first command brings the locked one into the environment.
INSTALL = $$($(BIN)/python -c 'import pip' 2>/dev/null && echo "$(BIN)/python -m pip" \
	|| echo "$(PYTHON) -m pip --python $(BIN)/python") \
	install --disable-pip-version-check --quiet --require-hashes --requirement

$(RUNTIME): requirements/runtime.txt | $(BIN)/python
	@echo "Installing the locked run-time dependencies"
	@$(INSTALL) $<
	@touch $@

$(DEVELOPMENT): requirements/development.txt $(RUNTIME)
	@echo "Installing the locked development dependencies"
	@$(INSTALL) $<
	@touch $@

$(RELEASE): requirements/release.txt $(RUNTIME)
	@echo "Installing the locked tools that make and check packages"
	@$(INSTALL) $<
	@touch $@

# --- the core --------------------------------------------------------------------------

$(CORE): $(RUNTIME) $(CORE_SOURCES) | tools
	env -u CONDA_PREFIX VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked
	@touch $@

# Its files are on the path as those of the product are; what is installed says what it adds to it.
$(LABORATORY): python/pyproject.toml $(RUNTIME)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-index --no-deps --no-build-isolation \
		--editable python
	@touch $@
