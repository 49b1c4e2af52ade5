# Everything a machine with bash, make and Python 3.11+ needs: `make demo`, `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.installed
DEV := .venv/.dev-installed
BENCH := .venv/.bench-installed
PYTEST := $(BIN)/python -m pytest
CODE := src tests benchmarks docs tools
# One more than CI has cores: tests wait for processes that they have started for a third of their time.
TESTERS ?= 3
# Tests start Python some thousand times, which would compile our sources each time anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test long bench docs conformance lint style types contract fmt wheel clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-11s %s\n", $$1, $$2 }'

demo: $(RUN) ## Sample logs → lake → first answers
	$(BIN)/tailrace demo

test: $(DEV) ## All tests but the long ones
	$(PYTEST) tests --ignore=tests/long -m "not slow" --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder

long: $(DEV) ## Tests that need minutes or gigabytes: kill -9, huge inputs → tests/long/RESULTS.md
	$(PYTEST) tests --ignore=tests/long -m slow
	$(PYTEST) tests/long --results tests/long/RESULTS.md

bench: $(BENCH) ## Benchmarks against DuckDB, ClickHouse, Spark and Polars → benchmarks/RESULTS.md
	$(BIN)/python benchmarks/run.py --scale 1,4,16
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/objects.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/compaction.py
	$(BIN)/python benchmarks/year.py
	$(BIN)/python benchmarks/formats.py
	$(BIN)/python benchmarks/table_costs.py
	$(BIN)/python benchmarks/windows.py data single codecs sampling tiny batch

docs: $(DEV) ## Write the generated parts of docs/ anew
	$(BIN)/python docs/generate.py

conformance: $(DEV) ## Measure on real logs what is stored and equal → docs/conformance.md
	$(PYTEST) tests/contract -k "conformance or oracle" --update-conformance
	$(BIN)/python docs/generate.py

lint: style types contract ## Style, types and import contract

style: $(DEV) ## Ruff: rules and format
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: $(DEV) ## mypy --strict
	$(BIN)/mypy

contract: $(DEV) ## Which room of the code may import which
	$(BIN)/lint-imports

fmt: $(DEV) ## Format the code and mend what ruff can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

wheel: $(DEV) ## Build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## Remove everything that can be made again
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache benchmarks/data
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Tailrace needs Python 3.11 or later; say which with: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv

# Order-only: the interpreter's own time stamp says nothing about what is installed.
$(RUN): WHAT := .
$(DEV): WHAT := .[dev]
$(BENCH): WHAT := .[dev,bench]
$(RUN) $(DEV) $(BENCH): pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing (a few minutes the first time) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(WHAT)'
	@touch $@
