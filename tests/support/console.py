"""Console blocks of pages: their commands, and whether what one prints is what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

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


def followed(page: Path, folder: Path, least: int, clone: Sequence[str] = ()) -> Path:
    """Follow a tutorial in a copy of its files, the folder beside the page; return the copy.

    least: commands that the page must have.   clone: for a page that works in the root of a clone, the folders of it that it reads: they
    are linked in place of the copy, without the package, so that the installed one is met.
    Raises: AssertionError (fewer of them, one that prints something else).
    """
    place = folder / "copy"
    if clone:
        place.mkdir()
        for name in clone:
            (place / name).symlink_to(page.parents[1] / name)
    else:
        shutil.copytree(page.with_suffix(""), place, ignore=shutil.ignore_patterns("__pycache__"))
    assert len(commands(page.read_text(encoding="utf-8"))) >= least
    wrong = differing(page, place)
    assert not wrong, "\n\n".join(wrong)
    return place


def differing(page: Path, place: Path) -> list[str]:
    """Run the commands of a page in one shell in the folder `place`; return a text for each that prints something else."""
    asked = commands(page.read_text(encoding="utf-8"))
    script = [f"{{ {command}\n}} >{number}.out 2>&1" for number, (command, _) in enumerate(asked)]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTEST_CURRENT_TEST", "MAKEFLAGS", "EMU_SPEC_PATH")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    subprocess.run(["sh", "-c", "\n".join(script)], cwd=place, check=False, env=environment)
    found = []
    for number, (command, wanted) in enumerate(asked):
        got = (place / f"{number}.out").read_text()
        if not prints(wanted, got):
            found.append(f"$ {command}\nprinted:\n{got}\nthe page says:\n{wanted}")
    return found
