"""The verb sweep: ranges, lists, samples, measures, and stores that exist."""

import chetaev as ch


def test_a_grid_with_every_measure(chetaev):
    words = 'sweep sleigh --over a=0.2:0.4:3 --over "theta\'=1,-pi/2" --measure end=x --t 0,4 -o a.zarr'
    found = chetaev(words + ' --count "turns=x\'" --first "late=x\'" --lyapunov top')
    assert found.exit_code == 0, found.stderr
    sweep = ch.open_sweep("a.zarr")
    assert sweep.dimensions == ("a", "theta'") and set(sweep.arrays) == {"end", "turns", "late", "top"}
    model = ch.gallery("sleigh")
    motion = ch.simulate(model, {**model.start.fixed, "theta'": sweep["theta'"][1]}, (0, 4), parameters={"a": sweep["a"][2]})
    assert sweep["end"][2, 1] == motion.final["x"]


def test_a_store_that_exists_needs_resume(chetaev):
    words = "sweep sleigh --over a=0.1:0.3 --sample 4 --measure end=x --t 0,1 -o a.zarr"
    assert chetaev(words).exit_code == 0
    refused = chetaev(words)
    assert refused.exit_code == 2 and "--resume goes on with it" in refused.stderr
    assert chetaev(f"{words} --resume").exit_code == 0
    assert "complete" in chetaev("sweep status a.zarr").stdout


def test_wrong_words_are_said(chetaev):
    for words, said in {
        "sweep sleigh --measure end=x -o a.zarr": "nothing is varied",
        "sweep sleigh --over a=1:2:3 -o a.zarr": "nothing is measured",
        "sweep sleigh --over a=1:2 --measure end=x -o a.zarr": "is no range",
        "sweep sleigh --over a=1:2:3 --measure end=x": "no store is named",
        "sweep sleigh --over a=1:2:3 --sample 4 --measure end=x -o a.zarr": "no range of a sample",
        "sweep sleigh --over a=1:2:3 --measure end=x --count end=y -o a.zarr": "measured twice",
        "sweep status": "no store is named",
        "sweep status nowhere.zarr": "there is no folder",
    }.items():
        found = chetaev(words)
        assert found.exit_code == 2 and said in found.stderr, words
