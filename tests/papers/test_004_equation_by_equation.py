"""004, section 3: the extended two-form, the second-order solution, the Legendre side and the reduced flow, typed from the paper."""

import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.singular.dirac_bergmann.lagrangian_bundle import lagrangian_bundle
from chetaev.singular.forms import contact_form, d, equal, interior, wedge

TEXT = "(1 + t)*x'^2/2 + y'^2 + z'^2/2 + x*y' - x*z"
ROW = "z' = x*y' - t*x'"


def system():
    return ch.System("x y z", lagrangian=TEXT, kinematic=[ROW])


def at(expression, values):
    return float(sympy.S(expression).subs({s: values[s.name] for s in sympy.S(expression).free_symbols}))


def test_eq_3_16_and_3_17_the_extended_two_form():
    """du' ^ dt + d(L_v + lambda g_v) ^ omega - (L_v + lambda g_v) dv ^ dt, and a field with Z _| Omega = -d phi."""
    bundle = lagrangian_bundle(system(), ch.Vakonomic())
    coordinates = bundle.source.coordinates
    whole = bundle.source.lagrangian
    typed = wedge(d(bundle.rate), d(TIME))
    for q in coordinates:
        p = whole.diff(q.d())
        typed = typed + wedge(d(p), contact_form(q)) - p * wedge(d(q.d()), d(TIME))
    assert equal(bundle.omega, typed) is True
    # the extended Lagrangian is L + lambda*g with g = z' - x*y' + t*x', up to the sign of lambda
    x, y, z, row = coordinates
    g = whole.diff(row)
    assert sympy.expand(g - (z.d() - x * y.d() + TIME * x.d())) == 0 or sympy.expand(g + (z.d() - x * y.d() + TIME * x.d())) == 0
    found = bundle.solution
    left = interior({TIME: sympy.S.One, **found.field}, bundle.omega) + d(bundle.phi)
    assert bundle.dynamics.consistent and found.consistent
    values = {s.name: sympy.Rational(k + 2, 5) for k, s in enumerate(sorted(left_symbols(left, bundle), key=str))}
    values = on_constraints(values, found.constraints)
    for w in bundle.variables:
        assert at(left.coefficient(w), values) == pytest.approx(0.0, abs=1e-10)


def left_symbols(form, bundle):
    return {s for w in bundle.variables for s in sympy.S(form.coefficient(w)).free_symbols} | set(bundle.variables)


def on_constraints(values, constraints):
    """The values moved onto the constraints, each solved for a symbol in which it is linear."""
    unknowns = []
    for e in constraints:
        unknowns.append(
            next(s for s in sorted(e.free_symbols, key=str, reverse=True) if e.diff(s, 2) == 0 and s not in unknowns and s != TIME)
        )
    others = {s: values.get(s.name, sympy.Rational(1, 3)) for e in constraints for s in e.free_symbols if s not in unknowns}
    solved = sympy.solve([e.subs(others) for e in constraints], unknowns, dict=True)[0] if constraints else {}
    return {k: float(v) for k, v in values.items()} | {s.name: float(v) for s, v in solved.items()}


def test_eq_3_21_the_second_order_solution_is_the_vakonomic_motion():
    """Rates of velocities and multiplier: from the forms, from `evaluate`, and from the vakonomic equations by hand."""
    point = {"x": 0.4, "y": -0.3, "z": 0.7, "x'": 0.9, "y'": 0.5, "lambda1": 0.6}
    t = 0.3
    values = point | {"z'": 0.4 * 0.5 - t * 0.9}
    now = ch.evaluate(ch.derive(system(), ch.Vakonomic()), values, t=t)
    field = lagrangian_bundle(system(), ch.Vakonomic()).second_order.field
    inside = values | {"t": t, "lambda1'": now["lambda1'"]}
    by_name = {z.name: e for z, e in field.items()}
    for name in ("x'", "y'", "z'"):
        assert at(by_name[name], inside) == pytest.approx(now[f"{name}'"], rel=1e-10)
    # by hand with g = z' - x*y' + t*x' and L + k*g, k = lambda1 up to a sign: three rows and D g = 0
    k, a, b, c, r = sympy.symbols("k a b c r")
    x, u, v, z = 0.4, 0.9, 0.5, 0.7
    rows = [
        (1 + t) * a + u + r * t + k - (v - z - k * v),
        2 * b + u - r * x - k * u,
        c + r + x,
        c - u * v - x * b + u + t * a,
    ]
    agreed = []
    for side in (1, -1):
        found = sympy.solve([e.subs(k, side * 0.6) for e in rows], [a, b, c, r])
        agreed.append(all(abs(float(found[s]) - now[n]) < 1e-10 for s, n in ((a, "x''"), (b, "y''"), (c, "z''"))))
    assert agreed.count(True) == 1


def test_eq_3_25_the_form_on_the_image_of_the_legendre_map():
    """dp_0 ^ dt + dp ^ dq with p_0 = -H is annihilated by the flow of the Hamiltonian system that the library makes."""
    target = ch.hamiltonian(ch.System("x y", lagrangian="(1 + t)*x'^2/2 + y'^2 + x*y' - x*y"))
    H = target.expressions["H"]
    names = {s.name: s for s in H.free_symbols}
    x, y, px, py = (names[n] for n in ("x", "y", "p_x", "p_y"))
    typed = px**2 / (2 * (1 + TIME)) + (py - x) ** 2 / 4 + x * y
    assert sympy.expand(H - typed) == 0
    form = wedge(d(-H), d(TIME)) + wedge(d(px), d(x)) + wedge(d(py), d(y))
    values = {"x": 0.4, "y": -0.3, "p_x": 0.8, "p_y": 0.2, "t": 0.5}
    now = ch.evaluate(target.target, {k: v for k, v in values.items() if k != "t"}, t=0.5)
    flow = {TIME: sympy.S.One} | {z: sympy.Float(now[f"{z.name}'"]) for z in (x, y, px, py)}
    for w in (TIME, x, y, px, py):
        assert at(interior(flow, form).coefficient(w), values) == pytest.approx(0.0, abs=1e-12)


def test_eq_3_30_the_reduced_flow_annihilates_the_pulled_back_form():
    """Z _| (-dH ^ dt + dp ^ dq) = 0 on the reduced phase space, along a vakonomic motion of the source."""
    source = ch.derive(system(), ch.Vakonomic())
    space = ch.reduced_phase_space(source)
    H = space.hamiltonian
    point = {"x": 0.4, "y": -0.3, "z": 0.7, "x'": 0.9, "y'": 0.5, "lambda1": 0.6}
    motion = ch.simulate(source, point, [0.3, 0.301, 0.302, 0.303, 0.304], tolerance=1e-13)
    names = {s.name: s for s in H.free_symbols}
    sign = 1.0
    # the momenta by hand: L_v + k*g_v with g_v = (t, -x, 1) and k = +-lambda1; the sign that makes (3.29) hold is the library's
    t = 0.302
    x, y, z, u, v, w, k = (float(motion[n][2]) for n in ("x", "y", "z", "x'", "y'", "z'", "lambda1"))
    for sign in (1.0, -1.0):
        momenta = {"p_x": (1 + t) * u + sign * k * t, "p_y": 2 * v + x - sign * k * x, "p_z": w + sign * k}
        values = {"x": x, "y": y, "z": z, "t": t, **momenta}
        if abs(at(H.diff(names["p_x"]), values) - u) < 1e-9:
            break
    slopes = {n: at(H.diff(names[n]), values) for n in ("p_x", "p_y", "p_z", "x", "z") if n in names}
    assert [slopes["p_x"], slopes["p_y"], slopes["p_z"]] == pytest.approx([u, v, w], rel=1e-9)
    times = motion.t
    series = {
        "p_x": (1 + times) * motion["x'"] + sign * motion["lambda1"] * times,
        "p_y": 2 * motion["y'"] + motion["x"] - sign * motion["lambda1"] * motion["x"],
        "p_z": motion["z'"] + sign * motion["lambda1"],
    }
    h = 1e-3
    for name, q in (("p_x", "x"), ("p_y", "y"), ("p_z", "z")):
        f = series[name]
        rate = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h)
        assert rate == pytest.approx(-slopes.get(q, 0.0), abs=1e-8)
