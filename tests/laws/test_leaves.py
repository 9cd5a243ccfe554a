"""What holds for the leaves of every gallery system that the budget reaches.

The velocities of a group coordinate count as those of any other. Rows that contain entries of its matrix are no functions of jets, and the
algorithm refuses them.
"""

from functools import cache

import pytest
from leaf_soundness import faults

import chetaev as ch
from chetaev.core.symbols import TIME, Entry
from chetaev.singular.dynamical.dynamical_form import form_of

SECONDS = 5
"""What a tree may take where it need not be complete."""
SINGLE = ["cartesian-pendulum", "constant-speed", "disk", "knife-edge", "sleigh", "pais-uhlenbeck", "foucault", "two-firms", "transformer"]
"""Systems with one leaf under their own principle."""
WHOLE = 30
"""What a tree of these may take; all are complete long before."""
FAR = {"bicycle", "cart-pendulum", "chain", "double-pendulum", "greidanus", "greidanus-x", "leaning-disk", "prescribed-curvature", "rocard"}
FAR |= {"roller-racer", "snakeboard", "trailer", "viscous-particle"}
"""Systems without a finished leaf after seven seconds: that the time ends with a reason is seen as well after half a second."""
BRIEF = 0.5
CASES = [(name, principle) for name in ch.gallery() for principle in ch.gallery(name).principles]
WITH_PLACES = {"chaplygin-ball", "elastic-ball-inhomogeneous", "lagrange-top", "rattleback", "rolling-disk", "veselova"}
"""Group systems whose rows contain the entries of the matrix."""


@cache
def tree_of_rows(form, variational, seconds):
    assert form.variational is variational  # equal forms may differ in that
    return ch.constraint_algorithm(form, seconds=seconds)


def tree_of(name, equations):
    """The tree of some equations; principles that give the same rows share one."""
    form = form_of(equations)
    single = name in SINGLE and equations.principle == ch.gallery(name).principle
    return tree_of_rows(form, form.variational, WHOLE if single else BRIEF if name in FAR else SECONDS)


@pytest.mark.parametrize(("name", "principle"), CASES, ids=[f"{name}-{principle}" for name, principle in CASES])
def test_leaves_of_the_gallery_are_sound(name, principle):
    """Rows and derivatives of constraints vanish at real points of every leaf, whether the tree is complete or not."""
    model = ch.gallery(name).under(principle)
    equations = ch.derive(model)
    if name in WITH_PLACES:
        assert any(isinstance(z, Entry) for row in equations.rows for z in row.residual.free_symbols)
        with pytest.raises(ch.ModelError, match="A is an element of SO3, and a dynamical form works in ordinary coordinates"):
            ch.constraint_algorithm(equations, seconds=SECONDS)
        return
    tree = tree_of(name, equations)
    assert tree.complete or tree.reason
    for leaf in tree.leaves:
        if leaf.real != "yes":
            assert leaf.real == "undecided"
            continue
        values = {key: float(v) for key, v in model.parameters.items()}
        count, worst, dimensions = faults(leaf, values)
        if not count:  # a leaf may be real for other values of the parameters only
            count, worst, dimensions = faults(leaf)
        assert count and worst < 1e-12
        assert dimensions == {leaf.dimension}


@pytest.mark.parametrize("name", SINGLE)
def test_dimension_agrees_with_the_numerical_analysis(name):
    """The dimension of the only leaf, time not counted, is the number of free initial values found from ranks at random points."""
    model = ch.gallery(name)
    tree = tree_of(name, ch.derive(model))
    (leaf,) = tree.leaves
    assert tree.complete and leaf.free_functions == 0
    assert ch.analyze(ch.derive(model)).dimension == leaf.dimension - 1


@pytest.mark.parametrize("name", SINGLE)
def test_rates_agree_with_the_numerical_evaluation(name):
    """Accelerations on the leaf are those that `evaluate` finds by solving the rows at a state."""
    model = ch.gallery(name)
    equations = ch.derive(model)
    (leaf,) = tree_of(name, equations).leaves
    parameters = {key: float(v) for key, v in model.parameters.items()}
    now = ch.evaluate(equations, model.start, parameters=parameters, t=0.3)
    values = {z: now[z.name] for z in leaf.form.phase if z.name in now} | {p: parameters[p.name] for p in leaf.form.parameters}
    values[TIME] = 0.3
    compared = 0
    for q in equations.system.coordinates:
        jet = q.d(leaf.form.order - 1)
        rate = leaf.field[jet.name]
        if rate.free_symbols <= values.keys() and jet.d().name in now:
            assert float(rate.xreplace(values)) == pytest.approx(now[jet.d().name], abs=1e-9, rel=1e-9)
            compared += 1
    assert compared
