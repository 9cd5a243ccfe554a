"""All benchmarks in one run: prints the tables and writes them to results.md beside this file.

python benchmarks/run.py            everything but the slowest peers
python benchmarks/run.py --quick    about five minutes on two cores
python benchmarks/run.py --long     the peer with twenty links too
python benchmarks/run.py --only integration growth
python benchmarks/run.py --note     keeps the tables with the present commit, as a note of Git, which is no part of a branch:
                                    `git log --notes=benchmarks` shows those of earlier commits
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import calls
import compiler
import ensembles
import groups
import growth
import identification
import integration
import large_input
import long_runs
import many_bodies
import methods
import pages
import paths_between
import setup_time
import slopes
import sweeps
from measure import Effort

PARTS = {
    "setup_time": setup_time,
    "large_input": large_input,
    "integration": integration,
    "ensembles": ensembles,
    "calls": calls,
    "methods": methods,
    "long_runs": long_runs,
    "growth": growth,
    "many_bodies": many_bodies,
    "groups": groups,
    "sweeps": sweeps,
    "identification": identification,
    "slopes": slopes,
    "paths_between": paths_between,
    "pages": pages,
}
RESULTS = Path(__file__).with_name("results.md")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Benchmarks of chetaev against its peers.")
    parser.add_argument("--quick", action="store_true", help="about five minutes on two cores")
    parser.add_argument("--long", action="store_true", help="peers that take minutes as well")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="some of the parts; results.md is not written")
    parser.add_argument("--note", action="store_true", help="keep the tables of all parts as a note of Git with the present commit")
    chosen = parser.parse_args()
    effort = Effort(quick=chosen.quick, long=chosen.long)
    start, load = time.perf_counter(), os.getloadavg()[0]
    written = []
    for name in chosen.only:
        for table in PARTS[name].tables(effort):
            print(table, flush=True)
            written.append(str(table))
    head = _head(effort, time.perf_counter() - start, load)
    print(head)
    if set(chosen.only) == set(PARTS):
        RESULTS.write_text("\n".join([head, *written]))
        if chosen.note:
            command = ["git", "notes", "--ref=benchmarks", "add", "--force", "--file", str(RESULTS)]
            subprocess.run(command, check=True, cwd=RESULTS.parent)  # noqa: S603


def _head(effort: Effort, seconds: float, load: float) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in "chetaev sympy scipy numpy numba llvmlite casadi".split())
    option = " --quick" if effort.quick else " --long" if effort.long else ""
    return "\n".join(
        [
            "# Benchmarks",
            "",
            f"Made by `python benchmarks/run.py{option}` on {datetime.now(UTC):%Y-%m-%d}, in {seconds:.0f} s.",
            f"{_processor()}, {os.cpu_count()} cores, load {load:.1f} at the start; Python {platform.python_version()}, {packages}, "
            f"{compiler.version()}.",
            "Ratios are medians of interleaved rounds, with the least and the largest in brackets.",
            "",
        ]
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
