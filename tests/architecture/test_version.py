"""The version number has one source; the files that must repeat it agree with it."""

from pathlib import Path

from chetaev.core.support.version import VERSION

ROOT = Path(__file__).parents[2]


def test_files_that_repeat_the_version_agree_with_it():
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    citing = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    assert f"version {VERSION}." in citing and f"\n{VERSION}\n" in citing
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
