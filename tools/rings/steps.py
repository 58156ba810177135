"""The table of steps, `steps.toml`: each with its ring, its minutes, its cores and what it waits for. Not here: how one runs (run.py)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

TABLE: Final = Path(__file__).with_name("steps.toml")
# Ring -> the rings whose steps it has. gpu lies beside: what a machine with a device is asked.
RINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "change": ("change",),
    "full": ("change", "full"),
    "gpu": ("gpu",),
    "release": ("change", "full", "gpu", "release"),
}


class RingError(ValueError):
    """Words, a table or a folder with which no ring can run; one line. No error of emu: rings run before it is installed."""


_NAME: Final = re.compile(r"[a-z0-9-]+")


class Step(NamedTuple):
    """One step: a bash command, run in the root of the tree with $work naming the folder of the run.

    minutes: what it takes on idle cores; its limit is a multiple.   cores: that it keeps busy.
    needs: the steps that must have passed before.   after: the steps that must have ended before, where they run too.
    installs: it only fetches packages and programs; a ring's minutes are counted from the end of the last such step.
    only_if: a bash command; where it fails, the step is left out ("": never left out).
    """

    name: str
    ring: str
    minutes: int
    command: str
    cores: int = 1
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    installs: bool = False
    only_if: str = ""


_KEYS: Final = {*Step._fields}
_NEEDED: Final = _KEYS - {*Step._field_defaults}


def steps_of(text: str, where: str) -> list[Step]:
    """Return the steps of a table.

    Raises: RingError (no TOML, no step, a key missing or unknown, a value of another type, a name twice, a wait for no earlier step).
    """
    try:
        rows = tomllib.loads(text).get("step", [])
    except tomllib.TOMLDecodeError as error:
        raise RingError(f"{where}: {error}") from None
    if not rows:
        raise RingError(f"{where}: no step")
    steps: dict[str, Step] = {}
    for number, row in enumerate(rows, 1):
        step = _step(row, f"{where}: step {number}")
        if step.name in steps:
            raise RingError(f"{where}: two steps are named {step.name}")
        for name in (*step.needs, *step.after):
            if name not in steps:
                raise RingError(f"{where}: step {number}: {name} does not stand above: a step waits for earlier ones")
        steps[step.name] = step
    return [*steps.values()]


def _step(row: Any, where: str) -> Step:
    if not isinstance(row, dict):
        raise RingError(f"{where}: is no table")
    missing, unknown = _NEEDED - {*row}, {*row} - _KEYS
    if missing or unknown:
        raise RingError(f"{where}: {'missing' if missing else 'unknown'} key {min(missing or unknown)}")
    lists = {key: tuple(row[key]) for key in ("needs", "after") if isinstance(row.get(key), list)}
    step = Step(**(row | lists))
    texts = (step.name, step.ring, step.command, step.only_if, *step.needs, *step.after)
    kinds = [type(value) for value in (step.minutes, step.cores, step.installs, step.needs, step.after)]
    if kinds != [int, int, bool, tuple, tuple] or not all(isinstance(word, str) for word in texts):
        raise RingError(
            f"{where}: minutes and cores are integers, needs and after lists of names, installs true or false, all else is text"
        )
    if not _NAME.fullmatch(step.name) or min(step.minutes, step.cores) < 1 or not step.command.strip():
        raise RingError(f"{where}: a name has a-z, 0-9 and -, minutes and cores are above 0, a command is not empty")
    if step.ring not in RINGS:
        raise RingError(f"{where}: ring {step.ring}: is none of {', '.join(RINGS)}")
    return step


def all_steps(table: Path = TABLE) -> list[Step]:
    """Return every step of a table. Raises: RingError (unreadable, and as steps_of)."""
    try:
        text = table.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RingError(f"{table}: cannot be read: {error}") from None
    return steps_of(text, str(table))


def of_ring(steps: Sequence[Step], ring: str) -> list[Step]:
    """Return the steps of a ring, of the rings inside it, and what they need, in the order of the table."""
    return with_needs(steps, (step.name for step in steps if step.ring in RINGS[ring]))


def with_needs(steps: Sequence[Step], names: Iterable[str]) -> list[Step]:
    """Return the named steps and all that they need, in the order of the table."""
    wanted = {*names}
    for step in reversed(steps):  # a step needs earlier ones only
        if step.name in wanted:
            wanted.update(step.needs)
    return [step for step in steps if step.name in wanted]
