"""Wrong model files end with exit code 2 and a message that names the file and the place; nothing ends with a traceback."""

import re

import pytest
from wrong_models import GOOD, wrong_models

WRONG = wrong_models()
ONLY_THE_FILE = ("a file of two million bytes",)
"""What is wrong with the file as a whole has no place in it."""


@pytest.mark.parametrize("name", GOOD)
def test_the_files_are_right_before_they_are_damaged(name, chetaev, tmp_path):
    (tmp_path / f"{name}.toml").write_text(GOOD[name], encoding="utf-8")
    for verb in ("derive", "analyze", "classify", "simulate --t 0.1"):
        assert chetaev(f"{verb} {name}.toml").exit_code == 0


def test_there_are_more_than_a_hundred_of_every_kind():
    kinds = {name.partition("-")[2] for name, _, _ in WRONG}
    assert kinds == {"deleted", "misspelt", "type", "brackets", "huge", "look-alike", "damaged", "meaningless"}
    assert len({content for _, _, content in WRONG}) > 200


@pytest.mark.parametrize(("name", "what", "content"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_wrong_file_is_refused_with_its_place(name, what, content, chetaev, tmp_path):
    (tmp_path / f"{name}.toml").write_bytes(content)
    found = chetaev(f"simulate {name}.toml --t 0.1")
    first = found.stderr.partition("\n")[0]
    assert found.exit_code == 2, what
    assert re.match(rf"\w+Error · {name}\.toml", first), (what, first)
    assert "Traceback" not in found.output
    if what not in ONLY_THE_FILE:
        assert re.search(rf"{name}\.toml, (line \d+|at its end|[\w.]+(\[\d+\])?(, line \d+)?)", first), (what, first)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cos(theta)", "cos(thta)", "constraints.kinematic[0], line 15"),
        ('"x = 0"', '"x = 1e999"', "initial.fixed[0], line 21"),
        ('"theta = pi/6"', '"teta = pi/6"', "initial.fixed[2], line 21"),
        ('"theta = pi/6", ', "", "initial, line 20, simulate 'sleigh'\n  no initial value for theta."),
        ('"dalembert"', '"hamilton"', "principle, line 17, derive 'sleigh', Hamilton()"),
        ("m = 1.2", 'm = {kind = "real"}', "parameters, line 9, simulate 'sleigh'\n  no value for parameter m."),
        ("value = 0.4", "value = -0.4", "parameters.J, line 11\n  J = -0.4, but it is declared positive."),
    ],
)
def test_the_place_is_the_right_one(old, new, message, chetaev, tmp_path):
    (tmp_path / "sleigh.toml").write_text(GOOD["sleigh"].replace(old, new), encoding="utf-8")
    found = chetaev("simulate sleigh.toml")
    assert found.exit_code == 2
    assert f"sleigh.toml, {message}" in found.stderr


def test_a_row_of_a_long_list_has_its_own_line(chetaev, tmp_path):
    (tmp_path / "tyre.toml").write_text(GOOD["tyre"].replace("x2' = psi'", "x2' = phi'"), encoding="utf-8")
    assert "tyre.toml, constraints.kinematic[1], line 21" in chetaev("derive tyre.toml").stderr


def test_what_is_not_a_file(chetaev, tmp_path):
    (tmp_path / "folder.toml").mkdir()
    for given, what in (
        ("missing.toml", "there is no such file"),
        ("folder.toml", "Is a directory"),
        ("/dev/zero", "more than 1000000 bytes"),
        ("rocrd", "Did you mean rocard?"),
        ("no/such/folder", "There is no folder no/such"),
    ):
        found = chetaev(f"derive {given}")
        assert found.exit_code == 2
        assert what in found.stderr


def test_standard_input_is_named_in_messages(chetaev):
    found = chetaev("derive -", text=GOOD["sleigh"].replace("cos(theta)", "cos(thta)"))
    assert found.exit_code == 2
    assert found.stderr.startswith("NotationError · standard input, constraints.kinematic[0], line 15")
    assert chetaev("derive -", text=GOOD["sleigh"]).exit_code == 0
