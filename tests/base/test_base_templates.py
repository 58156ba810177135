"""Text with holes: lines without stray blanks, and no hole that nobody fills."""

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from emu.base.templates import filled


def test_a_template_is_filled_and_an_unknown_name_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "list.txt.j2"
    path.write_text("{% for item in items %}\n  {{ item }};\n{% endfor %}\nend {{ name }}\n")
    assert filled(path, items=["a", "b<c"], name="x") == "  a;\n  b<c;\nend x\n"
    with pytest.raises(UndefinedError, match="'name' is undefined"):
        filled(path, items=[])
