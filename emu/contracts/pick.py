"""Smoke suites: a few cases out of the directed ones, every flag represented."""

from __future__ import annotations

from collections.abc import Sequence

from emu.contracts.rows import Input


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
