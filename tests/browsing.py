"""The browser that tests open pages in: Debian's Chromium, or Chrome."""

import glob
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or next(iter(glob.glob("/usr/bin/google-chrome*")), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 300_000
"""Milliseconds that the browser has for its start, for a page and for a condition: no test of a page is a test of speed."""
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: pages are not opened (apt-get install chromium)")
