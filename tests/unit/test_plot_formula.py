"""Typeset formulas mean what is written: LaTeX is read back by a small evaluator that shares nothing with the typesetter."""

import html
import math
import random
import re
from xml.etree import ElementTree

import pytest
import sympy

import chetaev as ch
from chetaev.core.errors import NotationError
from chetaev.core.functions import FUNCTIONS, Magnitude
from chetaev.core.notation import parse_expression
from chetaev.core.notation.formula import estimated_width
from chetaev.core.notation.show import latex, mathml, pieces
from chetaev.core.support.letters import symbol_latex
from chetaev.core.values import Tape
from chetaev.plot.style import label

_WORD = re.compile(r"\\(?:[A-Za-z]+|,)|\d+\.\d+|\d+|[A-Za-z]|[-+=^_{}()|,]")
_NAMED = {
    r"\sin": math.sin,
    r"\cos": math.cos,
    r"\tan": math.tan,
    r"\ln": math.log,
    r"\arctan": math.atan,
    r"\tanh": math.tanh,
    r"\exp": math.exp,
}


class Value:
    """The value of LaTeX: sums, juxtaposed factors, fractions, powers, roots and functions; a symbol with dots and index is a name."""

    def __init__(self, formula, names):
        self.words = [t for t in _WORD.findall(formula.replace(r"\left", "").replace(r"\right", "")) if t not in (r"\,", r"\cdot")]
        self.names, self.at = names, 0

    def peek(self, ahead=0):
        return self.words[self.at + ahead] if self.at + ahead < len(self.words) else ""

    def next(self):
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, word):
        assert self.next() == word, (self.words, self.at)

    def sides(self):
        found = [self.sum()]
        while self.peek() == "=":
            self.next()
            found.append(self.sum())
        assert self.at == len(self.words), (self.words, self.at)
        return found

    def sign(self):
        if self.words[self.at : self.at + 3] == ["{", "-", "}"]:
            self.at += 3
            return -1
        return -1 if self.peek() == "-" and self.next() else 1

    def sum(self):
        total = self.sign() * self.product()
        while self.peek() in ("+", "-"):
            total += (1 if self.next() == "+" else -1) * self.product()
        return total

    def product(self):
        value = self.power()
        while self.peek() and self.peek() not in ("+", "-", "=", ")", "}", "|", ","):
            value *= self.power()
        return value

    def power(self):
        value = self.atom()
        return value ** self.group() if self.peek() == "^" and self.next() else value

    def group(self):
        self.expect("{")
        value = self.sum()
        self.expect("}")
        return value

    def atom(self):
        word = self.next()
        if word[0].isdigit():
            return float(word)
        if word == "(":
            value = self.sum()
            self.expect(")")
            return value
        if word == "|":
            value = abs(self.sum())
            self.expect("|")
            return value
        if word == r"\frac":
            return self.group() / self.group()
        if word == r"\sqrt":
            return math.sqrt(self.group())
        if word == "e" and self.peek() == "^":
            self.next()
            return math.exp(self.group())
        if word in _NAMED:
            exponent = self.group() if self.peek() == "^" and self.next() else 1
            return _NAMED[word](self.atom()) ** exponent
        return self.names[self.symbol(word)]

    def symbol(self, word):
        primes = ""
        if re.fullmatch(r"\\d+ot", word):
            primes = "'" * (len(word) - 3)
            self.expect("{")
            word = self.next()
            self.expect("}")
        if self.peek() == "_":
            self.at += 2
            word += self.next()
            self.expect("}")
        return word.lstrip("\\") + primes


class MathMLValue:
    """The value of presentation MathML, from its elements alone: what a reader of the page sees."""

    def __init__(self, names):
        self.names = names

    def sides(self, element):
        found, side = [], []
        for child in element:
            if child.tag == "mo" and child.text == "=":
                found.append(self.row(side))
                side = []
            else:
                side.append(child)
        return [*found, self.row(side)]

    def row(self, elements):
        """A sum of products; invisible signs and dots multiply."""
        total, factor, sign, at = 0.0, None, 1.0, 0
        elements = list(elements)
        while at < len(elements):
            child = elements[at]
            text = child.text if child.tag == "mo" else None
            if text in ("+", "−"):
                total += 0.0 if factor is None else sign * factor
                sign, factor = (sign if factor is None else 1.0) * (-1.0 if text == "−" else 1.0), None
                at += 1
            elif text in ("\N{INVISIBLE TIMES}", "\N{DOT OPERATOR}"):
                at += 1
            else:
                value, at = self.atom(elements, at)
                factor = value if factor is None else factor * value
        return total + sign * factor

    def atom(self, elements, at):
        child = elements[at]
        name = child[0] if child.tag == "msup" else child
        if name.tag == "mi" and name.text in NAMED:
            value, after = self.atom(elements, at + 2)  # the sign of application stands between
            assert elements[at + 1].text == "\N{FUNCTION APPLICATION}"
            return NAMED[name.text](value) ** (self.row(child[1:]) if child.tag == "msup" else 1), after
        if child.tag == "mo" and child.text == "(":
            depth, end = 1, at
            while depth:
                end += 1
                depth += {"(": 1, ")": -1}.get(elements[end].text, 0) if elements[end].tag == "mo" else 0
            return self.row(elements[at + 1 : end]), end + 1
        return self.element(child), at + 1

    def element(self, child):
        parts = list(child)
        if child.tag == "mn":
            return float(child.text)
        if child.tag == "mrow" and parts[0].text == "|":
            return abs(self.row(parts[1:-1]))
        if child.tag == "mrow":
            return self.row(parts)
        if child.tag == "mfrac":
            return self.element(parts[0]) / self.element(parts[1])
        if child.tag == "msqrt":
            return math.sqrt(self.row(parts))
        if child.tag == "msup" and parts[0].text == "e":
            return math.exp(self.element(parts[1]))
        if child.tag == "msup":
            return self.element(parts[0]) ** self.element(parts[1])
        if child.tag == "msubsup":
            return self.names[self.symbol(parts[0])[0] + parts[1].text + self.symbol(parts[0])[1]] ** self.element(parts[2])
        if child.tag == "msub":
            return self.names[self.symbol(parts[0])[0] + parts[1].text + self.symbol(parts[0])[1]]
        return self.names["".join(self.symbol(child))]

    def symbol(self, child):
        """The name of a letter, and primes for its dots."""
        letter = child[0].text if child.tag == "mover" else child.text
        return {"θ": "theta", "λ": "lambda"}.get(letter, letter), "'" * len(child[1].text) if child.tag == "mover" else ""


NAMED = {name.lstrip("\\"): function for name, function in _NAMED.items()}


def parsed(element):
    return ElementTree.fromstring(element)  # noqa: S314


def mathml_values_of(text, names):
    return MathMLValue(names).sides(parsed(mathml(text)))


def values_of(text, width, names):
    return Value(" ".join(piece.latex for piece in pieces(text, width=width)), names).sides()


NAMES = {"x": 0.37, "x'": -1.21, "x''": 0.83, "theta": 0.55, "theta1'": 1.3, "q2": -0.61, "m": 1.7, "k": 0.9}


@pytest.mark.parametrize(
    "text",
    [
        "-(x + m)", "m - (x + k)", "m - (x - k)*2", "-(x + m)^2", "(-x)^2", "-x^2", "x/m/k", "x/(m/k)", "(x + m)/(k - 3)*x'", "2*3*x",
        "x*2", "x^2^3",
        "m/2*(x'^2 + theta^2) - k/2*x^2", "sin(theta)*x'", "sin(theta)^2*cos(theta)*m", "sin(theta + x)^2/2", "abs(x - m)*k",
        "sqrt(m + k)^3",
        "exp(-x*m)", "exp(x/m)", "x^-2", "m^(k + 1)", "cos(2*theta)", "m*(x + k)*(x - k)/(m + x*(k + theta))", "1/(1 + x/(2 + m))",
        "-x*-m", "m*(-x)",
        "x''*m + q2*theta1' - 3/4", "tan(theta)*(x + m)", "log(m)*sin(x)*k", "-(-x)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("width", [1, 6, 15, 1000])
def test_typeset_formulas_keep_their_value(text, width):
    system = ch.System("x theta theta1 q2", "m k", lagrangian="x'^2")
    expression = parse_expression(text, system.vocabulary)
    expected = Tape([expression])({z: NAMES[z.name] for z in expression.free_symbols})[0]
    assert values_of(text, width, NAMES) == pytest.approx([expected], rel=1e-12)
    assert mathml_values_of(text, NAMES) == pytest.approx([expected], rel=1e-12)


def random_text(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(["x", "x'", "x''", "theta", "theta1'", "q2", "m", "k", "2", "3", "0.7"])
    a, b = random_text(rng, depth - 1), random_text(rng, depth - 1)
    return rng.choice([f"({a} + {b})", f"({a} - {b})", f"{a}*{b}", f"({a})/({b})", f"-({a})", f"sin({a})", f"cos({a})^2*({b})", f"({a})^2"])


def test_random_formulas_keep_their_value():
    """The evaluator reads what the typesetter wrote; SymPy's parser reads the text. Both must agree wherever the value is tame."""
    rng = random.Random(5)
    system = ch.System("x theta theta1 q2", "m k", lagrangian="x'^2")
    compared = 0
    while compared < 400:
        text = random_text(rng, 4)
        try:
            expression = parse_expression(text, system.vocabulary)
        except NotationError:  # a division by zero
            continue
        value = expression.xreplace({z: sympy.Float(NAMES[z.name], 30) for z in expression.free_symbols})
        if not value.is_finite or abs(value) > 1e6:
            continue
        for shown, width in ((text, 7), (ch.show(expression), 25)):
            assert values_of(shown, width, NAMES)[0] == pytest.approx(float(value), rel=1e-7, abs=1e-9), shown
        assert latex(expression) == latex(ch.show(expression))
        assert mathml_values_of(text, NAMES)[0] == pytest.approx(float(value), rel=1e-7, abs=1e-9), text
        compared += 1


def test_rows_of_the_gallery_keep_their_value():
    """Both sides of Rocard's rows, as written and as derived, at a point."""
    model = ch.gallery("rocard")
    equations = ch.derive(model)
    names = {
        name: 0.3 + 0.17 * k for k, name in enumerate(["psi", "theta", "epsilon", "x1", "x2", "lambda1", "lambda2", "lambda3", *"IJMKa"])
    }
    names |= {
        f"{name}{primes}": 0.2 + 0.1 * len(name) + k
        for name in ["psi", "theta", "epsilon", "x1", "x2"]
        for k, primes in enumerate(["'", "''"])
    }
    for row in equations.rows[:7]:
        sides = values_of(f"{ch.show(row.lhs)} = {ch.show(row.rhs)}", 12, names)
        for side, e in zip(sides, (row.lhs, row.rhs), strict=True):
            assert side == pytest.approx(float(e.xreplace({z: names[z.name] for z in e.free_symbols})))
    for k in (0, 1):
        constraint = model.system.kinematic[k]
        left, right = values_of(str(constraint), 1000, names)
        assert left - right == pytest.approx(
            float(constraint.residual.xreplace({z: names[z.name] for z in constraint.residual.free_symbols}))
        )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "x"), ("x1'", r"\dot{x}_{1}"), ("theta''", r"\ddot{\theta}"), ("x'''", r"\dddot{x}"), ("D(x, 4)", "x^{(4)}"),
        ("lambda12", r"\lambda_{12}"), ("p_theta", r"p_{\theta}"), ("yaw'", r"\dot{\mathrm{yaw}}"), ("mB", "m_{B}"),
        ("θ1'", r"\dot{\theta}_{1}"), ("varphi", r"\varphi"),
        ("δx1", r"\delta x_{1}"), ("delta psi", r"\delta \psi"), ("IRx", r"I_{\mathrm{Rx}}"), ("D(x*y, 2)", r"\frac{d^{2}}{dt^{2}}(x y)"),
        ("1e-9", "10^{-9}"), ("D(x', 2)", r"\dddot{x}"), ("D(D(x, 20), 4)", "x^{(24)}"), ("D(x, 4)^2", "(x^{(4)})^{2}"),
        ("D(x*y)^2", r"\left(\frac{d}{dt}(x y)\right)^{2}"), ("(m*sin(x))*k", r"m \sin(x) k"), ("(x*2)*3", r"x \cdot 2 \cdot 3"),
        ("2*(3/4)", r"2 \cdot \frac{3}{4}"), ("piecewise(x, 1, k)", r"\begin{cases} 1 & x < 0 \\ k & x \geq 0 \end{cases}"),
        ("x = y = -z", "x = y = -z"), ("(x', y')", r"(\dot{x}, \dot{y})"),
        ("sign(x')", r"\operatorname{sign}(\dot{x})"), ("q2(t)", "q_{2}(t)"), ("a_b_c", r"a_{b_{c}}"),
    ],
)  # fmt: skip
def test_names_become_symbols(name, expected):
    assert latex(name) == expected


def test_every_function_of_the_notation_is_set_by_matplotlib_and_by_the_report():
    for name, (_, arity) in FUNCTIONS.items():
        text = f"{name}({', '.join(['x + 1', 'y', 'z'][:arity])})^2/2"
        assert label(None, text).startswith("$"), text
        assert parsed(mathml(text)).tag == "math"


@pytest.mark.parametrize("text", ["x +", "(x", "x) + 1", "x y", "", "sin(x", "*x"])
def test_what_is_no_formula_is_refused_and_not_cut_short(text):
    with pytest.raises(NotationError):
        latex(text)


@pytest.mark.parametrize("name", ["rocard", "chaplygin-ball", "damped-oscillator", "double-pendulum"])
def test_equations_reports_and_plots_set_rows_alike(name, monkeypatch):
    """A kinematic row as the user wrote it, other rows as they are printed."""
    from chetaev.core.display import html as display

    monkeypatch.setattr(display, "WIDTH", 10_000)
    equations = ch.derive(ch.gallery(name))
    _, *lines, _ = [line.removesuffix(r" \\") for line in equations.latex().splitlines()]
    for row, line in zip(equations.rows, lines, strict=False):
        drawn = display.set_formula(*equations.sides(row))
        labels = [html.unescape(text) for text in re.findall('alttext="([^"]*)"', drawn)]
        assert re.sub(r"\\,|\s", "", "".join(labels)) == re.sub(r"[&\s]", "", line)
        text = equations.row_text(row)
        assert latex(text if "=" in text else f"{text} = 0") == line.replace("&", "")
        for side, set_side in zip(text.split("="), line.split("&="), strict=False):
            assert label(None, side, widest=1000) == f"${set_side.strip()}$"


def test_a_system_is_set_in_the_order_in_which_it_is_written():
    system = ch.System(
        "y x", "m k", lagrangian="y'^2*m/2 + m/2*(x'^2 - k*x^2)", kinematic=["y'*x + w = k"], where={"w": "x*k"}, forces={"x": "k - a*0*x"},
        inputs={"a": "t*2"},
    )  # fmt: skip
    shown = system._repr_latex_()
    for part in (
        r"\frac{\dot{y}^{2} m}{2} + \frac{m}{2} (\dot{x}^{2} - k x^{2})", r"\dot{y} x + w = k", "x k", r"k - a \cdot 0 x", r"t \cdot 2",
    ):  # fmt: skip
        assert f"& {part}" in shown
    assert r"\dot{y} x + w &= k \\" in ch.derive(system, ch.DAlembert()).latex()


def test_sympy_sets_what_the_notation_has_no_words_for():
    x = ch.Coordinate("x")
    assert ch.show(x.d() * sympy.gamma(x), "latex") == r"\dot{x} \Gamma\left(x\right)"
    assert sympy.latex(sympy.Heaviside(Magnitude(x.d()))) == r"\theta\left(\left|\dot{x}\right|\right)"
    with pytest.raises(ValueError, match="gamma is not in the notation"):
        ch.show(sympy.gamma(x))


def test_what_show_writes_is_set_however_deep_and_deeper_texts_are_refused():
    with pytest.raises(NotationError, match="500 deep"):
        latex("sin(" * 5000)
    e = ch.Coordinate("x")
    for _ in range(230):
        e = sympy.sin(e + 1, evaluate=False)
    assert latex(e) == latex(ch.show(e))
    assert latex(e).count(r"\sin(") == 230 == sum(piece.latex.count(r"\sin(") for piece in pieces(e, width=30))


def test_pieces_are_narrow_and_lose_nothing():
    row = ch.derive(ch.gallery("chain"))["E_theta1"]
    text = f"{ch.show(row.lhs)} = {ch.show(row.rhs)}"
    cut = [piece.latex for piece in pieces(text, width=30)]
    assert len(cut) > 8
    assert max(map(estimated_width, cut)) <= 34
    joined = re.sub(r"\\,|\s", "", "".join(cut))
    assert joined == re.sub(r"\\,|\s", "", latex(text))


def test_a_label_too_long_for_an_axis_stays_text():
    text = "m1*theta1'^2*cos(theta1 - theta2)^2 + m2*theta2'^2*cos(theta1 + theta2)^2 + m3*theta3'^2"
    assert not label(None, text).startswith("$")
    assert label(None, "no formula at all!") == "no formula at all!"
    assert symbol_latex("theta", 1) == r"\dot{\theta}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x1'^2", '<msubsup><mover><mi>x</mi><mo lspace="0" rspace="0">.</mo></mover><mn>1</mn><mn>2</mn></msubsup>'),
        ("p_theta1", "<msub><mi>p</mi><msub><mi>θ</mi><mn>1</mn></msub></msub>"),
        ("mB", "<msub><mi>m</mi><mi>B</mi></msub>"),
        ("rear", "<mi>rear</mi>"),
        ("Omega", '<mi mathvariant="normal">Ω</mi>'), ("epsilon", "<mi>ϵ</mi>"), ("varepsilon", "<mi>ε</mi>"), ("varphi", "<mi>φ</mi>"),
        ("D(x, 4)", "<msup><mi>x</mi><mrow><mo>(</mo><mn>4</mn><mo>)</mo></mrow></msup>"),
        ("δx1", "<mi>δ</mi><msub><mi>x</mi><mn>1</mn></msub>"),
        ("1e-9", '<msup><mn>10</mn><mrow><mo form="prefix">−</mo><mn>9</mn></mrow></msup>'),
        ("D(x*y)", "<mfrac><mi>d</mi><mrow><mi>d</mi><mi>t</mi></mrow></mfrac>"),
        ("piecewise(x, 1, k)", "<mtable><mtr>"),
        ("asin(x)", "<mi>arcsin</mi><mo>\N{FUNCTION APPLICATION}</mo>"),
    ],
)  # fmt: skip
def test_mathml_of_names_and_functions(text, expected):
    found = mathml(text)
    assert expected in found
    assert parsed(found).attrib["alttext"] == latex(text)


def test_rows_and_expressions_have_mathml():
    """In the order in which the user wrote them, and for every row of every principle."""
    system = ch.System("y x", "k", lagrangian="y'^2/2 + x'^2/2", kinematic=["y'*x = k"])
    equations = ch.derive(system, ch.DAlembert())
    assert equations.mathml()["kinematic[0]"] == mathml("y'*x = k") == system.kinematic[0].mathml()
    assert set(equations.mathml()) == {"E_y", "E_x", "kinematic[0]"}
    assert ch.show(ch.Coordinate("x").d(), "mathml") == mathml("x'")
    assert "<mi>Γ</mi>" in ch.show(sympy.gamma(ch.Coordinate("x")), "mathml").replace("&#x393;", "Γ").replace("&Gamma;", "Γ")
