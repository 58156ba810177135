"""Each room keeps its budget of lines and tokens, `[tool.emu.budget]` of pyproject.toml: the tree does not grow unseen."""

import tomllib
from pathlib import Path

from tools import lines


def test_each_room_keeps_its_budget(checkout: Path, monkeypatch) -> None:
    """Who adds what needs more raises the figure in a line that names it."""
    monkeypatch.chdir(checkout)
    budgets = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["emu"]["budget"]
    assert lines.over(lines.measured(lines.count()), budgets) == []
