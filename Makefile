# Everything a fresh machine needs is made here: Python >= 3.11 and make are enough.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := build/demo
SHOW := $(DEMO)/venv
OLDEST := build/oldest

# Compiled modules are kept, whatever the caller's habit: without them every process of the tests translates all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-oldest quick checks lint types pages loop tests needed docs verify mutants homes dist bench lock clean

# As a user has it: chetaev and what a report needs, without the tools of developers. Its stepping loops are compiled for this machine only,
# by tools that are removed afterwards: in an environment of its own, pip would unpack numpy and LLVM a second time.
# Modules are translated when they are first imported, those that only build it too: few of them are ever imported.
# The pip of $(PYTHON) installs, if it can install elsewhere; a new one would take as long as half of the packages.
SHOW_PIP = PIP_COMPILE=0 PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$$(test -x $(SHOW)/bin/pip && echo $(SHOW)/bin/python -m pip || echo $(PYTHON) -m pip --python $(SHOW)/bin/python)
REQUIRED := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")

demo: $(SHOW)/.ready
	@echo "Writing a report on a tyre, and comparing two principles for a rolling disk ..."
	@$(SHOW)/bin/chetaev report examples/rocard.toml -o $(DEMO)/rocard.html
	@$(SHOW)/bin/chetaev compare examples/disk.toml --plot $(DEMO)/disk.png
	@echo "Look at $(DEMO)/rocard.html in a browser, and at $(DEMO)/disk.png."

$(SHOW)/.ready: pyproject.toml hatch_build.py $(shell find src -name '*.py' -o -name '*.toml')
	@echo "Installing chetaev with what a report needs into $(SHOW): about 800 MB."
	@mkdir -p $(DEMO)
	@test -x $(SHOW)/bin/python || $(PYTHON) -m venv --without-pip $(SHOW)
	@$(PYTHON) -m pip --python $(SHOW)/bin/python --version >/dev/null 2>&1 || $(PYTHON) -m venv $(SHOW)
	@echo "1 of 2: the compiler of its stepping loops ..."
	@$(SHOW)/bin/python -c '$(REQUIRED)' > $(DEMO)/compiler.txt
	@$(SHOW_PIP) install --quiet --requirement $(DEMO)/compiler.txt
	@echo "2 of 2: its stepping loops, which takes about half a minute, and the packages that it needs ..."
	@CHETAEV_BUILD_FOR=host $(SHOW_PIP) install --quiet --no-build-isolation ".[report]"
	@$(SHOW_PIP) uninstall --quiet --yes numba hatchling
	@touch $(SHOW)/.ready

# Everything. The stepping loops are compiled once, before two processes of the tests would both compile it; checks run beside it, and
# beside the first tests where they take longer, so that no core waits.
test: $(READY)
	$(MAKE) --no-print-directory -j 2 tests checks

# What a change needs, within 90 seconds on two cores; CONTRIBUTING.md says which tests these are.
quick: $(READY)
	$(MAKE) --no-print-directory -j 2 loop types lint
	$(MAKE) --no-print-directory needed

checks: types pages lint

lint: $(READY)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

types: $(READY)
	$(RUN)/mypy

pages: $(READY)
	$(RUN)/python docs/build.py --light

loop: $(READY)
	$(RUN)/python -c "from chetaev.numerics.methods import loops; loops.prepare()"

tests: loop
	$(RUN)/pytest -n auto --dist worksteal

needed: loop
	$(RUN)/python tests/needed.py

# The tests on the lowest versions that pyproject.toml allows, in an environment of their own. Old packages beside newer ones warn of each
# other's changes, which says nothing about this library. Pages of the documentation need other packages.
test-oldest:
	@mkdir -p build
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.4"
	rm -f $(OLDEST)/lowest.txt
	$(OLDEST)/bin/uv pip compile --quiet --resolution lowest-direct --extra test pyproject.toml --output-file $(OLDEST)/lowest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --requirement $(OLDEST)/lowest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --no-deps --editable .
	$(OLDEST)/bin/python -c "from chetaev.numerics.methods import loops; loops.prepare()"
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal --ignore tests/docs \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning $(TESTS)

docs: $(READY)
	$(RUN)/python docs/build.py

verify: $(READY)
	$(RUN)/python docs/verify.py

# Pages are tested in Debian's Chromium, which root installs where it is missing; the tests that need it are left out elsewhere.
$(READY): pyproject.toml requirements.lock
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		{ apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1; } || \
		echo "chromium is not installed: the tests that open pages are left out."
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

# Break one sign at a time and run the tests that should notice; what survives is listed. Hours for all signs: tools/mutants.py --named is short.
mutants: loop
	$(RUN)/python tools/mutants.py $(MUTANTS)

# Record which code the tests of the papers run; the table of equations counts a test only if it runs the home that a row states.
homes: loop
	$(RUN)/python docs/homes.py

# The source distribution and the wheel, for all kinds of machine, and a trial of a wheel for this one.
dist: $(READY)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check build
	$(RUN)/python -m build --outdir dist
	CHETAEV_TEST_WHEEL=1 $(RUN)/pytest -q tests/unit/test_release.py

# Against other programs, which are installed here. Figures of earlier commits: git log --notes=benchmarks
bench: $(READY)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[bench]"
	$(RUN)/python benchmarks/run.py --note

lock:
	$(RUN)/python -m pip install --quiet "uv>=0.4"
	$(RUN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --python-version 3.11 \
		--extra dev pyproject.toml --output-file requirements.lock
	sed -i '1i # Made by "make lock" from pyproject.toml.' requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
