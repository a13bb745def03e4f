PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEFAULT := not slow and not faults and not browser
# The tests of a file share fixtures, so one process runs them all.
PYTEST = $(BIN)/pytest -n 2 --dist loadfile --durations 10 --timeout 600
STEP   = @printf '\n== %s\n'

# Each build of torch (CPU, CUDA) has digests of its own, so its version alone is locked.
TORCH := $(shell sed -n 's/^constraint-dependencies = \["\(torch==[^"]*\)"\].*/\1/p' pyproject.toml)

.PHONY: environment lock leaderboard example test lint suite test-all lowest audit faults browser gpu bench docs dist clean

# Compiling everything takes as long as the rest of the installation; imports compile the modules that are used.
PIP = $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
# uv is faster than pip and finds the build of torch for the machine. It ignores pip's settings (mirrors, wheels on disk),
# so pip installs whatever uv cannot get.
install = UV_HTTP_RETRIES=1 $(BIN)/uv pip install --quiet --python $(BIN)/python $(2) $(1) || \
	    { echo 'uv failed; installing with pip'; $(PIP) $(1); }
HASHED = --no-deps --require-hashes --requirement
EXTRA  = neural
$(VENV)/.installed: EXTRA = dev
$(VENV)/.installed $(VENV)/.neural: pyproject.toml uv.lock
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "the locked environment is for Python 3.11 to 3.13; name one: make PYTHON=python3.13")'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements/dev.txt >$(VENV)/uv.txt
	$(PIP) $(HASHED) $(VENV)/uv.txt
	$(call install,$(HASHED) requirements/$(EXTRA).txt)
	$(call install,$(TORCH),--torch-backend auto)
	$(call install,--no-deps --editable .)
	touch $@

environment: $(VENV)/.installed

lock: environment  ## newer versions of everything, with digests
	$(BIN)/uv lock --upgrade
	$(EXPORT) --extra neural --output-file requirements/neural.txt
	$(EXPORT) --extra dev --extra all --output-file requirements/dev.txt
	$(EXPORT) --extra docs --output-file requirements/docs.txt

EXPORT = $(BIN)/uv export --quiet --frozen --no-emit-project --no-annotate --no-header --prune torch

leaderboard: $(or $(wildcard $(VENV)/.installed),$(VENV)/.neural)  ## everything, on the data that is here
	$(BIN)/harness run --all

SLOW = panel usr usl-h sm pmi fed holistic perplexity mme-avg mme-crs rank-average regression weighted
QWEN = judge:relevance[lm=qwen2.5-coder-1.5b]
FAST = deb,grade,cosine,dynaeval,fined-eval,fined-eval-multitask,cosim,s-dicoh,bert-ruber,mme-rm,mme-em,mme-fm,mme-tcm,adem,$\
    bert-score,bleu,chrf,rouge-l,meteor,distinct,repetition,length,random,context-overlap
example: environment  ## docs/example/ and docs/example.zip: real datasets, numbers and no texts; 90 minutes without a GPU
	$(BIN)/harness run --all --with '$(QWEN)' --with 'rank-average[inputs=deb+$(QWEN)]' \
	    --with 'regression[inputs=+$(QWEN)]' --with 'cosine[encoder=all-mpnet-base-v2]' \
	    --with 'cosine[encoder=all-mpnet-base-v2+dialogue,turns=3]' --data real --split dev --examples 0 --out results/example
	$(BIN)/harness submit results/example.zip --name example --out results/example --metric '$(QWEN)' \
	    --metric 'rank-average[inputs=deb+$(QWEN)]' --metric 'regression[inputs=+$(QWEN)]' \
	    --metric 'cosine[encoder=all-mpnet-base-v2]' --metric 'cosine[encoder=all-mpnet-base-v2+dialogue,turns=3]' \
	    $(addprefix --metric ,$(SLOW))
	$(BIN)/harness run --metric $(FAST) $(addprefix --metric ,$(filter-out panel,$(SLOW))) --reuse results/example.zip \
	    --data real --examples 0 --out results/example
	$(BIN)/harness publish --out results/example --site docs/example
	cp results/example.zip docs/example.zip

test: environment  ## before every commit: lint, types, the default suite
	@$(MAKE) --no-print-directory --jobs 2 lint suite

lint: environment
	$(STEP) 'lint and types'
	$(BIN)/ruff check .
	$(BIN)/mypy

suite: environment
	$(STEP) 'the default suite, on two processes'
	$(PYTEST) -m "$(DEFAULT)"

test-all: test faults browser  ## the wheel, real data, studies and fuzzing as well
	$(STEP) 'slow tests'
	$(PYTEST) -m slow

faults: environment  ## runs that are killed, damaged, starved and run over one another
	$(STEP) 'faults'
	$(PYTEST) -m faults tests/faults

browser: environment  ## every page in Chromium; HARNESS_CHROMIUM names one that is not on the PATH
	$(STEP) 'browser'
	$(PYTEST) -m browser tests/browser

gpu: environment  ## on a machine with a GPU: gpu tests, matrix rates, the ten real sets; MINUTES cuts it short
	$(STEP) 'gpu'
	$(BIN)/pytest -m gpu tests
	$(BIN)/python -m tools.gpu --minutes $(or $(MINUTES),20)

bench: environment  ## speed and memory beside the reference packages
	$(BIN)/python -m tools.packages
	$(BIN)/python -m tools.commands

docs: environment  ## the documentation as a site in build/docs, every link checked
	$(PIP) --no-deps --require-hashes --requirement requirements/docs.txt
	$(BIN)/mkdocs build --strict --quiet

dist: environment  ## both wheels and the sdist, the same bytes each time, and what they need as CycloneDX
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist weights
	mkdir -p build
	$(BIN)/uv export --quiet --frozen --extra neural --format cyclonedx1.5 | $(BIN)/python requirements/sbom.py >build/sbom.json

audit: environment  ## known vulnerabilities in what is locked; no answer is an error
	$(BIN)/uv audit --frozen --preview-features audit-command

lowest: environment  ## the tests with the oldest versions that pyproject.toml allows
	$(BIN)/uv venv --quiet --clear --seed $(VENV)-lowest
	$(BIN)/uv pip install --quiet --no-config --python $(VENV)-lowest --resolution lowest-direct --editable '.[all,ray,s3,gcs]'
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest bert-score hatchling hypothesis pytest pytest-timeout pytest-xdist rouge-score
	$(VENV)-lowest/bin/python -m pytest -n 2 --timeout 600 -m "$(DEFAULT)" -W default

clean:
	rm -rf $(VENV) .tox dist
