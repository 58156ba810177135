"""Lines of code: what counts as one, and in which room."""

import ast
from collections import Counter

import pytest

from tools import lines


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('"""Module."""\n\nimport os\nfrom a import (\n    b,\n)\n\nX = 1  # one\n', 1),
        ('def f():\n    """Doc\n    of two."""\n    # comment\n    return """text\n    of two"""\n', 3),
        ("class A:\n    def f(self):\n        import os\n        return (\n            os\n        )\n", 5),
        ("if True:\n    x = [\n\n        1,\n    ]\n", 4),
    ],
)
def test_python_lines(source: str, count: int) -> None:
    assert lines.python_lines(source) == count


def test_c_lines_and_templates() -> None:
    assert lines.lines_of("c_ref/a.c", "/* head\n * more */\nint x; // one\n\nint y;\n") == 2
    assert lines.lines_of("emu/pages/templates/a.md.j2", "# head\n\ntext\n") == 2


def test_rooms_and_their_sums() -> None:
    assert [lines.room_of(path) for path in ("emu/spec/models/x.py", "emu/ops/functions.py", "tests/a/b.py")] == [
        "emu/spec",
        "emu/ops",
        "tests",
    ]
    text = lines.report({"emu/a": Counter(python=5), "emu/b": Counter(python=6, c=1), "tests": Counter(python=7)})
    assert [line.split() for line in text.splitlines()] == [
        ["room", "python", "c", "templates"],
        ["emu", "11", "1", "0"],
        ["emu/a", "5", "0", "0"],
        ["emu/b", "6", "1", "0"],
        ["tools", "0", "0", "0"],
        ["research", "0", "0", "0"],
        ["tests", "7", "0", "0"],
        ["c_ref", "0", "0", "0"],
        ["all", "18", "1", "0"],
    ]


def test_length_without_docstring_is_counted():
    function = ast.parse('def f(x):\n    """One.\n\n    Two.\n    """\n    return x\n').body[0]
    assert lines.body_lines(function) == 2


def test_long_parts_are_listed(monkeypatch):
    source = "def f():\n" + "    x = 1\n" * 41
    monkeypatch.setattr(lines, "files", lambda tree: [("emu/a.py", source), ("emu/b.c", source), ("emu/c.py", source[:-10] + "\n" * 400)])
    assert lines.long_parts() == ["emu/a.py:1: f: 42 lines", "emu/c.py: 441 lines", "emu/c.py:1: f: 41 lines"]
