# Every way of building, running and checking Vermilion. `make help` lists the targets.
#
# Needs Python 3.11 or newer, a C compiler (Rust's linker) and a Rust toolchain; everything
# else is installed from hash-pinned lock files into .venv, from wherever pip is configured
# to fetch. Stamp files make a second `make` quick; the core is rebuilt when its sources change.

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
RUNTIME := $(VENV)/.stamp-runtime
DEVELOPMENT := $(VENV)/.stamp-development

.PHONY: help demo build test test-rust test-python test-kernel test-browser kernel lint lint-rust lint-python docs examples bench wheel-optimised lock clean

help: ## list the targets
	@echo "Vermilion: make <target>"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: build ## set up, keep two changing networks tuned, write report/demo.html
	@mkdir -p report
	$(BIN)/vermilion online oscillating-red varying-round-trip-time --seeds 3 --deadline '0.7 s' \
		--report report/demo.html --journal report/demo.sqlite
	@echo "The report is $(CURDIR)/report/demo.html, the journal report/demo.sqlite"

build: $(CORE) ## set up .venv and build the core in release mode

test: test-rust test-python ## set up and run every test of both languages

test-rust: $(RUNTIME)
	cargo test --locked --workspace

test-python: $(CORE) $(DEVELOPMENT)
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile

# The first that there is of: what the environment names, what `make kernel` has built, and one that a
# folder beside this one has built for several checkouts.
KERNEL_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vermilion/kernel
KERNEL := $(firstword $(wildcard $(VERMILION_KERNEL) $(KERNEL_CACHE)/linux ../*/testbed/uml/linux))
ifneq ($(VERMILION_KERNEL),)
KERNEL := $(VERMILION_KERNEL)
endif

test-kernel: $(CORE) $(DEVELOPMENT) ## run the tests on a real Linux kernel, where there is one
	@if [ -z "$(KERNEL)" ]; then \
		echo "no kernel to test against, so the tests on a kernel were not run: make kernel builds one"; \
	else \
		echo "The kernel is $(KERNEL)"; \
		VERMILION_KERNEL="$(abspath $(KERNEL))" $(BIN)/python -m pytest tests/kernel; \
	fi

test-browser: $(CORE) $(DEVELOPMENT) ## run the tests of the live page in Chromium, where there is one
	@if ! command -v chromium chromium-browser >/dev/null || ! command -v chromedriver >/dev/null; then \
		echo "no browser to test in, so the live page was not looked at: on Debian, apt-get install chromium-driver"; \
	else \
		$(BIN)/python -m pytest tests/browser; \
	fi

kernel: ## build the Linux kernel that scenarios run on, unless there is one
	@if [ -n "$(KERNEL)" ]; then echo "The kernel is $(KERNEL)"; \
	else tests/kernel/build-kernel "$(KERNEL_CACHE)" $(LINUX_SOURCE); fi

lint: lint-rust lint-python ## formatting, lints, types, and stubs against the built core

lint-rust: $(RUNTIME)
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

lint-python: $(CORE) $(DEVELOPMENT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest vermilion._core

docs: $(CORE) $(DEVELOPMENT) ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "The documentation is $(CURDIR)/docs/_build/html/index.html"

examples: $(CORE) $(DEVELOPMENT) ## run the examples in README.md and docs again and show their output there
	$(BIN)/python docs/refresh_examples.py

bench: $(RUNTIME) ## measure the simulator's speed
	cargo bench --locked

# Builds the core twice: with counters, for a training run (`pgo-command` in pyproject.toml), and
# with what was counted. It needs rustup's component llvm-tools. Plain builds know nothing of it.
wheel-optimised: $(RUNTIME) ## build a wheel in dist/ whose core is optimised by a profile
	env -u CONDA_PREFIX VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin build --release --locked --pgo \
		--interpreter $(BIN)/python --out dist

# Needs uv (https://docs.astral.sh/uv/); nothing else here does.
LOCK := uv pip compile --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --quiet --custom-compile-command "make lock"
lock: ## resolve the dependencies anew into requirements/ (needs uv)
	$(LOCK) --upgrade pyproject.toml --group build --output-file requirements/runtime.txt
	$(LOCK) --upgrade pyproject.toml --group build --group test --group lint --group docs \
		--constraint requirements/runtime.txt --output-file requirements/development.txt
	$(LOCK) --upgrade --group pyproject.toml:benchmark \
		--constraint requirements/runtime.txt --output-file requirements/benchmark.txt

clean: ## remove everything that was built, .venv included
	rm -rf $(VENV) target docs/_build docs/disciplines report $(CORE) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------

# Where the venv module comes without pip (Debian packages it apart), the system's pip helps out.
$(BIN)/python:
ifeq ($(PYTHON),)
	@echo "Vermilion needs Python 3.11 or newer, and this is $$(python3 --version 2>&1); name one: make PYTHON=/path/to/python3" >&2; exit 2
endif
	@command -v cargo >/dev/null || { echo "Vermilion needs a Rust toolchain, and there is no cargo: see https://rustup.rs" >&2; exit 2; }
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

# --- the core --------------------------------------------------------------------------

$(CORE): $(RUNTIME) $(CORE_SOURCES)
	env -u CONDA_PREFIX VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked
	@touch $@
