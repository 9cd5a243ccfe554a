"""What workers of Dask do once, and what they do for every chunk: counted in the workers themselves."""

from dataclasses import replace

import numpy as np

import chetaev as ch
from chetaev.core.support.frozen import Frozen
from chetaev.sweeps.cluster import client_of, run_on
from chetaev.sweeps.points import read_points
from chetaev.sweeps.progress import Bar
from chetaev.sweeps.study import Study, recipe_of
from sweeping import PENDULUM

COUNTING = """
from chetaev.numerics.machine import engine
from chetaev.sweeps import study

study.counted = {"derived": 0, "compiled": 0, "after": []}
compiled, derive, run = engine._compiled, study.derive, study.Study.run

def one_more(name, function):
    def counted(*given):
        study.counted[name] += 1
        return function(*given)
    return counted

def chunk(self, *given):
    found = run(self, *given)
    study.counted["after"].append((study.counted["derived"], study.counted["compiled"]))
    return found

engine._compiled, study.derive, study.Study.run = one_more("compiled", compiled), one_more("derived", derive), chunk
"""
COUNTED = "__import__('chetaev.sweeps.study', fromlist=['study']).counted"


def test_each_worker_derives_and_compiles_once():
    new = ch.System("th", "g c", lagrangian="th'^2/2 + g*cos(th) - 0.0219*th^4", forces={"th": "-c*th'"})
    made = Study(replace(PENDULUM, system=new), Frozen({"end": "th", "top": ch.largest_lyapunov(3)}), "test")
    points = read_points({"g": ch.grid(1, 8, 24)}, "test")
    jobs = [((k,), points.columns((slice(2 * k, 2 * k + 2),))) for k in range(12)]
    with client_of("local", 2, "test") as client, Bar(False, 0, 0, "") as bar:
        client.wait_for_workers(2)
        client.run(exec, COUNTING, {})
        found = {at: values["end"] for at, values, _, _ in run_on(client, recipe_of(made), jobs, bar, "test")}
        workers = list(client.run(eval, COUNTED).values())
    assert sum(len(counted["after"]) for counted in workers) == len(jobs) == len(found)
    busy = [counted for counted in workers if counted["after"]]
    assert busy
    for counted in busy:
        derived, compiled = counted["after"][0]
        assert derived == 1 and compiled > 0
        assert counted["after"] == [(derived, compiled)] * len(counted["after"])
    here = np.concatenate([made.run(columns, 1)[0]["end"] for _, columns in jobs])
    np.testing.assert_array_equal(np.concatenate([found[at] for at, _ in jobs]), here)
