# Every habit of this project is a target; `make help` lists them. Each target sets up what it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
BIN := .venv/bin
ATHERIS := atheris==3.0.0
TORCH ?= torch==2.13.0+cpu
TRANSFORMERS := transformers==5.24.0

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-triton setup-cluster fetch demo test test-slow check fmt bench liger fuzz clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv with the pinned packages and find (as root on Debian: install) LLVM >= 22
	@$(PYTHON) tools/setup.py --extra test

setup-dev: ## The same with the linters
	@$(PYTHON) tools/setup.py --extra dev

setup-triton: setup ## The same with Triton (1 GB on disk), for kernels on the simulated chip
	@$(PYTHON) tools/setup.py --extra triton

setup-cluster: setup ## The same with Ray (300 MB on disk), for searches on a cluster
	@$(PYTHON) tools/setup.py --extra cluster

fetch: setup ## Fetch AMD's example kernel from its wheel and print its path
	@$(BIN)/python -m benchmarks.objects

demo: setup ## Optimize two real compiled kernels on a simulated MI300X; needs no GPU
	@$(BIN)/python -m benchmarks.demo

test: setup-triton ## Run the tests (under 10 minutes on 2 cores)
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile

test-slow: setup-triton setup-cluster ## Run the large corpus as well
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile -m "slow or not slow"

check: setup-dev ## Lint, formatting and strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

fmt: setup-dev ## Format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## Run the benchmarks; the last line is one JSON object
	$(BIN)/python -m benchmarks.demo --json

liger: ## Run Liger-Kernel's own tests on the simulated chip (with torch, in .venv-liger)
	@$(PYTHON) tools/setup.py --extra test --venv .venv-liger
	@$(PYTHON) tools/setup.py --extra triton --venv .venv-liger
	.venv-liger/bin/python -m pip install -q --no-input $(TORCH) $(TRANSFORMERS)
	.venv-liger/bin/python -m benchmarks.liger --json

fuzz: setup ## Feed 200,000 mutated objects and bundles to all readers (by atheris where it installs)
	-$(BIN)/python -m pip install -q --no-input $(ATHERIS)
	$(BIN)/python -m fuzz.readers

clean: ## Remove the virtual environment, caches and demo results
	rm -rf .venv .venv-liger .cache .pytest_cache .ruff_cache .hypothesis runs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
