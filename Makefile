# Everything a developer or CI does with hushd.  `make` alone lists it.
#
# Needs python3 >= 3.11 with venv, make and git; uses uv where it is installed.  All goes
# into .venv, which is brought up to date when pyproject.toml changes or the folder moves.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help test lint types tests fix demo bench torture soak install uninstall mosquitto strace systemd faketime alertmanager clean dev

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
	@echo 'make bench     time and memory beside recomputing, other libraries and a bare MQTT client'
	@echo 'make torture   the long runs that make test leaves out'
	@echo 'make soak      MINUTES=10 at work, with its memory printed'
	@echo 'make install   as root: hushd as a systemd service, for good; make uninstall takes it away'
	@echo 'make deb       the same as a Debian package, in dist/'
	@echo 'make clean     remove what was built'

test: dev mosquitto strace systemd faketime alertmanager
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

torture: dev mosquitto strace systemd
	@$(PYTHON) -m pytest -m long -rA

MINUTES ?= 10
soak: dev mosquitto
	@MINUTES=$(MINUTES) $(PYTHON) -m pytest -q -s tests/torture/test_soak.py

fix: dev
	@$(PYTHON) -m ruff check --fix .
	@$(PYTHON) -m ruff format .

demo:
	$(call ready,demo,-e '.[demo]')
	@.venv/bin/hushd demo $(ARGS)

bench: mosquitto
	$(call ready,bench,-e . --group bench)
	@for script in windows.py 'pipeline.py --live' restore.py writes.py; do \
		echo "== $$script"; $(PYTHON) benchmarks/$$script $(ARGS) || exit 1; \
	done

dev:
	$(call ready,dev,-e '.[demo]' --group dev)

# Installed for good: a virtual environment of its own in VENV, `hushd` on the path, the unit,
# and a sample of the configuration where there is none.  DESTDIR puts all of it into another
# tree, as packagers do.  The service sees no home directory, so the system's own Python is
# taken where it will do.
PREFIX ?= /usr/local
VENV ?= /opt/hushd
SOURCE ?= .
INSTALL_FLAGS ?=
install:
	@set -eu; umask 022; \
	venv='$(DESTDIR)$(VENV)'; prefix='$(DESTDIR)$(PREFIX)'; etc='$(DESTDIR)/etc/hushd'; \
	if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" != 0 ]; then \
		echo 'make install writes to $(VENV), $(PREFIX) and /etc: sudo make install' >&2; exit 1; \
	fi; \
	base=; \
	for name in /usr/bin/python3 python3.14 python3.13 python3.12 python3.11 python3 python; do \
		if "$$name" -c '$(NEW_ENOUGH)' 2>/dev/null; then base="$$name"; break; fi; \
	done; \
	if [ -z "$$base" ]; then \
		echo "hushd needs Python 3.11 or newer; on Debian: apt install python3 python3-venv" >&2; exit 1; \
	fi; \
	echo "== $$venv"; \
	if ! "$$base" -m venv "$$venv"; then \
		echo "$$base cannot make a virtual environment; on Debian: apt install python3-venv" >&2; exit 1; \
	fi; \
	"$$venv/bin/python" -m pip install -qq --upgrade $(INSTALL_FLAGS) $(SOURCE); \
	if [ -n '$(DESTDIR)' ]; then \
		grep -rlI "$$venv" "$$venv/bin" "$$venv/pyvenv.cfg" | xargs sed -i "s|$$venv|$(VENV)|g"; \
	fi; \
	case "$$(readlink -f "$$venv/bin/python")" in /home/*|/root/*) \
		echo "warning: $$base is in a home directory, which the service does not see" >&2;; \
	esac; \
	echo "== $$prefix/bin/hushd, $$prefix/lib/systemd/system/hushd.service"; \
	install -d "$$prefix/bin" "$$prefix/lib/systemd/system" "$$etc"; \
	ln -sfn '$(VENV)/bin/hushd' "$$prefix/bin/hushd"; \
	sed 's|/opt/hushd|$(VENV)|' systemd/hushd.service > "$$prefix/lib/systemd/system/hushd.service"; \
	chmod 644 "$$prefix/lib/systemd/system/hushd.service"; \
	echo "== $$etc"; \
	install -d -m 700 "$$etc/secrets"; \
	if [ ! -e "$$etc/hushd.yaml" ]; then install -m 644 config/hushd.yaml "$$etc/hushd.yaml"; fi; \
	install -m 644 config/hushd.schema.json "$$etc/hushd.schema.json"; \
	if [ -z '$(DESTDIR)' ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi; \
	echo 'write /etc/hushd/hushd.yaml, then: systemctl enable --now hushd'

uninstall:
	@set -eu; \
	if [ -z '$(DESTDIR)' ] && [ -d /run/systemd/system ]; then \
		systemctl disable --now hushd 2>/dev/null || true; \
	fi; \
	if [ -e '$(DESTDIR)$(VENV)/pyvenv.cfg' ]; then rm -rf '$(DESTDIR)$(VENV)'; fi; \
	rm -f '$(DESTDIR)$(PREFIX)/bin/hushd' '$(DESTDIR)$(PREFIX)/lib/systemd/system/hushd.service'; \
	if [ -z '$(DESTDIR)' ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi; \
	echo 'what you wrote stays: /etc/hushd; and what hushd wrote: /var/lib/hushd'

# The script says what may be set; SOURCE and INSTALL_FLAGS count here, too.
deb:
	@packaging/debian/build

# The end-to-end tests talk to a real broker of their own, on a port of their own; the one
# that the package would start as a service is not wanted.  The unit file is judged by
# systemd's own tool; systemd need not run for it.
mosquitto:
	$(call program,mosquitto,mosquitto,the MQTT broker mosquitto)

# The power cuts are simulated over what the daemon asks of the kernel.
strace:
	$(call program,strace,strace,strace)

systemd:
	$(call program,systemd-analyze,systemd,systemd-analyze)

# sets the clock of one process and of no other
faketime:
	$(call program,faketime,faketime,faketime)

# Installed by hand, it is a service that listens on all addresses, which is much to ask for:
# who is not root does without, and its tests are skipped.
alertmanager:
	$(if $(filter 0,$(shell id -u)),$(call program,prometheus-alertmanager,prometheus-alertmanager,Prometheus Alertmanager))

# $(call program,COMMAND,PACKAGE,WORDS): see to it that COMMAND is there
define program
	@set -eu; \
	if command -v $(1) >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo 'the tests need $(3); on Debian: sudo apt install $(2)' >&2; exit 1; \
	fi; \
	echo '== setup: $(2)'; \
	policy=/usr/sbin/policy-rc.d; \
	if [ ! -e $$policy ]; then \
		printf '#!/bin/sh\nexit 101\n' > $$policy; chmod 755 $$policy; \
		trap "rm -f $$policy" EXIT; \
	fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update -qq && apt-get install -qq -y --no-install-recommends $(2); } >/dev/null
endef

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage build dist
	find . -name __pycache__ -prune -exec rm -rf {} +
