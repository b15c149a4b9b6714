# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3.12
PORT ?= 8080
VENV := .venv
BIN := $(VENV)/bin
# uv installs in seconds what takes pip minutes.
PIP := $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt
MODEL_STAMP := $(VENV)/.model
AGENT_STAMP := $(VENV)/.agent

.PHONY: demo wav test bench soak page check lint format types layers unit serve model audit clean help

help:
	@echo "make demo    a page on which one asks an agent, hears it, and sees when what happened"
	@echo "make wav     speak a reply while it is being written (demo.wav) and show the time line"
	@echo "make test    lint, types, layers and all tests"
	@echo "make page    drive the page in Chromium"
	@echo "make bench   measure what is claimed; a report page (about 20 minutes)"
	@echo "make soak    ten minutes of random clients against a server"
	@echo "make audit   look for known advisories about the pinned packages"
	@echo "make serve   serve speech on port $(PORT)"

$(VENV)/.installed: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.12 is needed; set PYTHON=/path/to/python3.12"; exit 1; }
	@echo "Installing speakahead into $(VENV); the first time takes a minute or two."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9,<1"
	@$(PIP) -e .
	@touch $@

$(VENV)/.installed-agent: $(VENV)/.installed
	@echo "Installing what the agent needs."
	@$(PIP) -e '.[agent]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing what the tests need."
	@$(PIP) -e '.[dev]'
	@touch $@

$(MODEL_STAMP): $(VENV)/.installed
	@echo "Fetching the voice model (120 MB), unless it is there."
	@$(BIN)/speakahead models pull
	@touch $@

$(AGENT_STAMP): $(VENV)/.installed-agent
	@echo "Fetching the language model (98 MB), unless it is there."
	@$(BIN)/speakahead agent pull
	@touch $@

demo: $(MODEL_STAMP) $(AGENT_STAMP)
	@$(BIN)/speakahead agent serve --open --port $(PORT)

wav: $(MODEL_STAMP)
	@$(BIN)/speakahead demo -o demo.wav
	@echo "The sound is in demo.wav."

bench: $(MODEL_STAMP) $(AGENT_STAMP) $(VENV)/.installed-dev
	$(BIN)/speakahead bench all

soak: $(MODEL_STAMP) $(VENV)/.installed-dev
	$(BIN)/speakahead bench soak

# Needs Chromium (Debian: apt-get install chromium).
page: $(MODEL_STAMP) $(AGENT_STAMP) $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/web -m browser

model: $(MODEL_STAMP)

serve: $(MODEL_STAMP)
	$(BIN)/speakahead serve --port $(PORT)

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

# Asks PyPI for known advisories about what constraints.txt pins.
audit:
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install --quiet pip-audit; }
	$(VENV)/audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix src tests
	$(BIN)/ruff format src tests

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis demo.wav
