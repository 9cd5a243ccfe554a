"""Functions that numba compiles ahead: they are loaded from disk, without numba.

An installed package holds their machine code for the usual kinds of machine (`processor.TARGETS`) in the folder `built`, and their bitcode,
from which llvmlite makes machine code for any other within seconds. Where the sources were changed, numba compiles them again, once; what
it and llvmlite make is kept beside this file, or in the user's cache directory where that cannot be written to; what others than the user
could have written is not used. Names of files hold a digest of the sources, and of the processor and the version of LLVM where code was
made on this machine, so that nothing that changed is loaded, and two environments may share a folder; a file begins with a digest of
itself, so that half a file is not loaded either.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.support.files import open_file, replacing
from chetaev.numerics.machine.engine import address_of, bind, load_object, object_for
from chetaev.numerics.machine.processor import Target, name_and_features, this_target, wide_target

_DIGEST = 32
"""Bytes of the digest in front of a file."""
_LETTERS = 24
"""Letters of a digest in names of files: 96 bits, so that no two sources ever share a name."""


@dataclass(frozen=True)
class Code:
    """Several functions as an object file or as LLVM's bitcode, the kinds of their arguments, and the functions of libm that they call."""

    signatures: Mapping[str, str]
    calls: Sequence[str]
    code: bytes

    def packed(self) -> bytes:
        contents = json.dumps([dict(self.signatures), list(self.calls)]).encode() + b"\n" + self.code
        return hashlib.sha256(contents).digest() + contents

    @staticmethod
    def unpacked(stored: bytes) -> Code | None:
        """Return None if the file is incomplete."""
        digest, contents = stored[:_DIGEST], stored[_DIGEST:]
        if hashlib.sha256(contents).digest() != digest:
            return None
        described, _, code = contents.partition(b"\n")
        signatures, calls = json.loads(described)
        return Code(signatures, calls, code)

    def for_target(self, target: Target | None) -> Code:
        """An object file for a kind of machine, or for this very processor, from bitcode."""
        return replace(self, code=object_for(target, self.code))


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

    def build(self, folder: Path, targets: Iterable[Target]) -> list[Path]:
        """Write what is installed with the package: machine code for kinds of machine, and the bitcode for all others.

        Bitcode that was kept is not used: numba made it for the registers of this processor, which others may not have.
        """
        bitcode = self._compiled()
        made = {folder / f"{self._stem}.bc": bitcode}
        made |= {folder / f"{self._stem}-{target.name}.o": bitcode.for_target(target) for target in targets}
        for file, code in made.items():
            file.write_bytes(code.packed())
        return list(made)

    def _loaded(self) -> dict[str, Callable[..., None]]:
        code = self._machine_code()
        for called in code.calls:
            bind(called)
        addresses = load_object(code.code, [self._symbol(name) for name in code.signatures])
        symbols = map(self._symbol, code.signatures)
        return {
            name: _Function(name, symbol, at, code.signatures[name])
            for name, symbol, at in zip(code.signatures, symbols, addresses, strict=True)
        }

    def _machine_code(self) -> Code:
        """For this machine: as it was installed, as it was made here before, or made now."""
        names = [target.name for target in (wide_target(), this_target()) if target is not None]
        installed = next((found for name in names if (found := _read(_built() / f"{self._stem}-{name}.o")) is not None), None)
        made_here = f"{self._stem}-{_digest_of_this_machine()}.o"
        found = installed or _kept(made_here)
        if found is None:
            found = self._for_this_machine()
            _write(made_here, found.packed())
        return found

    def _for_this_machine(self) -> Code:
        """From bitcode; where its LLVM is newer than ours, which cannot read it then, from bitcode that is made now."""
        try:
            return self._bitcode().for_target(None)
        except RuntimeError:  # what llvmlite raises for bitcode that it cannot read
            return self._made_here(again=True).for_target(None)

    def _bitcode(self) -> Code:
        """As it was installed, as it was made here before, or made now."""
        return _read(_built() / f"{self._stem}.bc") or self._made_here()

    def _made_here(self, again: bool = False) -> Code:
        """Bitcode of this machine's LLVM."""
        file = f"{self._stem}-{_digest_of([llvmlite.__version__.encode()])}.bc"
        found = None if again else _kept(file)
        if found is None:
            found = self._compiled()
            _write(file, found.packed())
        return found

    def _compiled(self) -> Code:
        try:
            from chetaev.numerics.machine.compiling import compile_functions
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] != "numba":
                raise
            raise UsageError(
                "the stepping loop is not compiled for these sources and this version of llvmlite, and numba, which compiles it, is not "
                "installed.",
                where="simulate",
                hint="pip install --upgrade llvmlite, or pip install numba",
            ) from None
        if _somebody_watches():
            print("chetaev compiles its stepping loop, once for this machine: about a minute", file=sys.stderr)
        module = importlib.import_module(self.module)
        return Code(*compile_functions({name: getattr(module, name) for name in self.names}, self._symbol))

    def _symbol(self, name: str) -> str:
        """A name that no other code in the process has."""
        return f"chetaev_{name}_{self._digest}"

    @cached_property
    def _digest(self) -> str:
        here = Path(__file__)
        sources = sorted({*self.sources, here, here.with_name("compiling.py"), here.with_name("native.py")})
        return _digest_of(file.read_bytes() for file in sources)

    @property
    def _stem(self) -> str:
        return f"{self.module.rpartition('.')[2]}-{self._digest}"


def _digest_of(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:_LETTERS]


def _digest_of_this_machine() -> str:
    """Code for one processor may be wrong for another, also where both use one folder over a network."""
    return _digest_of(text.encode() for text in (llvmlite.__version__, *name_and_features(), sys.platform))


def _somebody_watches() -> bool:
    """Whether messages are visible: on a terminal or in a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


# -- on disk


_CACHES = {
    "win32": ("LOCALAPPDATA", "AppData/Local"),
    "darwin": ("XDG_CACHE_HOME", "Library/Caches"),
    "linux": ("XDG_CACHE_HOME", ".cache"),
}
"""The user's cache directory: a variable that names it, and where it is in the user's home otherwise."""


def _built() -> Path:
    """Where an installed package has its code. It needs no check: write access there is write access to the package itself."""
    return Path(__file__).with_name("built")


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
    return _is_ours(status) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_ours(status: os.stat_result) -> bool:
    """Tell whether this user or the administrator made it. Windows keeps the user's folder from others by other means."""
    return not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid())


def _has_private_place(file: Path) -> bool:
    """Tell whether the folder of a file is private, and neither is a link that another user has made."""
    return _is_private(file.parent.stat()) and all(_is_ours(os.lstat(place)) for place in (file.parent, file))


def _kept(name: str) -> Code | None:
    """What was made on this machine before."""
    return next((found for folder in _folders() if (found := _read(folder / name, made_here=True)) is not None), None)


def _read(file: Path, made_here: bool = False) -> Code | None:
    try:
        with open_file(file) as stream:
            trusted = not made_here or (_has_private_place(file) and _is_private(os.fstat(stream.fileno())))
            return Code.unpacked(stream.read()) if trusted else None
    except OSError:
        return None


def _write(name: str, contents: bytes) -> None:
    """Write code to the first private folder that is writable; without one, the next process compiles again."""
    for folder in _folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(folder.stat()) or not _is_ours(os.lstat(folder)):
                continue
            with replacing(folder / name) as beside:  # atomic: another process may be reading
                beside.write_bytes(contents)
                beside.chmod(0o644)
        except OSError:
            continue
        return


# -- calls


class _Function:
    """Machine code as a Python function of numbers, arrays and tuples of these; the call releases the GIL."""

    def __init__(self, name: str, symbol: str, address: int, signature: str) -> None:
        self.__name__, self.symbol, self._signature = name, symbol, signature
        types = [t for kind in signature.split() for t in _parts(kind)]
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)(address)

    def check(self, kinds: Sequence[str]) -> None:
        """Refuse arguments of other kinds than the code was compiled for."""
        if " ".join(kinds) != self._signature:
            raise TypeError(f"{self.__name__} takes {self._signature}, not {' '.join(kinds)}")

    def __call__(self, *arguments: Any) -> None:
        kinds, values = flattened(arguments)
        self.check(kinds)
        result, exception = ctypes.c_void_p(), ctypes.c_void_p()  # where numba leaves them
        if self._entry(ctypes.addressof(result), ctypes.addressof(exception), *values):
            raise RuntimeError(f"{self.__name__} did not end as it should")


def flattened(arguments: Sequence[Any]) -> tuple[list[str], list[Any]]:
    """The kinds and the parts of arguments, in order."""
    kinds: list[str] = []
    values: list[Any] = []
    _flat(arguments, kinds, values)
    return kinds, values


def _parts(kind: str) -> list[Any]:
    """How an argument is passed; an array by owner, parent, items, size of an item, data, shape, strides."""
    if kind in ("int", "float"):
        return [ctypes.c_int64 if kind == "int" else ctypes.c_double]
    pointer, dimensions = ctypes.c_void_p, int(kind.rpartition(":")[2])
    return [pointer, pointer, ctypes.c_int64, ctypes.c_int64, pointer, *[ctypes.c_int64] * (2 * dimensions)]


_INTEGERS = {int}


@cache
def _kind(dtype: np.dtype[Any], dimensions: int) -> str:
    return f"{dtype.str[1:]}:{dimensions}"


def _flat(arguments: Sequence[Any], kinds: list[str], values: list[Any]) -> None:
    """Add the kinds and the parts of arguments."""
    for value in arguments:
        kind = type(value)
        if kind is int or kind is float:  # the most frequent ones
            kinds.append(kind.__name__)
            values.append(value)
        elif kind is np.ndarray or isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise TypeError("compiled functions take contiguous arrays")
            kinds.append(_kind(value.dtype, value.ndim))
            at = address_of(value) if value.size else 0  # nothing of an empty array is read
            values += (0, 0, value.size, value.itemsize, at, *value.shape, *value.strides)
        elif isinstance(value, tuple):
            if set(map(type, value)) == _INTEGERS:  # many addresses
                kinds += ["int"] * len(value)
                values += value
            else:
                _flat(value, kinds, values)
        else:
            kinds.append(kind.__name__)
            values.append(value)
