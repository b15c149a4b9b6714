# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3.12
VENV := .venv
BIN := $(VENV)/bin
MODEL_STAMP := $(VENV)/.model

.PHONY: demo test bench soak page check lint format types layers unit serve model clean help

help:
	@echo "make demo    speak a reply while it is being written (demo.wav) and show the time line"
	@echo "make test    lint, types, layers and all tests"
	@echo "make bench   measure latency, quality and load (about 20 minutes)"
	@echo "make soak    ten minutes of random clients against a server"
	@echo "make page    drive the agent's page in Chromium"
	@echo "make serve   serve speech on port 8080"

$(VENV)/.installed: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.12 is needed; set PYTHON=/path/to/python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(MODEL_STAMP): $(VENV)/.installed
	$(BIN)/speakahead models pull
	@touch $@

bench: $(MODEL_STAMP) $(VENV)/.installed-dev
	$(BIN)/speakahead bench latency
	$(BIN)/speakahead bench quality
	$(BIN)/speakahead bench load

soak: $(MODEL_STAMP) $(VENV)/.installed-dev
	$(BIN)/speakahead bench soak

# Needs Chromium (Debian: apt-get install chromium).
page: $(MODEL_STAMP) $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	$(BIN)/python -m pytest tests/web -m browser

model: $(MODEL_STAMP)

demo: $(MODEL_STAMP)
	$(BIN)/speakahead demo -o demo.wav
	@echo "The sound is in demo.wav."

serve: $(MODEL_STAMP)
	$(BIN)/speakahead serve

test: check unit

check: lint types layers

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests

types: $(VENV)/.installed-dev
	$(BIN)/mypy

layers: $(VENV)/.installed-dev
	$(BIN)/lint-imports

unit: $(MODEL_STAMP) $(VENV)/.installed-dev
	$(BIN)/python -m pytest

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis demo.wav
