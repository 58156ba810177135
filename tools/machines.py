"""What machines compute beside one another: each datapath of a machine against every datapath that takes the same operands.

`python -m tools.machines` writes the record docs/evidence/machines.json; tools/site/conformance.py shows it. A comparison is of two models
of the spec, as `emu compare-datapaths` makes it: it says as much of a machine as the sources of its datapath do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from emu.base.errors import EmuError, OpenError, SpecError
from emu.contracts.dot import rows as fused
from emu.contracts.levels import rows as leveled
from emu.explain.compare import datapaths, levels, text
from emu.files.record import Data, Record, changed, digests_of, opens
from emu.spec import Datapath, get, names
from emu.spec.datapath import DatapathPlan, plans_of
from emu.spec.levels import LevelsPlan, level_plans_of

SCHEMA: Final = "emu-machines-1"
RECORD: Final = "docs/evidence/machines.json"
COMMAND: Final = f"python -m tools.machines --out {RECORD}"
KIND: Final = Record(
    "record of machines", f"make it again with {COMMAND}", opens("facts", "pairs"), ("schema", "command", "facts", "pairs"), ascii=False
)
EQUAL, ALIKE, DIFFERS = "equal", "no difference found", "differs"


class Side(NamedTuple):
    """One choice of operands of a datapath. fused: the plan of a chain of fused steps, None where the datapath is written in levels."""

    model: Datapath
    levels: LevelsPlan
    fused: DatapathPlan | None

    @property
    def name(self) -> str:
        """The name that `emu compare-datapaths` takes."""
        return self.levels.name

    @property
    def operands(self) -> tuple[str, str, str, int, str]:
        """Formats of A, B, scales (`none` without) and D, and the size of a scale's block: what two sides must share."""
        plan = self.levels
        return plan.a.id, plan.b.id, "none" if plan.scale is None else plan.scale.id, plan.block, plan.d.id


def is_machine(model: Datapath) -> bool:
    """Tell whether a datapath stands for hardware that is there or for a standard: all but proposals of the spec."""
    return model.status != "proposed"


def sides() -> list[Side]:
    """Return every choice of operands of every datapath that can be computed, in the order of the spec."""
    found = []
    for name in names("datapath"):
        model = get("datapath", name)
        try:
            plans = list(level_plans_of(model))
        except OpenError:
            continue
        chains = [None] * len(plans) if leveled.in_levels(model) else list(plans_of(model))
        found += [Side(model, plan, chain) for plan, chain in zip(plans, chains, strict=True)]
    return found


def pairs() -> list[tuple[Side, Side]]:
    """Return the pairs to compare, a machine first: one operands, C where both have one, D, and a K that both cover."""
    found = []
    for one, two in combinations(sides(), 2):
        addends = {None if side.levels.c is None else side.levels.c.id for side in (one, two)} - {None}
        if one.operands == two.operands and len(addends) < 2 and (is_machine(one.model) or is_machine(two.model)) and _same_k(one, two):
            found.append((one, two) if is_machine(one.model) else (two, one))
    return found


def _same_k(one: Side, two: Side) -> bool:
    try:
        return levels.common_k(one.levels, two.levels) > 0
    except SpecError:  # a datapath of one K alone, beside one of longer ones
        return False


def compared(one: Side, two: Side) -> Data:
    """Return what `emu compare-datapaths` finds for two sides, as plain data."""
    out: Data = {"first": one.name, "second": two.name}
    if one.fused is not None and two.fused is not None:
        found = datapaths.compare_datapaths(one.fused, two.fused)
        made = None if found.small is None else text.example(found.small, one.fused, two.fused)
    else:
        both = levels.compare_levels(one.levels, two.levels)
        made = None if both.small is None else levels.example(both.small, one.levels, two.levels)
        found = both  # type: ignore[assignment]
    out |= {"verdict": EQUAL if found.same_facts else ALIKE if made is None else DIFFERS}
    out |= {"rows": found.tried, "differ": sum(tally.differ for tally in found.tallies)}
    if made is not None:
        state = {} if made["link"] is None else dict(parse_qsl(made["link"].partition("?")[2], keep_blank_values=True))
        out |= {"row": made["row"], "results": [[trace["d"], trace["d_value"]] for trace in made["traces"]], "exact": made["exact"]}
        out["state"] = {name: value for name, value in state.items() if name != "spec"}
    return out


def results(one: Side, two: Side, row: Data) -> list[int | None]:
    """Return the result codes of both sides for the row of a record, by the reference model; None where a side refuses it."""
    a, b, scale_a, scale_b, c = (row.get(name) for name in ("a", "b", "sa", "sb", "c"))
    if one.fused is not None and two.fused is not None:
        codes = fused.row_of(one.fused, a, b, scale_a, scale_b, c)  # type: ignore[arg-type]
        return [fused.answer(codes, one.fused), fused.answer(codes, two.fused)]
    given = leveled.row_of(one.levels, a, b, scale_a, scale_b, c, row.get("random"))  # type: ignore[arg-type]
    return [leveled.answer(levels.given_to(given, one.levels, side.levels), side.levels) for side in (one, two)]


def survey() -> Iterator[Data]:
    """Yield the record after every pair."""
    todo = pairs()
    named = sorted({side.model.id for pair in todo for side in pair})
    record: Data = {"schema": SCHEMA, "command": COMMAND, "facts": digests_of({"datapath": named})["datapath"], "pairs": []}
    for one, two in todo:
        record["pairs"].append(compared(one, two))
        yield record


def faults(record: Data) -> list[str]:
    """Return what no longer holds of a record, a line each: pairs that are not those of the spec, changed facts, other results."""
    todo = pairs()
    wanted, have = [(one.name, two.name) for one, two in todo], [(pair["first"], pair["second"]) for pair in record["pairs"]]
    if wanted != have:
        odd = sorted(set(wanted) ^ set(have))
        return [f"{one} and {two}: in one of spec and record only" for one, two in odd] or ["the pairs stand in another order"]
    found = [f"{name}: other facts now" for name in changed(record["facts"], digests_of({"datapath": record["facts"]})["datapath"])]
    for (one, two), pair in zip(todo, record["pairs"], strict=True):
        if pair["verdict"] != DIFFERS:
            continue
        codes = results(one, two, pair["row"])
        told = [None if code == "refused" else int(code, 16) for code, _ in pair["results"]]
        if codes != told or fused.same_answer(codes[0], codes[1], one.levels):
            found.append(f"{one.name} and {two.name}: the row gives {codes}, the record says {told}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line. Returns: 0 done, 2 misuse or a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.machines", description="compare the datapaths of machines, pair by pair")
    parser.add_argument("--out", type=Path, required=True, help="record to write")
    given = parser.parse_args(arguments)
    record: Data = {}
    try:
        for record in survey():
            last: dict[str, Any] = record["pairs"][-1]
            print(f"{last['first']} and {last['second']}: {last['verdict']}, {last['differ']} of {last['rows']}", flush=True)
        KIND.write(given.out, record)
    except EmuError as error:
        print(f"emu: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
