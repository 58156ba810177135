"""The inputs of a suite, before anything is computed: chosen rows, random rows, or every code there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from emu.contracts.draws import SEED
from emu.contracts.pick import smoke
from emu.contracts.rows import Input

Draw = Callable[[int, int], list[Input]]
LATER: Final = "every_field"  # a group that came after version 1.1.0: smoke suites, whose rows keep their ids, do without it


@dataclass(frozen=True)
class Inputs:
    """The inputs of one suite.

    about: what they are, for the JSON file.
    chosen: makes the whole list of cases; or rows and draw: how many there are and how to make a part of them.
    """

    suite: str
    about: dict[str, Any]
    chosen: Callable[[], list[Input]] | None = None
    rows: int = 0
    draw: Draw | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.rows if self.chosen is None else len(self.chosen())

    def cases(self, start: int, stop: int) -> list[Input]:
        """Return the cases of rows start .. stop - 1."""
        if self.chosen is not None:
            return self.chosen()[start:stop]
        assert self.draw is not None
        return self.draw(start, stop)


def about(exhaustive: bool, inputs: str, call: str, seed: int | None = None) -> dict[str, Any]:
    """Return what the JSON file says of inputs."""
    generator = {"generator": "philox4x32_10"} if seed is not None else {}
    return {"exhaustive": exhaustive, "inputs": inputs, "seed": seed, "recipe": {"call": call} | generator}


def chosen(op: str, directed: Callable[[], list[Input]], most: int) -> Iterator[Inputs]:
    """Yield the smoke and the directed suite over one list of directed cases, made at first use. most: rows of the smoke suite."""
    made = lru_cache(maxsize=1)(directed)
    few = lru_cache(maxsize=1)(lambda: smoke([case for case in made() if case.group != LATER], most))
    yield Inputs("smoke", about(False, f"at most {most} of the directed rows", f"{op}.smoke"), few)
    yield Inputs("directed", about(False, "chosen rows; the flags say why", f"{op}.directed"), made)


def random(op: str, draw: Draw, rows: int) -> Inputs:
    """Return the suite of random rows."""
    return Inputs("random", about(False, "random rows", f"{op}.random", SEED), rows=rows, draw=draw)


def every(inputs: str, rows: int, draw: Draw) -> Inputs:
    """Return the suite of a whole input space."""
    return Inputs("all", about(True, inputs, "codes"), rows=rows, draw=draw)
