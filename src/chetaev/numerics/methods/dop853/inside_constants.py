"""Numbers by which the compiled loop and the methods that step in Python choose where to look inside steps."""

SPARSE, SPREAD = 24, 24
"""Steps from one look inside a step to the next: at least the first number, and less than both together. A look costs as much as a third
to a half of a step: with half as many steps a run would take three per cent longer."""
NARROWER = 0.5
"""Part of the length of the step looked at last: a step that is shorter is looked at too, so that a narrow feature is not passed between
two looks."""
FURTHER = 4.0
"""Times the largest change of a component in the steps looked at: a step that changes it more is looked at too, so that a pulse that hits
a body at rest is not passed between two looks. Where a motion grows by many powers of ten, that is in every second step."""
FIRST_PLACE, PLACES = 0.05, 0.9
"""The places of a look lie behind the first part of a step, in an interval of the second length. At both ends of a step the polynomial
follows the equations by construction."""
GOLDEN_PART = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly and do not repeat: they choose places and distances."""
DIGITS = 2.0
"""Units in the last place of the time to which the length of a step is known: both of its ends are rounded. With less, steps of 1e-12
between two switches would seem to violate the equations."""
