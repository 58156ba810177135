"""Number: the bin of a result, what of it belongs to it, and its bias, against the reference model."""

import re
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from support.explorer import answers, link, planted, texts

from emu.base.errors import EmuError
from emu.engines.exact import convert
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.spec import derive, get, names
from emu.spec.derive import policy_entry

CODES = (0xBFA00000, 0x00000000, 0x40300000, 0x7F7FFFFF)  # -1.25, 0, 2.75, the largest number


def asked() -> list[dict]:
    """Numbers under every rounding that draws nothing, to every narrow format that a policy covers."""
    out = []
    for to in names("format"):
        policy = next((name for name in names("policy") if covers(name, to)), None)
        if policy and derive.codes(get("format", to)).bits <= 8:
            drawing = [name for name in names("rounding") if get("rounding", name).random_bits]
            out += [
                {"from": "fp32", "code": hex(code), "to": to, "round": rounding, "policy": policy}
                for rounding in (*(name for name in names("rounding") if name not in drawing), drawing[0])
                for code in CODES
            ]
    return out


def covers(policy: str, to: str) -> bool:
    try:
        policy_entry(get("policy", policy), get("format", to))
    except EmuError:
        return False
    return True


def wrong(page: str, folder: Path, rows: list[dict]) -> tuple[list, int]:
    """Rows whose bin or bias is not that of the reference model, and how many bins were compared."""
    out, compared = [], 0
    for row, said in zip(rows, texts(page, [link("number", **row) for row in rows], folder), strict=True):
        fmt, rounding = get("format", row["to"]), get("rounding", row["round"])
        if "bin" not in said:
            finite_ = said.get("value", "NaN") not in ("NaN", "infinity", "open", "")
            out += [(row, said)] if row["round"] in ("rne", "rz") and finite_ else []
            continue
        entry, value = policy_entry(get("policy", row["policy"]), fmt), decode_code(int(said["result"], 16), fmt).signed

        grid = [one.signed for one in map(partial(decode_code, fmt=fmt), range(1 << derive.codes(fmt).bits)) if one.kind == "finite"]

        def goes(number: Fraction, fmt=fmt, rounding=rounding, entry=entry) -> Fraction:
            return decode_code(convert.convert_value(finite(number), fmt, rounding, entry), fmt).signed

        first, low, high, last = re.fullmatch(r"([\[(]?)([^,]+), ([^\])…]+|…)([\])]?)(?:: where the format ends .*)?", said["bin"]).groups()
        ends = [None if text == "…" else Fraction(text) for text in (low, high)]
        some = [end for end in ends if end is not None]
        little = abs(ends[1] - ends[0] if len(some) == 2 else some[0]) / (1 << 20)
        for end, inside, is_in in ((ends[0], 1, first == "["), (ends[1], -1, last == "]")):
            if end is not None:
                within = little == 0 or goes(end + inside * little) == value
                beyond = end - inside * (little or 1)  # outside of the format the policy decides
                found = (goes(end) == value, within, min(grid) <= beyond <= max(grid) and goes(beyond) == value)
                out += [] if found == (is_in, True, False) else [(row, said["bin"], found)]
                compared += 1
        bias = "" if len(some) < 2 else value - sum(some) / 2
        out += [] if (said["bias"] and Fraction(said["bias"])) == bias else [(row, said["bias"], bias)]
    return out, compared


def test_bins_and_their_bias_are_those_of_the_reference_model(page, tmp_path):
    rows = asked()
    out, compared = wrong(page, tmp_path, rows)
    assert out == [] and compared > 300
    (drawn,) = texts(page, [link("number", **next(row for row in rows if get("rounding", row["round"]).random_bits))], tmp_path)
    assert "bin" not in drawn and drawn["result"]


SHOWN = """const at = selector => document.querySelector(selector), place = number => Math.round(10 * number), box = at("#bin").getBBox();
const terms = Object.fromEntries([...document.querySelectorAll("dt")].map(item => [item.textContent, item.nextElementSibling.textContent]));
const circles = [...document.querySelectorAll("#line circle")].map(item => place(item.getAttribute("cx")));
return [terms["bin of the result"], terms["bias of the bin"], [box.x, box.x + box.width].map(x => circles.includes(place(x))),
    at("#line + p").textContent.includes("its bin.")];"""


def test_the_bracket_stands_over_the_bin(page, tmp_path):
    said = answers(page, SHOWN, tmp_path, "number?code=0x40900000")
    assert said == ["[3.5, 5]", "-0.25: the result less the middle of its bin", [True, True], True]
    assert answers(page, "return document.querySelector('#bin');", tmp_path, "number?round=sr_add8") is None


FAULTS = {
    "the end on the wrong side": ('above.goesUp ? ")" : "]"', 'above.goesUp ? "]" : ")"'),
    "the next bin": ("[at - 1, at].map(i => grid[i]", "[at, at + 1].map(i => grid[i]"),
    "the middle for every rounding": ("if (sides.every(up => up === goes[1]))", "if (false)"),
    "bias turned round": ("sum ? decimal(minus(dyadic(value), {n: sum.n,", "sum ? decimal(plus(dyadic(value), {n: sum.n,"),
}  # fmt: skip


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_bins_is_noticed(page, tmp_path, fault):
    assert wrong(planted(page, *FAULTS[fault]), tmp_path, asked()[:80])[0]
