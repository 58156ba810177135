"""Lines of code: what counts as one, and in which room."""

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
        "emu/ops/functions",
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
