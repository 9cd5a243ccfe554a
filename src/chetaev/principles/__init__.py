"""The principles. A new one is a file with one method, and one line in the table below."""

from chetaev.principles.base import Lowered, Principle
from chetaev.principles.chetaev import Chetaev
from chetaev.principles.dalembert import DAlembert
from chetaev.principles.hamilton import Hamilton
from chetaev.principles.herglotz import Herglotz
from chetaev.principles.vakonomic import Vakonomic
from chetaev.principles.virtual_work import VirtualWork

PRINCIPLES: dict[str, type[Principle]] = {p.word: p for p in (Hamilton, DAlembert, Chetaev, VirtualWork, Vakonomic, Herglotz)}
"""Every principle under its word in model files."""

__all__ = ["PRINCIPLES", "Chetaev", "DAlembert", "Hamilton", "Herglotz", "Lowered", "Principle", "Vakonomic", "VirtualWork"]
