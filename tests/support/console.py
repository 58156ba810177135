"""Console blocks of pages: their commands, and whether what one prints is what the page says."""

from __future__ import annotations

import re

Command = tuple[str, str]  # the command, and what it prints


def commands(text: str) -> list[Command]:
    """(command, what it prints) of every line `$ ...` in the console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    found = [part.partition("\n") for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, wanted) for command, _, wanted in found]


def prints(wanted: str, got: str) -> bool:
    """Whether text is what the page says; `...` stands for any text, on a line of its own for any lines or none."""
    lines = (line if line == "..." else re.escape(line).replace(re.escape("..."), "[^\n]*") for line in wanted.splitlines())
    return re.fullmatch("".join("(?:[^\n]*\n)*" if line == "..." else line + "\n" for line in lines), got) is not None
