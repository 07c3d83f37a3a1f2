# The tasks of this project, for people and for CI. `make` without a target lists them.
# The text after "##" is the description in that list.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Checkers of JavaScript; only building the book does not need them.
NODE_BIN := tools/node_modules/.bin
# ANSWERS=no, also from the environment as in publish.yml: the book for a class.
WITHOUT_ANSWERS := $(if $(filter no,$(ANSWERS)),--without-answers)
# One worker for each core, in the order of tests/schedule.py; FULL=1: all combinations of
# parameters instead of the sample of tests/sampling.py.
FULLY := $(if $(FULL),--full -o faulthandler_timeout=7200)
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadfile $(FULLY)
# The number of other processors that `make rounding` tries.
SEEDS ?= 10
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# The first supported Python on PATH; `make PYTHON=… book` overrides it.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c '$(SUPPORTED)' 2>/dev/null && echo $$p && break; done)

# What it says where there is none.
FOUND = $(or $(shell python3 --version 2>/dev/null),no Python at all)

help: ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

book: $(READY) ## execute changed chapters, render the book, print its address (ANSWERS=no: without answers)
	@$(BIN)/python -m tools.book.build build $(WITHOUT_ANSWERS)

zip: $(READY) ## `make book`, with the whole book as one zip in _build/html, to which its pages link (ANSWERS=no)
	@$(BIN)/python -m tools.book.build build --zip $(WITHOUT_ANSWERS)

chapter: $(READY) ## NAME=masked-softmax: execute, render and serve this chapter
	@$(BIN)/python -m tools.book.build chapter "$(NAME)"

gallery: $(READY) ## all figures of the book that was built, with their JavaScript and CSS of now, on one page
	@$(BIN)/python -m tools.site.figures.gallery

serve: book ## serve the book at a local address (ANSWERS=no: the one without answers)
	@$(BIN)/python -m tools.book.build serve $(WITHOUT_ANSWERS)

notebooks: $(READY) ## execute every chapter again and store its outputs (NAME=… for one)
	@$(BIN)/python -m tools.book.notebooks execute $(NAME)

diagrams: $(READY) ## draw the pictures in img/ again
	@$(BIN)/python -m tools.pictures.draw

first-screen: book ## take the README's picture of the book's first page again
	@$(BIN)/python -m tools.pictures.first_screen

lint: $(NODE_BIN)/tsc ## check style, words, types, imports between packages, and workflows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tools.ci.words
	$(BIN)/python -m tools.ci.messages check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/node $(NODE_BIN)/biome check --error-on-warnings
	$(BIN)/node $(NODE_BIN)/tsc --project jsconfig.json
	$(BIN)/zizmor --offline --persona pedantic --strict-collection --quiet --no-progress .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml

messages: $(READY) ## print every sentence that readers see, for proofreading
	@$(BIN)/python -m tools.ci.messages print

unit: $(NODE_BIN)/tsc ## run the tests of the package and of the tools
	$(BIN)/pytest tests -m "not browser and not engines" $(SIDE_BY_SIDE)

nbval: $(READY) ## run every chapter again and compare each stored output
	@$(BIN)/python -m tools.book.notebooks check
	@$(BIN)/python -m tools.book.notebooks compare

rounding: $(READY) ## compare the chapters as if on SEEDS=10 other processors (NAME=… for one chapter)
	@$(BIN)/python -m tools.ci.processors --seeds $(SEEDS) $(NAME)

browser: book ## test the built book in Chromium (PICTURES=1: save screenshots; FULL=1)
	$(BIN)/pytest tests -m browser $(if $(PICTURES),--pictures) $(FULLY)

other-browsers: book ## test the built book in Firefox and WebKit, if they are installed (PICTURES=1, FULL=1)
	$(BIN)/pytest tests -m engines $(if $(PICTURES),--pictures) $(FULLY)

check: lint ## check style and types, and run each test that is not slow
	$(BIN)/pytest tests -m "not browser and not engines and not slow" $(SIDE_BY_SIDE)

colab: $(READY) ## write the chapters as notebooks for Colab, pinned to this commit, into _build/colab
	@$(BIN)/python -m tools.colab.write

colab-test: $(READY) ## run each Colab copy in a clean environment, the end-to-end test
	@$(BIN)/python -m tools.colab.end_to_end

judge-grades: $(READY) ## grade the judge of `attnbook.practice`: what it accepts, refuses and names (FULL=1: compiled, too)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.practice.judge $(if $(FULL),--full)

compare-judges: $(READY) ## give the same answers to torch-judge and to ours, and renew the table for teachers
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.practice.compare_judges

test: $(NODE_BIN)/tsc ## run everything that CI runs (FULL=1: every combination, browser and Colab copy)
	@$(BIN)/python -m tools.ci.run_tests $(if $(FULL),--full)

pythons: $(READY) ## run all but the pages on each supported Python that is found (PYTHONS="python3.12 …")
	@$(BIN)/python -m tools.ci.pythons $(PYTHONS)

release: $(READY) ## VERSION=0.1.0: check, build and try a release, up to the upload (TESTED=1, REUSE=1: skip what was done)
	@$(BIN)/python -m tools.release $(VERSION) $(if $(TESTED),--tested) $(if $(REUSE),--reuse)

mutants: $(NODE_BIN)/tsc ## count how many of some 200 single faults in our code no test detects
	@$(BIN)/python -m tools.ci.mutants

bench: $(if $(ROW),$(READY),book) ## measure ratios and store them with their machine (ROW=additive-large for one)
	@$(BIN)/python -m tools.bench.measure $(ROW)

checkpoints: $(READY) ## train the models of the book (NAME=small for one)
	@$(BIN)/python -m tools.models.checkpoints $(NAME)

grade: $(READY) ## grade the trained models: accuracy, attention weights, effects of changes
	@$(BIN)/python -m tools.models.grade
	@$(BIN)/python -m tools.models.grade_decoders
	@$(BIN)/python -m tools.models.grade_stories

lock: $(READY) ## write requirements.txt from pyproject.toml's extras (NEWEST=1: with the newest versions)
	$(BIN)/uv pip compile pyproject.toml --extra book --extra test --universal --python-version 3.11 \
		--override tools/lock-overrides.txt --no-annotate --custom-compile-command "make lock" \
		--quiet $(if $(NEWEST),--upgrade) -o requirements.txt

size: $(READY) ## print lines of product and tests, words to read first, processor-minutes of the last `make test`
	@$(BIN)/python -m tools.ci.size

clean: ## remove all built files (the environment stays)
	rm -rf _build

$(READY): requirements.txt pyproject.toml tools/package-lock.json
	@[ -n "$(PYTHON)" ] || { echo "No Python 3.11, 3.12 or 3.13 on PATH, but $(FOUND). Install one, or name it: make PYTHON=/path/to/python book"; exit 1; }
	@echo "Making the environment in $(VENV) with $(PYTHON); the first time takes some minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) --no-deps -e .
	@$(BIN)/npm ci --prefix tools --omit=dev --loglevel=error
	@touch $@

$(NODE_BIN)/tsc: $(READY)
	@$(BIN)/npm ci --prefix tools --loglevel=error
	@touch $@

.PHONY: help book zip chapter gallery serve notebooks diagrams first-screen lint messages unit nbval browser other-browsers colab colab-test judge-grades compare-judges check test pythons release mutants rounding bench checkpoints grade lock clean
