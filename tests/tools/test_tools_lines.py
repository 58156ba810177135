"""Lines of code: what counts as one, and in which room."""

import ast
import subprocess
import tomllib

import pytest

from tools import lines


@pytest.mark.parametrize(
    ("source", "lines_", "tokens"),
    [
        ('"""Module."""\n\nimport os\nfrom a import (\n    b,\n)\n\nX = 1  # one\n', 1, 2 + 7 + 3),
        ('def f():\n    """Doc\n    of two."""\n    # comment\n    return """text\n    of two"""\n', 3, 5 + 2),
        ("class A:\n    def f(self):\n        import os\n        return (\n            os\n        )\n", 5, 3 + 6 + 2 + 4),
        ("if True:\n    x = [\n\n        1,\n    ]\n", 4, 3 + 6),
        ("x = (\n    'a # b'\n    r'c'\n)\ny = 1.5e-3 // x; z = \"it's\"\n'a document too'", 5, 6 + 5 + 3),
        ("x: dict[str, int] = {}; import os\n@f\nasync def g(*, a=1) -> None: ...\n", 3, 11 + 2 + 2 + 14),
    ],
)
def test_python_lines_and_tokens(source: str, lines_: int, tokens: int) -> None:
    assert lines.python_size(source) == (lines_, tokens)


@pytest.mark.parametrize(
    ("path", "source", "size"),
    [
        ("c_ref/a.c", "/* head\n * more */\nint x; // one\n\nint y = a->b >> 2;\n", (2, 3 + 9)),
        ("emu/explore/page/a.js", 'const a = "// no comment";  // one\nlet b = a ?? `x`;\n', (2, 5 + 10)),
        ("emu/pages/templates/a.md.j2", "# head\n\n{# silent #}text\n", (2, 3)),
        ("tests/a.yaml", "# comment\na: [b, 1]  # comment\nc: d#e\n", (3, 7 + 5)),
    ],
)
def test_lines_and_tokens_of_other_texts(path: str, source: str, size: tuple[int, int]) -> None:
    assert lines.size_of(path, source) == size


def test_a_line_that_is_joined_keeps_its_tokens() -> None:
    """Longer lines gain nothing."""
    apart, joined = lines.python_size("a = f(\n    1,\n    2\n)\nb = 3\n"), lines.python_size("a = f(1, 2); b = 3\n")
    assert (apart.lines, joined.lines) == (5, 1) and apart.tokens == joined.tokens


FOUND = {
    "emu/a": {"python": lines.Size(5, 50)},
    "emu/b": {"python": lines.Size(6, 60), "c": lines.Size(1, 9), "templates": lines.Size(4, 8)},
    "tests": {"python": lines.Size(7, 70), "yaml": lines.Size(2, 4)},
}


def test_rooms_and_their_sums() -> None:
    assert [lines.room_of(path) for path in ("emu/spec/models/x.py", "emu/ops/functions.py", "tests/a/b.py")] == [
        "emu/spec",
        "emu/ops",
        "tests",
    ]
    assert [line.split() for line in lines.report(FOUND).splitlines()] == [
        ["room", "python", "c", "templates", "javascript", "yaml", "tokens"],
        ["emu", "11", "1", "4", "0", "0", "127"],
        ["emu/a", "5", "0", "0", "0", "0", "50"],
        ["emu/b", "6", "1", "4", "0", "0", "77"],
        ["tools", "0", "0", "0", "0", "0", "0"],
        ["research", "0", "0", "0", "0", "0", "0"],
        ["tests", "7", "0", "0", "0", "2", "74"],
        ["c_ref", "0", "0", "0", "0", "0", "0"],
        ["all", "18", "1", "4", "0", "2", "201"],
    ]


def test_a_generated_file_is_not_counted(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "tests" / "b.c").write_text("/* Written by: a command. Do not edit. */\nint x;\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert lines.count() == {"tests": {"python": lines.Size(1, 3)}}


def test_budgets_leave_their_lines_and_say_what_is_over(capsys):
    sizes = lines.measured(FOUND)
    assert sizes == {"emu/a": (5, 50), "emu/b": (7, 69), "tests": (7, 70), "templates": (4, 8), "yaml": (2, 4)}
    budgets = tomllib.loads(lines.budget(sizes, more=2))["tool"]["emu"]["budget"]
    assert budgets["emu/a"] == {"lines": 7, "tokens": 70} and budgets["emu/b"] == {"lines": 9, "tokens": 69 + 2 * 10}
    assert lines.over(sizes, budgets) == []
    grown = {**sizes, "emu/a": lines.Size(8, 71), "emu/c": lines.Size(1, 1)}
    del grown["yaml"]
    assert lines.over(grown, budgets) == [
        "emu/c: has no budget",
        "yaml: has a budget and nothing in it",
        "emu/a: 8 lines, its budget is 7",
        "emu/a: 71 tokens, its budget is 70",
    ]


def test_length_without_docstring_is_counted():
    function = ast.parse('def f(x):\n    """One.\n\n    Two.\n    """\n    return x\n').body[0]
    assert lines.body_lines(function) == 2


def test_long_parts_are_listed(monkeypatch):
    source = "def f():\n" + "    x = 1\n" * 41
    monkeypatch.setattr(lines, "files", lambda tree: [("emu/a.py", source), ("emu/b.c", source), ("emu/c.py", source[:-10] + "\n" * 400)])
    assert lines.long_parts() == ["emu/a.py:1: f: 42 lines", "emu/c.py: 441 lines", "emu/c.py:1: f: 41 lines"]
