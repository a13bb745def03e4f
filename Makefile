PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEFAULT := not slow and not faults and not browser
STEP   = @printf '\n== %s\n'

.PHONY: environment leaderboard example test test-all faults browser gpu bench clean

EXTRAS = neural
$(VENV)/.installed: EXTRAS = dev,all
$(VENV)/.installed $(VENV)/.neural: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@

environment: $(VENV)/.installed

leaderboard: $(or $(wildcard $(VENV)/.installed),$(VENV)/.neural)  ## everything, on the data that is here
	$(BIN)/harness run --all

example: environment  ## docs/example/ and docs/example.zip: the ten real datasets, numbers and no texts
	$(BIN)/harness run --all --with 'cosine[encoder=all-mpnet-base-v2]' \
	    --with 'cosine[encoder=all-mpnet-base-v2+dialogue,turns=3]' --data real --split dev --examples 0 --out results/example
	$(BIN)/harness publish --out results/example --site docs/example --bundle docs/example.zip

test: environment  ## before every commit: lint, types, the default suite
	$(STEP) 'test 1 of 3: lint'
	$(BIN)/ruff check .
	$(STEP) 'test 2 of 3: types'
	$(BIN)/mypy
	$(STEP) 'test 3 of 3: the default suite, on two processes'
	$(BIN)/pytest -n 2 --durations 10 -m "$(DEFAULT)"

test-all: test faults browser  ## the wheel, real data, studies and fuzzing as well
	$(STEP) 'slow tests'
	$(BIN)/pytest -n 2 --durations 10 -m slow

faults: environment  ## runs that are killed, damaged, starved and run over one another
	$(STEP) 'faults'
	$(BIN)/pytest -n 2 --durations 10 -m faults tests/faults

browser: environment  ## every page in Chromium; HARNESS_CHROMIUM names one that is not on the PATH
	$(STEP) 'browser'
	$(BIN)/pytest -n 2 --durations 10 --dist loadfile -m browser tests/browser

gpu: environment  ## on a machine with a GPU: gpu tests, matrix rates, the ten real sets; MINUTES cuts it short
	$(STEP) 'gpu'
	$(BIN)/pytest -m gpu tests
	$(BIN)/python -m tests.gpu.measure --minutes $(or $(MINUTES),20)

bench: environment  ## speed and memory beside the reference packages
	$(BIN)/python tests/bench/lexical.py
	$(BIN)/python tests/bench/lexical.py --memory
	$(BIN)/python tests/bench/comparing.py
	$(BIN)/python tests/bench/report.py
	$(BIN)/python tests/bench/first_minute.py
	$(BIN)/python tests/bench/neural.py

clean:
	rm -rf $(VENV) .tox dist
