r"""Programs whose instructions stand in a longer function, which computes their arguments and uses their results in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chetaev.numerics.machine import sine
from chetaev.numerics.machine.instructions import (
    CASES,
    CONST,
    DECLARATIONS,
    LIBM,
    PARAMETER,
    STATE,
    STORE,
    TIME,
    TURNING,
    Circle,
    in_order,
    operands,
    operation_of,
)

BLOCK = 4
"""Numbers of a vector, as in `native.BLOCK`, which the loop's rows are padded to."""
VECTOR = f"<{BLOCK} x double>"
ZEROS = "zeroinitializer"
_CALLED = {operation_of(name) for name in LIBM}.difference(TURNING)
"""Operations that call the mathematical library."""
FUSED = "declare double @llvm.fmuladd.f64(double, double, double)"
FUSED_VECTOR = f"declare {VECTOR} @llvm.fmuladd.v{BLOCK}f64({VECTOR}, {VECTOR}, {VECTOR})"


class InLine:
    """A program that is put into the lines of a function, once or several times; `within` another one, into the lines of that one."""

    def __init__(self, table: list[tuple[int, int, int, int]], n: int, within: InLine | None = None) -> None:
        self._table, self._n, self._blocks = table, n, range(-(-n // BLOCK))
        self._order = in_order(table)
        self._lines: list[str] = [] if within is None else within._lines
        self._called: set[int] = set() if within is None else within._called
        self._lasting: dict[tuple[object, ...], str] = {} if within is None else within._lasting
        """Values that depend on neither time nor state, by their operation and operands: programs share them."""
        self._stored = 1 + max((a for operation, a, *_ in table if operation == STORE), default=-1)
        self._near: list[str] = []
        self._moving: list[bool] = []
        for operation, a, b, c in table:
            reads = operation in (TIME, STATE, STORE) or any(self._moving[v] for v in operands(operation, a, b, c))
            self._moving.append(reads)

    @property
    def angles(self) -> int:
        """The number of arguments of sines and cosines."""
        return len({a for operation, a, *_ in self._table if operation in TURNING})

    @property
    def moving(self) -> int:
        """The number of instructions that depend on time or state; the others are executed once in a step."""
        return sum(self._moving)

    @property
    def stays_in_line(self) -> bool:
        """Whether the program calls no function of the mathematical library: before a call all registers are saved."""
        return not any(operation in _CALLED for operation, *_ in self._table)

    @property
    def reads(self) -> list[int]:
        """The places of the state that the program reads."""
        return sorted({a for operation, a, *_ in self._table if operation == STATE})

    @property
    def lines(self) -> list[str]:
        """The lines of the function so far."""
        return self._lines

    @property
    def head(self) -> set[str]:
        """Declarations of what the lines call."""
        return {FUSED, FUSED_VECTOR, sine.DECLARATIONS, *[DECLARATIONS[o] for o in self._called & DECLARATIONS.keys()]}

    def fixed(self, prefix: str) -> list[str]:
        """Write what does not depend on time and state; the names of the values so far."""
        return self._program(prefix, [""] * len(self._table), False, "", {})[0]

    def at(self, prefix: str, fixed: list[str], time: str, state: Sequence[str]) -> list[str]:
        """Write the rest, at a time and a state; the names of what the program stores."""
        return self.at_places(prefix, fixed, time, dict(enumerate(state)))

    def at_places(self, prefix: str, fixed: list[str], time: str, state: Mapping[int, str]) -> list[str]:
        """The same, with those numbers of the state that the program reads, by their places."""
        return self._program(prefix, fixed, True, time, state)[1]

    def near(self, prefix: str) -> str:
        """Write whether all angles were small enough for sines and cosines in line."""
        found = "true"
        for k, each in enumerate(self._near):
            self._add(f"%{prefix}near{k} = and i1 {found}, {each}")
            found = f"%{prefix}near{k}"
        return found

    def _add(self, line: str) -> None:
        self._lines.append(line)

    def _load(self, name: str, pointer: str, place: int, kind: str) -> str:
        self._add(f"{name}.at = getelementptr double, ptr {pointer}, i64 {place}")
        self._add(f"{name} = load {kind}, ptr {name}.at, align 8")
        return name

    def _put(self, vector: str, pointer: str, place: int, at: str) -> None:
        """Store a vector; `at` is a new name for its place."""
        self._add(f"{at} = getelementptr double, ptr {pointer}, i64 {place}")
        self._add(f"store {VECTOR} {vector}, ptr {at}, align 8")

    def _program(self, prefix: str, known: list[str], moving: bool, time: str, state: Mapping[int, str]) -> tuple[list[str], list[str]]:
        """The names of those values that move with the state, or of those that do not; and of what is stored."""
        names, stored, angles = list(known), [""] * self._stored, self._circle(prefix)
        order, first, arguments = self._order
        for place, k in enumerate(order):
            operation, a, b, c = self._table[k]
            if place == first:
                angles.begin([names[v] for v in arguments if self._moving[v] == moving])
            if self._moving[k] != moving:
                continue
            if operation == CONST:
                names[k] = f"0x{c & 0xFFFFFFFF:08X}{b & 0xFFFFFFFF:08X}"
            elif operation == TIME:
                names[k] = time
            elif operation == STATE:
                names[k] = state[a]
            elif operation == STORE:
                stored[a] = names[b]
            elif operation in TURNING:
                names[k] = angles.value(TURNING.index(operation), names[a])
            else:
                names[k] = self._value(f"%{prefix}v{k}", operation, a, [names[v] for v in operands(operation, a, b, c)], moving)
        self._near += [angles.near] if angles.near else []
        return names, stored

    def _value(self, name: str, operation: int, place: int, given: list[str], moving: bool) -> str:
        """The name of a value; of one that lasts perhaps that of another program."""
        key = (operation, place, *given) if operation == PARAMETER else (operation, *given)
        if not moving and key in self._lasting:
            return self._lasting[key]
        self._called.add(operation)
        if operation == PARAMETER:
            self._parameter(name, place)
        else:
            self._add(CASES[operation].format(r=name, **dict(zip("abc", given, strict=False))))
        if not moving:
            self._lasting[key] = name
        return name

    def _circle(self, prefix: str) -> Circle:
        """Sines and cosines in line, with names of their own in each stage."""
        found = Circle(True, prefix)
        found.lines = self._lines
        return found

    def _parameter(self, name: str, place: int) -> None:
        self._load(name, "%p", place, "double")

    def _fused(self, name: str, a: str, b: str, c: str) -> str:
        return f"{name} = call {VECTOR} @llvm.fmuladd.v{BLOCK}f64({VECTOR} {a}, {VECTOR} {b}, {VECTOR} {c})"

    def _gathered(self, name: str, block: int, numbers: Sequence[str]) -> str:
        """The numbers of a block in a vector, with zeros behind the last one."""
        whole = ZEROS
        for j in range(BLOCK * block, min(BLOCK * (block + 1), self._n)):
            self._add(f"{name}.{j} = insertelement {VECTOR} {whole}, double {numbers[j]}, i32 {j % BLOCK}")
            whole = f"{name}.{j}"
        return whole

    def _gathered_name(self, name: str, block: int) -> str:
        """The name of that vector."""
        return f"{name}.{min(BLOCK * (block + 1), self._n) - 1}"
