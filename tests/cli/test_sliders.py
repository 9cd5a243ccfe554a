"""`--slider` of animate and report, with a model file of one's own: the page has the sliders, and mistakes are explained."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import chetaev as ch

MODEL = """name = "my sledge"
lagrangian = "m*(x'^2 + y'^2)/2 + a*theta'^2/2"
[coordinates]
x = "line"
y = "line"
theta = "angle"
[parameters]
m = 1.0
a = 0.5
[constraints]
kinematic = ["y'*cos(theta) - x'*sin(theta) = 0"]
[principle]
name = "dalembert"
[initial]
fixed = ["x = 0", "y = 0", "theta = 0.3", "x' = 0.8", "theta' = 1.1"]
[simulate]
t = [0.0, 2.0]
"""


class Sliders(HTMLParser):
    """The ranges of the sliders of a page, and the pages in its frames."""

    def __init__(self, text):
        super().__init__()
        self.ranges, self.frames = {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "data-chetaev-slider" in given:
            self.ranges[given["data-chetaev-slider"]] = tuple(float(given[key]) for key in ("min", "value", "max"))
        if tag == "iframe":
            self.frames.append(given["srcdoc"])


RANGES = {"a": (0.1, 0.5, 1.0), "theta'": (-1.0, 1.1, 2.0)}
GIVEN = '--slider a=0.1:1 --slider "theta\' = -1 : 2"'


def python_page():
    return ch.animate(ch.simulate(ch.load("my.toml")), sliders={"a": (0.1, 1), "theta'": (-1, 2)}).page()


def test_animate_writes_the_page_with_its_sliders(chetaev):
    Path("my.toml").write_text(MODEL, encoding="utf-8")
    told = chetaev(f"animate my.toml {GIVEN}")
    assert (told.exit_code, told.stderr) == (0, "wrote my-motion.html\n")
    text = Path("my-motion.html").read_text(encoding="utf-8")
    assert Sliders(text).ranges == RANGES
    assert text == python_page()


def test_report_holds_the_same_page_in_a_frame(chetaev):
    Path("my.toml").write_text(MODEL, encoding="utf-8")
    told = chetaev(f"report my.toml {GIVEN} -o my.html")
    assert told.exit_code == 0, told.stderr
    [frame] = Sliders(Path("my.html").read_text(encoding="utf-8")).frames
    assert Sliders(frame).ranges == RANGES
    assert frame == python_page()


@pytest.mark.parametrize("verb", ["animate", "report"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--slider a", "'a' is not a slider."),
        ("--slider a=1", "'a=1' is not a slider."),
        ("--slider a=:1", "'a=:1' is not a slider."),
        ("--slider a=0:1 --slider a=1:2", "a has two sliders."),
        ("--slider q=0:1", "q is neither a parameter nor in the state"),
        ("--slider a=1:0.5", "is not a range"),
        ("--slider a=x:2", "a needs a number, such as"),
        ('--slider "y\'=0:1"', "cannot be moved"),
        ("--slider a=0.1:1 -o my.mp4", "my.mp4"),
    ],
)
def test_mistakes_write_no_page(chetaev, verb, words, said):
    Path("my.toml").write_text(MODEL, encoding="utf-8")
    told = chetaev(f"{verb} my.toml {words}")
    assert told.exit_code == 2 and said in told.stderr and "-> " in told.stderr, told.stderr
    assert [path.name for path in Path().iterdir()] == ["my.toml"]
