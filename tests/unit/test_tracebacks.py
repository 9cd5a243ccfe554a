"""Errors in a notebook: the user's own line and the message, without the frames of the parser."""

from __future__ import annotations

import traceback

import pytest

import chetaev as ch


def fault():
    with pytest.raises(ch.NotationError) as found:
        ch.System("x", lagrangian="x'^2/2 - k*x^2/2")
    return found.value


def test_a_notebook_shows_the_line_and_the_message(monkeypatch):
    monkeypatch.delenv("CHETAEV_TRACEBACK", raising=False)
    shown = fault()._render_traceback_()
    assert "ch.System(" in shown[0] and shown[0].startswith("line ")
    assert "\n".join(shown).endswith(str(fault())) and not any("parser" in line for line in shown)


def test_the_whole_traceback_on_request(monkeypatch):
    monkeypatch.setenv("CHETAEV_TRACEBACK", "full")
    assert any("notation" in line for line in fault()._render_traceback_())


NESTED = "x'^2/2 - (((x + ((y))))^2)/2"


@pytest.mark.parametrize("text", [NESTED, "x'^2/2 - (((x + ((2*)))^2)/2"])
def test_a_terminal_shows_no_frame_for_each_bracket(text, monkeypatch):
    frames = {}
    for word in ("", "full"):
        monkeypatch.setenv("CHETAEV_TRACEBACK", word)
        with pytest.raises(ch.NotationError) as found:
            ch.System("x", lagrangian=text)
        assert found.value.__context__ is None
        frames[word] = traceback.extract_tb(found.value.__traceback__)
    assert frames[""][0].filename == __file__ and len(frames[""]) <= 6
    assert not any(frame.name in ("_sum", "_product", "_power", "atom", "power", "product") for frame in frames[""])
    assert len(frames["full"]) > 10
