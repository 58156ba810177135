"""Dequantize: values, steps and the sentence of a tile are those of the reference model; what is copied of it runs; links open it."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from support.explorer import answers, compiled_and_run, planted, ran, texts

from emu.contracts import parse
from emu.contracts.contract import stored_bits
from emu.contracts.dequantize.contract import DequantizeContract
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.explain.link import MOST, of_operands, of_values
from emu.spec import get, names
from emu.spec.derive import OPEN, unused_high_bits

HERE = [name for name in names("recipe") if not parse(f"quantize/{name}").is_large]  # the others: test_explore_tiles.py
RECIPES = [(name, profile) for name in HERE for profile in get("recipe", name).facts.dequantize]


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


def mine(place: str, recipe) -> str:
    """A link with the recipe as a descriptor under another name."""
    text = descriptor_text([recipe.model_copy(update={"id": "mine"})])
    return place.replace(f"recipe={recipe.id}&", f"{urlencode({'recipe': 'mine', 'own': text[: text.rindex('end ')]})}&")


def wrong(page: str, folder: Path, most: int = 3, own: bool = False) -> list[tuple]:
    """Tiles on which the page and the reference model differ: values, or the element that the sentence speaks of.

    own: recipes are of a descriptor.
    """
    rows, out = asked(most), []
    places = [mine(f"{of_values(*row).link}&", row[0].recipe) if own else f"{of_values(*row).link}&" for row in rows]
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


def test_values_of_recipes_of_a_descriptor_are_those_of_the_reference_model(page, tmp_path):
    assert wrong(page, tmp_path, 1, own=True) == []


FAULTS = {
    "levels in another order": ("placeCodes(sides.flat())", "placeCodes([...sides].reverse().flat())"),
    "always binary32": ("sides} = given, to = formatOf(state.to), told", "sides} = given, to = FP32(), told"),
    "the step before": ("register = C.ex_step_out(program, i), first", "register = C.ex_step_out(program, i && i - 1), first"),
    "the scale of the first element": ("at: partOf(levels[i], element)", "at: 0"),
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
    "an open value as 0": ('const open = {code: "open", value: "open"}', 'const open = {code: "0x0", value: "0"}'),
    "the other tile": ("(top + Math.trunc(i / wide)) * columns + left + i % wide]", "codes.length - 1 - left - i]"),
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
    dropped = descriptor_text([get("format", "e2m1")])
    said = answers(page, f"const DROPPED = {json.dumps(dropped)};{REFUSED}", tmp_path, "dequantize")
    assert said["begun"] == ["", True]
    assert said["dropped"] == "mine.txt: no recipe in it: write one with emu export descriptor recipe/ID"
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
    made = of_operands(contract, operands, at).link
    assert f"element={(at[0] - height) * width + at[1] - width}&" in f"{made}&" and f"rows={height}&" in made
    tile = operands["codes"][height : 2 * height, width : 2 * width]
    assert "".join(f"{code:X}" for code in tile.reshape(-1).tolist()) in made
    short = of_operands(contract, {**operands, "codes": operands["codes"][: height + 1]}, (height, at[1])).link  # zeros fill it up
    assert f"element={at[1] - width}&" in f"{short}&" and "rows=1&" in short
    blocks = {"codes": np.zeros((1, 40), np.uint8), "scale": np.zeros((1, 2), np.uint8)}
    assert of_operands(parse("dequantize/mxfp4_torchao_floor/torchao"), blocks, (0, 39)).link is None


def test_tiles_that_are_too_large_have_no_link():
    contract = parse("dequantize/mxfp4_torchao_floor/torchao")
    (tile, levels), count = contract.taken(next(iter(contract.suites())).cases(0, 1)[0].values), MOST // 32
    codes = np.array(tile * (count + 1), np.uint8)
    scales = np.array(levels["scale"] * (count + 1), np.uint8)
    assert of_operands(contract, {"codes": codes, "scale": scales}, (count, 31)).link.count("element=31&") == 1  # one block is cut out


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
    assert said["c"][1] == "" and [int(word, 16) for word in compiled_and_run(said["c"][0], tmp_path / "c").split()] == exact
    lines = ran(said["shell"][0], tmp_path)
    assert [line for line in lines if line[0] == "a"] == said["row"][0].splitlines() and said["row"][1] == ""
    at = next(i for i, column in enumerate(contract.layout.columns) if column.name == "y")
    words = [int(line.split()[1 + at], 16) for line in lines if line[0] == "a"]
    assert [word >> 16 * lane & 0xFFFF for word in words for lane in range(16)] == exact


def block_values(contract, codes: list[int], scales: list[int], recipe=None) -> list[int]:
    """The values of blocks of one row, by the reference model, with a tensor factor of 1."""
    from emu.engines.exact.block import dequantize

    levels = {level.name: [[0x3F800000]] if level.granularity == "tensor" else [scales] for level in contract.block.facts.levels}
    return dequantize(recipe or contract.recipe, [codes], levels, profile=contract.profile, result=contract.result)[0]


EDITED = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const drop = (name, data) => { const held = new DataTransfer(); held.items.add(new File([data], name));
    dispatchEvent(new DragEvent("drop", {dataTransfer: held, cancelable: true})); };
const until = async what => { for (let i = 0; i < 600 && !what(); i++) await new Promise(done => setTimeout(done, 20)); };
const say = () => [text("#fault"), text("#sentence"), at("[name=recipe]").value, at("[name=codes]").value];
return (async () => {
    at("#edit").click(); out.begun = say(); const good = at("[name=own]").value;
    change("[name=own]", good.replace(...EDIT)); out.edited = say(); out.said = explorer.text(location.hash); out.hash = location.hash;
    for (const kind of ["shell", "c", "row", "python"]) { at(`#copy-${kind}`).click(); out[kind] = [explorer.copied(), text("#fault")]; }
    change("[name=own]", good.replace("step decode", "step decodes")); out.wrong = say();
    change("[name=own]", good.replace(/\\ndequantize [^]*?\\ndatapaths/, "\\ndatapaths").replace("programs 2", "programs 1"));
    out.none = say();
    at("#leave").click(); out.left = say();
    drop("other.txt", OTHER); await until(() => at("[name=own]")); out.dropped = say();
    return out;
})();
"""


def edited_by_hand(page: str, folder: Path) -> dict:
    """What the room says while the steps back are edited and another recipe is dropped."""
    other = descriptor_text([get("recipe", "mxfp8_e4m3_te").model_copy(update={"id": "other"})])
    script = EDITED.replace("EDIT", json.dumps(["step mul 6 3 5", "step add 6 3 5"])).replace("OTHER", json.dumps(other))
    return answers(page, script, folder, "dequantize?level1=48&element=5")


def test_the_steps_back_are_edited_and_files_dropped(page, tmp_path):
    said, recipe = edited_by_hand(page, tmp_path), get("recipe", "nvfp4_torchao")
    assert "thrown" not in said, said
    (name, steps), codes = next(iter(recipe.facts.dequantize.items())), [*range(16)]
    steps = (*steps[:3], steps[3].model_copy(update={"op": "add"}), *steps[4:])
    edited = recipe.model_copy(update={"id": "mine", "facts": recipe.facts.model_copy(update={"dequantize": {name: steps}})})
    plain, exact = (block_values(parse("dequantize/nvfp4_torchao/torchao"), codes, [0x48], one) for one in (recipe, edited))
    assert said["begun"][0] == "" and said["begun"][2] == "mine" and f"its value is 0x{plain[5]:08X}" in said["begun"][1]
    assert said["edited"][0] == "" and f"its value is 0x{exact[5]:08X}" in said["edited"][1] and plain != exact
    assert [int(item["code"], 16) for item in said["said"]["values"]] == exact
    assert said["said"]["steps"][-1]["text"] == "add code_value factor fp32 rne"
    (again,) = texts(page, [said["hash"]], tmp_path)
    assert again["sentence"] == said["edited"][1]
    shell, c, row, python = (said[kind] for kind in ("shell", "c", "row", "python"))
    assert shell[1] == c[1] == row[1] == python[1] == ""
    done = subprocess.run([sys.executable, "-c", python[0]], capture_output=True, text=True, check=True)
    assert [int(word, 16) for word in json.loads(done.stdout.replace("'", '"'))] == exact
    (filled,) = [line for line in ran(shell[0], tmp_path) if line[0] == "a"]
    y = int(filled.split()[4], 16)
    assert f"{filled}\n" == row[0] and [y >> 32 * i & 0xFFFFFFFF for i in range(16)] == exact
    assert [int(word, 16) for word in compiled_and_run(c[0], tmp_path / "c").split()] == exact
    assert said["wrong"][0].startswith("descriptor line ") and said["wrong"][1:3] == [None, "mine"]
    assert said["none"][0].startswith("mine: no steps back to values") and said["left"][0] == "" and said["left"][2] == "nvfp4_torchao"
    assert said["dropped"][0] == "" and said["dropped"][2] == "other" and len(said["dropped"][3]) == 64


OWN_FAULTS = {
    "the recipe of the page": ("recipeOf(state.recipe) || missingObject(", "META.recipes[0] || missingObject("),
    "the steps of quantize": ("ownProgram(id, profile, some).steps]", "ownProgram(id, \"\", parts[0][1]).steps]"),
    "a command without its descriptor": ('fillShell(name, state, isOwnRecipe(state.recipe))', "fillShell(name, state, false)"),
    "C of the page's recipe": ('isOwnRecipe(recipe.id), isIn = isMine ? "_in(library, "', 'isOwnRecipe(recipe.id), isIn = isMine ? "("'),
}  # fmt: skip


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("fault", OWN_FAULTS)
def test_a_fault_of_own_recipes_is_noticed(page, tmp_path, fault):
    with pytest.raises((AssertionError, subprocess.CalledProcessError)):
        test_the_steps_back_are_edited_and_files_dropped(planted(page, *OWN_FAULTS[fault]), tmp_path)


FIGURE = """
const at = selector => document.querySelector(selector), bars = () => [...document.querySelectorAll("#back [data-i]")];
const box = item => ["y", "height"].map(name => Number(item.querySelector(".bar").getAttribute(name)));
const marks = () => bars().filter(item => item.querySelector("rect").getAttribute("fill") === "var(--part)").map(item => item.dataset.i);
const out = {bars: bars().map(item => [item.querySelector("title").textContent, ...box(item), item.querySelector("text")?.textContent]),
    marks: marks(), levels: [...document.querySelectorAll("#back .level")].map(item => item.textContent),
    lines: document.querySelectorAll("#back > line").length, said: at("#back + p").textContent};
bars()[3].dispatchEvent(new MouseEvent("click", {bubbles: true}));
return {...out, after: [marks(), document.activeElement.id, new URLSearchParams(location.hash.split("?")[1]).get("element")]};
"""


def figures(page: str, folder: Path) -> list[dict]:
    """What the figure shows of two blocks of which one is open, and of elements 64 to 127 of 128 with one scale for each 16."""
    codes = "".join(f"{i % 16:X}" for i in range(128))
    places = ("38B8&element=20", "38B8"), ("&element=70&codes=" + codes, "3839" * 4)
    starts = [TWO_BLOCKS + places[0][0], f"dequantize?recipe=nvfp4_torchao&level1={places[1][1]}{places[1][0]}"]
    return [answers(page, FIGURE, folder, start) for start in starts]


def figures_are_wrong(page: str, folder: Path) -> str:
    """What of the figures is not what it must be; empty: nothing."""
    two, many = figures(page, folder)
    magnitudes = ("0", "0.5", "1", "1.5", "2", "3", "4", "6")
    titles = [f"element {i}: {text}" for i, text in enumerate([*magnitudes, *(f"-{text}" for text in magnitudes), *["open"] * 16])]
    known = [(round(100 * y), round(100 * height)) for _, y, height, _ in two["bars"][:16]]
    middle = known[0][0] + 100
    up, down = [height for _, height in known[:8]], [y for y, _ in known[8:]]
    checks = {
        "titles": [bar[0] for bar in two["bars"]] == titles,
        "heights": up == sorted(set(up)) and [height for _, height in known[8:]] == up and set(down) == {middle - 100},
        "tops": all(y + height == middle + 100 for y, height in known[:8]),
        "words": (two["bars"][20][3], two["bars"][1][3]) == (None, None) and many["bars"][0][3] == "0",
        "levels": two["levels"] == ["1", "open"] and two["lines"] == 1 and many["levels"] == ["1", "1.125"] * 2 and many["lines"] == 3,
        "window": [bar[0].split(":")[0] for bar in many["bars"]] == [f"element {i}" for i in range(64, 128)],
        "said": "(64 of 128)" in many["said"],
        "chosen": two["marks"] == ["20"] and many["marks"] == ["70"] and two["after"] == [["3"], "cells", "3"],
        "click": many["after"] == [["67"], "cells", "67"],
    }
    return ", ".join(name for name, holds in checks.items() if not holds)


def test_the_figure_shows_values_levels_and_the_chosen_element(page, tmp_path):
    assert figures_are_wrong(page, tmp_path) == ""


FIGURE_FAULTS = {
    "the first elements": ("first = element - element % BACK_MOST, some", "first = 0, some"),
    "turned over": ("y = number => 180 - pixels(", "y = number => 40 + pixels("),
    "the level of the first": ("sides.at(-1).items[parts[start]]", "sides.at(-1).items[0]"),
    "parts of the chosen": ("codes.map((_, k) => partOf(levels[i], k))", "codes.map(() => partOf(levels[i], element))"),
    "an open value as 0": ("number ? shortText(number) : \"open\"", "\"0\""),
    "another element chosen": ("go({element: bar.dataset.i}, \"#cells\")", "go({element: `${Number(bar.dataset.i) + 1}`}, \"#cells\")"),
}  # fmt: skip


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("fault", FIGURE_FAULTS)
def test_a_fault_of_the_figure_is_noticed(page, tmp_path, fault):
    assert figures_are_wrong(planted(page, *FIGURE_FAULTS[fault]), tmp_path)
