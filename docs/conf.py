"""Settings of the documentation, which `make docs` builds; nothing is fetched from elsewhere."""

import sys
from pathlib import Path

import bestk

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "bestk"
author = "The bestk authors"
copyright = "2026, the bestk authors"
version = release = bestk.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "command_line"]
exclude_patterns = ["extensions"]
highlight_language = "text"  # indented blocks are formulas

html_theme = "furo"
html_title = "bestk"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0a5fb4", "color-brand-content": "#0a5fb4"},
    "dark_css_variables": {"color-brand-primary": "#6cb2ff", "color-brand-content": "#6cb2ff"},
}

myst_heading_anchors = 3  # so that links to headings are checked
myst_links_external_new_tab = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True

nitpicky = True  # a name that leads nowhere is an error
nitpick_ignore_regex = [
    # types of other libraries, whose inventories would have to be fetched
    ("py:.*", r"(collections|concurrent|os|typing|numpy|matplotlib|pandas|sklearn|np)\..*"),
]
