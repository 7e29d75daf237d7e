PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core# the package alone, which is all that the demo needs
READY := $(VENV)/.ready# and what development needs
# many tests wait for processes, servers and timeouts: one worker more than there are cores
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN || echo 1) + 1)
COMPILE = $(BIN)/python tests/helpers/warm_up.py # what many tests use: a minute, and a second once done

.PHONY: setup demo serve-demo figures test check docs bench tables clean

setup: $(READY)

$(CORE): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bestk needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(READY): $(CORE)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

demo: $(CORE)
	$(BIN)/python examples/captions.py build/demo
	$(BIN)/bestk certify build/demo/captions.db -o build/demo/captions.cert.json
	$(BIN)/bestk verify build/demo/captions.cert.json build/demo/captions.db
	@echo
	@echo "The five funniest captions, and how they were found: open build/demo/captions.html"

serve-demo: $(CORE)
	$(BIN)/pip install --quiet --editable '.[serve]'
	$(BIN)/python examples/serve_captions.py build/demo

figures: $(READY)
	$(BIN)/bestk reproduce --quick --out build/figures
	@echo
	@echo "Both figures of the paper are in build/figures; open build/figures/report.html"

# tests start hundreds of processes, which would read the source anew where bytecode is not kept
test: export PYTHONDONTWRITEBYTECODE =
test: $(READY)
	$(COMPILE)
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env --write-all \
	  --doctree-dir build/doctrees --builder html docs build/docs
	$(BIN)/python docs/extensions/links.py build/docs
	@echo "The documentation: open build/docs/index.html"

bench: $(READY)
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

tables: $(READY)
	$(BIN)/python benchmarks/tables/error_rates.py docs/error-rates.md
	$(BIN)/python benchmarks/tables/evidence_errors.py docs/error-rates-e-lucb.md
	$(BIN)/python benchmarks/tables/comparison.py docs/e-lucb-results.md
	$(BIN)/python benchmarks/tables/limits.py docs/limits.md

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
