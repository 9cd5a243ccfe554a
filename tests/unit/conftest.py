"""What tests of several files share."""

import pytest

from browsing import CHROMIUM, FLAGS, PATIENCE


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pages are not opened (pip install playwright)"
    )
    with playwright.sync_playwright() as session:
        made = session.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield made
        made.close()
