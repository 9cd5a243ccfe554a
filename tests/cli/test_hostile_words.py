"""Words of the command line, and names of files, that a terminal would obey are shown by their numbers."""

import unicodedata

import pytest

ESCAPE = "\x1b]0;title\x07"


def acting(text):
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t"]


@pytest.mark.parametrize(
    "line",
    [
        "derive '{}.toml'",
        "derive '{}'",
        "'{}'",
        "derive sleigh '--{}'",
        "derive sleigh --principle '{}'",
        "derive sleigh --code '{}'",
        "simulate sleigh --set '{}=1'",
        "simulate sleigh --t '{}'",
        "simulate sleigh -o '{}'",
        "simulate sleigh --method '{}'",
        "simulate sleigh --branch '{}'",
        "simulate sleigh --gauge '{}=t'",
        "transform sleigh '{}'",
        "gallery show '{}'",
        "gallery write sleigh '{}/a.toml'",
        "compare sleigh --principles '{}'",
    ],
)
def test_a_hostile_word_is_told_visibly(chetaev, line):
    found = chetaev(line.format(ESCAPE))
    assert found.exit_code not in (0, 1) and found.stderr
    assert not acting(found.stdout) and not acting(found.stderr)


def test_a_file_with_a_hostile_name_is_written_and_told_visibly(chetaev, tmp_path):
    found = chetaev(f"gallery write sleigh '{ESCAPE}.toml'")
    assert found.exit_code == 0 and (tmp_path / f"{ESCAPE}.toml").is_file()
    assert not acting(found.stderr) and "\\x1b" in found.stderr
    found = chetaev(f"classify '{ESCAPE}.toml'")
    assert found.exit_code == 0 and not acting(found.stdout)
