"""What a newcomer meets first: messages that say what to do next."""

import pytest

import chetaev as ch

SPRING = ch.derive(ch.System("x", "m k", lagrangian="m*x'^2/2 - k*x^2/2", name="spring"))
START = {"x": 1, "x'": 0}


def test_a_value_that_is_no_number_says_so():
    with pytest.raises(ch.NotationError, match="m needs a number, such as") as told:
        ch.simulate(SPRING, START, (0, 1), parameters={"m": "abc", "k": 1})
    assert "abc" in str(told.value) and "parameter m" in str(told.value)


@pytest.mark.parametrize(
    ("lagrangian", "start", "hint"),
    [("m*x'^2/2 - k*x^2/2", START, "another value of m"), ("(x - k)^2*x'^2/2", {"x": 1, "x'": 1}, "a state off")],
)
def test_a_singular_mass_blames_the_parameter_and_a_singular_place_the_state(lagrangian, start, hint):
    equations = ch.derive(ch.System("x", "m k", lagrangian=lagrangian, name="spring"))
    with pytest.raises(ch.StateError) as told:
        ch.simulate(equations, start, (0, 1), parameters={"m": 0, "k": 1})
    assert f"-> {hint}" in str(told.value)


def test_the_letter_a_is_a_symbol_before_punctuation_and_an_article_elsewhere():
    from chetaev.report.prose import line

    names = ["a", "b", "c"]
    assert line("half axes a, b, c; a body", names).count("<mi>a</mi>") == 1
    assert line("ahead by the distance a.", names).count("<mi>a</mi>") == 1
    assert "<math" not in line("a wheel is a body", names)


@pytest.mark.parametrize("name", ["run.csv", "run.nc", "run.mat"])
def test_a_table_is_not_a_motion_again(name, tmp_path):
    path = ch.simulate(SPRING, START, (0, 1), parameters={"m": 1, "k": 1}).save(tmp_path / name)
    with pytest.raises(ch.ModelError, match="a table has the values of a motion") as told:
        ch.load(path)
    assert "motion.save('run.npz')" in str(told.value)


@pytest.mark.parametrize("name", ["run.csv", "run.parquet", "run.npz", "run.toml"])
def test_a_file_that_does_not_exist(name, tmp_path):
    with pytest.raises(ch.ModelError, match="No such file"):
        ch.load(tmp_path / name)


def test_a_simplified_morphism_carries_the_same_motion():
    """The sleigh in momenta: the simplified maps and rows agree with the motion of the given system."""
    sleigh = ch.gallery("sleigh")
    found = ch.hamiltonian(sleigh).simplify()
    assert found.check(ch.simulate(sleigh, t=(0, 2), tolerance=1e-11)).largest < 1e-8
