"""Measure orders, accuracy and drift, and write `docs/verification.json`, from which the page is made. `make verify` calls it."""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from measure import accuracy, gallery, papers  # noqa: E402

TARGET = DOCS / "verification.json"


def main() -> int:
    """Measure all, write the file, name what missed its limit. That is part of the report; only a paper's test that fails is an error."""
    parts: dict[str, Any] = {"machine": machine()}
    for name, measure in (
        ("closed", accuracy.against_closed_forms),
        ("orders", accuracy.orders),
        ("gallery", gallery.runs),
        ("long", gallery.long_runs),
        ("papers", papers.results),
    ):
        begun = time.monotonic()
        parts[name] = measure()
        print(f"{name:<8} {time.monotonic() - begun:6.1f} s", flush=True)
    TARGET.write_text(json.dumps(rounded(parts), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = failures(parts)
    print("\n".join(lines) or "nothing missed its limit")
    print(f"wrote {TARGET.relative_to(DOCS.parent)}; make docs shows it")
    return 1 if parts["papers"]["failed"] else 0


def machine() -> dict[str, str]:
    """What it ran on."""
    names = ("numpy", "scipy", "sympy", "casadi", "llvmlite", "numba")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in names},
    }


def failures(parts: dict[str, Any]) -> list[str]:
    """What is not as it should be, in words."""
    lines = [f"order: {r['method']}, {r['title']}: {r['measured']:.2f}" for r in parts["orders"] if not r["good"]]
    lines += [f"closed form: {r['title']}: {r['errors']}" for r in parts["closed"] if not r["good"]]
    lines += [f"gallery: {r['name']}, {r['principle']}: {', '.join(r['faults'])}" for r in parts["gallery"] if not r["good"]]
    lines += [f"long run: {r['name']}: {r['outcome']}, {r['constraints']:.1e}, {r['balance']:.1e}" for r in parts["long"] if not r["good"]]
    return lines + [f"paper: {name}" for name in parts["papers"]["failed"]]


def rounded(value: Any) -> Any:
    """Three digits are enough, and a value that is no number is null."""
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    if isinstance(value, float):
        return None if value != value else float(f"{value:.3g}")
    return value


if __name__ == "__main__":
    sys.exit(main())
