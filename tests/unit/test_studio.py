"""The studio through its interface: who may ask, what is answered, where errors lie, and that nothing outlives it or runs in it."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.errors import UsageError
from chetaev.io.reading import loads
from chetaev.io.spans import span_of
from chetaev.io.writing import dumps
from chetaev.studio.answers import answer
from chetaev.studio.folder import Folder, OutsideError
from chetaev.studio.notebook import Window
from chetaev.studio.page import example, page
from chetaev.studio.server import Studio
from studio_models import CAWLEY

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the studio needs a system that can fork processes")

PATIENCE = 60
"""Seconds for an answer on a busy machine; no test here is a test of speed."""
SLEIGH = dumps(ch.gallery("sleigh"))


class Client:
    """Asks a server."""

    def __init__(self, server):
        self.server, self.port, self.token = server, server.server_address[1], server.token

    def send(self, method, path, body=None, headers=None, token=True):
        """The status and the answer."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * PATIENCE)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"X-Chetaev-Token": self.token} if token else {}
        line.request(method, path, content, {**given, **(headers or {})})
        answer = line.getresponse()
        raw = answer.read()
        line.close()
        assert b"Traceback" not in raw and b'File "' not in raw
        return answer.status, raw if not answer.headers["Content-Type"].startswith("application/json") else json.loads(raw)

    def get(self, path):
        status, found = self.send("GET", path)
        assert status == 200 and found["ok"], found
        return found

    def ask(self, verb, text=SLEIGH, **more):
        status, found = self.send("POST", f"/api/{verb}", {"text": text, **more})
        assert status == 200, found
        return found

    def fault(self, verb, text, **more):
        found = self.ask(verb, text, **more)
        assert found["ok"] is False
        [error] = found["errors"]
        assert {"kind", "message", "line", "column", "length", "fixes"} <= set(error)
        return error


@contextmanager
def running(folder, **options):
    server = Studio(folder, **options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield Client(server)
    finally:
        server.shutdown()
        server.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    (folder / "sleigh.toml").write_text(SLEIGH)
    (folder.parent / "outside.toml").write_text("secret = 1\n")
    (folder / "link.toml").symlink_to(folder.parent / "outside.toml")
    (folder / "inner").mkdir()
    (folder / "inner" / "own.toml").symlink_to(folder / "sleigh.toml")
    (folder / "way").symlink_to(folder.parent)
    with running(folder, seconds=PATIENCE) as client:
        yield client


# ---- answers ----


def test_equations_are_those_of_derive(studio):
    found = studio.ask("derive")
    equations = ch.derive(ch.gallery("sleigh"))
    assert [row["label"] for row in found["rows"]] == list(equations.labels)
    assert [row["text"] for row in found["rows"]] == [equations.row_text(row) for row in equations.rows]
    assert [row["mathml"] for row in found["rows"]] == list(equations.mathml().values())
    assert found["unknowns"] == ["x", "y", "theta", "lambda1"]


def test_another_principle_gives_other_equations(studio):
    own, other = (studio.ask("derive", principle=word) for word in ("dalembert", "vakonomic"))
    assert own["rows"] != other["rows"] and other["principle"] == "Vakonomic()"
    wanted = ch.derive(ch.gallery("sleigh").system, ch.Vakonomic())
    assert [row["text"] for row in other["rows"]] == [wanted.row_text(row) for row in wanted.rows]


def test_verdicts(studio):
    found = studio.ask("analyze")
    assert (found["verdict"], found["dimension"], found["branches"]) == ("REGULAR", 5, [])
    assert any("not integrable" in line for line in found["classification"])


def test_motions_are_those_of_simulate(studio):
    found = studio.ask("simulate", parameters={"a": 0.7}, start={"theta'": "-4/5"}, t=[0, 3])
    model = ch.gallery("sleigh")
    start = ch.State({**model.start.fixed, "theta'": -0.8}, model.start.guess)
    motion = ch.simulate(model, start, (0, 3), parameters={"a": 0.7})
    assert found["outcome"] == "finished" and (found["t"][0], found["t"][-1]) == (0, 3)
    section = motion.at(found["t"])
    for name in ("x", "y", "theta", "theta'", "lambda1"):
        assert found["values"][name] == pytest.approx(section[name], rel=1e-9, abs=1e-9)
    assert set(found["drift"]) == set(motion.drift) and max(found["drift"].values()) < 1e-7


def test_principles_are_compared(studio):
    found = studio.ask("compare", principle=["dalembert", "vakonomic"], start={"lambda1": 0.55})
    first, second = found["sides"]
    assert first["rows"] != second["rows"] and first["t"] == second["t"]
    wanted = ch.compare(ch.gallery("sleigh"))
    assert second["values"]["theta"][-1] == pytest.approx(wanted[ch.Vakonomic()].final["theta"], rel=1e-6)
    assert any("differ" in line for line in found["pairs"])
    assert [side["principle"] for side in studio.ask("compare")["sides"]] == ["DAlembert()", "Vakonomic()"]


def test_a_comparison_without_data_shows_the_equations_and_says_what_is_missing(studio):
    text = example()
    found = studio.ask("compare", text, principle=["dalembert", "vakonomic", "hamilton"])
    assert [side["ok"] for side in found["sides"]] == [True, True, False]
    found = studio.ask("compare", text, principle="dalembert, vakonomic")
    assert found["errors"][0]["fixes"][0] == {
        "kind": "SetInitial", "text": '[initial] fixed = [..., "lambda1 = ..."]', "names": ["lambda1"],
    }  # fmt: skip
    error = studio.fault("compare", text)
    assert error["kind"] == "UsageError" and "two different principles" in error["message"]


def test_sweeps_are_motions_one_by_one(studio):
    over = {"name": "a", "low": 0.2, "high": 0.8, "count": 3}
    found = studio.ask("sweep", over=over, measure="x + theta'^2", t=[0, 4])
    assert found["over"] == pytest.approx([0.2, 0.5, 0.8]) and found["outcomes"] == ["finished"] * 3
    wanted = [ch.simulate(ch.gallery("sleigh"), t=(0, 4), parameters={"a": a}).final["x + theta'^2"] for a in (0.2, 0.5, 0.8)]
    assert found["values"] == pytest.approx(wanted, rel=1e-7)
    speeds = studio.ask("sweep", over={**over, "name": "theta'", "low": -1}, measure="theta", t=[0, 4])
    assert speeds["values"][0] < 0 < speeds["values"][-1]
    assert {"name": "a", "kind": "parameters", "low": 0.087, "high": 0.88} in studio.ask("derive")["ranges"]
    assert studio.fault("sweep", SLEIGH, over={**over, "name": "q"}, measure="x")["kind"]
    for bad in (
        None,
        3,
        {},
        {**over, "count": 1000},
        {**over, "low": 2},
        {**over, "low": "a"},
        {**over, "name": 3},
        {**over, "count": True},
    ):
        assert studio.send("POST", "/api/sweep", {"text": SLEIGH, "over": bad, "measure": "x"})[0] == 400
    assert studio.send("POST", "/api/sweep", {"text": SLEIGH, "over": over})[0] == 400


@pytest.mark.parametrize("language", ["numpy", "javascript", "c"])
def test_code_is_that_of_code(studio, language):
    assert studio.ask("code", language=language)["code"] == ch.code(loads(SLEIGH), language)


def test_pages_of_motions_and_reports_are_isolated(studio):
    found = studio.ask("motion")
    assert {"m", "J", "a", "x'", "theta'"} <= set(found["sliders"]) and "y'" not in found["sliders"]
    line = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=PATIENCE)
    line.request("GET", found["page"])
    answer = line.getresponse()
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status == 200 and b"data-chetaev-slider" in answer.read()
    assert "default-src 'none'" in policy and "sandbox allow-scripts" in policy and "allow-same-origin" not in policy
    line.close()
    assert studio.send("GET", "/shown/guess", token=False)[0] == 403
    assert studio.ask("report")["page"].startswith("/shown/")


def test_branches_can_be_chosen(studio):
    found = studio.ask("analyze", CAWLEY)
    assert found["verdict"] == "BRANCHING" and [b["number"] for b in found["branches"]] == [0, 1]
    assert "q2 = 0" in found["branches"][0]["relations"] and found["branches"][0]["selectable"]
    error = studio.fault("simulate", CAWLEY)
    assert error["kind"] == "BranchError" and 0 in [fix.get("branch") for fix in error["fixes"]]
    motion = studio.ask("simulate", CAWLEY, branch=0)
    assert motion["outcome"] == "finished" and motion["values"]["q1"][-1] == pytest.approx(0.7)
    assert studio.fault("simulate", CAWLEY, branch=7)["kind"] in ("BranchError", "UsageError")


# ---- errors in the text ----


def under(text, error):
    """The characters that an error underlines."""
    line = text.split("\n")[error["line"] - 1]
    return line[error["column"] - 1 : error["column"] - 1 + error["length"]]


@pytest.mark.parametrize(
    ("good", "bad", "marked"),
    [
        ("y'*cos(theta) - x'*sin(theta) = 0", "y'*cos(thta) - x'*sin(theta) = 0", "thta"),
        ("(J + m*a^2)/2*theta'^2", "(J + m*a^2)/2*theta'^2 + $", "$"),
        ("theta'^2\"", "theta'^2 + (\"", '"'),  # where a value should stand
        ("m/2*(x'^2", "\\u006d/2*(\\u0078x'^2", "\\u0078x"),
        ("v = \"x'*cos(theta)", "v = \"x'*cos(thetas)", "thetas"),
        ('"theta\' = 1.1"', '"theta\' = 1.1*qq"', "qq"),
        ("[parameters]", "[parameters", "[parameters"),
        ('name = "dalembert"', 'name = "dalembrt"', "dalembrt"),
        ('theta = "angle"', 'theta = "angel"', "angel"),
        ("[initial]", "[intial]", "intial"),
        ("tolerance = 1e-09", "tolerence = 1e-09", "tolerence"),
        ('"theta\' = 1.1"', '"theta\' = 1.1", "y\' = 7"', "y' = 7"),
        ("J = 0.5", 'J = "half"', "half"),
        ("m = 1.2", "m = 1.2\nm = 3", "m = 3"),
    ],
)
def test_errors_lie_under_their_characters(studio, good, bad, marked):
    assert good in SLEIGH
    text = SLEIGH.replace(good, bad, 1)
    error = studio.fault("simulate", text)
    found = under(text, error)
    assert found == marked, error
    assert error["line"] == text[: text.index(bad) + len(bad)].count("\n") + 1


def test_errors_in_texts_of_several_lines():
    text = 'lagrangian = """\nm/2*x\'^2\n  + q*x"""\n[coordinates]\nx = "line"\n[parameters]\nm = 1\n[principle]\nname = "hamilton"\n'
    with pytest.raises(ch.NotationError) as caught:
        loads(text, "the model")
    assert span_of(caught.value, text) == (3, 5, 1)


@pytest.mark.parametrize(
    ("good", "bad", "offered"),
    [
        ('name = "dalembert"', 'name = "dalembrt"', ["dalembert"]),
        ('theta = "angle"', 'theta = "angel"', ["angle"]),
        ("[initial]", "[intial]", ["initial"]),
        ("m/2*(x'^2", "m/2*(xdot^2", ["x'"]),
        ("m/2*(x'^2", "m/2*(xddot^2", ["x''"]),
        ("J = 0.5", 'J = "free"', []),
    ],
)
def test_replacements_for_words_like_known_ones(studio, good, bad, offered):
    """What replaces the marked characters gives a text without this error; a name in the value of a parameter is not declared."""
    assert good in SLEIGH
    text = SLEIGH.replace(good, bad, 1)
    error = studio.fault("derive", text)
    assert [fix["replacement"] for fix in error["fixes"] if "replacement" in fix] == offered
    assert offered or not any("parameter" in fix for fix in error["fixes"])
    if offered and good != "m/2*(x'^2":
        lines = text.split("\n")
        written = lines[error["line"] - 1]
        lines[error["line"] - 1] = written[: error["column"] - 1] + offered[0] + written[error["column"] - 1 + error["length"] :]
        assert "\n".join(lines) == SLEIGH


def test_an_ambiguous_word_is_not_replaced():
    """The coordinate itself is called as its misspelled kind: which of the two is meant, the studio does not guess."""
    text = 'lagrangian = "angel\'^2/2"\n[coordinates]\nangel = "angel"\n[principle]\nname = "hamilton"\n'
    [error] = answer("derive", {"text": text})["errors"]
    assert under(text, error) == 'angel = "angel"' and not any("replacement" in fix for fix in error["fixes"])


def test_contacts_are_among_the_equations_and_counts_below(studio):
    text = (
        'lagrangian = "m/2*(x\'^2 + y\'^2) - m*g*y"\n[coordinates]\nx = "line"\ny = "line"\n[parameters]\nm = 1.0\ng = 9.81\n'
        '[unilateral]\nfloor = ["y >= 0", "1/2"]\n[principle]\nname = "dalembert"\n'
    )
    found = studio.ask("derive", text)
    [contact] = [row for row in found["rows"] if row["label"] == "contact"]
    assert "y >= 0, lambda_floor >= 0, one of them is 0; restitution 1/2" in contact["text"] and contact["mathml"].startswith("<math>")
    assert found["count"] == "2 equations and 1 contact for 3 unknowns: x y lambda_floor"
    long = studio.ask("derive", studio.get("/api/gallery/elastic-ball-inhomogeneous")["text"])
    assert re.match(r"\d+ equations for \d+ unknowns: ", long["count"])


def test_characters_count_not_bytes(studio):
    text = SLEIGH.replace("y'*cos(theta) - x'*sin(theta) = 0", "y'*cos(θ) - x'*sin(θθ) = 0", 1)
    error = studio.fault("derive", text)
    assert under(text, error) == "θθ"


def test_fixes_can_be_applied(studio):
    text = SLEIGH.replace("y'*cos(theta)", "y'*cos(thta)", 2)
    error = studio.fault("derive", text)
    assert error["fixes"][0]["replacement"] == "theta"
    error = studio.fault("derive", SLEIGH, principle="hamilton")
    assert error["kind"] == "PrincipleError" and "dalembert" in [fix.get("principle") for fix in error["fixes"]]
    assert under(SLEIGH, error) == "[principle]"
    error = studio.fault("simulate", SLEIGH.replace("J = 0.5", 'J = {kind = "positive"}'))
    assert error["kind"] == "ParameterError" and error["fixes"][0]["names"] == ["J"]


# ---- who may ask ----


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Chetaev-Token": "wrong"},
        {"X-Chetaev-Token": ""},
        {"X-Chetaev-Token": "é"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
    ],
)
def test_strangers_are_refused(studio, headers):
    given = {"X-Chetaev-Token": studio.token, **headers}
    for method, path, body in (
        ("GET", "/api/health", None),
        ("POST", "/api/derive", {"text": SLEIGH}),
        ("GET", f"/?token={studio.token}", None),
    ):
        if path.startswith("/?") and "X-Chetaev-Token" in headers:
            continue
        status, found = studio.send(method, path, body, {k: v.encode("latin-1") for k, v in given.items()}, token=False)
        assert status == 403 and found["ok"] is False


def test_the_token(studio):
    assert len(studio.token) >= 22 and re.fullmatch(r"[\w-]+", studio.token)
    assert studio.send("GET", "/", token=False)[0] == 403
    assert studio.send("GET", "/?token=wrong", token=True)[0] == 403
    assert studio.send("GET", f"/api/health?token={studio.token}", token=False)[0] == 403
    status, html = studio.send("GET", f"/?token={studio.token}", token=False)
    assert status == 200 and b"chetaev" in html and studio.token.encode() not in html
    origin = {"Origin": f"http://127.0.0.1:{studio.port}"}
    assert studio.send("GET", "/api/health", headers=origin)[0] == 200


def test_the_policy_allows_the_own_script_only():
    html, policy = page()
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy and "localhost" in page(framed=True)[1]
    assert not re.search(r"https?://(?!www\.w3\.org/1998/Math/MathML)", html)
    assert not re.search(r"<[^>]+\s(?:on\w+|style)=", html) and html.count("<script") == 1


def test_statuses(studio):
    assert studio.send("POST", "/api/derive", b"{")[0] == 400
    assert studio.send("POST", "/api/derive", b"[" * 100_000)[0] == 400
    assert studio.send("POST", "/api/derive", [1])[0] == 400
    assert studio.send("POST", "/api/derive", {})[0] == 400
    for name, value in (
        ("text", 3),
        ("principle", 3),
        ("parameters", []),
        ("start", {"x": []}),
        ("t", [0]),
        ("t", ["a", 1]),
        ("branch", 1.5),
    ):
        assert studio.send("POST", "/api/derive", {"text": SLEIGH, name: value})[0] == 400, name
    for name, value in (("language", 3), ("client", 3), ("serial", "a"), ("client", "x" * 1000)):
        assert studio.send("POST", "/api/code", {"text": SLEIGH, name: value})[0] == 400, name
    assert studio.send("POST", "/api/unknown", {})[0] == 404
    assert studio.send("GET", "/favicon.ico")[0] == 404
    assert studio.send("GET", "/api/gallery/unknown")[0] == 404
    assert studio.send("GET", "/api/derive")[0] == 405
    assert [studio.send(method, "/api/derive", token=False)[0] for method in ("PUT", "DELETE", "OPTIONS")] == [403] * 3
    assert studio.send("POST", "/api/derive", headers={"Content-Length": "3000000"})[0] == 413
    assert studio.send("POST", "/api/derive", headers={"Content-Length": "-1"})[0] == 400
    assert studio.send("POST", "/api/derive", headers={"Transfer-Encoding": "chunked"})[0] == 400


def test_a_request_that_is_too_large_is_refused_when_it_is_sent_whole(studio):
    """A client that sends its body before it reads gets the refusal, and not a broken pipe."""
    body = json.dumps({"text": "#" * 2_100_000}).encode()
    for headers, status in (({"X-Chetaev-Token": studio.token}, 413), ({"X-Chetaev-Token": "wrong"}, 403)):
        request = urllib.request.Request(f"http://127.0.0.1:{studio.port}/api/derive", body, headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310 - this machine
        assert refused.value.code == status and json.load(refused.value)["ok"] is False
    assert studio.ask("derive")["ok"]


def test_a_start_warns_of_nothing():
    text = "from chetaev.studio.jobs import Jobs\njobs = Jobs(60)\nprint(jobs.run('gallery', {'name': 'sleigh'})['ok'])\njobs.close()\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_broken_requests_leave_it_answering(studio):
    for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x00\xff\xfe" * 50, b"GET / HTTP/9.9\r\n\r\n", b"POST /api/derive HTTP/1.1\r\nHost: x\r\n"):
        with socket.create_connection(("127.0.0.1", studio.port), timeout=PATIENCE) as line:
            line.sendall(raw)
    assert studio.get("/api/health")["ok"]


# ---- files ----


def test_files_are_listed_opened_and_saved(studio):
    assert studio.get("/api/files")["files"] == ["sleigh.toml", "inner/own.toml"]
    assert studio.send("POST", "/api/open", {"file": "sleigh.toml"})[1]["text"] == SLEIGH
    status, found = studio.send("POST", "/api/save", {"file": "new.toml", "text": "# θ\r\nname = 'x'\n"})
    assert (status, found["ok"], found["replaced"]) == (200, True, False)
    path = studio.server.folder.root / "new.toml"
    assert path.read_bytes() == "# θ\r\nname = 'x'\n".encode()
    assert studio.send("POST", "/api/save", {"file": "new.toml", "text": "name = 'y'\n"})[1]["replaced"] is True
    assert path.read_text() == "name = 'y'\n"
    path.unlink()
    assert studio.send("POST", "/api/open", {"file": "missing.toml"})[0] == 404
    assert studio.send("POST", "/api/save", {"file": "no/such/folder.toml", "text": ""})[0] == 404
    assert studio.send("POST", "/api/open", {"file": 3})[0] == 400


OUTSIDE = [
    "../outside.toml", "link.toml", "way/outside.toml", "inner/../../outside.toml", "/etc/passwd", "/etc/passwd.toml", "~/x.toml",
    "..", ".", "", "a\0.toml", "..\\outside.toml", "C:\\x.toml", "C:/x.toml/../../outside.toml", "sleigh.toml/../../outside.toml", "a.txt",
    ".hidden.toml", "a" * 300 + ".toml", "inner/" + "b" * 300 + "/c.toml", "d/" * 3000 + "e.toml",
    "a\n.toml", "\ud800.toml", "inner", "//etc/x.toml", "way/new.toml", "%2e%2e/outside.toml",
]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE, ids=repr)
def test_no_path_leads_outside(studio, name):
    root = studio.server.folder.root
    before = sorted(path.name for path in root.parent.iterdir())
    for verb, body in (("open", {"file": name}), ("save", {"file": name, "text": "hit = 1\n"})):
        status, found = studio.send("POST", f"/api/{verb}", body)
        assert status in (403, 404) and "secret" not in json.dumps(found)
    assert sorted(path.name for path in root.parent.iterdir()) == before
    assert (root.parent / "outside.toml").read_text() == "secret = 1\n"


def test_a_link_that_is_set_later_is_followed_too(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "x.toml").write_text("")
    assert Folder(folder).path("x.toml").name == "x.toml"
    (folder / "x.toml").unlink()
    (folder / "x.toml").symlink_to(tmp_path / "y.toml")
    with pytest.raises(OutsideError):
        Folder(folder).save("x.toml", "hit")
    assert not (tmp_path / "y.toml").exists()


def test_the_gallery(studio):
    systems = studio.get("/api/gallery")["systems"]
    assert [each["name"] for each in systems] == ch.gallery() and all(each["title"] for each in systems)
    for name in ("sleigh", "rocard"):
        assert loads(studio.get(f"/api/gallery/{name}")["text"]) == loads(dumps(ch.gallery(name)))


# ---- ends ----

SLOW = dumps(replace(ch.gallery("double-pendulum"), max_steps=10**12, keep="final"))
"""A model whose motion does not end on any machine, and needs little memory."""
FOREVER = {"t": [0, 1e9]}


def test_a_later_request_of_the_same_client_ends_the_earlier_one(studio):
    answers = {}

    def ask(name, **more):
        answers[name] = studio.ask("simulate", SLOW, **more)

    first = threading.Thread(target=ask, args=("first",), kwargs={"client": "tab", "serial": 1, **FOREVER})
    other = threading.Thread(target=ask, args=("other",), kwargs={"client": "another tab", "serial": 1, "t": [0, 1]})
    first.start()
    other.start()
    time.sleep(0.5)
    assert studio.ask("derive", client="tab", serial=2)["ok"]
    first.join(PATIENCE)
    assert not first.is_alive()  # on its own it would not have ended
    assert answers["first"] == {"ok": False, "cancelled": True, "errors": []}
    other.join(PATIENCE)
    assert answers["other"]["outcome"] == "finished"
    assert studio.ask("derive", client="tab", serial=1)["cancelled"]
    assert studio.ask("derive", client="tab", serial=2)["ok"]


def test_a_request_has_a_time_limit_and_a_bounded_memory(tmp_path):
    with running(tmp_path) as client:
        assert client.server.jobs.seconds == 20
        client.server.jobs.seconds = 2.0
        assert client.fault("simulate", SLOW, **FOREVER)["kind"] == "Timeout"
        client.server.jobs.seconds = PATIENCE
        assert client.ask("derive")["ok"]
        fork_server = client.server.jobs._fork_server._process.pid
        assert wait_until(lambda: not children_of(fork_server))
        os.kill(fork_server, signal.SIGKILL)  # the process that forks is started anew
        assert wait_until(lambda: client.ask("derive").get("ok"))
    assert wait_until(lambda: not alive(fork_server))


def test_a_process_without_memory_says_so():
    text = (
        "import json, resource, socket, sys\n"
        "from chetaev.studio import fork_server\n"
        "from chetaev.studio import answers\n"
        "answers._ANSWERS['derive'] = lambda asked: {'x': len(bytearray(3 << 30))}\n"
        "fork_server._limit()\n"
        "print(fork_server._answered('derive', {'text': ''}).decode())\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0] < (8 << 30))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603
    answer, bounded = done.stdout.splitlines()
    assert json.loads(answer)["errors"][0]["kind"] == "Memory" and bounded == "True"


def children_of(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return path.read_text().split() if path.exists() else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="the processes of a process are read from /proc")
@pytest.mark.parametrize("word", ["SIGINT", "SIGKILL"])
def test_nothing_outlives_the_studio(tmp_path, word):
    (tmp_path / "sleigh.toml").write_text(SLEIGH)
    command = [sys.executable, "-m", "chetaev.cli", "studio", str(tmp_path / "sleigh.toml"), "--port", "0", "--folder", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        address = process.stdout.readline().strip()
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{22,})", address).groups()
        line = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
        line.request("POST", "/api/simulate", json.dumps({"text": SLOW, **FOREVER}), {"X-Chetaev-Token": token})
        assert wait_until(lambda: children_of(process.pid), PATIENCE)
        [fork_server] = children_of(process.pid)
        assert wait_until(lambda: children_of(fork_server), PATIENCE)
        workers = children_of(fork_server)
        process.send_signal(getattr(signal, word))
        assert process.wait(PATIENCE) == {"SIGINT": 0, "SIGKILL": -9}[word]  # within 5 seconds on a machine with nothing else to do
        assert wait_until(lambda: not any(map(alive, [fork_server, *workers])))
        line.close()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# ---- hostile texts ----

WITNESS = "CHETAEV_STUDIO_HIT"
CALLS = [
    f"__import__('os').system('touch {WITNESS}')", f"open('{WITNESS}', 'w')", "().__class__.__bases__[0].__subclasses__()", "exec('1')",
    "lambda: 0", "[x for x in (1,)]",
    "x.__class__", "globals()", "eval('1')", "compile('1', '', 'eval')", "${7*7}", "{{7*7}}", "`id`", "$(id)",
    "x; import os", "x\\nimport os", "%s%n", "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "]]>", "<!--",
    "javascript:alert(1)", "x'*\\u0000", "\\u202ex", "9**9**9**9", "2^2^2^2^2^2^2^2", "1e999999999", "x" * 5000, "(" * 5000, "-" * 5000,
    "sin(" * 500 + "x" + ")" * 500, "+".join(["x"] * 3000), "x^1000000", "(x+theta)^500", "factorial(10^9)",
    "gamma(x)", "Derivative(x)", "Symbol('x')",
    "sympify('1')", "Function('f')(x)", "x'" + "'" * 400, "δx", "δ", "∞", "x/0", "0/0", "log(0)", "1/(x-x)", "tan(pi/2)",
]  # fmt: skip
"""Expressions that an evaluator would run, expand or choke on."""
FILES = [
    "", "\ufeff", "a" * 100_000, "[" * 50_000, "\x00", "name = " + "9" * 5000, "a.b." * 5000 + "c = 1", '"' * 3000, "[[compare]]\n" * 2000,
    SLEIGH * 2, SLEIGH.replace("\n", "\r"), SLEIGH[: len(SLEIGH) // 2], "lagrangian = 3\n", "[coordinates]\n" + "x = 'line'\n" * 3,
    "\ud800", SLEIGH.replace("Chaplygin sleigh", "\\u0007\\u001b[2J"),
    SLEIGH.replace("[simulate]", f"[simulate]\nmethod = \"__import__('{WITNESS}')\""),
    SLEIGH.replace('name = "dalembert"', "name = \"__import__('os').system('touch x')\""), 'include = "/etc/passwd"\n' + SLEIGH,
]  # fmt: skip
"""Whole texts."""


def hostile_texts():
    for call in CALLS:
        yield SLEIGH.replace("(J + m*a^2)/2*theta'^2\"", f"(J + m*a^2)/2*theta'^2 + {json.dumps(call)[1:-1]}\"", 1)
    yield from FILES


def test_there_are_enough_kinds():
    assert len(CALLS) + len(FILES) >= 58


def test_hostile_texts_run_nothing_and_leave_it_answering(studio):
    for text in hostile_texts():
        body = json.dumps({"text": text}).encode()
        status, found = studio.send("POST", "/api/derive", body)
        assert status == 200 and (found["ok"] or found["errors"][0]["kind"] != "InternalError"), (text[-200:], found)
        if not found["ok"]:
            [error] = found["errors"]
            lines = text.replace("\r\n", "\n").split("\n")
            assert 1 <= error["line"] <= len(lines) and error["column"] >= 1 and error["length"] >= 1
            assert len(error["message"]) < 3000
    assert not Path(WITNESS).exists()  # the processes work in the folder of the tests
    assert studio.ask("derive")["ok"]


def fuzzed(text, draw, alphabet):
    for _ in range(draw.choice((1, 1, 2, 5, 30))):
        at, length = draw.randrange(len(text)), draw.choice((1, 1, 1, 80))
        between = draw.choice(("", "", draw.choice(alphabet), text[at : at + 2 * length]))
        text = text[:at] + between + text[at + draw.choice((0, length)) :] or "x"
    return text


ALPHABET = "'\"[]{}()=+-*/^,.#\\\n\t δθ0179eExymJ_$<>&;\x00\x1b\u202e\U0001f600"
FUZZED = 1000
THROUGH_HTTP = FUZZED if os.environ.get("CHETAEV_LONG") else 120
"""Texts that go the whole way; the environment variable CHETAEV_LONG sends all of them."""


def judged(text, found):
    """The kind of an answer: an error that a user can correct, which lies in the text, or none."""
    if found["ok"]:
        return "ok"
    [error] = found["errors"]
    assert error["kind"] != "InternalError" and "Traceback" not in json.dumps(found), (text, error)
    assert 1 <= error["line"] <= text.count("\n") + 1 and error["column"] >= 1 and error["length"] >= 1
    return error["kind"]


def test_fuzzed_texts_leave_it_answering(studio):
    """A thousand texts with characters removed, doubled, replaced and exchanged: all as a process answers them, some the whole way."""
    draw = random.Random(7)
    texts = [fuzzed(draw.choice((SLEIGH, example(), CAWLEY)), draw, ALPHABET) for _ in range(FUZZED)]
    kinds = {judged(text, answer("derive", {"text": text})) for text in texts}
    assert {"ok", "NotationError", "ModelError"} <= kinds
    with ThreadPoolExecutor(4) as several:
        for text, (status, found) in zip(
            texts, several.map(lambda text: studio.send("POST", "/api/derive", {"text": text}), texts[:THROUGH_HTTP]), strict=False
        ):
            assert status == 200
            judged(text, found)
    assert studio.ask("derive")["ok"]


def test_hostile_values_run_nothing(studio):
    """The same expressions as values, principles, names and measures, beside a good text."""
    over = {"name": "a", "low": 0.1, "high": 1, "count": 2}
    for k, call in enumerate(CALLS):
        body = [
            {"measure": call, "over": over}, {"measure": "x", "over": {**over, "name": call}}, {"start": {call: 1}}, {"start": {"x": call}},
            {"parameters": {"a": call}}, {"principle": call}, {"branch": call}, {"language": call},
        ][k % 8]  # fmt: skip
        verb = "sweep" if "over" in body else "code" if "language" in body else "simulate"
        status, found = studio.send("POST", f"/api/{verb}", {"text": SLEIGH, **body})
        assert status == 200 and not found["ok"] and found["errors"][0]["kind"] not in ("InternalError", "Memory", "Timeout"), (body, found)
    assert not Path(WITNESS).exists() and studio.ask("derive")["ok"]


# ---- in Python and on the command line ----


def test_the_studio_of_a_model(tmp_path):
    with ch.studio(ch.gallery("sleigh"), folder=tmp_path) as window:
        assert isinstance(window, Window) and re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", window.address)
        client = Client(window._server)
        assert loads(client.get("/api/first")["text"]) == loads(SLEIGH)
        assert window.address.replace("&", "&amp;") in window._repr_html_()
        port = client.port
        with pytest.raises(UsageError, match="cannot be used"):
            ch.studio(port=port)
    assert "closed" in repr(window)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    window.close()
    with pytest.raises(UsageError, match="takes a model"):
        ch.studio(3)
    with pytest.raises(UsageError, match="not a folder"):
        ch.studio(folder=tmp_path / "missing")


def test_outside_of_a_notebook_there_is_a_frame(tmp_path):
    with ch.studio(folder=tmp_path) as window:
        bundle = window._repr_mimebundle_()
        assert bundle["text/html"] == window._repr_html_() and bundle["text/plain"] == repr(window)
    assert "closed" in window._repr_mimebundle_()["text/html"]


def test_a_notebook_shows_a_widget(tmp_path, monkeypatch):
    pytest.importorskip("anywidget", reason="anywidget is not installed: the studio is shown in a frame (chetaev[notebook])")
    from chetaev.studio import notebook

    told = []
    monkeypatch.setattr(notebook, "_has_widgets", lambda: True)
    with ch.studio(ch.gallery("sleigh"), folder=tmp_path) as window:
        assert "application/vnd.jupyter.widget-view+json" in str(window._repr_mimebundle_())
        shown = window._widget
        monkeypatch.setattr(type(shown), "send", lambda self, content, buffers=None: told.append(content))
        for number, (method, path, body) in enumerate([("GET", "first", None), ("POST", "derive", {"text": SLEIGH})]):
            shown._handle_custom_msg({"id": number, "method": method, "path": path, "body": body}, [])
        assert wait_until(lambda: len(told) == 2, PATIENCE)
    first, second = sorted(told, key=lambda content: content["id"])
    assert loads(first["answer"]["text"]) == loads(SLEIGH)
    assert [row["label"] for row in second["answer"]["rows"]] == list(ch.derive(ch.gallery("sleigh")).labels)


def test_the_example_moves(studio):
    """Along the blade v' = g*sin(alpha)*cos(theta), and theta' = 2 stays."""
    found = studio.ask("simulate", example())
    values, theta = found["values"], 0.3 + 2 * np.array(found["t"])
    assert found["outcome"] == "finished" and values["theta"] == pytest.approx(theta, abs=1e-8)
    speed = np.array(values["x'"]) * np.cos(theta) + np.array(values["y'"]) * np.sin(theta)
    assert speed == pytest.approx(0.5 / np.cos(0.3) + 9.81 * np.sin(0.2) / 2 * (np.sin(theta) - np.sin(0.3)), abs=1e-7)
