"""The studio where processes cannot be forked, as on Windows: the command and the function say so, and leave nothing behind."""

import os
import socket
import sys
import threading

import pytest
from click.testing import CliRunner

import chetaev as ch
from chetaev.cli import application

NEEDED = {"fork": os, "send_fds": socket}
"""What forking a process for each job takes, and Windows does not have."""


@pytest.fixture(params=NEEDED)
def without(request, monkeypatch):
    monkeypatch.delattr(NEEDED[request.param], request.param, raising=False)  # raising=False: Windows has neither
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.fixture
def bound(monkeypatch):
    """The sockets that servers listen on while the test runs."""
    found, listen = [], socket.socket.listen

    def noted(self, *arguments):
        found.append(self)
        return listen(self, *arguments)

    monkeypatch.setattr(socket.socket, "listen", noted)
    return found


@pytest.mark.usefixtures("without")
def test_the_command_refuses_in_words(bound):
    before = set(threading.enumerate())
    told = CliRunner().invoke(application, ["studio", "sleigh"], catch_exceptions=False)
    assert told.exit_code == 2 and not told.stdout
    assert "the studio needs a system that can fork processes" in told.stderr and "Traceback" not in told.stderr
    assert "Windows Subsystem for Linux" in told.stderr and "animate" in told.stderr
    assert [line.fileno() for line in bound] == [-1] and set(threading.enumerate()) <= before  # the port is free again


@pytest.mark.usefixtures("without")
def test_the_function_refuses_in_words(bound):
    with pytest.raises(ch.UsageError, match="needs a system that can fork processes") as told:
        ch.studio(ch.gallery("sleigh"))
    assert "--slider" in str(told.value)
    assert [line.fileno() for line in bound] == [-1]
