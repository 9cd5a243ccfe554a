"""Numba compiles functions ahead, to LLVM's bitcode, from which machine code is made for one kind of machine or another.

A function declares the types of its arguments in annotations: `int`, `float`, arrays (`NDArray[np.float64]`; of more than one dimension
`Annotated[NDArray[np.float64], 2]`) and named tuples of these. It returns nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import llvmlite.binding as llvm
import numpy as np
from numba import from_dtype, njit, types

from chetaev.numerics.machine.native import SETTINGS

_CALLED = re.compile(r"(?:llvm\.)?(pow|exp2?|log2?|sin|cos|tan|sqrt|floor|ceil)(?:\.f64)?")
"""Functions of libm, by themselves or in LLVM's spelling: not all of these become calls."""


def compile_functions(
    functions: Mapping[str, Callable[..., None]], symbol: Callable[[str], str]
) -> tuple[dict[str, str], list[str], bytes]:
    """The kinds of arguments of every function, by its name, the functions of libm that are called, and the bitcode of all of them, under
    their symbols.
    """
    signatures = {name: " ".join(kind for hint in _hints(f) for kind in _kinds(hint)) for name, f in functions.items()}
    with llvm.create_context() as context, llvm.parse_assembly("", context) as whole:
        for name, function in functions.items():
            whole.link_in(_module(function, symbol(name), signatures[name], context))
        public = {symbol(name) for name in functions}
        for number, function in enumerate(whole.functions):
            if not function.is_declaration and function.name not in public:
                function.linkage = "internal"
                function.name = f"part{number}"  # numba's name holds all types of all arguments
        called = {match[1] for function in whole.functions if function.is_declaration and (match := _CALLED.fullmatch(function.name))}
        return signatures, sorted(called), bytes(whole.as_bitcode())


def _module(function: Callable[..., None], symbol: str, signature: str, context: Any) -> Any:
    """Return the function in LLVM's language, under its symbol."""
    arguments = tuple(map(_numba_type, _hints(function)))
    compiled = njit(arguments, **SETTINGS)(function)
    module = llvm.parse_assembly(compiled.inspect_llvm(arguments), context)
    entry = module.get_function(compiled.overloads[arguments].fndesc.llvm_func_name)
    entry.name = symbol
    passed = ["ptr" if str(a.type).endswith("*") else str(a.type) for a in entry.arguments]
    if passed != ["ptr", "ptr", *_passed(signature)]:
        raise RuntimeError(f"this version of numba passes the arguments of {symbol} in another way: {passed}")
    return module


def _hints(function: Callable[..., None]) -> list[Any]:
    hints = get_type_hints(function, include_extras=True)
    if hints.pop("return") is not type(None):
        raise TypeError(f"{function.__name__} returns something")
    return list(hints.values())


def _fields(kind: Any) -> list[Any] | None:
    """The fields of a tuple with names."""
    return list(get_type_hints(kind, include_extras=True).values()) if isinstance(kind, type) and issubclass(kind, tuple) else None


def _array(hint: Any) -> tuple[np.dtype[Any], int]:
    """The type of entries and the number of dimensions."""
    dimensions = 1
    if get_origin(hint) is Annotated:
        hint, dimensions = get_args(hint)
    return np.dtype(get_args(get_args(hint)[1])[0]), dimensions


def _numba_type(hint: Any) -> Any:
    if hint in (int, float):
        return types.int64 if hint is int else types.float64
    fields = _fields(hint)
    if fields is not None:
        return types.NamedTuple([_numba_type(field) for field in fields], hint)
    dtype, dimensions = _array(hint)
    return types.Array(from_dtype(dtype), dimensions, "C")


def _kinds(hint: Any) -> Iterator[str]:
    """Yield the kinds of the parts that Python passes, in the spelling of `precompiled`."""
    fields = _fields(hint)
    if hint in (int, float):
        yield hint.__name__
    elif fields is not None:
        for field in fields:
            yield from _kinds(field)
    else:
        dtype, dimensions = _array(hint)
        yield f"{dtype.str[1:]}:{dimensions}"


def _passed(signature: str) -> Iterator[str]:
    """Yield the LLVM types of the same parts."""
    for kind in signature.split():
        if kind in ("int", "float"):
            yield "i64" if kind == "int" else "double"
        else:
            yield from ["ptr", "ptr", "i64", "i64", "ptr", *["i64"] * (2 * int(kind.rpartition(":")[2]))]
