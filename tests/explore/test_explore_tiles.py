"""Tiles of 128 x 128: the rows that a link opens have the codes of the whole tile; what is copied of them; rows that fill no tile."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest
from support.explorer import answers, compiled_and_run, link, planted, ran, texts

from emu.contracts import parse
from emu.engines.exact import block
from emu.explain.link import of_operands
from emu.spec import get
from emu.spec.registry import names

TILES = [name for name in names("recipe") if "_tile128_" in name]
SHAPE, PLACES = (
    (130, 136),
    ((1, 2), (127, 128), (129, 135)),
)  # of a matrix and answers in it; the last two are in tiles that it does not fill
CUT = (  # of Dequantize: codes, levels row by row, and rows of tiles that are not whole
    ("nvfp4_te_2d_ref", "0123456789ABCDEF0123" * 3, ("3F800000", "38 44 / " * 15 + "38 44"), 3),
    ("e4m3_tile128_transformers", "0138427E81C0" * 3, ("40400000",), 3),
    ("nvfp4_te_ref", "12345", ("40000000", "38"), 1),
    ("e4m3_tile128_bf16_compressed_tensors", "38" * 130 + "C1" * 130, ("3F80 4040",), 2),
)


def draw(source: str, seed: int) -> np.ndarray:
    """Values whose maximum stands in a row of its own in each tile; the second half of the columns is a thousand times the first."""
    x = np.random.Generator(np.random.Philox(seed)).standard_normal(SHAPE).astype(np.float32)
    x[:, 128:] *= 1000
    codes = x.view(np.uint32)
    return codes if source == "fp32" else (codes >> 16).astype(np.uint16)


def codes_of(kept: dict) -> list[int]:
    return [-1 if item["code"] == "open" else int(item["code"], 16) for item in kept["items"]]


def quantized(page: str, folder: Path, some=TILES) -> list[tuple]:
    """Answers of which the page shows other codes of the row, or another scale, than the reference model has for the whole tile."""
    asked = []
    for number, name in enumerate(some):
        source = ("fp32", "bf16")[number % 2]
        x, at = draw(source, number), PLACES[number % len(PLACES)]
        made = of_operands(parse(f"quantize/{name}", source), {"x": x}, at)
        top, left = (place - place % 128 for place in at)
        tile = x[top : top + 128, left : left + 128].tolist()
        wanted = block.quantize(get("recipe", name), tile, get("format", source), masked=True)
        asked.append((name, made, at[0] - top, at[1] - left, wanted))
    out = []
    for (name, made, row, column, wanted), said in zip(asked, texts(page, [made.link for _, made, *_ in asked], folder), strict=True):
        codes, scale = codes_of(said["a"]["codes"]) if "a" in said else [], codes_of(said["a"]["levels"][0]) if "a" in said else []
        right = wanted.codes[row]
        if codes[: len(right)] != right or scale != wanted.levels["scale"][0] or len(codes) not in (len(right), 2 * len(right)):
            out.append((name, made.what, said.get("refused", codes[: len(right)]), right))
        elif (
            f"Element {column} is " not in said["cell"]["sentence"] or f"its code is 0x{right[column]:02X}" not in said["cell"]["sentence"]
        ):
            out.append((name, said["cell"]["sentence"], right[column]))
    return out


def test_a_row_of_a_tile_has_the_codes_and_the_scale_of_the_tile(page, tmp_path):
    assert quantized(page, tmp_path) == [] and len(TILES) == 4


def given_back(codes: str, digits: int, rows: int) -> list[list[int]]:
    every = [int(codes[i : i + digits], 16) for i in range(0, len(codes), digits)]
    return [every[i : i + len(every) // rows] for i in range(0, len(every), len(every) // rows)]


def made_back(name: str, codes: list[list[int]], levels: list[str]) -> list[int]:
    """Values in binary32 by the reference model, by the first profile."""
    recipe = get("recipe", name)
    matrices = [[[int(code, 16) for code in row.split()] for row in side.split("/")] for side in levels]
    sides = {level.name: matrix for level, matrix in zip(get("block", recipe.facts.block).facts.levels, matrices, strict=True)}
    found = block.dequantize(recipe, codes, sides, profile=next(iter(recipe.facts.dequantize)), result=get("format", "fp32"))
    return [value for row in found for value in row]


def cut(name: str, codes: str, levels: tuple[str, ...], rows: int, element: int = 0) -> str:
    sides = {f"level{number}": side.replace("/", "") for number, side in enumerate(levels)}
    return link("dequantize", recipe=name, codes=codes, rows=rows, element=element, **sides)


def dequantized(page: str, folder: Path, some=TILES) -> list[tuple]:
    """Elements of which the page shows another value than the reference model: links into tiles, and rows that fill no tile."""
    asked, draws = [], np.random.Generator(np.random.Philox(8))
    for number, name in enumerate(some):
        profile = next(iter(get("recipe", name).facts.dequantize))
        contract, (row, column) = parse(f"dequantize/{name}/{profile}"), PLACES[number % len(PLACES)]
        codes = draws.integers(0, 0x7F, SHAPE).astype(np.uint8)
        shift = 0 if contract.levels[0].format == "fp32" else 16
        scales = (np.array([[0x3F000000, 0x40400000], [0x41200000, 0x3E800000]], np.uint32) >> shift).astype("u2" if shift else "u4")
        made = of_operands(contract, {"codes": codes, "scale": scales}, (row, column))
        (wanted,) = made_back(name, [[int(codes[row, column])]], [f"{scales[row // 128, column // 128]:X}"])
        asked.append((name, made.link, wanted, made.what))
    for name, codes, levels, rows in CUT:
        matrix = given_back(codes, 1 if name.startswith("nvfp4") else 2, rows)
        last = made_back(name, matrix, levels)[-1]
        asked.append((name, cut(name, codes, levels, rows, len(matrix) * len(matrix[0]) - 1), last, ""))
    out = []
    for (name, _, wanted, what), said in zip(asked, texts(page, [place for _, place, *_ in asked], folder), strict=True):
        if "refused" in said or int(said["values"][said["element"]]["code"], 16) != wanted:
            out.append((name, what, said.get("refused", said.get("sentence")), wanted))
    return out


def test_an_element_of_a_tile_has_its_value(page, tmp_path):
    assert dequantized(page, tmp_path) == []


LONG = (("mxfp4_torchao_floor", (1, 700)), ("nvfp4_te_ref", (0, 1055)), ("nvfp4_te_2d_ref", (17, 40)), ("e4m3_row_torchao", (1, 700)))


def longer(page: str, folder: Path, some=LONG) -> list[tuple]:
    """Answers in rows of more values than the page takes of which it says another code than the reference model has in the whole."""
    asked, out = [], []
    for name, at in some:
        x = np.random.Generator(np.random.Philox(14)).standard_normal((20, 1056)).astype(np.float32)
        x[1, 3] = 9  # far from what is looked at
        contract, codes = parse(f"quantize/{name}"), x.view(np.uint32)
        amax = 0x41200000 if contract.reads_amax else None
        made = of_operands(contract, {"x": codes} | ({} if amax is None else {"tensor_amax": np.uint32([amax])}), at)
        rows = codes[at[0] - at[0] % contract.rows :][: contract.rows].tolist()
        wanted = block.quantize(contract.recipe, rows, contract.source, tensor_amax=amax).codes[at[0] % contract.rows][at[1]]
        asked.append((name, made, int(x.view(np.uint32)[at]), wanted))
    for (name, made, code, wanted), said in zip(asked, texts(page, [made.link for _, made, *_ in asked], folder), strict=True):
        words = (f" is 0x{code:08X}, ", f"its code is 0x{wanted:0{2 if 'e4m3' in name else 1}X}")
        if "cell" not in said or not all(word in said["cell"]["sentence"] for word in words):
            out.append((name, made.what, said.get("refused", said.get("cell")), words))
    return out


def test_a_part_of_a_long_row_has_the_code_of_the_whole(page, tmp_path):
    assert longer(page, tmp_path) == []


FAULTS = {
    "the code of the first element": (longer, "const {code, value} = trace.codes.items[element];",
                                      "const {code, value} = trace.codes.items[0];"),
    "the row below": (quantized, "codes: {...filled, items: codes.map((_, i) => cellOf(filled, i))}",
                      "codes: {...filled, items: codes.map((_, i) => cellOf(filled, (i + columns) % codes.length))}"),
    "the first row alone": (quantized, "C.ex_trace(program, formatOf(from), given, rows, columns,",
                            "C.ex_trace(program, formatOf(from), given, 1, columns,"),
    "another code is the same": (quantized, "if (!of.has(code)) of.set(code,", "if (!of.size) of.set(code,"),
    "one scale for all": (dequantized, "placeCodes(sides.flat())", "placeCodes(sides.map(side => side.map(() => side[0])).flat())"),
}  # fmt: skip


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_tiles_is_noticed(page, tmp_path, fault):
    look, before, after = FAULTS[fault]
    assert look(planted(page, before, after), tmp_path, (LONG if look is longer else TILES)[:2])


COPIED = """return PLACES.map(place => {
    history.replaceState(null, "", place); dispatchEvent(new HashChangeEvent("hashchange"));
    const press = kind => { document.querySelector(`#copy-${kind}`).click(); return explorer.copied(); };
    const texts = ["python", "c", "shell"].map(press), fault = document.querySelector("#fault").textContent;
    const said = explorer.text(location.hash), why = document.querySelector("#copy-why").textContent;
    press("row");
    return [...texts, fault, why, document.querySelector("#fault").textContent, said.values || said.a.codes.items];
});"""


def test_what_is_copied_of_a_tile_gives_its_codes(page, tmp_path):
    x = " ".join(f"0x{code:08X}" for code in draw("fp32", 5)[:2, :128].reshape(-1).tolist())
    places = [link("block", a=TILES[0], b=TILES[0], x=x, rows=2)]
    places += [cut(*row) for row in CUT[:2]]
    found = answers(page, COPIED.replace("PLACES", json.dumps(places)), tmp_path, "number")
    why = "Copy .tv row: a row of {} would be a tile of 128 x 128 values, and rows have at most 1024."
    short = "Copy .tv row: a row of dequantize/nvfp4_te_2d_ref/te has 256 codes in codes, and here are 48."
    reasons = (why.format(TILES[0]), short, why.format(CUT[1][0]))
    for number, ((python, text, shell, fault, said, row_fault, items), reason) in enumerate(zip(found, reasons, strict=True)):
        wanted = [int(item["code"], 16) for item in items]
        done = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=True).stdout
        printed = json.loads(done.split("\n")[0].replace("'", '"'))
        got = [code for row in printed for code in row] if not number else [int(code, 16) for code in printed]
        assert fault == "" and got == wanted and ran(shell, tmp_path)[0] == done.split("\n")[0]
        words = compiled_and_run(text, tmp_path / "c").split("codes: ")[-1].split("\n")[0] if not number else ""
        assert [int(word, 16) for word in (words.split() if not number else compiled_and_run(text, tmp_path / "c").split())] == wanted
        assert said == reason and row_fault == reason.rstrip(".")


def test_the_nearest_changes_of_a_large_tile_are_not_looked_for(page, tmp_path):
    (said,) = texts(page, [link("block", a=TILES[0], b="mxfp4_torchao_floor", x="1 2 " * 16, flip=3)], tmp_path)
    assert said["flips"]["ways"] == [] and said["flips"]["head"] == (
        "Element 3 is 0x40000000, 2: the nearest changes of it are looked for in tiles of at most 512 values, "
        f"and {TILES[0]} has larger ones."
    )


CHOSEN = """
const change = (selector, value) => { const at = document.querySelector(selector); at.value = value;
    at.dispatchEvent(new Event("change", {bubbles: true})); };
change("[name=recipe]", NAME);
const rows = document.querySelectorAll("#cells tr").length;
return [document.querySelector("#fault").textContent, rows, explorer.text(location.hash).values.length];
"""


def test_a_recipe_of_large_tiles_that_is_chosen_has_rows_that_fit(page, tmp_path):
    assert answers(page, CHOSEN.replace("NAME", json.dumps(TILES[0])), tmp_path, "dequantize?codes=123&recipe=nvfp4_te_ref") == [
        "",
        8,
        512,
    ]


def test_a_link_into_a_tile_names_its_rows():
    made = of_operands(parse(f"quantize/{TILES[0]}"), {"x": draw("fp32", 0)}, (1, 2))
    (rows,) = parse_qs(made.link)["rows"]
    assert rows == "2" and made.what.startswith("row 1 of its tile, and row ")
