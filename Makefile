# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
DEV    := $(VENV)/.dev
PIP    := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.PHONY: setup demo test lint docs release-check clean

setup: $(DEV)

$(CORE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(DEV): $(CORE)
	$(PIP) --editable '.[dev]'
	touch $@

demo: $(CORE)
	$(BIN)/vase demo

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

docs: $(DEV)
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

release-check: $(DEV)
	$(BIN)/python tools/release.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
