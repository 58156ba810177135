"""Links of rows of decode, transform, accumulate and layout: each opens its row, and the page says what the reference model says."""

import json
import re
import shlex
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, planted, ran, texts

from emu.cli.main import run
from emu.contracts import parse
from emu.contracts.decode import KINDS
from emu.contracts.layout import ROWS
from emu.contracts.rows import pack
from emu.contracts.transform.contract import TransformContract
from emu.engines.exact.layout import place as layout_place
from emu.explain.link import is_read_out, lines_of_sum, lines_of_values, of_operands, of_sum, of_values
from emu.rtl.export.functions import golden
from emu.spec import get, names
from emu.spec.contract import fits, level_plans, plans
from emu.spec.derive import OPEN, codes
from emu.spec.models.rounding import Word
from emu.vectors.suites.plan import find

VECTORS = Path(__file__).parents[2] / "vectors"
CLASSES = {"zero": "zero", "subnormal": "subnormal", "normal": "normal", "infinity": "inf", "NaN": "nan", "open": "open"}
WIDE = (0, 1, 0x7FFF, 0x3FF, 0x400, 0x7C00, 0x7F80, 0x7FC1, 0xFC00)  # of 16 bits; in 32 they stand at the top


def decoded(page: str, folder: Path, formats: tuple[str, ...]) -> list[tuple]:
    """Codes whose value, class or binary32 code on the page is not that of the reference model."""
    rows, out = [], []
    for name in formats:
        contract, bits = parse(f"decode/{name}"), codes(get("format", name)).bits
        stored = contract.layout.inputs[0].lane_bits
        rows += [(contract, code) for code in (range(1 << stored) if bits <= 8 else (at << (bits - 16) for at in WIDE))]
    said = texts(page, [str(of_values(contract, (code,)).link) + "&formats=" for contract, code in rows], folder)
    for (contract, code), here in zip(rows, said, strict=True):
        (bits,), (kind,) = contract.exact((code,))
        wanted, result = "open" if kind == OPEN else KINDS[kind], "open" if bits == OPEN else f"0x{bits:08X}"
        if CLASSES.get(here.get("cls")) != wanted or not (here["result"] == result or (wanted == "nan" and here["value"] == "NaN")):
            out.append((str(contract.name), code, here, wanted, result))
    return out


def test_a_code_is_decoded(page, tmp_path):
    narrow = tuple(name for name in names("format") if codes(get("format", name)).bits <= 32)
    assert decoded(page, tmp_path, narrow) == [] and {"e2m1", "e8m0", "nf4", "int8", "fp16"} < {*narrow}


MEMBERS = ("binary8p3se", "binary8p1uf", "binary5p3se", "binary3p1ue")


def test_a_code_of_a_member_of_a_series_is_decoded(page, tmp_path):
    assert decoded(page, tmp_path, MEMBERS) == [] and not {*MEMBERS} & {*names("format")}


def converted(page: str, folder: Path) -> list[tuple]:
    """Conversions of members of a series, and to them, of which the page says another code, or that facts are older."""
    given = [
        (parse(f"convert/{to}/{rounding}/{policy}", source), (code, 9))
        for to, source in (("binary8p3se", "fp32"), ("binary5p3ue", "binary8p3se"), ("e2m1", "binary8p2sf"))
        for policy in (("p3109_sat_none", "p3109_sat_propagate") if to != "e2m1" else ("nvidia",))
        for rounding in ("rne", "sr_add8")
        for code in (0, 1, 0x3F, 0x7E, 0x7F, 0x80, 0x81, 0xFF, *((0x3F880000, 0x7F800000, 0xC7000001) if source == "fp32" else ()))
    ]
    rows = [(contract, values[: len(contract.layout.inputs)]) for contract, values in given]
    places, out = [str(of_values(*row).link) for row in rows], []
    older = answers(page, "return document.querySelector('#digest').textContent;", folder, places[-1])
    for (contract, values), place, here in zip(rows, places, texts(page, places, folder), strict=True):
        (code,) = contract.exact(values)[0]
        wanted = "open" if code == OPEN else code
        if (here.get("result") if wanted == "open" else int(here.get("result", "-1"), 16)) != wanted or older:
            out.append((place, here.get("refused", here.get("result")), wanted, older))
    return out


def test_a_conversion_of_a_member_of_a_series_is_answered(page, tmp_path):
    assert converted(page, tmp_path) == []


def first_rows(contract, most: int) -> list[tuple]:
    """Inputs of at most so many rows of the first suite of a contract, spread over it."""
    cases = next(iter(contract.suites())).cases(0, 1 << 20)
    return [case.values for case in cases[:: -(-len(cases) // most)]]


def rotated(page: str, folder: Path, most: int = 12) -> list[tuple]:
    """Groups that the page rotates to other codes than the reference model; or of which it says no link, or nothing."""
    rows = [(contract, values) for name in names("transform") for source in TransformContract.formats
            for contract in [parse(f"transform/{name}", source)] for values in first_rows(contract, most)]  # fmt: skip
    said, out = texts(page, [str(of_values(*row).link) for row in rows], folder), []
    for (contract, values), here in zip(rows, said, strict=True):
        wanted, result = contract.exact(values)[0], get("format", contract.facts.result)
        got = [int(code, 16) for code in here.get("taken", {}).get("codes", [])]
        one, other = ([-1 if code in codes(result).nan else code for code in row] for row in (got, wanted))  # any NaN is one
        if one != other:
            out.append((str(contract.name), values, here.get("refused", got), wanted))
    return out if len(rows) > 100 else [("few rows", len(rows))]


def test_a_group_is_rotated(page, tmp_path):
    assert rotated(page, tmp_path) == []


CHAINS = [find(file.stem).operation for file in sorted((VECTORS / "accumulate").glob("*__smoke.tv"))]


EDGES = (0, 1, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 0x0123456789ABCDEF)  # of a register: also such as it does not hold after the row
NAN = 0x3838387F  # the first of four scales of ue4m3


def chain_rows(contract, most: int) -> list[tuple]:
    """Rows of chains; where a register goes on, each with edges of it, with NaN in a scale, and before the end of the chain."""
    rows, names_ = first_rows(contract, most), words_of(contract)
    if "acc_in" not in names_:
        return rows
    out = list(rows)
    for number, (values, edge) in enumerate(product(rows[:4], EDGES)):
        changed = dict(zip(names_, values, strict=True)) | {"last": number % 3 > 0, "acc_in": edge}
        changed |= {"sa": NAN} if number == 5 else {}
        out += [tuple(map(int, changed.values()))]
    return out


def chained(page: str, folder: Path, most: int = 16) -> list[tuple]:
    """Instructions of a chain that the page answers otherwise than the reference model: the result, and the register after it."""
    rows = [(contract, values) for contract in CHAINS for values in chain_rows(contract, most)]
    said, out, seen = texts(page, [str(of_values(*row).link) for row in rows], folder), [], set()
    for (contract, values), here in zip(rows, said, strict=True):
        (wanted,), *stages = contract.exact(values)
        run, held = here["runs"][0] if "runs" in here else here, "acc_in" in words_of(contract)
        got = OPEN if run.get("d") == "open" else int(run.get("d", "-9"), 16)
        if got != wanted and is_read_out(contract, values):
            out.append((str(contract.name), values, here.get("refused", run.get("d")), wanted))
        if held and (OPEN if not run.get("register") else int(run["register"]["code"], 16)) != stages[0][0]:
            out.append((str(contract.name), values, run.get("register"), stages))
        seen |= {(held, is_read_out(contract, values), wanted == OPEN, held and stages[0][0] == OPEN)}
    kinds = {
        (False, True, False, False),
        (True, True, False, False),
        (True, False, True, False),
        (True, True, True, True),
        (True, True, False, True),
    }
    return out if seen >= kinds else [("no link", seen)]


def words_of(contract) -> list[str]:
    """The names of its operands."""
    return [column.name for column in contract.layout.inputs]


def test_an_instruction_of_a_chain_is_answered(page, tmp_path):
    assert chained(page, tmp_path) == []


REGISTER = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector).textContent;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const copied = name => { at(name).click(); return explorer.copied(); };
out.label = at("[name=acc]").closest("label").textContent; out.sentence = text("#sentence"); out.told = text("#room");
out.row = copied("#copy-row"); out.command = copied("#copy-shell"); out.why = text("#copy-why");
change("[name=acc]", "1" + "0".repeat(16)); out.wide = text("#fault");
change("[name=acc]", ""); out.empty = [text("#fault"), copied("#copy-row").split(" ").length, text("#copy-why")];
change("[name=acc]", "1"); change("[name=m1]", OTHER);
out.other = [text("#fault"), at("[name=acc]") === null, /acc=&/.test(location.hash)];
return out;
"""


def test_a_register_is_typed_copied_and_left(page, tmp_path):
    contract = next(found for found in CHAINS if "acc_in" in words_of(found))
    values = next(values for values in first_rows(contract, 64) if values[-1] and values[1])
    (d,), (acc,) = contract.exact(values)
    like = (contract.plan.a, contract.plan.b, contract.plan.scale, contract.plan.c, contract.plan.block)
    other = next(plan.name for plan in plans() if (plan.a, plan.b, plan.scale, plan.c, plan.block) == like and plan.accumulator is None)
    said = answers(page, REGISTER.replace("OTHER", json.dumps(other)), tmp_path, str(of_values(contract, values).link))
    assert "thrown" not in said, said
    assert said["label"] == "register before, 64 bits (empty: 0)" and f"register after it0x{acc:016X} (" in said["told"]
    assert said["sentence"].endswith(f" The register holds 0x{acc:016X} after it, and held {values[-1]:X} before.")
    assert [int(word, 16) for word in said["row"].split()[1:]][: len(values) + 2] == [*values, d, acc]
    assert ran(said["command"], tmp_path)[0] == said["row"].strip()
    assert "Copy Python: a register that is not empty goes into rows: copy the row or the command." in said["why"]
    assert "Copy C: a register" in said["why"] and said["empty"][0] == "" and "register" not in said["empty"][2]
    assert said["wide"] == f"register 1{'0' * 16}: write 64 bits as hex digits, two's complement" and said["other"] == ["", True, True]


def test_a_machine_without_a_register_refuses_one(page, tmp_path):
    (said,) = texts(page, ["dot?acc=1"], tmp_path)
    assert said["refused"].endswith("has no register that goes on from row to row: leave the register out")


def test_the_report_says_that_a_row_is_not_read_out():
    contract = next(found for found in CHAINS if "acc_in" in words_of(found))
    for last in (0, 1):
        values = next(values for values in first_rows(contract, 64) if values[1] == last)
        (line,) = lines_of_values(contract, values)
        assert line.startswith(
            "see it: " if last else "see it (its register: nothing is read out in this row): emu explore --open 'dot?m1=int64"
        )


LANES = (1, 2, 16, 64)


def sums() -> list[tuple]:
    """Sums of products, as `emu rtl prove` has them, of every pair of formats that a machine multiplies, with operands."""
    out, draw = [], np.random.Generator(np.random.Philox(91))
    pairs = {(plan.a.id, plan.b.id): None for plan in (*plans(), *level_plans()) if max(codes(fmt).bits for fmt in (plan.a, plan.b)) <= 8}
    for pair, lanes in product(pairs, LANES):
        item = golden(f"product/{pair[0]}x{pair[1]}" if lanes == 1 else f"group_sum/{pair[0]}x{pair[1]}/{lanes}").operation
        for _ in range(2):
            sides = [[int(draw.integers(0, 1 << codes(fmt).bits)) for _ in range(lanes)] for fmt in (item.a, item.b)]
            out.append((item, tuple(pack(side, codes(fmt).bits) for side, fmt in zip(sides, (item.a, item.b), strict=True))))
    return out


def number(text: str) -> Fraction:
    """A number as the page writes it: decimals, or a whole number times a power of two."""
    whole, power, exponent = text.partition("2^")
    return Fraction(whole.rstrip("*").replace("-*", "-") or 1) * Fraction(2) ** int(exponent) if power else Fraction(text)


def summed(page: str, folder: Path) -> list[tuple]:
    """Sums of products whose exact sum on the page is not that of the golden function."""
    rows, out, seen = sums(), [], set()
    places = [of_sum(item.a, item.b, *item.elements(values)).link for item, values in rows]
    for (item, values), here in zip(rows, texts(page, places, folder), strict=True):
        ((wanted,),) = item.exact(values)
        seen.add(wanted == OPEN)
        if wanted != OPEN:
            wanted = (wanted - (wanted >> (item.bits - 1) << item.bits)) * Fraction(2) ** item.unit_exp
        if "exact" not in here or (OPEN if not here["exact"] else number(here["exact"].replace("-2^", "-1*2^"))) != wanted:
            out.append((item.a.id, item.b.id, values, here.get("refused", here.get("exact")), wanted))
    return out if seen == {True, False} and len(rows) > 300 else [("few rows",)]


def test_a_sum_of_products_is_shown(page, tmp_path):
    assert summed(page, tmp_path) == []


def test_a_sum_that_no_machine_takes_has_no_link_and_says_why():
    (line,) = lines_of_sum(get("format", "e2m1"), get("format", "e3m0"), [1], [2])
    assert line == "no link: e2m1 x e3m0: no machine of emu explore multiplies them"
    (line,) = lines_of_sum(get("format", "e2m1"), get("format", "e2m1"), [1], [2])
    assert line.startswith("see it (the exact sum): emu explore --open 'dot?m1=int64%2Fe2m1xe2m1%2F16&m2=none&m3=none&a=1" + "0" * 63)


INSTRUCTIONS = [find(file.stem).operation for file in sorted((VECTORS / "insn").glob("*__smoke.tv"))]


def lanes_of(page: str, folder: Path, most: int = 8) -> list[tuple]:
    """Lanes of instructions of which the page says another code than the reference model; of a fused quantizer its block and scale."""
    rows = [(contract, values) for contract in INSTRUCTIONS for values in first_rows(contract, most)]
    lanes = [number % contract.lanes for number, (contract, _) in enumerate(rows)]
    places = [of_values(*row, lane).link for row, lane in zip(rows, lanes, strict=True)]
    shown = [(*row, lane, place) for row, lane, place in zip(rows, lanes, places, strict=True) if place is not None]
    said, out = texts(page, [place for *_, place in shown], folder), []
    for (contract, values, lane, place), here in zip(shown, said, strict=True):
        wanted, *more = contract.exact(values)
        if contract.facts.performs == "quantize":
            parts = [*here["a"]["codes"]["items"], *here["a"]["levels"][-1]["items"]] if "a" in here else []
            got = [int(item["code"], 16) for item in parts]
            wanted = [*wanted, *more[0]]
        else:
            got, wanted = here.get("result"), "open" if wanted[lane] == OPEN else f"0x{wanted[lane]:X}"
            got = got and (got if got == "open" else f"0x{int(got, 16):X}")
        if got != wanted:
            out.append((str(contract.name), values, lane, place, here.get("refused", got), wanted))
    return out if {contract for contract, *_ in shown} == {*INSTRUCTIONS} else [("no link",)]


def test_a_lane_of_an_instruction_is_answered(page, tmp_path):
    assert lanes_of(page, tmp_path) == []


def operated(page: str, folder: Path) -> list[tuple]:
    """Operations on numbers whose result on the page is not that of the reference model; or of which too many have no link.

    Also of those whose exact result fp64 lacks: the page has a number beside it.
    """
    files = sorted((VECTORS / "operate").glob("*__smoke.tv"))
    rows = [(contract, values) for contract in (find(file.stem).operation for file in files) for values in first_rows(contract, 24)]
    rows += [(parse("operate/multiply/e5m2/e4m3/rne/ocp_saturate"), values) for values in ((0x81, 0x01), (0x80, 0x01), (0x81, 0x81))]
    rows = [(contract, values, of_values(contract, values)) for contract, values in rows]
    rows = [(contract, values, part) for contract, values, part in rows if part.link is not None]
    said, out, signs = texts(page, [part.link for *_, part in rows], folder), [], 0
    for (contract, values, part), here in zip(rows, said, strict=True):
        (wanted,), unsigned = contract.exact(values)[0], part.what.endswith("; a zero of the operation has no sign")
        got = OPEN if here.get("result") == "open" else int(here.get("result", "-9"), 16)
        signs += unsigned
        if (got, wanted) == (codes(contract.to).sign_bit, 0) and unsigned:
            continue
        if got != wanted or unsigned:
            out.append((str(contract.name), values, here.get("refused", here.get("result")), wanted, part))
    kinds, beside = {contract.operation for contract, *_ in rows}, sum(part.what.startswith("beside") for *_, part in rows)
    return out if len(rows) > 250 and len(kinds) > 6 and signs == 1 and beside > 10 else [("few rows", len(rows), signs, beside)]


def test_the_exact_result_of_an_operation_is_rounded(page, tmp_path):
    assert operated(page, tmp_path) == []


def laid(page: str, folder: Path) -> list[tuple]:
    """Codes of a tensor that the page puts elsewhere than the reference model, or whose scale has other elements than the block."""
    out, rows = [], []
    for name in names("layout"):
        order = get("layout", name)
        blocks = [block for block in names("block") if fits(get("block", block), order)]
        rows += [
            (contract, values)
            for contract in [parse(f"layout/{block}/{name}") for block in blocks[::9]]
            for values in first_rows(contract, 6)
        ]
    said = texts(page, [str(of_values(*row).link) for row in rows], folder)
    for (contract, values), here in zip(rows, said, strict=True):
        if (here.get("at"), here.get("row"), here.get("index"), here.get("rows")) != (contract.exact(values)[0][0], *values, ROWS):
            out.append((str(contract.name), values, here))
        elif contract.order.facts.holds == "scales" and here["tile"] != [*contract.block.facts.shape]:
            out.append((str(contract.name), values, here["tile"]))
    return out if len({contract.order.id for contract, _ in rows}) > 9 else [("few rows", len(rows))]


def test_a_code_is_laid(page, tmp_path):
    assert laid(page, tmp_path) == []


FAULTS = {
    "a code one further": (decoded, ("e2m1", "e8m0"), "value = decode(source, code);", "value = decode(source, code ^ 1n);"),
    "the class of another": (decoded, ("e2m1",), "cls: value.cls, result:", 'cls: "normal", result:'),
    "not rotated": (rotated, (), "return {codes, from: facts.result,", "return {codes: given, from: facts.result,"),
    "its own signs": (rotated, (), "signsAt = signs => signs === null ? 0 :", "signsAt = signs => true ? 0 :"),
    "C left out": (chained, (), 'state.c.trim() ? codesOf(state.c, machine.c, "c") :', "false ? 0 :"),
    "an empty register": (chained, (), "+ (machine.bits ? row.held : 0n);", "+ 0n;"),
    "a register without a sign": (chained, (), "return BigInt.asIntN(bits, BigInt(", "return BigInt.asUintN(bits, BigInt("),
    "a register that holds any sum": (chained, (), "return error === C_OVERFLOW ? null :", "return error === C_OVERFLOW ? 0n :"),
    "read out without C": (chained, (), "placeWide(total), row.c, OUT)", "placeWide(total), 0n, OUT)"),
    "a lane left out of the sum": (summed, (), "return row.a.map((code, i) => {", "return row.a.slice(1).map((code, i) => {"),
    "rounded to nearest by every operation": (
        operated,
        (),
        "rounding, policyOf(policy, state.to)",
        'roundingOf("rne"), policyOf(policy, state.to)',
    ),
    "a policy of the page for a member": (
        converted,
        (),
        "policyOf(policy, state.to), code, random)",
        'policyOf(policy, "e2m1"), code, random)',
    ),
    "members known by no digits": (converted, (), 'META.digests[kind][id] || "-".repeat(8)', 'META.digests[kind][id] || "?".repeat(8)'),
    "the random integer left out": (lanes_of, (), "BigInt.asUintN(bits, BigInt(state.r))", "BigInt.asUintN(bits, 0n)"),
    "no rotation in an instruction": (lanes_of, (), "return {codes, from: facts.result,", "return {codes: given, from: facts.result,"),
    "a place one further": (laid, (), "  const at = placeOf(layout, row, index", "  const at = 1 + placeOf(layout, row, index"),
    "scales of single elements": (laid, (), "sizes.scales ? pairOf(state.tile", "false ? pairOf(state.tile"),
}


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(page, tmp_path, fault):
    look, formats, before, after = FAULTS[fault]
    found = look(planted(page, before, after), tmp_path, *([formats] if formats else []))
    assert found and found[0][0] not in ("few rows", "no link")


TYPED = """
const at = selector => document.querySelector(selector), out = [];
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const key = name => at("[name=code]").dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
const say = () => out.push([at("[name=code]").value, at("[name=typed]").value, at("#fault").textContent]);
for (const [from, ...all] of ASKED) {
  change("[name=from]", from);
  say();
  for (const text of all) { if (/^Arrow/.test(text)) key(text); else change("[name=typed]", text); say(); }
}
return out;
"""
ASKED = {
    "e2m1": "0x4 2; 2.5 0x4 2; ArrowUp 0x5 3; -0 0x8 -0; ArrowDown 0x9 -0.5; 9 0x9 beyond",
    "e8m0": "0x00 -; 3 0x80 2; ArrowUp 0x81 4; nan 0xFF NaN; 0 0xFF beyond; inf 0xFF such",
    "int8": "0x00 0; -2.5 0xFE -2; ArrowDown 0xFD -3; 127.9 0xFD beyond; -128 0x80 -128; ArrowDown 0x80 -128",
    "ue4m3": "0x00 0; 448 0x7E 448; ArrowUp 0x7E 448; nan 0x7F NaN; -1 0x7F negative",
    "fp64": "0x7FF8000000000000 NaN; 0.1 0x3FB999999999999A -; ArrowUp 0x3FB999999999999B -",
}  # what is typed or pressed, the code then, the value or a word of the fault; first what the change of the format gives


def test_numbers_of_every_format_are_typed_and_stepped(page, tmp_path):
    rows = {name: [line.split() for line in text.split("; ")] for name, text in ASKED.items()}
    script = TYPED.replace("ASKED", json.dumps([[name, *(row[0] for row in steps[1:])] for name, steps in rows.items()]))
    said = answers(page, script, tmp_path, "number?code=0x40000000")
    for (code, typed, fault), (want, value) in zip(said, [row[-2:] for steps in rows.values() for row in steps], strict=True):
        assert code == want and (value in ("-", typed) or value in fault.split()), (code, typed, fault, want, value)


WINDOW = """
const texts = [...document.querySelectorAll("#places h2")].map(item => item.textContent);
const chosen = document.querySelector("td .chosen"), cells = document.querySelectorAll("#places .tall td").length;
const last = [...document.querySelectorAll(".memory button")].at(-1).dataset.at;
return [texts, chosen.dataset.at, cells, document.querySelector(".memory .chosen").dataset.at, last];
"""


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize(("row", "index"), [(0, 0), (4095, 4095), (4095, 2000), (33, 1)])
def test_of_a_large_matrix_what_is_around_the_chosen_code_is_shown(page, tmp_path, row, index):
    place = f"layout?layout=low_nibble_first&rows=4096&codes=4096&row={row}&index={index}"
    said, at = answers(page, WINDOW, tmp_path, place), layout_place(row, index, 4096, 4096, get("layout", "low_nibble_first"))
    titles, chosen, cells, there, last = said
    assert (int(chosen), int(there)) == (at, at) and 8000 < cells <= 8500 and int(last) <= 4096 * 4096 - 1
    down, across = (re.search(f"{word} (\\d+) to (\\d+) of 4096", titles[1]).groups() for word in ("rows", "indices"))
    assert int(down[0]) <= row <= int(down[1]) and int(across[0]) <= index <= int(across[1]) and "places" in titles[2]


def test_a_link_of_a_double_shows_its_result(page, tmp_path):
    """Conversions of binary64 and to it."""
    rows = [(parse("convert/e2m1/rne/nvidia", "fp64"), (code,)) for code in (0x4004000000000000, 0xBFF7FFFFFFFFFFFF, 0x7FF0000000000000, 1)]
    rows += [(parse("convert/fp64/rne/ieee", "bf16"), (code,)) for code in (0x4049, 0xFF80, 0x1)]
    said = texts(page, [str(of_values(*row).link) for row in rows], tmp_path)
    assert [int(here["result"], 16) for here in said] == [contract.exact(values)[0][0] for contract, values in rows]


COPIED = """
return await LINKS.reduce(async (before, link) => {
  const out = await before, copied = id => { document.querySelector(id).click(); return explorer.copied(); };
  location.hash = link; await new Promise(done => setTimeout(done, 60));
  return [...out, [explorer.text(link), copied("#copy-python"), copied("#copy-shell")]];
}, Promise.resolve([]));
"""


@pytest.mark.parametrize("rounding", [name for name in names("rounding") if isinstance(get("rounding", name).facts.random, Word)])
def test_a_word_that_values_share_comes_with_the_link_and_the_copies(page, tmp_path, capsys, rounding):
    """Each value of the word: the page, the copied Python and the copied command give what the reference model gives."""
    contract = parse(f"convert/e2m1/{rounding}/nvidia")
    form = contract.form(contract.fmt)
    lanes, bits = form.draws.random_operand
    words = np.array([0x9E3779B97F4A7C15 >> (64 - bits), 1], np.uint64)
    operands = {"codes": np.full(2 * lanes, 0x40280000, np.uint32), "random": words}  # 2.625
    wanted = [contract.exact(form.row(operands, place))[0][0] for place in range(lanes)]
    links = [str(of_operands(contract, operands, (place,)).link) for place in range(lanes)]
    said = answers(page, COPIED.replace("LINKS", json.dumps(links)), tmp_path)
    assert "thrown" not in said, said
    for place, (shown, python, shell) in enumerate(said):
        word = f"value {place} in the word 0x{int(words[0]):0{bits // 4}X}"
        assert int(shown["result"].split()[0], 16) == wanted[place] and word in shown["sentence"]
        exec(python, {})
        assert int(capsys.readouterr().out, 16) == wanted[place]
        assert run(shlex.split(shell)[1:]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == place + 2 and f"0x{wanted[place]:X}" in lines[-1].split()
