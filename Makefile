# Everything a person or CI runs. Each target sets up what it needs; see README.md.

SHELL := /bin/bash
PY := .venv/bin/python
BIN := .venv/bin
READY := .venv/.ready
NODE_READY := tests/node/node_modules/.ready
# Most of a test's time is waiting for servers that it has started, so three run at once: whole modules, because
# their tests share servers, and in the order of the folders, which has the long ones first.
SPREAD := -n 3 --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo console test test-faults test-postgres test-browser test-types bench lint lock clean system

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1 — \2/'

demo: $(READY) system ## play the main job on stand-ins and print the thread
	$(BIN)/hermes-bot demo

console: $(READY) system ## a local Slack in the browser, with the bot and a stand-in Cube behind it
	$(BIN)/hermes-bot standin --with-bot

test: $(READY) system ## the test suite
	$(BIN)/pytest $(SPREAD) -m "not browser and not faults"

test-faults: $(READY) system ## the whole bot with one thing broken: killed, cut off, refused, out of room
	$(BIN)/pytest $(SPREAD) -m faults tests/faults

test-postgres: $(READY) ## what a PostgreSQL database must do, on a server of its own
	@.ci/system-packages '/usr/lib/postgresql/*/bin/initdb:postgresql' >&2
	.ci/with-postgres $(BIN)/pytest tests/contract/test_audit_log_contract.py tests/unit/test_locks.py

test-browser: $(READY) $(NODE_READY) system ## the console in headless Chromium; leaves screenshots in var/screenshots
	@.ci/system-packages chromium:chromium >&2
	$(BIN)/pytest -m browser tests/browser

test-types: $(READY) $(NODE_READY) ## every message of ours against Slack's own TypeScript types
	$(PY) -m tests.types

bench: $(READY) system ## the figures of docs/bench.md as one JSON object
	@$(PY) -m tests.bench

lint: $(READY) ## ruff, mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: ## write the lock files anew (needs uv)
	uv pip compile -q --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	  --custom-compile-command "make lock" pyproject.toml -o requirements.lock
	uv pip compile -q --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	  --custom-compile-command "make lock" --group dev pyproject.toml -o requirements-dev.lock

clean: ## remove what make has set up
	rm -rf .venv tests/node/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

system: ## Debian packages that the stand-ins use
	@.ci/system-packages rsync:rsync nsenter:util-linux /usr/bin/python3:python3 >&2

$(READY): requirements-dev.lock pyproject.toml
	@.ci/system-packages python-venv:python3-venv >&2
	@echo "Setting up .venv …" >&2
	@rm -rf .venv
	@$$(command -v python3.11 || command -v python3) -m venv .venv >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e . >&2
	@touch $(READY)

$(NODE_READY): tests/node/package.json tests/node/package-lock.json
	@.ci/system-packages npm:npm >&2
	@cd tests/node && npm ci --silent >&2
	@touch $(NODE_READY)
