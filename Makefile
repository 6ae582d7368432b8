# Waypost. `make run` serves a sample; `make test` runs the tests. Each target sets up its own requirements.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Node of the machine if it is recent enough, else that of the wheel on PyPI.
NODE = PATH="$(CURDIR)/$(BIN):$$PATH"
DASHBOARD_FILES := $(shell find dashboard/src -type f ! -name schema.d.ts) $(wildcard schemas/*.json) schemas/openapi.yaml
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Where it is set, as in many container images, each of the thousands of processes of the tests compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: pictures dashboard check-dashboard try-dashboard set-up-tests help run test fuzz soak interop check lint format docs bench growth mutants wheel lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/run.done try-dashboard  ## Serve sample content on 127.0.0.1:8080, with data in ./data
	@$(BIN)/waypost demo

# Half of the time of the tests is waiting, for programs that start and for bounds of time to pass.
TEST_WORKERS ?= $(shell echo $$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 )))

test: set-up-tests  ## Run all tests
	@$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

set-up-tests: tools browser $(VENV)/dev.done $(VENV)/editors.done $(VENV)/openid.done dashboard

fuzz: tools $(VENV)/dev.done  ## For half an hour (FUZZ_MINUTES), send requests by the contract, and against it, as each role (FUZZ_SEED)
	@FUZZ_MINUTES=$(or $(FUZZ_MINUTES),30) FUZZ_SEED=$(or $(FUZZ_SEED),$(shell date +%s)) $(BIN)/python -m pytest -s tests/fuzz

soak: tools $(VENV)/dev.done  ## Have two nodes do 2,000 random operations (SOAK_OPERATIONS) while they are killed; then each random test many times
	@SOAK_OPERATIONS=$(or $(SOAK_OPERATIONS),2000) $(BIN)/python -m pytest --timeout 7200 tests/e2e/test_two_nodes.py
	@WAYPOST_TEST_THOROUGH=1 $(BIN)/python -m pytest --timeout 7200 $$(grep -rlE 'rounds\(|@given|RuleBasedStateMachine' tests --include='test_*.py')

interop: interop-tools $(VENV)/dev.done  ## Build a real Gitea with Go, fetch a real Keycloak by Maven (the first time for some minutes), and run the tests with them
	@$(BIN)/python -m pytest -o addopts="--strict-markers --strict-config -ra" -o timeout=3600 tests/interop

check: lint check-dashboard  ## Check style, types, import directions, words and generated documents
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.docs.words
	@$(BIN)/python -m tests.docs.generate --check

lint: $(VENV)/dev.done
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/dev.done  ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

dashboard: dashboard/built/built.json  ## Build the dashboard, if it changed

check-dashboard: dashboard/node_modules/.done
	@cd dashboard && $(NODE) node build.mjs --types && $(NODE) node node_modules/typescript/bin/tsc && $(NODE) node node_modules/eslint/bin/eslint.js . && $(NODE) node --test test/*.test.ts

pictures: browser $(VENV)/dev.done dashboard  ## Take the pictures of the dashboard for the documents
	@PICTURES=docs/pictures $(BIN)/python -m pytest -q tests/dashboard/test_pictures.py

docs: $(VENV)/dev.done  ## Write the generated parts of the documents
	@$(BIN)/python -m tests.docs.generate

bench: bench-tools $(VENV)/dev.done  ## Run the benchmarks, and print ratios
	@$(BIN)/python -m bench

growth: bench-tools $(VENV)/dev.done  ## Measure how each cost grows with what exists; continues where it was stopped
	@$(BIN)/python -m bench.growth $(SERIES)

mutants: $(VENV)/dev.done  ## Change the code, and list the changes that no test notices
	@nice -n 10 $(BIN)/python -m tests.mutants --most $(or $(MOST),25) --minutes $(or $(MINUTES),90) $(MODULES)

wheel: $(VENV)/dev.done dashboard  ## Build the wheel into dist/
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .

lock: $(VENV)/dev.done  ## Resolve the dependencies again
	@$(PIP) install pip-tools
	@.ci/lock $(BIN)

clean:  ## Remove the environment and caches; ./data stays
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Before the set-up, which takes a minute: what is missing is reported at once.
.PHONY: tools bench-tools interop-tools browser
browser:
	@.ci/install-tools chromium

interop-tools:
	@.ci/install-tools git gcc
	@command -v go >/dev/null || { echo "Not installed: go, which builds Gitea. See https://go.dev/doc/install" >&2; exit 1; }
	@command -v java >/dev/null || { echo "Not installed: java, 17 or later, which runs Keycloak. On Debian: apt install openjdk-17-jre-headless" >&2; exit 1; }
	@command -v mvn >/dev/null || { echo "Not installed: mvn, which fetches Keycloak. On Debian: apt install maven" >&2; exit 1; }

bench-tools:
	@.ci/install-tools git wrk nginx

tools:
	@.ci/install-tools git curl -- postgresql strace openssh-server nginx fcgiwrap

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit("Waypost needs Python 3.11 or later; try: make PYTHON=python3.11 …" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# --no-deps --no-build-isolation: pip downloads only the packages in the lock file.
$(VENV)/run.done: $(VENV)/made requirements.lock pyproject.toml
	@echo "Setting up the environment in $(VENV) …"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# npm checks each package against its hash in the lock file, and runs no script of one.
dashboard/node_modules/.done: dashboard/package.json dashboard/package-lock.json $(VENV)/node.done
	@echo "Setting up the build of the dashboard …"
	@cd dashboard && $(NODE) npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

dashboard/built/built.json: dashboard/node_modules/.done dashboard/build.mjs dashboard/tsconfig.json $(DASHBOARD_FILES)
	@echo "Building the dashboard …"
	@cd dashboard && $(NODE) node build.mjs

# Without the packages of npm, everything else runs, and the page at / says what is missing.
try-dashboard: $(VENV)/run.done
	@$(MAKE) --no-print-directory dashboard || echo "The dashboard is not built; the rest of Waypost runs." >&2

# A recent Node of the machine is used as it is; else the one of its wheel, in the version that the lock file of the tests names.
$(VENV)/node.done: $(VENV)/run.done requirements-dev.lock
	@.ci/install-node $(BIN)
	@touch $@

$(VENV)/dev.done: $(VENV)/run.done requirements-dev.lock
	@echo "Setting up the tests …"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

# The language server that editors run. npm checks each package against its hash in the lock file, and runs no script of one.
$(VENV)/editors.done: tests/editors/package.json tests/editors/package-lock.json $(VENV)/dev.done
	@echo "Setting up the language server of editors …"
	@mkdir -p $(VENV)/editors
	@cp tests/editors/package.json tests/editors/package-lock.json $(VENV)/editors/
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm ci --prefix $(VENV)/editors --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# A conforming OpenID provider, as above.
$(VENV)/openid.done: tests/openid/package.json tests/openid/package-lock.json $(VENV)/dev.done
	@echo "Setting up the OpenID provider …"
	@mkdir -p $(VENV)/openid
	@cp tests/openid/package.json tests/openid/package-lock.json $(VENV)/openid/
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm ci --prefix $(VENV)/openid --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
