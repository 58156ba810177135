"""The data of COVER.json (`emu-cover-1`) and its text. Bins that share all but their first word are listed together, as ranges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from emu.contracts.cover import Bin, Settled
from emu.spec.models import Coverage
from emu.spec.registry import digest
from emu.vectors.coverage.model import MOST_FIRST, Cross

SCHEMA: Final = "emu-cover-1"
WHOLE: Final = "all"  # the key of a cross of one axis
OTHERS: Final = "all others"


def record(model: Coverage, suites: Iterable[tuple[str, int, Sequence[Cross]]], first: int = MOST_FIRST) -> dict[str, Any]:
    """Return the data of COVER.json.

    suites: (stem, rows, crosses); suites whose crosses are equal share an entry.   first: ids that are kept of a bin.
    """
    entries: dict[str, dict[str, Any]] = {}
    for stem, rows, crosses in suites:
        proofs = list(dict.fromkeys(_proof(known) for cross in crosses for known in cross.unreachable.values()))
        found = {
            "rows": rows,
            "proofs": [{"proof": proof, "why": why} for proof, why in proofs],
            "crosses": {cross.name: described(cross, proofs, first) for cross in crosses},
        }
        entries.setdefault(json.dumps(found), {"stems": [], **found})["stems"].append(stem)
    return {
        "schema": SCHEMA,
        "op": model.facts.op,
        "model": {"id": model.id, "sha256": digest(model)},
        "axes": {name: list(cross.axes) for name, cross in model.facts.crosses.items()},
        "suites": list(entries.values()),
    }


def _proof(known: Settled) -> tuple[str, str]:
    return str(known.proof), known.why


def described(cross: Cross, proofs: Sequence[tuple[str, str]], first: int) -> dict[str, Any]:
    """Return one cross as data: counts, hits with test-case ids, what is missed, and what is out of reach by which proof.

    proofs: of all crosses; named by their place.   The longest list, of what is missed or of one proof, is said to be all others.
    """
    closed, holes = cross.unreachable, cross.holes()
    hits: dict[str, dict[str, list[int]]] = {}
    for one, hit in cross.hits.items():
        hits.setdefault(_rest(one), {})[one[0]] = [hit.rows, *hit.first[:first]]
    by_proof: dict[int, list[Bin]] = {}
    for one, known in closed.items():
        by_proof.setdefault(proofs.index(_proof(known)), []).append(one)
    listed: dict[str, Any] = {"missed": ranges(cross, holes)} | {
        str(number): ranges(cross, some) for number, some in sorted(by_proof.items())
    }
    longest = max(listed, key=lambda name: len(_flat(listed[name])))
    listed |= {longest: OTHERS} if listed[longest] else {}
    return {
        "bins": cross.size,
        "hit": len(cross.hits),
        "unreachable": len(closed),
        "holes": len(holes),
        "hits": hits,
        "missed": listed.pop("missed"),
        "closed": listed,
    }


def _rest(one: Bin) -> str:
    return " ".join(one[1:]) or WHOLE


def ranges(cross: Cross, bins: Sequence[Bin]) -> dict[str, str]:
    """Return bins by all words but the first; the first words as ranges in the order of their axis: `0..3 5`."""
    place = {name: number for number, name in enumerate(cross.bins[0])}
    rests: dict[str, list[int]] = {}
    for one in bins:
        rests.setdefault(_rest(one), []).append(place[one[0]])
    return {rest: _runs(sorted(numbers), cross.bins[0]) for rest, numbers in rests.items()}


def _runs(numbers: Sequence[int], names: Sequence[str]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(names[run[0]] if len(run) == 1 else f"{names[run[0]]}..{names[run[-1]]}" for run in runs)


def render(data: Mapping[str, Any]) -> str:
    """Return the text of COVER.json: a line for each cross of each group of suites; ASCII, final LF."""
    head = {key: value for key, value in data.items() if key != "suites"}
    lines = ["{", *(f" {json.dumps(key)}: {_flat(value)}," for key, value in head.items()), ' "suites": [']
    for number, entry in enumerate(data["suites"]):
        first = {key: value for key, value in entry.items() if key != "crosses"}
        lines.append(f"  {_flat(first)[:-1]},")
        lines.append('  "crosses":{')
        crosses = [f"   {json.dumps(name)}: {_flat(found)}" for name, found in entry["crosses"].items()]
        lines += [line + "," for line in crosses[:-1]] + crosses[-1:]
        lines.append("  }}" + ("," if number + 1 < len(data["suites"]) else ""))
    return "\n".join([*lines, " ]", "}"]) + "\n"


def _flat(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)
