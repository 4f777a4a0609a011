# Every target sets itself up: the environment lives in .venv and is made from requirements.lock when that changes.
PYTHON ?= python3
PORT ?= 8000
DATA ?= data

RUN := .venv/bin/python
MANAGE := $(RUN) manage.py

.DEFAULT_GOAL := help
.PHONY: help setup lab test check gen bench golden scenarios tour soak relock

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## */  make \1\t/' | expand -t 20

setup:  ## make or refresh .venv
	@$(PYTHON) tools/setup_env.py

lab: setup  ## start everything and print the address   (PORT=8000 DATA=data)
	@HIGHWATER_DATA="$(abspath $(DATA))" $(MANAGE) lab --port $(PORT)

test: setup  ## run all tests, in a real browser too   (ARGS="-k name")
	@CHROMIUM=$$($(RUN) tools/ensure_chromium.py) && export CHROMIUM && $(RUN) -m pytest $(ARGS)

check: setup  ## lint, types, layers, generated files
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@.venv/bin/lint-imports
	@$(MANAGE) gen_events --check
	@$(MANAGE) check_vendor

gen: setup  ## write the generated files anew
	@$(MANAGE) gen_events

bench: setup  ## measure, and print both sides of each ratio
	@CHROMIUM=$$($(RUN) tools/ensure_chromium.py) && export CHROMIUM && $(MANAGE) bench

golden: setup  ## compare with the files of a real broker   (DIR= CASES=01-plain,...)
	@$(MANAGE) golden $(DIR) $(if $(CASES),--cases $(CASES))

scenarios: setup  ## compare with transcripts of a real cluster   (DIR= ONLY=01,03)
	@$(MANAGE) scenarios $(DIR) $(if $(ONLY),--only $(ONLY))

tour: setup  ## walk through a running lab in a browser and leave screenshots   (PORT=8000 DATA=data)
	@CHROMIUM=$$($(RUN) tools/ensure_chromium.py) && export CHROMIUM && HIGHWATER_DATA="$(abspath $(DATA))" $(MANAGE) tour --port $(PORT)

soak: setup  ## the random tests at their full counts
	@HIGHWATER_SOAK=1 $(RUN) -m pytest -m soak $(ARGS)

relock:  ## write requirements.lock anew from pyproject.toml (needs uv)
	@$(PYTHON) tools/setup_env.py --relock
