"""How the documentation is built: ``sphinx-build -W --keep-going docs build/docs``."""

from __future__ import annotations

import importlib.metadata

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "Workfile Tools"
author = "the Workfile Tools authors"
release = importlib.metadata.version("workfile-tools")
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Workfile Tools"
html_static_path: list[str] = []
# Headings are link targets, so that `page.md#a-heading` is checked.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
exclude_patterns = ["images"]
nitpicky = True

_RULES = """

```{toctree}
:hidden:
:glob:

*
```
"""


def _list_the_rules(_app: Sphinx, page: str, source: list[str]) -> None:
    # The page is generated to read well anywhere; only here it needs to name its pages once more.
    if page == "rules/index":
        source[0] += _RULES


def setup(app: Sphinx) -> None:
    """Registers what the pages need."""
    app.connect("source-read", _list_the_rules)
    app.add_lexer("mermaid", TextLexer)
