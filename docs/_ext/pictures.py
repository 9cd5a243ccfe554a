"""The directive `picture`: a picture that a code block of the same page has drawn.

    ```{picture} disk.svg
    :alt: two paths that part
    What the picture shows.
    ```

`make docs` runs the blocks and finds the pictures in `build/docs/pictures/<page>`. The light build of `make test` runs nothing and
leaves a note in the picture's place.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Picture(SphinxDirective):
    """A figure with caption; the file belongs to the page it stands on."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required, "width": directives.length_or_percentage_or_unitless}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        made = Path(self.config.pictures) / self.env.docname / name
        figure = nodes.figure(classes=["picture"])
        if made.exists():
            beside = Path(self.env.srcdir) / "pictures" / self.env.docname / name
            beside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, beside)
            image = nodes.image(uri=f"/pictures/{self.env.docname}/{name}", alt=self.options.get("alt", ""))
            if "width" in self.options:
                image["width"] = self.options["width"]
            figure += image
        elif self.config.pictures_required:
            raise self.error(f"no picture {name} was drawn by the code of this page")
        else:
            figure += nodes.paragraph(text=f"[{self.options.get('alt', name)}: drawn by make docs]", classes=["no-picture"])
        if self.content:
            caption = nodes.caption()
            inline, messages = self.state.inline_text(" ".join(self.content), self.lineno)
            caption += [*inline, *messages]
            figure += caption
        return [figure]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and where pictures are."""
    app.add_config_value("pictures", "", "env")
    app.add_config_value("pictures_required", False, "env")
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
