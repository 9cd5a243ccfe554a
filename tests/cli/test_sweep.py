"""The verb sweep: ranges, lists, samples, measures, and stores that exist."""

import numpy as np

import chetaev as ch
from chetaev.sweeps.store import Store

SPRING = """
name = "spring"
lagrangian = "x'^2/2 - a*x^2/2"

[coordinates]
x = "line"

[parameters]
a = 1.0

[principle]
name = "hamilton"

[initial]
fixed = ["x = 1", "x' = 0"]

[simulate]
t = [0.0, 3.0]
"""


def test_a_grid_with_every_measure(chetaev):
    words = 'sweep sleigh --over a=0.2:0.4:3 --over "theta\'=1,-pi/2" --measure end=x --t 0,4 -o a.zarr'
    found = chetaev(words + ' --count "turns=x\'" --first "late=x\'" --lyapunov top')
    assert found.exit_code == 0, found.stderr
    sweep = ch.open_sweep("a.zarr")
    assert sweep.dimensions == ("a", "theta'") and set(sweep.arrays) == {"end", "turns", "late", "top"}
    model = ch.gallery("sleigh")
    start, events = {**model.start.fixed, "theta'": sweep["theta'"][1]}, ["x'", "x'"]  # which steps are chosen to resolve
    motion = ch.simulate(model, start, (0, 4), parameters={"a": sweep["a"][2]}, events=events)
    assert sweep["end"][2, 1] == motion.final["x"]


def test_a_store_that_exists_needs_resume(chetaev):
    words = "sweep sleigh --over a=0.1:0.3 --sample 4 --measure end=x --t 0,1 -o a.zarr"
    assert chetaev(words).exit_code == 0
    refused = chetaev(words)
    assert refused.exit_code == 2 and "--resume continues it" in refused.stderr
    assert chetaev(f"{words} --resume").exit_code == 0
    assert "complete" in chetaev("sweep status a.zarr").stdout


def test_a_sweep_that_was_interrupted_goes_on_with_workers(chetaev, tmp_path, monkeypatch):
    """The call of the handbook, with x = cos(sqrt(a) t) at the end."""
    (tmp_path / "model.toml").write_text(SPRING)
    words = "sweep model.toml --over a=0.1:1:20 --measure end=x --chunk 5 -o chart.zarr"
    write, written = Store.write, []

    def interrupted(self, *given):
        if len(written) == 2:
            raise KeyboardInterrupt
        write(self, *given)
        written.append(given[0])

    with monkeypatch.context() as during:
        during.setattr(Store, "write", interrupted)
        stopped = chetaev(words)
    assert stopped.exit_code == 130, stopped.stderr
    told = chetaev("sweep status chart.zarr").stdout
    assert "2 of 4 chunks" in told and "no process works on it" in told
    found = chetaev(f"{words} --workers 2 --resume")
    assert found.exit_code == 0, found.stderr
    sweep = ch.open_sweep("chart.zarr")
    assert "complete" in chetaev("sweep status chart.zarr").stdout and sweep.complete
    np.testing.assert_array_equal(sweep["a"], np.linspace(0.1, 1, 20))
    np.testing.assert_allclose(sweep["end"], np.cos(3 * np.sqrt(np.linspace(0.1, 1, 20))), atol=1e-7)


def test_wrong_words_are_said(chetaev):
    for words, said in {
        "sweep sleigh --measure end=x -o a.zarr": "nothing is varied",
        "sweep sleigh --over a=1:2:3 -o a.zarr": "nothing is measured",
        "sweep sleigh --over a=1:2 --measure end=x -o a.zarr": "is not a range",
        "sweep sleigh --over a=1:2:3 --measure end=x": "no store is named",
        "sweep sleigh --over a=1:2:3 --sample 4 --measure end=x -o a.zarr": "not a range of a sample",
        "sweep sleigh --over a=1:2:3 --measure end=x --count end=y -o a.zarr": "measured twice",
        "sweep status": "no store is named",
        "sweep status nowhere.zarr": "there is no folder",
    }.items():
        found = chetaev(words)
        assert found.exit_code == 2 and said in found.stderr, words
