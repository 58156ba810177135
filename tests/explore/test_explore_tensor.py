"""The Tensor room: files of three kinds are measured as the reference model has it; faults are noticed; damaged files are refused."""

import contextlib
import json
import struct
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from collections import Counter
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from support import devtools
from support.explorer import browser, compiled_and_run, link, planted, ran, texts

import emu
from emu.contracts import parse
from emu.contracts.rows import Input, make_row, unpack
from emu.engines.exact import block
from emu.engines.exact.decode import decode_code
from emu.spec import Recipe, get
from emu.vectors.files.writers import row_lines

SHAPE = (6, 64)
KINDS = {"npy": "fp32", "safetensors": "fp16", "gguf": "bf16"}
WAIT = """const until = async what => { for (let i = 0; i < 600; i++) { if (what()) return;
    await new Promise(done => setTimeout(done, 50)); }
    throw "nothing came of it"; };
const at = selector => document.querySelector(selector), fault = () => at("#fault").textContent;"""
LISTED = (
    WAIT
    + """await until(() => at("[name=tensor]") || fault());
return {fault: fault(), names: [...(at("[name=tensor]")?.options || [])].map(item => item.value),
    sentence: at("#sentence")?.textContent};"""
)
MEASURED = (
    WAIT
    + """for (const [name, value] of Object.entries(CHOSEN)) {
    at(`[name=${name}]`).value = value; at(`[name=${name}]`).dispatchEvent(new Event("change", {bubbles: true})); }
await until(() => at("#use") || fault());
const said = explorer.text(location.hash), plain = JSON.stringify(said, (_, value) => typeof value === "bigint" ? String(value) : value);
return {fault: fault(), said: JSON.parse(plain), sentence: at("#sentence")?.textContent,
    links: [...document.querySelectorAll("#room table a")].map(item => item.hash),
    bars: document.querySelectorAll("#use rect").length};"""
)


def codes_of(kind: str) -> np.ndarray:
    """Codes of a tensor whose rows differ in size: another one for each kind of file."""
    draw = np.random.Generator(np.random.Philox(len(kind)))
    values = (draw.standard_normal(SHAPE) * np.exp2(np.arange(SHAPE[0]))[:, None]).astype(np.float32)
    values[1, :16] = 0
    if KINDS[kind] == "fp16":
        return values.astype(np.float16).view(np.uint16)
    return values.view(np.uint32) if KINDS[kind] == "fp32" else (values.view(np.uint32) >> 16).astype(np.uint16)


def gguf(tensors: list[tuple[str, tuple[int, ...], int, bytes]]) -> bytes:
    """A GGUF file of version 3 with texts and lists among its metadata; a tensor: name, shape, type, data."""
    text = lambda word: struct.pack("<Q", len(word)) + word.encode()  # noqa: E731
    pairs = text("general.name") + struct.pack("<I", 8) + text("small") + text("general.alignment") + struct.pack("<II", 4, 64)
    pairs += text("words") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b") + text("ids") + struct.pack("<IIQ3i", 9, 5, 3, 1, 2, 3)
    infos, data = b"", b""
    for name, shape, kind, stored in tensors:
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, len(data))
        data += stored + bytes(-len(stored) % 64)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 4) + pairs + infos
    return head + bytes(-len(head) % 64) + data


def written(kind: str, folder: Path) -> Path:
    """A file of a kind with the tensor of codes_of in it, and where the kind has several, others."""
    path, codes = folder / f"small.{kind}", codes_of(kind)
    if kind == "npy":
        np.save(path, codes.view(np.float32))
    elif kind == "safetensors":
        save_file({"a": np.arange(5, dtype=np.int64), "w": codes.view(np.float16), "z": np.ones((2, 3), np.float32)}, path)
    else:
        path.write_bytes(gguf([("q", (32,), 2, bytes(18)), ("w", SHAPE, 30, codes.tobytes())]))
    return path


def expected(kind: str, recipe: str | Recipe) -> dict:
    """Figures by the reference model, in fractions."""
    source, by, rows = get("format", KINDS[kind]), get("recipe", recipe) if isinstance(recipe, str) else recipe, codes_of(kind).tolist()
    made = block.quantize(by, rows, source)
    back = block.dequantize(by, made.codes, made.levels)
    x = [[decode_code(code, source).signed for code in row] for row in rows]
    y = [[decode_code(code, get("format", "fp32")).signed for code in row] for row in back]
    pairs = [(a, b) for left, right in zip(x, y, strict=True) for a, b in zip(left, right, strict=True)]
    xx, xy, error = (
        sum((f(a, b) for a, b in pairs), Fraction(0)) for f in (lambda a, b: a * a, lambda a, b: a * b, lambda a, b: (b - a) ** 2)
    )
    size = get("block", by.facts.block).facts.shape[1]
    lost = [(sum((b - a) ** 2 for a, b in pairs[i : i + size]), -i) for i in range(0, len(pairs), size)]
    worst = [([-i // SHAPE[1], -i % SHAPE[1]], part) for part, i in sorted(lost, reverse=True)[:8]]
    with localcontext(prec=80):
        ratio = xx / error
        level = (10 * (Decimal(ratio.numerator) / ratio.denominator).log10()).quantize(Decimal("0.0001"), ROUND_FLOOR)
        shrunk = (xy - xx) / xx
        cut = Decimal(int(shrunk * 10**9)).scaleb(-9)
    return {"xx": xx, "xy": xy, "error": error, "sqnr": f"{level:.4f} dB", "shrunk": f"{cut:.9f}", "worst": worst,
            "use": Counter(code for row in made.codes for code in row)}  # fmt: skip


def number(said: dict) -> Fraction:
    return int(said["n"]) * Fraction(2) ** said["e"]


def wrong(said: dict, wanted: dict) -> list[str]:
    """Names of the figures on which the page and the reference model differ."""
    use = {int(item["code"], 16): int(item["count"]) for item in said["use"] if int(item["count"])}
    worst = [(json.loads(item["at"]), number(item["error"])) for item in said["worst"]]
    told = {name: number(said[name]) for name in ("xx", "xy", "error")} | {name: said[name] for name in ("sqnr", "shrunk")}
    told |= {"worst": worst, "use": use}
    return [name for name in told if told[name] != wanted[name]]


@pytest.fixture
def tab(page, tmp_path):
    """A tab with the page from a file; open(page) shows another page."""
    with devtools.page(browser()) as opened:
        yield opened


def shown(tab, page: str, folder: Path, file: Path, **state: str) -> dict:
    """What the room says of a file: the list, and with a tensor and a recipe the figures."""
    target = folder / "page.html"
    target.write_text(page, encoding="utf-8")
    tab.open("about:blank")
    tab.open(f"{target.as_uri()}{link('tensor')}")
    tab.choose_file("[name=file]", file)
    listed = tab.ask(LISTED)
    return listed if not state or listed["fault"] else {**listed, **tab.ask(MEASURED.replace("CHOSEN", json.dumps(state)))}


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_the_reference_model(page, tab, tmp_path, kind):
    name, file = "array" if kind == "npy" else "w", written(kind, tmp_path)
    for recipe in ("nvfp4_modelopt", "mxfp4_torchao_floor", "e4m3_tensor_torchao"):  # with the maximum of the tensor, and without
        found, wanted = shown(tab, page, tmp_path, file, recipe=recipe, tensor=name), expected(kind, recipe)
        assert found["fault"] == "" and not wrong(found["said"], wanted), (recipe, found)
        assert sorted(found["names"]) == {"npy": ["", "array"], "safetensors": ["", "w", "z"], "gguf": ["", "w"]}[kind]
        assert f"the SQNR is {wanted['sqnr']}, <y,x>/<x,x> - 1 is {wanted['shrunk']}," in found["sentence"]
        assert found["bars"] == (256 if recipe.startswith("e4m3") else 16)
        assert len(found["links"]) == 8
        (row, column), lost = wanted["worst"][0]
        told = tab.ask(f"const said = explorer.text({json.dumps(found['links'][0])}); return said.codes.map(String);")
        codes = codes_of(kind)[row, column : column + len(told)].tolist()
        values = [decode_code(code, get("format", KINDS[kind])).signed for code in codes]
        assert [decode_code(int(code), get("format", "fp32")).signed for code in told] == values and lost > 0
    assert all(item.startswith(("file:", "blob:", "about:")) for item in tab.requests)


FAULTS = {
    "byte order": ("view.getUint32(4 * i, true)", "view.getUint32(4 * i, false)"),
    "place of the data": ("const at = tensor.at + first * tensor.bytes", "const at = tensor.at + 4 + first * tensor.bytes"),
    "scale of the sums": ("SUM_LOW = -320", "SUM_LOW = -319"),
    "limbs": ("limb << BigInt(32 * i)", "limb << BigInt(31 * i)"),
    "sum of another name": ("xy: sumAt(all, 1)", "xy: sumAt(all, 0)"),
    "maximum lost": ("[Number(amax)]).buffer)) : 0;\n  for", "[1065353216]).buffer)) : 0;\n  for"),
    "decibels": ("for (let i = 0; i < 5; i++)", "for (let i = 0; i < 4; i++)"),
    "counts": ("({code: hex(BigInt(code), width), count", "({code: hex(BigInt(code ^ 1), width), count"),
    "shrinkage": ("(xy.n - xx.n) * 10n", "(xx.n - xy.n) * 10n"),
    "places": ("at: placeText(tensor, row * columns + column), error", "at: placeText(tensor, row * columns), error"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_room_is_noticed(page, tab, tmp_path, fault):
    found = shown(tab, planted(page, *FAULTS[fault]), tmp_path, written("npy", tmp_path), recipe="nvfp4_modelopt", tensor="array")
    assert found["fault"] or wrong(found["said"], expected("npy", "nvfp4_modelopt"))


def test_panels_change_no_figure(page, tab, tmp_path):
    small = page.replace("PANEL = 1 << 16", "PANEL = 48")  # pieces of rows, with 16 elements behind the last whole one
    assert small != page
    found = shown(tab, small, tmp_path, written("npy", tmp_path), recipe="nvfp4_modelopt", tensor="array")
    assert found["fault"] == "" and not wrong(found["said"], expected("npy", "nvfp4_modelopt"))


@pytest.mark.parametrize(("recipe", "columns"), [("nvfp4_modelopt", 66_005), ("mxfp4_torchao_floor", 66_016)])
def test_rows_of_many_elements_are_measured(page, tab, tmp_path, recipe, columns):
    x = np.random.Generator(np.random.Philox(9)).standard_normal(
        (2, columns), np.float32
    )  # beyond a panel, and beyond what C takes at once
    np.save(tmp_path / "wide.npy", x)
    found = shown(tab, page, tmp_path, tmp_path / "wide.npy", recipe=recipe, tensor="array")
    made = emu.quantize(x, recipe, engine="numpy")
    y = made.dequantize(np.float32, engine="numpy")
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)]
    assert found["fault"] == "" and number(found["said"]["xx"]) == sum(a * a for a, _ in pairs)
    assert number(found["said"]["error"]) == sum((b - a) ** 2 for a, b in pairs)
    assert [int(item["count"]) for item in found["said"]["use"]] == np.bincount(made.codes[:, :columns].ravel(), minlength=16).tolist()


def held(process: int) -> int:
    """Bytes of memory of its own that a process and all that it started hold."""
    parents, bytes_of = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            words = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            parents[int(words["Pid"])] = int(words["PPid"])
            bytes_of[int(words["Pid"])] = 1024 * int(words.get("RssAnon", "0 kB").split()[0])
    mine = {process}
    while more := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(bytes_of.get(each, 0) for each in mine)


@pytest.mark.cases(0, 0)  # minutes: with EMU_ALL=1
@pytest.mark.parametrize("rows", [1 << 18])
def test_four_gigabytes_take_no_more_memory_than_slices(page, tab, tmp_path, monkeypatch, rows):
    """A file with holes, 4 GiB long: numbers before and behind 2^31 and 2^32 bytes are found, and memory grows by less than 300 MB."""
    file, places = tmp_path / "large.npy", (0, (1 << 17) - 1, 1 << 17, rows - 1)
    x = np.random.Generator(np.random.Philox(3)).standard_normal((len(places), 4096), np.float32)
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (rows, 4096)})
        begin = stream.tell()
        for place, row in zip(places, x, strict=True):
            stream.seek(begin + place * row.nbytes)
            stream.write(row.tobytes())
    assert file.stat().st_size == begin + (1 << 32)
    made = emu.quantize(x, "mxfp4_torchao_floor", engine="numpy")
    counts = np.bincount(made.codes.ravel(), minlength=16)
    counts[0] += (rows - len(places)) * 4096
    monkeypatch.setattr(devtools, "WAIT", 3600)
    monkeypatch.setattr(sys.modules[__name__], "MEASURED", MEASURED.replace("i < 600", "i < 72000"))
    before, most, done = held(tab.browser.process.pid), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            most[0] = max(most[0], held(tab.browser.process.pid) - before)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        found = shown(tab, page, tmp_path, file, recipe="mxfp4_torchao_floor", tensor="array")
    finally:
        done.set()
        watching.join()
    assert found["fault"] == "" and number(found["said"]["xx"]) == sum(Fraction(each) ** 2 for each in x.ravel().tolist())
    assert [int(item["count"]) for item in found["said"]["use"]] == counts.tolist()
    assert 0 < most[0] < 300_000_000, most


def test_a_row_that_ends_inside_a_block_is_refused_where_the_recipe_does(page, tab, tmp_path):
    np.save(tmp_path / "odd.npy", np.ones((2, 40), np.float32))
    found = shown(tab, page, tmp_path, tmp_path / "odd.npy", recipe="mxfp4_torchao_floor", tensor="array")
    assert found["fault"] == "array: rows of 40 elements: mxfp4_torchao_floor takes whole blocks of 32 only"


def test_high_bytes_first_and_float64_are_read(page, tab, tmp_path):
    values = codes_of("npy").view(np.float32)
    for name, array in (("big", values.astype(">f4")), ("wide", values.astype("<f8"))):
        np.save(tmp_path / f"{name}.npy", array)
        found = shown(tab, page, tmp_path, tmp_path / f"{name}.npy", recipe="nvfp4_modelopt", tensor="array")
        assert found["fault"] == "" and not wrong(found["said"], expected("npy", "nvfp4_modelopt")), name


SAVED = """let saved = null; const kept = URL.createObjectURL;
URL.createObjectURL = blob => { if (blob.type === "image/svg+xml") saved = blob; return kept.call(URL, blob); };
document.querySelector("#save").click(); const told = {figure: await saved.text()};
for (const kind of ["shell", "python", "c", "row"]) { document.querySelector(`#copy-${kind}`).click(); told[kind] = explorer.copied(); }
return {...told, fault: document.querySelector("#fault").textContent};"""


@pytest.mark.parametrize("kind", ["npy", "safetensors"])
def test_what_is_copied_and_saved_of_a_tensor_is_whole(page, tab, tmp_path, kind):
    file, name, recipe = written(kind, tmp_path), "array" if kind == "npy" else "w", "nvfp4_modelopt"
    wanted, found = expected(kind, recipe), shown(tab, page, tmp_path, file, recipe=recipe, tensor=name)
    said = tab.ask(SAVED)
    figure = ET.fromstring(said["figure"])
    assert found["fault"] == said["fault"] == "" and figure.tag == "{http://www.w3.org/2000/svg}svg" and "var(" not in said["figure"]
    assert len(figure.findall("{http://www.w3.org/2000/svg}rect")) == 16 and "font-family" in said["figure"]
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    sums, use = subprocess.run([sys.executable, "-c", said["python"]], **run).stdout.splitlines()
    assert sums == f"sums of x², x y, (y - x)²: {' '.join(repr(float(wanted[key])) for key in ('xx', 'xy', 'error'))}"
    assert json.loads(use.partition(": ")[2]) == [wanted["use"][code] for code in range(16)]
    counts = dict(line.split() for line in compiled_and_run(said["c"], tmp_path).splitlines())
    assert {int(code, 16): int(count) for code, count in counts.items()} == dict(wanted["use"])
    call = {**run, "env": {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}}
    assert recipe in subprocess.run(["bash", "-e", "-c", said["shell"]], **call).stdout
    assert lossy(said["row"], found["said"], recipe)


def lossy(rows: str, said: dict, recipe: str) -> bool:
    """Whether copied rows hold the blocks that lose most, and the codes of the reference model."""
    contract = parse(f"quantize/{recipe}")
    names = [column.name for column in contract.layout.columns]
    for line, lost in zip(rows.splitlines(), said["worst"], strict=True):
        words = [int(word, 16) for word in line.split()[1:]]
        x = [*unpack(words[names.index("x")], contract.layout.columns[names.index("x")])]
        made = row_of(contract, [words[names.index(column.name)] for column in contract.layout.inputs])
        if x != [int(code, 16) for code in lost["x"]] or line != made:
            return False
    return len(said["worst"]) > 0


def row_of(contract, inputs: list[int]) -> str:
    """The row with these inputs by the reference model."""
    values = tuple(inputs)
    return row_lines(contract.layout, [make_row(contract.layout, Input("", (), values), contract.exact(values))])[0]


OWN = (
    WAIT
    + """at("#edit").click(); await until(() => at("[name=own]"));
const change = (name, value) => { at(`[name=${name}]`).value = value;
    at(`[name=${name}]`).dispatchEvent(new Event("change", {bubbles: true})); };
change("own", at("[name=own]").value.replace(FROM, TO)); await until(() => at("#use") || fault());
const copied = ["python", "c", "shell", "row"].map(kind => { document.querySelector(`#copy-${kind}`).click(); return explorer.copied(); });
const said = explorer.text(location.hash), plain = JSON.stringify(said, (_, value) => typeof value === "bigint" ? String(value) : value);
return {fault: fault(), copied, said: JSON.parse(plain), recipe: at("[name=recipe]").value, own: at("[name=own]").value,
    link: document.querySelector("#room table a").hash};"""
)


def own_figures(tab, page: str, folder: Path) -> dict:
    # The floor rule of torchao is edited into the ceil rule: figures of a recipe that only the descriptor has.
    shown(tab, page, folder, written("npy", folder), recipe="mxfp4_torchao_floor", tensor="array")
    return tab.ask(OWN.replace("FROM", '"e8m0_rule floor"').replace("TO", '"e8m0_rule ceil"'))


def test_a_recipe_of_ones_own_is_measured(page, tab, tmp_path):
    found = own_figures(tab, page, tmp_path)
    model = get("recipe", "mxfp4_torchao_floor")
    steps = tuple(step.model_copy(update={"rule": "ceil"}) if step.op == "e8m0_rule" else step for step in model.facts.steps)
    edited = model.model_copy(update={"facts": model.facts.model_copy(update={"steps": steps})})
    wanted = expected("npy", edited)
    assert found["fault"] == "" and found["recipe"] == "mine" and not wrong(found["said"], wanted)
    assert wrong(found["said"], expected("npy", "mxfp4_torchao_floor"))
    python, c, shell, row = found["copied"]
    done = subprocess.run([sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert done[0].partition(": ")[2] == " ".join(repr(float(wanted[key])) for key in ("xx", "xy", "error"))
    counts = dict(line.split() for line in compiled_and_run(c, tmp_path).splitlines())
    assert {int(code, 16): int(count) for code, count in counts.items()} == dict(wanted["use"])
    assert json.loads(done[1].partition(": ")[2]) == [wanted["use"][code] for code in range(16)]
    assert [line for line in ran(shell, tmp_path) if line.startswith("a ")] == row.splitlines() and len(row.splitlines()) > 3
    (tmp_path / "again").mkdir()
    (there,) = texts(page, [found["link"]], tmp_path / "again")
    assert there["a"]["id"] == "mine" and "refused" not in there


def test_a_page_that_measures_another_recipe_is_noticed(page, tab, tmp_path):
    found = own_figures(tab, planted(page, "recipe: state.recipe, own: state.own});", 'recipe: "mxfp4_torchao_floor"});'), tmp_path)
    assert found["fault"] == "" and not wrong(found["said"], expected("npy", "mxfp4_torchao_floor"))


def damaged(folder: Path) -> dict[str, tuple[bytes, str]]:
    """Files that are none: bytes, and what the page says."""
    npy, tensors, ggml = (written(kind, folder).read_bytes() for kind in ("npy", "safetensors", "gguf"))
    length = int.from_bytes(tensors[:8], "little")
    return {
        "empty": (b"", "0 bytes: give a .safetensors, .npy or .gguf file"),
        "text": (b"hello, this is no tensor file", "its first bytes are those of no .safetensors, .npy or .gguf file"),
        "npy cut": (npy[:-1], "it is cut off"),
        "npy header": (npy[:40], "the file ends inside its header"),
        "npy version": (npy[:6] + b"\x09" + npy[7:], ".npy of version 9.0"),
        "npy objects": (npy.replace(b"'<f4'", b"[   ]"), "no plain type, order and shape"),
        "npy columns": (npy.replace(b"False", b"True "), "save numpy.ascontiguousarray of it"),
        "tensors cut": (tensors[:-1], "it is cut off"),
        "tensors header": (tensors[:30], "bytes, of a file of 30"),
        "tensors long": ((1 << 62).to_bytes(8, "little") + tensors[8:], "no length or place of a file"),
        "tensors no json": (tensors[:8] + b"{" * length + tensors[8 + length :], "it is no JSON"),
        "tensors shape": (tensors.replace(b"[6,64]", b"[6,63]"), "of shape 6 x 63 and dtype F16 has 768 bytes"),
        "tensors minus": (tensors.replace(b"[6,64]", b"[-6,4]"), "has no dtype, shape and data_offsets"),
        "gguf cut": (ggml[:-100], "it is cut off"),
        "gguf header": (ggml[:60], "the file ends inside its header"),
        "gguf version": (ggml[:4] + b"\x01" + ggml[5:], "GGUF of version 1"),
        "gguf many": (ggml[:8] + b"\xff" * 8 + ggml[16:], "no length or place of a file"),
    }  # fmt: skip


def test_damaged_files_get_one_line(page, tab, tmp_path):
    for name, (data, said) in damaged(tmp_path).items():
        (tmp_path / "given.bin").write_bytes(data)
        found = shown(tab, page, tmp_path, tmp_path / "given.bin")
        assert found["fault"].startswith("given.bin: ") and said in found["fault"] and "\n" not in found["fault"], (name, found)
        assert found["names"] == [] and "sentence" not in found
    assert shown(tab, page, tmp_path, written("npy", tmp_path))["fault"] == ""  # the room takes the next file


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, np.nan] + [0.0] * 14, "element [1] is NaN: figures need finite values"),
        ([-np.inf] + [0.0] * 15, "element [0] is -infinity"),
        (np.float64([0.1] * 16), "convert the tensor to float32 first"),
    ],
)
def test_what_has_no_figures_is_said(page, tab, tmp_path, values, said):
    np.save(tmp_path / "odd.npy", np.asarray(values, np.float64 if "float32" in said else np.float32))
    found = shown(tab, page, tmp_path, tmp_path / "odd.npy", recipe="nvfp4_modelopt", tensor="array")
    assert said in found["fault"]
