"""The Number room: the formula with the numbers in it, of every class of format, is an equation that holds."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from support.explorer import answers, link, planted, texts

from emu.base.errors import OpenError
from emu.contracts.contract import stored_bits
from emu.engines.exact.decode import decode_code
from emu.spec import get

TIMES = "\N{MULTIPLICATION SIGN}"


def codes_of(name: str) -> list[int]:
    """All codes of a narrow format; of a wide one its ends, the ends of its exponents, and drawn ones."""
    width = stored_bits(get("format", name))
    if width <= 8:
        return list(range(1 << width))
    edges = {code & (1 << width) - 1 for bit in range(width) for low in (-1, 0, 1) for code in ((1 << bit) + low, -(1 << bit) + low)}
    drawn = np.random.Generator(np.random.Philox(23)).integers(0, 1 << width, 50, np.uint64)
    return sorted(edges | {int(code) for code in drawn})


def number(text: str) -> Fraction:
    """What arithmetic text is worth: whole numbers, + - / and powers, as the page writes them."""
    text = text.replace(TIMES, "*").replace("^", "**")
    assert re.fullmatch(r"[-+0-9()/ *.]+", text), text
    return eval(re.sub(r"[0-9]+(\.[0-9]+)?", lambda found: f"F('{found[0]}')", text), {"F": Fraction})


def wrong(page: str, folder) -> tuple[list, set]:
    """Formulas that do not hold, and the classes of formats and results that were seen."""
    names = answers(page, "return explorer.formats;", folder)
    asked = {name: codes_of(name) for name in names}
    script = f"""const asked = {json.dumps({name: list(map(str, codes)) for name, codes in asked.items()})};
        return Object.entries(asked).map(([id, codes]) => codes.map(code => explorer.formula(id, BigInt(code))));"""
    out, seen = [], set()
    for (name, codes), said in zip(asked.items(), answers(page, script, folder), strict=True):
        fmt = get("format", name)
        for code, text in zip(codes, said, strict=True):
            try:
                value = decode_code(code, fmt)
            except OpenError:
                seen.add("open")
                if "leave open" not in text:
                    out.append((name, code, text))
                continue
            seen.add((fmt.facts.class_, value.kind))
            if value.kind != "finite":
                word = "NaN" if value.kind == "nan" else "-infinity" if value.sign else "infinity"
                if not re.search(rf"(: | is ){word}\b", text):
                    out.append((name, code, text))
                continue
            left, _, right = re.sub("^entry [0-9]+ of the table: ", "", text).rpartition(" = ")
            if not number(left) == number(right) == value.signed or (value.is_zero and value.sign) != (right == "-0"):
                out.append((name, code, text))
    return out, seen


def test_the_formula_of_every_code_holds(page, tmp_path):
    out, seen = wrong(page, tmp_path)
    assert out == []
    classes = {"float", "integer", "exponent", "codebook"}
    assert {(name, "finite") for name in classes} | {"open", ("float", "nan"), ("float", "inf"), ("exponent", "nan")} <= seen


FAULTS = {
    "bias of the wrong sign": ('`2^(${exp} ${bias < 0n ? "+" : "-"}', '`2^(${exp} ${bias < 0n ? "-" : "+"}'),
    "subnormal exponent": ("biased(leading || exp ? exp : 1n, bias)", "biased(exp, bias)"),
    "leading bit": ("(${leading} + ${fraction}", "(1 + ${fraction}"),
    "sign bit": ("`(-1)^${sign}`", "`(-1)^0`"),
    "two's complement": ("less ? `(${stored} - ${less})`", "less ? `(${stored} - ${less / 2n})`"),
    "codebook's unit": ("`2^${rest[1]}`", "`2^${-rest[1]}`"),
}


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_formula_is_noticed(page, tmp_path, fault):
    assert wrong(planted(page, *FAULTS[fault]), tmp_path)[0]


def test_the_room_shows_both_formulas(page, tmp_path):
    script = """return [[...document.querySelectorAll('#formulas p')].map(line => line.textContent),
        [...document.querySelectorAll('#formulas .fraction')].map(part => part.textContent)];"""
    place = link("number", **{"from": "bf16"}, code="0x40C0", to="e2m1").removeprefix("#")
    lines, fractions = answers(page, script, tmp_path, place)
    assert lines[0].replace(TIMES, "*") == "bf16 0x40C0 (-1)^0 * 2^(129 - 127) * (1 + 64/128) = 6"
    assert lines[1].replace(TIMES, "*") == "e2m1 0x7 (-1)^0 * 2^(3 - 1) * (1 + 1/2) = 6"
    assert fractions == ["(1 + 64/128)", "(1 + 1/2)"]
    (said,) = texts(page, [link("number", formats="int4 e8m0 nf4 e2m1")], tmp_path)
    assert said["formats"][0]["formula"] == f"2 {TIMES} 2^0 = 2" and said["formulas"][1] == said["formats"][3]["formula"]
