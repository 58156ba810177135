"""Worked examples of spec files, replayed by the exact engine. Not here: how (emu.contracts), who asks (emu doctor, tests)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from emu.base.errors import EmuError
from emu.cli.examples.checkpoint import check as _checkpoint
from emu.cli.examples.coverage import check as _coverage
from emu.cli.examples.training import check as _training
from emu.contracts import replay
from emu.spec import SpecObject

_OTHERS: Final[dict[str, Callable[[Any, Any], str | None]]] = {"coverage": _coverage, "checkpoint": _checkpoint, "training": _training}


def faults(thing: SpecObject) -> Iterator[tuple[int, str | None]]:
    """Yield (number of the example, None when it holds, else what came out instead) for every worked example of a spec object."""
    check: Callable[[Any, Any], str | None] = _OTHERS.get(thing.kind, replay)
    for number, example in enumerate(thing.expect):  # type: ignore[attr-defined]
        try:
            yield number, check(thing, example)
        except EmuError as error:
            yield number, str(error)
