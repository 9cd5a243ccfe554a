"""The verification report, from the file that `make verify` has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generate.markdown import table

DATA = Path(__file__).parents[1] / "verification.json"
GOOD, BAD = "yes", "**no**"
HYPHEN = "\N{NON-BREAKING HYPHEN}"


def write(source: Path) -> None:
    """Write `source/verification.md`."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    parts = [
        *introduction(data),
        *orders(data["orders"]),
        *closed(data["closed"]),
        *gallery(data["gallery"]),
        *long_runs(data["long"]),
        *papers(data["papers"]),
    ]
    (source / "verification.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def size(value: float | None) -> str:
    """A small number."""
    return "" if value is None else "0" if value == 0 else f"{value:.1e}".replace("-", HYPHEN)


def introduction(data: dict[str, Any]) -> list[str]:
    """What was measured where, and what failed."""
    bad = [r for part in ("orders", "closed", "gallery", "long") for r in data[part] if not r["good"]]
    names = ", ".join(f"{name} {number}" for name, number in data["machine"].items())
    verdict = f"**{len(bad)} of the lines below miss a limit**, marked no." if bad else "All lines below are within their limits."
    return [
        "# Verification report",
        f"Measured by `make verify`, failures included, on {names}. {verdict} Seconds are left out: they belong to a machine.",
    ]


def orders(lines: list[dict[str, Any]]) -> list[str]:
    """Claimed and measured orders."""
    return [
        "## Order",
        "The slope of the error over the number of steps, on motions known in closed form. With step control the slope may exceed the "
        "order, because fewer of the steps are wasted at tight tolerances; it must not fall short of it by more than 0.75.",
        table(["method", "motion", "claimed", "measured", "error", "steps", "as claimed"], [_order_row(r) for r in lines]),
    ]


def _order_row(r: dict[str, Any]) -> list[str]:
    measured = "" if r["measured"] is None else f"{r['measured']:.2f}"
    errors = f"{size(r['errors'][0])} to {size(r['errors'][-1])}"
    steps = f"{r['steps'][0]:.0f} to {r['steps'][-1]:.0f}"
    return [r["method"], r["title"], str(r["claimed"]), measured, errors, steps, GOOD if r["good"] else BAD]


def closed(lines: list[dict[str, Any]]) -> list[str]:
    """Errors against closed forms."""
    rows = [[r["title"], r["source"], *map(size, r["errors"]), " / ".join(map(str, r["steps"])), GOOD if r["good"] else BAD] for r in lines]
    return [
        "## Accuracy against closed forms",
        "The largest error of a coordinate over the whole motion, relative to its size, by the default method. A tolerance bounds the "
        "error of a step; the error of a motion adds up, and may be a thousand times larger before a line fails.",
        table(["motion", "closed form", "tolerance 1e-6", "1e-9", "1e-12", "steps", "good"], rows),
    ]


def gallery(lines: list[dict[str, Any]]) -> list[str]:
    """Drift, invariants and certificates of the gallery."""
    rows = [_gallery_row(r) for r in lines]
    return [
        "## The gallery at its own settings",
        "Every system under each of its principles, at the tolerance 1e-9 unless its model says otherwise. *Constraints*: the largest "
        "residual of any row, or derivative of a row, that restricts the state. *Balance*: energy minus work. *Invariants*: the change of "
        "known constants of motion. *Certificate*: the worst residual of `motion.verify()`, which uses nothing of the solver. *Distance*: "
        "how far a coordinate is at the end from a run by Taylor series at the tolerance 1e-14. "
        "Balance, invariants and distance are relative to the larger of 1 and the quantity itself. "
        "Limits: 1e-11 for constraints, 1e-6 for balance, invariants and distance, 1e-5 for the certificate, which differentiates.",
        table(["system", "principle", "outcome", "constraints", "balance", "invariants", "certificate", "distance", "good"], rows),
    ]


def _gallery_row(r: dict[str, Any]) -> list[str]:
    sizes = [size(r.get(key)) for key in ("constraints", "balance", "invariants", "certificate", "distance")]
    return [
        f"[{r['name']}](gallery/{r['name']}.md)",
        f"`{r['principle']}`",
        r["outcome"],
        *sizes,
        GOOD if r["good"] else f"{BAD}: {', '.join(r['faults'])}",
    ]


def long_runs(lines: list[dict[str, Any]]) -> list[str]:
    """Fifty intervals."""
    rows = [
        [
            f"[{r['name']}](gallery/{r['name']}.md)",
            f"{r['t']:g}",
            r["outcome"],
            size(r["constraints"]),
            size(r["balance"]),
            GOOD if r["good"] else BAD,
        ]
        for r in lines
    ]
    return [
        "## Long runs",
        'Conservative systems for fifty times their interval, `keep="final"`. Constraints must stay at round-off; the energy wanders by '
        'the tolerance per step (`conserve="energy"` would stop that).',
        table(["system", "up to t", "outcome", "constraints", "energy", "good"], rows),
    ]


def papers(results: dict[str, Any]) -> list[str]:
    """How many tests of the papers hold."""
    counts = ", ".join(f"{number}: {count}" for number, count in sorted(results["counts"].items()))
    failed = "; failed: " + ", ".join(f"`{name}`" for name in results["failed"]) if results["failed"] else "; all hold"
    return ["## The papers", f"Tests that derive the equations of [the papers](papers/index.md) by number: {counts}{failed}."]
