"""What this processor is called, and what it can do."""

from __future__ import annotations

import platform

import llvmlite.binding as llvm


def name_and_features() -> tuple[str, str]:
    """The name and the features of this processor, as LLVM calls them."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # the processor does not tell
        features = ""
    return llvm.get_host_cpu_name(), features


def fuses() -> bool:
    """Whether it computes a*b + c with one rounding: those of 64 bits by ARM do, others tell."""
    return platform.machine() in ("aarch64", "arm64") or "+fma" in name_and_features()[1].split(",")
