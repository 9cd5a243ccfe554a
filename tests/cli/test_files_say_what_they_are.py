"""The command line writes no file under an ending that means something else, and reads tables that are damaged or hostile."""

import pytest

import chetaev as ch

SPRING = 'name = "s"\nlagrangian = "x\'^2/2 - k*x^2/2"\n[coordinates]\nx = "line"\n[parameters]\nk = 1.0\n[principle]\nname = "hamilton"\n'
SPRING += '[initial]\nfixed = ["x = 1", "x\' = 0"]\n'


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("derive sleigh --code c -o a.py", "a.c"),
        ("derive sleigh --code numpy -o a.c", "a.py"),
        ("derive sleigh --code javascript -o a.HTML", "a.mjs"),
        ("derive sleigh --latex -o a.pdf", "a.tex"),
        ("derive sleigh -o a.toml", "a.txt"),
        ("derive sleigh -o a.npz", "a.txt"),
        ("gallery write sleigh a.npz", "a.toml"),
        ("gallery write sleigh a.py --force", "a.toml"),
    ],
)
def test_an_ending_that_means_something_else_is_refused(chetaev, line, meant, tmp_path):
    found = chetaev(line)
    assert found.exit_code == 2 and "are not written" in found.stderr and meant in found.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["derive sleigh --latex -o a.tex", "derive sleigh -o plain", "gallery write sleigh a.toml"])
def test_other_names_are_the_users_choice(chetaev, line, tmp_path):
    assert chetaev(line).exit_code == 0 and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no data"),
        (b"t,x\n", "no data"),
        (b"t,x,x\n0,1,2\n", "two columns 'x'"),
        (b"t,x\n0,1,2\n", "3 values for 2 columns"),
        (b"t,x\n0,one\n", "'one' is not a number"),
        (b"t,x\n0,\x1b[2J\n", "is not a number"),
        (b"\xff\xfet\x00", "cannot be read"),
        (b"t,x\n0," + b"1" * 200_000 + b"\n", "cannot be read"),
    ],
)
def test_a_damaged_table_is_told(chetaev, content, told, tmp_path):
    (tmp_path / "s.toml").write_text(SPRING)
    (tmp_path / "data.csv").write_bytes(content)
    found = chetaev("fit s.toml data.csv --unknown k")
    assert found.exit_code == 2 and told in " ".join(found.stderr.split())
    assert "\x1b" not in found.stderr


def test_a_table_without_an_end_is_not_read_for_ever(chetaev, tmp_path, monkeypatch):
    monkeypatch.setattr("chetaev.cli.verbs.fit._LARGEST_TABLE", 1000)
    (tmp_path / "s.toml").write_text(SPRING)
    found = chetaev("fit s.toml /dev/zero --unknown k")
    assert found.exit_code == 2 and "the largest size allowed" in " ".join(found.stderr.split())
    assert "cannot be read" in chetaev("fit s.toml . --unknown k").stderr


def test_an_unknown_is_named_once(chetaev, tmp_path):
    (tmp_path / "s.toml").write_text(SPRING)
    (tmp_path / "data.csv").write_text("t,x\n0,1\n1,0.5\n")
    found = chetaev("fit s.toml data.csv --unknown k --unknown k=0,1")
    assert found.exit_code == 2 and "k is given twice" in found.stderr


def test_a_start_that_a_file_does_not_store_is_not_invented(chetaev, tmp_path):
    (tmp_path / "s.toml").write_text(SPRING + '[simulate]\nt = [0, 2]\nkeep = "final"\n')
    found = chetaev("simulate s.toml")
    assert found.exit_code == 0 and "t = 0 to 2" in found.stdout
    line = next(line for line in found.stdout.splitlines() if line.split()[:1] == ["x"])
    assert line.split()[1] == "nan" and float(line.split()[2]) == pytest.approx(-0.416147, abs=1e-6)  # cos(2)


@pytest.mark.parametrize("kind", ["{0} body", "g{algebra:30000} body", "SL2{real:2|1;0;0;-1} body", "so3{", "}"])
def test_the_kind_of_a_coordinate_is_a_word(kind):
    """Groups of a system have keys with braces, from which symbols find their group; no text of the user is such a key."""
    with pytest.raises(ch.ModelError, match="not a kind of coordinate"):
        ch.System({"A": kind}, lagrangian="0")
