# make demo   scores two image-blind answers in both frameworks on the shipped questions, and prints the tables
# make test   every test, in both frameworks
# make quick  the tests that need no framework and are not slow
# make lint   ruff and mypy
# make browser  Chromium for the test of the report's page, where it is missing, this is Debian, and root runs it
# make bench  speed and memory beside other ways to the same result; BENCH="--questions 100" for fewer questions
#
# Each sets up what it needs. PYTHON chooses the interpreter, 3.10 to 3.12.

PYTHON ?= python3
VENV := .venv
LIGHT := .venv-light
DEMO := build/demo
PIP := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test browser quick lint bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	rm -rf $(DEMO)
	$(VENV)/bin/lmms-eval --model spotdiff_baseline --model_args policy=shortcut --tasks m4bench_mini \
	    --output_path $(DEMO)/lmms_eval --log_samples
	$(VENV)/bin/vlmeval run --data M4Bench_Mini --model spotdiff_baseline_shortcut --work-dir $(DEMO)/vlmeval
	$(VENV)/bin/spotdiff report $(DEMO)/lmms_eval $(DEMO)/vlmeval

test: $(VENV)/.installed-dev lint browser
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup

# What the test of the report's page needs; without it, that test is skipped.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	    || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y chromium chromium-driver; } >/dev/null 2>&1 \
	    || echo "no chromium and chromedriver: tests/e2e/test_page.py is skipped"

quick: $(LIGHT)/.installed
	$(LIGHT)/bin/python -m pytest -m "not framework and not e2e and not slow" -n 2

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.installed-dev
	$(VENV)/bin/python tests/bench $(BENCH)

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python $(PIP) --upgrade pip
	$(VENV)/bin/python $(PIP) --constraint constraints.txt --editable ".[all]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(VENV)/bin/python $(PIP) --constraint constraints.txt --editable ".[all,dev]"
	touch $@

$(LIGHT)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(LIGHT)
	$(LIGHT)/bin/python $(PIP) --upgrade pip
	$(LIGHT)/bin/python $(PIP) --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(LIGHT) build dist
