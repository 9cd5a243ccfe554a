"""What this processor can do, and the kinds of machine that the stepping loop is built for."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass

import llvmlite.binding as llvm

_V3 = frozenset("+avx +avx2 +bmi +bmi2 +f16c +fma +lzcnt +movbe".split())
"""What a processor of the level x86-64-v3 has beyond the first ones of 64 bits, in LLVM's words: all servers and desktops since 2015."""
_V4 = _V3.union("+avx512bw +avx512cd +avx512dq +avx512f +avx512vl".split())
"""What one of the level x86-64-v4 has: registers of 512 bits."""

LANES = 16
"""States that are computed together in vectors (`vectors.states`): two registers of processors with AVX-512 and four of those with AVX2, so
that some wait while others are computed. With eight, a step takes a tenth longer for each state where there is AVX-512; elsewhere long
kernels are shorter with eight, and the rest of a step longer. No bits depend on it."""


@dataclass(frozen=True)
class Target:
    """A kind of machine: `name` names its file, `triple` and `cpu` are LLVM's words for it."""

    name: str
    triple: str
    cpu: str


TARGETS = (
    Target("linux-x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3"),
    Target("linux-x86-64", "x86_64-unknown-linux-gnu", "x86-64"),
    Target("linux-arm64", "aarch64-unknown-linux-gnu", "generic"),
    Target("darwin-x86-64-v3", "x86_64-apple-darwin", "x86-64-v3"),
    Target("darwin-x86-64", "x86_64-apple-darwin", "x86-64"),
    Target("darwin-arm64", "arm64-apple-darwin", "apple-m1"),
    Target("win32-x86-64-v3", "x86_64-pc-windows-msvc", "x86-64-v3"),
    Target("win32-x86-64", "x86_64-pc-windows-msvc", "x86-64"),
)
"""The kinds of machine that an installed package has machine code for."""

WIDE_TARGETS = (
    Target("linux-x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4"),
    Target("win32-x86-64-v4", "x86_64-pc-windows-msvc", "x86-64-v4"),
)
"""Further kinds for loops that compute several states in vectors, which take a quarter less time on them; other loops do not."""

_ARCHITECTURES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "arm64", "arm64": "arm64"}
"""What operating systems call the processors of TARGETS."""


BUILD_FOR = "CHETAEV_BUILD_FOR"
"""The variable of the environment that says which machines a wheel is built for: `host` for the kind of this one only, which takes half the
time. Such a wheel works elsewhere too, but makes its machine code from bitcode when it first simulates."""


def targets_to_build(wide: bool = False) -> tuple[Target, ...]:
    """The kinds of machine that a wheel is built for: all, or that of this machine. `wide` for a loop that computes in vectors."""
    if os.environ.get(BUILD_FOR) != "host":
        return TARGETS + WIDE_TARGETS if wide else TARGETS
    own = (wide_target() if wide else None) or this_target()
    return () if own is None else (own,)


def name_and_features() -> tuple[str, str]:
    """The name and the features of this processor, as LLVM calls them."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot determine them
        features = ""
    return llvm.get_host_cpu_name(), features


def fuses() -> bool:
    """Whether this processor computes a*b + c with one rounding: those of 64 bits by ARM do, others tell."""
    return platform.machine() in ("aarch64", "arm64") or "+fma" in name_and_features()[1].split(",")


def this_target() -> Target | None:
    """The kind of this machine, the most capable one that suits it; None if the loop is built for none that suits."""
    architecture = _ARCHITECTURES.get(platform.machine().lower())
    names = [f"{sys.platform}-{architecture}"]
    if architecture == "x86-64" and _V3.issubset(name_and_features()[1].split(",")):
        names.insert(0, f"{names[0]}-v3")
    return next((target for name in names for target in TARGETS if target.name == name), None)


def wide_target() -> Target | None:
    """The kind of this machine, if it has registers of 512 bits and loops that compute in vectors are built for them."""
    architecture = _ARCHITECTURES.get(platform.machine().lower())
    if architecture != "x86-64" or not _V4.issubset(name_and_features()[1].split(",")):
        return None
    return next((target for target in WIDE_TARGETS if target.name == f"{sys.platform}-{architecture}-v4"), None)
