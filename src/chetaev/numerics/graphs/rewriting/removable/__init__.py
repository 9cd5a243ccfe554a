"""Functions with removable singularities: `places` finds where a formula has no value, `series` has the function beside these places."""

from chetaev.numerics.graphs.rewriting.removable.series import Removable, Series, removable

__all__ = ["Removable", "Series", "removable"]
