"""The references of a report: the papers whose constructions it uses, and the library."""

from __future__ import annotations

from html import escape

from chetaev.core.support.version import VERSION
from chetaev.report.subject import Subject

_PAPERS = {
    "000": "H. Cendra, S. D. Grillo, Lagrangian systems with higher order constraints, Journal of Mathematical Physics (2007).",
    "001": "H. Cendra, A. Ibort, M. de León, D. Martín de Diego, A generalization of Chetaev's principle for a class of higher order "
    "non-holonomic constraints, Journal of Mathematical Physics (2004).",
    "002": "M. de León, M. Lainz, M. C. Muñoz-Lecanda, N. Román-Roy, Constrained Lagrangian dissipative contact dynamics (2021).",
    "003": "O. Krupková, Differential systems in higher-order mechanics (2000).",
    "004": "S. Vignolo, D. Bruno, Time-dependent vakonomic dynamics and presymplectic geometry (2002).",
    "Pryce": "J. D. Pryce, A simple structural analysis method for DAEs, BIT Numerical Mathematics 41 (2001) 364-394.",
    "Hairer": "E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, Springer (1993): the method DOP853.",
    "Radau": "E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, Springer (1996): the method Radau IIA.",
    "Jorba": "À. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods, "
    "Experimental Mathematics 14 (2005) 99-117.",
}
_LIBRARY = f"The chetaev authors, chetaev: constrained Lagrangian mechanics, version {VERSION}, BSD-3-Clause."


def citations(subject: Subject) -> str:
    """Return the references of a report as a list."""
    found = [("the system", subject.model.reference)] if subject.model.reference else []
    for key in _used(subject):
        found.append((key if key.isdigit() else "", _PAPERS.get(key, key)))
    found.append(("this library", _LIBRARY))
    items = "".join(f"<li>{escape(text)}{f' <span class=soft>({name})</span>' if name else ''}</li>" for name, text in found)
    return f"<ol>{items}</ol>"


def _used(subject: Subject) -> list[str]:
    """Return the papers behind the principle, the analysis and the integration, and those that the corrections name by number.

    References of registered principles and methods follow those of the library.
    """
    keys = [*subject.equations.principle.cited()]
    if subject.analysis.tree is not None:
        keys.append("003")
    text = " ".join((*subject.model.corrections, subject.model.prose))
    keys += [key for key in _PAPERS if key.isdigit() and key in text.replace(".", " ").replace(",", " ").split()]
    if subject.analysis.offsets is not None:
        keys.append("Pryce")
    if subject.motion is not None and subject.motion.method is not None:
        keys += subject.motion.method.cited()
    return [*(key for key in _PAPERS if key in keys), *dict.fromkeys(key for key in keys if key not in _PAPERS)]
