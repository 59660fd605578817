# `make demo` shows what memsift does, `make test` tests it. Both install what they need into $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: install demo up test test-fast test-clients test-typescript test-sglang test-browser test-monitoring test-deploy \
	chaos chaos-quick bench-check lint docs docs-site clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         play two conversations through Redis and a real model"
	@echo "make test         all tests but those that need SGLang, a browser or clients from PyPI"
	@echo "make test-fast    only those that need neither model nor worker processes"
	@echo "make test-monitoring metrics, dashboard and alerts in a real Prometheus (root: installs it)"
	@echo "make test-clients gateway and adapters with real clients and frameworks (installs 0.8 GB)"
	@echo "make test-typescript  the TypeScript client, alone and against a real worker (needs Node.js 20)"
	@echo "make test-sglang  the tests against a real SGLang on the CPU (installs 1.6 GB)"
	@echo "make test-browser the pages in a real browser (installs Debian's chromium when run as root)"
	@echo "make test-deploy  the samples in ops/ with hadolint, Compose, systemd, kustomize, nginx (installs them as root)"
	@echo "make chaos        break everything on purpose and count what callers got (half an hour)"
	@echo "make chaos-quick  the same in a minute, as CI runs it"
	@echo "make bench-check a few ratios of CPU time held against those committed"
	@echo "make up           run Valkey, a worker and Flower on this machine"
	@echo "make lint         ruff and mypy"
	@echo "make docs         write the generated pages anew"
	@echo "make docs-site    build the documentation as a site, links checked, into build/site"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: install
	@$(BIN)/memsift demo

up: install
	@$(BIN)/memsift up

test: install
	$(BIN)/python -m pytest

test-fast: install
	$(BIN)/python -m pytest -m "not stack and not engine and not install and not monitoring and not clients and not sglang and not browser and not deploy"

test-monitoring: install
	$(BIN)/python -m tests.monitoring.environment
	MEMSIFT_TEST_MONITORING=1 $(BIN)/python -m pytest -m monitoring

test-clients: install
	$(BIN)/python -m tests.clients.environment
	MEMSIFT_TEST_CLIENTS=1 $(BIN)/python -m pytest -m clients

test-typescript: install
	@command -v npm >/dev/null || { echo "make test-typescript needs Node.js 20 or newer, with npm" >&2; exit 1; }
	cd clients/typescript && npm ci --no-audit --no-fund && npm test
	cd clients/typescript && MEMSIFT_TEST_PYTHON=$(abspath $(BIN)/python) npm run test:integration

test-sglang: install
	$(BIN)/python -m tests.sglang_cpu.server --prepare
	MEMSIFT_TEST_SGLANG=1 $(BIN)/python -m pytest -m sglang

test-browser: install
	$(BIN)/python -m tests.browser.environment
	$(BIN)/python -m tests.monitoring.environment
	MEMSIFT_TEST_BROWSER=1 $(BIN)/python -m pytest -m browser

test-deploy: install
	$(BIN)/python -m tests.deploy.environment
	MEMSIFT_TEST_DEPLOY=1 $(BIN)/python -m pytest -m deploy

chaos: install
	$(BIN)/memsift chaos --out build/chaos.json

chaos-quick: install
	$(BIN)/memsift chaos --quick --out build/chaos.json

bench-check: install
	$(BIN)/memsift bench check

lint: install
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

docs: install
	$(BIN)/python -m memsift_ops.settings_table > docs/settings.md
	$(BIN)/python -m tests.protocol.files
	$(BIN)/python -m memsift_ops.monitoring.metrics_table > docs/metrics.md
	$(BIN)/python -m memsift_ops.monitoring.dashboard > ops/grafana/dashboards/memsift.json

docs-site: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
