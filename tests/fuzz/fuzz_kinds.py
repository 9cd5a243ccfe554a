"""Kinds of random systems: each is a function of a random generator that draws a `Case`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import fuzz_pieces as p
from fuzz_mechanics import Case
from fuzz_text import scaled

Draw = random.Random
KINDS: dict[str, Callable[[Draw], Case]] = {}


def kind(function: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
    KINDS[function.__name__] = function
    return function


def case(name: str, seed: int | str, i: int) -> Case:
    return KINDS[name](random.Random(f"{name} {seed} {i}")).with_(kind=name, seed=f"seed {seed}, i = {i}")


def _constraints(draw: Draw, names: tuple[str, ...], principle: str, rows: int) -> dict[str, object]:
    made = []
    for a in range(rows):
        pick = draw.random()
        if principle == "virtualwork" and pick < 0.3:
            made.append(p.second_order_row(draw, names, a))
        elif pick < 0.3 and a == 0:
            made.append(p.holonomic_row(draw, names, a))
        else:
            made.append(p.linear_row(draw, names, a))
    found: dict[str, object] = {"kinematic": tuple(made)}
    if principle == "virtualwork":
        found["variational"] = tuple(p.virtual_row(draw, names, a) for a in range(rows))
    return found


@kind
def first(draw: Draw) -> Case:
    """L of order one, at most two rows, every principle."""
    names = p.coordinates(draw.choice((2, 3, 3, 4)))
    inner = draw.choice(("hamilton", "dalembert", "dalembert", "chetaev", "virtualwork", "vakonomic"))
    contact = draw.random() < 0.25
    rows = 0 if inner == "hamilton" else draw.randrange(1, len(names))
    text = f"{p.kinetic(draw, names)} - ({p.potential(draw, names)})"
    if draw.random() < 0.4:
        text += f" + {p.gyroscopic(draw, names)}"
    if contact:
        text += f" - {p.positive(draw, 0.05, 0.3)}*s"
    extra = _constraints(draw, names, inner, rows)
    if contact and any("''" in row or "'" not in row for row in extra["kinematic"]):  # type: ignore[union-attr]
        extra["kinematic"] = tuple(p.linear_row(draw, names, a) for a in range(rows))
    if draw.random() < 0.4:
        extra["forces"] = {draw.choice(names): f"({p.coefficient(draw)})*{p.smooth(draw, names)} + ({p.coefficient(draw)})*cos(2*t)"}
    if draw.random() < 0.3:
        extra["dissipation"] = f"{p.positive(draw, 0.1, 0.5)}*({draw.choice(names)}')^2/2"
    principle = (f"herglotz({inner})" if inner != "hamilton" else "herglotz") if contact else inner
    return Case(
        names,
        text,
        principle,
        action="s" if contact else None,
        start=p.wish(draw, names, multipliers=rows),
        full=draw.random() < 0.5,
        t=(0.0, round(draw.uniform(0.4, 1.5), 2)),
        **extra,  # type: ignore[arg-type]
    )


@kind
def wide(draw: Draw) -> Case:
    """L of order two, nonlinear rows, rows of order two, inputs, parameters."""
    names = p.coordinates(draw.choice((2, 3)))
    if draw.random() < 0.5:
        text = f"{p.kinetic(draw, names, 2)} - ({p.kinetic(draw, names)}) - ({p.potential(draw, names)})"
        principle = draw.choice(("hamilton", "dalembert", "chetaev"))
        rows = () if principle == "hamilton" else (p.linear_row(draw, names, 0, affine=False),)
        return Case(names, text, principle, rows, start=p.wish(draw, names, 2, 1), full=True, t=(0.0, 0.5))
    a, b = names[:2]
    rows = draw.choice(
        (
            (f"{a}'^2 + {p.positive(draw)}*{b}'^2 = {p.positive(draw)} + 0.2*sin({b})",),
            (f"{b}' = {p.positive(draw)}*{a}'^2 + 0.3*{a}",),
            (f"{a}'' = c*sin({b})*{b}'' + 0.4*{a}' - u",),
        )
    )
    text = f"{p.kinetic(draw, names)} - c*({p.potential(draw, names)}) + u*{a}"
    return Case(
        names,
        text,
        "chetaev",
        rows,
        inputs={"u": f"{p.positive(draw)}*sin(2*t)"},
        parameters={"c": p.positive(draw)},
        start=p.wish(draw, names, 1, 1),
        full=True,
        t=(0.0, 0.6),
    )


@kind
def motion(draw: Draw) -> Case:
    """Longer motions."""
    return first(draw).with_(t=(0.0, round(draw.uniform(2, 5), 2)))


@kind
def meta(draw: Draw) -> Case:
    """The same physics in a disguise: a factor, a total derivative, rows multiplied by functions."""
    base = first(draw)
    while base.action or not base.principle:
        base = first(draw)
    text = base.lagrangian
    disguise = draw.choice(("derivative", "rows", "both"))
    if disguise != "rows" and base.principle != "vakonomic":
        text += f" + D({p.smooth(draw, base.coordinates)}*{draw.choice(base.coordinates)}, 1)"
    rows = base.kinematic
    if disguise != "derivative" and rows and base.variational is None and base.principle != "vakonomic":
        rows = tuple(
            f"({left}) - ({right}) = 0"
            if "'" not in row
            else f"(2 + sin({base.coordinates[0]}))*({left}) = (2 + sin({base.coordinates[0]}))*({right})"
            for row in rows
            for left, right in [row.split("=")]
        )
    return base.with_(lagrangian=text, kinematic=rows)


def in_units(base: Case, length: float, time: float, mass: float) -> Case:
    """A case without an action in other units of length, time and mass, with the numbers in the text."""
    factors = {q: (repr(1 / length), repr(time)) for q in base.coordinates} | {"t": (repr(1 / time), "1")}
    start = {}
    for name, value in base.start.items():
        bare, order = name.rstrip("'"), name.count("'")
        start[name] = value * (length if bare in base.coordinates else mass) / time**order
    virtual = None if base.variational is None else tuple(scaled(row, factors) for row in base.variational)
    return base.with_(
        lagrangian=f"{mass!r}*({scaled(base.lagrangian, factors)})",
        kinematic=tuple(scaled(row, factors) for row in base.kinematic),
        variational=virtual,
        forces={q: f"{mass / length!r}*({scaled(f, factors)})" for q, f in base.forces.items()},
        dissipation=None if base.dissipation is None else f"{mass / time!r}*({scaled(base.dissipation, factors)})",
        inputs={u: scaled(f, factors) for u, f in base.inputs.items()},
        start=start,
        t=(base.t[0] * time, base.t[1] * time),
        max_step=base.max_step * time,
        watch=base.watch and (base.watch[0], *(v * (time if base.watch[0] == "t" else length) for v in base.watch[1:])),  # type: ignore[arg-type]
    )


def _units(draw: Draw) -> tuple[float, float, float]:
    length, time, mass = (10.0 ** draw.choice((-12, -9, -6, -3, 0, 0, 3, 6, 9, 12)) for _ in range(3))
    return length, time, mass


@kind
def units(draw: Draw) -> Case:
    """A smooth system in other units."""
    while True:
        base = first(draw)
        if base.action is None:
            return in_units(base, *_units(draw))


@kind
def mixture(draw: Draw) -> Case:
    """Narrow coefficients, corners, far features and redundant rows in other units."""
    base = draw.choice((narrow, narrow, switch, switch, leaps))(draw)
    return in_units(base, *_units(draw))


def _narrow(draw: Draw, name: str) -> tuple[str, float, float]:
    """A coefficient that is of order one only near a place, the place, and its width."""
    place = draw.choice((0.0, 0.0, 3.0, -4.0, 5.0, 20.0, 500.0))
    k = draw.choice((5, 10, 20, 30, 100, 300, 1000))
    u = f"{k}*({name} - ({place}))" if place else f"{k}*{name}"
    pick = draw.randrange(7)
    if pick == 0:
        return f"exp(-({u})^2)", place, 1 / k
    if pick == 1:
        return f"(1 + tanh({u}))/2", place, 1 / k
    if pick == 2:
        return f"1/(1 + ({u})^4)", place, 1 / k
    if pick == 3:
        far = draw.choice((10.0, 50.0, 1000.0, 1e6))
        power = draw.choice((10, 20, 40))
        return f"({name}/{far!r})^{power}", far, far / power
    if pick == 4:
        far = draw.choice((1e3, 1e6, 1e9))
        return f"({name}/{far!r})^2", 1.1 * far, far
    if pick == 5:
        return f"max(0, {name} - ({place}))", place + draw.choice((-1, 1)) * 0.6, 1.0
    return f"(1 + sign({name} - ({place})))/2", place + draw.choice((-1, 1)) * 0.6, 1.0


@kind
def narrow(draw: Draw) -> Case:
    """Coefficients that vanish at random points of order one, in masses, rows, forces, potentials, at a state where they do not."""
    names = p.coordinates(draw.choice((2, 2, 3)))
    x = names[0]
    f, place, width = _narrow(draw, x)
    speed = width * (draw.uniform(0.1, 0.2) if "sign" in f else draw.uniform(0.5, 1.5))  # a row that jumps is not to be crossed
    corner = "max" in f or "sign" in f
    span = 1.0
    base = " + ".join(f"{p.positive(draw)}*{q}'^2/2" for q in names) + f" - {p.positive(draw)}*{names[1]}"
    start = p.wish(draw, names, multipliers=2)
    start[x], start[x + "'"] = place + draw.choice((-1, 0, 0.3)) * width * 0.5, speed
    extra: dict[str, object] = {}
    where = draw.choice(("mass", "row", "row", "holonomic", "force", "potential", "virtual", "dissipation"))
    if corner and where in ("mass", "holonomic") and "sign" in f:
        where = "row"
    h = 0.3 * min(1.0, width)
    if where == "mass":
        base += (
            f" + {p.coefficient(draw, 0.1, 0.4)}*({f})*{x}'*{names[1]}'"
            if width <= 1
            else f" + {p.coefficient(draw, 0.1, 0.4)}*({f})*{names[-1]}'*{names[1]}'"
        )
    elif where == "row":
        extra = {
            "principle": draw.choice(("dalembert", "chetaev")),
            "kinematic": (f"{names[1]}' = ({p.coefficient(draw, 0.2, 0.5)})*({f})*{x}'" + draw.choice(("", " + 0.1")),),
        }
    elif where == "holonomic":
        extra = {"principle": draw.choice(("dalembert", "vakonomic")), "kinematic": (f"{names[1]} = {h!r}*({f})",)}
    elif where == "force":
        extra = {"forces": {names[1]: f"({p.coefficient(draw)})*({f})"}}
    elif where == "potential":
        base += f" - {0.2 * speed**2!r}*({f})"
    elif where == "virtual":
        extra = {"principle": "virtualwork", "kinematic": (f"{names[1]}' = 0.3*{x}'",), "variational": (f"δ{names[1]} = 0.4*({f})*δ{x}",)}
    else:
        extra = {"dissipation": f"{p.positive(draw)}*({f})*{x}'^2/2"}
    return Case(names, base, start=start, full=draw.random() < 0.5, t=(0.0, span), max_step=span / 100, **extra)  # type: ignore[arg-type]


def _corner(draw: Draw, names: tuple[str, ...], depth: int = 0) -> str:
    """A nested corner of order one."""
    u = draw.choice(
        (
            f"t - {round(draw.uniform(0.2, 1.5), 2)}",
            f"{draw.choice(names)} - ({p.coefficient(draw, 0.1, 0.6)})",
            f"{draw.choice(names)}' + ({p.coefficient(draw, 0.1, 0.5)})",
        )
    )
    if depth < 2 and draw.random() < 0.5:
        u = f"{_corner(draw, names, depth + 1)} + ({p.coefficient(draw, 0.1, 0.8)})"
    a = p.coefficient(draw, 0.2, 0.9)
    return draw.choice(
        (
            f"sign({u})",
            f"abs({u})",
            f"max({a}, {u})",
            f"min({a}, {u})",
            f"max(0, sign({u}))",
            f"min(1, 1 + sign({u}))",
            f"sign(sign({u}) + {a})",
            f"(1 + sign({u}))*max({u}, {a})",
        )
    )


@kind
def switch(draw: Draw) -> Case:
    """Corners inside one another and beside one another, in forces, rows, inputs and potentials."""
    names = p.coordinates(draw.choice((1, 2, 2)))
    base = f"{p.kinetic(draw, names)} - ({' + '.join(f'{p.positive(draw)}*{q}^2/2' for q in names)})"
    corner = f"({p.coefficient(draw, 0.2, 0.6)})*({_corner(draw, names)})"
    if draw.random() < 0.4:
        corner += f" + ({p.coefficient(draw, 0.2, 0.5)})*({_corner(draw, names)})"
    extra: dict[str, object] = {}
    where = draw.choice(("force", "force", "input", "row", "potential"))
    if len(names) < 2 and where == "row":
        where = "force"
    if where == "force":
        extra = {"forces": {draw.choice(names): corner}}
    elif where == "input":
        timed = _corner(draw, ("t",)).replace("t'", "t")
        extra = {"inputs": {"u": timed}, "forces": {draw.choice(names): "0.5*u"}}
    elif where == "row":
        kink = (
            f"{p.coefficient(draw, 0.1, 0.4)}*abs({names[0]} - ({p.coefficient(draw, 0.1, 0.4)}))"
            if draw.random() < 0.5
            else f"0.3*max(0, {names[0]} - ({p.coefficient(draw, 0.1, 0.4)}))"
        )
        extra = {"principle": "dalembert", "kinematic": (f"{names[1]}' = ({kink} + 0.2)*{names[0]}'",)}
    else:
        base += f" - 0.5*max({p.coefficient(draw, 0.1, 0.5)}, {names[0]})"
    return Case(
        names,
        base,
        start=p.wish(draw, names, multipliers=1),
        full=draw.random() < 0.5,
        t=(0.0, round(draw.uniform(1, 3), 2)),
        max_step=0.05,
        **extra,
    )  # type: ignore[arg-type]


@kind
def singular(draw: Draw) -> Case:
    """Lagrangians without a regular Hessian: first-order forms, slaves, multipliers as coordinates."""
    pick = draw.randrange(5)
    a, b, c = (p.positive(draw) for _ in range(3))
    if pick == 0:  # p q' - H
        names = ("q", "p")
        return Case(names, f"p*q' - {a}*p^2/2 - {b}*q^4/4 - {c}*cos(q)*p", start={"q": 0.4, "p": -0.7, "q'": 0, "p'": 0}, t=(0.0, 1.5))
    if pick == 1:  # Pontryagin: the velocity is a coordinate
        names = ("q", "v", "p")
        return Case(
            names,
            f"p*(q' - v) + {a}*v^2/2 + {b}*sin(q) - {c}*q^2/2",
            start={"q": 0.4, "v": 0.3, "p": 0.2, "q'": 0.3, "v'": 0, "p'": 0},
            full=False,
            t=(0.0, 1.5),
        )
    if pick == 2:  # a slave without mass
        names = ("x", "z")
        return Case(
            names,
            f"{a}*x'^2/2 - {b}*z^2/2 - {c}*z*sin(x) - x^2/2",
            start={"x": 0.4, "x'": 0.7, "z": 0.1, "z'": 0},
            full=False,
            t=(0.0, 1.5),
        )
    if pick == 3:  # a multiplier as a coordinate
        names = ("x", "y", "l")
        return Case(
            names,
            f"{a}*(x'^2 + y'^2)/2 - {b}*y + l*(x^2 + y^2 - 1)",
            start={"x": 0.6, "y": -0.8, "x'": 0.4, "y'": 0.3, "l": 0.1},
            t=(0.0, 1.5),
        )
    names = ("x", "y")
    return Case(
        names, f"{a}*x*y' - {b}*x^2/2 - {c}*y^2/2 - cos(x)*0.3 + 0.2*sin(x*y)", start={"x": 0.4, "y": -0.7, "x'": 0, "y'": 0}, t=(0.0, 1.5)
    )


@kind
def odd(draw: Draw) -> Case:
    """Redundant rows: combinations and derivatives of others; the motion is that of the rows without them."""
    while True:
        twin = first(draw)
        if twin.action is None and twin.principle == "dalembert" and twin.kinematic:
            break
    residuals = ["({}) - ({})".format(*row.split("=")) for row in twin.kinematic if "'" in row]
    if residuals:
        added = " + ".join(f"({p.coefficient(draw)})*({p.smooth(draw, twin.coordinates)})*({r})" for r in residuals) + " = 0"
    else:
        row = twin.kinematic[0]
        added = f"D({row.split('=')[0]}, 1) = D({row.split('=')[1]}, 1)"
    rows = [*twin.kinematic, added]
    draw.shuffle(rows)
    return twin.with_(kinematic=tuple(rows), twin=twin, full=True)


@kind
def leaps(draw: Draw) -> Case:
    """Free flight towards something narrow far away."""
    names = p.coordinates(draw.choice((1, 2)))
    x = names[0]
    far = draw.choice((30.0, 100.0, 500.0, 2000.0))
    k = draw.choice((0.3, 1.0, 3.0, 10.0, 30.0, 100.0))
    speed = p.positive(draw, 0.5, 2.0)
    energy = speed**2 / 2
    u = f"{k}*({x} - {far})"
    start = dict.fromkeys(names, 0.0) | {q + "'": round(draw.uniform(0.1, 0.5), 2) for q in names} | {x + "'": speed}
    base = " + ".join(f"{q}'^2/2" for q in names)
    extra: dict[str, object] = {"watch": (x, far, 1 / k)}
    pick = draw.choice(("barrier", "hill", "lorentz", "pulse", "mass", "drag", "step", "row"))
    if pick == "barrier":
        base += f" - {2 * energy!r}*exp(-({u})^2)"
    elif pick == "hill":
        base += f" - {0.6 * energy!r}*exp(-({u})^2)"
    elif pick == "lorentz":
        base += f" - {0.5 * energy!r}/(1 + ({u})^4)"
    elif pick == "pulse":
        extra = {"watch": ("t", far / speed, 1 / k), "forces": {x: f"{k * p.coefficient(draw)!r}*exp(-({k}*(t - {far / speed!r}))^2)"}}
    elif pick == "mass":
        base = f"{x}'^2/2*(1 + tanh({u})/2)" + "".join(f" + {q}'^2/2" for q in names[1:])
    elif pick == "drag":
        extra["forces"] = {x: f"-{0.4 * k * speed!r}*exp(-({u})^2)"}
    elif pick == "step":
        base += f" - {0.5 * energy!r}*(1 + tanh({u}))/2"
    else:
        names = (*names, "h")
        start |= {"h": 0.0, "h'": 0.0}
        base += " + h'^2/2 - 0.01*h"
        extra |= {"principle": "dalembert", "kinematic": (f"h' = 0.5*exp(-({u})^2)*{x}'",)}
    return Case(names, base, start=start, t=(0.0, round(1.7 * far / speed, 3)), **extra)  # type: ignore[arg-type]


@kind
def amplitudes(draw: Draw) -> Case:
    """Homogeneous systems at sizes from 1e-12 to 1e12; nothing but the size of the start tells them apart."""
    A = 10.0 ** draw.randrange(-12, 13, 3)
    names = p.coordinates(draw.choice((1, 2, 3)))
    pick = draw.randrange(4)
    start = {q + "'" * k: A * p.coefficient(draw) for q in names for k in range(2)}
    masses = " + ".join(f"{p.positive(draw)}*{q}'^2/2" for q in names)
    springs = " + ".join(f"{p.positive(draw)}*{q}^2/2" for q in names)
    if pick == 0 or len(names) == 1:
        base = f"{masses} - ({springs})" + (f" + 0.4*{names[0]}*{names[1]}'" if len(names) > 1 else "")
        return Case(names, base, dissipation=f"0.1*{names[0]}'^2/2", start=start, t=(0.0, 10.0))
    if pick == 1:
        return Case(
            names,
            f"{masses} - ({springs})",
            "dalembert",
            (f"{names[0]}' = ({p.coefficient(draw)})*{names[1]}' + ({p.coefficient(draw)})*{names[-1]}",),
            start=start,
            full=False,
            t=(0.0, 6.0),
        )
    if pick == 2:  # a Cartesian pendulum of length A under gravity A
        angle = draw.uniform(0.2, 2.5)
        start = {"x": A * math.sin(angle), "y": -A * math.cos(angle), "x'": A * 0.3 * math.cos(angle), "y'": A * 0.3 * math.sin(angle)}
        return Case(
            ("x", "y"),
            "(x'^2 + y'^2)/2 - g*y",
            "dalembert",
            ("x^2 + y^2 = l^2",),
            parameters={"g": 9.81 * A, "l": A},
            start=start,
            t=(0.0, 5.0),
        )
    return Case(
        names,
        f"{masses} - ({springs})",
        forces={names[0]: f"{0.3 * A!r}*sign(sin(t + 0.5)) - {0.2 * A!r}*max(0, sign({names[1]}))"},
        start=start,
        t=(0.0, 4.0),
    )


@kind
def linkages(draw: Draw) -> Case:
    """Rows of four-bars, hanging nets, trailers and chains, from symmetric and from general positions."""
    pick = draw.choice(("bars", "bars", "chain", "trailer"))
    if pick == "bars":
        n, angle, rate = draw.choice((1, 2, 3)), draw.choice((math.pi / 2, 1.2, -math.pi / 2, 2.0)), draw.choice((-1.0, 0.7))
        return four_bars(n, angle, rate).with_(t=(0.0, 0.3))
    if pick == "chain":
        n = draw.choice((2, 3, 4))
        names, rows, start = [], [], {}
        x = y = vx = vy = 0.0
        for k in range(1, n + 1):
            angle, rate = draw.choice((0.0, 0.3, -0.4, math.pi / 2)), draw.choice((0.0, 0.6))
            x, y, vx, vy = x + math.sin(angle), y - math.cos(angle), vx + rate * math.cos(angle), vy + rate * math.sin(angle)
            names += [f"x{k}", f"y{k}"]
            start |= {f"x{k}": x, f"y{k}": y, f"x{k}'": vx, f"y{k}'": vy}
            rows.append(f"(x{k} - x{k - 1})^2 + (y{k} - y{k - 1})^2 = 1" if k > 1 else "x1^2 + y1^2 = 1")
        text = " + ".join(f"(x{k}'^2 + y{k}'^2)/2 - 9.81*y{k}" for k in range(1, n + 1))
        return Case(tuple(names), text, "dalembert", tuple(rows), start=start, t=(0.0, 0.5))
    n = draw.choice((1, 2, 3))
    names = ("x", "y", *(f"a{k}" for k in range(n + 1)))
    place = ["x", "y"]
    rows, text = [], []
    for k in range(n + 1):
        if k:
            place = [f"{place[0]} - cos(a{k})", f"{place[1]} - sin(a{k})"]
        text.append(f"(D({place[0]}, 1)^2 + D({place[1]}, 1)^2)/2 + 0.3*a{k}'^2/2")
        rows.append(f"D({place[0]}, 1)*sin(a{k}) - D({place[1]}, 1)*cos(a{k}) = 0")
    start = (
        {"x": 0.1, "y": 0.2, "x'": 1.0, "y'": 0.2}
        | {f"a{k}": draw.choice((0.0, 0.3, -0.4)) for k in range(n + 1)}
        | {f"a{k}'": 0.3 for k in range(n + 1)}
    )
    return Case(names, " + ".join(text), "dalembert", tuple(rows), start=start, full=draw.random() < 0.5, t=(0.0, 1.0))


def four_bars(n: int, angle: float, rate: float) -> Case:
    """n windows of uniform unit rods that turn together: ground points (i, 0), upper joints (x_i, y_i)."""
    joints = range(n + 1)
    names = tuple(v for i in joints for v in (f"x{i}", f"y{i}"))
    rods = [((f"{i}", "0", "0", "0"), (f"x{i}", f"y{i}", f"x{i}'", f"y{i}'")) for i in joints]
    rods += [((f"x{i}", f"y{i}", f"x{i}'", f"y{i}'"), (f"x{i + 1}", f"y{i + 1}", f"x{i + 1}'", f"y{i + 1}'")) for i in range(n)]
    text = " + ".join(
        f"(({a[2]})^2 + ({a[3]})^2 + ({a[2]})*{b[2]} + ({a[3]})*{b[3]} + {b[2]}^2 + {b[3]}^2)/6 - 9.81*(({a[1]}) + {b[1]})/2"
        for a, b in rods
    )
    rows = tuple(f"({b[0]} - {a[0]})^2 + ({b[1]} - {a[1]})^2 = 1" for a, b in rods)
    start = {}
    for i in joints:
        start |= {
            f"x{i}": i + math.cos(angle),
            f"y{i}": math.sin(angle),
            f"x{i}'": -rate * math.sin(angle),
            f"y{i}'": rate * math.cos(angle),
        }
    return Case(names, text, "dalembert", rows, start=start)


@kind
def near(draw: Draw) -> Case:
    """Rows that nearly depend on each other: one right answer, or "ill-conditioned"."""
    e = 10.0 ** -draw.randrange(3, 15)
    a = p.positive(draw)
    text = f"(x'^2 + {a}*y'^2 + z'^2)/2 - {p.coefficient(draw)}*x - {p.coefficient(draw)}*y*z - z^2/2"
    rows, plain, start = draw.choice(
        (
            (("x' = y'", f"x' = (1 + {e!r})*y'"), ("x' = 0", "y' = 0"), {"x'": 0.0, "y'": 0.0, "z'": 0.5}),
            (("x' = y' + 0.3*z'", f"x' = (1 + {e!r})*y' + 0.3*z'"), ("x' = 0.3*z'", "y' = 0"), {"x'": 0.15, "y'": 0.0, "z'": 0.5}),
            (
                (f"x' = sin(z)*y' + {e!r}*z'", "x' = sin(z)*y'"),
                ("x' = sin(z)*y'", "z' = 0"),
                {"x'": 0.3 * math.sin(0.4), "y'": 0.3, "z'": 0.0},
            ),
        )
    )
    twin = Case(("x", "y", "z"), text, "dalembert", plain, start={"x": 0.3, "y": 0.2, "z": 0.4} | start)
    return twin.with_(kinematic=rows, twin=twin, may_refuse=True, slack=min(1e-6, 1e-14 / e**2))
