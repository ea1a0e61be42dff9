# What contributors type. The programs are those of .venv, if there is one.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: setup check fix

setup:
	python3 -m venv .venv
	pip install --require-hashes -r pipeline.lock
	pip install --no-deps --no-build-isolation -e .

check:
	ruff check .
	ruff format --check .
	mypy
	pytest

fix:
	ruff format .
	ruff check --fix .
