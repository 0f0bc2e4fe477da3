# Everything a developer or CI does with hushd.  `make` alone lists it.
#
# Needs python3 >= 3.11 with venv, make and git; uses uv where it is installed.  All goes
# into .venv, which is brought up to date when pyproject.toml changes or the folder moves.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help test lint types tests fix demo bench torture mosquitto clean dev

PYTHON := .venv/bin/python
# a daemon such as mosquitto is in sbin, which not everybody has on the path
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# $(call ready,NAME,REQUIREMENTS): a virtual environment that holds REQUIREMENTS, or a
# plain sentence that says what is missing.  .venv/NAME.stamp remembers for what it was made.
# Where uv is there but cannot do it (another idea of certificates or mirrors), pip does.
define ready
	@set -eu; \
	want="$$(cksum < pyproject.toml) $$PWD"; \
	if [ -x $(PYTHON) ] && [ "$$(cat .venv/$(1).stamp 2>/dev/null)" = "$$want" ]; then exit 0; fi; \
	echo "== setup: .venv ($(1))"; \
	base=; \
	for name in python3.14 python3.13 python3.12 python3.11 python3 python; do \
		if "$$name" -c '$(NEW_ENOUGH)' 2>/dev/null; then base="$$name"; break; fi; \
	done; \
	if [ -x $(PYTHON) ] && $(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null; then fresh=; else fresh=yes; fi; \
	if command -v uv >/dev/null 2>&1; then \
		if { [ -z "$$fresh" ] || { rm -rf .venv && uv venv --quiet --python "$${base:->=3.11}" .venv; }; } \
			&& uv pip install --quiet --python $(PYTHON) $(2); then \
			echo "$$want" > .venv/$(1).stamp; exit 0; \
		fi; \
		echo 'uv could not do it, pip is tried'; \
	fi; \
	if [ -z "$$base" ]; then \
		echo "hushd needs Python 3.11 or newer; on Debian: apt install python3 python3-venv" >&2; exit 1; \
	fi; \
	if [ -n "$$fresh" ] || ! $(PYTHON) -m pip --version >/dev/null 2>&1; then \
		rm -rf .venv; \
		if ! "$$base" -m venv .venv; then \
			rm -rf .venv; \
			echo "$$base cannot make a virtual environment; on Debian: apt install python3-venv" >&2; exit 1; \
		fi; \
	fi; \
	$(PYTHON) -m pip install -qq 'pip>=25.1'; \
	$(PYTHON) -m pip install -qq $(2); \
	echo "$$want" > .venv/$(1).stamp
endef
NEW_ENOUGH := import sys, venv; sys.exit(sys.version_info < (3, 11))

help:
	@echo 'make test      set up, then lint, types, tests and docs check: all that CI runs'
	@echo 'make demo      set up and run the demo: a loud street, a broker and two rules in one process'
	@echo 'make fix       put right what ruff can put right, and format'
	@echo 'make bench     time and memory against recomputing and against other libraries'
	@echo 'make torture   the long runs that make test leaves out'
	@echo 'make clean     remove what was built'

test: dev mosquitto
	@failed=; \
	for step in lint types tests; do \
		$(MAKE) --no-print-directory "$$step" || failed="$$failed $$step"; \
	done; \
	if [ -n "$$failed" ]; then echo "make test: failed:$$failed" >&2; exit 1; fi

# the steps of `make test`, one by one
lint: dev
	@echo '== lint'
	@$(PYTHON) -m ruff check --quiet .
	@$(PYTHON) -m ruff format --check --quiet .

types: dev
	@echo '== types'
	@$(PYTHON) -m mypy --no-error-summary

tests: dev
	@echo '== tests and docs'
	@$(PYTHON) -m pytest -q -m 'not long' --cov --cov-report=term

torture: dev mosquitto
	@$(PYTHON) -m pytest -m long

fix: dev
	@$(PYTHON) -m ruff check --fix .
	@$(PYTHON) -m ruff format .

demo:
	$(call ready,demo,-e '.[demo]')
	@.venv/bin/hushd demo $(ARGS)

bench:
	$(call ready,bench,-e . --group bench)
	@for script in windows pipeline; do echo "== $$script"; $(PYTHON) benchmarks/$$script.py $(ARGS) || exit 1; done

dev:
	$(call ready,dev,-e '.[demo]' --group dev)

# The end-to-end tests talk to a real broker of their own, on a port of their own; the one
# that the package would start as a service is not wanted.
mosquitto:
	@set -eu; \
	if command -v mosquitto >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo 'the tests need the MQTT broker mosquitto; on Debian: sudo apt install mosquitto' >&2; exit 1; \
	fi; \
	echo '== setup: mosquitto'; \
	policy=/usr/sbin/policy-rc.d; \
	if [ ! -e $$policy ]; then \
		printf '#!/bin/sh\nexit 101\n' > $$policy; chmod 755 $$policy; \
		trap "rm -f $$policy" EXIT; \
	fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update -qq && apt-get install -qq -y --no-install-recommends mosquitto; } >/dev/null

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build dist
	find . -name __pycache__ -prune -exec rm -rf {} +
