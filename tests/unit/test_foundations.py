"""Zero tests, values, time budgets, frozen mappings, errors, the public surface."""

import ast
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, Parameter, Variation
from chetaev.core.values import Tape, Undefined, many_digits, value
from chetaev.core.zero import vanishes

x, y = Coordinate("x"), Coordinate("y")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("sin(x)^2 + cos(x)^2 - 1", True),
        ("sin(x + y) - sin(x)*cos(y) - cos(x)*sin(y)", True),
        ("exp(x + y) - exp(x)*exp(y)", True),
        ("tan(x)*cos(x) - sin(x)", True),
        ("cosh(x)^2 - sinh(x)^2 - 1", True),
        ("(x^2 - 1)/(x - 1) - x - 1", True),
        ("x - x^2", False),
        ("sin(x) - x + x^3/6", False),
        ("10^-25*x", False),
        ("y*(sin(x)^2 + cos(x)^2 - 1)", True),
        ("((x + y)^3 - x^3 - 3*x^2*y - 3*x*y^2 - y^3)/y", True),
        ("log(x^2) - 2*log(abs(x))", None),
    ],
)
def test_zero_has_three_answers(text, answer):
    assert vanishes(ch.parse(text, coordinates="x y")) is answer


def test_a_tape_evaluates_every_function_in_both_arithmetics():
    text = (
        "sin(x) + cos(x) + tan(x) + asin(x) + acos(x) + atan(x) + atan2(x, 2) + sinh(x) + cosh(x) + tanh(x) + asinh(x) + acosh(1 + x)"
        " + atanh(x) + exp(x) + log(x) + sqrt(x) + abs(-x) + sign(x - 1) + min(x, 1) + max(x, 1) + x^(1/3) + 2^x + pi + exp(1)"
    )
    e = ch.parse(text, coordinates="x")
    mp, arithmetic = many_digits(40)
    assert float(value(e, {x: mp.mpf("0.3")}, arithmetic)) == pytest.approx(value(e, {x: 0.3}), abs=1e-14)
    assert value(e, {x: 0.3}) == pytest.approx(float(ch.to_sympy(e).subs(sympy.Function("x")(ch.to_sympy(x).args[0]), 0.3)), abs=1e-13)


@pytest.mark.parametrize("text", ["log(x)", "sqrt(x)", "1/(x + 1)", "exp(1000*x^2)", "x^(1/3)", "acos(x - 4)"])
def test_a_tape_refuses_what_is_not_finite_and_real(text):
    e = ch.parse(text, coordinates="x")
    mp, arithmetic = many_digits(30)
    with pytest.raises(Undefined):
        Tape([e])({x: -1.0})
    if "exp" not in text:
        with pytest.raises(Undefined):
            Tape([e])({x: mp.mpf(-1)}, arithmetic)


def test_room_for_recursion_is_shared_by_threads():
    before = sys.getrecursionlimit()
    text = "sin(" * 150 + "x" + ")" * 150
    threads = [threading.Thread(target=ch.parse, args=(text,), kwargs={"coordinates": "x"}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrecursionlimit() == before


def test_a_frozen_mapping_is_a_value():
    m = Frozen({"a": 1})
    assert m == {"a": 1}
    assert hash(m) == hash(Frozen(a=1))
    assert pickle.loads(pickle.dumps(m)) == m  # noqa: S301
    for change in (
        lambda: m.update(b=2),
        lambda: m.pop("a"),
        lambda: m.clear(),
        lambda: m.setdefault("b", 1),
        lambda: m.__setitem__("a", 2),
    ):
        with pytest.raises(TypeError):
            change()


@pytest.mark.parametrize("symbol", [x.d(3), Parameter("m", positive=True), Parameter("m"), Variation("x"), ch.Input("u").d(1)])
def test_symbols_survive_pickling(symbol):
    assert pickle.loads(pickle.dumps(symbol)) == symbol  # noqa: S301


def test_symbols_of_different_roles_differ():
    assert Coordinate("x") != ch.Input("x")
    assert Coordinate("x", 1) == Coordinate("x").d()
    assert Coordinate("x").d(2).name == "x''"
    with pytest.raises(ValueError):
        Coordinate("x", -1)
    with pytest.raises(TypeError):
        ch.delta(x.d(1))


def test_errors_survive_pickling_and_share_a_base():
    with pytest.raises(ch.ChetaevError) as caught:
        ch.parse("thta", coordinates="theta")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert str(again) == str(caught.value)
    assert isinstance(again, ch.NotationError)


def test_equations_are_values_that_survive_pickling():
    equations = ch.derive(ch.gallery("rocard"))
    again = pickle.loads(pickle.dumps(equations))  # noqa: S301
    assert again == equations
    assert again.rows == equations.rows


def test_the_public_surface():
    assert set(ch.__all__) <= set(dir(ch))
    assert len(ch.__all__) <= 60
    for name in (*ch.__all__, *ch.ALSO):
        assert getattr(ch, name) is not None
    with pytest.raises(AttributeError):
        ch.nonsense  # noqa: B018


def test_type_checkers_see_the_public_names():
    """The imports for type checkers and the table of homes list the same names."""
    tree = ast.parse(Path(ch.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert sorted(each.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for each in node.names) == ch.__all__


def test_importing_the_library_computes_and_loads_nothing():
    code = "import sys, chetaev; print(any(m in sys.modules for m in ('sympy', 'numpy', 'scipy')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "False"


def test_symbols_and_notation_know_no_numpy():
    code = "import sys, chetaev.core.system; print([m for m in ('numpy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


def test_no_text_is_ever_executed():
    """Neither eval nor sympify nor anything of the kind is called anywhere in the sources."""
    forbidden = {"eval", "exec", "compile", "sympify", "parse_expr", "lambdify", "__import__"}
    for path in Path(ch.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                at_import = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "re"  # re.compile
                assert called not in forbidden or at_import, f"{called} in {path.name}"


def test_equal_jets_are_one_object_whatever_counts_their_order():
    x = Coordinate("x")
    assert x.d(2) is Coordinate("x", 2) is x.d(np.int64(2)) is x.d(sympy.Integer(2))
    assert type(x.d(np.int64(3)).order) is int
    assert x.d(True) is x.d(1) and type(x.d(True).order) is int
    with pytest.raises(TypeError):
        x.d(np.float64(4.0))
    assert pickle.loads(pickle.dumps(x.d(5))) is x.d(5)  # noqa: S301
