"""Text with holes: a template of Jinja2 beside the module that fills it. An unknown name in one is an error.

What stands in a comment of C, Verilog or SystemVerilog passes the filter `comment`: strangers write titles and names of files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emu.base.caches import bounded


@bounded(16)
def _template(path: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(path.parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    made.filters["comment"] = in_comment
    return made.get_template(path.name)


def in_comment(text: object) -> str:
    """Return a text that ends no comment of C, Verilog or SystemVerilog, and continues none on the next line.

    Tests: tests/pages/test_pages_strangers.py.
    """
    line = "".join(letter if letter.isprintable() else " " for letter in str(text))
    for sign, harmless in (("\\", "/"), ("??/", "? ? /"), ("*/", "* /"), ("/*", "/ *")):
        line = line.replace(sign, harmless)
    return line


def filled(path: Path, **data: Any) -> str:
    """Return the text of a template. path: `<name>.j2`.   Raises: jinja2.UndefinedError (a name that data lacks)."""
    return str(_template(path).render(**data))
