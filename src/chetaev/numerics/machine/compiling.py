"""Numba compiles functions ahead, to LLVM's bitcode, from which machine code is made for one kind of machine or another.

Left to itself, numba optimises every function together with all that it calls, and makes machine code of it, before it compiles its caller:
code that is called through ten functions is optimised ten times. Here all functions are collected first, and optimised once.

A function declares the types of its arguments in annotations: `int`, `float`, arrays (`NDArray[np.float64]`; of more than one dimension
`Annotated[NDArray[np.float64], 2]`) and named tuples of these. It returns nothing.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from unittest.mock import patch

import numpy as np
from numba import from_dtype, njit, types
from numba.core import config
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from chetaev.numerics.machine.native import RARE, SETTINGS

_CALLED = re.compile(r"(?:llvm\.)?(pow|exp2?|log2?|sin|cos|tan|sqrt|floor|ceil)(?:\.f64)?")
"""Functions of libm, by themselves or in LLVM's spelling: not all of these become calls."""


def compile_functions(
    functions: Mapping[str, Callable[..., None]], symbol: Callable[[str], str]
) -> tuple[dict[str, str], list[str], bytes]:
    """The kinds of arguments of every function, by its name, the functions of libm that are called, and the bitcode of all of them, under
    their symbols.
    """
    signatures = {name: " ".join(kind for hint in _hints(f) for kind in _kinds(hint)) for name, f in functions.items()}
    collected: dict[Any, None] = {}
    with global_compiler_lock, _collecting():
        entries = {_entry(function, signatures[name], collected): symbol(name) for name, function in functions.items()}
        library = cpu_target.target_context.codegen().create_library("loop")
        whole = library._final_module
        for each in collected:
            whole.link_in(each._final_module, preserve=True)
        called = {compiled.fndesc.llvm_func_name for function in RARE for compiled in function.overloads.values()}
        for function in whole.functions:
            if function.name in called:
                function.add_function_attribute("noinline")
            if function.name in entries:
                function.name = entries[function.name]
            elif not function.is_declaration:
                function.linkage = "internal"  # left out where it is inlined everywhere
        library._verify_declare_only_symbols()
        library._optimize_final_module()
        public = set(entries.values())
        for number, function in enumerate(whole.functions):
            if not function.is_declaration and function.name not in public:
                function.name = f"part{number}"  # numba's name holds all types of all arguments
        of_libm = {match[1] for function in whole.functions if function.is_declaration and (match := _CALLED.fullmatch(function.name))}
        return signatures, sorted(of_libm), bytes(whole.as_bitcode())


@contextmanager
def _collecting() -> Iterator[None]:
    """Numba only translates to LLVM's language in this context; what it translates cannot be called.

    Python does not look for cycles of objects meanwhile, which would take a tenth of the time. LLVM leaves loops as they are: `native` has
    vectors where they count, and others would take a fifth of the time of building without making a step shorter.
    """
    cpu_target.target_context  # noqa: B018 - made now: numba calls functions of its own runtime
    collects = gc.isenabled()
    gc.disable()
    with ExitStack() as stack:
        if collects:
            stack.callback(gc.enable)
        stack.enter_context(patch.object(JITCodeLibrary, "finalize", _marked_as_final))
        stack.enter_context(patch.object(JITCodeLibrary, "get_pointer_to_function", lambda *_: 0))
        stack.enter_context(patch.object(JITCPUCodegen, "set_env", lambda *_: None))
        stack.enter_context(patch.object(config, "LOOP_VECTORIZE", 0))
        yield


def _marked_as_final(library: Any) -> None:
    library._finalized = True


def _entry(function: Callable[..., None], signature: str, collected: dict[Any, None]) -> str:
    """Numba's name of a function. Its library and those that it calls are added to `collected`."""
    arguments = tuple(map(_numba_type, _hints(function)))
    dispatcher: Any = function if function in RARE else njit(**SETTINGS)(function)
    dispatcher.get_call_template(arguments, {})  # compiles it
    compiled = dispatcher.overloads[arguments]
    waiting = [compiled.library]
    while waiting:
        library = waiting.pop()
        if library not in collected:
            collected[library] = None
            waiting += library._linking_libraries
    name = compiled.fndesc.llvm_func_name
    entry = compiled.library.get_function(name)
    passed = ["ptr" if str(a.type).endswith("*") else str(a.type) for a in entry.arguments]
    if passed != ["ptr", "ptr", *_passed(signature)]:
        raise RuntimeError(f"this version of numba passes the arguments of {function.__name__} in another way: {passed}")
    return str(name)


def _hints(function: Callable[..., None]) -> list[Any]:
    hints = get_type_hints(getattr(function, "py_func", function), include_extras=True)
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
