"""The explanation of a mismatch as lines people read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.contracts import parse

Data = dict[str, Any]
MOST_LANES = 8
MOST_ALSO = 4
CLEAR = 4  # mismatch rows from which a verdict on all of them means something


def lines_of(found: Data) -> list[str]:
    """Return the text of explain_mismatch."""
    flags = f" ({', '.join(found['flags'])})" if found["flags"] else ""
    out = [f"{found['suite']} tc={found['tc']}{flags}", f"contract  {found['contract']}"]
    out += [f"{name:<9} {value}" for name, value in found["inputs"].items()]
    if found["comment"]:
        out.append(f"row       {found['comment']}")
    if found["digest"]:
        out.append(f"file      {found['digest']}")
    out += ["", "the reference model", *(f"  {line}" for line in _trace(found)), ""]
    for column in found["columns"]:
        if not column["masked"]:
            out += _column(column)
    out += ["", f"first wrong stage: {_stage(found['first_wrong'])}", f"  by {found['first_wrong']['by']}", ""]
    return [*out, *_hypotheses(found)]


def _stage(found: Data) -> str:
    return str(found["stage"]) if found["settled"] else f"{found['stage']}, perhaps"


def _trace(found: Data) -> list[str]:
    ((_, trace),) = found["trace"].items()
    return parse(found["contract"]).lines(trace)


def _column(column: Data) -> Iterator[str]:
    mark = " X: the design gives no number" if column["unknown"] else " <--" if column["differs"] else ""
    yield f"{column['column']:<9} want {column['want']} got {column['got']}{mark}"
    lanes = column.get("lanes", [])
    if column["single"]:
        yield from (f"{'':<9} want {item['want']}, got {item['got']}" for item in lanes)
        return
    yield from (f"  lane {item['lane']}: want {item['want']}, got {item['got']}" for item in lanes[:MOST_LANES])
    if len(lanes) > MOST_LANES:
        yield f"  and {len(lanes) - MOST_LANES} lanes more"


def _hypotheses(found: Data) -> Iterator[str]:
    bad, good = found["differ"], found["agree"]
    rows = f"{bad} row{'s' if bad > 1 else ''} that differ{'s' if bad == 1 else ''}" + (f" and {good} that agree" if good else "")
    if not found["hypotheses"]:
        yield f"no single deviation that was tried explains a row of this log ({rows})"
        return
    yield f"consistent with (the log has {rows}):"
    for item in found["hypotheses"]:
        counts = f"{item['mismatches']}/{item['mismatchesTried']} differing"
        counts += f", {item['agreeing']}/{item['agreeingTried']} agreeing" if item["agreeingTried"] else ""
        here = "" if item["thisRow"] else "; not this row"
        refuted = "; refuted by rows that agree" if item["agreeing"] < item["agreeingTried"] else ""
        yield f"  {counts:<38} {item['text']} [{item['stage']}]{here}{refuted}"
        if item["also"]:
            more = f" and {len(item['also']) - MOST_ALSO} more" if len(item["also"]) > MOST_ALSO else ""
            yield f"  {'':<38} the same outputs: {'; '.join(item['also'][:MOST_ALSO])}{more}"
    if found["more"]:
        yield f"  and {found['more']} more"
    best = found["hypotheses"][0]
    if (best["mismatches"], best["agreeing"]) != (best["mismatchesTried"], best["agreeingTried"]):
        yield "no single one explains all rows" + ("; together:" if found["together"] else "")
        yield from (f"  {item['explains']} rows: {item['text']} [{item['stage']}]" for item in found["together"])
        left = best["mismatchesTried"] - sum(item["explains"] for item in found["together"])
        if left and found["together"]:
            yield f"  {left} rows remain unexplained"
    if bad < CLEAR:
        yield "few rows tell little: give the whole log, best with ROW lines (emu rtl run MAP --log FILE, or the bench's +rows)"
