"""The registry of principles: one form of them for model files, motion files, the command line and reports."""

from __future__ import annotations

from chetaev.core.errors import PrincipleError
from chetaev.core.support.registry import Registry
from chetaev.mechanics.principles.base import Principle

PRINCIPLES: Registry[Principle] = Registry("principle", PrincipleError, "herglotz(vakonomic)")
"""Every registered principle under its word."""

of_spec, of_words = PRINCIPLES.of_spec, PRINCIPLES.of_words
