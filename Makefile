# flashlag: `make run` measures this directory's storage; `make test` checks everything.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
FLASHLAG := target/release/flashlag

.PHONY: help build run python wheels page test quick checks lint unit setup-test bench sweep-bench round-trip monotone left-out lab pictures site docs man dist dist-twice release release-twice release-check fuzz clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

build: ## The release binary, target/release/flashlag, and its nbdkit plugin beside it
	$(CARGO) build --release --locked -p flashlag-cli -p flashlag-nbd

# What the build has written is out of the way before anything is measured.
run: ## Measure the storage of this directory, with a program that builds quickly: two minutes
	$(CARGO) build --profile first --locked -p flashlag-cli --no-default-features --features fanotify
	@sync
	target/first/flashlag run

setup-test: ## What the tests use beyond Rust: lists it, asks at a terminal (YES=1: yes), installs it
	scripts/setup-test

lint: ## Format and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

unit: ## The tests alone; what was skipped is listed at the end
	scripts/with-skips scripts/run-tests

quick: lint ## Lints and the nine tests in ten that take under a second
	FLASHLAG_QUICK=1 scripts/with-skips scripts/run-tests

test: setup-test unit ## All tests, and what they need: a change lands when these and `make checks` pass

checks: ## Besides the tests: lints, ARM programs, release and its size, oldest Rust, licences, Termux, fuzz targets
	scripts/checks

bench: build ## Speed and size beside fio, alternating; needs fio, a quiet machine, minutes
	python3 scripts/bench.py
	python3 scripts/bench_device.py

sweep-bench: build ## 10,000 points in one process, and on Dask workers of which two are killed; minutes
	scripts/python --tools
	$(CARGO) build --release --locked -p flashlag-python
	target/python/tests/bin/python scripts/sweep_bench.py target/release

round-trip: build ## Fits of simulated devices with hidden parameters, 20 of them; 40 minutes
	python3 scripts/round_trip.py --set sizes=1

monotone: ## Every profile on every mount: fuller, older, less spare area is never faster; minutes
	$(CARGO) test --release --locked -p flashlag-cli --test program monotone -- --ignored

left-out: ## What each profile forecasts of rows that were left out: a table into docs/model.md; minutes
	$(CARGO) build --release --locked -p flashlag-cli
	python3 scripts/left_out.py $(FLASHLAG)

lab: ## The lab's questions, in real kernels, and a phone that boots: tables into docs/; hours, needs QEMU
	$(CARGO) build --release --locked -p flashlag-cli -p flashlag-nbd
	scripts/lab-packages
	python3 scripts/lab.py $(FLASHLAG) --write docs/lab.md
	scripts/phone-guest $(FLASHLAG) --write docs/phones.md
	scripts/watch-lab $(FLASHLAG) --rounds 2 --write docs/watch.md

site: build ## A demonstration of `flashlag site`, from simulated runs of all profiles, into target/site; a minute
	scripts/demo-site $(FLASHLAG) target/site

docs: site ## The documents as a searchable site with that demonstration, into target/docs-site; needs mdBook
	scripts/docs-site --tools
	scripts/docs-site target/docs-site --demo target/site

man: build ## The man pages, into target/man; needs lowdown
	scripts/man-pages $(FLASHLAG) target/man

pictures: build ## The README's pictures, from real runs; needs chromium
	scripts/pictures

python: ## The Python package with the program, into a virtual environment: target/python/venv
	scripts/python

page: ## The model in a page, one HTML file: target/page/flashlag.html; minutes, needs rustup
	scripts/page

wheels: ## The Python package for x86_64 and aarch64, GNU and musl, as wheels, into dist/
	scripts/python --wheels
	scripts/python-aarch64 dist/*manylinux*aarch64.whl dist/*manylinux*x86_64.whl || [ $$? = 77 ]

dist: ## Static programs for phones and PCs (aarch64, armv7, x86_64) with their sums, into dist/; 15 minutes
	scripts/dist

dist-twice: ## The same, and again from a clone elsewhere: both must have the same bytes; half an hour
	scripts/dist --twice

release: ## All that is published of a version, into target/release-files: packages, archives, sums; 40 minutes, needs Go
	scripts/release

release-twice: ## The same, and again from a clone elsewhere: both must have the same bytes
	scripts/release --twice

release-check: ## Installs, uses, upgrades and removes those packages in clean roots of Debian; as root, minutes
	scripts/release-check

fuzz: ## Each parser for a minute under libFuzzer; needs nightly and cargo-fuzz
	cd fuzz && for target in $$(cargo +nightly fuzz list); do \
	  mkdir -p corpus/$$target; \
	  cargo +nightly fuzz run $$target corpus/$$target seeds/$$target -- -max_total_time=60; done

clean: ## Build output
	$(CARGO) clean
