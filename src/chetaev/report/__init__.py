"""Reports: everything about a model on one page, in one file that needs no network.

    ch.report(ch.gallery("rocard")).save("rocard.html")

`subject` computes equations, analysis and motions once; `sections` writes the mathematics and the references, `motion` the motion with its
pictures and a fit, `prose` running text with formulas, `html_text` tables and sentences, and `page` the page with its style sheet and
figures.

The package is callable, so that importing it does not hide the public function of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

from chetaev.core.errors import UsageError
from chetaev.core.support.files import require_ending, write_text
from chetaev.core.support.lazy import made_by, make_callable
from chetaev.core.support.public import public
from chetaev.core.support.version import VERSION
from chetaev.io.writing import dumps
from chetaev.mechanics.analysis import Analysis
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.trajectory import Trajectory


@public
@dataclass(frozen=True, repr=False)
class Report:
    """A page about a model with a `title`: `html` is the document, which `save` writes; `analysis` and `motion` are its contents."""

    title: str
    html: str = field(repr=False)
    analysis: Analysis = field(repr=False)
    motion: Trajectory | None = field(repr=False)

    def save(self, path: Any) -> Path:
        """Write the page to a file `.html`.

        Args:
            path: The path of the file, with the ending `.html` or `.htm`.

        Raises:
            UsageError: If `path` has another ending, or if the file cannot be written.
        """
        require_ending(path, (".html", ".htm"), f"save the report on {self.title}")
        file = Path(path)
        try:
            write_text(file, self.html)
        except OSError as cause:
            what = f"the report cannot be written: {cause.strerror or cause}."
            raise UsageError(what, where=str(file), hint="another path") from None
        return file

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:75vh;border:0" title="{escape(self.title)}"></iframe>'

    def __repr__(self) -> str:
        return f"<Report on {self.title}: {len(self.html) // 1000} kB>"


@public
def report(
    model: Any,
    start: Any = None,
    t: Sequence[Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    tolerance: Any = None,
    scale: Mapping[str, Any] | None = None,
    method: Any = None,
    events: Sequence[Any] | None = None,
    branch: Any = None,
    gauge: Mapping[str, Any] | None = None,
    conserve: str | None = None,
    max_step: Any = None,
    animation: bool = True,
    sliders: Mapping[str, Any] | None = None,
    simplify: bool = False,
) -> Report:
    """Return a page about a model, equations with a start, a motion or a fit.

    The page has the system as it is written, the classification of its constraints, typeset equations, the analysis, the motion in pictures
    and as an animation, its drift and a certificate by `motion.verify()`, and references. If the verdict allows no motion, or a branch or a
    gauge must be chosen, the page states that.

    Args:
        model: A model, equations, a motion, or a result of `fit`, for which the page also has the values found, data and residuals.
        start: As in `simulate`.
        t: As in `simulate`.
        parameters: As in `simulate`.
        inputs: As in `simulate`.
        tolerance: As in `simulate`.
        scale: As in `simulate`.
        method: As in `simulate`.
        events: As in `simulate`.
        branch: As in `simulate`.
        gauge: As in `simulate`.
        conserve: As in `simulate`.
        max_step: As in `simulate`.
        animation: Whether the page has an animation.
        sliders: Ranges of parameters and initial values, as in `animate`: the animation then computes the motion while a slider moves.
        simplify: Whether the equations are simplified, within ten seconds.

    Returns:
        The page, with a method `save`, the analysis and the motion.

    Raises:
        UsageError: For an argument of a wrong type or value.

    >>> import chetaev as ch
    >>> page = report(ch.gallery("krupkova"))
    >>> print(page.analysis.verdict, page.motion)
    GAUGE None
    >>> "No motion was computed" in page.html
    True
    """
    from chetaev.report import motion as moving
    from chetaev.report import sections
    from chetaev.report.page import page
    from chetaev.report.sections import citations
    from chetaev.report.subject import subject_of

    settings = {"parameters": parameters, "inputs": inputs, "tolerance": tolerance, "scale": scale, "method": method, "events": events}
    settings |= {"branch": branch, "gauge": gauge, "conserve": conserve, "max_step": max_step}
    fitted = model if made_by(model, "chetaev.numerics.identification.result", "Fit") else None
    subject = subject_of(model if fitted is None else fitted.model, start, t, settings)
    parts = [
        ("system", "System", sections.system(subject)),
        ("classification", "Constraints", sections.classification(subject)),
        ("equations", "Equations of motion", sections.equations(subject, simplify)),
        ("analysis", "Analysis", sections.analysis(subject)),
        ("fit", "Fit to data", "" if fitted is None else moving.fit_section(fitted)),
        ("motion", "Motion", moving.motion(subject, animation, sliders)),
        ("accuracy", "Accuracy", moving.accuracy(subject)),
        ("principles", "Other principles", moving.others(subject)),
        ("references", "References", citations(subject)),
        ("file", "Model file", _file(subject.model, subject.motion)),
    ]
    kept = [part for part in parts if part[2]]
    subtitle = f"under {subject.equations.principle.in_words()}"
    html = page(subject.title, subtitle, kept, f"chetaev {VERSION}")
    return Report(subject.title, html, subject.analysis, subject.motion)


def _file(model: Model, motion: Trajectory | None) -> str:
    """Return the model in the format of model files, folded away, and the settings of the motion that a file cannot contain."""
    written = model if isinstance(model.branch, int | str) else replace(model, branch=None)  # `besides` names a branch given as an object
    text = escape(dumps(written, "report"))
    besides = motion.asked.besides if motion is not None and motion.asked is not None else ()
    missing = f" It does not contain {escape(', '.join(besides))}, with which the motion was computed." if besides else ""
    said = f"<p>For <code>ch.load</code> and the command line.{missing}</p>"
    return f"{said}<details><summary>Show the file</summary><pre>{text}</pre></details>"


make_callable(__name__, report)
