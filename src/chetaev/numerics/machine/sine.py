r"""Sine and cosine of one argument as lines for LLVM, for processors that round a product and a sum together.

A call of the mathematical library forces all registers to be saved. Inline code takes half the time, and the processor can compute
independent values meanwhile. Errors stay below one unit in the last place, or below $10^{-32} |x|$ where that is more (a sine within
$10^{-16} |x|$ of zero):

1. The nearest multiple of $\pi/2$ is subtracted, $x - k\pi/2 = y + y'$, with $\pi/2$ given by two numbers of double precision. The first
   subtraction is exact, since a fused operation does not round the product; $y'$ is the rounding error of the second one.
2. Polynomials for sine and cosine on $|y| \le \pi/4$: those of K. C. Ng in Sun's fdlibm (`k_sin.c`, `k_cos.c`, 1993), summed in pairs.
3. The last two bits of $k$ decide which of the two is the sine, and the signs.

Arguments beyond $2^{30}$, infinity and NaN are left to the library.

Several arguments that are known at the same time are computed in one vector, with the same bits: a double pendulum has three.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import TypeVar

from chetaev.numerics.machine.processor import LANES, fuses

T = TypeVar("T")
IN_LINE = fuses()
"""Whether this processor has fused operations."""

NAME = "sine_and_cosine"
BOTH = "{ double, double }"
"""The type of the result: sine, then cosine."""

_TYPE = re.compile(r"\b(double|i64|i1)\b")
_TOKEN = re.compile(r"(?<![\w.%@])(double|i64|i1|0x[0-9A-F]{16}|-?\d+(?:\.\d+)?)(?![\w.])")
_INTRINSIC = re.compile(r"(@llvm\.\w+)\.f64\(")


def widened(line: str, lanes: int = LANES) -> str:
    """A line for one number as the same line for a vector: types become vectors, numbers vectors of equal numbers."""
    kind = "double"
    found, last = [], 0
    for match in _TOKEN.finditer(line):
        word = match[1]
        found.append(line[last : match.start()])
        last = match.end()
        if _TYPE.fullmatch(word):
            kind = word
            found.append(f"<{lanes} x {word}>")
        else:  # a number, or an index
            found.append(word if "extractvalue" in line else f"<{', '.join([f'{kind} {word}'] * lanes)}>")
    return _INTRINSIC.sub(rf"\1.v{lanes}f64(", "".join([*found, line[last:]]))


DECLARATION = "declare double @llvm.fma.f64(double, double, double)"
"""The LLVM function that the lines call."""
MOST_TOGETHER = 4
"""Arguments whose sines and cosines are computed in one vector: the numbers of a register with AVX2. Two are computed in a vector of two,
three in one of four."""
DECLARATIONS = "\n".join([DECLARATION, *[widened(DECLARATION, lanes) for lanes in (2, MOST_TOGETHER)]])
"""The LLVM functions that the lines call, for single numbers and for vectors."""

_ROUNDING = 1.5 * 2.0**52
"""Adding this number rounds to an integer, whose bits are then the last bits of the sum."""
_LARGEST = 2.0**30
"""Radians. Larger arguments are left to the library: the two-part quarter turn would lose accuracy, and k would exceed 31 bits."""
_QUARTER, _REST = 1.5707963267948966, 6.123233995736766e-17
"""The double nearest to pi/2, and the remainder of pi/2 as a double. Both are needed for the accuracy stated above."""
# fdlibm's polynomial for sine: coefficients of x^3, x^5, ...
_SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
# fdlibm's polynomial for cosine: coefficients of x^4, x^6, ...
_COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def bits(number: float) -> str:
    """Write a number so that LLVM reads it back exactly."""
    return f"0x{struct.unpack('=Q', struct.pack('=d', number))[0]:016X}"


class Lines:
    """Lines of LLVM text; the names of their values begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.text: list[str] = []
        self._prefix = prefix

    def value(self, line: str) -> str:
        """The name of a new value."""
        name = f"{self._prefix}.{len(self.text)}"
        self.text.append(f"{name} = {line}")
        return name

    def fused(self, a: str, b: str, c: str) -> str:
        """a*b + c."""
        return self.value(f"call double @llvm.fma.f64(double {a}, double {b}, double {c})")

    def times(self, a: str, b: str) -> str:
        """a*b."""
        return self.value(f"fmul double {a}, {b}")

    def minus(self, a: str, b: str) -> str:
        """A - b."""
        return self.value(f"fsub double {a}, {b}")

    def near(self, x: str) -> str:
        """Whether an argument is small enough."""
        high = self.value(f"fcmp olt double {x}, {bits(_LARGEST)}")
        low = self.value(f"fcmp ogt double {x}, {bits(-_LARGEST)}")
        return self.value(f"and i1 {high}, {low}")

    def size(self, x: str) -> str:
        """The bits of |x|, which are in the order of these numbers; those of NaN are the largest."""
        whole = self.value(f"bitcast double {x} to i64")
        return self.value(f"and i64 {whole}, {2**63 - 1}")

    def larger(self, sizes: Sequence[str]) -> str:
        """The largest of one or two `size`s."""
        first, *others = sizes
        for other in others:
            first = self.value(f"select i1 {self.value(f'icmp sgt i64 {other}, {first}')}, i64 {other}, i64 {first}")
        return first

    def is_near(self, size: str) -> str:
        """Whether an argument of that `size` is small enough."""
        return self.value(f"icmp slt i64 {size}, {int(bits(_LARGEST), 16)}")

    def sine_and_cosine(self, x: str) -> tuple[str, str]:
        """Both, of an argument that is small enough."""
        rounded = self.fused(x, bits(2 / 3.141592653589793), bits(_ROUNDING))
        quarter = self.value(f"bitcast double {rounded} to i64")
        k = self.minus(rounded, bits(_ROUNDING))
        first = self.fused(k, bits(-_QUARTER), x)
        y = self.fused(k, bits(-_REST), first)
        excess = self.fused(k, bits(_REST), self.minus(y, first))  # the rounding error of y
        z = self.times(y, y)
        z2 = self.times(z, z)
        rest = self.fused(z, bits(-0.5), bits(1.0))  # 1 - z/2, rounded; the lost digits are added below
        sine = self._sine(y, z, z2, self.times(excess, rest))
        cut = self.fused(z, bits(-0.5), self.minus(bits(1.0), rest))
        small = self.fused(z2, self._sum(z, z2, _COSINE), self.fused(y, excess, cut))
        return self._turned(quarter, sine, self.value(f"fadd double {rest}, {small}"))

    def called(self, x: str) -> tuple[str, str]:
        """Return both for any argument, by a call of `DEFINITION`."""
        both = self.value(f"call {BOTH} @{NAME}(double {x})")
        return self.value(f"extractvalue {BOTH} {both}, 0"), self.value(f"extractvalue {BOTH} {both}, 1")

    def _sine(self, y: str, z: str, z2: str, excess: str) -> str:
        first, *others = (-c for c in _SINE)
        polynomial = self.fused(z, self._sum(z, z2, others), bits(first))
        return self.minus(y, self.fused(self.times(z, y), polynomial, excess))

    def _sum(self, z: str, z2: str, coefficients: Sequence[float]) -> str:
        """A polynomial in z, two terms at a time."""
        pairs = [coefficients[i : i + 2] for i in range(0, len(coefficients), 2)]
        parts = [bits(pair[0]) if len(pair) == 1 else self.fused(z, bits(pair[1]), bits(pair[0])) for pair in pairs]
        total = parts.pop()
        while parts:
            total = self.fused(z2, total, parts.pop())
        return total

    def _turned(self, quarter: str, sine: str, cosine: str) -> tuple[str, str]:
        """Return sine and cosine after `quarter` quarter turns."""
        odd = self.value(f"trunc i64 {quarter} to i1")
        found = []
        for one, other, ahead in ((sine, cosine, 0), (cosine, sine, 1)):
            chosen = self.value(f"select i1 {odd}, double {other}, double {one}")
            half = self.value(f"shl i64 {self.value(f'add i64 {quarter}, {ahead}') if ahead else quarter}, 62")
            sign = self.value(f"and i64 {half}, {-(2**63)}")
            turned = self.value(f"xor i64 {self.value(f'bitcast double {chosen} to i64')}, {sign}")
            found.append(self.value(f"bitcast i64 {turned} to double"))
        return found[0], found[1]


def together(prefix: str, arguments: Sequence[str]) -> tuple[list[str], str, list[tuple[str, str]]]:
    """Sines and cosines of several arguments in a vector, with the bits of single ones: lines, whether all arguments are small enough,
    and the names of each pair.
    """
    lanes = 2 if len(arguments) == 2 else MOST_TOGETHER
    vector, whole, text = f"<{lanes} x double>", "undef", []
    for i in range(lanes):
        text.append(f"{prefix}.x{i} = insertelement {vector} {whole}, double {arguments[min(i, len(arguments) - 1)]}, i32 {i}")
        whole = f"{prefix}.x{i}"
    lines = Lines(prefix)
    near, both = lines.near(whole), lines.sine_and_cosine(whole)
    text += [widened(line, lanes) for line in lines.text]
    text += [f"{prefix}.bits = bitcast <{lanes} x i1> {near} to i{lanes}", f"{prefix}.near = icmp eq i{lanes} {prefix}.bits, -1"]
    pairs = [(f"{prefix}.s{i}", f"{prefix}.c{i}") for i in range(len(arguments))]
    for i, pair in enumerate(pairs):
        text += [f"{one} = extractelement {vector} {values}, i32 {i}" for one, values in zip(pair, both, strict=True)]
    return text, f"{prefix}.near", pairs


def groups_of(arguments: Sequence[T]) -> list[Sequence[T]]:
    """Arguments, or other values, in groups that `together` takes, without a last one that is alone."""
    found = [arguments[i : i + MOST_TOGETHER] for i in range(0, len(arguments), MOST_TOGETHER)]
    return [group for group in found if len(group) > 1]


def _definition() -> str:
    """A function of one argument that returns both."""
    near = Lines("%n")
    inside = near.near("%x")
    lines = Lines("%v")
    sine, cosine = lines.sine_and_cosine("%x")
    own, far = (_packed(*pair) for pair in ((sine, cosine, "%own"), ("%s", "%c", "%far")))
    return "\n".join(
        [
            DECLARATION,
            "declare double @sin(double)",
            "declare double @cos(double)",
            f"define internal {BOTH} @{NAME}(double %x) nounwind {{",
            *near.text,
            f"br i1 {inside}, label %near, label %beyond",
            "near:",
            *lines.text,
            *own,
            f"ret {BOTH} %own",
            "beyond:",
            "%s = call double @sin(double %x)",
            "%c = call double @cos(double %x)",
            *far,
            f"ret {BOTH} %far",
            "}",
        ]
    )


def call(place: int) -> str:
    """A line in which `{r}` becomes the sine (0) or the cosine (1) of `{a}`, by that function; a template, with its own braces doubled."""
    both = f"{{{BOTH}}}"
    return f"{{r}}.b = call {both} @{NAME}(double {{a}})\n{{r}} = extractvalue {both} {{r}}.b, {place}"


def _packed(sine: str, cosine: str, name: str) -> list[str]:
    return [f"{name}.s = insertvalue {BOTH} undef, double {sine}, 0", f"{name} = insertvalue {BOTH} {name}.s, double {cosine}, 1"]


DEFINITION = _definition()
"""The function, with the declarations it needs."""
