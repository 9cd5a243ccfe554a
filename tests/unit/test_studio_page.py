"""The page of the studio in a browser: typing, errors, sliders, branches, comparison, files, phone width, keys and labels."""

import json
import os
import re
import threading
from dataclasses import replace

import pytest

import chetaev as ch
from browsing import PATIENCE, needs_chromium
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.studio.notebook import answered, script
from chetaev.studio.page import example
from chetaev.studio.page import page as studio_page
from chetaev.studio.server import Studio
from studio_models import CAWLEY

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the studio needs a system that can fork processes"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Studio(tmp_path_factory.mktemp("studio"), seconds=PATIENCE / 1000)
    (made.folder.root / "cawley.toml").write_text(CAWLEY)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.close()


@pytest.fixture
def opened(browser, server):
    """Opens the studio, and returns its page with the complaints of its console."""
    contexts = []

    def open_page(text=None, **options):
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(server.address)
        page.locator("#equations math").first.wait_for()
        if text is not None:
            page.fill("#model", text)
        return page

    yield open_page
    for context in contexts:
        context.close()


def waits(page, selector, text):
    """Wait for a text, a regular expression, in an element."""
    page.locator(selector).filter(has_text=re.compile(text)).first.wait_for()


def until(page, holds):
    """Wait until a condition holds; the policy of the page forbids conditions that it evaluates itself."""
    for _ in range(PATIENCE // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("the condition did not come to hold")


def frame_of(page):
    """The frame of the motion, when it has loaded the page of the present text and has run its script."""
    page.locator("#motion:not([hidden]):not([aria-busy])").wait_for()
    return page.frame_locator("#motion")


def test_equations_follow_the_keys(opened):
    page = opened()
    wanted = ch.derive(loads(example()))
    assert page.locator("#equations .label").all_text_contents() == list(wanted.labels)
    assert page.locator("#equations math").first.get_attribute("aria-label") == wanted.row_text(wanted.rows[0])
    page.focus("#model")
    at = example().index("m*g*sin(alpha)*x")
    page.evaluate("(at) => document.getElementById('model').setSelectionRange(at, at)", at)
    page.keyboard.type("k*x^2 + ")
    until(page, lambda: page.locator("#backdrop mark").all_text_contents() == ["k"])  # answers to unfinished words may come before
    assert page.get_attribute("#model", "aria-invalid") == "true"
    selected = "(() => { const m = document.getElementById('model'); return m.value.slice(m.selectionStart, m.selectionEnd); })()"
    page.click("#errors .place")
    assert page.evaluate(selected) == "k"
    page.keyboard.type("g")
    page.locator("#errors .error").wait_for(state="detached")
    waits(page, "#equations", "g")
    assert page.locator("#equations math").first.get_attribute("aria-label").count("g") == 2
    assert page.locator("#backdrop mark").count() == 0 and page.get_attribute("#model", "aria-invalid") == "false"
    waits(page, "#kinds", "not integrable")
    assert not page.complaints


def test_a_fix_is_applied_by_a_button(opened):
    page = opened(example().replace("x'*sin(theta)", "x'*sin(thta)"))
    assert page.locator("#backdrop mark").text_content() == "thta"
    page.get_by_role("button", name="replace by theta").click()
    page.locator("#errors .error").wait_for(state="detached")
    assert page.input_value("#model") == example()
    page.select_option("#principle", "hamilton")
    page.get_by_role("button", name="use vakonomic").click()
    waits(page, "#equations", "λ")
    assert page.input_value("#principle") == "vakonomic"


SPRING = """name = "spring"
lagrangian = "m*x'^2/2 - x^2/2"
[coordinates]
x = "line"
[parameters]
m = 2.0
[principle]
name = "hamilton"
[initial]
fixed = ["x = 0", "x' = 1"]
[simulate]
t = [0, 5]
"""
WRITTEN = 'fixed = ["x = 0", "x\' = 1"]'
BEGUN = {
    "an empty table": ("", 'fixed = ["x = 0", "x\' = 1"]\n'),
    "a guess alone": ('guess = ["x = 2"]\n', 'fixed = ["x\' = 1"]\nguess = ["x = 2"]\n'),
    "an empty list": ("fixed = []\n", 'fixed = ["x = 0", "x\' = 1"]\n'),
}


@pytest.mark.parametrize("case", BEGUN)
def test_initial_values_are_written_into_the_table_that_exists(opened, case):
    before, after = BEGUN[case]
    page = opened(SPRING.replace(WRITTEN + "\n", before))
    page.get_by_role("button", name="write initial values to change").first.click()
    until(page, lambda: page.input_value("#model") == SPRING.replace(WRITTEN + "\n", after))
    page.locator("#errors .error").wait_for(state="detached")


def test_a_principle_is_written_into_the_table_that_exists(opened):
    page = opened(SPRING.replace('name = "hamilton"\n', ""))
    page.get_by_role("button", name="use hamilton").or_(page.get_by_role("button", name="use dalembert")).first.click()
    page.locator("#errors .error").wait_for(state="detached")
    assert page.input_value("#model").count("[principle]\nname = ") == 1
    loads(page.input_value("#model"))


@pytest.mark.parametrize(
    ("wrong", "right", "marked"),
    [
        ('name = "hamilten"', 'name = "hamilton"', "hamilten"),
        ('x = "lin"', 'x = "line"', "lin"),
        ("[initials]", "[initial]", "initials"),
        ("m*xdot^2/2", "m*x'^2/2", "xdot"),
    ],
)
def test_a_misspelled_word_is_marked_and_replaced(opened, wrong, right, marked):
    page = opened(SPRING.replace(right, wrong))
    until(page, lambda: page.locator("#backdrop mark").all_text_contents() == [marked])
    page.get_by_role("button", name="replace by").click()
    page.locator("#errors .error").wait_for(state="detached")
    assert page.input_value("#model") == SPRING


DISK = """name = "my disk"
lagrangian = "m/2*(x'^2 + y'^2) + I/2*theta'^2 + K/2*phi'^2"

[coordinates]
x = "line"
y = "line"
theta = "angle"
phi = "angle"

[constraints]
kinematic = ["x' = R*theta'*cos(phi)", "y' = R*theta'*sin(phi)"]
"""


def test_a_newcomer_gets_from_energy_and_rolling_to_a_motion_by_buttons_alone(opened):
    page = opened(DISK)
    for name in "mIKR":
        page.get_by_role("button", name=f"declare {name} as a parameter").click()
    page.get_by_role("button", name="use dalembert").click()
    page.get_by_role("button", name="write initial values to change").click()
    frame_of(page).locator("[data-chetaev-slider='R']").wait_for()
    found = loads(page.input_value("#model"))
    assert found.principle == ch.DAlembert() and found.parameters == dict.fromkeys("mIKR", 1.0)
    assert dict(found.start.fixed) == {"x": 0, "y": 0, "theta": 0, "phi": 0, "x'": 1, "phi'": 1}
    assert not page.complaints


@pytest.mark.parametrize("table", [True, False])
def test_an_unknown_name_becomes_a_parameter_by_a_button(opened, table):
    """From an energy with a new letter to its motion, without reading anything; also where there is no table of parameters yet."""
    text = example().replace("m*g*sin(alpha)*x", "m*g*sin(alpha)*x - stiffness*y^2/2")
    if not table:
        text = re.sub(r"\[parameters\][^[]*", "", text).replace("m*g*sin(alpha)*x - ", "-").replace("m/2", "1/2").replace("J/2", "1/2")
    page = opened(text)
    page.locator("#errors .quoted").filter(has_text="stiffness").wait_for()
    page.get_by_role("button", name="declare stiffness as a parameter").click()
    frame_of(page).locator("[data-chetaev-slider='stiffness']").wait_for()
    found = loads(page.input_value("#model"))
    assert found.parameters["stiffness"] == 1 and found.start == loads(example()).start
    assert found.parameters == ({**loads(example()).parameters, "stiffness": 1} if table else {"stiffness": 1})
    assert not page.complaints


def test_the_motion_moves_with_its_sliders(opened):
    page = opened()
    inner = frame_of(page)
    frame = next(each for each in page.frames if "/shown/" in each.url)
    slider = inner.locator("[data-chetaev-slider='alpha']")
    before = frame.evaluate("chetaev.state(2)")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    waits(page, "#moved-values", "alpha = 0.2135")
    value, after = frame.evaluate("chetaev.values().alpha"), frame.evaluate("chetaev.state(2)")
    assert value > 0.2 and after["y"] != before["y"]
    wanted = ch.simulate(loads(example()), parameters={"alpha": value}, tolerance=1e-11).at(2.0)
    assert after["y"] == pytest.approx(wanted["y"], rel=1e-6)
    assert frame.evaluate("(() => { try { return String(parent.document); } catch (e) { return e.name; } })()") == "SecurityError"
    page.locator("#adopt:enabled").press("Enter")
    found = loads(page.input_value("#model"))
    assert found.parameters["alpha"] == pytest.approx(value, rel=1e-5) and found.system == loads(example()).system
    until(page, lambda: page.locator("#adopt").is_disabled())  # a new page of the motion begins with these values
    assert not page.complaints


ENDLESS = dumps(replace(ch.gallery("double-pendulum"), t=(0, 1e9), max_steps=10**12, keep="final"))
"""A model whose motion does not end on any machine."""


def test_a_keystroke_ends_what_takes_long(opened, server):
    page = opened(ENDLESS)
    waits(page, "#motion-note", "computing")
    until(page, lambda: any(job.serial for jobs in server.jobs._running.values() for job in jobs))
    page.fill("#model", example())
    frame_of(page)
    until(page, lambda: not server.jobs._running)  # nothing of the endless motion is left
    assert page.locator("#equations .label").all_text_contents() == list(ch.derive(loads(example())).labels)
    assert page.locator("#errors .error").count() == 0 and not page.complaints


def test_values_of_sliders_are_put_into_the_text(opened):
    """A start in quotes with a prime, a parameter with a kind, and a parameter whose name begins another's."""
    text = example().replace("m = 1.0", 'm = {kind = "positive", value = 1.0}\nmu = 3').replace("J/2", "mu*J/6")
    page = opened(text)
    inner = frame_of(page)
    for name in ("m", "theta'"):
        inner.locator(f'[data-chetaev-slider="{name}"]').focus()
        page.keyboard.press("ArrowRight")
        waits(page, "#moved-values", f"{name} = ")
    page.locator("#adopt:enabled").press("Enter")
    found = loads(page.input_value("#model"))
    assert found.parameters["m"] > 1 and found.parameters["mu"] == 3 and found.start.fixed["theta'"] > 2
    assert found.start.fixed["theta"] == 0.3 and found.system == loads(text).system


def test_branches_are_chosen(opened):
    page = opened()
    page.select_option("#files", "cawley.toml")
    waits(page, "#motion-note", "No motion yet")
    page.click("#tab-analysis")
    waits(page, "#analysis .verdict", "BRANCHING")
    page.get_by_role("radio", name=re.compile("branch 0")).click()  # the list is written anew soon after
    page.click("#tab-motion")
    frame_of(page)
    page.click("#tab-analysis")
    page.get_by_role("radio", name=re.compile("branch 0"), checked=True).wait_for()
    assert page.input_value("#file") == "cawley.toml"


def test_principles_stand_side_by_side(opened):
    page = opened()
    page.click("#tab-compare")
    page.locator(".curves canvas").first.wait_for()
    assert page.locator(".side").count() == 2 and page.locator(".side math").count() == 8
    waits(page, "#compare .report", "differ")
    assert page.locator("#extra input").input_value() == "0"
    page.get_by_role("checkbox", name="Chetaev").check()
    page.locator(".side").nth(2).wait_for()
    assert not page.complaints


def test_models_are_saved_and_opened(opened, server):
    page = opened()
    page.select_option("#gallery", "heisenberg")
    until(page, lambda: page.input_value("#file") == "heisenberg.toml")
    page.fill("#file", "mine")
    page.focus("#model")
    page.keyboard.press("Control+s")
    waits(page, "#status", "saved mine.toml")
    page.select_option("#principle", "vakonomic")
    waits(page, "#equations", "λ|lambda")
    waits(page, "#reading", "ms")
    assert page.inner_text("#status") == "saved mine.toml"  # answers about the text do not wipe it out
    assert loads((server.folder.root / "mine.toml").read_text()) == loads(page.input_value("#model"))
    assert page.input_value("#file") == "mine.toml"
    page.locator("#files option[value='mine.toml']").wait_for(state="attached")
    page.fill("#file", "../escape.toml")
    page.get_by_role("button", name="Save").click()
    waits(page, "#status", "not saved")
    assert not (server.folder.root.parent / "escape.toml").exists()


def test_a_parameter_is_swept(opened):
    """The quantity grows with the slope, so that its ends are those of the two outermost motions."""
    page = opened()
    page.click("#tab-sweep")
    waits(page, "#sweep-note", "61 motions: 61 finished; x from")
    assert page.input_value("#sweep-name") == "alpha"
    page.select_option("#sweep-name", "theta'")
    waits(page, "#sweep figcaption", "x at the end over theta'")
    page.select_option("#sweep-name", "alpha")
    page.fill("#sweep-low", "0.1")
    page.fill("#sweep-high", "0.4")
    page.fill("#sweep-measure", "x + y^2")
    page.keyboard.press("Tab")
    waits(page, "#sweep figcaption", r"x \+ y\^2 at the end over alpha")
    ends = [ch.simulate(loads(example()), parameters={"alpha": alpha}).final["x + y^2"] for alpha in (0.1, 0.4)]
    found = re.findall(r"-?\d+\.?\d*", page.inner_text("#sweep-note").split("from", 1)[1])
    assert sorted(map(float, found)) == pytest.approx(sorted(ends), rel=1e-5)
    page.fill("#sweep-measure", "x + ")
    page.keyboard.press("Tab")
    page.locator("#sweep .error").wait_for()
    page.fill("#sweep-low", "9")
    page.keyboard.press("Tab")
    waits(page, "#sweep-note", "from a smaller to a larger")
    assert not page.complaints


def test_code_and_exports(opened):
    page = opened()
    page.click("#tab-code")
    page.select_option("#language", "javascript")
    waits(page, "#code", "export function simulate")
    with page.expect_download() as caught:
        page.select_option("#export", "page")
    text = caught.value.path().read_text()
    assert caught.value.suggested_filename == "model-motion.html" and "data-chetaev-slider" in text
    with page.expect_download() as caught:
        page.select_option("#export", "film")
    content = caught.value.path().read_bytes()
    assert caught.value.suggested_filename == "model.gif" and content[:6] == b"GIF89a" and len(content) > 10_000
    waits(page, "#status", "written")


@pytest.mark.parametrize("options", [{"viewport": {"width": 390, "height": 844}, "has_touch": True}, {"color_scheme": "dark"}])
def test_phones_and_dark_rooms(opened, options):
    page = opened(**options)
    inner = frame_of(page)
    for name in ("analysis", "compare", "sweep", "code", "motion"):
        page.click(f"#tab-{name}")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    red, green, blue = map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor")))
    assert (red + green + blue < 150) == ("color_scheme" in options)
    assert inner.locator("[data-chetaev-slider]").count() >= 4
    frame = next(each for each in page.frames if "/shown/" in each.url)
    needed = "document.body.offsetHeight"  # nothing scrolls inside the frame
    until(page, lambda: page.locator("#motion").bounding_box()["height"] >= frame.evaluate(needed) > 780)
    shown = "getComputedStyle(document.getElementById('backdrop')).fontSize === getComputedStyle(document.getElementById('model')).fontSize"
    assert page.evaluate(shown)


def test_everything_has_a_name_and_can_be_reached_by_keys(opened):
    page = opened()
    nameless = page.evaluate("""() => [...document.querySelectorAll("button, select, input, textarea, iframe, canvas")]
      .filter((e) => !(e.getAttribute("aria-label") || e.title || e.textContent.trim() || (e.labels && e.labels.length)))
      .map((e) => e.outerHTML)""")
    assert nameless == []
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20)"))
    assert seen[:6] == ["to the model", "gallery", "files", "file", "Save", "export"] and "model" in seen
    assert seen.index("model") < seen.index("principle") < seen.index("tab-motion")
    page.focus("#tab-motion")
    for name in ("analysis", "compare", "sweep", "code", "motion"):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{name}" and page.get_attribute(f"#tab-{name}", "aria-selected") == "true"
        assert page.locator("[role=tabpanel]:visible").count() == 1


@pytest.mark.parametrize(
    "text", ["</script><script>window.hit = 1</script>", '"><img src=x onerror=window.hit=1>', "<svg/onload=window.hit=1>"]
)
def test_texts_of_a_model_run_nothing(opened, text):
    written = text.replace('"', '\\"')
    page = opened(example().replace("Skate on a slope", written).replace('"line"', f'"{written}"', 1))
    page.locator("#errors .error").wait_for()
    page.fill("#model", example().replace("Skate on a slope", written))
    page.locator("#errors .error").wait_for(state="detached")
    frame_of(page)
    page.click("#tab-compare")
    page.locator(".curves canvas").first.wait_for()
    assert page.evaluate("window.hit") is None and page.locator("img, svg").count() == 0
    assert all("/shown/" in each.url or each.evaluate("window.hit") is None for each in page.frames)
    assert all(address.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:")) for address in page.asked) and not page.complaints


def test_a_stopped_studio_says_so(browser, tmp_path):
    made = Studio(tmp_path)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(made.address)
    page.locator("#equations math").first.wait_for()
    made.shutdown()
    made.close()
    page.fill("#model", example() + "\n")
    waits(page, "#errors", "does not answer")
    context.close()


WIDGET = """
const handlers = [];
const model = {
  get: (name) => window.given[name],
  send: (content) => window.asked(JSON.stringify(content)).then((told) => handlers.forEach((handler) => handler(JSON.parse(told)))),
  on: (kind, handler) => { if (kind === "msg:custom") handlers.push(handler); },
  off: () => {},
};
"""
"""The part of a notebook: a model with messages, which here go to a function of the test."""


def test_the_widget_asks_through_the_messages_of_a_notebook(browser, server, tmp_path):
    """The same page without any request over HTTP: equations, an error under its characters, motion, sweep and export."""
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints, requests = [], []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: requests.append(request.url))
    page.expose_function("asked", lambda content: json.dumps(answered(server.dispatcher, json.loads(content))))
    given = json.dumps({"page": studio_page()[0]}).replace("<", "\\u003c")
    module = script().replace("export default { render };", "render({ model, el: document.body });")
    path = tmp_path / "notebook.html"
    path.write_text(f"<meta charset='utf-8'><body><script>window.given = {given};</script><script type='module'>{WIDGET}{module}</script>")
    page.goto(path.as_uri())
    inner = page.frame_locator("iframe")
    wanted = ch.derive(loads(example()))
    inner.locator("#equations math").first.wait_for()
    assert inner.locator("#equations .label").all_text_contents() == list(wanted.labels)
    moving = inner.frame_locator("#motion")
    moving.locator("[data-chetaev-slider='alpha']").focus()
    page.keyboard.press("ArrowRight")
    inner.locator("#moved-values").filter(has_text=re.compile("alpha = ")).wait_for()
    inner.locator("#tab-sweep").click()
    inner.locator("#sweep-note").filter(has_text="61 finished").wait_for()
    with page.expect_download() as caught:
        inner.locator("#export").select_option("page")
    assert "data-chetaev-slider" in caught.value.path().read_text()
    inner.locator("#model").fill(example().replace("x'*sin(theta)", "x'*sin(thta)"))
    inner.locator("#errors .error").wait_for()
    assert inner.locator("#backdrop mark").text_content() == "thta"
    assert all(address.startswith(("file:", "about:", "blob:")) for address in requests) and not complaints
    assert answered(server.dispatcher, {"id": 1, "method": "POST", "path": "open", "body": {"file": "../x.toml"}})["answer"]["ok"] is False
    assert answered(server.dispatcher, "nonsense")["answer"]["errors"][0]["kind"] == "Malformed"
    context.close()
