PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: environment leaderboard test faults browser bench clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,all]'
	touch $@

environment: $(VENV)/.installed

leaderboard: environment  ## everything, on the data that is here
	$(BIN)/harness run --all

test: environment  ## lint, types, docs, tests: what tox runs, in one environment
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests/docs
	$(BIN)/pytest -n 2 --durations 20 -m "not slow and not faults and not long and not browser" --ignore tests/docs
	$(BIN)/pytest -n 2 --durations 20 -m slow

faults: environment  ## runs that are killed, damaged, starved and run over one another
	$(BIN)/pytest -n 2 --durations 20 -m faults tests/faults

browser: environment  ## every page in Chromium; HARNESS_CHROMIUM names one that is not on the PATH
	$(BIN)/pytest -n 2 --durations 20 --dist loadfile -m browser tests/browser

bench: environment  ## speed and memory beside the reference packages
	$(BIN)/python tests/bench/lexical.py
	$(BIN)/python tests/bench/lexical.py --memory
	$(BIN)/python tests/bench/comparing.py
	$(BIN)/python tests/bench/report.py
	$(BIN)/python tests/bench/site.py
	$(BIN)/python tests/bench/commands.py
	$(BIN)/python tests/bench/neural.py
	$(BIN)/harness bench models

clean:
	rm -rf $(VENV) .tox dist
