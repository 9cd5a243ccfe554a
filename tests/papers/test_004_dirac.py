"""Time-dependent vakonomic dynamics and presymplectic geometry (Vignolo, Bruno), section 3, Hamiltonian formalism: Dirac's bracket.

Where the paper is wrong a test shows that its statement fails and that the corrected one holds. The multiplier convention is the
library's and the paper's, L + lambda g.
"""

from functools import cache

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME, Multiplier
from chetaev.core.values import Tape
from chetaev.mechanics.ranks.generic import points_on
from chetaev.singular.dirac_bergmann.classes import poisson_bracket
from chetaev.transforms.legendre import hamiltonian

GENERAL = ch.System(
    "x y z",
    lagrangian="((1 + t^2)*x'^2 + 2*y'^2 + 3*z'^2)/2 + x*z'*t - x^2*y + y*x'",
    kinematic=["z' - y*x' + t*x = 0", "y' + z^2*x' - t^2 - z*x = 0"],
    name="random affine rows",
)
DISK = ch.gallery("disk").system
CASES = {"disk": DISK, "general": GENERAL}


@cache
def reduced(name):
    return ch.reduced_phase_space(CASES[name], seconds=120)


def values(analysis, count=3):
    symbols = [*analysis.coordinates, *analysis.momenta, *analysis.source.parameters, TIME]
    found = points_on([], symbols, count=count)
    assert found
    return found


@pytest.mark.parametrize("name", CASES)
def test_eq_3_24_and_3_28_constraints(name):
    """Primary p^sigma = 0; secondary chi = -g with the velocities of the momenta, so 2r constraints, all of second class."""
    analysis = reduced(name).analysis
    r = len(CASES[name].kinematic)
    lambdas = [p for q, p in analysis.pairs if isinstance(q, Multiplier)]
    assert set(analysis.primary) == set(lambdas)
    assert len(analysis.secondary) == r and len(analysis.second_class) == 2 * r and not analysis.first_class
    rows = [row.residual for row in CASES[name].kinematic]
    velocity = {q.d(): analysis.rates[q] for q in analysis.coordinates if not isinstance(q, Multiplier)}
    # on the final manifold the rows hold for the velocities of the flow
    points = points_on(list(analysis.constraints), [*analysis.coordinates, *analysis.momenta, *analysis.source.parameters, TIME], count=3)
    assert points
    for point in points:
        for e in rows:
            assert abs(Tape([e.xreplace(velocity)])(point)[0]) < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_dirac_bracket_is_the_canonical_one(name):
    """Exactly for the disk; at random points for the general case, whose formulas are long."""
    space = reduced(name)
    names = [z for pair in space.pairs for z in pair] + list(space.multipliers)
    for i, f in enumerate(names):
        for g in names[i + 1 :]:
            a, b = space.canonical(f, g), space.dirac(f, g)
            for point in values(space.analysis, 2):
                x, y = Tape([a, b])(point)
                assert x == pytest.approx(y, rel=1e-9, abs=1e-9), (f, g)
    if name == "disk":
        assert space.agree() is True


def test_bracket_with_a_multiplier_is_not_canonical_without_the_correction():
    """The test above can fail: the Poisson bracket of the extended phase space gives 0 for {lambda, q}, Dirac's bracket does not."""
    space = reduced("disk")
    analysis = space.analysis
    lam = next(iter(space.multipliers))
    moved = [q for q, _ in space.pairs if poisson_bracket(lam, q, analysis.pairs) == 0 and sympy.simplify(space.dirac(lam, q)) != 0]
    assert moved


@pytest.mark.parametrize("name", CASES)
def test_chi_chi_block_of_the_inverse_vanishes(name):
    """Corrected statement 004-Dirac: the block of C^-1 that multiplies {f, chi}{chi, g} is zero, the others are not."""
    space = reduced(name)
    for point in values(space.analysis):
        block = Tape(list(space.chi_block))(point)
        whole = Tape(list(space.analysis.classes.inverse))(point)
        assert np.abs(block).max() < 1e-9 and np.abs(whole).max() > 1e-2


@pytest.mark.parametrize("name", CASES)
def test_eq_3_29_to_3_31_reduced_hamiltonian(name):
    """H(t, q, p) = H(t, q, p, lambda(t, q, p)), the multipliers and the flow, against the Legendre transformation of the library."""
    space = reduced(name)
    analysis = space.analysis
    legendre = hamiltonian(ch.derive(CASES[name], ch.Vakonomic()))
    other = legendre.expressions["H"]
    mine = analysis.hamiltonian.xreplace({**space.multipliers, **{p: p * 0 for q, p in analysis.pairs if isinstance(q, Multiplier)}})
    for point in values(analysis):
        a, b = Tape([mine, other])(point)
        assert a == pytest.approx(b, rel=1e-10, abs=1e-10)
        for q, p in space.pairs:
            flow = [analysis.rates[q].xreplace(space.multipliers), analysis.rates[p].xreplace(space.multipliers)]
            left = Tape(flow)({**point, **dict.fromkeys([m for z, m in analysis.pairs if isinstance(z, Multiplier)], 0.0)})
            assert np.allclose(left, Tape([other.diff(p), -other.diff(q)])(point), rtol=1e-9, atol=1e-9)


def test_footnote_3_is_false_for_indefinite_lagrangians():
    """det(g a^-1 g^T) = 0 for L = x' y', g = x': the multiplier does not follow from the momenta, further constraints arise."""
    system = ch.System("x y", lagrangian="x'*y'", kinematic=["x' = 0"])
    with pytest.raises(ch.PrincipleError, match="not functions of positions and momenta"):
        ch.reduced_phase_space(system)
    analysis = ch.dirac(system, ch.Vakonomic())
    assert len(analysis.constraints) != 2 or analysis.first_class
    assert analysis.free_functions >= 1


def test_indefinite_lagrangian_with_another_row_is_fine():
    assert ch.reduced_phase_space(ch.System("x y", lagrangian="x'*y'", kinematic=["x' = y*y'"])).agree() is True


def test_eq_3_19_kernel_of_the_extended_form_has_2r_fields():
    """Autonomous case on T(Q x R^r): d/dlambda - a^-1 g d/dv and d/dlambda'."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2", kinematic=["y' = x*x'"])
    omega, energy, variables = ch.lagrangian_forms(system, ch.Vakonomic())
    found = ch.presymplectic(omega, energy, variables)
    assert len(found.kernel.fields) == 2
    x, y = ch.coordinates("x y")
    lam = next(z for z in variables if isinstance(z, Multiplier) and not z.order)
    # 004, (3.19) with a = diag(1, 2), g = (-x, 1)
    for field in ({lam: sympy.S.One, x.d(): x, y.d(): -sympy.Rational(1, 2)}, {lam.d(): sympy.S.One}):
        assert ch.forms.contains(found.kernel, field) is True
    assert ch.forms.contains(found.kernel, {lam: sympy.S.One, x.d(): -x, y.d(): -sympy.Rational(1, 2)}) is False
    # (3.20): the algorithm stops at the first step, with g = 0
    assert len(found.steps) == 1 and len(found.constraints) == 1
    assert sympy.cancel(found.constraints[0] / (y.d() - x * x.d())).is_number and found.dimension == len(variables) - 1


@pytest.mark.erratum(
    "002",
    "sections 3.1.1, 4.1, 5.1",
    r"$\ker\Omega_L = \{\partial/\partial v_s\}$",
    r"two-dimensional: $\partial_s - W^{ij}L_{sv^j}\partial_{v^i}$ as well; the conclusions survive",
)
def test_002_kernel_on_t_of_q_times_r_is_two_dimensional():
    """002, 3.1.1 prints ker = span{d/dv_s}; with W = L_vv the second field is d/ds - W^-1 L_sv d/dv."""
    q, s = ch.coordinates("q s")
    v, v_s = q.d(), s.d()
    lagrangian = (1 + q**2) * v**2 / 2 + s * v * q - q**4
    omega = -ch.forms.d(lagrangian.diff(v) * ch.forms.d(q))
    variables = [q, s, v, v_s]
    kernel = ch.forms.characteristic_distribution(omega, variables)
    assert ch.forms.rank(kernel) == 2
    for field in ({v_s: sympy.S.One}, {s: sympy.S.One, v: -q / (1 + q**2)}):
        assert ch.forms.contains(kernel, field) is True
    assert ch.forms.contains(kernel, {s: sympy.S.One}) is False
