"""The name and the features of this processor."""

from __future__ import annotations

import platform

import llvmlite.binding as llvm


def name_and_features() -> tuple[str, str]:
    """The name and the features of this processor, as LLVM calls them."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot determine them
        features = ""
    return llvm.get_host_cpu_name(), features


def fuses() -> bool:
    """Tell whether the processor computes a*b + c with one rounding: 64-bit ARM always does, others have a feature flag."""
    return platform.machine() in ("aarch64", "arm64") or "+fma" in name_and_features()[1].split(",")
