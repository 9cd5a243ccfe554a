"""Machine code from text in LLVM's language, without a C compiler.

All code stays in one engine until the process ends, so that every address stays valid; equal texts share their code.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import llvmlite.binding as llvm

from chetaev.numerics.machine.processor import Target, name_and_features

NAME = "kernel"
"""What the function of a text is called in it."""
_BLOCK = 64
"""Lines of a basic block in unoptimised code. LLVM's time grows with the square of this length; shorter blocks make slower code."""

_LOCK = threading.Lock()
_ADDRESSES: dict[str, int] = {}
_KEPT: list[Any] = []
"""The engine, kept until the process ends, even if the caches of functions are cleared: it owns the code at all addresses."""


def machine_code(text: str, optimised: bool) -> int:
    """Return the address of a text's machine code, which is compiled on the first call.

    All kernels share one engine: a small one takes 8 KiB there, and a hundred times that in a separate engine. Each is parsed in a
    separate context, because another thread may be compiling with numba in the global one.
    """
    digest = hashlib.sha256(text.encode()).hexdigest() + "_plain" * (not optimised)
    with _LOCK:
        if digest not in _ADDRESSES:
            code = text if optimised else _in_blocks(text)
            _ADDRESSES[digest] = _compiled(code, f"{NAME}_{digest}", 2 if optimised else 0)
        return _ADDRESSES[digest]


@lru_cache(maxsize=1024)
def entry_of(address: int) -> Callable[..., None]:
    """The code at an address as a function of a time and three addresses: of y, p and the result."""
    return ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)


_first_byte, _address = ctypes.c_char.from_buffer, ctypes.addressof


def address_of(numbers: Any) -> int:
    """Where the numbers of an array begin; the caller keeps the array. NumPy's own way makes an object for each question, which takes as
    long as a small program.
    """
    try:
        return _address(_first_byte(numbers))
    except (TypeError, ValueError):  # an array that is read-only, has gaps, or is empty
        return int(numbers.ctypes.data)


def _in_blocks(text: str) -> str:
    """Split a text into blocks of `_BLOCK` lines by jumps to the next line: LLVM's time grows with the square of the block length."""
    head, opening, body = text.rpartition("{\n")
    end = "ret void\n}\n"
    if not body.endswith(end):
        return text
    lines = body.removesuffix(end).splitlines()
    blocks = ["\n".join(lines[k : k + _BLOCK]) for k in range(0, len(lines), _BLOCK)]
    joined = "".join(f"{block}\nbr label %block{k}\nblock{k}:\n" for k, block in enumerate(blocks))
    return f"{head}{opening}{joined}{end}"


def _compiled(text: str, symbol: str, level: int) -> int:
    with llvm.create_context() as context, llvm.parse_assembly(_spelled_for_this_llvm(text), context) as module:
        module.get_function(NAME).name = symbol
        code = object_of(module, level)
    return _loaded(code, [symbol])[0]


def object_of(module: Any, level: int = 3) -> bytes:
    """The machine code of a module for this processor, as an object file."""
    module.triple = llvm.get_process_triple()
    return bytes(_target(level).emit_object(module))


def object_for(target: Target | None, bitcode: bytes) -> bytes:
    """An object file from LLVM's bitcode, whose passes have been run; for this very processor where `target` is None."""
    with llvm.create_context() as context, llvm.parse_bitcode(bitcode, context) as module:
        if target is None:
            module.data_layout = str(_target(3).target_data)
            return object_of(module)
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = _machine(target.triple, target.cpu, "", 3)
        module.triple, module.data_layout = target.triple, str(machine.target_data)
        return bytes(machine.emit_object(module))


def load_object(code: bytes, symbols: Sequence[str]) -> list[int]:
    """The addresses of symbols in an object file that was made for this processor."""
    with _LOCK:
        return _loaded(code, symbols)


def _loaded(code: bytes, symbols: Sequence[str]) -> list[int]:
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return [int(engine.get_function_address(symbol)) for symbol in symbols]


def _spelled_for_this_llvm(text: str) -> str:
    """Write pointers with types for LLVM before version 15 (llvmlite 0.43 and 0.44); all of them point to doubles."""
    return text if llvm.llvm_version_info[0] > 15 else text.replace(" ptr ", " double* ")


def _engine() -> Any:
    if not _KEPT:
        _KEPT.append(llvm.create_mcjit_compiler(llvm.parse_assembly("", llvm.create_context()), _new_target(0)))
    return _KEPT[0]


@cache
def _target(level: int) -> Any:
    return _new_target(level)


def _new_target(level: int) -> Any:
    """This processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _machine(llvm.get_process_triple(), *name_and_features(), level)


def _machine(triple: str, cpu: str, features: str, level: int) -> Any:
    """A kind of machine, with the models of memory that numba's own engine uses on it."""
    target = llvm.Target.from_triple(triple)
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(cpu, features, level, reloc, "jitdefault", jit=True)


_LIBRARIES: dict[str, tuple[str | None, ...]] = {"win32": ("ucrtbase", "msvcrt"), "darwin": (None, "/usr/lib/libSystem.B.dylib")}
"""Libraries with the functions of libm, where the process does not already contain them."""

CALLED = re.compile(r"^declare double @(\w+)\(", re.MULTILINE)
"""Names of libm functions in a text; names of LLVM's own functions contain dots."""

_FUSED = {"linux": "sincos", "darwin": "__sincos_stret"}
"""The function that LLVM calls where the tape has both sin and cos of one argument."""


SAME_BITS = sys.platform == "linux"
"""Whether that function rounds like separate sine and cosine, which unoptimised code calls."""


def bind(name: str) -> None:
    """Raise if a called function does not exist; the engine would end the process."""
    _find(name)
    if name in ("sin", "cos") and sys.platform in _FUSED:
        _find(_FUSED[sys.platform])


def _find(name: str) -> None:
    if llvm.address_of_symbol(name):
        return
    for library in _LIBRARIES.get(sys.platform, (None, "libm.so.6", "libm.so")):
        try:
            address = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        llvm.add_symbol(name, address)
        return
    raise RuntimeError(f"the function {name} is neither in this process nor in the mathematical library of this system ({sys.platform})")
