"""Functions that numba compiles once per machine: afterwards they are loaded from disk, without numba.

Importing numba takes half a second, loading the code a few milliseconds. The code is stored beside this file, or in the user's cache
directory if this folder is not writable; files that other users could have written are not loaded. The file name is a digest of the
sources, of the processor and of the version of LLVM, so that outdated code is not loaded; the file begins with a digest of its contents, so
that an incomplete file is not loaded either.

The functions return nothing; results are written to arrays. Numba passes an array by its parts and a tuple by its fields. `_flat` does the
same, and checks the kinds of the parts against the compiled signature: machine code would not notice a wrong argument.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

from chetaev.core.support.files import open_file, replacing
from chetaev.numerics.machine.engine import bind, load_object
from chetaev.numerics.machine.processor import name_and_features

_DIGEST = 32
"""Bytes of the SHA-256 digest at the beginning of a file."""


@dataclass(frozen=True)
class Code:
    """Machine code of several functions, the kinds of their arguments, and the functions of libm that it calls."""

    signatures: Mapping[str, str]
    calls: Sequence[str]
    object_file: bytes

    def packed(self) -> bytes:
        contents = json.dumps([dict(self.signatures), list(self.calls)]).encode() + b"\n" + self.object_file
        return hashlib.sha256(contents).digest() + contents

    @staticmethod
    def unpacked(stored: bytes) -> Code | None:
        """Return None if the file is incomplete."""
        digest, contents = stored[:_DIGEST], stored[_DIGEST:]
        if hashlib.sha256(contents).digest() != digest:
            return None
        described, _, object_file = contents.partition(b"\n")
        signatures, calls = json.loads(described)
        return Code(signatures, calls, object_file)


class Precompiled:
    """The functions of a module, by their names; `sources` are the files that their machine code depends on.

    The code is loaded, or compiled, when a function is first requested.
    """

    def __init__(self, module: str, names: Sequence[str], sources: Sequence[Path]) -> None:
        self.module, self.names, self.sources = module, tuple(names), tuple(sources)
        self._lock = threading.Lock()
        self._functions: dict[str, Callable[..., None]] = {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_") or name not in self.names:
            raise AttributeError(f"no compiled function {name}")
        with self._lock:
            if not self._functions:
                self._functions = self._loaded()
        return self._functions[name]

    def _loaded(self) -> dict[str, Callable[..., None]]:
        digest = self._digest()
        file = f"{self.module.rpartition('.')[2]}-{digest[:24]}.o"
        code = next((found for folder in _folders() if (found := _read(folder / file)) is not None), None)
        if code is None:
            code = self._compiled(digest)
            _write(file, code.packed())
        for called in code.calls:
            bind(called)
        addresses = load_object(code.object_file, [_symbol(name, digest) for name in code.signatures])
        return {name: _callable(name, at, code.signatures[name]) for name, at in zip(code.signatures, addresses, strict=True)}

    def _compiled(self, digest: str) -> Code:
        from chetaev.numerics.machine.compiling import compile_functions

        if sys.stderr is not None and sys.stderr.isatty():
            print("chetaev compiles its stepping loop, once for this machine: about a minute", file=sys.stderr)
        module = importlib.import_module(self.module)
        return Code(*compile_functions({name: getattr(module, name) for name in self.names}, lambda name: _symbol(name, digest)))

    def _digest(self) -> str:
        made_by = [llvmlite.__version__, *name_and_features(), sys.platform]
        here = Path(__file__)
        contents = [
            file.read_bytes() for file in sorted({*self.sources, here, here.with_name("compiling.py"), here.with_name("native.py")})
        ]
        return hashlib.sha256(b"\0".join([*[text.encode() for text in made_by], *contents])).hexdigest()


def _symbol(name: str, digest: str) -> str:
    """Return a symbol that is unique in the process."""
    return f"chetaev_{name}_{digest[:24]}"


# -- on disk


_CACHES = {
    "win32": ("LOCALAPPDATA", "AppData/Local"),
    "darwin": ("XDG_CACHE_HOME", "Library/Caches"),
    "linux": ("XDG_CACHE_HOME", ".cache"),
}
"""The user's cache directory: a variable that names it, and where it is in the user's home otherwise."""


def _folders() -> list[Path]:
    """Return the folders for code, in the order in which they are searched and written."""
    beside = Path(__file__).with_name("__pycache__")
    variable, usual = _CACHES.get(sys.platform, _CACHES["linux"])
    try:
        return [beside, Path(os.environ.get(variable) or Path("~").expanduser() / usual) / "chetaev"]
    except RuntimeError:  # a user without a home
        return [beside]


def _is_private(status: os.stat_result) -> bool:
    """Tell whether only this user and the administrator can write here: code that is loaded is executed."""
    if not hasattr(os, "geteuid"):  # Windows keeps the user's folder from others by other means
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(file: Path) -> Code | None:
    try:
        with open_file(file) as stream:
            trusted = _is_private(os.stat(file.parent)) and _is_private(os.fstat(stream.fileno()))
            return Code.unpacked(stream.read()) if trusted else None
    except OSError:
        return None


def _write(name: str, contents: bytes) -> None:
    """Write code to the first private folder that is writable; without one, the next process compiles again."""
    for folder in _folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(folder.stat()):
                continue
            with replacing(folder / name) as beside:  # atomic: another process may be reading
                beside.write_bytes(contents)
                beside.chmod(0o644)
        except OSError:
            continue
        return


# -- calls


def _callable(name: str, address: int, signature: str) -> Callable[..., None]:
    """Machine code as a Python function of numbers, arrays and tuples of these; the call releases the GIL."""
    types = [t for kind in signature.split() for t in _parts(kind)]
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)(address)

    def call(*arguments: Any) -> None:
        kinds: list[str] = []
        values: list[Any] = []
        for argument in arguments:
            _flat(argument, kinds, values)
        if " ".join(kinds) != signature:
            raise TypeError(f"{name} takes {signature}, not {' '.join(kinds)}")
        result, exception = ctypes.c_void_p(), ctypes.c_void_p()  # where numba leaves them
        if entry(ctypes.addressof(result), ctypes.addressof(exception), *values):
            raise RuntimeError(f"{name} did not end as it should")

    return call


def _parts(kind: str) -> list[Any]:
    """How an argument is passed; an array by owner, parent, items, size of an item, data, shape, strides."""
    if kind in ("int", "float"):
        return [ctypes.c_int64 if kind == "int" else ctypes.c_double]
    pointer, dimensions = ctypes.c_void_p, int(kind.rpartition(":")[2])
    return [pointer, pointer, ctypes.c_int64, ctypes.c_int64, pointer, *[ctypes.c_int64] * (2 * dimensions)]


def _flat(value: Any, kinds: list[str], values: list[Any]) -> None:
    """The kinds and the parts of an argument."""
    if isinstance(value, tuple):
        for field in value:
            _flat(field, kinds, values)
    elif isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("compiled functions take contiguous arrays")
        kinds.append(f"{value.dtype.str[1:]}:{value.ndim}")
        values += [None, None, value.size, value.itemsize, value.__array_interface__["data"][0], *value.shape, *value.strides]
    else:
        kinds.append(type(value).__name__)
        values.append(value)
