"""The imports that type checkers read in `chetaev/__init__.py` are those of the table by which names are imported when they are used."""

import ast
from pathlib import Path

import chetaev


def imported():
    """Public names by home, from the block that only type checkers run."""
    tree = ast.parse(Path(chetaev.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assert all(isinstance(node, ast.ImportFrom) and all(each.asname is None for each in node.names) for node in block.body)
    return {(node.module, each.name) for node in block.body for each in node.names}


def test_type_checkers_see_the_names_of_the_table():
    table = {(home, name) for home, names in chetaev._HOMES.items() for name in names.split()}
    modules = {tuple(home.rpartition(".")[::2]) for home in chetaev._MODULES.values()}
    assert imported() == table | modules


def test_every_listed_name_is_there():
    for name in chetaev.__all__:
        assert getattr(chetaev, name) is not None
