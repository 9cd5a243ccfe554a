"""Build the site: `make docs` runs all code and galleries, `--light` (in `make test`) runs nothing and only checks the pages.

The sources are copied to `build/docs/source`, the generated pages are added there, and Sphinx turns every warning into an error.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
BUILD = DOCS.parent / "build" / "docs"
sys.path.insert(0, str(DOCS))


def main() -> int:
    """Stage, generate, run, build; the exit code of Sphinx."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--light", action="store_true", help="run no code, draw no pictures")
    options.add_argument("--keep", action="store_true", help="use the pictures and gallery pages of the last full build")
    light, keep = (given := options.parse_args()).light, given.keep
    source, html = BUILD / ("light-source" if light else "source"), BUILD / ("light" if light else "html")
    pictures = BUILD / "pictures"
    stage(source, keep)
    generate(source, None if light else pictures, keep)
    code = build(source, html, None if light else pictures)
    print(f"{'wrote' if code == 0 else 'failed to write'} {(html / 'index.html').relative_to(DOCS.parent)}")
    return code


def stage(source: Path, keep: bool) -> None:
    """A fresh copy of the pages, next to which the generated ones are written."""
    for path in source.glob("*") if source.exists() else ():
        if not (keep and path.name in ("gallery", "pictures", "_static")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(DOCS, source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "build.py", "verify.py", "homes.py"))


def generate(source: Path, pictures: Path | None, keep: bool) -> None:
    """Write the generated pages; with `pictures`, run the code of all pages."""
    from generate import api, gallery, papers, verification

    api.write(source)
    papers.write(source)
    verification.write(source)
    if not keep:
        gallery.write(source, pictures)
    if pictures:
        draw_pages(pictures)


def draw_pages(pictures: Path) -> None:
    """Run the code of every page in the folder where its pictures belong."""
    from generate.blocks import pages, run

    for page in pages(DOCS):
        folder = pictures / page.relative_to(DOCS).with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        run(page, folder)


def build(source: Path, html: Path, pictures: Path | None) -> int:
    """Call Sphinx with warnings as errors."""
    from sphinx.cmd.build import main as sphinx

    given = ["-b", "html", "-W", "--keep-going", "-q", "-d", str(BUILD / "doctrees" / html.name)]
    if pictures:
        given += ["-D", f"pictures={pictures}", "-D", "pictures_required=1"]
    else:
        given += ["-D", "toc_object_entries=0"]  # half of the time goes into the side bar otherwise
    return sphinx([*given, str(source), str(html)])


if __name__ == "__main__":
    sys.exit(main())
