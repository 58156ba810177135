"""The trace of a dot product as lines people read: one section per fused step, one table of the alignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Data = dict[str, Any]
WIDEST_BINARY = 72
MOST_ZEROS = 24
PER_LINE = 4
MARGIN = "  "


def lines_of(trace: Data) -> list[str]:
    """Return the text of a trace of explain_dot, without line ends."""
    out = [*_head(trace), ""]
    for step in trace["steps"]:
        out += [*_step(step, trace["adder"]), ""]
    if "final" in trace:
        out += [*_final(trace["final"]), ""]
    return [*out, f"D = {trace['d']} = {trace['d_value']}"]


def _head(trace: Data) -> Iterator[str]:
    adder, operands = trace["adder"], trace["operands"]
    yield f"datapath {trace['name']} (status {trace['status']})"
    scales = f", {operands['scale']} scales per {operands['block']}" if operands["scale"] else ", no scales"
    yield f"{MARGIN}operands  {operands['a']} x {operands['b']}{scales}; C and D {operands['d']}"
    if adder["apply"] == "promote":
        yield f"{MARGIN}adder     binary operations on {operands['d']}, one block of {adder['step']} per step"
    else:
        yield f"{MARGIN}adder     {_adder(adder)}"
    yield from (f"{MARGIN}{name:<9} {text}" for name, text in trace["row"].items())


def _adder(adder: Data) -> str:
    exact = adder["fraction_bits"] == "exact"
    shape = f"{adder['step']} products per step, " + (f"groups of {adder['group']}" if adder["group"] > 1 else "each product a term")
    if exact:
        return f"{shape}; nothing is lost: {adder['bits']} bits with unit 2^{adder['lsb_exp']}"
    floor = "no floor of E" if adder["floor"] is None else f"E at least {adder['floor']}"
    whole = "" if adder["integer_bits"] is None else f" + I {adder['integer_bits']} + sign"
    if adder["late"] is not None:
        late = adder["late"]
        parts = f"{shape}, {late['split']} parts"
        return (
            f"{parts}; F {adder['fraction_bits']}, with C {late['f2']}: {adder['bits']} bits; C below E - {late['drop_below']} is dropped"
        )
    wraps = ", wraps" if adder["beyond"] == "wrap" else ""
    return f"{shape}; F {adder['fraction_bits']}{whole} = {adder['bits']} bits{wraps}; aligned terms rounded {adder['rounding']}; {floor}"


def _step(step: Data, adder: Data) -> Iterator[str]:
    first, last = step["elements"]
    addend = f", C = {step['c']['code']} ({step['c']['value']})" if "c" in step else ""
    yield f"step {step['step']}: elements {first}..{last}{addend}"
    if step["special"] is not None:
        yield f"{MARGIN}special   {step['special']['result']}: {step['special']['because']}"
    elif adder["apply"] == "promote":
        yield from _promoted(step)
    elif "parts" in step:
        yield from _late(step)
    else:
        yield from _aligned(step, adder)
    if "result" in step:
        yield f"{MARGIN}result    {step['result']} = {step['result_value']}"


def _aligned(step: Data, adder: Data) -> Iterator[str]:
    quiet = []
    for term in step["terms"]:
        if not term["products"]:
            quiet.append(term["term"])
            continue
        yield from _term(term, grouped="sum" in term)
    if quiet:
        yield f"{MARGIN}terms {_ranges(quiet)}: every product is 0, not live"
    yield f"{MARGIN}{_source(step)}"
    shown = [(f"term {term['term']}", term) for term in step["terms"] if term["products"]]
    if "aligned_c" in step and step["aligned_c"]["live"]:
        shown.append(("C", step["aligned_c"]))
    yield from _table(shown, step["sum"])
    yield from _sum(step["sum"], adder)
    if "round" in step:
        yield from _round(step["round"], "P" if "part" in step else "round")
    if "part" in step:
        yield f"{MARGIN}P         {step['part']} = {step['part_value']}"
    if "round_c" in step:
        yield from _round(step["round_c"], "P + C")


def _term(term: Data, grouped: bool) -> Iterator[str]:
    first, last = term["elements"]
    if not grouped:
        (one,) = term["products"]
        scales = _scales(term)
        yield f"{MARGIN}term {term['term']:<4} {_product(one)}{' * ' + scales if scales else ''}; {_nominal(term)}"
        return
    yield f"{MARGIN}term {term['term']}: elements {first}..{last}"
    yield from _products(term)
    yield f"{MARGIN * 2}sum       {term['sum']} units of 2^{term['sum_unit_exp']} = {term['sum_value']}"
    scales = _scales(term)
    if scales:
        yield f"{MARGIN * 2}scales    {scales}"
    yield f"{MARGIN * 2}term      {term['value']}; {_nominal(term)}"


def _nominal(term: Data) -> str:
    state = "live (a cancelled group counts)" if term["cancelled"] else "live" if term["live"] else "not live"
    return f"exponent {term['exp']}, {state}"


def _scales(term: Data) -> str:
    if "scale_a" not in term:
        return ""
    return f"{term['scale_a']} ({term['scale_a_value']}) * {term['scale_b']} ({term['scale_b_value']})"


def _product(one: Data) -> str:
    return f"[{one['element']}] {one['a']} ({one['a_value']}) * {one['b']} ({one['b_value']}) = {one['product']}"


def _products(term: Data) -> Iterator[str]:
    """The products that are not zero, as values, some on a line; neighbours with the same codes stand together."""
    texts = []
    for run in _runs(term["products"]):
        first, last = run[0], run[-1]
        place = f"[{first['element']}]" if first is last else f"[{first['element']}..{last['element']}]"
        each = "" if first is last else " each"
        texts.append(f"{place} {first['a_value']} * {first['b_value']} = {first['product']}{each}")
    if term["zero_products"]:
        texts.append(f"{term['zero_products']} are 0")
    wide = max(len(text) for text in texts)
    for start in range(0, len(texts), PER_LINE):
        part = "   ".join(f"{text:<{wide}}" for text in texts[start : start + PER_LINE]).rstrip()
        yield f"{MARGIN * 2}{'products' if start == 0 else '':<9} {part}"


def _runs(products: Sequence[Data]) -> list[list[Data]]:
    """Return neighbouring products with the same codes as one run."""
    out: list[list[Data]] = []
    for one in products:
        last = out[-1][-1] if out else None
        same = last is not None and (last["a"], last["b"], last["element"] + 1) == (one["a"], one["b"], one["element"])
        if same:
            out[-1].append(one)
        else:
            out.append([one])
    return out


def _source(step: Data) -> str:
    exp = step["exp"]
    if exp["value"] is None:
        return f"unit      2^{step['lsb_exp']}, fixed: no term loses a bit"
    largest = "nothing is live" if exp.get("largest_live") is None else f"largest live exponent {exp['largest_live']}"
    why = f"the floor; {largest}" if exp["from"] == ["floor"] else ", ".join(exp["from"])
    return f"E         {exp['value']}, from {why}; unit 2^{step['lsb_exp']}"


def _table(shown: Sequence[tuple[str, Data]], total: Data) -> Iterator[str]:
    """Name, shift, aligned integer in decimal and binary with the dropped bits behind a point, exact value lost."""
    binary = total["bits"] <= WIDEST_BINARY
    rows = [("", "shift", "aligned", "binary . dropped" if binary else "dropped", "lost")]
    for name, term in shown:
        places = term["shift"]
        bits = f"{int(term['aligned']):b}" if binary else ""
        zeros = term["dropped_zeros"]
        dropped = (
            f"{bits}.{'0' * zeros if zeros <= MOST_ZEROS else f'({zeros} zeros)'}{term['dropped_bits']}" if term["dropped_bits"] else bits
        )
        rows.append((name, f"<<{places}" if places >= 0 else f">>{-places}", term["aligned"], dropped, term["lost"]))
    wide = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = (f"{row[0]:<{wide[0]}}", *(f"{row[i]:>{wide[i]}}" for i in (1, 2)), _at_point(row[3], rows, wide[3]), row[4])
        yield (MARGIN * 2 + "  ".join(cells)).rstrip()


def _at_point(text: str, rows: Sequence[tuple[str, ...]], wide: int) -> str:
    """Align binary integers at their last bit."""
    if text == rows[0][3]:
        return f"{text:<{max(wide, _whole(rows) + 1 + _rest(rows))}}"
    whole, point, rest = text.partition(".")
    return f"{whole:>{_whole(rows)}}{point or ' '}{rest:<{_rest(rows)}}".ljust(wide)


def _whole(rows: Sequence[tuple[str, ...]]) -> int:
    return max((len(row[3].partition(".")[0]) for row in rows[1:]), default=0)


def _rest(rows: Sequence[tuple[str, ...]]) -> int:
    return max((len(row[3].partition(".")[2]) for row in rows[1:]), default=0)


def _sum(total: Data, adder: Data) -> Iterator[str]:
    if total["wrapped_from"] is not None:
        yield f"{MARGIN}wrap      the sum {total['wrapped_from']} does not fit {total['bits']} bits and wraps"
    name = "register" if adder["lsb_exp"] is not None and "register" in total else "sum"
    yield f"{MARGIN}{name:<9} {total['integer']} = {total['hex']}, {total['bits_used']} of {total['bits']} bits; value {total['value']}"


def _round(found: Data, name: str) -> Iterator[str]:
    kept = f"kept {found['kept']} ({found['kept_bits']} bits, last one 2^{found['unit_exp']}), below it {found['lost_part']}"
    notes = [
        text for key, text in (("subnormal", "subnormal"), ("up", "rounded up"), ("carry", "carry"), ("overflow", "overflow")) if found[key]
    ]
    lost = "" if found["lost"] == "0" else f"; result - exact = {found['lost']}"
    yield f"{MARGIN}{name:<9} {found['mode']}: {kept}{'; ' + ', '.join(notes) if notes else ''}{lost}"


def _late(step: Data) -> Iterator[str]:
    for part in step["parts"]:
        if part["exp"] is None:
            yield f"{MARGIN}part {part['part']}: every product is 0, it is not there"
            continue
        yield f"{MARGIN}part {part['part']}: exponent {part['exp']}, unit 2^{part['lsb_exp']}"
        for one in part["products"]:
            lost = "" if one["lost"] == "0" else f", dropped {one['dropped_bits']}, lost {one['lost']}"
            yield f"{MARGIN * 2}{_product(one)}: aligned {one['aligned']}{lost}"
        yield f"{MARGIN * 2}sum       {part['sum']}"
    c = step["aligned_c"]
    yield f"{MARGIN}E         {step['exp']['value']}, from {', '.join(step['exp']['from']) or 'C'}; unit 2^{step['lsb_exp']}"
    yield f"{MARGIN}joined    {step['joined']} (bits that fall off go down)"
    lost = "" if c["lost"] == "0" else f", lost {c['lost']}"
    yield f"{MARGIN}C         {c['aligned']}{' (too small: dropped)' if c['too_small'] else ''}{lost}"
    yield from _sum(step["sum"], {"lsb_exp": None})
    yield from _round(step["round"], "round")


def _promoted(step: Data) -> Iterator[str]:
    (term,) = step["terms"]
    if term["products"]:
        yield from _products(term)
    yield f"{MARGIN * 2}sum       {term['sum']} units of 2^{term['sum_unit_exp']} = {term['sum_value']}"
    yield f"{MARGIN}P         {step['part']} = {step['part_value']}"
    yield f"{MARGIN}sa * sb   {_scales(term)} -> {step['scale']} = {step['scale_value']}"
    yield f"{MARGIN}term      P * (sa * sb) -> {step['scaled']} = {step['scaled_value']}"


def _final(final: Data) -> Iterator[str]:
    addend = f"C = {final['c']['code']} ({final['c']['value']})"
    yield f"end: register {final['register']} * 2^{final['lsb_exp']} = {final['register_value']}, {addend}"
    yield f"{MARGIN}sum       {final['value']}"
    yield from _round(final["round"], "round")


def _ranges(numbers: Sequence[int]) -> str:
    """Return sorted integers as 0, 2..5."""
    out: list[list[int]] = []
    for number in numbers:
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}..{high}" for low, high in out)
