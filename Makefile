# One task list for people and for CI. `make` alone prints it.
# Each line that begins with a target and holds "##" is part of that list.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# What checks the JavaScript; who only builds the book needs none of it.
NODE_BIN := tools/node_modules/.bin
# ANSWERS=no, also from the environment, as in publish.yml: the book for a class.
WITHOUT_ANSWERS := $(if $(filter no,$(ANSWERS)),--without-answers)
# Files of tests, one worker per core, in the order of tests/schedule.py; FULL=1: all combinations
# of parameters, not the sample of tests/sampling.py.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadfile $(if $(FULL),--full)
# How many other processors `make rounding` tries.
SEEDS ?= 10
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# The first Python on PATH that the book runs on; `make PYTHON=… book` overrules.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c '$(SUPPORTED)' 2>/dev/null && echo $$p && break; done)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

book: $(READY) ## execute what changed, render the book, say where the page is (ANSWERS=no: without answers)
	@$(BIN)/python -m tools.book.build build $(WITHOUT_ANSWERS)

chapter: $(READY) ## NAME=masked-softmax: execute, render and serve that one chapter
	@$(BIN)/python -m tools.book.build chapter "$(NAME)"

serve: book ## the rendered book on a local address (ANSWERS=no: the one without answers)
	@$(BIN)/python -m tools.book.build serve $(WITHOUT_ANSWERS)

notebooks: $(READY) ## re-execute every chapter and store its outputs (NAME=… for one)
	@$(BIN)/python -m tools.book.notebooks execute $(NAME)

diagrams: $(READY) ## redraw the pictures in img/
	@$(BIN)/python -m tools.pictures.draw

lint: $(NODE_BIN)/tsc ## style, words, types, arrows between rooms and workflows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tools.ci.words
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/node $(NODE_BIN)/biome check --error-on-warnings
	$(BIN)/node $(NODE_BIN)/tsc --project jsconfig.json
	$(BIN)/zizmor --offline --persona pedantic --strict-collection --quiet --no-progress .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml

unit: $(NODE_BIN)/tsc ## tests of the package and of the tools
	$(BIN)/pytest tests -m "not browser and not engines" $(SIDE_BY_SIDE)

nbval: $(READY) ## re-run every chapter and compare each stored output
	@$(BIN)/python -m tools.book.notebooks check
	@$(BIN)/python -m tools.book.notebooks compare

rounding: $(READY) ## compare the chapters as if on SEEDS=10 other processors (NAME=… for one chapter)
	@$(BIN)/python -m tools.ci.processors --seeds $(SEEDS) $(NAME)

browser: book ## the built book in a real browser (PICTURES=1 keeps pictures of it; FULL=1)
	$(BIN)/pytest tests -m browser $(if $(PICTURES),--pictures) $(if $(FULL),--full)

other-browsers: book ## the built book in Firefox and WebKit, where they are, beside Chromium (PICTURES=1, FULL=1)
	$(BIN)/pytest tests -m engines $(if $(PICTURES),--pictures) $(if $(FULL),--full)

check: lint ## style, types, and each test that is not slow
	$(BIN)/pytest tests -m "not browser and not engines and not slow" $(SIDE_BY_SIDE)

colab: $(READY) ## the chapters as notebooks for Colab, pinned to this commit, in _build/colab
	@$(BIN)/python -m tools.copies.colab

colab-test: $(READY) ## end to end, as a reader would: each Colab copy in a clean environment
	@$(BIN)/python -m tools.copies.colab_end_to_end

judge-grades: $(READY) ## how good the judge of `attnbook.practice` is: what it accepts, refuses and names (FULL=1: compiled, too)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.practice.judge $(if $(FULL),--full)

test: $(NODE_BIN)/tsc ## everything that CI runs (FULL=1: every combination, browser and Colab copy)
	@$(BIN)/python -m tools.ci.run_tests $(if $(FULL),--full)

mutants: $(NODE_BIN)/tsc ## how many of 200 single faults in our own code no test detects
	@$(BIN)/python -m tools.ci.mutants

bench: $(if $(ROW),$(READY),book) ## measure ratios and store them with their machine (ROW=additive-large for one)
	@$(BIN)/python -m tools.bench.measure $(ROW)

checkpoints: $(READY) ## train the models that the book uses (NAME=small for one)
	@$(BIN)/python -m tools.models.checkpoints $(NAME)

grade: $(READY) ## grade the trained models: what they get right, where they look, what breaks
	@$(BIN)/python -m tools.models.grade
	@$(BIN)/python -m tools.models.grade_decoders

lock: $(READY) ## write requirements.txt anew from pyproject.toml's extras (NEWEST=1: the newest of all)
	$(BIN)/uv pip compile pyproject.toml --extra book --extra test --universal --python-version 3.11 \
		--override tools/lock-overrides.txt --no-annotate --custom-compile-command "make lock" \
		--quiet $(if $(NEWEST),--upgrade) -o requirements.txt

clean: ## remove what was built (the environment stays)
	rm -rf _build

$(READY): requirements.txt pyproject.toml tools/package-lock.json
	@[ -n "$(PYTHON)" ] || { echo "No Python 3.11, 3.12 or 3.13 on PATH. Install one, or name it: make PYTHON=/path/to/python book"; exit 1; }
	@echo "Making the environment in $(VENV) with $(PYTHON); the first time takes some minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@$(BIN)/npm ci --prefix tools --omit=dev --loglevel=error
	@touch $@

$(NODE_BIN)/tsc: $(READY)
	@$(BIN)/npm ci --prefix tools --loglevel=error
	@touch $@

.PHONY: help book chapter serve notebooks diagrams lint unit nbval browser other-browsers colab colab-test check test mutants rounding bench checkpoints grade lock clean
