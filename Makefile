# Penstock's commands. `make` or `make help` lists them; each sets up its requirements.
#
# ARGS is passed to the tool of a target:  make unit ARGS="-k offsets -x"
# PYTHON chooses the interpreter:          make test PYTHON=python3.13
# PENSTOCK_CACHE is the folder of packages and Kafka, which are fetched once: default ~/.cache/penstock

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

XDG_CACHE_HOME ?= $(HOME)/.cache
PENSTOCK_CACHE ?= $(XDG_CACHE_HOME)/penstock
export PENSTOCK_CACHE PYTHON

# One environment per checkout, so that several checkouts share a cache and each imports itself (see scripts/setup).
VENV := $(PENSTOCK_CACHE)/venv-$(shell printf %s '$(CURDIR)' | sha256sum | cut -c1-12)
PY := "$(VENV)/bin/python"
PYTEST := $(PY) -m pytest
IMPORT_RULES := from importlinter.cli import lint_imports_command as main; main()
ARGS ?=

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Create or update this checkout's virtual environment from pinned packages
	@scripts/setup "$(VENV)"

.PHONY: python
python: setup ## Print the path of this checkout's Python interpreter, for an editor
	@echo $(PY)

.PHONY: java
java: ## Check that Java for Spark and Kafka is installed
	@scripts/check-java

.PHONY: check
check: setup ## Check lint, formatting, types, import rules, words, links and generated files; needs no Java and no broker
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	@for connector in connectors/*; do \
	  $(PY) -m mypy --config-file "$$connector/pyproject.toml" "$$connector" && \
	  (cd "$$connector" && $(PY) -c "$(IMPORT_RULES)") || exit 1; \
	done
	$(PY) -c "$(IMPORT_RULES)"
	$(PY) scripts/check-words
	$(PY) scripts/check-links
	@for script in scripts/generate-*; do \
	  if [ -e "$$script" ]; then echo "$$script --check"; $(PY) "$$script" --check; fi; \
	done

.PHONY: format
format: setup ## Format the code and apply ruff's fixes
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: test
test: java setup ## Run all quick tests, at least one for each feature (20 minutes)
	@scripts/test $(PY) quick

.PHONY: test-all
test-all: java setup ## Run all tests, with kills, freezes, outages, lost nodes, thousands of connectors, soak (more than an hour)
	@scripts/test $(PY) all

.PHONY: unit
unit: java setup ## Run unit tests
	$(PYTEST) tests/unit $(ARGS)

.PHONY: integration
integration: java setup ## Run tests on a real, embedded Kafka, a real Spark and a real API server
	$(PYTEST) tests/integration --ignore=tests/integration/operator_life $(ARGS)

.PHONY: operator-life
operator-life: setup ## Test the operator on a real API server with faults, and killed after every n-th write (20 minutes)
	$(PYTEST) tests/integration/operator_life $(ARGS)

.PHONY: conformance
conformance: setup ## Compare with results of Kafka Connect, by case and by area (CONFORMANCE_CASES=DIR: other cases)
	$(PYTEST) tests/conformance $(ARGS)

.PHONY: fuzz
fuzz: java setup ## Compare with Kafka Connect's classes on random cases (ARGS="--cases N --seed N --only Cast,chains --keep")
	$(PY) -m tests.conformance.fuzz $(ARGS)

.PHONY: java-host
java-host: java setup ## Compile the host of Java plugins, for a wheel or an image
	$(PY) -m penstock_runtime.java_plugins.host_jar build/java-host

.PHONY: images
images: java ## Build the container images (ARGS="runtime operator kafka --archive DIR"): docs/images.md
	@scripts/images $(ARGS)

.PHONY: release
release: java setup ## Write a release of the checked-out commit to dist/, always the same bytes: docs/releasing.md
	@$(PY) -m scripts.release $(ARGS)

.PHONY: images-test
images-test: java setup ## Test the built images: rights, contents, Spark on a read-only root file system; needs root
	@scripts/images runtime operator kafka postgresql registry >/dev/null
	$(PYTEST) tests/images $(ARGS)

.PHONY: cluster
cluster: ## Start our own Kubernetes cluster on this machine (as root; see tests/cluster/README.md)
	@tests/cluster/cluster up

.PHONY: cluster-down
cluster-down: ## Stop and remove that cluster
	@tests/cluster/cluster down

.PHONY: cluster-test
cluster-test: setup ## Test that cluster itself
	@tests/cluster/cluster build >/dev/null
	cd tests/cluster && go test ./control
	$(PYTEST) tests/cluster $(ARGS)

.PHONY: e2e
e2e: java setup ## Run end-to-end tests with Helm, operator, tasks and Kafka on a cluster (PENSTOCK_CLUSTER=own|kind|<kubeconfig>#<context>)
	@scripts/images >/dev/null
	$(PYTEST) tests/e2e $(ARGS)

.PHONY: truth
truth: java setup ## Inject faults on a real cluster, and print when the status named each and when it recovered (ARGS="-k kafka"; an hour)
	@scripts/images >/dev/null
	PENSTOCK_TIMED=1 $(PYTEST) tests/e2e/truth $(ARGS)

.PHONY: soak
soak: java setup ## Run random, seeded faults for an hour, then 50 rounds of kills under load (ARGS="--seed N --only WORLD")
	$(PY) -m tests.soak $(ARGS)
	PENSTOCK_SOAK=1 $(PYTEST) tests -m soak

.PHONY: bench
bench: java setup ## Measure Penstock and Kafka Connect; write a table and build/bench.json
	$(PY) tests/bench $(ARGS)

.PHONY: compatibility
compatibility: java setup ## Run tests with other versions of Python, Java, Kafka and PostgreSQL (ARGS="kafka postgresql-17"; an hour)
	$(PY) scripts/compatibility $(ARGS)

.PHONY: demo
demo: java setup ## Watch records flow on Kubernetes (PENSTOCK_CLUSTER=own|kind|KUBECONFIG#CONTEXT), or without it
	@$(PY) examples/cluster $(ARGS)

.PHONY: demo-down
demo-down: setup ## Remove the demo's cluster, or everything that it installed on yours
	@$(PY) examples/cluster --down $(ARGS)

.PHONY: demo-local
demo-local: java setup ## Run `penstock demo` on this machine, with a backlog of a million records for which Spark starts
	$(PY) -m penstock_cli demo --keep penstock-demo --backlog 1000000 $(ARGS)

.PHONY: demo-warehouse
demo-warehouse: java setup ## Watch a table move through Kafka into another database (SQLite; ARGS=--cluster: PostgreSQL on Kubernetes)
	@$(PY) examples/warehouse/run.py $(ARGS)

.PHONY: demo-cdc
demo-cdc: java setup ## Watch unmodified Debezium read changes of PostgreSQL into a topic, exactly once; its JVM is killed
	@$(PY) examples/cdc/run.py $(ARGS)

.PHONY: docs
docs: setup ## Build the documentation site in build/site
	"$$(scripts/docs-setup $(PY))" scripts/build-site build/site

.PHONY: docs-serve
docs-serve: docs ## Build the documentation site, and serve it at http://localhost:8000 (DOCS_PORT)
	$(PY) -m http.server --bind 127.0.0.1 --directory build/site $(or $(DOCS_PORT),8000)

.PHONY: clean
clean: ## Remove build outputs, demo data and this checkout's environment; fetched packages and Kafka stay cached
	rm -rf build dist penstock-cdc penstock-demo penstock-warehouse runtime/penstock_runtime/java_plugins/penstock-host.jar .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache "$(VENV)"
	find operator runtime tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
