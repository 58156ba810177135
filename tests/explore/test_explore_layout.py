"""Layout: elements and the places of their scales both ways, nibble orders as bytes, layouts of one's own; faults of each are noticed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import devtools
from support.descriptor_samples import sealed
from support.explorer import answers, browser, compiled_and_run, link, planted, texts

from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.exact import layout
from emu.spec import get, names

ROWS, CODES = 64, 8
SCALES = [name for name in names("layout") if get("layout", name).facts.holds == "scales"]
NIBBLES = [name for name in names("layout") if get("layout", name).facts.code_bits == 4]
TILES = ((1, 16), (1, 32), (2, 3), (128, 128), (1, 1))


def elements_of(place: int, name: str, tile: tuple[int, int], rows: int = ROWS, codes: int = CODES) -> tuple:
    """The first and the last element that a place scales."""
    row, index = layout.locate(place, rows, codes, get("layout", name))
    return (row * tile[0], index * tile[1]), ((row + 1) * tile[0] - 1, (index + 1) * tile[1] - 1)


def wrong(page: str, folder: Path) -> tuple[list, int]:
    """Elements whose scale, or scales whose elements, the page and the reference model have elsewhere; how many were compared."""
    rows, out = [], []
    for name in SCALES:
        for tile in TILES:
            last = ROWS * tile[0] - 1, CODES * tile[1] - 1
            rows += [(name, tile, at) for at in ((0, 0), last, (last[0] // 2, tile[1] % (last[1] + 1)), (last[0], last[1] // 3))]
    asked = [
        link("layout", layout=name, rows=ROWS, codes=CODES, tile="x".join(map(str, tile)), element=f"{at[0]}, {at[1]}")
        for name, tile, at in rows
    ]
    for (name, tile, at), said in zip(rows, texts(page, asked, folder), strict=True):
        if "refused" in said:
            out.append((name, tile, at, said["refused"]))
            continue
        row, index = at[0] // tile[0], at[1] // tile[1]
        place = layout.place(row, index, ROWS, CODES, get("layout", name))
        first, last = elements_of(place, name, tile)
        assert first <= at <= last
        told = said["row"], said["index"], said["at"], tuple(said["back"]["first"]), tuple(said["back"]["last"])
        there = (
            f"It scales element {first}, {at} among them." if first == last else f"It scales elements {first} to {last}, {at} among them."
        )
        if told != (row, index, place, first, last) or not said["sentence"].endswith(there):
            out.append((name, tile, at, told, said["sentence"]))
    return out, len(rows)


def test_the_scale_of_an_element_is_that_of_the_reference_model(page, tmp_path):
    out, compared = wrong(page, tmp_path)
    assert out == [] and compared == 4 * len(TILES) * len(SCALES)


def packed(name: str, digits: str, rows: int, codes: int) -> bytes:
    """The bytes that a layout makes of the codes; the code of an index is its digit, again and again."""
    order = get("layout", name)
    out = bytearray((layout.size(rows, codes, order) + 1) // 2)
    for row in range(rows):
        for index in range(codes):
            at = layout.place(row, index, rows, codes, order)
            out[at // 2] |= int(digits[index % len(digits)], 16) << at % 2 * 4
    return bytes(out)


def wrong_bytes(page: str, folder: Path) -> list:
    """Orders whose bytes, or whose place of the chosen code, the page and the reference model have otherwise."""
    rows = [
        (shape, at, digits)
        for shape in ((2, 64), (3, 40), (1, 7))
        for at in ((0, 1), (shape[0] - 1, shape[1] - 1))
        for digits in ("0123456789ABCDEF", "5a3")
    ]
    asked = [
        link("layout", layout="low_nibble_first", rows=shape[0], codes=shape[1], row=at[0], index=at[1], digits=digits)
        for shape, at, digits in rows
    ]
    out = []
    for (shape, at, digits), said in zip(rows, texts(page, asked, folder), strict=True):
        assert [item["id"] for item in said["orders"]] == NIBBLES, said
        for item in said["orders"]:
            order = get("layout", item["id"])
            place, data = layout.place(*at, *shape, order), packed(item["id"], digits, *shape)
            begin = place // 2 // 16 * 16
            wanted = [begin, place // 2, ("low", "high")[place % 2], data[begin : begin + 16].ljust(16, b"\0").hex(" ").upper().split()]
            if [item["from"], item["byte"], item["nibble"], item["bytes"]] != wanted:
                out.append((item, wanted))
    return out


def test_the_bytes_of_nibble_orders_are_those_of_the_reference_model(page, tmp_path):
    assert wrong_bytes(page, tmp_path) == [] and len(NIBBLES) == 5


POINT = """const at = selector => document.querySelector(selector), told = () => at("#pointed").textContent, out = [];
const marked = () => [...document.querySelectorAll(".pointed")].map(item =>
    item.localName === "rect" ? `map ${item.dataset.at}` : item.dataset.element || item.textContent);
const say = () => out.push([told(), marked()]);
const over = selector => { at(selector).dispatchEvent(new MouseEvent("mouseover", {bubbles: true})); say(); };
const press = key => { document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true})); say(); };
over('[data-element="2, 21"]'); over('.memory [data-row="1"][data-index="0"]'); over('.memory span[data-at]');
at('[data-element="2, 21"]').focus(); say(); press("ArrowLeft"); press("ArrowDown"); press("ArrowRight"); press("ArrowUp");
at('[data-element="1, 17"]').click();
out.push([location.hash, at("#sentence").textContent, document.activeElement.dataset.element, at("[name=row]").value,
    at("[name=index]").value]);
const change = (name, value) => { at(`[name=${name}]`).value = value;
    at(`[name=${name}]`).dispatchEvent(new Event("change", {bubbles: true})); };
change("row", "0"); out.push([at("[name=row]").value, at("[name=index]").value, at("[name=element]").value]);
change("element", "3, 0"); out.push([at("[name=row]").value, at("[name=index]").value, at("[name=element]").value]);
at('.memory [data-row="2"][data-index="1"]').click();
out.push([at("[name=row]").value, at("[name=element]").value, document.activeElement.closest(".memory") !== null]);
change("element", "9, 0"); out.push([at("#fault").textContent, at("#sentence")]);
change("element", "1, 47"); out.push([at("#fault").textContent, at("[name=index]").value]);
return out;"""
SMALL = {"layout": "sf8x4", "rows": 4, "codes": 3, "tile": "1x16"}  # a place of 4 codes a row: the last of each row is padding


def pointed(page: str, folder: Path) -> list:
    """What is told and marked where the mouse and the keyboard point, and what clicks do."""
    return answers(page, POINT, folder, link("layout", **SMALL, row=0, index=0).removeprefix("#"))


def at_place(row: int, index: int) -> int:
    return layout.place(row, index, 4, 3, get("layout", "sf8x4"))


def marks(row: int, index: int) -> list[str]:
    """What belongs to a scale: its elements, its place twice, its cell of the figure."""
    at = at_place(row, index)
    return [*(f"{row}, {16 * index + i}" for i in range(16)), str(at), f"{at}: {row}, {index}", f"map {at}"]


def told(row: int, column: int) -> list:
    """What is said of an element."""
    index, at = column // 16, at_place(row, column // 16)
    return [f"Element ({row}, {column}): its scale, row {row}, index {index}, lies at place {at}, byte {at}.", marks(row, index)]


def test_what_is_pointed_at_is_marked_both_ways(page, tmp_path):
    said = pointed(page, tmp_path)
    place = at_place(1, 0)
    assert said[0] == told(2, 21)
    assert said[1] == [f"place {place}, byte {place}: row 1, index 0, which scales elements (1, 0) to (1, 15).", marks(1, 0)]
    assert said[2] == ["place 3, byte 3: padding.", ["3: padding"]]
    assert said[3:8] == [told(2, 21), told(2, 20), told(3, 20), told(3, 21), told(2, 21)]
    address, sentence, focus, *fields = said[8]
    assert "element=1%2C+17" in address and focus == "1, 17" and fields == ["1", "1"]
    assert sentence.endswith("It scales elements (1, 16) to (1, 31), (1, 17) among them.")
    assert said[9:12] == [["0", "1", ""], ["3", "0", "3, 0"], ["2", "", True]]
    assert said[12] == ["row of an element 9: write a number from 0 to 3", None] and said[13] == ["", "2"]
    assert answers(page, "return document.querySelector('#sentence').textContent;", tmp_path, address.removeprefix("#")) == sentence


POINT_FAULTS = {
    "nothing is marked": (0, 'item.classList.add("pointed")', 'item.classList.add("points")'),
    "marks stay": (1, 'item.classList.remove("pointed")', 'item.classList.remove("points")'),
    "the keyboard marks nothing": (3, 'places.addEventListener("focusin"', 'places.addEventListener("focusing"'),
    "a row of another width": (5, 'cell.parentNode.querySelectorAll("button").length : 1', '16 : 1'),
    "the way back": (11, "places.addEventListener(\"click\", event => {\n    const {row, index, element}",
        "places.addEventListener(\"click\", event => {\n    const {index: row, row: index, element}"),
    "an element that stays": (9, 'element: "", [name]: value}', "element: state.element, [name]: value}"),
}  # the first answer of POINT that it changes, and the fault  # fmt: skip


@pytest.fixture(scope="module")
def answered(page, tmp_path_factory):
    """What POINT answers on the page as it is."""
    return pointed(page, tmp_path_factory.mktemp("pointed"))


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", POINT_FAULTS)
def test_a_fault_of_pointing_is_noticed(page, answered, tmp_path, fault):
    first, *place = POINT_FAULTS[fault]
    said = pointed(planted(page, *place), tmp_path)
    assert "thrown" not in said and len(said) == len(answered)
    assert next(i for i, pair in enumerate(zip(said, answered, strict=True)) if pair[0] != pair[1]) == first


SEEN = """return [...document.querySelectorAll("#places .wide, #places .tall")].map(part => {
    const [inside, outside] = [part.querySelector(".chosen, .other"), part].map(item => item.getBoundingClientRect());
    return inside.top >= outside.top && inside.bottom <= outside.bottom && inside.left >= outside.left && inside.right <= outside.right;
});"""


def test_what_is_chosen_is_seen_in_each_part_that_scrolls(page, tmp_path):
    place = link("layout", layout="sf128x4", rows=128, codes=64, row=101, index=60).removeprefix("#")
    assert answers(page, SEEN, tmp_path, place) == [True] * 3
    left = planted(page, "part.scrollTop += (inside", "part.scrollTop = 0 * (inside")
    assert answers(left, SEEN, tmp_path, place) == [True, False, False]


WRONG_PLACES = {
    "tile turned round": ("C.ex_layout_scale(layout, ...[...tile, row", "C.ex_layout_scale(layout, ...[...tile.toReversed(), row"),
    "the last element": ("first: ends.slice(0, 2), last: ends.slice(2)", "first: ends.slice(0, 2), last: ends.slice(0, 2)"),
}  # fmt: skip
WRONG_BYTES = {
    "codes in another order": ("Uint8Array.from(state.digits,", "Uint8Array.from([...state.digits].reverse(),"),
    "another window": ("from = back.byte - back.byte % 16", "from = back.byte - back.byte % 8"),
    "nibbles turned round": ('bit ? "high" : "low"', 'bit ? "low" : "high"'),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", [*WRONG_PLACES, *WRONG_BYTES])
def test_a_fault_of_places_and_bytes_is_noticed(page, tmp_path, fault):
    faulty = planted(page, *{**WRONG_PLACES, **WRONG_BYTES}[fault])
    assert wrong(faulty, tmp_path)[0] if fault in WRONG_PLACES else wrong_bytes(faulty, tmp_path)


def bare(text: str) -> str:
    """A descriptor without its last line."""
    return text[: text.rindex("\nend ") + 1]


def descriptor(name: str, called: str = "mine") -> str:
    """The descriptor of a layout under another name, without its last line."""
    return bare(descriptor_text([get("layout", name)])).replace(f"layout {name}\n", f"layout {called}\n")


def yaml_of(name: str) -> str:
    """The file of a layout under the name mine."""
    return (
        Path(__file__)
        .parents[2]
        .joinpath("spec", "layout", f"{name}.yaml")
        .read_text(encoding="utf-8")
        .replace(f'id: "{name}"', 'id: "mine"')
    )


OWN = """
const at = selector => document.querySelector(selector), out = {};
const change = (name, value) => { at(`[name=${name}]`).value = value;
    at(`[name=${name}]`).dispatchEvent(new Event("change", {bubbles: true})); };
const until = async what => { for (let i = 0; i < 300 && !what(); i++) await new Promise(done => setTimeout(done, 20)); };
const drop = (name, data) => { const held = new DataTransfer(); held.items.add(new File([data], name));
    dispatchEvent(new DragEvent("drop", {dataTransfer: held, cancelable: true})); };
const state = () => [at("#fault").textContent, at("#sentence")?.textContent, at("[name=layout]").value, at("[name=own]")?.value];
at("#edit").click(); out.begun = state();
change("own", at("[name=own]").value.replace("digit row 32 4\\n", "digit row 32 2\\n").replace("digit row 128 rest",
    "digit row 64 rest")); out.edited = state();
out.hash = location.hash; out.shell = at("#shell").textContent;
at("#copy-shell").click(); out.command = explorer.copied(); at("#copy-python").click(); out.python = explorer.copied();
at("#copy-c").click(); out.c = explorer.copied();
change("own", at("[name=own]").value.replace("row 32 2", "row 31 2")); out.wrong = state();
at("#leave").click(); out.left = state();
out.dropped = {};
for (const [name, text] of Object.entries(FILES)) { drop(name, text); await until(() => at("[name=own]"));
    out.dropped[name] = state(); at("#leave").click(); }
drop("bad.yaml", BAD); await until(() => at("#fault").textContent); out.bad = state();
drop("none.txt", NONE); await until(() => at("#fault").textContent.startsWith("none")); out.none = at("#fault").textContent;
return out;
"""
BLOCK_STYLE = """kind: layout
id: mine   # not a shipped one
facts:
  holds: elements
  code_bits: 4
  digits:
  - axis: idx
    count: 2
    order: down
  - axis: idx
    step: 2
  - axis: row
"""


@pytest.fixture(scope="module")
def owned(page, tmp_path_factory):
    """What the room says while a layout is edited and files are dropped."""
    folder = tmp_path_factory.mktemp("own")
    return used(page, folder)


def used(page: str, folder: Path) -> dict:
    files = {f"{name}.yaml": yaml_of(name) for name in ("high_nibble_first", "triton_hopper_8warps", "mlx_words4")}
    files |= {"block.yaml": BLOCK_STYLE, "mine.txt": sealed(descriptor("sf8x4") + "end 0\n")}
    given = {
        "FILES": files,
        "BAD": yaml_of("sf8x4").replace('axis: "idx"', 'turn: "idx"', 1),
        "NONE": descriptor_text([get("format", "e2m1")]),
    }
    script = OWN
    for name, value in given.items():
        script = script.replace(name, json.dumps(value))
    (folder / "page.html").write_text(page, encoding="utf-8")
    with devtools.page(browser()) as tab:
        tab.open(f"{(folder / 'page.html').as_uri()}#layout")
        return {**tab.ask(script), "requests": [item for item in tab.requests if not item.startswith(("file:", "blob:", "about:"))]}


def test_a_layout_is_edited_live(owned, page, tmp_path):
    begun, edited = owned["begun"], owned["edited"]
    assert begun[0] == "" and begun[2:] == ["mine", descriptor("sf128x4")]
    place = layout.place(33, 5, 128, 8, get("layout", "sf128x4"))
    assert f"In mine, the scale of row 33, index 5 of 128 x 8 lies at place {place} of 1024" in begun[1]
    # 4 codes, 2 rows 32 apart, 32 rows, 2 tiles along, then 64 rows: 1 + 4 * 1 + 8 * 1 + 256 * 1
    assert edited[0] == "" and "row 33, index 5 of 128 x 8 lies at place 269 of 1024" in edited[1]
    assert owned["shell"] == "emu layout show mine --spec mine --shape 128x8 --at 269"
    assert owned["wrong"][0].startswith("descriptor line ") and owned["wrong"][1] is None and "row 31 2" in owned["wrong"][3]
    assert owned["left"][0] == "" and owned["left"][2:] == ["sf128x4", None] and owned["requests"] == []
    (again,) = texts(page, [owned["hash"]], tmp_path)
    assert again["sentence"] == edited[1]


def run_in(folder: Path, *command: str) -> str:
    """What a command prints in an empty folder, with this environment's programs first."""
    folder.mkdir()
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(command, cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=True).stdout


def test_what_is_copied_of_a_layout_runs(page, owned, tmp_path):
    assert run_in(tmp_path / "shell", "bash", "-e", "-c", owned["command"]).split()[-3:] == ["269", "33", "5"]
    assert run_in(tmp_path / "python", sys.executable, "-c", owned["python"]) == "269 of 1024\n"
    assert compiled_and_run(owned["c"], tmp_path / "own") == "269 of 1024\n"
    for name, rows, codes, row, index in (("sf128x4", 130, 6, 129, 5), ("high_nibble_first", 3, 64, 2, 33), ("mlx_words4", 2, 64, 1, 9)):
        place, size = layout.place(row, index, rows, codes, get("layout", name)), layout.size(rows, codes, get("layout", name))
        address = link("layout", layout=name, rows=rows, codes=codes, row=row, index=index)
        script = "return ['shell', 'python', 'c'].map(kind => (document.querySelector(`#copy-${kind}`).click(), explorer.copied()));"
        shell, python, c = answers(page, script, tmp_path, address.removeprefix("#"))
        assert run_in(tmp_path / f"{name} shell", "bash", "-e", "-c", shell).split()[-3:] == [str(place), str(row), str(index)]
        assert run_in(tmp_path / f"{name} python", sys.executable, "-c", python) == f"{place} of {size}\n"
        assert name != "high_nibble_first" or compiled_and_run(c, tmp_path / name) == f"{place} of {size}\n"


def test_files_of_layouts_are_taken(owned):
    wanted = {f"{name}.yaml": descriptor(name) for name in ("high_nibble_first", "triton_hopper_8warps", "mlx_words4")}
    wanted |= {"block.yaml": descriptor("high_nibble_first"), "mine.txt": descriptor("sf8x4")}
    assert {name: said[3] for name, said in owned["dropped"].items()} == wanted
    assert all(said[0] == "" and said[2] == "mine" and said[1].startswith("In mine, ") for said in owned["dropped"].values())
    line = yaml_of("sf8x4").split("\n").index('    - {axis: "idx", count: 4}') + 1
    assert owned["bad"][0] == f'bad.yaml: layout YAML line {line}: turn: "idx": a digit has axis, step, count and order: down'
    assert owned["bad"][3] is None
    assert owned["none"] == "none.txt: no layout in it: write one with emu export descriptor layout/ID"


OWN_FAULTS = {
    "down lost": ("dropped", '${order ? "_down" : ""}', ""),
    "the layout of the page": ("edited", "C.ex_layout(libraryOf(own.layouts.includes(id)), word(id))",
        'C.ex_layout(library, word(own.layouts.includes(id) ? "sf128x4" : id))'),
    "axes turned round": ("dropped", 'axes = {row: "row", idx: "index"}', 'axes = {row: "index", idx: "row"}'),
    "a command without its file": ("command", "if (!isUsed(state)) return line;", "return line;"),
}  # what is said otherwise, and the fault  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", OWN_FAULTS)
def test_a_fault_of_own_layouts_is_noticed(page, owned, tmp_path, fault):
    where, *place = OWN_FAULTS[fault]
    said = used(planted(page, *place), tmp_path)
    assert said.keys() == owned.keys() and said["begun"] != [] and said["requests"] == []
    assert said[where] != owned[where]
