"""How Sphinx builds the site. `docs/build.py` calls it on a copy of this folder to which the generated pages were added."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import chetaev

project = "chetaev"
author = "The chetaev authors"
copyright = "the chetaev authors"  # noqa: A001
version = release = chetaev.__version__

extensions = ["myst_parser", "sphinx_copybutton", "katex_math", "pictures"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "fieldlist", "colon_fence", "attrs_inline", "attrs_block", "substitution"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings: list[str] = []
smartquotes = False
exclude_patterns = ["_ext", "generate", "measure", "papers/*.toml", "_static"]
nitpicky = True

html_theme = "furo"
html_title = "chetaev"
html_math_renderer = "katex"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5c8b", "color-brand-content": "#1f5c8b"},
    "dark_css_variables": {"color-brand-primary": "#7fb8e6", "color-brand-content": "#7fb8e6"},
    "navigation_with_keys": True,
}
highlight_language = "none"
pygments_style = "friendly"
copybutton_exclude = ".linenos, .gp, .go"
