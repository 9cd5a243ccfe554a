"""Offsets, consistent data, accelerations and multipliers at a state."""

import math

import pytest

import chetaev as ch
from chetaev.mechanics.structure import structure

PENDULUM = ch.System("x y", "m g l", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["x^2 + y^2 = l^2"], name="pendulum")
VALUES = {"m": 1.3, "g": 9.81, "l": 2.0}


def test_offsets_of_rocards_tyre():
    """design: c = (0,0,0,0,0,1,1,0), d = (2,2,1,2,2 | 0,0,0), seven free initial values."""
    found = structure(ch.derive(ch.gallery("rocard")))
    assert found.row_offsets == (0, 0, 0, 0, 0, 1, 1, 0)
    assert found.unknown_offsets == (2, 2, 1, 2, 2, 0, 0, 0)
    assert found.dimension == 7


@pytest.mark.parametrize(
    ("name", "dimension"),
    [
        ("cartesian-pendulum", 2),
        ("sleigh", 5),
        ("disk", 6),
        ("rocard", 7),
        ("greidanus", 9),
        ("cart-pendulum", 3),
        ("pais-uhlenbeck", 4),
        ("damped-oscillator", 3),
        ("double-pendulum", 4),
        ("leaning-disk", 8),
        ("constant-speed", 3),
        ("prescribed-curvature", 4),
    ],
)
def test_numbers_of_free_initial_values(name, dimension):
    assert structure(ch.derive(ch.gallery(name))).dimension == dimension


def test_vakonomic_multipliers_are_state():
    found = structure(ch.derive(ch.gallery("disk").system, ch.Vakonomic()))
    assert {z.name for z in found.state} >= {"lambda1", "lambda2"}
    assert found.dimension == 8


def test_jets_that_only_seem_to_occur_do_not_count():
    """L + dG/dt writes x''' and cancels it: the signature is that of L."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + D(x*y'*sin(x))")
    found = structure(ch.derive(system))
    assert found.signature == ((2, None), (None, 2))
    assert found.unknown_offsets == (2, 2)


def test_missing_velocities_follow_from_the_constraints():
    equations = ch.derive(ch.gallery("sleigh"))
    model = ch.gallery("sleigh")
    full = ch.evaluate(model)
    others = {"x": full["x"], "y": full["y"], "theta": full["theta"], "y'": full["y'"], "theta'": full["theta'"]}
    assert ch.evaluate(equations, others, parameters=model.parameters)["x'"] == pytest.approx(full["x'"], abs=1e-13)


@pytest.mark.parametrize("side", [1, -1])
def test_a_guess_selects_the_root(side):
    start = ch.State({"x": 1.2, "x'": 0.4}, {"y": side * 1.0})
    now = ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), start, parameters=VALUES)
    assert now["y"] == pytest.approx(side * 1.6, abs=1e-13)
    assert now["y'"] == pytest.approx(-side * 0.3, abs=1e-13)


def test_a_guess_may_be_moved_but_fixed_values_stay():
    start = ch.State({"x": 1.2}, {"y": -1.5, "x'": 0.3, "y'": 0.1})
    now = ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), start, parameters=VALUES)
    assert now["x"] == 1.2
    assert now["y"] == pytest.approx(-1.6, abs=1e-12)
    assert now["x"] * now["x'"] + now["y"] * now["y'"] == pytest.approx(0, abs=1e-12)


def test_data_that_contradict_by_round_off_are_projected():
    start = {"x": 1.2, "y": -1.6 + 3e-10, "x'": 0.4}
    now = ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), start, parameters=VALUES)
    assert now["x"] ** 2 + now["y"] ** 2 == pytest.approx(4, abs=1e-14)


def test_values_may_be_texts_with_parameters():
    now = ch.evaluate(
        ch.derive(PENDULUM, ch.DAlembert()),
        {"x": "l*sin(pi/6)", "y": "-l*cos(pi/6)", "x'": "sqrt(2)"},
        parameters=VALUES | {"g": "98.1/10"},
    )
    assert now["x"] == pytest.approx(1.0)


def test_redundant_constraints_give_the_least_multipliers_and_the_true_motion():
    """A row stated twice: accelerations and reactions are unique, multipliers are shared out with the least norm."""
    single = ch.derive(PENDULUM, ch.DAlembert())
    double = ch.derive(PENDULUM.replace(kinematic=["x^2 + y^2 = l^2", "2*x^2 + 2*y^2 = 2*l^2"]), ch.DAlembert())
    start = {"x": 1.2, "y": -1.6, "x'": 0.4}
    one, two = (ch.evaluate(e, start, parameters=VALUES) for e in (single, double))
    assert [two[n] for n in ("x''", "y''")] == pytest.approx([one[n] for n in ("x''", "y''")], abs=1e-12)
    assert two.reaction("x") == pytest.approx(one.reaction("x"), abs=1e-12)
    assert (two["lambda1"], two["lambda2"]) == pytest.approx((one["lambda1"] / 5, 2 * one["lambda1"] / 5), abs=1e-12)


def test_a_singular_state_is_refused_even_if_only_a_multiplier_is_open():
    """Appell-Hamel at rest: the constraint's differential vanishes, and free fall would break the constraint."""
    model = ch.gallery("appell-hamel")
    with pytest.raises(ch.StateError, match="lambda1 is not determined"):
        ch.evaluate(model, dict.fromkeys(("x", "y", "z", "x'", "y'", "z'"), 0))


def test_rows_nonlinear_in_the_accelerations_follow_the_guess():
    """x''^2 + y''^2 = 1 under Chetaev with L = (x'^2 + y'^2)/2 - x: lambda (2 x'', 2 y'') = (x'' + 1, y'')."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - x", kinematic=["x''^2 + y''^2 = 1"])
    equations = ch.derive(system, ch.Chetaev())
    rest = {"x": 0, "y": 0, "x'": 0, "y'": 0}
    now = ch.evaluate(equations, ch.State(rest, {"x''": -0.9, "y''": 0.0, "lambda1": 0.1}))
    assert (now["x''"], now["y''"], now["lambda1"]) == pytest.approx((-1, 0, 0), abs=1e-9)


def test_inputs_are_bound_late_and_differentiated():
    system = ch.System("x", "w", lagrangian="x'^2/2 + x*u''", inputs={"u": None})
    equations = ch.derive(system)
    now = ch.evaluate(equations, {"x": 0, "x'": 0}, parameters={"w": 3}, inputs={"u": "sin(w*t)"}, t=0.2)
    assert now["x''"] == pytest.approx(-9 * math.sin(0.6))


def test_evaluation_is_a_mapping_that_also_reads_expressions():
    now = ch.evaluate(ch.gallery("rocard"))
    assert set(now) >= {"psi''", "epsilon''", "lambda3"}
    assert "psi'''" not in set(now)
    assert now["M*x1'' + lambda1"] == pytest.approx(0, abs=1e-14)
    assert now.reaction("x1") == pytest.approx(-now["lambda1"])
    assert "psi''" in str(now)


def test_the_vakonomic_reaction_is_what_the_multipliers_add():
    model = ch.gallery("disk").under(ch.Vakonomic())
    now = ch.evaluate(model)
    assert now.reaction("x") == pytest.approx(now["m*x''"], abs=1e-13)


def test_residual_by_row():
    equations = ch.derive(PENDULUM, ch.DAlembert())
    jets = {"x": 1, "y": 2, "x'": 0, "y'": 0, "x''": 3, "y''": 4, "lambda1": 5}
    left = ch.residual(equations, jets, parameters=VALUES)
    assert left == pytest.approx({"E_x": 1.3 * 3 - 2 * 5, "E_y": 1.3 * (4 + 9.81) - 4 * 5, "kinematic[0]": 1.0})


@pytest.mark.parametrize("scale", [1e-27, 1e-12, 1.0, 1e24])
def test_units_do_not_matter(scale):
    """Masses and lengths of any size: an electron, a planet, both at once."""
    system = ch.System("x y", "m M k", lagrangian="m/2*x'^2 + M/2*y'^2 - k*x*y")
    now = ch.evaluate(ch.derive(system), {"x": 1, "y": 2, "x'": 0, "y'": 0}, parameters={"m": scale, "M": 2e30, "k": scale})
    assert (now["x''"], now["y''"]) == pytest.approx((-2.0, -scale / 2e30), rel=1e-12)


@pytest.mark.parametrize("length", [1e-9, 1e11])
def test_a_pendulum_of_any_length(length):
    start = {"x": 0.6 * length, "y": -0.8 * length, "x'": 0}
    now = ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), start, parameters={"m": 1e-5, "g": 9.81, "l": length})
    assert now["x''"] == pytest.approx(9.81 * 0.6 * -0.8, rel=1e-9)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_contradictions_are_judged_by_the_size_of_the_terms(size):
    rolling = ch.derive(ch.System("x theta", "R", lagrangian="(x'^2 + theta'^2)/2", kinematic=["x' = R*theta'"]), ch.DAlembert())
    rest = {"x": 0, "theta": 0, "theta'": size}
    assert ch.evaluate(rolling, rest | {"x'": size}, parameters={"R": 1})["x'"] == size
    with pytest.raises(ch.InitialError, match="contradict"):
        ch.evaluate(rolling, rest | {"x'": 1.01 * size}, parameters={"R": 1})


def test_consistent_data_are_not_touched():
    now = ch.evaluate(ch.gallery("sleigh"))
    for name, v in ch.gallery("sleigh").start.fixed.items():
        assert now[name] == v


def test_free_multipliers_are_all_asked_for():
    model = ch.gallery("disk")
    with pytest.raises(ch.InitialError, match=r"lambda1 lambda2") as caught:
        ch.evaluate(ch.derive(model.system, ch.Vakonomic()), model.start, parameters=model.parameters)
    assert '"lambda1": ..., "lambda2": ...' in str(caught.value)


def test_a_multiplier_that_the_other_data_determine_is_found():
    """Optimal control: minimise the integral of u^2/2 with x' = -x + t*u. E_u is u + t*lambda1*(-1) = 0 up to sign."""
    system = ch.System("x u", lagrangian="u^2/2", kinematic=["x' = -x + t*u"])
    now = ch.evaluate(ch.derive(system, ch.Vakonomic()), {"x": 0.3, "u": 1.0}, t=2.0)
    assert now["lambda1"] == pytest.approx(0.5)


def test_sympy_functions_of_time_name_data():
    from sympy.physics.mechanics import dynamicsymbols

    x, y = dynamicsymbols("x y")
    t = dynamicsymbols._t
    now = ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), {x: 1.2, y: -1.6, x.diff(t): 0.4}, parameters=VALUES)
    assert now["y'"] == pytest.approx(0.3)


def test_redundant_multipliers_are_named():
    twice = PENDULUM.replace(kinematic=["x^2 + y^2 = l^2", "2*x^2 + 2*y^2 = 2*l^2"])
    now = ch.evaluate(ch.derive(twice, ch.DAlembert()), {"x": 1.2, "y": -1.6, "x'": 0.4}, parameters=VALUES)
    assert now.undetermined == ("lambda1", "lambda2")
    assert "not unique" in str(now)


def test_greek_keys_are_spellings():
    system = ch.System("θ", "ω", lagrangian="θ'^2/2 - ω^2*θ^2/2", forces={"θ": "u"}, inputs={"u": None})
    now = ch.evaluate(ch.derive(system), {"θ": 1, "θ'": 0}, parameters={"ω": 2}, inputs={"u": 1})
    assert now["θ''"] == pytest.approx(-3.0)


def test_large_and_small_literals_do_not_hide_a_term():
    """An orbit in SI units, a stiff spring, a tiny mass: what is written in the row counts."""
    orbit = ch.System("x y", "m", lagrangian="m/2*(x'^2 + y'^2) + 3.986e14*m/sqrt(x^2 + y^2)")
    now = ch.evaluate(ch.derive(orbit), {"x": 7e6, "y": 0, "x'": 0, "y'": 7500}, parameters={"m": 1000})
    assert now["x''"] == pytest.approx(-3.986e14 / 49e12, rel=1e-12)
    spring = ch.System("x", "m", lagrangian="m/2*x'^2 - 1e12*x^2/2")
    assert ch.evaluate(ch.derive(spring), {"x": 1, "x'": 0}, parameters={"m": 2})["x''"] == pytest.approx(-5e11)
    light = ch.System("x y", lagrangian="1e-13*(1 + x^2)*x'^2/2 + y'^2/2 - x*y")
    assert ch.evaluate(ch.derive(light), {"x": 1, "y": 1, "x'": 0, "y'": 0})["x''"] == pytest.approx(-5e12)


@pytest.mark.parametrize(
    "rows",
    [
        ["y'*cos(z) = x'*sin(z)", "y'*sin(z)*cos(z) = x'*sin(z)^2"],
        ["x = y", "2*x = 2*y"],
        ["x^2 + y^2 + z^2 = 1", "x*x' + y*y' + z*z' = 0"],
    ],
)
def test_redundant_rows_of_every_kind(rows):
    system = ch.System("x y z", lagrangian="(x'^2 + 2*y'^2 + z'^2)/2 - z*x", kinematic=rows)
    start = ch.State({"x": 0.6, "z": 0.3, "z'": 0.2}, {"y": 0.6 if "x = y" in rows else 0.7, "x'": 0.4, "y'": 0.1})
    both = ch.evaluate(ch.derive(system, ch.DAlembert()), start)
    names = ("x", "y", "z", "x'", "y'", "z'")
    single = ch.evaluate(ch.derive(system.replace(kinematic=rows[:1]), ch.DAlembert()), {n: both[n] for n in names})
    assert [both[f"{n}''"] for n in "xyz"] == pytest.approx([single[f"{n}''"] for n in "xyz"], abs=1e-9)


def test_a_guess_selects_a_root_and_the_rest_follows():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x''^2 = y'^2 + 1"])
    now = ch.evaluate(ch.derive(system, ch.Chetaev()), ch.State({"x": 0, "y": 0, "x'": 0, "y'": 1}, {"x''": 1}))
    assert now["x''"] == pytest.approx(math.sqrt(2))
    assert now["lambda1"] == pytest.approx(0.5)


def test_corners_in_the_accelerations_are_not_linear():
    system = ch.System("x", lagrangian="x'^2/2", forces={"x": "2*abs(x'') - 3"})
    with pytest.raises(ch.InitialError, match="not linear"):
        ch.evaluate(ch.derive(system), {"x": 0, "x'": 0})


def test_a_multiplier_is_a_guess_where_it_is_no_state():
    for principle in (ch.DAlembert(), ch.Vakonomic()):
        start = {"x": 1.2, "y": -1.6, "x'": 0.4, "lambda1": 0}
        assert ch.evaluate(ch.derive(PENDULUM, principle), start, parameters=VALUES)["lambda1"] != 0


def test_values_that_overflow_are_errors():
    now = ch.evaluate(ch.derive(ch.System("x", lagrangian="x'^2/2")), {"x": 1e200, "x'": 0})
    with pytest.raises(ch.StateError):
        now["x*x"]
    assert "foo" not in now
    assert now.get("foo") is None


def test_rows_defined_in_a_part_of_space_only():
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["y' = sqrt(x - 5)*z'"])
    assert ch.derive(system, ch.Chetaev()).counts == (4, 4)
    with pytest.raises(ch.PrincipleError):
        ch.derive(system.replace(variational=["δy = x*δz"]), ch.DAlembert())
    assert not ch.derive(system, ch.DAlembert()).eliminate().multipliers
    assert ch.classify(system).integrable is False


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-88, 1e-17, 1e-9, 0.1])
def test_values_that_are_small_or_zero_are_no_trouble(size):
    """Rocard's tyre as it straightens: J theta'' = -K epsilon, whatever the size of epsilon."""
    model = ch.gallery("rocard")
    now = ch.evaluate(ch.derive(model), {**model.start.fixed, "epsilon": size}, parameters=model.parameters)
    assert now["theta''"] == pytest.approx(-2.0 * size / 0.9, rel=1e-12, abs=1e-15)
    rest = ch.evaluate(ch.derive(PENDULUM, ch.DAlembert()), {"x": 0, "y": -2, "x'": size}, parameters=VALUES)
    assert rest["x''"] == pytest.approx(0.0, abs=1e-12)


# -- printing ------------------------------------------------------------------------------------------------------------------------


def printed(now):
    """What an evaluation prints, by name."""
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in str(now).splitlines()}


def test_a_rotation_is_printed_as_a_start_gives_it():
    """It was printed as the quaternion A.w A.x A.y A.z, from which a reader cannot see an angle."""
    now = ch.evaluate(ch.gallery("rigid-ball"))
    lines = printed(now)
    assert lines["A"] == "[0.4, -0.3, 0.2]  rotation vector"
    assert not any(name.startswith("A.") for name in lines)
    assert list(lines) == ["A", "A1'", "A1''", "A2'", "A2''", "A3'", "A3''", "a1", "a1'", "a1''", "a2", "a2'", "a2''", "lambda1", "lambda2"]
    half = math.sqrt(0.4**2 + 0.3**2 + 0.2**2) / 2  # the values themselves stay
    assert now["A.w"] == pytest.approx(math.cos(half), abs=1e-15)
    assert now["A.y"] == pytest.approx(-0.15 * math.sin(half) / half, abs=1e-15)
    assert list(now)[:4] == ["A.w", "A.x", "A.y", "A.z"]


def test_elements_of_all_groups_are_printed():
    system = ch.System(
        {"A": "SO3 body", "B": "SE3 spatial", "C": "SE2 body", "D": "S1"},
        lagrangian=" + ".join(f"{g}{k}'^2" for g, n in (("A", 3), ("B", 6), ("C", 3), ("D", 1)) for k in range(1, n + 1)),
    )
    velocities = {f"{g}{k}'": 0.5 for g, n in (("A", 3), ("B", 6), ("C", 3), ("D", 1)) for k in range(1, n + 1)}
    quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    lines = printed(
        ch.evaluate(ch.derive(system), {"A": quarter, "B": [1, -2, 3, 0.1, 0, -0.3], "C": [4, -5, 0.6], "D": -0.7, **velocities})
    )
    assert lines["A"] == "[0, 0, 1.5707963267949]  rotation vector"
    assert lines["B"] == "[1, -2, 3, 0.1, 0, -0.3]  position and rotation vector"
    assert lines["C"] == "[4, -5, 0.6]  position and angle"
    assert lines["D"] == "-0.7  angle"


def test_a_printed_rotation_is_a_start():
    model = ch.gallery("rolling-disk")
    now = ch.evaluate(model)
    vector = printed(now)["A"].partition("  ")[0]
    again = ch.evaluate(ch.derive(model), {**model.start.fixed, "A": vector}, parameters=model.parameters)
    assert again.rotation("A") == pytest.approx(now.rotation("A"), abs=1e-14)


def test_round_off_is_printed_as_zero_and_kept_as_it_is():
    ball, disk = ch.evaluate(ch.gallery("rigid-ball")), ch.evaluate(ch.gallery("disk"))
    assert [printed(ball)[name] for name in ("A1''", "A3''", "a2''", "lambda2")] == ["0"] * 4
    assert [printed(disk)[name] for name in ("theta''", "varphi''")] == ["0", "0"]
    cancelling = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - (x - y - 0.1)^2/2"))
    now = ch.evaluate(cancelling, {"x": 0.3, "y": 0.2, "x'": 0, "y'": 1})
    assert 0 < abs(now["x''"]) < 1e-16  # 0.3 - 0.2 is not 0.1 in binary
    assert printed(now)["x''"] == "0"


def test_round_off_in_what_constraints_determine_is_printed_as_zero():
    knife = ch.derive(ch.System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y' = x'*tan(theta)"]), ch.DAlembert())
    now = ch.evaluate(knife, {"x": 0, "y": 0, "theta": "pi", "x'": 2, "theta'": 3})
    assert now["y'"] == pytest.approx(-2.4e-16, rel=0.1)  # twice the tangent of the double next to pi
    assert printed(now)["y'"] == "0" and float(printed(now)["y''"]) == pytest.approx(6)
    straight = ch.evaluate(knife, {"x": 0, "y": 0, "theta": 5e-18, "x'": 2, "theta'": 3})
    assert printed(straight)["theta"] == "5e-18" and float(printed(straight)["y'"]) == pytest.approx(1e-17)


def test_round_off_is_told_at_the_edge_of_a_domain_too():
    """Other last digits of x may lie outside the domain of acos: then there is nothing to compare with, and printing goes on."""
    edge = ch.derive(ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", forces={"x": "acos(x)", "y": "y - 0.1 - z"}))
    now = ch.evaluate(edge, {"x": 1, "y": 0.3, "z": 0.2, "x'": 0, "y'": 0, "z'": 0})
    assert 0 < abs(now["y''"]) < 1e-16 and printed(now)["y''"] == "0"


def test_small_numbers_that_are_no_round_off_are_printed():
    """Units are free: the acceleration of Neptune, 6.6e-6 m/s^2, is 1.5e-18 of its distance in metres."""
    kepler = ch.derive(ch.System("x y", "mu", lagrangian="(x'^2 + y'^2)/2 + mu/sqrt(x^2 + y^2)"))
    far = printed(ch.evaluate(kepler, {"x": 4.5e12, "y": 0, "x'": 1e-17, "y'": 5.4e3}, parameters={"mu": 1.327e20}))
    assert float(far["x''"]) == pytest.approx(-1.327e20 / 4.5e12**2, rel=1e-14)
    assert far["x'"] == "1e-17"  # given, not computed
    weak = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    assert printed(ch.evaluate(weak, {"x": 1, "x'": 0}, parameters={"k": 1e-17}))["x''"] == "-1e-17"


def test_numbers_without_a_certain_digit_are_printed_unless_they_are_small():
    """A spring so stiff that the last digits of x decide: zero would be one answer of many, and the number says that it is large."""
    stiff = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 1e17*(x - y - 0.1)^2/2"))
    now = ch.evaluate(stiff, {"x": 0.3, "y": 0.2, "x'": 0, "y'": 1})
    assert float(printed(now)["x''"]) == pytest.approx(now["x''"]) and abs(now["x''"]) > 1
