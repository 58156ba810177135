"""Block: the nearest changes of an element that give it another code or scale are those that the reference model has, and lead there."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, digits, integer, link, planted, texts

import emu
from emu.engines.exact import block
from emu.engines.exact.decode import decode_code
from emu.spec import get
from emu.spec.programs.program import quantize_program

PAIRS = (
    ("mxfp4_torchao_floor", "nvfp4_te_ref"),
    ("nvfp4_te_4over6_mse_448", "if4_mse"),
    ("nvfp4_f46_mae", "nf4_bnb"),
    ("ufp4", "mxfp8_e4m3_triton_up"),
)  # rules of the largest value, of the smallest error, a table, a rotation
WIDTH = {"bf16": 16, "fp16": 16, "fp32": 32}
AMAX = 0x41000000  # 8
GRID = 1 << 16  # between values that are tried of binary32, beyond the first NEAR
NEAR = 4096


def index_of(code: int, source: str) -> int:
    """The number of a finite value: 0 for zero, its magnitude's code with its sign."""
    top = 1 << WIDTH[source] - 1
    return -(code - top) if code & top else code


def code_of(index: int, source: str, negative_zero: bool) -> int:
    top = 1 << WIDTH[source] - 1
    return top - index if index < 0 or (index == 0 and negative_zero) else index


def rows() -> list[dict]:
    """Values around 1 of three sources, with an element chosen, the largest of every other two rows."""
    draw, out = np.random.Generator(np.random.Philox(41)), []
    for pair in PAIRS:
        for source in WIDTH:
            x = (draw.standard_normal(64 if "nf4_bnb" in pair else 32) * 2).astype(np.float16 if source == "fp16" else np.float32)
            codes = x.view(np.uint32) >> 16 if source == "bf16" else x.view(np.uint16 if source == "fp16" else np.uint32)
            element = int(np.argsort(-np.abs(x))[draw.integers(1, 16) if len(out) % 4 > 1 else 0])
            given = {"amax": "8"} if len(out) % 2 == 0 else {}
            out.append({"from": source, "a": pair[0], "b": pair[1], "codes": [int(code) for code in codes], "flip": element, **given})
    return out


def seen(codes, levels, row: int, element: int) -> tuple[int, ...]:
    """The code of an element and those of the scales above it."""
    above = [level[min(row, len(level) - 1)] for level in levels.values()]
    return int(codes[row][element]), *(int(level[element * len(level) // len(codes[row])]) for level in above)


class Model:
    """What the reference model, and where it may take many rows at once the NumPy engine, gives an element of a row at other values."""

    def __init__(self, row: dict, recipe: str) -> None:
        self.row, self.recipe, self.source = row, recipe, row["from"]
        reads = quantize_program(get("recipe", recipe)).reads("tensor_amax")
        self.amax, self.apart = (AMAX if reads and "amax" in row else None), not reads or "amax" in row
        self.start = index_of(row["codes"][row["flip"]], self.source)
        self.negative_zero = self.start == 0 and row["codes"][row["flip"]] != 0

    def given(self, index: int) -> list[int]:
        codes = list(self.row["codes"])
        codes[self.row["flip"]] = code_of(index, self.source, self.negative_zero)
        return codes

    def exact(self, index: int) -> tuple[int, ...]:
        made = block.quantize(get("recipe", self.recipe), [self.given(index)], get("format", self.source), tensor_amax=self.amax)
        return seen(made.codes, made.levels, 0, self.row["flip"])

    def many(self, indexes: list[int]) -> set[tuple[int, ...]]:
        if not self.apart:
            return {self.exact(index) for index in indexes[:: 1 + len(indexes) // 6]}
        codes = np.array([self.given(index) for index in indexes], np.uint32 if self.source == "fp32" else np.uint16)
        amax = {} if self.amax is None else {"tensor_amax": np.array(self.amax, np.uint32).view(np.float32)}
        made = emu.quantize(codes, self.recipe, source=self.source, engine="numpy", **amax)
        levels = {level.name: np.atleast_2d(level.codes) for level in made.levels}
        return {seen(made.codes, levels, row, self.row["flip"]) for row in range(len(indexes))}

    def most(self) -> int:
        return {"fp32": 0x7F7FFFFF, "bf16": 0x7F7F, "fp16": 0x7BFF}[self.source]


def wrong_way(model: Model, way: dict) -> str:
    """What is wrong of one way; empty: nothing."""
    steps, tried, sign = integer(way["steps"]), integer(way["tried"]), way["step"]
    before, last = model.exact(model.start), model.most() - sign * model.start
    if not steps:
        ends = {model.exact(model.start + sign * step) for step in (1, last // 2, last)}
        return "" if ends == {before} and tried == (last if model.source != "fp32" else NEAR) else "there is one"
    there = model.start + sign * steps
    if steps > tried and (model.source != "fp32" or tried != NEAR):
        return "tried"
    after = model.exact(there)
    if after == before or model.exact(there - sign) != before:
        return "no change there, or before"
    near = list(range(1, min(steps, tried + 1)))[:: 1 if model.source == "bf16" else 29]
    edge = model.start + sign * (tried + 1)
    first = -(-sign * edge // GRID) * GRID if steps > tried else 0
    grid = [sign * place for place in range(first, sign * there, GRID)][:2000] if steps > tried else []
    if model.many([model.start, *(model.start + sign * step for step in near), *grid]) != {before}:
        return "a nearer one"
    code = code_of(there, model.source, model.negative_zero)
    gap = (
        decode_code(code, get("format", model.source)).signed
        - decode_code(model.given(model.start)[model.row["flip"]], get("format", model.source)).signed
    )
    if integer(way["code"]) != code or f"which is {steps} value{'s' * (steps > 1)} or {digits(gap)} further" not in way["sentence"]:
        return "code or distance"
    told = [
        f"its {name} 0x{old:X}" in zeros(way["sentence"])
        for name, old, new in zip(names(model.recipe), before, after, strict=True)
        if old != new
    ]
    return "" if all(told) and way["sentence"].count(" becomes ") == len(told) else "what changes"


def names(recipe: str) -> list[str]:
    levels = get("block", get("recipe", recipe).facts.block).facts.levels
    return ["code", *(f"scale {level.name}" for level in levels)]


def zeros(text: str) -> str:
    """A text whose codes have no leading zeros."""
    return re.sub("0x0+(?=[0-9A-F])", "0x", text)


def wrong(page: str, folder: Path, asked: list[dict]) -> Iterator[tuple]:
    """Ways of rows on which the page and the reference model differ."""
    links = [link("block", **{**row, "x": " ".join(map(hex, row["codes"]))}) for row in asked]
    for row, said in zip(asked, texts(page, links, folder), strict=True):
        ways = said.get("flips", {}).get("ways", [])
        if [(way["side"], way["step"]) for way in ways] != [("a", 1), ("a", -1), ("b", 1), ("b", -1)]:
            yield row, said
            continue
        skipped = row["from"] == "fp32" and any(not 0 < integer(way["steps"]) <= NEAR for way in ways)
        if not said["flips"]["claim"].startswith(
            f"Tried were each of the first {NEAR} values" if skipped else "Every value between was tried."
        ):
            yield row, said["flips"]["claim"]
        for way in ways:
            if found := wrong_way(Model(row, row[way["side"]]), way):
                yield row, way, found


def test_the_nearest_changes_are_those_of_the_reference_model(page, tmp_path):
    asked = rows()
    assert {"amax" in row for row in asked} == {True, False}
    assert list(wrong(page, tmp_path, asked)) == []


FAULTS = {
    "the other way": ("value.sign, step, OUT)", "value.sign, -step, OUT)"),
    "another element": ("(at[0] - top) * wide + at[1] - left, indexOf", "(at[0] - top) * wide + at[1] - left ^ 1, indexOf"),
    "maximum lost": ("given.length / wide, wide, limit,", "given.length / wide, wide, 0,"),
    "block of another element": ("at[1] - at[1] % facts.columns] : [0, 0]", "0] : [0, 0]"),
    "a step short": ("BigInt(step) * steps, sign", "BigInt(step) * (steps - 1n), sign"),
    "the other recipe": ("step, ...nearestOf(trace,", "step, ...nearestOf(traces[0],"),
    "a claim too many": ("far ? `Tried", "false ? `Tried"),
    "number of a negative value": ("return value.sign ? -magnitude : magnitude", "return magnitude"),
    "scales untold": ("...trace.levels.map((level, i) =>\n", "...[].map((level, i) =>\n"),
    "distance turned": ("decimal(minus(dyadic(next), dyadic(value)))} further", "decimal(minus(dyadic(value), dyadic(next)))} further"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_nearest_changes_is_noticed(page, tmp_path, fault):
    assert next(wrong(planted(page, *FAULTS[fault]), tmp_path, rows()[::2]), None)


USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const ways = () => [...document.querySelectorAll("#flips li")].map(item => item.firstChild.textContent.trim());
out.none = text("#flips");
change("[name=flip]", "1"); out.ways = ways(); out.claim = text("#flips p.small"); out.head = text("#flips p"); out.hash = location.hash;
out.marked = [...document.querySelectorAll("td.chosen")].map(item => item.dataset.i);
const before = explorer.text(location.hash);
at('[data-go="a-1"]').click(); out.there = explorer.text(location.hash); out.focus = document.activeElement.dataset.go; out.before = before;
at('td[data-i="3"]').click(); out.clicked = [at("[name=flip]").value, text("#flips p")];
change("[name=flip]", "32"); out.wide = [text("#fault"), text("#flips")];
change("[name=flip]", "x"); out.word = text("#fault");
change("[name=flip]", "0"); change("[name=x]", "nan " + "1 ".repeat(31)); out.nan = text("#flips");
change("[name=x]", "1 ".repeat(32)); change("[name=rotate]", "rht16_te"); out.rotated = text("#flips");
change("[name=rotate]", "none"); change("[name=b]", at("[name=a]").value); out.one = ways().length;
change("[name=flip]", ""); out.left = [text("#flips"), text("#fault")];
return out;
"""


def test_an_element_is_chosen_and_changed(page, tmp_path):
    start = link("block", **{"from": "bf16"}, a="mxfp4_torchao_floor", b="nvfp4_te_ref", amax="8", x="7 3 1 -2.5 " * 8).removeprefix("#")
    said = answers(page, USE, tmp_path, start)
    assert "thrown" not in said, said
    assert said["none"] is None and said["head"].startswith("Element 1 is 0x4040, 3. The nearest values") and "&flip=1&" in said["hash"]
    assert said["claim"] == "Every value between was tried."
    assert len(said["ways"]) == 4 and said["marked"] == ["1"] * 3
    assert said["ways"][1] == (
        "Down: at 0x4020, 2.5, which is 32 values or -0.5 further, its code 0x5, 3 becomes 0x4, 2 by mxfp4_torchao_floor."
    )
    way = next(way for way in said["before"]["flips"]["ways"] if (way["side"], way["step"]) == ("a", -1))
    moved = [int(code, 16) for code in said["there"]["codes"]]
    assert moved == [integer(way["code"]) if i == 1 else int(code, 16) for i, code in enumerate(said["before"]["codes"])]
    assert said["focus"] == "a-1" and said["there"]["a"]["codes"]["items"][1]["code"] == "0x4"
    assert said["clicked"] == ["3", "Element 3 is 0xC020, -2.5. The nearest values of it with another code or scale:"]
    assert said["wide"] == ["element 32: write a number from 0 to 31, or nothing", None]
    assert said["word"] == "element x: write a number from 0 to 31, or nothing"
    assert said["nan"] == "Element 0 is 0x7FC0, NaN: it has no neighbours."
    assert said["rotated"].endswith("behind a rotation: choose the rotation none to see the nearest changes of it.")
    assert said["one"] == 2 and said["left"] == [None, ""]


def test_the_row_changes_with_the_largest_value(page, tmp_path):
    """Where one element takes the scale with it, the sentence says it, and how many others follow."""
    place = link("block", **{"from": "bf16"}, a="mxfp4_torchao_floor", b="mxfp4_triton_up", x="7 3 1 -2.5 " + "0.5 " * 28, flip=0)
    (said,) = texts(page, [place], tmp_path)
    up, down = (way["sentence"] for way in said["flips"]["ways"] if way["side"] == "a")
    assert "its scale scale 0x7F, 1 becomes 0x80, 2" in up and "other codes of the row change too" in up, up
    assert "scale" not in down, down
