"""Every `emu ...` command that a page names is there, with the options that it is given. Not here: what it prints (tools.docs.examples)."""

import re
from pathlib import Path

import click
import pytest

from emu.cli.main import commands

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "docs/glossary.md"  # its last table has the commands of earlier versions
FOLDERS = (".", "docs", "c_ref", "vectors", "vectors/bench", "vectors/bench/examples")
FOUND = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md"))]
PAGES = [name for name in FOUND if name not in (BEFORE, "CHANGELOG.md")]
ENDS = re.compile(r"[|;&#>]|2>|\)$|\.\.\.")  # of a command within its line


def said(text: str) -> list[str]:
    """The commands in spans and blocks of code: the text from `emu` to the end of its span, line or pipe."""
    blocks = re.findall(r"^```(?:console|sh|)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()] + spans
    found = [re.split(r"(?:&&|;|\|)\s*", line) for line in lines]
    return [part for parts in found for part in parts if re.match(r"emu [a-z]", part)]


def fault(command: str) -> str | None:
    """What of a command is not there: a word of the command, or an option; None where all is."""
    words = ENDS.split(command)[0].split()
    node: click.Command = commands
    known = {name for item in node.params for name in item.opts}
    while isinstance(node, click.Group) and len(words) > 1 and re.fullmatch(r"[a-z][a-z-]*", words[1]):
        below = node.get_command(click.Context(node), words[1])
        if below is None:
            return f"{command}: no command {words[1]}"
        node, words = below, words[1:]
        known |= {name for item in node.params for name in (*item.opts, *item.secondary_opts)} | {"--help", "-h"}
    given = {word.partition("=")[0] for word in words[1 : words.index("--") if "--" in words else None] if re.match(r"--?[a-z]", word)}
    return f"{command}: no option {', '.join(sorted(given - known))}" if given - known else None


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [wrong for command in said(text) if (wrong := fault(command))] == []


def test_most_pages_name_commands_and_wrong_ones_are_told() -> None:
    assert sum(bool(said((ROOT / page).read_text(encoding="utf-8"))) for page in PAGES) > 30
    text = "`emu study gemm --plot`, `emu show x`\n```console\n$ emu convert e2m1 5 --rounding rz | tail -1\n$ emu list --nothing\n```\n"
    assert said(text) == ["emu convert e2m1 5 --rounding rz ", "emu list --nothing", "emu study gemm --plot", "emu show x"]
    assert [fault(command) for command in said(text)] == [
        None,
        "emu list --nothing: no option --nothing",
        "emu study gemm --plot: no command gemm",
        None,
    ]
