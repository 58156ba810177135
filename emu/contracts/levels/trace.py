"""A row of a datapath of levels explained: of each addition its operands, shifts and cuts, the register before and after, what was lost.

Data first (explain_levels), then lines that people read (lines_of), and waves. No number is rounded; values are texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from emu.contracts.contract import stored_bits
from emu.contracts.levels.columns import stages_of
from emu.contracts.levels.events import lost_bin, move_of, name_of
from emu.contracts.levels.rows import LevelsRow
from emu.contracts.levels.walk import Rounding, Shift, Sum, Walk, number_of, walk
from emu.contracts.rows import pack
from emu.contracts.text import code_text, dyadic, meaning, waves
from emu.engines.exact.levels import Held, Number
from emu.spec import derive
from emu.spec.levels import LevelsPlan
from emu.spec.models.levels import CutHold, FixedHold, Hold, Level

Data = dict[str, Any]
MOST_TERMS: Final = 8  # of an exact sum on one line
MOVES: Final = {
    "stay": "as it is",
    "down": "cut",
    "up": "rounded up",
    "carry": "rounded up, with a carry",
    "beyond": "beyond the register",
    "wrapped": "beyond the register: wraps",
}
PARTS: Final = {
    "zero": "",
    "less_than_half": ", less than half a unit lost",
    "half": ", a tie",
    "more_than_half": ", more than half a unit lost",
}


def explain_levels(row: LevelsRow, plan: LevelsPlan) -> Data:
    """Return a row as data: operands, products that are not zero, then level by level each addition and what it left.

    Of an addition: `terms` and `running` with their values, of an aligned one E, what set it and how each operand moved; `sum`, the exact
    result; `held`, what the register makes of it; `lost`, sum minus held.   Raises: as emu.engines.exact.levels.dot.
    Tests: tests/explain/test_explain_levels.py.
    """
    told = walk(row, plan)
    operands: Data = {"a": plan.a.id, "b": plan.b.id, "c": None if plan.c is None else plan.c.id, "d": plan.d.id}
    operands |= {"scale": None if plan.scale is None else plan.scale.id, "block": plan.block}
    levels = [_level(told, number) for number in range(1, len(plan.levels) + 1)]
    out: Data = {"datapath": plan.datapath.id, "name": plan.name, "status": plan.datapath.status, "operands": operands}
    out |= {"row": row.texts(plan), "products": list(_products(told)), "levels": levels, "decided": list(_decided(told))}
    final = next((item for item in told.roundings if item.code is not None), None)
    if final is not None:
        out["out"] = _addition(told, final, plan.facts.out, [])
    out |= {"d": code_text(told.code, plan.d), "d_value": meaning(told.code, plan.d)}
    if plan.facts.flags is not None:
        out["flags"] = {flag: told.flags >> bit & 1 for bit, flag in enumerate(plan.facts.flags.report)}
        out["raised"] = [f"{flag} in {name_of(level, plan)}" for flag, level in sorted(told.raised, key=lambda item: item[::-1])]
    return out | {"losses": list(_losses(out))}


def text_of(value: Held | None) -> str:
    """Return a value as text: dyadic, -0, nan, +inf, -inf; `none` where there is none."""
    if value is None:
        return "none"
    if not isinstance(value, Number):
        return value
    return "-0" if not value.significand and value.negative else dyadic(number_of(value))


def _products(told: Walk) -> Iterator[Data]:
    """The products that are not zero, with what they were held to."""
    row, plan = told.row, told.plan
    held = {item.node: item for item in told.of(0) if item.turn == 0 and not item.decided}
    for i, (x, y) in enumerate(zip(row.a, row.b, strict=True)):
        value = told.stages.get(f"product_{i}")
        exact = held[i].before if i in held else value
        if exact is None or (isinstance(exact, Number) and not exact.significand):
            continue
        entry: Data = {"product": i, "a": code_text(x, plan.a), "a_value": meaning(x, plan.a), "b": code_text(y, plan.b)}
        entry |= {"b_value": meaning(y, plan.b), "exact": text_of(exact), "value": text_of(value)}
        if i in held:
            entry |= {"held": _held(held[i], plan.facts.products.hold)}
        if plan.facts.products.scale != "none":
            entry |= {"scales": _scales(told, i)}
        yield entry


def _scales(told: Walk, product: int) -> Data:
    row, plan = told.row, told.plan
    assert plan.scale is not None
    codes = row.scale_a[product // plan.block], row.scale_b[product // plan.block]
    names = ("scale_a", "scale_b")
    return {name: f"{code_text(code, plan.scale)} ({meaning(code, plan.scale)})" for name, code in zip(names, codes, strict=True)}


def _decided(told: Walk) -> Iterator[Data]:
    """What NaN and infinite operands decided before anything was added."""
    for item in told.roundings:
        if item.decided:
            where = "the whole row" if item.level == 0 else f"the addition from product {item.node} on"
            yield {"where": where, "result": text_of(item.after)}


def _level(told: Walk, number: int) -> Data:
    """One level: its words and its nodes."""
    plan, level = told.plan, told.plan.levels[number - 1]
    words = level.facts
    nodes = told.plan.shape(len(told.row.a))[number - 1]
    items: dict[int, list[Rounding]] = {}
    for item in told.of(number):
        items.setdefault(item.node, []).append(item)
    out: Data = {"level": words.id, "number": number, "add": words.add, "of": len(nodes[0]), "nodes": []}
    out |= {"held_in": register_text(words.hold, level.unit_exp), "scaled": words.scale != "none"}
    if level.align is not None:
        out |= {"fraction_bits": level.align.frac_bits, "integer_bits": level.align.integer_bits, "floor": level.align.floor}
    for node, children in enumerate(nodes):
        value = told.stages.get(f"{words.id}_{node}")
        if node not in items and value is None:
            continue
        entry: Data = {"node": f"{words.id}_{node}", "children": [_child(plan, number, child) for child in children], "additions": []}
        names = _terms_of(plan, number, children)
        for item in items.get(node, []):
            if item.sum is not None:
                entry["additions"].append(_addition(told, item, words.hold, names.get(_turn(item, words, plan), [])))
            else:
                entry.setdefault("roundings", []).append(_loaded(item, words, plan))
        if words.scale != "none":
            entry["scales"] = _scales(told, _first(plan, number, node, len(told.row.a)))
        out["nodes"].append(entry | {"value": text_of(value)})
    return out


def _turn(item: Rounding, words: Level, plan: LevelsPlan) -> int:
    """The number of an addition in its node."""
    return item.turn - int(words.start == "c" and plan.loads_c)


def _first(plan: LevelsPlan, level: int, node: int, k: int) -> int:
    shape = plan.shape(k)
    while level:
        level, node = level - 1, shape[level - 1][node][0]
    return node


def _child(plan: LevelsPlan, number: int, child: int) -> str:
    return f"{name_of(number - 1, plan)}_{child}"


def _terms_of(plan: LevelsPlan, number: int, children: Sequence[int]) -> dict[int, list[str]]:
    """Return addition -> the names of its terms."""
    words = plan.facts.levels[number - 1]
    names = [_child(plan, number, child) for child in children]
    if words.add == "chain":
        by = words.by or 1
        return {turn: names[turn * by : (turn + 1) * by] for turn in range(-(-len(names) // by))}
    if words.add != "pairwise" or len(names) == 1:
        return {0: names}
    out: dict[int, list[str]] = {}
    while len(names) > 1:
        sums = []
        for first in range(0, len(names) - 1, 2):
            sums.append(f"addition {len(out)}")
            out[len(out)] = names[first : first + 2]
        names = sums + names[len(names) - len(names) % 2 :]
    return out


def _loaded(item: Rounding, words: Level, plan: LevelsPlan) -> Data:
    """A rounding without an addition: C as it is loaded, a scale, the product of both, the value times that."""
    loads = words.start == "c" and plan.loads_c and item.turn == 0
    return {"what": "C, as the register takes it" if loads else "scales", "before": text_of(item.before), "held": _held(item, item.hold)}


def _addition(told: Walk, item: Rounding, hold: Hold, names: Sequence[str]) -> Data:
    """One addition and what the register makes of it."""
    plan, found = told.plan, item.sum
    out: Data = {"addition": item.turn}
    if found is not None:
        labels = [*names, *(f"term {i}" for i in range(len(names), len(found.terms)))]
        out["terms"] = [{"term": name, "value": text_of(value)} for name, value in zip(labels, found.terms, strict=True)]
        if found.running is not None:
            out["running"] = text_of(found.running)
        out |= _aligned(found, labels) | {"sum": text_of(found.total)}
    else:
        out["sum"] = text_of(item.before)
    if item.code is not None:
        out["code"] = code_text(item.code, plan.d)
    return out | {"held": _held(item, hold)}


def _aligned(found: Sum, labels: Sequence[str]) -> Data:
    """E, what set it, and how each operand moved."""
    if found.exp is None:
        return {}
    named = [*labels[: len(found.shifts)], *["running"] * len(found.shifts)]
    moved = [_moved(shift, "running" if shift.running else name, found) for shift, name in zip(found.shifts, named, strict=False)]
    setters = [one["operand"] for one, shift in zip(moved, found.shifts, strict=True) if shift.exp == found.exp and shift.value.live]
    from_ = setters or (["floor"] if found.floor == found.exp else ["nothing live"])
    out: Data = {"exp": found.exp, "from": from_, "unit_exp": found.unit_exp, "moved": moved}
    return out | ({"wrapped_from": str(found.wrapped)} if found.wrapped is not None else {})


def _moved(shift: Shift, name: str, found: Sum) -> Data:
    places = shift.value.lsb_exp - found.unit_exp
    out: Data = {"operand": name, "value": text_of(shift.value), "names": shift.exp, "live": shift.value.live, "shift": places}
    return out | {"units": str(shift.units), "lost": dyadic(shift.lost), "dropped": shift.dropped}


def _held(item: Rounding, hold: Hold | None) -> Data:
    """What a register makes of a sum: where it lies between two values, where it goes, what is lost."""
    point, before, after = item.point, item.before, item.after
    value = text_of(after)
    if hold in (None, "exact") or point is None or not isinstance(before, Number):
        return {"value": value}
    move = move_of(item, point)
    out: Data = {"unit_exp": point.unit_exp, "kept": str(point.kept), "lost_part": lost_bin(point.lost), "move": move, "value": value}
    if item.word is not None:
        out["word"] = f"{item.word:#x}"
    if item.code is None and isinstance(after, Number):
        out["lost"] = dyadic(number_of(before) - number_of(after))
    return out


def _losses(trace: Data) -> Iterator[str]:
    """Say where a value lost something, in the order of the levels."""
    for product in trace["products"]:
        if product.get("held", {}).get("lost", "0") != "0":
            yield f"product_{product['product']} {product['exact']} is held as {product['held']['value']}"
    for level in trace["levels"]:
        for node in level["nodes"]:
            yield from _lost_in(node)
    out = trace.get("out", {}).get("held", {})
    if out.get("lost_part", "zero") != "zero" or out.get("move") == "beyond":
        yield f"out: {trace['out']['sum']} becomes {trace['d_value']}"


def _lost_in(node: Data) -> Iterator[str]:
    """Say what one node lost: C or scales when they were rounded, terms when they were aligned, sums when they were held."""
    for load in node.get("roundings", []):
        if load["held"].get("lost", "0") != "0":
            yield f"{node['node']}: {load['what']}: {load['before']} becomes {load['held']['value']}"
    for one in node["additions"]:
        where = node["node"] + (f", addition {one['addition']}" if len(node["additions"]) > 1 else "")
        for moved in one.get("moved", []):
            if moved["lost"] != "0":
                yield f"{where}: {moved['operand']} {moved['value']} loses {moved['lost']} when it is aligned"
        held = one["held"]
        if held.get("lost", "0") != "0" or held.get("move") == "beyond":
            yield f"{where}: the sum {one['sum']} becomes {held['value']} ({MOVES[held['move']]})"


def register_text(hold: Hold, unit_exp: int | None) -> str:
    """Return what a register is, in words."""
    if hold == "exact":
        return "nothing is rounded"
    rounding = f", {hold.rounding}" if hold.rounding else ""
    if isinstance(hold, FixedHold):
        return f"{hold.bits} bits of 2^{unit_exp}{rounding}, {hold.overflow}"
    if isinstance(hold, CutHold):
        return (f"{hold.significant_bits} significant bits" if hold.significant_bits else f"{hold.fraction_bits} fraction bits") + rounding
    kept = "" if hold.keep is None else f", {hold.keep} fraction bits kept"
    return hold.format + kept + rounding + (f", policy {hold.policy}" if hold.policy else f", {hold.overflow}")


# Lines.


def lines_of(trace: Data) -> list[str]:
    """Return the text of a trace, without line ends."""
    operands = trace["operands"]
    scale = f", {operands['scale']} scales per {operands['block']}" if operands["scale"] else ", no scales"
    c = f"C {operands['c']}" if operands["c"] else "no C"
    out = [f"datapath {trace['name']} (status {trace['status']})"]
    out += [f"  operands  {operands['a']} x {operands['b']}{scale}; {c}; D {operands['d']}"]
    out += [f"  {name:<9} {text}" for name, text in trace["row"].items()]
    out += ["", "products" if trace["products"] else "products: all are 0"]
    for one in trace["products"]:
        text = f"  product_{one['product']}: {one['a']} ({one['a_value']}) * {one['b']} ({one['b_value']}) = {one['exact']}"
        out.append(text + _held_text(one.get("held"), one["exact"]) + _scale_text(one))
    out += [f"special   {one['where']} is {one['result']}: NaN or infinity among the operands" for one in trace["decided"]]
    for level in trace["levels"]:
        out += ["", *_level_lines(level)]
    if "out" in trace:
        out += ["", f"out{_sum_text(trace['out'])}{_held_text(trace['out']['held'], trace['out']['sum'], trace['d_value'])}"]
    out += ["", "lost" if trace["losses"] else "nothing is lost", *(f"  {text}" for text in trace["losses"])]
    if "flags" in trace:
        flags = ", ".join(f"{flag} {bit}" for flag, bit in trace["flags"].items())
        out += ["", f"flags: {flags}" + (f"; raised: {', '.join(trace['raised'])}" if trace["raised"] else "")]
    return [*out, "", f"D = {trace['d']} = {trace['d_value']}"]


def _level_lines(level: Data) -> Iterator[str]:
    align = ""
    if "fraction_bits" in level:
        bits = "" if level["integer_bits"] is None else f", I {level['integer_bits']}"
        align = f"; aligned, F {level['fraction_bits']}{bits}, " + ("no floor" if level["floor"] is None else f"floor {level['floor']}")
    yield f"level {level['level']}: {level['add']}, {level['of']} each{align}; held: {level['held_in']}" + (
        "; times the scales" if level["scaled"] else ""
    )
    for node in level["nodes"]:
        yield f"  {node['node']} = {node['value']}" + _scale_text(node)
        for load in node.get("roundings", []):
            yield f"    {load['what']}: {load['before']}{_held_text(load['held'], load['before'])}"
        for one in node["additions"]:
            head = f"addition {one['addition']}" if len(node["additions"]) > 1 else "sum"
            yield f"    {head}{_sum_text(one)}{_held_text(one['held'], one['sum'])}"
            if "exp" in one:
                yield f"      E = {one['exp']}, from {', '.join(one['from'])}; unit 2^{one['unit_exp']}"
                yield from (f"      {_moved_text(moved)}" for moved in one["moved"] if moved["value"] not in ("0", "-0"))
                if "wrapped_from" in one:
                    yield f"      the adder wraps: {one['wrapped_from']} units before"


def _moved_text(one: Data) -> str:
    shift = f"<<{one['shift']}" if one["shift"] >= 0 else f">>{-one['shift']}"
    text = f"{one['operand']} {one['value']}: names {one['names']}, {shift}, {one['units']} units"
    return text + (", dropped: too small" if one["dropped"] else "") + (f", lost {one['lost']}" if one["lost"] != "0" else "")


def _sum_text(one: Data) -> str:
    terms = [*([one["running"]] if "running" in one else []), *(term["value"] for term in one.get("terms", []))]
    if len(terms) < 2:
        return f": {one['sum']}"
    live = [text for text in terms if text not in ("0", "-0")] or terms[:1]
    if "running" in one and one["running"] in ("0", "-0") and len(terms) <= MOST_TERMS:
        live = terms
    shown = live[:MOST_TERMS]
    more = f" + {len(live) - len(shown)} more" if len(live) > len(shown) else ""
    return ": " + " + ".join(f"({text})" if text.startswith("-") else text for text in shown) + more + f" = {one['sum']}"


def _held_text(held: Data | None, before: str, after: str | None = None) -> str:
    """What became of a sum, where something did."""
    if held is None or "move" not in held:
        return ""
    value, word = after or held["value"], f", word {held['word']}" if "word" in held else ""
    if held["move"] == "stay":
        return f"; held exactly{word}" if word else ""
    return f"; held as {value} ({MOVES[held['move']]}{PARTS[held['lost_part']]}, unit 2^{held['unit_exp']}{word})"


def _scale_text(one: Data) -> str:
    return f"; scales {one['scales']['scale_a']} and {one['scales']['scale_b']}" if "scales" in one else ""


# Waves.


def signals_levels(row: LevelsRow, plan: LevelsPlan) -> list[tuple[str, int, int | None]]:
    """Return a row as (name, bits, value; None: x): operands, every lane of the stage columns, d. Widths and order as golden vectors."""
    told = walk(row, plan)
    out: list[tuple[str, int, int | None]] = []
    given = [("a", row.a, plan.a), ("sa", row.scale_a, plan.scale), ("b", row.b, plan.b), ("sb", row.scale_b, plan.scale)]
    for name, codes, fmt in given:
        if fmt is not None:
            bits = stored_bits(fmt)
            out.append((name, bits * len(codes), pack(codes, bits)))
    if plan.c is not None and row.c is not None:
        out.append(("c", stored_bits(plan.c), row.c))
    draws = plan.draws(len(row.a))
    out += [(f"r_{number}", draw.rounding.random_bits, word) for number, (draw, word) in enumerate(zip(draws, row.random, strict=True))]
    for stage in stages_of(plan, len(row.a)):
        for column, lanes in zip(stage.columns(), stage.lanes(told.stages), strict=True):
            names = [column.name] if column.lanes == 1 else [f"{column.name}_{lane}" for lane in range(column.lanes)]
            out += [(name, column.lane_bits, None if value < 0 else value) for name, value in zip(names, lanes, strict=True)]
    if plan.facts.flags is not None:
        out.append(("fl", len(plan.facts.flags.report), told.flags))
    return [*out, ("d", derive.codes(plan.d).bits, told.code)]


def vcd_levels(row: LevelsRow, plan: LevelsPlan) -> str:
    """Return the VCD of a row. All values stand from time 0 on. Raises: as explain_levels."""
    return waves(signals_levels(row, plan), f"dot/{plan.name}")
