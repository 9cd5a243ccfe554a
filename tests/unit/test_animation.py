"""Animations: real time, films, gifs and pages that need nothing from outside."""

import json
import re
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.scene import Scene
from chetaev.core.scene import shapes as sh
from chetaev.plot.scenes.drawing import Dot, Solid
from chetaev.plot.scenes.pages import scripts_for

SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - 2*x^2", name="spring & mass"))
FLAT = Scene([sh.Trace("x, 0"), sh.Disk("x, 0", 0.2, "t"), sh.Point("x, 1")])
DEEP = Scene([sh.Ground(0), sh.Trace("x, t, 0"), sh.Ball("x, t, 0.3", 0.3, rotation="y x, z t"), sh.Label("x, t, 1", "ball")])


def moved(span=(0, 2), **options):
    return ch.simulate(SPRING, {"x": 0.5, "x'": 0.0}, span, **options)


@pytest.fixture(scope="module")
def motion():
    return moved()


def test_real_time_by_default(motion):
    animation = ch.animate(motion, FLAT)
    assert (animation.seconds, animation.speed, animation.clock) == (2.0, 1.0, "")
    assert animation.times == pytest.approx(np.linspace(0, 2, 61))
    assert str(animation) == "animation of spring & mass: t = 0 to 2 in 2 s, 61 pictures"


def test_time_is_stretched_on_request_and_within_limits(motion):
    assert ch.animate(motion, FLAT, seconds=8).clock == "  (0.25×)"
    assert len(ch.animate(motion, FLAT, seconds=8, fps=10).times) == 81
    short = ch.animate(moved((0, 0.1)), FLAT)
    assert (short.seconds, short.clock) == (1.0, "  (0.1×)")
    long = ch.animate(moved((0, 300)), FLAT)
    assert (long.seconds, long.clock, len(long.times)) == (60.0, "  (5×)", 1800)


def test_motions_backwards_in_time():
    animation = ch.animate(moved((0, -2)), FLAT)
    assert animation.times == pytest.approx(np.linspace(0, -2, 61))
    (dot,) = [item for item in animation.drawing.items if isinstance(item, Dot)]
    assert dot.place[:, 0] == pytest.approx(0.5 * np.cos(2 * animation.times), abs=1e-6)
    animation.frame(-1.5).canvas.draw()


def test_a_motion_that_ended_early_is_shown_to_its_end():
    motion = moved((0, 20), events=[ch.On("x", terminal=True)])
    animation = ch.animate(motion)
    assert animation.times[-1] == pytest.approx(np.pi / 4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: ch.animate(ch.gallery("rocard")), "takes a motion, not Model"),
        (lambda m: ch.animate(m, "scene"), "str is not a scene"),
        (lambda m: ch.animate(m, seconds=0), "seconds = 0 is not a positive number"),
        (lambda m: ch.animate(m, fps=float("inf")), "fps = inf"),
        (lambda m: ch.animate(m, FLAT).frame(2.5), "t = 2.5 lies outside the motion"),
        (lambda m: ch.animate(m, FLAT).save("film.avi"), "an animation cannot be written to .avi"),
        (lambda m: ch.animate(moved(keep="final"), FLAT), "a single stored state"),
    ],
)
def test_mistakes_are_explained(motion, call, said):
    with pytest.raises(ch.UsageError, match=re.escape(said)):
        call(motion)


def test_a_frame_is_a_figure_with_its_time(motion):
    figure = ch.animate(motion, FLAT).frame(1.0)
    assert "t = 1.00" in [text.get_text() for text in figure.texts]
    assert "Spring & mass" in [text.get_text() for text in figure.texts]
    assert ch.animate(motion, FLAT).frame().texts[-1].get_text() == "t = 2.00"


def test_films_have_all_pictures_and_even_sizes(motion, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    for scene, name in ((FLAT, "flat.mp4"), (DEEP, "deep.mp4")):
        path = ch.animate(motion, scene, fps=4).save(tmp_path / name, width=321)
        said = subprocess.run(  # noqa: S603 - a program of ours
            [ffmpeg, "-i", str(path), "-f", "null", "-"], capture_output=True, text=True, check=True
        ).stderr
        wide, tall = map(int, re.search(r"h264.* (\d+)x(\d+)", said).groups())
        assert (wide, wide % 2, tall % 2) == (320, 0, 0)
        assert float(re.search(r"Duration: 00:00:([\d.]+)", said)[1]) == pytest.approx(2.25, abs=0.02)
        assert re.findall(r"frame= *(\d+)", said)[-1] == "9"


def test_gifs_run_in_real_time(motion, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = ch.animate(motion, FLAT).save(tmp_path / "x.gif", width=200)
    with image.open(path) as gif:
        assert gif.size[0] == 200
        lasts = 0.0
        for k in range(gif.n_frames):
            gif.seek(k)
            lasts += gif.info["duration"] / 1000
    assert lasts == pytest.approx(2, rel=0.05)


def test_pictures_are_saved_as_wide_as_asked(motion, tmp_path):
    image = pytest.importorskip("PIL.Image")
    with image.open(ch.animate(motion, FLAT).save(tmp_path / "x.png", width=500)) as picture:
        assert picture.size[0] == 500
    assert (ch.animate(motion, DEEP).save(tmp_path / "x.svg")).read_text().startswith("<?xml")


def test_several_motions_share_a_picture(motion):
    other = ch.simulate(SPRING, {"x": -0.2, "x'": 1.0}, (0.5, 1.5))
    animation = ch.animate({"first": motion, "second": other}, FLAT)
    assert animation.times[[0, -1]] == pytest.approx([0.5, 1.5])  # as long as both last
    one, two = [item for item in animation.drawing.items if isinstance(item, Dot)]
    t = animation.times
    assert one.place[:, 0] == pytest.approx(0.5 * np.cos(2 * t), abs=1e-7)
    assert two.place[:, 0] == pytest.approx(-0.2 * np.cos(2 * t - 1) + 0.5 * np.sin(2 * t - 1), abs=1e-7)
    assert one.fill != two.fill
    assert animation.drawing.legend == (("first", one.fill), ("second", two.fill))
    assert {"\u25cf first", "\u25cf second"} <= {text.get_text() for text in animation.frame(1.0).texts}
    assert data_of(animation.html())["legend"] == [["first", one.fill], ["second", two.fill]]
    assert str(animation).startswith("animation of spring & mass (first, second): t = 0.5 to 1.5")
    assert len(ch.animate({"first": motion, "second": other}, DEEP).drawing.items) == 6


def test_a_comparison_of_principles_is_shown_with_their_names():
    disk = ch.gallery("disk")
    principles = [ch.DAlembert(), ch.Vakonomic()]
    animation = ch.animate({principle: ch.simulate(disk.under(principle), t=(0, 1)) for principle in principles}, fps=5)
    assert [name for name, _ in animation.drawing.legend] == ["DAlembert()", "Vakonomic()"]
    comparison = ch.compare(disk, principles, t=(0, 1))
    assert list(ch.animate(comparison).motions) == ["DAlembert()", "Vakonomic()"]


def test_motions_that_do_not_overlap_are_refused(motion):
    with pytest.raises(ch.UsageError, match="no interval of time in common"):
        ch.animate({"a": motion, "b": moved((5, 6))}, FLAT)
    with pytest.raises(ch.UsageError, match="no interval of time in common"):
        ch.animate({"a": motion, "b": moved((2, 0))}, FLAT)
    with pytest.raises(ch.UsageError, match="shows a single motion"):
        ch.animate({"a": motion, "b": motion})


# pages


class Page(HTMLParser):
    """Tags in balance, with their attributes and the scripts between them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.scripts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)

    @property
    def ids(self):
        return [given["id"] for _, given in self.tags if "id" in given]


def data_of(text):
    """What the page says about the drawing."""
    found = re.search(r'\.push\(\["chetaev-[0-9a-f]{8}-\d+", (\{.*\})\]\);</script>', text)
    return json.loads(found[1])


@pytest.mark.parametrize("scene", [FLAT, DEEP])
def test_a_page_parses_and_fetches_nothing(motion, scene, tmp_path):
    path = ch.animate(motion, scene).save(tmp_path / "x.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    for tag, given in page.tags:
        assert not {"src", "href", "srcset", "data", "action"} & set(given), tag
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) <= {"http://www.w3.org/1999/xhtml"}  # a name, not an address
    assert not re.search(r"@import|url\(|importScripts|\bimport\(|new Worker", text)
    assert "<title>spring &amp; mass</title>" in text
    assert len(text) < 1_500_000


def test_numbers_in_a_page_are_those_of_the_motion(motion):
    animation = ch.animate(motion, FLAT)
    data = data_of(animation.html())
    (dot,) = [item for item in data["items"] if item["kind"] == "dot"]
    assert dot["x"] == pytest.approx(0.5 * np.cos(2 * animation.times), abs=2e-5)
    assert dot["y"] == [1]  # what stands still is said once
    assert (data["t"], data["n"], data["seconds"], data["digits"]) == ([0.0, 2.0], 61, 2.0, 2)
    assert data["title"] == "Spring & mass"


def test_long_motions_keep_pages_small():
    long = ch.animate(moved((0, 300)), DEEP)
    data = data_of(long.html())
    assert (len(long.times), data["n"]) == (1800, 900)
    (solid,) = [item for item in data["items"] if item["kind"] == "solid"]
    assert solid["x"] == pytest.approx(0.5 * np.cos(2 * np.linspace(0, 300, 900)), abs=5e-3)
    assert len(long.page()) < 1_500_000


def test_rotations_in_a_page_are_unit_quaternions(motion):
    animation = ch.animate(motion, DEEP)
    data = data_of(animation.html())
    (solid,) = [item for item in data["items"] if item["kind"] == "solid"]
    q = np.array(solid["q"]).reshape(-1, 4)
    assert np.linalg.norm(q, axis=1) == pytest.approx(np.ones(61), abs=1e-4)
    (item,) = [item for item in animation.drawing.items if isinstance(item, Solid)]
    x, y, z, w = q.T  # the body's third axis in the picture
    third = np.column_stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    assert third == pytest.approx(item.rotation[:, :, 2], abs=1e-4)


def test_several_animations_share_a_page(motion):
    flat, deep = ch.animate(motion, FLAT), ch.animate(motion, DEEP)
    parts = [scripts_for(True), flat.html(library=False), deep.html(library=False), deep.html(library=False)]
    page = Page("<html><body>" + "\n".join(parts) + "</body></html>")
    assert len(set(page.ids)) == len(page.ids) == 3
    text = "".join(parts)
    assert text.count("three.js 0.187") == 1
    assert "three.js 0.187" in deep.html()
    assert "three.js 0.187" not in flat.html()


def test_text_in_a_page_cannot_end_its_script(motion):
    scene = Scene([sh.Point("x, 0"), sh.Label("x, 0", "</script><script>alert(1)")])
    text = ch.animate(motion, scene).html()
    assert "</script><script>alert" not in text
    assert any(item.get("text", "").startswith("</script>") for item in data_of(text)["items"])


def test_notebooks_get_a_page_in_a_frame(motion):
    text = ch.animate(motion, FLAT)._repr_html_()
    page = Page(text)
    ((tag, given),) = page.tags
    assert tag == "iframe"
    assert Page(given["srcdoc"]).ids


def test_globals_of_the_scripts_begin_with_the_name_of_the_library():
    text = scripts_for(False)
    assert set(re.findall(r"window\.(\w+)\s*=[^=]", text)) == {"chetaevAnimations"}
    assert re.match(
        r"<script>if \(!window\.chetaevThree\) \{\s*/\* three\.js 0\.187\.0[^*]*MIT[^*]*\*/\s*(\"use strict\";)?var chetaevThree=",
        scripts_for(True),
    )


def test_a_film_that_cannot_be_written_is_explained(motion, tmp_path):
    (tmp_path / "taken.mp4").mkdir()
    with pytest.raises(ch.UsageError, match="the file cannot be written: Is a directory"):
        ch.animate(motion, FLAT, fps=2).save(tmp_path / "taken.mp4", width=200)
    with pytest.raises(ch.UsageError, match="there is no folder"):
        ch.animate(motion, FLAT).save(tmp_path / "nowhere" / "x.html")
