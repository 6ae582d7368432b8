# Waypost: `make run` tries it, `make test` proves it. Everything they need is set up by them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test check lint format bench wheel lock clean

help:  ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/run.done  ## Serve sample content on 127.0.0.1:8080, with data in ./data
	@$(BIN)/waypost demo

test: $(VENV)/dev.done tools  ## Run all tests
	@$(BIN)/python -m pytest -n auto --dist worksteal

check: lint  ## Check style, types and import directions
	@$(BIN)/mypy
	@$(BIN)/lint-imports

lint: $(VENV)/dev.done
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/dev.done  ## Put the code in its layout
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/dev.done  ## Measure, and print ratios
	@.ci/install-tools wrk nginx
	@$(BIN)/python -m bench

wheel: $(VENV)/dev.done  ## Build the wheel into dist/
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist .

lock: $(VENV)/dev.done  ## Resolve the dependencies anew
	@$(PIP) install pip-tools
	@.ci/lock $(BIN)

clean:  ## Remove the environment and caches; ./data stays
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.PHONY: tools
tools:
	@.ci/install-tools git strace postgresql

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit("Waypost needs Python 3.11 or later; try: make PYTHON=python3.11 …" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# --no-deps --no-build-isolation: nothing but what the lock file names is ever fetched.
$(VENV)/run.done: $(VENV)/made requirements.lock pyproject.toml
	@echo "Setting up the environment in $(VENV) …"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.done: $(VENV)/run.done requirements-dev.lock
	@echo "Setting up what the tests need …"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@
