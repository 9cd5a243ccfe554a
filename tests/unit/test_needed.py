"""Which tests `make quick` runs: by imports, nearest first, and never without the tests that are next to a change."""

import subprocess
import sys
import time

import pytest

import needed

FILES = {
    "src/lib/__init__.py": "",
    "src/lib/core.py": "",
    "src/lib/middle.py": "from lib.core import thing",
    "src/lib/top.py": "def f():\n    from lib import middle",
    "src/lib/found/__init__.py": "from importlib.resources import files\nfound = files(__name__)",
    "src/lib/found/one.py": "",
    "tests/helper.py": "import lib.top",
    "tests/a/conftest.py": "import lib.core",
    "tests/a/test_words.py": "",
    "tests/b/test_core.py": "import lib.core",
    "tests/b/test_found.py": "import lib.found",
    "tests/b/test_helped.py": "import helper",
    "tests/b/test_middle.py": "from lib import middle",
    "tests/b/test_pictures.py": 'FOLDER = "pictures"',
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (["src/lib/core.py"], {"src/lib/core.py": 0, "b/test_core": 1, "a/test_words": 2, "b/test_middle": 2, "b/test_helped": 4}),
        (["tests/b/test_middle.py", "src/lib/top.py"], {"src/lib/top.py": 0, "b/test_middle": 0, "b/test_helped": 2}),
        (["src/lib/found/one.py"], {"src/lib/found/one.py": 0, "b/test_found": 2}),
        (["pictures/a.svg"], {"b/test_pictures": 1}),
        (["tests/a/expected.txt"], {"a/test_words": 1}),
        (["src/lib/removed.py", "LICENSE"], {}),
    ],
    ids=["deep", "test itself", "found by its package", "a folder named", "beside a test", "nothing reached"],
)
def test_nearest_first(root, changes, expected):
    found = needed.order(changes, root)
    assert {file.removeprefix("tests/").removesuffix(".py") if "test_" in file else file: far for file, far in found.items()} == expected
    assert list(found.values()) == sorted(found.values())


def test_public_names_lead_to_where_they_are_defined():
    uses = needed.imports()
    assert "src/chetaev/numerics/motion/simulate.py" in uses["tests/unit/test_simulate.py"]
    near = needed.order(["src/chetaev/numerics/motion/simulate.py"])
    assert near["tests/unit/test_simulate.py"] == 1
    assert needed.order(["src/chetaev/gallery/rocard.py"])["tests/laws/test_laws.py"] == 2


@pytest.mark.parametrize(("first", "code"), [("True", 0), ("False", 1)])
def test_the_deadline_leaves_tests_out_but_hides_no_failure(tmp_path, first, code):
    file = tmp_path / "test_three.py"
    file.write_text(f"def test_a(): assert {first}\ndef test_b(): pass\ndef test_c(): pass\n")
    words = [sys.executable, needed.__file__, "--until", str(time.time() - 1), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)  # noqa: S603 - our own script
    assert "the time is over; 2 tests that are further from the change were not run" in done.stdout
    assert done.returncode == code
