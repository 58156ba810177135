"""Dequantize: values, steps and the sentence of a tile are those of the reference model; what is copied of it runs; links open it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, planted, texts

from emu.contracts import parse
from emu.contracts.contract import stored_bits
from emu.contracts.dequantize.contract import DequantizeContract
from emu.engines.c_ref import c_reference
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.explain.link import MOST, of_operands, of_values
from emu.spec import get, names
from emu.spec.derive import OPEN, unused_high_bits

RECIPES = [(name, profile) for name in names("recipe") for profile in get("recipe", name).facts.dequantize]


def asked(most: int) -> list[tuple]:
    """Rows of suites of every recipe and profile, those with NaN and open levels among them, each result format in turn."""
    out = []
    for number, (name, profile) in enumerate(RECIPES):
        plain = parse(f"dequantize/{name}/{profile}")
        told = list(next(iter(plain.suites())).cases(0, 1)[0].values)
        for at, (level, column) in enumerate(zip(plain.levels, plain.layout.inputs[1:], strict=True), 1):
            if unused_high_bits(get("format", level.format)):  # a code of the level has a bit above it: open
                out.append((plain, (*told[:at], told[at] | 1 << column.lane_bits - 1, *told[at + 1 :])))
        for i in range(most):
            contract = parse(f"dequantize/{name}/{profile}", DequantizeContract.formats[(number + i) % 3])
            cases = next(iter(contract.suites())).cases(0, 1 << 20)
            out.append((contract, cases[i * 7 % len(cases)].values))
    return out


def wrong(page: str, folder: Path, most: int = 3) -> list[tuple]:
    """Tiles on which the page and the reference model differ: values, or the element that the sentence speaks of."""
    rows, out = asked(most), []
    places = [f"{of_values(*row)}&" for row in rows]
    elements = [number % len(contract.exact(values)[0]) for number, (contract, values) in enumerate(rows)]
    places = [place.replace("element=0&", f"element={element}&") for place, element in zip(places, elements, strict=True)]
    for (contract, values), element, said in zip(rows, elements, texts(page, places, folder), strict=True):
        wanted = contract.exact(values)[0]
        got = [OPEN if item["code"] == "open" else int(item["code"], 16) for item in said.get("values", [])]
        codes, levels = contract.taken(values)
        row, column = divmod(element, len(codes[0]))
        shown = [("code", codes[row][column], get("format", contract.block.element_formats[0]))]
        for level in contract.block.facts.levels:
            side = levels[level.name]
            across = len(codes[0]) // len(side[0])
            shown.append((level.name, side[row * len(side) // len(codes)][column // across], get("format", level.format)))
        words = [f"{name} 0x{code:0{-(-stored_bits(fmt) // 4)}X}" for name, code, fmt in shown]
        plain = contract.result.facts_digest == contract.program.arithmetic.facts_digest and contract.known(levels)
        last = [int(item["code"], 16) for item in said["steps"][-1]["items"]] if plain and "steps" in said else got
        if got != list(wanted):
            out.append((str(contract.name), said.get("refused", got), wanted))
        elif not all(word in said["sentence"] for word in words):
            out.append((str(contract.name), said["sentence"], words))
        elif last != got:
            out.append((str(contract.name), last, got))
    return out


def test_values_are_those_of_the_reference_model(page, tmp_path):
    assert wrong(page, tmp_path) == []


FAULTS = {
    "levels in another order": ("placeCodes(sides.flat())", "placeCodes([...sides].reverse().flat())"),
    "always binary32": ("sides} = given, to = formatOf(state.to);", "sides} = given, to = FP32();"),
    "the step before": ("register = C.ex_step_out(program, i), first", "register = C.ex_step_out(program, i && i - 1), first"),
    "the scale of the first element": ("at: partOf(levels[i])", "at: 0"),
    "the code of another element": ("has the code ${is(items[element])}", "has the code ${is(items[0])}"),
    "a level that is given is 1": ("found = text.trim() ? codesOf(text, format, name)", "found = false ? []"),
}  # fmt: skip


@pytest.mark.cases(2, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(page, tmp_path, fault):
    found = wrong(planted(page, *FAULTS[fault]), tmp_path, 2)
    assert found and not any("refused" in str(item) for item in found[0][1:2])


TWO_BLOCKS = "dequantize?recipe=nvfp4_torchao&codes=" + "0123456789ABCDEF" * 2 + "&level1="  # a scale has 7 bits: B8 is open
OPEN_FAULTS = {
    "an open tile opens all": ("told(to, one?.values[i], !one)", "told(to, 0n, true)"),
    "an open value as 0": ('isOpen ? {code: "open", value: "open"}', 'isOpen ? {code: "0x0", value: "0"}'),
    "the other tile": ("(top + Math.trunc(i / facts.columns)) * columns + left + i % facts.columns]", "codes.length - 1 - left - i]"),
}  # fmt: skip


def two_blocks(page: str, folder: Path) -> list[tuple[list[int], int]]:
    """What the page makes of two blocks of which one, then the other, has an open scale: codes of values, and how many steps it shows."""
    said = texts(page, [f"#{TWO_BLOCKS}{scales}&element=20" for scales in ("38B8", "B838", "3838")], folder)
    return [([OPEN if item["code"] == "open" else int(item["code"], 16) for item in here["values"]], len(here["steps"])) for here in said]


def wanted_of_two() -> list[tuple[list[int], int]]:
    """The same by the reference model."""
    contract, open_ = parse("dequantize/nvfp4_torchao/torchao"), [OPEN] * 16
    block = block_values(contract, [*range(16)], [0x38])
    steps = len(get("recipe", "nvfp4_torchao").facts.dequantize["torchao"]) - 1  # emit is none
    return [(block + open_, 0), (open_ + block, 0), (block + block, steps)]


def test_an_open_scale_leaves_its_block_open_and_no_other(page, tmp_path):
    assert two_blocks(page, tmp_path) == wanted_of_two()


@pytest.mark.cases(1, 0)
@pytest.mark.parametrize("fault", OPEN_FAULTS)
def test_a_fault_of_open_values_is_noticed(page, tmp_path, fault):
    assert two_blocks(planted(page, *OPEN_FAULTS[fault]), tmp_path) != wanted_of_two()


REFUSED = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const drop = (name, data) => { const held = new DataTransfer(); held.items.add(new File([data], name));
    dispatchEvent(new DragEvent("drop", {dataTransfer: held, cancelable: true})); };
const until = async what => { for (let i = 0; i < 600 && !what(); i++) await new Promise(done => setTimeout(done, 20)); };
const change = (name, value) => { at(`[name=${name}]`).value = value;
    at(`[name=${name}]`).dispatchEvent(new Event("change", {bubbles: true})); };
return (async () => {
    out.begun = [text("#fault"), Boolean(at("#steps li"))];
    drop("mine.txt", DROPPED); await until(() => text("#fault")); out.dropped = text("#fault");
    change("codes", "01"); out.few = [Boolean(text("#fault")), at("#steps")];
    change("codes", "0123456789ABCDEF"); change("to", "bf16"); out.to = [text("#fault"), location.hash.includes("policy")];
    location.hash = "dequantize?to=e5m2;x"; await until(() => text("#fault")); at("#copy-shell").click();
    out.link = [text("#fault"), explorer.copied(), text("#shell")];
    return out;
})();
"""


def test_what_dequantize_refuses_is_said_and_leaves_nothing_old(page, tmp_path):
    dropped = descriptor_text([get("recipe", "nvfp4_torchao")])
    said = answers(page, f"const DROPPED = {json.dumps(dropped)};{REFUSED}", tmp_path, "dequantize")
    assert said["begun"] == ["", True]
    assert said["dropped"] == "mine.txt: Dequantize takes recipes of the spec: drop a descriptor on Block"
    assert said["few"] == [True, None] and said["to"] == ["", False]
    assert said["link"][0].startswith("values in e5m2;x: one of bf16, fp16, fp32") and not said["link"][1] and not said["link"][2]


def test_links_of_operands_open_the_tile_of_the_element():
    contract, draw = parse("dequantize/nvfp4_te_2d_ref/te"), np.random.Generator(np.random.Philox(5))
    form = contract.form(contract.result)
    (question,) = form.stratified(type("Asked", (), {"count": 0, "key": 1})())
    operands = {name: array[:48] if array.ndim else array for name, array in question.operands.items()}
    height, width = contract.block.facts.shape
    rows, columns = operands["codes"].shape
    assert rows >= 2 * height and columns >= 2 * width
    at = (height + int(draw.integers(height)), width + int(draw.integers(width)))
    made = of_operands(contract, operands, at)
    assert f"element={(at[0] - height) * width + at[1] - width}&" in f"{made}&" and f"rows={height}&" in made
    tile = operands["codes"][height : 2 * height, width : 2 * width]
    assert "".join(f"{code:X}" for code in tile.reshape(-1).tolist()) in made
    assert of_operands(contract, {**operands, "codes": operands["codes"][: height + 1]}, at) is None


def test_tiles_that_are_too_large_have_no_link():
    contract = parse("dequantize/mxfp4_torchao_floor/torchao")
    (tile, levels), count = contract.taken(next(iter(contract.suites())).cases(0, 1)[0].values), MOST // 32
    codes = np.array(tile * (count + 1), np.uint8)
    scales = np.array(levels["scale"] * (count + 1), np.uint8)
    assert of_operands(contract, {"codes": codes, "scale": scales}, (count, 31)).count("element=31&") == 1  # one block is cut out


USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const key = name => at("#cells").dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
const chosen = () => [...document.querySelectorAll("#cells .chosen")].map(item => Number(item.dataset.i));
out.begin = [text("#sentence"), chosen()];
key("End"); out.end = chosen(); key("ArrowLeft"); key("ArrowLeft"); out.left = chosen(); key("Home"); out.home = chosen(); key("ArrowLeft");
out.still = chosen();
at("#cells [data-i='7']").click(); out.click = [chosen(), document.activeElement.id, text("#sentence")];
change("[name=level1]", "48"); out.scaled = text("#sentence");
change("[name=level1]", "48 49"); out.many = [text("#fault"), text("#sentence"), at("[name=level1]").value];
change("[name=level1]", "38");
change("[name=codes]", "[1, -0.5, 6, 0, 1, 2, 3, 4, 6, -6, 0, 0, 0, 0, 0, 1.5]"); out.numbers = text("#sentence");
change("[name=codes]", "0123"); out.few = text("#fault");
change("[name=codes]", "0123456789ABCDEF".repeat(2)); out.two = text("#fault");
change("[name=level1]", "3850"); change("[name=to]", "bf16");
for (const kind of ["python", "shell", "c", "row"]) { at(`#copy-${kind}`).click(); out[kind] = [explorer.copied(), text("#fault")]; }
out.said = explorer.text(location.hash);
const count = what => document.querySelectorAll(`#cells ${what}`).length;
change("[name=recipe]", "mxfp8_e4m3_te"); out.other = [text("#fault"), text("#sentence"), count("td")];
change("[name=recipe]", "nvfp4_te_2d_ref"); out.tile = [text("#fault"), at("[name=rows]").value, count("tr")];
return out;
"""


def test_codes_and_levels_are_edited_and_copied(page, tmp_path):
    said = answers(page, USE, tmp_path, "dequantize")
    assert "thrown" not in said, said
    assert said["begin"][1] == [0, 0] and [said[name] for name in ("end", "left", "home", "still")] == [[15, 15], [13, 13], [0, 0], [0, 0]]
    assert said["click"][:2] == [[7, 7], "cells"] and "Element 7 has the code 0x7, which is 6" in said["click"][2]
    assert "scale 0x48, which is 4; its value is 0x41C00000, which is 24." in said["scaled"]
    assert said["many"][0] == "scale: 2 codes: 1 go with 16 element codes" and said["many"][1:] == [None, "48 49"]
    assert "Element 7 has the code 0x6, which is 4" in said["numbers"]
    assert said["few"] == "nvfp4_torchao: 4 codes in 1 rows: give whole blocks of 1 x 16" and "2 go with 32 element codes" in said["two"]
    assert said["other"][0] == "" and said["other"][2] == 64 and said["tile"] == ["", "16", 32]
    values = [int(item["code"], 16) for item in said["said"]["values"]]
    contract = parse("dequantize/nvfp4_torchao/torchao", "bf16")
    codes = [*range(16)] * 2
    exact = block_values(contract, codes, [0x38, 0x50])
    assert values == exact
    done = subprocess.run([sys.executable, "-c", said["python"][0]], capture_output=True, text=True, check=True)
    assert [int(word, 16) for word in json.loads(done.stdout.replace("'", '"'))] == exact
    assert said["c"][1].startswith("Copy C: for") and said["row"][1].startswith("Copy .tv row: for")
    folder = tmp_path / "c_ref"
    shutil.copytree(c_reference(), folder)
    subprocess.run(["make", "-s", "-C", str(folder), "emu_ref", "CFLAGS=-O0 -std=c99", "WARNINGS="], check=True)
    call = {"cwd": tmp_path, "env": {"PATH": f"{folder}:/usr/bin:/bin"}, "capture_output": True, "text": True}
    lines = subprocess.run(["bash", "-e", "-c", said["shell"][0]], check=True, **call).stdout.splitlines()
    at = next(i for i, column in enumerate(contract.layout.columns) if column.name == "y")
    words = [int(line.split()[1 + at], 16) for line in lines if line[0] == "a"]
    assert [word >> 16 * lane & 0xFFFF for word in words for lane in range(16)] == exact


def block_values(contract, codes: list[int], scales: list[int]) -> list[int]:
    """The values of blocks of one row, by the reference model, with a tensor factor of 1."""
    from emu.engines.exact.block import dequantize

    levels = {level.name: [[0x3F800000]] if level.granularity == "tensor" else [scales] for level in contract.block.facts.levels}
    return dequantize(contract.recipe, [codes], levels, profile=contract.profile, result=contract.result)[0]
