"""The order of nibbles and of scales: claimed only where the file, the count of its bytes or its padding say it; else both are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from emu import quantize
from emu.arrays.rows import pack_codes
from emu.base.errors import FileError, OpenError
from emu.checkpoint import identify_files
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.dequantized import read_weight
from emu.checkpoint.facts import element_bits, grid_of, kind_of, known_orders, known_packings, stored_bits
from emu.checkpoint.layout import stated_orders
from emu.checkpoint.read import StoredTensor, in_bytes, open_tensor, undecided
from emu.checkpoint.store import matches
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run
from emu.engines.numpy.layout import places
from emu.spec import get, names

Write = Callable[..., Path]
SHAPE, SMALL = (128, 256), (8, 128)  # without padding in any order of scales; with padding in tiles
ALL = [get("checkpoint", name) for name in names("checkpoint")]
SILENT = [store for store in ALL if store.facts.codes is not None and store.facts.told_by == "names"]  # files need not say whose they are
KITCHEN_SCALES = ("7B7A7C7E", "7B7B7B7C")
KITCHEN_CODES = (
    "B48B2BEECB15476976B362635A3A5F36403CCA95C5EC06BF20DDB14E70A4175AABA4C7895FD4003C9EF6DC66BB8D4115476F5DE4CA6CD264EC97556A33D04D44"
)
KITCHEN_X = (
    "BEDE3F3BBBD4BF023E7CBEFCBFC3BF8DBF44BEDD3E0B3F733F173FE93FA8BE163FD93F9DBED23EB63F923E933F883EE23F40"
    "BE8B3EDABEA23F39BFD23EC33FA63F213CB13F16BF4CBF49BEA0BDCE3F82BF593F86BFC3BF3D3C253F9ABF11C0063EEF3C90"
    "BF85BF7FBF263E143F36BFB740153C06BEA73F383E1E40183F92BEA6BEB1BEE8BE983F38BF1A3FD4BD1BBDD03F7EBFF8BF64"
    "3F243D603CFD3EE1BF0FBE03BFA9BFEB3FA7BF64BF2D3FB83F8DBEF9BEFBBD2BBF6A3F173E3D3E2D3F4B3F423FF13FC7BFD6"
    "3F70BF8ABFB23F40BF2ABE8E3F8EBF20BF5B3EBB3FA13F11BFC2BF1DBDE93FFC3F6F3F643F9FBE8B3F053F07BF703CB23F1A"
    "BF853F593F4C"
)
WORDS = {"U8": 1, "U16": 2, "U32": 4, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "BF16": 2, "F32": 4}


class Case(NamedTuple):
    """A store, and orders in which a file with its names may be written."""

    store: Any
    packing: str
    layout: str


CASES = [
    Case(store, packing, layout)
    for store in SILENT
    for packing in (known_packings(4) if stored_bits(store) == 4 else (store.facts.packing,))
    for layout in (known_orders() if in_bytes(store) else ("row_major",))
]
NAMED = [f"{case.store.id}-{case.packing}-{case.layout}" for case in CASES]


def swapped(codes: Any) -> Any:
    return codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)


def written(case: Case, write: Write, path: Path, shape: tuple[int, int]) -> tuple[Path, Any, Any]:
    """A file with the names of a store, in the orders of a case, that does not say whose it is; its codes and scales."""
    store, facts, rng = case.store, case.store.facts, np.random.default_rng(1)
    grid, bits = grid_of(store, shape), element_bits(get("block", facts.blocks[0]))
    codes = rng.integers(0, 1 << bits, shape, np.uint8) & (0xF7 if bits == 8 else 0xFF)  # no NaN of E4M3
    packed = pack_codes(swapped(codes) if case.packing == "high_nibble_first" else codes, stored_bits(store))
    if facts.codes.grouped == "yes":
        packed = packed.reshape(shape[0], grid.columns, -1)
    word = facts.codes.dtypes[0]
    tensors = {f"m{facts.codes.suffixes[0]}": (word, (*packed.shape[:-1], packed.shape[-1] // WORDS[word]), packed)}
    for level in facts.levels:
        size = WORDS[level.dtypes[0]]
        if level.meaning != "scale":
            tensors[f"m{level.suffixes[0]}"] = (level.dtypes[0], (), np.array([1], "<f4"))
            continue
        sides = grid.rows, grid.columns
        scales = rng.integers(0x38, 0x40, sides, np.uint8) if size == 1 else np.ones(sides, "<f4")
        raw = scales if size != 2 else np.full(scales.shape, 0x3F80, "<u2")
        if case.layout != "row_major":
            at = places(grid.rows, grid.columns, get("layout", case.layout))
            raw = np.zeros((-(-grid.rows // 128) * 128, -(-grid.columns // 4) * 4), np.uint8)
            raw.reshape(-1)[at] = scales
        tensors[f"m{level.suffixes[0]}"] = (level.dtypes[0], raw.shape, raw)
    return write(path, tensors), codes, scales


def opened(path: Path, **stated: str | None) -> StoredTensor:
    container = open_checkpoint(path)
    found = open_tensor(container, matches(container)[0], stated_orders(stated.get("packing"), stated.get("layout")))
    assert isinstance(found, StoredTensor)
    return found


@pytest.mark.cases(30)
@pytest.mark.parametrize("case", CASES, ids=NAMED)
def test_an_order_that_nothing_tells_is_never_claimed(case: Case, write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, codes, scales = written(case, write, tmp_path / "in" / "model.safetensors", SHAPE)
    (report,) = identify_files(path).tensors
    nibbles, tiles = stored_bits(case.store) == 4, in_bytes(case.store)
    assert report.packing_verdict == ("not separated" if nibbles else "separated")
    assert report.layout_verdict == ("not separated" if tiles else "separated")
    assert set(report.orders_left["packing"]) == set(known_packings(4) if nibbles else [case.packing])
    assert set(report.orders_left["scale_layout"]) == set(known_orders() if tiles else ["row_major"])
    text = identify_files(path).text()
    assert ("  nibbles low_nibble_first or high_nibble_first: not separated (" in text) == nibbles and ("sf128x4" in text) == tiles
    target = next((item for item in ALL if item.facts.write is not None and kind_of(item) == kind_of(case.store)), None)
    if target is None or not (nibbles or tiles):
        return  # fouroversix_if4, which no store can take
    words = ["convert-checkpoint", str(path), "--to", target.id, "--out", str(tmp_path / "new"), "--round-factor"]
    assert run(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith(f"emu: {path}: {report.name}: neither the file nor its bytes say ")
    assert ("--packing low_nibble_first or high_nibble_first" in error) == nibbles and ("--scale-layout " in error) == tiles
    with pytest.raises((FileError, OpenError), match=r"neither the file nor its bytes say|in which steps its library reads"):
        read_weight(path, report.name)
    more = ["--packing", case.packing] * nibbles + ["--scale-layout", case.layout.removeprefix("sf")] * tiles
    assert run([*words, *more]) == 0
    stated = {"packing": case.packing if nibbles else None, "layout": case.layout if tiles else None}
    for tensor in (opened(path, **stated), opened(tmp_path / "new")):
        rows = list(tensor.chunks())
        assert np.array_equal(np.concatenate([part.codes for part in rows]), codes)
        assert np.array_equal(np.concatenate([part.scales for part in rows]), scales)
    own = (case.packing, case.layout) == (case.store.facts.packing, case.store.facts.scale_layouts[0])
    assert run(["verify-checkpoint", str(tmp_path / "new"), "--original", str(path)]) == (0 if own else 3)
    assert run(["verify-checkpoint", str(tmp_path / "new"), "--original", str(path), *more]) == 0


@pytest.mark.parametrize("case", [case for case in CASES if in_bytes(case.store)], ids=lambda case: f"{case.store.id}-{case[1]}-{case[2]}")
def test_the_count_of_bytes_tells_tiles_with_padding_from_rows(case: Case, write: Write, tmp_path: Path) -> None:
    path, _, scales = written(case, write, tmp_path / "model.safetensors", SMALL)
    tensor = opened(path)
    assert (tensor.order.layout, tensor.order.verdict, tensor.order.others) == (case.layout, "separated", ())
    (rows,) = tensor.chunks()
    assert np.array_equal(rows.scales, scales)
    other = next(name for name in known_orders() if name != case.layout)
    assert str(undecided(tensor, stated_orders(None, other))).startswith(f"{other} is stated, it is {case.layout} (")


def comfy(x: Any, write: Write, path: Path, how: str) -> Path:
    """A file of ComfyUI: the high nibble first, scales in tiles. how: by which it says so, in the header or in a tensor."""
    found = quantize(x, "nvfp4_comfy")
    at = places(*found.scales.shape, get("layout", "sf128x4"))
    scales = np.zeros((-(-len(x) // 128) * 128, -(-found.scales.shape[1] // 4) * 4), np.uint8)
    scales.reshape(-1)[at] = found.scales
    said = json.dumps({"format": "nvfp4"}).encode()
    packed = pack_codes(swapped(found.codes), 4)
    tensors = {"m.weight": ("U8", packed.shape, packed), "m.weight_scale": ("F8_E4M3", scales.shape, scales),
               "m.weight_scale_2": ("F32", (), found.tensor_scale)}  # fmt: skip
    if how == "tensor":
        tensors["m.comfy_quant"] = ("U8", (len(said),), np.frombuffer(said, np.uint8))
    header = {"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": {"m": {"format": "nvfp4"}}})}
    return write(path, tensors, header if how == "header" else None)


@pytest.mark.parametrize("how", ["header", "tensor"])
@pytest.mark.parametrize("rows", [2, 128])
def test_a_file_of_comfyui_is_read_in_its_own_orders(how: str, rows: int, write: Write, tmp_path: Path, make_files: Any) -> None:
    x = make_files.weight("m", rows, 128)
    path = comfy(x, write, tmp_path / "model.safetensors", how)
    before = write(tmp_path / "x.safetensors", {"m.weight": ("BF16", x.shape, x.view("<u2"))})
    report = identify_files(path, before)
    assert report.stores == {"comfy_nvfp4": 1} and report.exit_code == 0 and "nvfp4_comfy" in report.recipes
    assert verify_checkpoint(path, before).exit_code == 0
    assert convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "new").lossless
    wanted, (found,) = quantize(x, "nvfp4_comfy"), opened(tmp_path / "new").chunks()
    assert np.array_equal(found.codes, wanted.codes) and np.array_equal(found.scales, wanted.scales)


def test_what_comfy_kitchen_wrote_is_read_back(write: Write, tmp_path: Path) -> None:
    """Bytes of comfy-kitchen 0.2.40, eager quantize_nvfp4, of a weight [2, 64]."""
    x = np.frombuffer(bytes.fromhex(KITCHEN_X), ">u2").astype("<u2").reshape(2, 64)
    scales = np.zeros((128, 4), np.uint8)
    for row, first in ((0, 0), (1, 16)):
        scales.reshape(-1)[first : first + 4] = list(bytes.fromhex(KITCHEN_SCALES[row]))
    codes = np.frombuffer(bytes.fromhex(KITCHEN_CODES), np.uint8)
    tensors = {"m.weight": ("U8", (2, 32), codes), "m.weight_scale": ("U8", (128, 4), scales),
               "m.weight_scale_2": ("F32", (), np.array(0x3A679E7A, "<u4"))}  # fmt: skip
    path = write(tmp_path / "model.safetensors", tensors, {"_quantization_metadata": json.dumps({"layers": {"m": {"format": "nvfp4"}}})})
    report = identify_files(path, write(tmp_path / "x.safetensors", {"m.weight": ("BF16", (2, 64), x)}))
    assert report.stores == {"comfy_nvfp4": 1} and report.exit_code == 0 and "nvfp4_comfy" in report.recipes


@pytest.mark.parametrize("layers", ["{}", '{"layers": {"m": {"format": "awq_w4a16"}}}', "[]", "text"])
def test_words_of_comfyui_are_never_taken_for_modelopt(layers: str, write: Write, tmp_path: Path, make_files: Any) -> None:
    path = comfy(make_files.weight("m", 128, 128), write, tmp_path / "model.safetensors", "tensor")
    raw = path.read_bytes().replace(b'{"format": "nvfp4"}', b'{"format": "other"}')
    path.write_bytes(raw)
    assert identify_files(path).stores == {}
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length]) | {"__metadata__": {"_quantization_metadata": layers}}
    header = {name.replace("comfy_quant", "other"): about for name, about in header.items()}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])
    assert identify_files(path).stores == {}


def test_an_order_that_no_store_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--packing", "--scale-layout"):
        assert run(["verify-checkpoint", str(tmp_path), option, "sideways"]) == 2
        assert f"emu: {option} sideways: no store has that order: one of " in capsys.readouterr().err
