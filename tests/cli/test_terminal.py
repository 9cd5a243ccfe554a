"""The command in a real shell: pipes that close, Ctrl-C, terminals of two widths, completion."""

import array
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from chetaev.cli.application import main

CHETAEV = [sys.executable, "-m", "chetaev"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]8;[^\x1b]*\x1b\\")


SEVERAL = """
import sys
from chetaev.cli import application
for line in sys.argv[1:]:
    application(line.split(), standalone_mode=False)
"""
"""A program that calls the command for each line it is given."""


def on_terminal(arguments, columns, folder, command=CHETAEV):
    """The output of the command in a terminal with the given number of columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")} | {"TERM": "xterm-256color"}
    process = subprocess.Popen([*command, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment)  # noqa: S603
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is gone
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(), shown.decode().replace("\r\n", "\n")


def shown_lines(text):
    """Lines without escapes, and of a line that was written over only what is left of it."""
    return [line.rpartition("\r")[2] for line in ESCAPE.sub("", text).split("\n")]


@pytest.mark.parametrize("columns", [80, 140])
def test_nothing_is_wider_than_the_terminal(columns, tmp_path):
    lines = ["gallery", "derive leaning-disk", "simulate rocard --t 1"]
    code, shown = on_terminal(lines, columns, tmp_path, [sys.executable, "-c", SEVERAL])
    assert code == 0
    assert all(said in shown for said in ("chaplygin-ball", "E_phi", "finished"))
    widest = max(shown_lines(shown), key=len)
    assert len(widest) <= columns, widest


def test_a_terminal_has_colours_and_a_pipe_has_not(tmp_path):
    _, shown = on_terminal(["derive", "sleigh"], 80, tmp_path)
    assert "\x1b[" in shown
    piped = subprocess.run([*CHETAEV, "derive", "sleigh"], capture_output=True, text=True, check=True, cwd=tmp_path).stdout  # noqa: S603
    assert "\x1b[" not in piped
    assert re.sub(r"\s+", " ", ESCAPE.sub("", shown)) == re.sub(r"\s+", " ", piped)


def test_rows_too_long_for_a_screen_are_cut_on_it_only(tmp_path, chetaev):
    terms = " + ".join(f"sin({k}*x)/{k + 1}" for k in range(1, 150))
    text = f'name = "long"\nlagrangian = "x\'^2/2 + {terms}"\n[coordinates]\nx = "line"\n[principle]\nname = "hamilton"\n'
    (tmp_path / "long.toml").write_text(text)
    _, shown = on_terminal(["derive", "long.toml"], 80, tmp_path)
    assert "characters in all; -o FILE or a pipe shows them" in shown
    assert len(shown.splitlines()) < 30
    piped = chetaev("derive long.toml").stdout
    assert "cos(149*x)" in piped and len(piped.splitlines()) == 4 and "--simplify may shorten" in piped


def test_a_closed_pipe_is_no_error(tmp_path):
    line = [*CHETAEV, "simulate", "sleigh", "-o", "-", "--points", "20000"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)  # noqa: S603
    assert process.stdout.readline().startswith(b"t,x,")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_a_pipe_that_nobody_reads_is_no_error_either(tmp_path):
    """Little output waits in a buffer and meets the closed pipe at the end only."""
    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run([*CHETAEV, "gallery"], stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path)  # noqa: S603
    os.close(writing)
    assert found.returncode == 141 and found.stderr == b""


def test_control_c_ends_quietly(tmp_path):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background has it ignored
    process = subprocess.Popen([*CHETAEV, "derive", "-"], cwd=tmp_path, **streams)  # noqa: S603
    signal.signal(signal.SIGINT, before)
    process.stdin.write(b"# the beginning of a file\n")
    process.stdin.flush()
    waiting = array.array("i", [1])
    while waiting[0]:  # until the command has read it and waits for more
        fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
        time.sleep(0.02)
    time.sleep(0.3)  # it has read the line, and on a busy machine needs a moment to ask for the next one
    process.send_signal(signal.SIGINT)
    out, message = process.communicate()
    assert process.returncode == 130
    assert out == b"" and message.strip() == b"interrupted"


def test_a_terminal_without_greek_letters(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    found = subprocess.run([*CHETAEV, "gallery", "show", "rocard"], capture_output=True, cwd=tmp_path, env=environment)  # noqa: S603
    assert found.returncode == 0 and b"Traceback" not in found.stderr


def asked(line):
    """What a shell puts into the environment for a line that ends at the cursor."""
    return {"_CHETAEV_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}


def test_a_shell_is_told_how_a_line_goes_on(tmp_path):
    environment = {**os.environ, **asked("chetaev sim")}
    start = "import sys\nfrom chetaev.cli.application import main\nsys.argv[0] = 'chetaev'\nmain()"
    found = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, cwd=tmp_path, env=environment)  # noqa: S603
    assert found.stderr == ""
    assert "plain,simulate" in found.stdout.splitlines()


def test_completion_knows_verbs_systems_files_and_words(tmp_path, monkeypatch, capsys):
    def completed(line, folder):
        monkeypatch.chdir(folder)
        for name, value in asked(line).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            main()
        out, err = capsys.readouterr()
        assert err == ""
        return [tuple(entry.split(",", 1)) for entry in out.splitlines()]

    monkeypatch.setattr(sys, "argv", ["chetaev"])
    (tmp_path / "rolling.toml").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ring.toml").write_text("")
    assert ("plain", "simulate") in completed("chetaev sim", tmp_path)
    names = completed("chetaev derive ro", tmp_path)
    assert ("plain", "rocard") in names and ("plain", "rolling.toml") in names
    assert completed("chetaev derive other/", tmp_path) == [("plain", "other/ring.toml")]
    assert completed("chetaev derive zzz", tmp_path) == [("file", "zzz")]
    assert completed("chetaev simulate rocard --principle vak", tmp_path) == [("plain", "vakonomic")]
    assert completed("chetaev transform rocard li", tmp_path) == [("plain", "lift"), ("plain", "linearize-constraints")]
    assert completed("chetaev gallery show sle", tmp_path) == [("plain", "sleigh"), ("plain", "sleigh-contact")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell, chetaev):
    found = chetaev(f"completion {shell}")
    assert found.exit_code == 0 and "_CHETAEV_COMPLETE" in found.stdout
