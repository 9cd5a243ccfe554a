"""Pages with sliders: they compute the motions of `simulate` in a browser, offline, and no text of a model runs in them."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import chetaev as ch
from browsing import PATIENCE, needs_chromium
from chetaev.core.scene import shapes as sh
from chetaev.export.minified import renamed, squeezed
from chetaev.plot.scenes.compose import compose
from chetaev.plot.scenes.meshes import packed
from chetaev.studio.live import slider_ranges


@cache
def motion_of(name):
    return ch.simulate(ch.gallery(name))


SLEIGH = {"a": (0.1, 1), "theta'": (-2, 2)}


@cache
def sleigh_page():
    return ch.animate(motion_of("sleigh"), sliders=SLEIGH).page()


class Tags(HTMLParser):
    """The tags of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self._in = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._in = tag if tag in ("script", "style") else None
        if self._in:
            self.texts.append("")

    def handle_endtag(self, tag):
        self._in = None

    def handle_data(self, data):
        if self._in:
            self.texts[-1] += data


def test_the_policy_names_every_script_and_style_by_its_digest():
    page = Tags(sleigh_page())
    [policy] = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    assert len(page.texts) == 2
    for text in page.texts:
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert not any(name in a for _, a in page.tags for name in ("src", "style", "onclick", "onload"))
    assert "http://" not in sleigh_page() and "https://" not in sleigh_page()


def test_sliders_and_values_have_their_names():
    page = Tags(sleigh_page())
    found = {a["data-chetaev-slider"]: a for tag, a in page.tags if "data-chetaev-slider" in a}
    assert list(found) == ["a", "theta'"]
    assert (float(found["a"]["min"]), float(found["a"]["max"]), float(found["a"]["value"])) == (0.1, 1.0, 0.35)
    assert all(a["type"] == "range" and a["aria-label"] for a in found.values())
    assert [a["data-chetaev-value"] for _, a in page.tags if "data-chetaev-value" in a] == ["a", "theta'"]
    assert {"energy", "drift", "play", "link"} <= {a.get("data-chetaev") for _, a in page.tags}


@pytest.mark.parametrize(("name", "most"), [("sleigh", 60_000), ("trailer", 60_000), ("bicycle", 700_000)])
def test_pages_are_small(name, most):
    """With all sliders that the studio gives them; these are the largest pages of the gallery, in the plane and in space."""
    motion = motion_of(name)
    assert len(ch.animate(motion, sliders=slider_ranges(motion)[0]).page().encode()) < most


def test_scripts_keep_their_texts_when_squeezed():
    text = "const a = \"x  // y\"; // note\n/* more\n   notes */\nconst b = `p  ${a}` + 'q  /* r */';\n\n  f(a - -b, a + +1, a / 2);\n"
    assert squeezed(text) == "const a=\"x  // y\",\nb=`p  ${a}` + 'q  /* r */';\nf(a - -b,a + +1,a / 2);"


SHORTER = """const wanted = {first: 1, kept: 2}, {first, second} = source;
function adding(left, [upper, lower], {inner}) { return left + first - -upper / lower + inner; }
const texts = `wanted ${wanted.first + adding(second, [outer, 4])} adding`, single = (value) => wanted["value"];
class Motion { constructor(third) { this.kept = third; } }
for (const entry of [wanted, texts]) told(entry, "entry", single);
export const outer = new Motion(2);
"""


def test_scripts_keep_their_meaning_under_short_names():
    """Names that occur as properties, in objects and patterns, or are not declared, stay; every other is replaced everywhere."""
    text = squeezed(SHORTER)
    found = renamed(text)
    for name in ("first", "second", "kept", "inner", "source", "told", '"value"', '"entry"', "constructor"):
        assert len(re.findall(rf"{name}", found)) == len(re.findall(rf"{name}", text)), name
    assert (
        not re.search(r"\b(left|single|Motion|export)\b", found) and found.count("adding") == found.count("wanted") == 1
    )  # in the template
    short = {
        name: re.search(pattern, found)[1] for name, pattern in {"wanted": r"const (\w+)=\{first", "adding": r"function (\w+)\("}.items()
    }
    assert (
        f"{short['wanted']}.first + {short['adding']}(second, [" in found
        and "outer" not in found
        and f'{short["wanted"]}["value"]' in found
    )
    assert "+inner" in found and "- -" in found


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_script_under_short_names_computes_the_same():
    """The module of a model, squeezed and renamed, run by node."""
    text = ch.code(ch.gallery("roller-racer"), "javascript")
    told = "\nconst r = simulate({times: [0, 1, 2]}), end = r.states[2];\n"
    told += "console.log(JSON.stringify([r.states, r.outcome, stateNames, constraints(2, end)]));\n"
    found = []
    for program in (text + told, renamed(squeezed(text + told))):
        command = [shutil.which("node"), "--input-type=module", "-e", program]
        found.append(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)  # noqa: S603
    assert found[0] == found[1] and len(renamed(squeezed(text))) < 0.7 * len(text)


def test_meshes_are_packed_without_loss_that_one_could_see():
    faces = [[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [0, 1, 2], [4, 9, 2]]
    mesh = {"v": [0.5, -0.12345678, 1e-9, 0.25], "f": faces, "c": [0, 0, 1, 1, 1, 0], "p": ["#000000", "#ffffff"]}
    grown = {"f": faces, "c": mesh["c"], "p": mesh["p"], "base": 0, "parts": [[3, [2.0, 0, -30.5]], [4, [2.0, 0, -30.5]]]}
    found = packed([mesh, grown, mesh])
    assert found["faces"] == [
        {"runs": [[[0, 1, 5, 4], [1, 1, 1, 1], 3], [[3, 0, 4, 7], 0, 1], [[0, 1, 2], [4, 8, 0], 2]], "c": [0, 2, 1, 3, 0, 1]}
    ]
    assert found["lists"] == [[1e-4, 5000, -1235, 0, 2500], [1e-2, 200, 0, -3050]]
    assert [mesh.get("v", mesh.get("parts")) for mesh in found["meshes"]] == [0, [[3, 1], [4, 1]], 0] and found["meshes"][1]["base"] is None


@pytest.mark.parametrize(
    ("sliders", "said"),
    [
        ({"q": (0, 1)}, "q is neither a parameter nor in the state"),
        ({"a": (1, 0.5)}, "is not a range"),
        ({"a": 1}, "is not a range"),
        ({"a": (0, float("nan"))}, "nan"),
        ({}, "a mapping from names to ranges"),
        ({"y'": (0, 1)}, "cannot be moved"),
    ],
)
def test_mistakes_are_explained(sliders, said):
    with pytest.raises(ch.ChetaevError, match=re.escape(said)):
        ch.animate(motion_of("sleigh"), sliders=sliders)


def test_several_motions_have_no_sliders():
    with pytest.raises(ch.UsageError, match="need a single motion"):
        ch.animate({"a": motion_of("sleigh"), "b": motion_of("sleigh")}, sliders=SLEIGH)


def test_a_range_holds_the_value_of_the_motion():
    [slide] = ch.animate(motion_of("sleigh"), sliders={"a": (0.5, 1)}).slides
    assert (slide.low, slide.value, slide.high) == (0.35, 0.35, 1.0)


def test_a_value_may_be_free_where_no_end_of_its_range_is_possible():
    """Of x^2 + y^2 = 1 with y guessed, x moves between -1 and 1; with y given it does not move."""
    pendulum = ch.System("x y", "l", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = l^2"], name="pendulum")
    equations = ch.derive(pendulum, ch.DAlembert())
    free = ch.simulate(equations, ch.State({"x": 0.6, "x'": 0}, guess={"y": -0.8}), (0, 0.1), parameters={"l": 1})
    [slide] = ch.animate(free, sliders={"x": (-1.2, 1.2)}).slides
    assert (slide.low, slide.value, slide.high) == (-1.2, 0.6, 1.2)
    given = ch.simulate(equations, {"x": 0.6, "x'": 0, "y": -0.8}, (0, 0.1), parameters={"l": 1})
    with pytest.raises(ch.UsageError, match="x cannot be moved"):
        ch.animate(given, sliders={"x": (-1.2, 1.2)})


# ---- in the browser ----


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page from its text, and returns it with the complaints of its console."""
    contexts = []

    def open_page(text, address="", **options):
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        complaints, requests = [], []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri() + address)
        page.wait_for_function("window.chetaev && window.chetaev.ready")
        page.complaints, page.requests = complaints, requests
        return page

    yield open_page
    for context in contexts:
        context.close()


def expected(a, rate, t):
    """The sleigh with other values, by `simulate`."""
    model = ch.gallery("sleigh")
    return ch.simulate(model, ch.State({**model.start.fixed, "theta'": rate}, model.start.guess), parameters={"a": a}).at(t)


@needs_chromium
def test_the_page_computes_the_motion_of_other_values(opened):
    page = opened(sleigh_page())
    assert page.evaluate("chetaev.values()") == {"a": 0.35, "theta'": 1.1}
    first = page.evaluate("chetaev.motion()")
    assert first["outcome"] == "finished" and first["drift"] < 1e-10
    assert (first["t"][0], first["t"][-1]) == (0, 10)
    assert np.ptp(first["energy"]) < 1e-7
    page.evaluate("""chetaev.set({"a": 0.7, "theta'": -0.8})""")
    wanted = expected(0.7, -0.8, 3.3)
    for name, value in page.evaluate("chetaev.state(3.3)").items():
        assert value == pytest.approx(wanted[name], rel=1e-6, abs=1e-7)
    assert page.evaluate("chetaev.values()") == {"a": 0.7, "theta'": -0.8}
    assert page.input_value("[data-chetaev-slider=a]") == "0.7"
    assert page.text_content("[data-chetaev-value=a]") == "0.7"
    assert page.evaluate("chetaev.milliseconds.length") == 1
    assert page.evaluate("chetaev.motion().energy[0]") == pytest.approx(expected(0.7, -0.8, 0.0).motion.energy[0], rel=1e-9)
    assert not page.complaints and len(page.requests) == 1


@needs_chromium
def test_sliders_keys_and_time(opened):
    page = opened(sleigh_page(), reduced_motion="reduce")
    assert page.evaluate("chetaev.playing()") is False
    page.keyboard.press("Space")
    assert page.evaluate("chetaev.playing()") is True
    page.keyboard.press("Space")
    assert page.evaluate("chetaev.playing()") is False
    page.click("[data-chetaev=play]")
    assert page.evaluate("chetaev.playing()") is True
    page.keyboard.press("Space")  # on the button, which has the focus
    assert page.evaluate("chetaev.playing()") is False
    page.evaluate("chetaev.seek(2.5)")
    assert page.evaluate("chetaev.time()") == pytest.approx(2.5)
    page.focus("[data-chetaev-slider=a]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("chetaev.values().a") > 0.35
    before = page.evaluate("chetaev.values().a")
    box = page.locator("[data-chetaev-slider=a]").bounding_box()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.up()
    assert page.evaluate("chetaev.values().a") > before + 0.1
    page.keyboard.press("Space")
    assert page.evaluate("chetaev.playing()") is True
    assert page.text_content("[data-chetaev=energy]").replace("−", "-").strip()
    assert not page.complaints


@needs_chromium
def test_addresses_set_sliders(opened):
    page = opened(sleigh_page(), "#a=0.5&theta%27=1.2&q=3&a=NaN&theta%27=&%E0%A4%A=1&__proto__=1")
    assert page.evaluate("chetaev.values()") == {"a": 0.5, "theta'": 1.2}
    wanted = expected(0.5, 1.2, 1.0)
    assert page.evaluate("chetaev.state(1)")["x"] == pytest.approx(wanted["x"], rel=1e-6)
    assert page.get_attribute("[data-chetaev=link]", "href") == "#a=0.5&theta%27=1.2"
    page.evaluate("location.hash = '#a=0.25'")
    page.wait_for_function("chetaev.values().a === 0.25")
    assert page.get_attribute("[data-chetaev=link]", "href") == "#a=0.25&theta%27=1.2"
    page.evaluate("chetaev.set({a: Infinity, b: 2})")
    assert page.evaluate("chetaev.values().a") == 0.25


@needs_chromium
@pytest.mark.parametrize("options", [{"viewport": {"width": 390, "height": 844}, "has_touch": True}, {"color_scheme": "dark"}])
def test_phones_and_dark_rooms(opened, options):
    page = opened(sleigh_page(), **options)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    read = "Array.from(document.querySelector('[data-chetaev=canvas]').getContext('2d').getImageData(0, 0, 300, 200).data)"
    colours = np.reshape(json.loads(page.evaluate(f"JSON.stringify({read})")), (-1, 4))[:, :3]  # a text: playwright visits every number
    common = tuple(int(v) for v in np.median(colours, axis=0))
    assert ground == f"rgb({', '.join(map(str, common))})"
    assert (sum(common) < 150) == ("color_scheme" in options)


HOSTILE = [
    "</script><script>window.hit = 1; alert(1)</script>",
    '"\'><img src=x onerror="window.hit = 1">',
    "a\u2028window.hit = 1//`${window.hit = 1}`",
    "<!--<script>-->\\u003c/script>&lt;svg/onload=window.hit=1>",
]


@needs_chromium
@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_model_run_nothing(opened, text):
    name = text if "\u2028" not in text else text.replace("\u2028", " ")
    system = ch.System("x Math", "k", lagrangian="(x'^2 + Math'^2)/2 - k*(x^2 + Math^2)/2", name=name)
    plain = text.replace("\u2028", " ")
    scene = ch.plot.Scene([sh.Point("x, Math", label=plain), sh.Label("x, 0", plain)], caption=plain, axes=(plain, plain))
    model = ch.Model(system, ch.Hamilton(), {"k": 2}, {"x": 1, "x'": 0, "Math": 0, "Math'": 0.5}, (0, 3), scene=scene, reference=plain)
    page = opened(ch.animate(ch.simulate(model), sliders={"k": (1, 3), "Math'": (-1, 1)}).page())
    page.evaluate("chetaev.set({k: 2.5})")
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.querySelectorAll('img, svg, script').length") == 1
    assert page.text_content("h1") == name[:1].upper() + name[1:]
    assert page.evaluate("chetaev.state(2)")["x"] == pytest.approx(np.cos(2 * np.sqrt(2.5)), rel=1e-7)
    assert not page.complaints and len(page.requests) == 1


def pendulum(start):
    system = ch.System("x y", "g l", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])
    return ch.simulate(ch.Model(system, ch.DAlembert(), {"g": 9.81, "l": 1.0}, start, (0, 2)))


@needs_chromium
def test_values_that_contradict_the_constraints_are_told(opened):
    motion = pendulum(ch.State({"x": 0.6, "x'": 0}, {"y": -0.8}))
    page = opened(ch.animate(motion, sliders={"l": (0.3, 2)}).page())
    page.evaluate("chetaev.set({l: 0.4})")
    assert "contradicts the constraints" in page.text_content("[data-chetaev=said]")
    assert page.evaluate("chetaev.motion().outcome") is None
    page.evaluate("chetaev.set({l: 1.5})")
    assert page.evaluate("chetaev.motion().outcome") == "finished" and page.text_content("[data-chetaev=said]") == ""
    y = page.evaluate("chetaev.state(0)")["y"]
    assert y == pytest.approx(-np.sqrt(1.5**2 - 0.6**2), rel=1e-12)
    assert not page.complaints


ITEMS = """() => {
  const found = [];
  for (const item of window.shown.items) {
    const arrays = Object.entries(item).filter(([k]) => "xyzalq".includes(k)).map(([k, v]) => [k, Array.from(v)]);
    found.push({...Object.fromEntries(arrays), m: item.mesh});
  }
  return JSON.stringify(found);
}"""
"""The arrays of all items, as one text: playwright would visit every number."""


@needs_chromium
@pytest.mark.parametrize("name", ["trailer", "damped-oscillator", "roller-racer", "foucault", "chaplygin-ball", "rocard"])
def test_pictures_are_those_of_python(opened, name):
    """The arrays that the page makes from its own motion are those that `compose` makes from that of `simulate`."""
    motion = motion_of(name)
    parameter = motion.equations.system.parameters[0].name
    value = float(motion[parameter][0])
    animation = ch.animate(motion, sliders={parameter: sorted((0.5 * value, 2 * value))})
    text = animation.page()
    spied = text.replace("window.chetaev=api;", "window.chetaev=api;window.shown=data;")
    spied = re.sub(r"script-src [^;]*;", "script-src 'unsafe-inline';", spied)
    page = opened(spied, reduced_motion="reduce")
    found = json.loads(page.evaluate(ITEMS))
    n = page.evaluate("window.shown.n")
    drawing = compose(motion, animation.scene, np.linspace(animation.times[0], animation.times[-1], n))
    size = float(np.max(drawing.view.half)) if hasattr(drawing.view, "half") else drawing.view.distance
    assert len(found) == len(drawing.items)
    for item, wanted in zip(found, drawing.items, strict=True):
        for k, axis in enumerate("xyz"[: wanted.place.shape[1]]):
            ends = np.array(item[axis])[[0, -1]]
            assert ends == pytest.approx(wanted.place[[0, -1], k], abs=1e-5 * size)
            if not hasattr(wanted, "finer"):
                assert np.array(item[axis]) == pytest.approx(wanted.place[:, k], abs=1e-5 * size)
        if hasattr(wanted, "angle"):
            assert np.exp(1j * np.array(item["a"])) == pytest.approx(np.exp(1j * wanted.angle), abs=1e-4)
            assert np.broadcast_to(item["l"], wanted.length.shape) == pytest.approx(wanted.length, abs=1e-5 * size)
        if hasattr(wanted, "rotation"):
            turned = np.array([rotation(q) for q in np.array(item["q"]).reshape(-1, 4)])
            assert np.broadcast_to(turned, wanted.rotation.shape) == pytest.approx(wanted.rotation, abs=1e-4)
    solids = [(item["m"], wanted.mesh) for item, wanted in zip(found, drawing.items, strict=True) if hasattr(wanted, "mesh")]
    shapes = json.loads(page.evaluate("JSON.stringify(window.shown.meshes.map(({v, f, c, p}) => ({v, f, p: c.map((k) => p[k])})))"))
    for k, mesh in solids:
        assert np.array(shapes[k]["v"]) == pytest.approx(mesh.vertices.ravel(), abs=3e-4 * np.abs(mesh.vertices).max())
        assert [face if len(face) == 4 else [*face, face[2]] for face in shapes[k]["f"]] == mesh.faces.tolist()
        assert shapes[k]["p"] == list(mesh.paints)
    assert not [text for text in page.complaints if "WebGL" not in text]


def rotation(q):
    x, y, z, w = q
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]


@needs_chromium
def test_sizes_follow_their_sliders(opened):
    """A wheel of radius R on the ground, drawn twice as large, has twice the size."""
    system = ch.System("x phi", "m R v", lagrangian="m*(x'^2 + R^2*phi'^2/2)/2", kinematic=["x' = R*phi'"])
    scene = ch.plot.Scene(
        [
            sh.Ground(height="0"),
            sh.Wheel("x, R", radius="R", angle="-phi"),
            sh.Body("x, R", scale="R/2", outline=["-v, -1", "1, 0", "-1, 1"]),
        ]
    )
    model = ch.Model(system, ch.DAlembert(), {"m": 1, "R": 0.5, "v": 2}, {"x": 0, "phi": 0, "x'": 1}, (0, 2), scene=scene)
    text = ch.animate(ch.simulate(model), sliders={"R": (0.2, 2), "v": (1, 3)}).page()
    text = re.sub(
        r"script-src [^;]*;", "script-src 'unsafe-inline';", text.replace("window.chetaev=api;", "window.chetaev=api;window.shown=data;")
    )
    page = opened(text)
    rim = "Math.max(...window.shown.items[0].strokes[0].p)"
    corner = "window.shown.items[1].strokes[0].p.slice(0, 3)"
    assert page.evaluate(rim) == pytest.approx(0.5, rel=1e-4)
    assert page.evaluate(corner) == pytest.approx([0, -0.5, -0.25], rel=1e-4)
    page.evaluate("chetaev.set({R: 1.5, v: 3})")
    assert page.evaluate(rim) == pytest.approx(1.5, rel=1e-4)
    assert page.evaluate(corner) == pytest.approx([0, -2.25, -0.75], rel=1e-4)
    assert page.evaluate("window.shown.items[0].y[0]") == 1.5
    assert page.evaluate("chetaev.state(2)")["phi"] == pytest.approx(2 / 1.5, rel=1e-9)


def test_the_data_of_a_page_are_json():
    text = sleigh_page()
    found = re.search(r"^(?:const )?DATA\s?=\s?(\{.*\})[;,]$", text, re.MULTILINE)
    assert json.loads(found[1])["sliders"][1]["name"] == "theta'"


def test_notebooks_and_files_have_the_page(tmp_path):
    animation = ch.animate(motion_of("sleigh"), sliders=SLEIGH)
    assert Path(animation.save(tmp_path / "sleigh.html")).read_text(encoding="utf-8") == animation.page()
    [(_, given)] = [entry for entry in Tags(animation.html()).tags if entry[0] == "iframe"]
    assert given["srcdoc"] == animation.page()


@needs_chromium
def test_the_page_inside_a_report_computes(browser, tmp_path):
    """The report holds the page in a frame; neither the report nor the frame's own policy keeps its script from running."""
    motion = motion_of("sleigh")
    path = tmp_path / "report.html"
    ch.report(motion, sliders=SLEIGH).save(path)
    page = browser.new_page()
    complaints, requests = [], []
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.frame_locator("iframe").locator("[data-chetaev-slider=a]").wait_for()
    frame = page.frames[1]
    frame.wait_for_function("window.chetaev && window.chetaev.ready")
    frame.evaluate("""chetaev.set({"a": 0.7, "theta'": -0.8})""")
    wanted = expected(0.7, -0.8, 3.3)
    for name, value in frame.evaluate("chetaev.state(3.3)").items():
        assert value == pytest.approx(wanted[name], rel=1e-6, abs=1e-7)
    assert not complaints and [url for url in requests if not url.startswith("about:")] == [path.as_uri()]
    page.close()
