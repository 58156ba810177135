"""Block: blocks of several rows, and recipes that draw random words, are those of the reference model; what is copied of them runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, link, planted, ran, texts

from emu.base import philox
from emu.contracts import parse
from emu.engines.exact import block
from emu.explain.link import of_values
from emu.spec import get, names
from emu.spec.contract import recipes_of_blocks
from emu.spec.programs.program import quantize_program

TILED = [name for name in recipes_of_blocks() if get("block", get("recipe", name).facts.block).facts.shape[0] > 1]
DRAWING = [name for name in recipes_of_blocks() if quantize_program(get("recipe", name)).drawing]
WHOLE = [name for name in names("recipe") if get("block", get("recipe", name).facts.block).facts.shape == (1, 1)]  # a scale a row, or one
SHAPES = ((1, 16), (3, 40), (16, 16), (17, 30), (32, 16), (2, 7))  # less than a tile, one, a row and columns more, two below one another
SAYS = r"random words of 8 bits, one for each value(?:, of key (\d+) of Philox4x32-10)?: ([0-9A-Fx ]*)"
RANDOM = ("key 1", "key 0xFFFFFFFFFFFFFFFF", "5a 0xFF 0 80", "")


def asked() -> list[dict]:
    """Recipes of rows and of random words over shapes, sources and ways to say the words; one in three with NaN or infinity in it."""
    draw, out = np.random.Generator(np.random.Philox(61)), []
    for recipe in (*TILED, *DRAWING, *WHOLE):
        for i, (rows, columns) in enumerate(SHAPES):
            source = ("fp32", "bf16")[i % 2]
            x = (draw.standard_normal(rows * columns) * np.exp2(draw.integers(-4, 5, rows * columns))).astype(np.float32).view(np.uint32)
            codes = [int(code) >> (16 if source == "bf16" else 0) for code in x]
            codes[i] = codes[i] if i % 3 else (0x7FC00000, 0x7F800000)[i // 3 % 2] >> (16 if source == "bf16" else 0)
            random = RANDOM[i % len(RANDOM)]
            out.append({"a": recipe, "b": recipe, "from": source, "rows": rows, "codes": codes, "random": random})
    return out


def words_of(row: dict) -> list[int] | None:
    """The random words that the room must take; None where the recipe draws none."""
    drawing = quantize_program(get("recipe", row["a"])).drawing
    if drawing is None:
        return None
    lanes, bits = drawing.random_operand
    count = -(-len(row["codes"]) // lanes)
    if row["random"].startswith("key"):
        return philox.draw(int(row["random"].split()[1], 0), count, bits).tolist()
    given = [int(word, 16) % (1 << bits) for word in row["random"].split()]
    return (given + [0] * count)[:count]


def wanted_of(row: dict) -> tuple:
    """Codes of the values and of each level, row by row, by the reference model."""
    columns, words = len(row["codes"]) // row["rows"], words_of(row)
    x = [row["codes"][i : i + columns] for i in range(0, len(row["codes"]), columns)]
    made = block.quantize(get("recipe", row["a"]), x, get("format", row["from"]), random=words and [words], masked=True)
    return [code for line in made.codes for code in line[:columns]][: len(row["codes"])], list(made.levels.values())


def place(row: dict) -> str:
    return link("block", **{**row, "x": " ".join(map(hex, row["codes"]))})


def told(kept: dict) -> list[int]:
    return [-1 if item["code"] == "open" else int(item["code"], 16) for item in kept["items"]]


def parts(kept: dict, trace: dict, level: list[list[int]]) -> list[list[int]]:
    """The codes of a level of the page in the parts that the reference model has."""
    codes, width, (tall, wide) = told(kept), trace["width"] // kept["across"], (len(level), len(level[0]))
    down, across = trace["height"] // tall, trace["width"] // wide
    return [[codes[r * down // kept["down"] * width + c * across // kept["across"]] for c in range(wide)] for r in range(tall)]


def wrong(page: str, folder: Path) -> list[tuple]:
    """Rows on which the page and the reference model differ: codes, levels, random words and what is said of them."""
    rows, out = asked(), []
    for row, said in zip(rows, texts(page, [place(row) for row in rows], folder), strict=True):
        if "refused" in said:
            out.append((row, said))
            continue
        codes, levels = wanted_of(row)
        here = said["a"]["levels"]
        if told(said["a"]["codes"]) != codes or [parts(kept, said["a"], level) for kept, level in zip(here, levels, strict=True)] != levels:
            out.append((row, "codes"))
        words, drawn = words_of(row), said["draws"][0]
        if (drawn and [int(word, 16) for word in drawn["words"]]) != words:
            out.append((row, "words", drawn, words))
        first = re.search(SAYS, said["sentence"])
        shown = first and [int(word, 16) for word in first[2].split()]
        if shown != (words and words[:16]) or bool(first and first[1]) != (words is not None and row["random"].startswith("key")):
            out.append((row, said["sentence"]))
    return out


def test_rows_and_random_words_are_those_of_the_reference_model(page, tmp_path):
    assert wrong(page, tmp_path) == [] and TILED == ["nvfp4_te_2d_ref"] and DRAWING == ["ufp4_sr"] and len(WHOLE) > 8


def test_links_of_commands_open_rows_and_random_words(page, tmp_path):
    """The link that a report prints of a row of a suite: the page shows the codes of the reference model."""
    rows = [(parse(f"quantize/{name}"), number) for name in (*TILED, *DRAWING) for number in range(6)]
    cases = [(contract, case) for contract, number in rows for case in contract.draw(number, number + 1)]
    places = [(contract, case, of_values(contract, case.values).link) for contract, case in cases]
    opened = [(contract, case, made) for contract, case, made in places if made is not None]
    assert {contract.recipe.id for contract, *_ in opened} == {*TILED, *DRAWING}
    for (contract, case, _), said in zip(opened, texts(page, [made for *_, made in opened], tmp_path), strict=True):
        x, amax, random = contract.taken(case.values)
        made = block.quantize(contract.recipe, x, contract.source, tensor_amax=amax, random=random, masked=True)
        assert told(said["a"]["codes"]) == [code for line in made.codes for code in line]


def short(page: str, folder: Path) -> list[tuple]:
    """Rows of suites that are no whole blocks of which the page says other codes or levels than the reference model."""
    out, rows = [], []
    for name in [name for name in names("recipe") if get("recipe", name).facts.tail != "error"]:
        contract = parse(f"quantize/{name}", ("fp32", "bf16", "fp16")[len(rows) % 3])
        columns = [column.name for column in contract.layout.inputs]
        for number, case in enumerate(contract.draw(0, 2) if "n_valid" in columns else ()):
            values = list(case.values)
            values[columns.index("n_valid")] = (contract.n - 1, 5)[number]
            rows.append((contract, tuple(values)))
    for (contract, values), said in zip(rows, texts(page, [str(of_values(*row).link) for row in rows], folder), strict=True):
        x, amax, random = contract.taken(values)
        made = block.quantize(contract.recipe, x, contract.source, tensor_amax=amax, random=random, masked=True)
        levels = [[code for row in level for code in row] for level in made.levels.values()]
        if "a" not in said or told(said["a"]["codes"]) != list(made.codes[0])[: len(x[0])] or [*map(told, said["a"]["levels"])] != levels:
            out.append((str(contract.name), said.get("refused"), made))
    return out if len(rows) > 30 else [("few rows", len(rows))]


def test_a_row_that_is_no_whole_block_opens(page, tmp_path):
    assert short(page, tmp_path) == []


def test_zeros_that_are_no_zeros_are_noticed(page, tmp_path):
    found = short(planted(page, "items: codes.map((_, i) => cellOf(filled, i))", "items: codes.map((_, i) => cellOf(filled, 0))"), tmp_path)
    assert found and found[0][0] != "few rows"


FAULTS = {
    "padding shown": ("codes.map((_, i) => cellOf(filled, i))", "filled.items.slice(0, codes.length)"),
    "the words of another key": ("C.ex_words(key, wordBits,", "C.ex_words(key + 1n, wordBits,"),
    "words turned round": ("new Uint32Array(integers).buffer", "new Uint32Array(integers).reverse().buffer"),
    "high bits of a word": ("BigInt.asUintN(wordBits, BigInt(`0x${word_", "BigInt.asUintN(wordBits, 1n + BigInt(`0x${word_"),
    "other words said": ("first = wordsText({words: words.slice(0, 16)", "first = wordsText({words: words.slice(1, 17)"),
    "the key unsaid": ("key === null ? \"\" : `, of key", "true ? \"\" : `, of key"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_rows_and_random_words_is_noticed(page, tmp_path, fault):
    found = wrong(planted(page, *FAULTS[fault]), tmp_path)
    assert found and not any("refused" in said for _, said, *_ in found if isinstance(said, dict))


def nearest(page: str, folder: Path) -> list[tuple]:
    """Nearest changes that do not change what the reference model gives the element, or before which something does; of bfloat16."""
    out, rows = [], [row for row in asked() if row["from"] == "bf16" and row["rows"] in (3, 17)]
    for row in rows:
        row["codes"], row["flip"] = [code if code & 0x7F80 != 0x7F80 else 0x3F80 for code in row["codes"]], 1 + len(row["codes"]) // 2
    for row, said in zip(rows, texts(page, [place(row) for row in rows], folder), strict=True):
        at, columns = row["flip"], len(row["codes"]) // row["rows"]
        for way in [way for way in said["flips"]["ways"] if way["side"] == "a" and way["code"]]:
            code = int(way["code"], 16)
            before = code - way["step"] if code >> 15 == 0 else code + way["step"]
            seen = []
            for given in (row["codes"][at], before, code):
                codes, levels = wanted_of({**row, "codes": [*row["codes"][:at], given, *row["codes"][at + 1 :]]})
                r, c = divmod(at, columns)
                seen.append([codes[at], *(level[r if len(level) > 1 else 0][c // 16 if len(level[0]) > 1 else 0] for level in levels)])
            if seen[0] != seen[1] or seen[0] == seen[2]:
                out.append((row, way, seen))
    return out if rows else [("no rows",)]


def test_the_nearest_change_of_a_row_is_that_of_the_reference_model(page, tmp_path):
    assert nearest(page, tmp_path) == []


def test_a_change_in_a_block_of_another_row_is_noticed(page, tmp_path):
    assert nearest(planted(page, "alone ? blockIn(items, columns, top, left", "alone ? blockIn(items, columns, 0, left"), tmp_path)


USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const heads = () => [...document.querySelectorAll("#cells th")].map(item => item.textContent);
out.none = at("[name=random]");
change("[name=x]", LISTS); out.listed = [at("[name=rows]").value, heads(), text("#fault")];
change("[name=a]", "ufp4_sr"); out.key = [at("[name=random]").value, heads(), text("#sentence")];
at("#write-words").click(); out.words = [at("[name=random]").value, document.activeElement.name, at("#write-words"), text("#sentence")];
at("#copy-python").click(); out.python = explorer.copied(); at("#copy-shell").click(); out.shell = explorer.copied();
at("#copy-row").click(); out.rows = explorer.copied(); out.said = explorer.text(location.hash); out.shown = text("#shell");
change("[name=random]", "ff 0 xyz"); out.wrong = [text("#fault"), text("#sentence")];
change("[name=random]", "ff 0"); out.few = text("#sentence");
change("[name=random]", "key 18446744073709551616"); out.large = text("#fault");
change("[name=random]", "key 2"); change("[name=rows]", "3"); out.uneven = text("#fault");
change("[name=rows]", "2"); change("[name=x]", "[[1, 2], [3]]"); out.ragged = text("#fault");
return out;
"""


def test_random_words_are_edited_and_copied(page, tmp_path):
    values = [[round(0.25 * (i * j % 23 - 11), 2) for i in range(32)] for j in (3, 5)]
    said = answers(page, USE.replace("LISTS", json.dumps(f"tensor({values})")), tmp_path, "block")
    assert "thrown" not in said, said
    assert said["none"] is None and said["listed"] == ["2", [f"row {r}, {name}" for r in (0, 1) for name in ("value", "A", "B")], ""]
    key, heads, sentence = said["key"]
    assert key == "key 1" and heads[1] == "row 0, random, A" and "of key 1 of Philox4x32-10: 0x" in sentence
    words, focus, button, after = said["words"]
    assert [int(word, 16) for word in words.split()] == philox.draw(1, 64, 8).tolist() and focus == "random" and button is None
    assert "of key" not in after and after.rpartition(": ")[2] == sentence.rpartition(": ")[2]
    codes = told(said["said"]["a"]["codes"])
    done = subprocess.run([sys.executable, "-c", said["python"]], capture_output=True, text=True, check=True)
    assert [code for row in json.loads(done.stdout.split("\n")[0]) for code in row] == codes
    assert said["shown"] == said["shell"].rstrip("\n").split("\n")[-1] and words.split()[0][2:].lower() in said["shell"]
    assert said["rows"].count("\n") == 4 and "emu_ref fill quantize/ufp4_sr --source fp32" in said["shell"]
    assert said["wrong"] == ["random xyz: write hex words, or a key such as key 1", None]
    assert said["few"].endswith("; those that you do not give are 0.") and "a key has at most 64 bits" in said["large"]
    assert said["uneven"] == "rows 3: 64 values: give as many in each row"
    assert said["ragged"] == "lists of 2 and 1 values: give as many in each row"
    made = ran(said["shell"].split(" && ")[0], tmp_path)
    assert [line for line in made if line.startswith("a ")] == said["rows"].splitlines()


def test_a_tile_of_rows_is_copied_as_python(page, tmp_path):
    row = next(item for item in asked() if item["a"] == TILED[0] and item["rows"] == 17)
    script = "document.querySelector('#copy-python').click(); return [explorer.copied(), document.querySelector('#fault').textContent];"
    text, fault = answers(page, script, tmp_path, place(row).removeprefix("#"))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert fault == "" and [code for line in json.loads(done.stdout.split("\n")[0]) for code in line] == wanted_of(row)[0]
