"""Examples at the end of a verb's help."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """Lines as they are typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
