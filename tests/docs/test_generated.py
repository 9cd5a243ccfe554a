"""The generated pages tell of everything there is, and what they tell is well formed."""

import inspect
import json
import re
from pathlib import Path

import pytest
from generate import api, gallery, verification
from generate.markdown import formula, told

import chetaev as ch

DOCS = Path(__file__).parents[2] / "docs"


def test_every_public_name_has_its_place_in_the_reference():
    placed = [name for names in api.assigned().values() for name in names]
    assert sorted(placed) == sorted({*ch.__all__, *ch.ALSO} - set(api.MODULES))
    assert [name for name in placed if not inspect.getdoc(getattr(ch, name))] == []


def test_a_session_in_a_docstring_becomes_a_block():
    text = api.markdown(inspect.getdoc(ch.derive))
    assert re.search(r"```pycon\n>>> .*\n>>> print\(derive\(oscillator\)\)\noscillator · Hamilton\(\)\n  E_x", text)


def test_every_gallery_system_has_a_page():
    groups = gallery.groups()
    assert sorted(name for names in groups.values() for name in names) == ch.gallery()


@pytest.mark.parametrize("name", ["rocard", "two-firms", "bicycle", "damped-oscillator"])
def test_a_page_tells_what_the_model_says(name, tmp_path):
    model = ch.gallery(name)
    page = gallery.page(name, tmp_path, None)
    assert page.startswith(f"# {gallery.capital(model.name)}\n")
    assert all(f"`{parameter} = {value}`" in page for parameter, value in model.parameters.items())
    assert page.count("$") % 2 == 0
    assert ("## Corrections" in page) == bool(model.corrections)


def test_formulas_in_running_text():
    assert told("The row v' = a*theta'^2 holds; 2*q is code.", ["theta", "a"]) == (
        r"The row $\dot{v} = a \dot{\theta}^{2}$ holds; `2*q` is code."
    )
    assert told("see [1] and <this>", []) == r"see \[1\] and \<this\>"
    assert formula("x' = y") == r"$\displaystyle \dot{x}$ $\displaystyle = \, y$"


def test_the_report_shows_failures(tmp_path, monkeypatch):
    data = json.loads(verification.DATA.read_text(encoding="utf-8"))
    data["long"][0].update(good=False)
    for line in data["orders"] + data["closed"] + data["gallery"] + data["long"][1:]:
        line.update(good=True)
    (tmp_path / "data.json").write_text(json.dumps(data), encoding="utf-8")
    monkeypatch.setattr(verification, "DATA", tmp_path / "data.json")
    verification.write(tmp_path)
    text = (tmp_path / "verification.md").read_text(encoding="utf-8")
    assert "1 of the lines below miss" in text
    assert text.count("| **no**") == 1


def test_the_site_needs_no_network():
    """Nothing that a page loads comes from elsewhere; links to read on are another matter."""
    loaded = re.compile(r"""(?:src|@import|url\()\s*[=(]?\s*["']?(?:https?:)?//""")
    files = [p for p in DOCS.rglob("*") if p.suffix in (".md", ".css", ".js", ".py") and p.name != "katex.min.js"]
    assert [p.name for p in files if loaded.search(p.read_text(encoding="utf-8"))] == []
    assert (DOCS / "_static" / "katex" / "LICENSE").read_text(encoding="utf-8").startswith("The MIT License")
