"""The exact text of every error, as a user meets it.

`expected.txt` is the catalogue: a block per mistake. After a deliberate change of wording, write it anew with
`python tests/messages/test_messages.py` and read the difference as a user would.
"""

from pathlib import Path

import pytest
from scipy.spatial.transform import Rotation

import chetaev as ch
from chetaev.core.scene import Scene, Wheel
from chetaev.core.symbols import Coordinate

CATALOGUE = Path(__file__).with_name("expected.txt")


def sleigh(**changes):
    parts = {
        "coordinates": "x y theta",
        "parameters": "m J a",
        "lagrangian": "m/2*(x'^2 + y'^2) + J/2*theta'^2",
        "kinematic": ["y'*cos(theta) - x'*sin(theta) = a*theta'"],
        "name": "sleigh",
    }
    return ch.System(**(parts | changes))


def text(expression, **names):
    return lambda: ch.parse(expression, **({"coordinates": "x y theta", "parameters": "m J a"} | names))


def system(**changes):
    return lambda: sleigh(**changes)


def deriving(principle=None, **changes):
    return lambda: ch.derive(sleigh(**changes), principle)


VALUES = {"m": 1.0, "J": 2.0, "a": 0.5}
START = {"x": 0, "y": 0, "theta": 0.1, "x'": 1, "theta'": 0.3}


def evaluating(start=None, principle=None, parameters=VALUES, changes=None, **options):
    equations = ch.derive(sleigh(**(changes or {})), principle or ch.DAlembert())
    return lambda: ch.evaluate(equations, START if start is None else start, parameters=parameters, **options)


def without(*names):
    return {k: v for k, v in START.items() if k not in names}


def pendulum(start, **options):
    system = ch.System("x y", "l", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = l^2"], name="pendulum")
    return lambda: ch.evaluate(ch.derive(system, ch.DAlembert()), start, parameters={"l": 1}, **options)


def rod(start, **options):
    equations = ch.derive(ch.System({"A": "SO3 body"}, lagrangian="A1'^2/2 + A2'^2/2", name="rod"))
    return lambda: ch.evaluate(equations, start, **options)


TOP = "(A1'^2 + A2'^2 + A3'^2)/2"


def tilted(start):
    equations = ch.derive(ch.System({"A": "SO3 body"}, lagrangian=TOP, kinematic=["A33 = 1/2"], name="tilted"), ch.DAlembert())
    return lambda: ch.evaluate(equations, start)


def tops(starts):
    return lambda: ch.simulate_many(ch.derive(ch.System({"A": "SO3 body"}, lagrangian=TOP, name="top")), starts, (0, 1))


LONG = " + ".join(f"{k}*x^2" for k in range(1, 40))
POSITIVE = {"parameters": {"m": "positive", "J": "real", "a": "real"}}

CASES = {
    # notation
    "misspelt name in a row": system(kinematic=["y'*cos(thta) - x'*sin(theta) = a*theta'"]),
    "misspelt name in the Lagrangian": system(lagrangian="M/2*x'^2"),
    "unknown name among many": text("alpha", coordinates=" ".join(f"q{i}" for i in range(20))),
    "implicit product": text("2x"),
    "implicit product of names": text("m x"),
    "implicit product with a bracket": text("2(x + y)"),
    "call of a name": text("m(x)"),
    "function without brackets": text("sin x"),
    "unknown function": text("sine(x)"),
    "wrong number of arguments": text("atan2(x)"),
    "open bracket": text("m*(x + y"),
    "closing bracket too many": text("m*x)"),
    "nothing between brackets": text("m*()"),
    "text ends early": text("m*"),
    "empty text": text(""),
    "two signs": text("m*/x"),
    "double equals sign": system(kinematic=["x' == y'"]),
    "chain of equations": system(kinematic=["x' = y' = 0"]),
    "equation in an expression": text("x = y"),
    "bars": text("|x|"),
    "superscript": text("x²"),
    "subscript": text("x₁"),
    "look-alike letter": text("х + y"),
    "typographic minus": text("x − y"),
    "typographic prime": text("x’"),
    "Greek variant": text("ϕ"),
    "null byte": text("x\0"),
    "prime on time": text("t'"),
    "prime on a number": text("2'"),
    "prime on a bracket": text("(x*y)'"),
    "prime on a function": text("sin(x)'"),
    "prime on a parameter": text("m'"),
    "prime after a blank": text("x '"),
    "too many primes": text("x" + "'" * 21),
    "derivative too high": text("D(x, 21)"),
    "derivative without a number": text("D(x, m)"),
    "division by zero": text("x/(2 - 2)"),
    "not real": text("sqrt(-2)"),
    "not finite": text("log(0)"),
    "exponent too large": text("x^1001"),
    "tower of powers": text("9^9^9^9"),
    "too many digits": text("1" * 500),
    "too deep": text("(" * 300 + "x" + ")" * 300),
    "fault far inside a long line": text(LONG + " + thta + " + LONG),
    "variation outside variational rows": system(kinematic=["δx = 0"]),
    "variation of time": system(variational=["δt = 0"]),
    "variation of a parameter": system(variational=["δm = 0"]),
    "variation with a prime": system(variational=["δx' = 0"]),
    "variation of a name with velocities": system(where={"v": "x'*y"}, variational=["δv = 0"]),
    "misspelt variation": system(variational=["δteta = 0"]),
    "quasi-coordinate without a prime": system(quasi={"w": "x'*y"}, lagrangian="w + x'^2"),
    "derivative of the action": system(action="s", lagrangian="x'^2 + s'"),
    "variation of the action": system(action="s", variational=["δs = 0"]),
    "row that is not text": system(kinematic=[3.5j]),
    "SymPy function outside the notation": lambda: ch.System("x", lagrangian=__import__("sympy").gamma(Coordinate("x"))),
    # systems
    "no coordinates": system(coordinates=""),
    "coordinates of a wrong type": system(coordinates=3),
    "duplicate coordinate": system(coordinates="x y theta x"),
    "coordinate and parameter of one name": system(parameters="m J a x"),
    "name that shadows a function": system(coordinates="x y theta sin"),
    "name that shadows time": system(parameters="m J a t"),
    "name that shadows pi": system(parameters="m J a pi"),
    "name of a multiplier": system(parameters="m J a lambda1"),
    "name that is no name": system(parameters="m J a 2b"),
    "unknown kind of coordinate": system(coordinates={"x": "line", "y": "line", "theta": "angel"}),
    "unknown kind of parameter": system(parameters={"m": "posititve", "J": "real", "a": "real"}),
    "constraint without unknown": system(kinematic=["m = 1"]),
    "constraint that is an identity": system(kinematic=["x' = x'"]),
    "constraints as one text": system(kinematic="x' = 0"),
    "variational row without variation": system(variational=["x' = 0"]),
    "variational row not linear": system(variational=["δx*δy = 0"]),
    "variational row with a rest": system(variational=["δx = 1"]),
    "force on no coordinate": system(forces={"z": "1"}),
    "names defined by each other": system(where={"p": "q + 1", "q": "2*p"}),
    "quasi-velocity not linear": system(quasi={"w": "x'^2"}),
    "input that depends on a coordinate": system(inputs={"u": "x"}),
    # principles
    "no principle": deriving(),
    "no principle, position constraint": deriving(kinematic=["x^2 + y^2 = a^2"]),
    "no principle, nonlinear constraint": deriving(kinematic=["x'^2 + y'^2 = a^2"]),
    "no principle, variational rows": deriving(variational=["δx = 0"]),
    "no principle, action variable": deriving(kinematic=[], action="s"),
    "principle as a class": deriving(ch.DAlembert),
    "principle as a word": deriving("dalembert"),
    "Hamilton with constraints": deriving(ch.Hamilton()),
    "d'Alembert, nonlinear row": deriving(ch.DAlembert(), kinematic=["x'^2 + y'^2 = a^2"]),
    "d'Alembert, row of second order": deriving(ch.DAlembert(), kinematic=["x'' = y'"]),
    "d'Alembert discards variational rows": deriving(ch.DAlembert(), variational=["δx = 0"]),
    "Chetaev discards variational rows": deriving(ch.Chetaev(), variational=["δx = 0"]),
    "vakonomic discards variational rows": deriving(ch.Vakonomic(), variational=["δx = 0"]),
    "more constraints than coordinates": deriving(ch.DAlembert(), kinematic=["x' = y", "y' = x", "theta' = x", "x' + y' = 0"]),
    "Chetaev, dependent rows": deriving(ch.Chetaev(), kinematic=["x'' = y'", "x'' = a*x"]),
    "Chetaev, repeated row": deriving(ch.Chetaev(), kinematic=["x' = y", "2*x'' = 2*y'"]),
    "virtual work without variational rows": deriving(ch.VirtualWork()),
    "action variable without Herglotz": deriving(ch.DAlembert(), action="s", lagrangian="x'^2 - s"),
    "Herglotz without action variable": deriving(ch.Herglotz(ch.DAlembert())),
    "Lagrangian without velocities": deriving(kinematic=[], lagrangian="m*x*y"),
    "elimination of vakonomic multipliers": lambda: ch.derive(sleigh(), ch.Vakonomic()).eliminate(),
    "reaction on no coordinate": lambda: ch.derive(sleigh(), ch.DAlembert()).reaction("z"),
    # values
    "missing parameters": evaluating(parameters={"m": 1}),
    "misspelt parameter": evaluating(parameters=VALUES | {"mm": 1}),
    "parameter that is no number": evaluating(parameters=VALUES | {"a": "x"}),
    "parameter that is nan": evaluating(parameters=VALUES | {"a": float("nan")}),
    "parameter that is infinite": evaluating(parameters=VALUES | {"a": float("inf")}),
    "parameter that must be positive": evaluating(parameters=VALUES | {"m": -1}, changes=POSITIVE),
    "missing input": evaluating(changes={"inputs": {"u": None}, "forces": {"x": "u"}}),
    "misspelt input": evaluating(changes={"inputs": {"u": None}, "forces": {"x": "u"}}, inputs={"v": "t"}),
    "too few data": evaluating(without("x")),
    "too few data, several": evaluating({"theta": 0.1}),
    "contradictory data": evaluating(START | {"y'": 3}),
    "misspelt datum": evaluating(without("theta") | {"teta": 0.1}),
    "datum that is an expression": evaluating(START | {"x*y": 1}),
    "datum that is no number": evaluating(START | {"x": None}),
    "datum fixed and guessed": evaluating(ch.State(START, {"x": 1})),
    "free multiplier of vakonomic motion": evaluating(principle=ch.Vakonomic()),
    "velocity that is not free": evaluating(START | {"theta''": 5}),
    "nonlinear missing value": pendulum({"x": 0.6, "x'": 1}),
    "position off the constraint": pendulum({"x": 0.6, "y": 0.9, "x'": 1}),
    "position no guess can mend": pendulum(ch.State({"x": 2, "x'": 0}, {"y": 0.1})),
    "position that no value completes": pendulum({"x": 2, "x'": 0}),
    "velocity at a turning point": pendulum({"x": 1, "y": 0, "x'": 0.2}),
    "free velocity at a turning point": pendulum({"x": 1, "y": 0, "x'": 0}),
    "no data at all": pendulum({}),
    "several accelerations": lambda: ch.evaluate(
        ch.derive(ch.System("x y", lagrangian="x'^2 + y'^2", kinematic=["x''^2 + y''^2 = 1"], name="thrust"), ch.Chetaev()),
        {"x": 0, "y": 0, "x'": 0, "y'": 0},
    ),
    "singular state": lambda: ch.evaluate(ch.gallery("rocard"), {**ch.gallery("rocard").start.fixed, "psi'": 0}),
    "singular everywhere": lambda: ch.evaluate(ch.gallery("krupkova")),
    "free function": lambda: ch.simulate(ch.gallery("cawley"), {"q1": 0, "q1'": 1, "q2": 1}, (0, 1)),
    "gauge that does not suffice": lambda: ch.simulate(ch.gallery("cawley"), {"q1": 0, "q1'": 1}, (0, 1), branch=1, gauge={"q3": 0}),
    "gauge that contradicts": lambda: ch.simulate(ch.gallery("cawley"), {"q1": 0, "q1'": 1}, (0, 1), branch=1, gauge={"q3": "t"}),
    "too many gauges": lambda: ch.simulate(ch.gallery("cawley"), {"q1": 0, "q1'": 1}, (0, 1), branch=1, gauge={"q2": "t", "q1": "t"}),
    "gauge of no unknown": lambda: ch.simulate(ch.gallery("cawley"), t=(0, 1), gauge={"t": "q1"}),
    "gauge without a function": lambda: ch.simulate(ch.gallery("cawley"), t=(0, 1), gauge={}),
    "state on two branches": lambda: ch.evaluate(ch.gallery("cawley"), {"q1": 0, "q1'": 1, "q2": 0, "q2'": 0, "q3": 0, "q3'": 0}),
    "state on no branch": lambda: ch.evaluate(ch.gallery("cawley"), {"q1": 0, "q1'": 1, "q2": 1, "q3": 1}),
    "unknown branch": lambda: ch.simulate(ch.gallery("cawley"), t=(0, 1), branch="q1 = 0"),
    "branch of another kind": lambda: ch.simulate(ch.gallery("cawley"), t=(0, 1), branch=1.5),
    "no motion": lambda: ch.evaluate(ch.derive(ch.System("x y", lagrangian="x'^2/2 + y", name="fall")), {"x": 0, "x'": 0, "y": 0}),
    "overdetermined": lambda: ch.evaluate(ch.derive(sleigh(variational=[]), ch.VirtualWork()), START, parameters=VALUES),
    "no assignment of rows": lambda: ch.evaluate(
        ch.derive(ch.System("x y z", lagrangian="x'^2", kinematic=["x = 0"], variational=["δx = 0"], name="loose"), ch.VirtualWork()), {}
    ),
    "state where the equations are undefined": lambda: ch.evaluate(
        ch.derive(ch.System("x", lagrangian="x'^2/2 + log(x)", name="well")), {"x": 0, "x'": 1}
    ),
    "residual with a missing jet": lambda: ch.residual(ch.derive(sleigh(), ch.DAlembert()), {"x": 1}, parameters=VALUES),
    "unknown name in an evaluation": lambda: evaluating()()["D(x, 5)"],
    # words of other notations
    "velocity as a name": text("m/2*xdot^2"),
    "natural logarithm": text("ln(x)"),
    "power of a function": text("sin^2(x)"),
    "power of e": text("e^x"),
    "double quote": text('x"'),
    "LaTeX as input": text("\\dot{x}"),
    "differential in a variational row": system(variational=["dx = 0"]),
    "action variable that is not declared": system(lagrangian="x'^2 - s"),
    # Python misuse
    "evaluate without derive": lambda: ch.evaluate(sleigh(), START, parameters=VALUES),
    "evaluate without a state": lambda: ch.evaluate(ch.derive(sleigh(), ch.DAlembert()), parameters=VALUES),
    "state as a list": evaluating([1, 2, 3]),
    "parameters as a list": evaluating(parameters=[1, 2]),
    "derive of a name": lambda: ch.derive("rocard"),
    "principle inside Herglotz as a class": lambda: ch.Herglotz(ch.DAlembert),
    "Herglotz without inner principle on constraints": deriving(ch.Herglotz(), action="s"),
    "unknown part of a system": lambda: ch.System("x", lagrangian="x'^2", constraints=["x' = 1"]),
    "forces as a list": system(forces=["1"]),
    "coordinates as a set": system(coordinates={"x", "y", "theta"}),
    "value in the declaration of a parameter": system(parameters={"m": 1.2, "J": "real", "a": "real"}),
    "dissipation without velocity": system(dissipation="m*x^2"),
    "function of another time": lambda: ch.System("x", lagrangian=__import__("sympy").Function("x")(2 * __import__("sympy").Symbol("t"))),
    "unknown row": lambda: ch.derive(sleigh(), ch.DAlembert())["E_z"],
    "time among the data": evaluating(START | {"t": 1}),
    "datum given twice": evaluating(START | {"D(x, 1)": 2}),
    "complex value": evaluating(START | {"x": 1j}),
    "input among the parameters": evaluating(parameters=VALUES | {"u": 1}, changes={"inputs": {"u": None}, "forces": {"x": "u"}}),
    "simplify without a number": lambda: ch.derive(sleigh(), ch.DAlembert()).simplify(seconds="ten"),
    # rotations
    "free spin of a rod": rod({"A": [0, 0, 0], "A1'": 1, "A2'": 0}),
    "gauge of an entry": rod({"A": [0, 0, 0], "A1'": 1, "A2'": 0}, gauge={"A12": "t"}),
    "rotation off the constraint": tilted({"A": [0.1, 0.2, 0.3], "A1'": 0, "A2'": 0, "A3'": 1}),
    "several rotations for one state": tilted({"A": Rotation.from_rotvec([[0, 0, 1], [1, 0, 0]]), "A1'": 0, "A2'": 0, "A3'": 1}),
    "rotation vectors or a matrix": tops({"A": [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "A1'": 0, "A2'": 0, "A3'": 1}),
    "matrix or unit vectors": tops({"A": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "A1'": [0, 1, 2], "A2'": 0, "A3'": 1}),
    # stability
    "linearisation at rest under dry friction": lambda: ch.linearize(
        ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "-sign(x')"}, name="block")), {"x": 0, "x'": 0}
    ),
    "branch of a linearisation": lambda: ch.linearize(ch.gallery("cawley"), branch=1),
    "room for series without times": lambda: ch.simulate_many(ch.gallery("sleigh"), t=(0, 1), series="states.npy"),
    "equilibria without a guess": lambda: ch.equilibria(ch.derive(sleigh(), ch.DAlembert()), parameters=VALUES),
    # scenes
    "wheel of negative radius": lambda: ch.animate(
        ch.simulate(ch.gallery("sleigh"), t=(0, 1)), Scene([Wheel("x, y", "-a")])
    ).drawing,
    # gallery
    "misspelt gallery name": lambda: ch.gallery("rocrad"),
    "model without data for a principle": lambda: ch.gallery("rocard").under(ch.Chetaev()),
}  # fmt: skip


NO_PART = {
    "no motion",
    "state where the equations are undefined",
    "unknown name in an evaluation",
    "unknown row",
    "linearisation at rest under dry friction",
    "wheel of negative radius",
}
"""Faults of the equations as a whole, of a state of the motion, of an index, or of a scene: no part of the system, no argument."""


def error(case):
    with pytest.raises(ch.ChetaevError) as caught:
        CASES[case]()
    return caught.value


def message(case):
    return str(error(case))


def catalogue():
    blocks = CATALOGUE.read_text(encoding="utf-8").split("\n=== ")[1:]
    return {title: body.strip("\n") for title, _, body in (block.partition("\n") for block in blocks)}


@pytest.mark.parametrize("case", CASES)
def test_message(case):
    found = error(case)
    assert str(found) == catalogue()[case]
    assert found.place.verb and bool(found.place.part or found.place.row) == (case not in NO_PART)


def test_the_catalogue_holds_nothing_else():
    assert list(catalogue()) == list(CASES)


def test_every_message_says_where_and_most_say_what_to_do():
    for body in catalogue().values():
        first, *rest = body.splitlines()
        assert " · " in first
        assert rest


if __name__ == "__main__":
    pieces = ["Every error, word for word.\n"]
    pieces += [f"\n=== {case}\n{message(case)}\n" for case in CASES]
    CATALOGUE.write_text("".join(pieces), encoding="utf-8")
