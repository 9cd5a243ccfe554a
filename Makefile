# Everything a fresh machine needs is made here: Python >= 3.11 and make are enough.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := build/demo

.PHONY: demo test lint types pages tests docs verify bench lock clean

demo: $(READY)
	mkdir -p $(DEMO)
	$(RUN)/chetaev report examples/rocard.toml -o $(DEMO)/rocard.html
	$(RUN)/chetaev compare examples/disk.toml --plot $(DEMO)/disk.png
	@echo "Look at $(DEMO)/rocard.html in a browser, and at $(DEMO)/disk.png."

test: lint types pages tests

lint: $(READY)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: $(READY)
	$(RUN)/mypy

pages: $(READY)
	$(RUN)/python docs/build.py --light

tests: $(READY)
	$(RUN)/pytest -n auto

docs: $(READY)
	$(RUN)/python docs/build.py

verify: $(READY)
	$(RUN)/python docs/verify.py

$(READY): pyproject.toml requirements.lock
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(READY)

bench: $(READY)
	$(RUN)/python benchmarks/run.py

lock:
	$(RUN)/python -m pip install --quiet "uv>=0.4"
	$(RUN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --python-version 3.11 \
		--extra dev pyproject.toml --output-file requirements.lock
	sed -i '1i # Made by "make lock" from pyproject.toml.' requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
