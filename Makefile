# Every target sets itself up: the environment lives in .venv and is made from requirements.lock when that changes.
PYTHON ?= python3
PORT ?= 8000
DATA ?= data
LIFE_SECONDS ?= 3600
HOST ?= 0.0.0.0

RUN := .venv/bin/python
MANAGE := $(RUN) manage.py
WITH_CHROMIUM := CHROMIUM=$$($(RUN) tools/ensure_chromium.py) && export CHROMIUM

# A target starts many processes. Where the environment forbids bytecode, each of them would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup lab class dev test quick check gen bench golden scenarios eras conformance oracle cluster-test sim tour soak mutants relock needs-dir

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 20

setup:  ## make or refresh .venv
	@$(PYTHON) tools/setup_env.py

lab: setup  ## start everything and print the address   (PORT=8000 DATA=data)
	@HIGHWATER_DATA="$(abspath $(DATA))" $(MANAGE) lab --port $(PORT)

class: setup  ## the lab for a room: people join classes over the network   (HOST=0.0.0.0 PORT=8000 TLS_CERT=FILE TLS_KEY=FILE)
	@HIGHWATER_DATA="$(abspath $(DATA))" $(MANAGE) lab --port $(PORT) --host "$(HOST)" \
		$(if $(TLS_CERT),--tls-cert "$(abspath $(TLS_CERT))") $(if $(TLS_KEY),--tls-key "$(abspath $(TLS_KEY))")

dev: setup  ## the lab for development: reloads at each change, keeps the runs   (PORT=8000 DATA=data)
	@HIGHWATER_DATA="$(abspath $(DATA))" $(MANAGE) dev --port $(PORT)

test: setup  ## run all tests, including those in a real browser   (ARGS="-k name")
	@$(WITH_CHROMIUM) && $(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

quick: setup  ## in a minute: the tests without browser, ZooKeeper, JVM and network   (ARGS="-k name")
	@$(RUN) -m pytest -q --quick -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup  ## lint, types, layers, generated files; also the page, where there is Node
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy --num-workers 2
	@.venv/bin/lint-imports
	@$(RUN) tools/check_page.py
	@$(MANAGE) gen_events --check
	@$(MANAGE) gen_docs --check
	@$(MANAGE) check_vendor
	@$(MANAGE) check_exercises
	@$(MANAGE) check_reviews --questions 12
	@$(MANAGE) check_course --complete
	@$(MANAGE) make_hero --check

gen: setup  ## write the generated files
	@$(MANAGE) gen_events
	@$(MANAGE) gen_docs
	@$(MANAGE) make_hero

bench: setup  ## measure, and print both sides of each ratio
	@$(WITH_CHROMIUM) && $(RUN) -m benchmarks $(ARGS)

golden: setup needs-dir  ## compare with the files of a real broker   (DIR= CASES=01-plain,...)
	@$(RUN) -m devtools.oracle.golden --dir "$(DIR)" --cases "$(CASES)"

scenarios: setup needs-dir  ## compare with transcripts of a real cluster   (DIR= ONLY=01,03)
	@$(RUN) -m devtools.oracle.scenarios --dir "$(DIR)" --only "$(ONLY)"

eras: setup needs-dir  ## compare clusters of each era with real old brokers   (DIR= ONLY=s1b)
	@$(RUN) -m devtools.oracle.eras --dir "$(DIR)" --only "$(ONLY)"

conformance: setup  ## third-party clients on clusters of the lab   (KIT=FOLDER ARGS="--parts java,tools")
	@$(RUN) -m devtools.oracle.conformance $(if $(KIT),--kit "$(abspath $(KIT))") $(ARGS)

oracle: setup  ## hand a cluster of the lab over to a real Kafka, and take it back (needs Maven)
	@$(RUN) -m devtools.oracle.handover $(ARGS)

needs-dir:
	@test -n "$(DIR)" || { echo 'Which recordings? Expected: make golden DIR=FOLDER, make scenarios DIR=FOLDER or make eras DIR=FOLDER' >&2; exit 2; }

cluster-test: setup  ## build tables on a Spark cluster on loopback, kill its workers and drivers, and compare (some minutes)
	@$(RUN) -m pytest -q -m cluster tests/cluster $(ARGS)

sim: setup  ## random schedules with all invariants on   (SEED=7, or RUNS=2000; ERA=0.10 FIRST=1)
	@$(RUN) -m devtools.sim $(if $(SEED),--seed $(SEED)) $(if $(RUNS),--runs $(RUNS)) $(if $(FIRST),--first $(FIRST)) \
		--era "$(ERA)" $(ARGS)

tour: setup  ## walk through a running lab in a browser and leave screenshots   (DATA=data)
	@$(WITH_CHROMIUM) && HIGHWATER_DATA="$(abspath $(DATA))" $(MANAGE) tour $(ARGS)

soak: setup  ## the random tests at their full counts, the whole tour, then a cluster under load for an hour   (ARGS="-k name" LIFE_SECONDS=900)
	@HIGHWATER_SOAK=1 $(RUN) -m pytest -m soak $(ARGS)
	@$(RUN) -m benchmarks --only life --life-seconds $(LIFE_SECONDS)

mutants: setup  ## plant a bug for each invariant and show where it is caught
	@$(RUN) -m tests.support.mutants

relock:  ## write requirements.lock from pyproject.toml (needs uv)
	@$(PYTHON) tools/setup_env.py --relock
