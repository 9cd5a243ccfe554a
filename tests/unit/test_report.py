"""Reports: one file without network, well formed, with the right numbers, for every system and every verdict."""

import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.display import html
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.report import motion as moving
from chetaev.report import sections
from chetaev.report.prose import line

_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_REFERS = ("href", "src", "srcset", "data", "action", "poster", "xlink:href", "formaction", "background")


class Page(HTMLParser):
    """What a page refers to, its ids, and its text; unbalanced tags are an error."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.references, self.ids, self.text, self.tags, self.styles = [], [], [], [], [], []
        self.tables = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in _REFERS:
                self.references.append(value)
            if name == "id":
                self.ids.append(value)
            if name == "style":
                self.styles.append(value)
            if name == "alttext" and self.inside("td"):
                self.tables[-1][-1][-1] += value
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.inside("style"):
            self.styles.append(text)
        elif not self.inside("script") and not self.inside("math"):
            self.text.append(text)
            if self.inside("td") or self.inside("th"):
                self.tables[-1][-1][-1] += text

    def inside(self, tag):
        return tag in self.open

    def rows(self, first):
        """The rows of the table whose head begins with these words."""
        (found,) = [t for t in self.tables if t and [c.strip() for c in t[0]][: len(first)] == list(first)]
        return {row[0]: row[1:] for row in found[1:]}


def value(cell):
    """A number of a table: `1.7·10−8 (found)` is 1.7e-8."""
    text = cell.replace("\N{MINUS SIGN}", "-").split(" ")[0]
    found = re.fullmatch(r"(-?[\d.]+)?(?:·)?(-?10(-?\d+))?", text)
    assert found, cell
    if found[2] is None:
        return float(found[1])
    sign = -1 if found[2].startswith("-") else 1
    return float(found[1] or sign) * 10.0 ** int(found[3])


@pytest.fixture(scope="module")
def tyre():
    return ch.report(ch.gallery("rocard"))


DRAWN = ("action-constraint", "cawley", "elastic-ball-inhomogeneous", "euler-top", "krupkova", "pais-uhlenbeck", "transformer")
DRAWN += ("damped-oscillator", "disk", "double-pendulum")
"""Reports whose pictures are written, too: one of each kind, because that takes most of the time, and those that other tests read."""


@cache
def report_of(name):
    """The report of a gallery system without its animation; made once, because pages do not change from run to run."""
    return ch.report(ch.gallery(name), animation=False)


def made_only(figure, name, caption):
    """In place of a picture in the page: the figure is made, but not written."""
    assert figure.get_size_inches().min() > 0
    return f'<figure id="{name}"><svg></svg>{caption}</figure>'


@pytest.mark.parametrize("name", ch.gallery())
def test_every_gallery_system_has_a_report(name, monkeypatch):
    if name == "bicycle":  # its integrals are not found within any budget that a test could give; that it ends is tested elsewhere
        monkeypatch.setattr("chetaev.mechanics.classify._FLAG_SECONDS", 0.05)
    if name not in DRAWN:
        for module in (sections, moving):
            monkeypatch.setattr(module, "drawn", made_only)
    model = ch.gallery(name)
    made = report_of(name) if name in DRAWN else ch.report(model, animation=False)
    page = Page(made.html)
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    text = " ".join(page.text)
    assert str(made.analysis.verdict) in text
    assert model.reference.split(",")[0] in text
    assert "svg" in page.tags
    for word in ("nan", "None", "Traceback", "not finite"):
        assert not re.search(rf"\b{word}\b", text.replace("None of", "")), word
    motion = made.motion
    if motion is None:
        assert "No motion was computed" in text
        return
    rows = page.rows(["", "start", "end"])
    assert len(rows) >= len(motion.jets)
    ends = [value(cells[1]) for cells in rows.values()]
    assert ends[: len(motion.jets)] == pytest.approx([motion.final[z.name] for z in motion.jets], rel=1e-6, abs=1e-300)


def test_the_page_needs_no_network(tyre):
    page = Page(tyre.html)
    assert "link" not in page.tags
    assert "iframe" not in page.tags
    assert all(reference.startswith(("#", "data:")) for reference in page.references)
    styles = " ".join(page.styles)
    assert "@import" not in styles
    assert not re.search(r"url\(\s*['\"]?(?!#|data:)", styles)
    assert not re.search(r"https?:", " ".join(page.text)), "citations are plain text"


def test_every_reference_and_every_colour_is_defined(tyre):
    page = Page(tyre.html)
    used = {reference[1:] for reference in page.references}
    assert used <= set(page.ids)
    styles = " ".join(page.styles)
    light = re.search(r":root \{ color-scheme[^}]*\}", styles).group()
    dark = re.search(r"prefers-color-scheme: dark\) \{ :root \{[^}]*\}", styles).group()
    for name in set(re.findall(r"var\((--\w+)\)", re.sub(r"<script.*?</script>", "", tyre.html, flags=re.DOTALL))):
        if name in light or name in dark:
            assert f"{name}:" in light
            assert f"{name}:" in dark
    own = {f"--{name}" for name in ("ink", "soft", "lines", "alert", "card", "curve0", "curve7")}
    assert own <= set(re.findall(r"--\w+", light))


def test_pictures_have_no_colours_of_their_own(tyre):
    """Whatever is drawn takes the colours of the page, so that it can be read on a dark one."""
    figures = re.findall(r'<figure class="plot">.*?</figure>', tyre.html, flags=re.DOTALL)
    assert len(figures) >= 5
    for figure in figures:
        assert not re.findall(r"#[0-9a-fA-F]{6}\b", figure)
        assert "var(--curve0)" in figure or "var(--ink)" in figure


def test_the_numbers_of_the_tyre(tyre):
    """The end of the motion against a run with another method and tolerance; the certificate against `verify`."""
    model = ch.gallery("rocard")
    sharp = ch.simulate(model, tolerance=1e-12)
    page = Page(tyre.html)
    rows = page.rows(["", "start", "end"])
    assert value(rows[r"\epsilon"][1]) == pytest.approx(sharp.final["epsilon"], rel=1e-5)
    assert value(rows["x_{1}"][1]) == pytest.approx(sharp.final["x1"], rel=1e-7)
    assert value(rows[r"\dot{\psi}"][0]) == 1.8
    assert value(rows[r"\lambda_{3}"][0]) == pytest.approx(-2.0 * 0.15, rel=1e-5), "lambda3 = -K*epsilon"
    assert "(found)" in rows[r"\dot{x}_{1}"][0]
    assert value(rows[r"\dot{x}_{1}"][0]) == pytest.approx(1.8 * np.cos(0.35), rel=1e-5)
    checked = page.rows(["row", "what is checked", "largest"])
    found = tyre.motion.verify()
    assert len(checked) == len(found)
    assert value(checked["kinematic[2]"][1]) == pytest.approx(found["kinematic[2]"].largest, rel=0.06)
    text = " ".join(" ".join(page.text).split())
    assert "7 free initial values" in text
    assert "8 equations for 8 unknowns" in text
    for size in tyre.motion.drift.values():
        assert size < 1e-9
    assert "Cendra" in text
    assert "The chetaev authors" in text


def test_invariants_are_listed_with_their_values():
    """The disk's energy from its data: m*v^2/2 + I*theta'^2/2 + J*varphi'^2/2 with v = R*theta'."""
    made = report_of("disk")
    energy = 1.7 / 2 * (0.6 * 2.1) ** 2 + 0.35 / 2 * 2.1**2 + 0.22 / 2 * 0.8**2
    rows = Page(made.html).rows(["", "value", "largest change"])
    (key,) = [k for k in rows if k.startswith("energy")]
    assert value(rows[key][0]) == pytest.approx(energy, rel=1e-7)
    assert value(rows[key][1]) < 1e-9
    text = " ".join(Page(made.html).text)
    assert "agree with" in text
    assert "differ from" in text


def test_the_animation_is_part_of_the_page():
    with_it = ch.report(ch.gallery("double-pendulum"))
    without = report_of("double-pendulum")
    assert 'class="animation"' in with_it.html
    assert 'class="animation"' not in without.html
    Page(with_it.html)


def test_a_gauge_has_to_be_chosen_and_then_there_is_a_motion():
    without = report_of("krupkova")
    assert without.motion is None
    text = " ".join(" ".join(Page(without.html).text).split())
    assert "No motion was computed" in text
    assert "GAUGE" in text
    assert 'gauge={"q2": "0.4 - 0.3*sin(t)"}' in text  # q2 = 0.4 and q2' = -0.3 at the start
    chosen = ch.report(ch.gallery("krupkova"), gauge={"q2": "0.4 - 0.3*sin(t)"}, animation=False)
    assert chosen.motion.final["q2"] == pytest.approx(0.4 - 0.3 * np.sin(chosen.motion.end[0]))


def test_a_start_on_several_branches_is_told():
    equations = ch.derive(ch.gallery("cawley"))
    start = {"q1": 0.2, "q1'": 0.5, "q2": 0, "q2'": 0, "q3": 0, "q3'": 0}
    made = ch.report(equations, start, (0, 1), animation=False)
    text = " ".join(Page(made.html).text)
    assert made.motion is None
    assert "BRANCHING" in text
    assert "No motion was computed" in text
    chosen = ch.report(equations, start, (0, 1), branch="q2 = 0", animation=False)
    assert chosen.motion.final["q1"] == pytest.approx(0.7)


def test_an_inconsistent_system_says_so():
    stuck = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y", name="stuck"))
    made = ch.report(stuck, {"x": 0, "x'": 1}, (0, 1))
    text = " ".join(" ".join(Page(made.html).text).split())
    assert made.motion is None
    assert "INCONSISTENT" in text
    assert "no motion" in text
    assert "Accuracy" not in text


def test_wrong_data_are_errors_and_not_hidden_in_the_page():
    spring = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring"))
    with pytest.raises(ch.ParameterError):
        ch.report(spring, {"x": 1, "x'": 0}, (0, 1))
    with pytest.raises(ch.InitialError):
        ch.report(spring, {"x": 1}, (0, 1), parameters={"k": 1})
    with pytest.raises(ch.UsageError, match="report takes a model"):
        ch.report("rocard")


def test_equations_without_a_start_have_a_report_without_a_motion():
    made = ch.report(ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring & <mass>")))
    text = " ".join(" ".join(Page(made.html).text).split())
    assert "No initial data are given" in text
    assert "no value" in text
    assert "Spring & <mass>" in text, "names are escaped"


def test_a_motion_has_a_report_of_its_own():
    model = ch.gallery("damped-oscillator")
    motion = ch.simulate(model, t=(0, 3))
    made = ch.report(motion, animation=False)
    assert made.motion is motion
    rows = Page(made.html).rows(["", "start", "end"])
    assert value(rows["x"][1]) == pytest.approx(motion.final["x"], rel=1e-7)
    (text,) = re.findall(r"<pre>(.*?)</pre>", made.html, flags=re.DOTALL)
    assert "[simulate]\nt = [0.0, 3.0]" in text


@pytest.mark.parametrize("asked", [{"t": [0, 1, 3]}, {"t": (0, 3), "keep": "final"}])
def test_motions_stored_at_single_times_have_a_report(asked):
    """Such motions are asked for in model files too; the page says what it cannot show, and has the figures of the run itself."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 2*x^2 - y^4/4")
    model = ch.Model(system, ch.Hamilton(), {}, {"x": 1, "x'": 0, "y": 1, "y'": 0}, **asked)
    assert loads(dumps(model)) == model
    page = ch.report(ch.simulate(model)).html
    assert "States were stored at single times" in page and "are within their limits" in page
    assert ("One state was stored" in page) == ("keep" in asked)
    assert "Verification" in ch.report(model).html


def test_the_model_file_in_the_page_is_the_model(tmp_path, tyre):
    import html

    (text,) = re.findall(r"<pre>(.*?)</pre>", tyre.html, flags=re.DOTALL)
    file = tmp_path / "tyre.toml"
    file.write_text(html.unescape(text), encoding="utf-8")
    assert ch.load(file).system == ch.gallery("rocard").system


def test_reports_are_saved_and_shown(tmp_path, tyre):
    file = tyre.save(tmp_path / "tyre.html")
    assert file.read_text(encoding="utf-8") == tyre.html
    assert tyre.html.startswith("<!DOCTYPE html>")
    assert tyre._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(ch.UsageError, match="cannot be written"):
        tyre.save(tmp_path / "no" / "such" / "folder.html")


def test_without_matplotlib_the_extra_is_named():
    code = "import sys; sys.modules['matplotlib'] = None\nimport chetaev as ch\n"
    code += "try: ch.report(ch.gallery('krupkova'))\nexcept ch.UsageError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "UsageError · plot\n  pictures need matplotlib.\n  -> pip install matplotlib\n"


def test_reports_do_not_change_from_run_to_run():
    assert ch.report(ch.gallery("damped-oscillator"), animation=False).html == report_of("damped-oscillator").html


NAMES = ["x", "y", "theta", "lambda1", "lambda2", "m", "R", "I", "a", "rear", "q2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the angle theta turns", r"the angle «\theta» turns"),
        ("I have a rear wheel", "I have a rear wheel"),
        ("a circle of radius R*theta' for ever.", r"a circle of radius «R \dot{\theta}» for ever."),
        ("if (lambda1, lambda2) = -m*(x', y') at first", r"if «(\lambda_{1}, \lambda_{2})»«= -m (\dot{x}, \dot{y})» at first"),
        ("decays as -(m + R) (theta' - x') here", r"decays as «-(m + R)» («\dot{\theta} - \dot{x}») here"),
        ("see d'Alembert's x, not X; (so x)", "see d'Alembert's «x», not X; (so x)"),
        ("only if m != 0 and x' > 0.", r"only if «m» «\neq 0» and «\dot{x}» «> 0»."),
        ("every q2(t) and `code` & <tags>", r"every «q_{2}(t)» and <code>code</code> &amp; &lt;tags&gt;"),
        ("x = 0, and then x' = 0 follows", r"«x»«= 0», and then «\dot{x}»«= 0» follows"),
        ("broken ((x + and x) stay", "broken ((x + and x) stay"),
    ],
)
def test_formulas_in_running_text(text, expected):
    made = line(text, NAMES)
    plain = re.sub(r'<math[^>]*alttext="([^"]*)".*?</math>', r"«\1»", made).replace("«&gt;", "«>").replace("» «=", "»«=")
    plain = plain.replace("» «+", " +").replace("» «-", " -").replace(r"\, ", "")  # a line may end before a sign
    assert plain == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, "0"),
        (1e-9, "10<sup>−9</sup>"),
        (-1.25e-7, "−1.25·10<sup>−7</sup>"),
        (17.18976861, "17.1898"),
        (-0.5, "−0.5"),
        (3e8, "3·10<sup>8</sup>"),
    ],
)
def test_numbers_are_written_for_readers(given, expected):
    assert html.number(given) == expected


@pytest.mark.parametrize(
    ("method", "cited"), [(None, "DOP853"), (ch.Implicit(), "Radau IIA"), (ch.Taylor(), "Jorba")], ids=["default", "implicit", "taylor"]
)
def test_a_report_cites_the_method_that_was_used(method, cited):
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    html = ch.report(ch.simulate(spring, {"x": 1, "x'": 0}, (0, 1), method=method)).html
    assert [word for word in ("DOP853", "Radau IIA", "Jorba") if word in html] == [cited]
