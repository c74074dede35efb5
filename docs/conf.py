"""How Sphinx builds the documentation: ``make docs``."""

import sys
from pathlib import Path

from vermilion import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Vermilion"
author = "The Vermilion developers"
copyright = "The Vermilion developers"  # noqa: A001 - Sphinx's name for it
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "algorithm_tables",
    "command_options",
    "discipline_pages",
    "objective_tables",
    "detail_table",
    "json_schemas",
    "python_reference",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True
# Annotations name private modules, numpy and the standard library; docstrings say it in words.
nitpick_ignore_regex = [("py:.*", ".*")]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["figures.css"]
html_title = f"Vermilion {version}"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#b5391b",
        "color-brand-content": "#0b5cad",
    },
    "dark_css_variables": {
        "color-brand-primary": "#f0886c",
        "color-brand-content": "#7ab8f5",
    },
}
