"""The inputs of a suite, before anything is computed: chosen rows, random rows, or every code there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from emu.base import philox
from emu.contracts.rows import Input, pack

Draw = Callable[[int, int], list[Input]]
ENDS: Final = "ends"  # a group that came after it: the first row of each of its flags is at the end of smoke suites
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

    def few() -> list[Input]:
        ends = {case.flags: case for case in reversed(made()) if case.group == ENDS}
        return [*smoke([case for case in made() if case.group not in (LATER, ENDS)], most), *list(ends.values())[::-1]]

    yield Inputs("smoke", about(False, f"at most {most} of the directed rows", f"{op}.smoke"), lru_cache(maxsize=1)(few))
    yield Inputs("directed", about(False, "chosen rows; the flags say why", f"{op}.directed"), made)


def random(op: str, draw: Draw, rows: int) -> Inputs:
    """Return the suite of random rows."""
    return Inputs("random", about(False, "random rows", f"{op}.random", SEED), rows=rows, draw=draw)


def every(inputs: str, rows: int, draw: Draw) -> Inputs:
    """Return the suite of a whole input space."""
    return Inputs("all", about(True, inputs, "codes"), rows=rows, draw=draw)


# Smoke suites: a few cases out of the directed ones, every flag represented.


def spread(count: int, wanted: int) -> list[int]:
    """Return at most `wanted` places of 0 .. count - 1, evenly spaced, both ends included."""
    if count <= wanted:
        return list(range(count))
    if wanted == 1:
        return [0]
    return sorted({(count - 1) * part // (wanted - 1) for part in range(wanted)})


def smoke(cases: Sequence[Input], most: int) -> list[Input]:
    """Return at most `most` cases in their order: flags take turns, each giving its evenly spaced cases."""
    by_flag: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        for flag in case.flags:
            by_flag.setdefault(flag, []).append(place)
    share = max(1, most // max(1, len(by_flag)))
    queues = [[places[i] for i in spread(len(places), share)] for places in by_flag.values()]
    chosen: dict[int, None] = {}
    for turn in range(share):
        for queue in queues:
            if turn < len(queue) and len(chosen) < most:
                chosen[queue[turn]] = None
    for place in spread(len(cases), most):
        if len(chosen) < most:
            chosen[place] = None
    return [cases[place] for place in sorted(chosen)]


# Random integers of `random` rows: Philox4x32-10 words indexed by the row, keyed by the seed, streamed by the stem. No state.


SEED: Final = 1


def row_words(stem: str, start: int, stop: int, per_row: int) -> list[list[int]]:
    """Return `per_row` 32-bit words for each of the rows start .. stop - 1; any split of the rows gives the same words."""
    words = philox.words(SEED, (stop - start) * per_row, start * per_row, philox.stream_of(stem)).tolist()
    return [words[at : at + per_row] for at in range(0, len(words), per_row)]


def wide(words: list[int], bits: int) -> int:
    """Return 32-bit words as one integer of `bits` bits."""
    return pack(words, 32) & ((1 << bits) - 1)
