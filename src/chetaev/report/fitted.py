"""A fit in a report: the values with their errors, what the data leave open, and the residuals."""

from __future__ import annotations

from html import escape

from chetaev.core.display.html import number, set_name
from chetaev.numerics.identification.result import Fit
from chetaev.plot.fitted import residuals
from chetaev.report.html_text import table
from chetaev.report.page import drawn


def fit_section(found: Fit) -> str:
    """Return the values of a fit, the sum of squares and what the data leave open, and a picture of data and residuals."""
    rows = []
    for name, v in found.values.items():
        low, high = found.interval(name)
        rows.append((set_name(name), number(v, 8), number(found.errors[name], 2), f"{number(low)} to {number(high)}"))
    lines = [line.strip() for line in str(found).splitlines()[1 + len(found.values) :]]
    said = "".join(f"<li>{escape(line)}</li>" for line in lines)
    count = sum(one.size for one in found.experiments)
    html = f"<p>Unknown values by least squares from {count} measured values. The model of this page has the values found.</p>"
    html += table(("", "value", "standard error", "95 %"), rows, "numbers") + f"<ul>{said}</ul>"
    return html + drawn(residuals(found), "residuals", "Data with the fitted motion, and motion minus data.")
