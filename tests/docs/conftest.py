"""The machinery of the site is imported from `docs/`; what a page registers is forgotten after its test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))


@pytest.fixture(scope="module", autouse=True)
def registries():
    """All tables that `ch.register` fills, as they were before."""
    import chetaev.transforms  # noqa: F401 - which makes its theorems known
    from chetaev.core.functions import DECLARABLE, FUNCTIONS
    from chetaev.core.groups.kinds import GROUPS
    from chetaev.export import LANGUAGES
    from chetaev.mechanics.principles import PRINCIPLES
    from chetaev.numerics.methods import METHODS
    from chetaev.transforms.tools.theorem import THEOREMS

    for word in METHODS.words():  # imports its module
        METHODS.kind_of(word, "test")
    tables = (PRINCIPLES, METHODS, LANGUAGES, THEOREMS, FUNCTIONS, DECLARABLE, GROUPS)
    before = [table.copy() for table in tables]
    yield
    for table, known in zip(tables, before, strict=True):
        table.clear()
        table.update(known)
