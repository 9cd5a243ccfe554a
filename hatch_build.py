"""What a wheel holds besides the sources: the stepping loops as machine code.

Numba compiles the loop once, here; LLVM makes machine code of it for all kinds of machine, or with `CHETAEV_BUILD_FOR=host` for that of
this machine only. An editable installation gets none: its sources
change, and the first simulation compiles what is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PROGRAM = """import sys
from chetaev.numerics.methods import loops

loops.build(sys.argv[1])
"""
_GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""Numba's passes assume nothing of the processor that builds."""


class CustomBuildHook(BuildHookInterface):
    """Adds the files of `chetaev/numerics/machine/built` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless the installation is editable."""
        if version == "editable":
            return
        modules = os.pathsep.join([os.path.join(self.root, "src"), *sys.path])
        self.folder = tempfile.TemporaryDirectory()
        environment = {**os.environ, **_GENERIC, "PYTHONPATH": modules}
        subprocess.run([sys.executable, "-c", _PROGRAM, self.folder.name], env=environment, check=True)  # noqa: S603
        for name in sorted(os.listdir(self.folder.name)):
            build_data["force_include"][os.path.join(self.folder.name, name)] = f"chetaev/numerics/machine/built/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel now holds."""
        if version != "editable":
            self.folder.cleanup()
