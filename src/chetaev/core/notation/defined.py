"""Functions that a program adds to the notation: a name for an expression in existing functions.

`softplus(x)` then stands for its expression, so that derivatives, values, exact zero tests, enclosures, machine code and exported code
need nothing else. Texts, also those in files, keep the name; derived equations show the expression. `slopes_of_functions` reads the texts
by which the table of the library describes the slope of a function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sympy import Expr

from chetaev.core.errors import NotationError, UsageError
from chetaev.core.fixes import InPython
from chetaev.core.functions import DECLARABLE, FUNCTIONS, SMOOTH
from chetaev.core.notation.bounds import MOST_DERIVED, fault
from chetaev.core.notation.meaning import parse_expression
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.support.letters import NAME
from chetaev.core.support.public import public
from chetaev.core.symbols import Parameter

_TAKEN = ("D", "t", "pi")
"""Names with a fixed meaning in the notation."""


@public
@dataclass(frozen=True)
class Function:
    """A function of the notation: its name, its arguments separated by blanks, and the expression it stands for.

    >>> Function("softplus", "u", "log(1 + exp(u))")(Parameter("a"))
    log(exp(a) + 1)
    """

    name: str
    arguments: str
    expression: str

    def __post_init__(self) -> None:
        names = self.arguments.split()
        plain = all(NAME.fullmatch(name) for name in (self.name, *names))
        if not names or not plain or self.name in (*_TAKEN, *names) or {*names} & {*_TAKEN, *FUNCTIONS}:
            hint = InPython('Function("softplus", "u", "log(1 + exp(u))")')
            raise UsageError(f"{self.name}({', '.join(names)}) is not a function with names of its own.", where="Function", hint=hint)
        self(*map(Parameter, names))

    def __call__(self, *arguments: Expr) -> Expr:
        """The expression for the given arguments, read as if it were written out, with all limits of a text."""
        where = f"function {self.name}"
        found = parse_expression(self.expression, Vocabulary(expressions=dict(zip(self.arguments.split(), arguments, strict=True))), where)
        reason = fault(found, MOST_DERIVED)
        if reason:
            raise NotationError(reason, where=where, text=self.expression)
        return found

    def register(self) -> Function:
        """Make the function known to every text that is read from now on. A system may still declare its name for a quantity."""
        known = FUNCTIONS.get(self.name, (self, 0))[0]
        if known != self:
            hint = "choose another name"  # a new meaning would change what texts mean that were read before, or refer to itself
            raise UsageError(f"{self.name} is the name of another function.", where="register", hint=hint)
        FUNCTIONS[self.name] = (self, len(self.arguments.split()))
        DECLARABLE.add(self.name)
        return self


ARGUMENT = Parameter("u")
"""The argument in the text of a slope."""


@cache
def slopes_of_functions() -> dict[str, Expr]:
    """The slope of each function of the table that has a text for it, by its name."""
    known = Vocabulary(expressions={"u": ARGUMENT})
    return {name: parse_expression(function.slope, known, f"function {name}") for name, function in SMOOTH.items() if function.slope}
