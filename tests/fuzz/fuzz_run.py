"""Larger runs: `python tests/fuzz/fuzz_run.py narrow --seed 7 --count 100 --verbs evaluate,simulate`.

Prints a program for every failing case and the counts at the end.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_judge import VERBS, Judge, script, settled
from fuzz_kinds import KINDS, case
from fuzz_mechanics import NoOpinion


def _stop(*_: object) -> None:
    raise TimeoutError


def run(name: str, seed: str, count: int, verbs: tuple[str, ...], quiet: bool, first: int = 0, limit: float = 60.0) -> Counter[str]:
    counts: Counter[str] = Counter()
    for i in range(first, first + count):
        drawn = case(name, seed, i)
        begun = time.process_time()
        judge = None
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        try:
            judge = Judge(drawn)
            findings = judge.judge(verbs)
        except TimeoutError:
            counts["slow"] += 1
            print(f"# {name} {i}: more than {limit:g} s of CPU", flush=True)
            if not quiet:
                print(script(drawn, judge), flush=True)
            continue
        except (NoOpinion, OverflowError, ZeroDivisionError, ValueError, KeyError) as reason:
            counts["no opinion"] += 1
            if "-v" in sys.argv:
                print(f"# no opinion on {name} {i}: {reason}")
            if not isinstance(reason, NoOpinion):
                counts["reference failed"] += 1
                print(f"# reference failed: {name} {i}: {type(reason).__name__}: {reason}")
                if "-v" in sys.argv:
                    traceback.print_exc()
            continue
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        counts["judged"] += 1
        spent = time.process_time() - begun
        findings = settled(drawn, findings)
        worst = next((w for w in ("silent", "error", "told") if any(f.way == w for f in findings)), "right")
        counts[worst] += 1
        if findings:
            print(f"# {name} {i} ({spent:.1f} s): " + " | ".join(map(str, findings)), flush=True)
            if not quiet:
                print(script(drawn, judge), flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--seed", default="7")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbs", default=",".join(VERBS))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of CPU for one case")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("-v", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, _stop)
    for name in given.kinds or list(KINDS):
        begun = time.process_time()
        counts = run(name, given.seed, given.count, tuple(given.verbs.split(",")), given.quiet, given.first, given.limit)
        print(f"== {name}: {dict(counts)} in {time.process_time() - begun:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
