"""Text with holes: a template of Jinja2 beside the module that fills it. An unknown name in one is an error.

What strangers write passes a filter: `comment` in code, `html` in HTML, `visible` in text to read (emu/base/text.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emu.base.caches import bounded
from emu.base.text import in_comment, in_html, visible


@bounded(16)
def _template(path: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(path.parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    made.filters |= {"comment": in_comment, "html": in_html, "visible": visible}
    return made.get_template(path.name)


def filled(path: Path, **data: Any) -> str:
    """Return the text of a template. path: `<name>.j2`.   Raises: jinja2.UndefinedError (a name that data lacks)."""
    return str(_template(path).render(**data))
