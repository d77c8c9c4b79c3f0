# Penstock's commands. `make` or `make help` lists them; each sets up what it needs.
#
# ARGS goes to the tool behind a target: make unit ARGS="-k offsets -x"
# PYTHON chooses the interpreter:        make test PYTHON=python3.13
# PENSTOCK_CACHE moves what is fetched once (packages, Kafka): default ~/.cache/penstock

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
setup: ## Make this checkout's virtual environment from pinned packages, or bring it up to date
	@scripts/setup "$(VENV)"

.PHONY: python
python: setup ## Print the interpreter of this checkout, for an editor
	@echo $(PY)

.PHONY: java
java: ## Check that there is a Java for Spark and Kafka
	@scripts/check-java

.PHONY: check
check: setup ## Lint, formatting, types, import rules, generated files: what needs no Java and no broker
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	@for connector in connectors/*; do \
	  $(PY) -m mypy --config-file "$$connector/pyproject.toml" "$$connector" && \
	  (cd "$$connector" && $(PY) -c "$(IMPORT_RULES)") || exit 1; \
	done
	$(PY) -c "$(IMPORT_RULES)"
	@for script in scripts/generate-*; do \
	  if [ -e "$$script" ]; then echo "$$script --check"; $(PY) "$$script" --check; fi; \
	done

.PHONY: format
format: setup ## Format the code and mend what ruff can mend
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: test
test: java setup ## Whether a change holds: a test for each thing that Penstock does, all that are quick (20 minutes)
	@scripts/test $(PY) quick

.PHONY: test-all
test-all: java setup ## All tests, with kills, freezes, outages, lost nodes, thousands of connectors, soak (more than an hour)
	@scripts/test $(PY) all

.PHONY: unit
unit: java setup ## Tests of the parts
	$(PYTEST) tests/unit $(ARGS)

.PHONY: integration
integration: java setup ## Tests on a real, embedded Kafka, a real Spark, a real API server
	$(PYTEST) tests/integration --ignore=tests/integration/operator_life $(ARGS)

.PHONY: operator-life
operator-life: setup ## The whole operator on a real API server under faults, and killed after every n-th write (20 minutes)
	$(PYTEST) tests/integration/operator_life $(ARGS)

.PHONY: conformance
conformance: setup ## What Kafka Connect itself computed, case by case, and by area (CONFORMANCE_CASES=DIR: other cases)
	$(PYTEST) tests/conformance $(ARGS)

.PHONY: fuzz
fuzz: java setup ## Random cases answered by Kafka Connect's own classes as well (ARGS="--cases N --seed N --only Cast,chains --keep")
	$(PY) -m tests.conformance.fuzz $(ARGS)

.PHONY: java-host
java-host: java setup ## Compile what runs Java plugins, for a wheel or an image
	$(PY) -m penstock_runtime.java_plugins.host_jar build/java-host

.PHONY: images
images: java ## Build the container images (ARGS="runtime operator kafka --archive DIR"): docs/images.md
	@scripts/images $(ARGS)

.PHONY: images-test
images-test: java setup ## Check the built images: rights, contents, Spark on a read-only root; needs root
	@scripts/images >/dev/null
	$(PYTEST) tests/images $(ARGS)

.PHONY: cluster
cluster: ## Start a Kubernetes of our own on this machine (root; see tests/cluster/README.md)
	@tests/cluster/cluster up

.PHONY: cluster-down
cluster-down: ## End it and remove everything that it was
	@tests/cluster/cluster down

.PHONY: cluster-test
cluster-test: setup ## Tests of that cluster itself
	@tests/cluster/cluster build >/dev/null
	cd tests/cluster && go test ./control
	$(PYTEST) tests/cluster $(ARGS)

.PHONY: e2e
e2e: java setup ## End to end: Helm, operator, tasks and Kafka on a real cluster (PENSTOCK_CLUSTER=own|kind|<kubeconfig>#<context>)
	@scripts/images >/dev/null
	$(PYTEST) tests/e2e $(ARGS)

.PHONY: truth
truth: java setup ## Inject faults on a real cluster; a table of when the status named each, and of recoveries (ARGS="-k kafka"; an hour)
	@scripts/images >/dev/null
	PENSTOCK_TIMED=1 $(PYTEST) tests/e2e/truth $(ARGS)

.PHONY: soak
soak: java setup ## Adversaries for an hour, random and seeded, then the tests that kill under load, 50 rounds (ARGS="--seed N --only WORLD")
	$(PY) -m tests.soak $(ARGS)
	PENSTOCK_SOAK=1 $(PYTEST) tests -m soak

.PHONY: bench
bench: java setup ## Side by side with Kafka Connect: a table, and build/bench.json
	$(PY) tests/bench $(ARGS)

.PHONY: demo
demo: java setup ## Watch real records flow on a Kubernetes (PENSTOCK_CLUSTER=own|kind|KUBECONFIG#CONTEXT), or without one
	@$(PY) examples/cluster $(ARGS)

.PHONY: demo-down
demo-down: setup ## Remove the demo's cluster, or what it made on yours
	@$(PY) examples/cluster --down $(ARGS)

.PHONY: demo-local
demo-local: java setup ## The demo on this machine, without Kubernetes
	$(PY) examples/demo/run.py $(ARGS)

.PHONY: demo-warehouse
demo-warehouse: java setup ## Watch a table move through Kafka into another database (SQLite; ARGS=--cluster: PostgreSQL, on a Kubernetes)
	@$(PY) examples/warehouse/run.py $(ARGS)

.PHONY: demo-cdc
demo-cdc: java setup ## Watch Debezium, unmodified, read a PostgreSQL's changes into a topic, exactly once; its JVM is killed
	@$(PY) examples/cdc/run.py $(ARGS)

.PHONY: clean
clean: ## Remove what was built here, the demo's data and this checkout's environment; fetched packages and Kafka stay cached
	rm -rf build dist penstock-cdc penstock-demo penstock-warehouse runtime/penstock_runtime/java_plugins/penstock-host.jar .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache "$(VENV)"
	find operator runtime tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
