"""What notebooks show: every value with labels, in the order written, and no text that a browser would obey."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.certificate import Certificate, Figure
from chetaev.core.display.curve import curve

MARKUP = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "-->", "]]>", "&lt;b&gt;",
    "&amp;",     '" onload="alert(1)', "' onload='alert(1)", "</style><b>", "</div></div>", "${7*7}", "$x$", "\\(x\\)", "`id`", "{{7*7}}",
    "θ é 日本",
    "javascript:alert(1)",
]  # fmt: skip
ROW = "y'*cos(theta) - x'*sin(theta) = a*theta'"
VALUES, START = {"m": 1, "J": 1, "a": 0.3}, {"x": 0, "y": 0, "theta": 0.1, "x'": 1, "theta'": 0.4}
ALLOWED = {
    "div", "style", "p", "strong", "dl", "dt", "dd", "ul", "li", "table", "thead", "tbody", "tr", "td", "th", "span", "code", "small",
    "sup",    "svg", "polyline", "img", "math", "mi", "mn", "mo", "mrow", "msub", "msup", "msubsup", "mfrac", "msqrt", "mover", "mtable",
    "mtr", "mtd",    "mspace", "mtext", "mstyle",
}  # fmt: skip
"""Elements that displays use; none loads or runs anything but pictures, whose addresses are checked."""


class Elements(HTMLParser):
    """Collects elements, attributes and the text of a display; unclosed elements are an error."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], set(), set(), []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= set(attrs)
        if tag != "img":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= set(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def shown(value):
    """The text of a display, after checks that hold for all of them."""
    found = Elements(value._repr_html_())
    assert found.tags <= ALLOWED
    names = {name for name, _ in found.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("href", "srcdoc", "action")}
    assert all(text.startswith("data:image/png;base64,") for name, text in found.attributes if name == "src")
    return " ".join(found.words)


def sleigh(name="sleigh", label="blade", **parts):
    return ch.System("x y theta", "m J a", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2", kinematic={label: ROW}, name=name, **parts)


def everything(name, label):
    """All kinds of values about a system with hostile texts."""
    system = sleigh(name, label)
    model = ch.Model(system, ch.DAlembert(), VALUES, START, prose=f"a {name} b", reference=name, corrections=(name,))
    equations = ch.derive(model)
    motion = ch.simulate(model, t=(0, 1), events=[ch.On("x - 0.5")])
    yield from (system, model, equations, ch.classify(system), ch.analyze(equations), motion, motion.certificate)
    yield ch.simulate_many(equations, START | {"theta": [0, 0.1]}, (0, 0.1), parameters=VALUES)
    yield ch.compare(system, [ch.DAlembert(), ch.Chetaev()], START, t=(0, 0.1), parameters=VALUES)
    yield ch.reduce_velocities(equations)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '" onload="alert(1)', "<img src=x onerror=alert(1)>", "]]>&lt;b&gt;"])
def test_hostile_names_stay_text_in_every_display(name):
    for value in everything(name, "blade"):
        assert name in shown(value) or isinstance(value, Certificate)


@pytest.mark.parametrize("name", MARKUP, ids=ascii)
def test_markup_in_names_titles_and_prose_is_shown_as_it_is(name):
    model = ch.Model(sleigh(name), ch.DAlembert(), VALUES, START, prose=name, reference=name)
    assert " ".join(shown(model).split()).count(" ".join(name.split())) >= 3 and name in shown(ch.derive(model))


@pytest.mark.parametrize("key", ["<b>x</b>", "a b", "1+", "x' <i>", "$x$"])
def test_keys_that_are_no_names_are_quoted(key):
    assert key in shown(ch.Model(sleigh(), ch.DAlembert(), {key: 1}, {"x": "<u>1</u>"}))


def test_rows_have_their_labels_and_stand_as_they_were_written():
    html = ch.derive(sleigh(), ch.DAlembert())._repr_html_()
    labels = re.findall(r"<dt><code>(\w+)</code></dt>", html)
    assert labels == ["E_x", "E_y", "E_theta", "blade"] and "4 equations for 4 unknowns: x y theta lambda1" in html
    written = "".join(re.findall(r'alttext="([^"]*)"', html.split("blade")[1]))
    assert written.index(r"\dot{y} \cos\theta") < written.index(r"\dot{x} \sin\theta") < written.index(r"a \dot{\theta}")


def test_a_system_shows_all_its_parts():
    system = sleigh(units={"x": "m"}, forces={"x": "F - c"}, where={"c": "a*x"}, inputs={"F": None}, dissipation="a*x'^2")
    text = shown(system)
    for part in (
        "coordinates",
        "parameters",
        "lagrangian",
        "blade",
        "force x",
        "where c",
        "input F",
        "open",
        "dissipation",
        "units",
        "in m",
    ):
        assert part in text
    assert "group A" in shown(ch.System({"A": "SO3 body"}, "I", lagrangian="I*A1'^2/2 + A2'^2 + A3'^2", name="top"))


def test_branches_are_a_tree():
    html = ch.analyze(ch.derive(ch.gallery("cawley")))._repr_html_()
    assert re.search(r"BRANCHING.*<ul><li>branch 0: .*?<ul>.*?</ul></li><li>branch 1: ", html, re.DOTALL)


def test_a_motion_has_a_curve_of_each_quantity_with_its_unit():
    system = sleigh(units={"x": "m", "y": "m", "theta": "rad", "m": "kg", "J": "kg m^2", "a": "m"})
    motion = ch.simulate(ch.Model(system, ch.DAlembert(), VALUES, START), t=(0, 2), progress=False)
    html = motion._repr_html_()
    assert html.count("<svg") == 7 and "kg m/s²" in shown(motion) and 'aria-label="lambda1 over time"' in html
    once = ch.simulate(ch.Model(system, ch.DAlembert(), VALUES, START), t=(0, 2), keep="final")
    assert "1 point stored" in shown(once)


def test_certificates_and_answers():
    bad = Certificate((Figure("defect", 1e-3, 1e-5, "x <b>", 0.5),))
    assert "NOT ok" in shown(bad) and "x <b>" in shown(bad) and "not checked" in shown(bad)
    model = ch.Model(sleigh(), ch.DAlembert(), VALUES, START)
    t = np.linspace(0, 3, 12)
    motion = ch.simulate(model, t=(0, 3)).at(t)
    fit = ch.fit(model, {"t": t, "x": motion["x"], "theta": motion["theta"]}, unknown={"a": (0.1, 1)})
    assert "95 %" in shown(fit) and "residuals of theta" in shown(fit)


def test_the_gallery_is_a_table_with_pictures():
    names = ch.gallery()
    html = names._repr_html_()
    assert isinstance(names, list) and names == sorted(names)
    assert all(f"<code>{name}</code>" in html for name in names) and "sleigh" in shown(names)
    without = [name for name, row in zip(names, re.findall(r"<tr><td>(.*?)</td>", html), strict=True) if "<img" not in row]
    assert set(without) <= {"krupkova", "cawley"} and len(html) < 300_000


def test_curves_of_anything():
    assert curve([], []) == "" and curve([0.0], [1.0]) == "" and curve([0, 1], [np.nan, np.inf]) == ""
    assert curve([0, 1, 2, 3], [0, np.nan, 1, 2]).count("<polyline") == 2
    assert "nan" not in curve([0, 1], [1e308, -1e308]) and "38.5" not in curve([0, 1], [5, 5])
    assert len(curve(list(range(100_000)), list(range(100_000)))) < 5000
    assert 'aria-label="&lt;b&gt;"' in curve([0, 1], [0, 1], label="<b>")
