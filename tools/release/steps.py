"""The steps of a release: those of `.ci/run`, read from it, and after them those of `steps.toml`. Not here: how one runs (run.py)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.errors import FileError

CI: Final = Path(".ci", "run")
OWN: Final = Path(__file__).with_name("steps.toml")
_CI_STEP: Final = re.compile(r"^ *step (?P<name>[a-z0-9-]+) (?P<minutes>[0-9]+) (?P<command>.+?)(?: (?:\|\||&&|[>&;|]).*)?$", re.MULTILINE)
_NAME: Final = re.compile(r"[a-z0-9-]+")
_KEYS: Final = {"name", "minutes", "command", "only_if"}


class Step(NamedTuple):
    """One step: a bash command, run in the root of the tree with $work naming the folder of the release.

    minutes: the limit.   only_if: a bash command; where it fails, the step is left out ("": never left out).
    """

    name: str
    minutes: int
    command: str
    only_if: str = ""


def ci_steps(text: str) -> list[Step]:
    """Return the steps of a script like `.ci/run`, in its order: its lines `step NAME MINUTES COMMAND`, up to an operator of the shell."""
    return [Step(found["name"], int(found["minutes"]), found["command"]) for found in _CI_STEP.finditer(text)]


def own_steps(text: str, where: str) -> list[Step]:
    """Return the steps of a table like `steps.toml`. Raises: FileError (no TOML, a key missing or unknown, a value of another type)."""
    try:
        rows = tomllib.loads(text).get("step", [])
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{where}: {error}") from None
    steps = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise FileError(f"{where}: step {number}: is no table")
        missing = _KEYS - {"only_if"} - {*row}
        unknown = {*row} - _KEYS
        if missing or unknown:
            raise FileError(f"{where}: step {number}: {'missing' if missing else 'unknown'} key {min(missing or unknown)}")
        step = Step(row["name"], row["minutes"], row["command"], row.get("only_if", ""))
        if not (isinstance(step.minutes, int) and all(isinstance(word, str) for word in (step.name, step.command, step.only_if))):
            raise FileError(f"{where}: step {number}: minutes is an integer, all else is text")
        if not _NAME.fullmatch(step.name) or step.minutes < 1 or not step.command.strip():
            raise FileError(f"{where}: step {number}: a name has a-z, 0-9 and -, minutes are above 0, a command is not empty")
        steps.append(step)
    return steps


def all_steps(root: Path, own: Path = OWN) -> list[Step]:
    """Return every step of a tree: of its `.ci/run` where it has one, then of the table.

    Raises: FileError (unreadable, a name twice, no step at all).
    """
    try:
        ci = ci_steps((root / CI).read_text(encoding="utf-8")) if (root / CI).is_file() else []
        steps = [*ci, *own_steps(own.read_text(encoding="utf-8"), str(own))]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{own}: cannot be read: {error}") from None
    names = [step.name for step in steps]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not steps:
        raise FileError(f"{own}: two steps are named {twice[0]}" if twice else f"{own}: no step")
    return steps
