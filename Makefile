# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
DEV    := $(VENV)/.dev
PIP    := $(BIN)/python -m pip install --quiet --constraint constraints.txt
LOCKED := $(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement
OWN    := $(PIP) --no-build-isolation --editable

.PHONY: setup demo test lint docs release-check lock sbom audit clean

setup: $(DEV)

# torch first, if pip is configured with a folder that has a build of it: the index's build pulls in gigabytes of CUDA.
$(CORE): pyproject.toml constraints.txt locks/core.txt locks/torch.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(LOCKED) locks/torch.txt --no-index > /dev/null 2>&1 || echo "no locked build of torch in a local folder: taking the index's"
	$(LOCKED) locks/core.txt
	$(OWN) .
	touch $@

$(DEV): $(CORE) locks/dev.txt
	$(LOCKED) locks/dev.txt
	$(OWN) '.[dev]'
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

# Lock what pyproject.toml asks for in the versions of constraints.txt: run it after a change of either.
lock:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	$(BIN)/python tools/lock.py

sbom: $(CORE)
	$(BIN)/python tools/sbom.py locks/core.txt > sbom.json

# Known vulnerabilities of the locked packages; asks a public service.
audit:
	test -x $(VENV)/audit/bin/pip-audit || ($(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/python -m pip install --quiet pip-audit)
	$(VENV)/audit/bin/pip-audit --requirement locks/dev.txt --require-hashes --disable-pip

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
