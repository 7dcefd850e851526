# `make` lists what there is. Each target makes its own .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile
# The lists say what is wanted; the lock, as constraints, the versions of all that it pulls in (and asks for nothing itself).
INSTALL := $(BIN)/python -m pip install --quiet --constraint requirements.lock
UV := uv==0.13.9
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:  # a half-made .venv is not taken for a whole one
.PHONY: help book test test-all test-tools test-portable lint format lock colab publish confirm serve grade bench alarms clean lighthouse

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || \
	  { echo "The course needs Python 3.11, 3.12 or 3.13; $(PYTHON) is none of them ($$($(PYTHON) -V 2>&1 | head -1)). Name one: make PYTHON=/path/to/python3"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/site: requirements-site.txt requirements.lock | $(BIN)/python
	$(INSTALL) -r requirements-site.txt
	@touch $@

.venv/all: requirements.txt requirements-site.txt requirements.lock | $(BIN)/python
	$(INSTALL) -r requirements.txt
	@touch $@ .venv/site

.venv/bench: bench/requirements.txt | $(BIN)/python  # a folder of its own: no other tool sees what the bench compares with
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $@ -r $<
	@touch $@

.venv/lint: requirements.txt requirements.lock | $(BIN)/python
	$(INSTALL) ruff mypy types-psutil types-PyYAML
	@touch $@

book: .venv/site  ## build the site from the committed notebooks (runs nothing)
	$(BIN)/jupyter-book build . --all -W --keep-going -n --quiet
	@echo "The site is built. Open $(CURDIR)/_build/html/index.html"

test: .venv/all  ## validate everything: tools, every cell of every notebook, graders, the site
	$(PYTEST)

test-all: .venv/all  ## the same and the long parts: 300 seeds, another processor, what takes minutes
	$(PYTEST) -m "long or not long"

test-tools: .venv/all  ## the tests of the tools alone: no notebook of the course runs
	$(PYTEST) tests

test-portable: .venv/all  ## those of them that need neither a browser nor Linux: what must hold on macOS, too
	NO_BROWSER=1 $(PYTEST) tests --ignore tests/grading --ignore tests/exercises

lint: .venv/lint  ## check the code's style, layout and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/lint  ## lay the code out, and mend what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: | $(BIN)/python  ## write requirements.lock from the lists: what they changed; UPGRADE=1 renews everything else too
	$(BIN)/python -m pip install --quiet $(UV)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 $(if $(UPGRADE),--upgrade) --no-annotate \
	  --custom-compile-command "make lock" requirements.txt --output-file requirements.lock

colab: .venv/all  ## run every notebook alone in an empty folder with Colab's packages
	$(BIN)/python -m tools.pages.colab $(NOTEBOOKS)

publish: .venv/all  ## run and make again what is stale, FORCE=1 all; ACCEPT=1 publishes numbers that moved
	$(BIN)/python -m tools.pages.publish $(if $(ACCEPT),--accept) $(if $(FORCE),--force) $(PAGES)

confirm: .venv/all  ## run pages with other seeds, K=5 times, FIRST=next for new ones: which claims hold again; PAGES=...
	$(BIN)/python -m tools.pages.confirm $(if $(K),--shifts $(K)) $(if $(FIRST),--first $(FIRST)) $(PAGES)

serve: book  ## open the built site at http://localhost:8000
	$(BIN)/python -m http.server --directory _build/html --bind 127.0.0.1 8000

grade: .venv/all  ## grade a class: make grade SUBMISSIONS=folder [OUT=grades.csv] [JOBS=2]
	@test -n "$(SUBMISSIONS)" || { echo "Name the folder or zip of students' notebooks: make grade SUBMISSIONS=folder"; exit 2; }
	$(BIN)/python -m tools.grading.grade "$(SUBMISSIONS)" "$(or $(OUT),grades.csv)" $(if $(JOBS),--jobs $(JOBS))

bench: .venv/all .venv/bench  ## measure what a published number costs; writes bench/results.md (ten minutes, on a quiet machine)
	PYTHONPATH=.venv/bench $(BIN)/python -m bench.bench

alarms: .venv/all  ## simulate honest re-runs: how many are red, what falls are seen; writes bench/alarms.md
	$(BIN)/python -m bench.alarms

lighthouse: book  ## Lighthouse's scores of every page (needs Chromium and node)
	$(BIN)/python -m bench.lighthouse

clean:  ## remove what was built and installed
	rm -rf _build .venv .venv-colab
