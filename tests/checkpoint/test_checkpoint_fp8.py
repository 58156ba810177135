"""E4M3 under real scales of a tensor, a row or a tile: read, held against the values of libraries, written, refused where they depart."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file

from emu.base.errors import FileError, OpenError, SpecError
from emu.checkpoint import convert, identify_files, read, requantize
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.dequantized import read_weight
from emu.checkpoint.read import StoredTensor, open_tensor
from emu.checkpoint.store import matches
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run

At = Callable[[str], Path]
Q = "model.layers.0.self_attn.q_proj"
CT = "compressed_tensors_fp8"
RECORDED = (f"{CT}_tensor", f"{CT}_row", f"{CT}_row_fp32", f"{CT}_block", "torchao_fp8_row", "torchao_fp8_tensor", "deepseek_fp8")
NAN = 0x7FC00000


def opened(path: Path) -> dict[str, StoredTensor]:
    container = open_checkpoint(path)
    found = [open_tensor(container, fitting) for fitting in matches(container)]
    assert all(isinstance(item, StoredTensor) for item in found), found
    return {item.name: item for item in found if isinstance(item, StoredTensor)}


def stored(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    container = open_checkpoint(path)
    return {name: (entry.dtype, entry.shape, container.raw(entry).tobytes()) for name, entry in container.entries.items()}


def element(code: int) -> Fraction:
    field, rest = code >> 3 & 15, code & 7
    magnitude = Fraction(8 * bool(field) + rest, 8) * Fraction(2) ** (max(field, 1) - 7)
    return -magnitude if code >> 7 else magnitude


def exact(path: Path, tall: int, wide: int) -> dict[str, list[Fraction]]:
    """Values of the weights, by hand from the bytes. tall, wide: elements that share a scale; 0: all."""
    files, found = stored(path), {}
    for name, (word, shape, codes) in files.items():
        scale = next((key for key in (f"{name}_scale", f"{name}_scale_inv", name.replace("_qdata", "_scale")) if key in files), None)
        if word != "F8_E4M3" or scale is None:
            continue
        raw = files[scale][2]
        bits = np.frombuffer(raw, "<u2").astype(np.uint32) << np.uint32(16) if files[scale][0] == "BF16" else np.frombuffer(raw, "<u4")
        scales = [Fraction(float(item)) for item in bits.view(np.float32)]
        rows, columns = shape
        down, along = tall or rows, wide or columns
        across = -(-columns // along)
        found[name.replace("._weight_qdata", ".weight")] = [
            element(codes[row * columns + place]) * scales[row // down * across + place // along]
            for row in range(rows)
            for place in range(columns)
        ]
    return found


SIDES = {"tensor": (0, 0), "row": (1, 0), "block": (128, 128)}


def sides(store: str) -> tuple[int, int]:
    return SIDES["block" if store == "deepseek_fp8" else store.removesuffix("_fp32").rpartition("_")[2]]


def test_every_recorded_file_is_read_here() -> None:
    files = {path.stem for path in (Path(__file__).parent / "files").glob("*_fp8*.json")}
    assert files == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_a_file_of_a_library_is_known_and_whole(recorded: At, name: str) -> None:
    report = identify_files(recorded(name))
    assert set(report.stores) == {name} and report.exit_code == 0 and set(report.declared) == {name}
    assert not any(tensor.also_fits for tensor in report.tensors if sides(name) != (0, 0))
    scales = {f"{CT}_tensor": 1, "torchao_fp8_tensor": 1, f"{CT}_block": 4, "deepseek_fp8": 2}.get(name, 8)
    assert {tensor.blocks for tensor in report.tensors} == {scales}
    assert verify_checkpoint(recorded(name)).exit_code == 0
    assert "recipe without the original: not told by the bytes alone" in report.text()


@pytest.mark.parametrize("name", RECORDED[:3] + RECORDED[4:6])
def test_a_library_reads_back_what_its_rule_gives(recorded: At, tmp_path: Path, name: str) -> None:
    """Values in the type of the weights, as the library itself gave them, kept in binary32."""
    path = tmp_path / "values.safetensors"
    path.write_bytes((recorded(name) / "values.safetensors.read").read_bytes())
    wanted = load_file(path)[f"{Q}.weight"]
    short = name in (f"{CT}_tensor", f"{CT}_row")
    found = read_weight(recorded(name), f"{Q}.weight", ml_dtypes.bfloat16 if short else np.float32)
    assert np.array_equal(found.astype(np.float32).view("<u4"), wanted.view("<u4")) and len(np.unique(wanted)) > 100
    report = identify_files(recorded(name), dequantized=path)
    tensor = next(item for item in report.tensors if item.name == f"{Q}.weight")
    verdicts = {item.recipe.rpartition(" ")[2]: item.verdict for item in tensor.profiles}
    own = "bf16" if short else "fp32"
    assert verdicts[own] == "identified" and set(verdicts) == {"fp32", "bf16"}
    if name.endswith(("row", "row_fp32")):
        assert set(verdicts.values()) == {"identified", "separated"}


@pytest.mark.parametrize("name", RECORDED)
def test_values_are_those_of_the_bytes(recorded: At, name: str) -> None:
    """Exact products, rounded once by the test's own code; the cut tiles of 130 x 136 among them."""
    for weight, values in exact(recorded(name), *sides(name)).items():
        found = read_weight(recorded(name), weight)
        if name in (f"{CT}_row", f"{CT}_block", f"{CT}_tensor"):  # products in bfloat16: 8 bits of a quotient that is not cut
            wanted = np.array([float(value) for value in values], np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
        else:
            wanted = np.array([float(value) for value in values], np.float32)
        assert np.array_equal(found.reshape(-1) + np.float32(0), wanted + np.float32(0)) and found.shape[1] in (128, 136, 256)


LOSSLESS = [
    *((f"{CT}_tensor", to) for to in (f"{CT}_row", f"{CT}_row_fp32", f"{CT}_block", f"{CT}_tensor_fp32", "deepseek_fp8", "modelopt_fp8")),
    (f"{CT}_row", f"{CT}_row_fp32"), (f"{CT}_row", "torchao_fp8_row"), (f"{CT}_row_fp32", "torchao_fp8_row"),
    (f"{CT}_block", "deepseek_fp8"), (f"{CT}_block", f"{CT}_block_fp32"), ("deepseek_fp8", f"{CT}_block_fp32"),
    ("torchao_fp8_row", f"{CT}_row_fp32"), ("torchao_fp8_tensor", "modelopt_fp8"), ("torchao_fp8_tensor", "deepseek_fp8"),
    ("torchao_fp8_tensor", "torchao_fp8_row"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "to"), LOSSLESS)
def test_the_same_numbers_in_another_store(recorded: At, tmp_path: Path, name: str, to: str) -> None:
    assert convert_checkpoint(recorded(name), to, tmp_path / "new").lossless
    after = exact(tmp_path / "new", *(SIDES["tensor"] if to == "modelopt_fp8" else sides(to)))
    assert after == exact(recorded(name), *sides(name)) and after
    report = identify_files(tmp_path / "new")
    assert set(report.stores) == {to} and report.exit_code == 0
    for one, two in ((tmp_path / "new", recorded(name)), (recorded(name), tmp_path / "new")):
        assert (found := verify_checkpoint(one, two)).exit_code == 0 and found.compared == len(after)


@pytest.mark.parametrize(("name", "to"), LOSSLESS)
def test_other_numbers_in_another_store(recorded: At, tmp_path: Path, parts: Any, write: Any, name: str, to: str) -> None:
    """One bit of a code, then of the last scale, is changed after a conversion; either file may be the original."""
    convert_checkpoint(recorded(name), to, tmp_path / "new")
    tensors = parts(tmp_path / "new" / "model.safetensors")
    header = {key: json.dumps(value) for key, value in open_checkpoint(tmp_path / "new").metadata.items()}
    for suffix, says in (("qdata" if "torchao" in to else "weight", "1 codes and 0 scales"), ("scale", "0 codes and ")):
        key = next(key for key in sorted(tensors) if key.removesuffix("_inv").endswith(suffix))
        tensors[key][2][-2 if suffix == "scale" else -1] ^= 1
        write(tmp_path / "new" / "model.safetensors", tensors, header if "torchao" in to else None)
        for one, two in ((tmp_path / "new", recorded(name)), (recorded(name), tmp_path / "new")):
            found = verify_checkpoint(one, two)
            assert (
                found.exit_code == 1
                and len(found.faults) == 1
                and (says in found.faults[0].what or "are no numbers of" in found.faults[0].what)
            )
        tensors[key][2][-2 if suffix == "scale" else -1] ^= 1


@pytest.mark.parametrize(("kind", "shape"), [("tensor", ()), ("row", (4, 1))])
@pytest.mark.parametrize(("bits", "fine"), [(0x3F800000, True), (0x3F800001, False), (0x3F7FFFFF, False)])
def test_a_scale_that_would_round_to_the_other_is_another(
    tmp_path: Path, write: Any, kind: str, shape: tuple[int, ...], bits: int, fine: bool
) -> None:
    long = made(write, tmp_path / "long.safetensors", (4, 8), np.full(shape, bits, np.uint32), beside="_scale")
    short = made(write, tmp_path / "short.safetensors", (4, 8), np.full((4, 1), 0x3F80, np.uint16), "BF16", "_scale")
    for one, two in ((short, long), (long, short)):
        assert verify_checkpoint(one, two).exit_code == (0 if fine else 1)


@pytest.mark.parametrize("name", RECORDED)
def test_a_store_writes_the_bytes_of_its_library(recorded: At, tmp_path: Path, name: str) -> None:
    assert convert_checkpoint(recorded(name), name, tmp_path / "new").lossless
    assert stored(tmp_path / "new") == stored(recorded(name))
    header = [open_checkpoint(path).metadata.get(f"{Q}.weight") for path in (tmp_path / "new", recorded(name))]
    for said in header if name.startswith("torchao") else ():
        said["_data"]["dtype"] = None  # the type of the weights, which no part of the file shows
    assert header[0] == header[1] and (header[0] is not None) == name.startswith("torchao")


def made(write: Any, path: Path, shape: tuple[int, int], scales: Any, word: str = "F32", beside: str = "_scale_inv") -> Path:
    """A file with one weight: codes that count up and skip NaN."""
    codes = np.arange(shape[0] * shape[1], dtype=np.int64) % 251
    codes = np.where(codes % 128 == 127, 1, codes).astype(np.uint8)
    return write(path, {"m.weight": ("F8_E4M3", shape, codes), f"m.weight{beside}": (word, scales.shape, scales)})


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (127, 127), (128, 128), (129, 128), (128, 129), (256, 257), (257, 255)])
def test_tiles_are_cut_at_the_edges(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch, rows: int, columns: int) -> None:
    """128 rows are read at a time here, as tall as a tile."""
    monkeypatch.setattr(read, "CHUNK", 1)
    grid = (-(-rows // 128), -(-columns // 128))
    scales = (1 + np.arange(grid[0] * grid[1]).reshape(grid) / 8).astype(np.float32)
    source = made(write, tmp_path / "in.safetensors", (rows, columns), scales)
    assert convert_checkpoint(source, "deepseek_fp8", tmp_path / "same").lossless
    assert stored(tmp_path / "same") == stored(source)
    convert_checkpoint(source, f"{CT}_block", tmp_path / "short")
    word, shape, data = stored(tmp_path / "short")["m.weight_scale"]
    assert (word, shape, data) == ("BF16", grid, scales.astype(ml_dtypes.bfloat16).tobytes())
    assert convert_checkpoint(tmp_path / "short", "deepseek_fp8", tmp_path / "back").lossless
    assert stored(tmp_path / "back") == stored(source)
    tensor = opened(source)["m.weight"]
    found = np.concatenate([part.scales for part in tensor.chunks()])
    assert np.array_equal(found, np.repeat(scales.view(np.uint32), 128, axis=0)[:rows]) and tensor.grid[2:] == grid


@pytest.mark.parametrize("rows", [127, 128, 129, 257])
def test_rows_and_tensors_over_a_chunk(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(read, "CHUNK", 1)
    one = made(write, tmp_path / "one.safetensors", (rows, 3), np.array([0.75], np.float32), beside="_scale")
    convert_checkpoint(one, f"{CT}_row", tmp_path / "rows")
    assert stored(tmp_path / "rows")["m.weight_scale"] == ("BF16", (rows, 1), np.full(rows, 0x3F40, "<u2").tobytes())
    convert_checkpoint(one, "torchao_fp8_tensor", tmp_path / "one")
    assert stored(tmp_path / "one")["m._weight_scale"] == ("F32", (1, 1), np.array([0.75], "<f4").tobytes())
    assert open_checkpoint(tmp_path / "one").metadata["m.weight"]["_data"]["block_size"] == [rows, 3]
    each = (1 + np.arange(rows) / 1024).astype(np.float32).reshape(-1, 1)
    many = made(write, tmp_path / "many.safetensors", (rows, 3), each, beside="_scale")
    assert opened(many)["m.weight"].store.id == f"{CT}_row_fp32"
    convert_checkpoint(many, "torchao_fp8_row", tmp_path / "torchao")
    assert stored(tmp_path / "torchao")["m._weight_scale"] == ("F32", (rows, 1), each.tobytes())
    assert open_checkpoint(tmp_path / "torchao").metadata["m.weight"]["_data"]["block_size"] == [1, 3]


@pytest.mark.parametrize(("name", "to", "says"), [
    (f"{CT}_row_fp32", f"{CT}_row", "scale 0 of row 0 is no number of bf16, the type of its scales: --requantize"),
    ("deepseek_fp8", f"{CT}_block", "scale 0 of row 0 is no number of bf16, the type of its scales: --requantize"),
    (f"{CT}_row", f"{CT}_block", "blocks of e4m3_row_bf16 are no blocks of e4m3_tile128_bf16: --requantize"),
    (f"{CT}_block", f"{CT}_tensor", "blocks of e4m3_tile128_bf16 are no blocks of e4m3_tensor_bf16: --requantize"),
    (f"{CT}_tensor", "compressed_tensors_mxfp8", "blocks of e4m3_tensor_bf16 are no blocks of mxfp8_e4m3: --requantize"),
    ("compressed_tensors_mxfp8", f"{CT}_row", "blocks of mxfp8_e4m3 are no blocks of e4m3_row_bf16: --requantize"),
])  # fmt: skip
def test_numbers_that_a_store_cannot_hold(recorded: At, tmp_path: Path, name: str, to: str, says: str) -> None:
    with pytest.raises(FileError, match=says):
        convert_checkpoint(recorded(name), to, tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_a_recipe_of_other_blocks_is_refused_and_none_is_asked_for_in_vain(recorded: At, tmp_path: Path, monkeypatch: Any) -> None:
    source = recorded("compressed_tensors_mxfp8")
    with pytest.raises(SpecError, match=r"recipe mxfp8_e4m3_vllm does not make its blocks: name one of e4m3_row_bf16_compressed_tensors$"):
        convert_checkpoint(source, f"{CT}_row", tmp_path / "new", requantize=True, recipe="mxfp8_e4m3_vllm")
    for module in (requantize, convert):
        monkeypatch.setattr(module, "candidates", lambda store: [])
    with pytest.raises(SpecError, match="no recipe makes its blocks: only weights of stores that hold the same codes go there"):
        convert_checkpoint(source, f"{CT}_row", tmp_path / "new", requantize=True)
    assert not list(tmp_path.iterdir())
    assert convert_checkpoint(recorded("deepseek_fp8"), f"{CT}_block_fp32", tmp_path / "new", requantize=True).lossless  # all of it fits


@pytest.mark.parametrize("name", [f"{CT}_row", "torchao_fp8_tensor"])
def test_they_are_quantized_again_for_a_store_of_powers_of_two(recorded: At, tmp_path: Path, name: str) -> None:
    done = convert_checkpoint(recorded(name), "compressed_tensors_mxfp8", tmp_path / "new", requantize=True)
    before, codes = exact(recorded(name), *sides(name)), stored(tmp_path / "new")
    for weight, change in done.changed.items():
        scales = np.frombuffer(codes[f"{weight}_scale"][2], np.uint8)
        after = [element(code) * Fraction(2) ** (int(scales[place // 32]) - 127) for place, code in enumerate(codes[weight][2])]
        pairs = list(zip(before[weight], after, strict=True))
        assert change.values == sum(one != two for one, two in pairs) and change.error == max(abs(one - two) for one, two in pairs)
    assert len(done.changed) == 2


SHAPES: list[tuple[tuple[int, int], str, str, tuple[int, ...], str]] = [
    ((128, 256), "_scale_inv", "F32", (1, 1), r"weight_scale_inv has shape \[1, 1\]: \[1, 2\] was expected"),
    ((128, 256), "_scale_inv", "F32", (2, 1), r"weight_scale_inv has shape \[2, 1\]: \[1, 2\] was expected"),
    ((129, 256), "_scale_inv", "F32", (1, 2), r"weight_scale_inv has shape \[1, 2\]: \[2, 2\] was expected"),
    ((128, 256), "_scale_inv", "F32", (2,), r"weight_scale_inv has shape \[2\]: \[1, 2\] was expected"),
    ((128, 256), "_scale_inv", "BF16", (1, 2), "m.weight is alone|no quantized weight of a known store"),
    ((4, 8), "_scale", "F32", (3, 1), r"weight_scale has shape \[3, 1\]: "),
    ((4, 8), "_scale", "BF16", (4,), r"weight_scale has shape \[4\]: "),
]


@pytest.mark.parametrize(("shape", "beside", "word", "scales", "says"), SHAPES)
def test_scales_of_another_shape_are_one_line(
    tmp_path: Path, write: Any, capsys: Any, shape: tuple[int, int], beside: str, word: str, scales: tuple[int, ...], says: str
) -> None:
    ones = np.ones(scales, np.float32 if word == "F32" else ml_dtypes.bfloat16)
    source = made(write, tmp_path / "in.safetensors", shape, ones, word, beside)
    assert run(["convert-checkpoint", str(source), "--to", "deepseek_fp8", "--out", str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and [path.name for path in tmp_path.iterdir()] == ["in.safetensors"]
    with pytest.raises(FileError, match=says):
        convert_checkpoint(source, "deepseek_fp8", tmp_path / "new")


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize(("kind", "scales"), [("tensor", (1,)), ("row", (4, 1)), ("block", (1, 1))])
@pytest.mark.parametrize(("word", "zeros"), [
    ("F8_E4M3", b"\0\0\0\x40"), ("F8_E4M3", b"\0\0\0\x80"), ("I8", b"\x80\0\0\0"), ("F32", b"\1\0\0\0"), ("F8_E4M3", b"\0\0\0\0"),
])  # fmt: skip
def test_a_zero_point_is_not_dropped_unread(
    tmp_path: Path, write: Any, kind: str, short: bool, scales: tuple[int, ...], word: str, zeros: bytes
) -> None:
    ones, codes = np.ones(scales, ml_dtypes.bfloat16 if short else np.float32), np.full((4, 8), 0x38, np.uint8)
    parts = {"m.weight": ("F8_E4M3", (4, 8), codes), "m.weight_scale": ("BF16" if short else "F32", scales, ones),
             "m.weight_zero_point": (word, (1,) if word == "F32" else (4, 1), np.frombuffer(zeros, np.uint8))}  # fmt: skip
    source = write(tmp_path / "in" / "model.safetensors", parts).parent
    said = {"quantization_config": {"config_groups": {"g": {"weights": {"strategy": {"row": "channel"}.get(kind, kind)}}}}}
    (source / "config.json").write_text(json.dumps(said))
    report = identify_files(source)
    assert set(report.stores) == {f"{CT}_{kind}{'' if short else '_fp32'}"} and report.others == 0
    if any(zeros):
        says = r"m\.weight_zero_point is not zero: the library subtracts it from the codes, here it is not read"
        assert report.exit_code == verify_checkpoint(source).exit_code == 1
        for use in (lambda: read_weight(source, "m.weight"), lambda: convert_checkpoint(source, "deepseek_fp8", tmp_path / "new")):
            with pytest.raises(FileError, match=says):
                use()
    else:
        assert verify_checkpoint(source).exit_code == 0 and (read_weight(source, "m.weight") == 1).all()


@pytest.mark.parametrize(("scales", "to", "says"), [
    ((1,), "deepseek_fp8", "a stack of matrices of 4 rows in tiles of 128: how the stack is tiled is not known"),
    ((1,), "torchao_fp8_row", "its header says which rows and columns of a matrix share a scale: how it says so of a stack is not known"),
    ((1,), "torchao_fp8_tensor", "its header says which rows and columns of a matrix share a scale"),
    ((2, 4, 1), "torchao_fp8_row", "its header says which rows and columns of a matrix share a scale"),
    ((1,), f"{CT}_row_fp32", None),
])  # fmt: skip
def test_a_stack_goes_where_its_scales_have_a_place(tmp_path: Path, write: Any, scales: tuple[int, ...], to: str, says: str | None) -> None:
    codes, ones = np.full((2, 4, 8), 0x38, np.uint8), np.ones(scales, np.float32)
    source = write(tmp_path / "in.safetensors", {"m.weight": ("F8_E4M3", codes.shape, codes), "m.weight_scale": ("F32", scales, ones)})
    if says is None:
        assert convert_checkpoint(source, to, tmp_path / "new").lossless
        assert stored(tmp_path / "new")["m.weight_scale"][1] == (2, 4, 1)
    else:
        with pytest.raises(FileError, match=f"m.weight: {to} cannot hold it: {says}"):
            convert_checkpoint(source, to, tmp_path / "new")
        assert [path.name for path in tmp_path.iterdir()] == ["in.safetensors"]


@pytest.mark.parametrize(("nan", "verdict"), [
    ([0x7FC00000, 0xFFC00000], "identified"), ([0x7F800001, 0xFFFFFFFF], "identified"),
    ([0x7F800000, 0x7FC00000], "separated"), ([0x7FC00000, 0x3F800000], "separated"),
])  # fmt: skip
def test_any_nan_of_a_dequantized_file_is_a_nan(tmp_path: Path, write: Any, nan: list[int], verdict: str) -> None:
    """Which NaN a library writes is no sign of its rule; Inf or a number in its place is."""
    codes, scales = np.array([[0x38, 0x7F], [0xFF, 0x38]], np.uint8), np.ones((2, 1), np.float32)
    parts = {"m.weight": ("F8_E4M3", codes.shape, codes), "m.weight_scale": ("F32", scales.shape, scales)}
    source = write(tmp_path / "in.safetensors", parts)
    values = np.array([[0x3F800000, nan[0]], [nan[1], 0x3F800000]], "<u4")
    read_back = write(tmp_path / "values.safetensors", {"m.weight": ("F32", values.shape, values)})
    found = identify_files(source, dequantized=read_back).tensors[0].profiles
    assert {item.verdict for item in found} == {verdict}


@pytest.mark.parametrize(("store", "beside", "key"), [
    ("deepseek_fp8", "_scale_inv", "weight_block_size"), (f"{CT}_block_fp32", "_scale", "block_structure"),
    (f"{CT}_block", "_scale", "block_structure"),
])  # fmt: skip
@pytest.mark.parametrize(("said", "fine"), [
    ([128, 128], True), (None, True), ("128x128", True),
    ([96, 96], False), ([128, 127], False), ([128], False), ("96x96", False), ({}, False),
])  # fmt: skip
def test_a_block_of_other_sides_is_not_read_as_ours(
    tmp_path: Path, write: Any, store: str, beside: str, key: str, said: Any, fine: bool
) -> None:
    """192 x 192 under 2 x 2 scales: so many have blocks of 128 and of 96."""
    scales = np.array([[1, 2], [3, 4]], ml_dtypes.bfloat16 if store == f"{CT}_block" else np.float32)
    word = "BF16" if store == f"{CT}_block" else "F32"
    source = made(write, tmp_path / "in" / "model.safetensors", (192, 192), scales, word, beside).parent
    inner = {"quant_method": "fp8", key: said}
    if store != "deepseek_fp8":
        inner = {"config_groups": {"a": {"weights": {"strategy": "block", "block_structure": [128, 128]}},
                                   "b": {"weights": {"strategy": "block", key: said}}}}  # fmt: skip
    (source / "config.json").write_text(json.dumps({"quantization_config": inner}))
    assert set(identify_files(source).stores) == {store} and verify_checkpoint(source).exit_code == (0 if fine else 1)
    if fine:
        assert read_weight(source, "m.weight").shape == (192, 192)
    else:
        says = rf"config\.json: .*{key} = .*: \[128, 128\] was expected"
        for use in (lambda: read_weight(source, "m.weight"), lambda: convert_checkpoint(source, "deepseek_fp8", tmp_path / "new")):
            with pytest.raises(FileError, match=says):
                use()


def test_a_stack_is_read_where_tiles_end_with_its_matrices(tmp_path: Path, write: Any) -> None:
    for rows, fine in ((128, True), (64, False)):
        codes, scales = np.full((2, rows, 8), 0x38, np.uint8), np.array([1, 2], np.float32).reshape(2, 1, 1)
        parts = {"m.weight": ("F8_E4M3", codes.shape, codes), "m.weight_scale_inv": ("F32", scales.shape, scales)}
        source = write(tmp_path / f"{rows}.safetensors", parts)
        if fine:
            assert np.array_equal(read_weight(source, "m.weight"), np.repeat([1, 2], rows * 8).reshape(2, rows, 8))
            assert convert_checkpoint(source, f"{CT}_block_fp32", tmp_path / "new").lossless
            assert stored(tmp_path / "new")["m.weight_scale"] == ("F32", (2, 1, 1), scales.tobytes())
        else:
            with pytest.raises(FileError, match="a stack of matrices of 64 rows in tiles of 128: how the stack is tiled is not known"):
                read_weight(source, "m.weight")


@pytest.mark.parametrize(("bits", "code", "says"), [
    (NAN, 0x38, "a NaN scale"), (0xFF800001, 0x38, "a NaN scale"), (0x7F800000, 0x38, "a scale that is infinite"),
    (0xFF800000, 0x38, "a scale that is infinite"), (0xBF800000, 0x38, "a scale that is negative"),
    (0x80000000, 0x00, "a scale that is negative"), (0x00000000, 0x38, "codes that are not zero under the scale zero"),
    (0x3F800000, 0x7F, "an element that is NaN"), (0x3F800000, 0xFF, "an element that is NaN"),
    (0x00000000, 0x00, ""), (0x00000001, 0x7E, ""), (0x7F7FFFFF, 0x01, ""),
])  # fmt: skip
@pytest.mark.parametrize(("rows", "at"), [(4, 0), (130, 129)])
def test_damage_is_found_where_it_is(tmp_path: Path, write: Any, bits: int, code: int, says: str, rows: int, at: int) -> None:
    """One number is changed: in a file of tiles a scale holds for every row below, so the place is the first of its rows."""
    codes, scales = np.zeros((rows, 130), np.uint8), np.full((-(-rows // 128), 2), 0x3F800000, np.uint32)
    codes[at, 129], scales[at // 128, 1] = code, bits
    source = write(tmp_path / "in.safetensors", {"m.weight": ("F8_E4M3", codes.shape, codes),
                                                 "m.weight_scale_inv": ("F32", scales.shape, scales)})  # fmt: skip
    done = verify_checkpoint(source)
    assert [fault.tensor for fault in done.faults] == ["m.weight"] * bool(says)
    if says:
        row = at if "element" in says or "codes" in says else at // 128 * 128
        assert says in done.faults[0].what and done.faults[0].places[0].startswith(f"row {row} block 1: scale {bits:08X}, codes 00 ")


@pytest.mark.parametrize(("bits", "says"), [
    (NAN, "a NaN scale"), (0x7F800000, "a scale that is infinite"), (0xBF800000, "a scale that is negative"),
])  # fmt: skip
@pytest.mark.parametrize(("places", "beside"), [((), "_scale"), ((0,), "_scale_inv"), ((1, 4, 5), "_scale_inv")])
def test_a_scale_of_many_rows_is_one_fault(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch, bits: int, says: str, places: tuple[int, ...], beside: str
) -> None:
    """300 rows in chunks of 128: places are those of the tiles, 3 x 2, or all is under one scale."""
    monkeypatch.setattr(read, "CHUNK", 1)
    scales = np.full((3, 2) if places else (), 0x3F800000, np.uint32)
    np.put(scales, places or 0, bits)
    found = verify_checkpoint(made(write, tmp_path / "in.safetensors", (300, 130), scales, beside=beside))
    count = len(places) or 1
    assert [item.what for item in found.faults] == [says + (f" ({count})" if count > 1 else "")]
    rows = [(place // 2 * 128, place % 2) for place in places] or [(0, 0)]
    assert [text.split(":")[0] for text in found.faults[0].places] == [f"row {row} block {block}" for row, block in rows]


@pytest.mark.parametrize("code", [0x01, 0x38, 0x39, 0x7E, 0xB9, 0xFE])
@pytest.mark.parametrize(("word", "kept", "bias"), [("F32", 24, 0), ("BF16", 8, 16)])
def test_a_value_that_is_read_as_infinite_is_damage(tmp_path: Path, write: Any, code: int, word: str, kept: int, bias: int) -> None:
    """The first scale whose product with the code rounds to infinity, found by hand in rationals, and the one below it."""
    limit = Fraction(2) ** 128 - Fraction(2) ** (127 - kept)
    bits = range(1, 0x7F800000 >> bias)
    first = bisect_left(bits, True, key=lambda item: abs(element(code)) * value_of(item << bias) >= limit) + 1
    for scale in (first - 1, first):
        if 0 < scale < 0x7F800000 >> bias:
            numbers, codes = np.full((130, 1), 0x3F800000 >> bias, "<u4" if word == "F32" else "<u2"), np.zeros((130, 8), np.uint8)
            numbers[129], codes[129, 5] = scale, code
            source = write(tmp_path / "in.safetensors", {"m.weight": ("F8_E4M3", codes.shape, codes),
                                                         "m.weight_scale": (word, numbers.shape, numbers)})  # fmt: skip
            found = verify_checkpoint(source)
            assert np.isinf(read_weight(source, "m.weight")[129, 5]) == (scale == first) == found.exit_code
            if scale == first:
                assert "a value that its reader takes for infinite" in found.faults[0].what
                assert found.faults[0].places[0].startswith("row 129 block 0: scale ")


def value_of(bits: int) -> Fraction:
    return Fraction(bits & 0x7FFFFF | (0x800000 if bits >> 23 else 0)) * Fraction(2) ** (max(bits >> 23, 1) - 150)


@pytest.mark.parametrize(("store", "bits", "code", "fp32", "bf16"), [
    (f"{CT}_row_fp32", 0x3F800001, 0x39, 0x3F900001, 0x3F90),       # 9/8 of 1 + 2^-23: a tie, to even
    (f"{CT}_row_fp32", 0x3F801000, 0x39, 0x3F901200, 0x3F90),       # product in binary32, then bfloat16
    (f"{CT}_row", 0x3F81, 0x39, 0x3F910000, 0x3F91),                # 9/8 * 129/128 = 1161/1024: to 145/128
    (f"{CT}_row", 0x3FAB, 0x3B, 0x3FEB0000, 0x3FEB),                # 11/8 * 171/128 = 1881/1024: to 235/128
    ("torchao_fp8_row", 0x00000001, 0x07, 0x00000000, 0x0000),      # 7/512 of the smallest subnormal
    ("torchao_fp8_row", 0x00000001, 0x39, 0x00000001, 0x0000),
    ("torchao_fp8_row", 0x7F7FFFFF, 0x39, 0x7F800000, 0x7F80),      # beyond the range
    ("modelopt_fp8", 0x3F801000, 0x39, 0x3F901200, 0x3F90),         # both to the type that is asked for, then the product
    ("modelopt_fp8", 0x3F808000, 0x39, 0x3F909000, 0x3F90),         # the scale is 1 in bfloat16: a tie to even
    ("torchao_fp8_row", 0x3F818000, 0x39, 0x3F91B000, 0x3F92),      # 9/8 * 259/256
    ("modelopt_fp8", 0x3F818000, 0x39, 0x3F91B000, 0x3F92),         # the scale is 130/128 in bfloat16
])  # fmt: skip
def test_where_a_product_is_rounded(tmp_path: Path, write: Any, store: str, bits: int, code: int, fp32: int, bf16: int) -> None:
    word, kind = ("BF16", np.uint16) if store == f"{CT}_row" else ("F32", np.uint32)
    codes, scale = np.array([[code], [code]], np.uint8), np.array([[bits]], kind)
    scale = scale if store.startswith("modelopt") else np.repeat(scale, 2, axis=0)
    names = ("m._weight_qdata", "m._weight_scale") if store.startswith("torchao") else ("m.weight", "m.weight_scale")
    shape = () if store.startswith("modelopt") else scale.shape
    write(tmp_path / "model.safetensors", {names[0]: ("F8_E4M3", (2, 1), codes), names[1]: (word, shape, scale)})
    if store.startswith("modelopt"):
        (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "FP8"}}))
    assert {item.store.id for item in opened(tmp_path).values()} == {store}
    assert read_weight(tmp_path, "m.weight").view(np.uint32).reshape(-1).tolist() == [fp32] * 2
    assert read_weight(tmp_path, "m.weight", ml_dtypes.bfloat16).view(np.uint16).reshape(-1).tolist() == [bf16] * 2


def test_what_a_reader_is_asked_for(recorded: At) -> None:
    with pytest.raises(FileError, match=r"holds no quantized weight m\.weight: emu identify --quantized lists them"):
        read_weight(recorded("deepseek_fp8"), "m.weight")
    with pytest.raises(OpenError, match="checkpoint/compressed_tensors_mxfp8: in which steps its library reads values back is not known"):
        read_weight(recorded("compressed_tensors_mxfp8"), f"{Q}.weight")
    path = recorded("torchao_nvfp4") / "values.safetensors.read"
    copy = path.with_name("values.copy")
    copy.write_bytes(path.read_bytes())
    wanted = next(iter(np.frombuffer(data[2], np.uint32) for data in [_first(copy)]))
    assert np.array_equal(read_weight(recorded("torchao_nvfp4"), f"{Q}.weight").view(np.uint32).reshape(-1), wanted)


def _first(path: Path) -> tuple[str, tuple[int, ...], bytes]:
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    about = json.loads(raw[8 : 8 + length])[f"{Q}.weight"]
    start, end = about["data_offsets"]
    return about["dtype"], tuple(about["shape"]), raw[8 + length + start : 8 + length + end]


def test_files_say_what_their_readers_ask_for(recorded: At, tmp_path: Path) -> None:
    convert_checkpoint(recorded(f"{CT}_block"), "deepseek_fp8", tmp_path / "deepseek")
    said = json.loads((tmp_path / "deepseek" / "config.json").read_text())["quantization_config"]
    assert said == {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                    "modules_to_not_convert": []}  # fmt: skip
    convert_checkpoint(recorded("deepseek_fp8"), f"{CT}_block_fp32", tmp_path / "ct")
    group = json.loads((tmp_path / "ct" / "config.json").read_text())["quantization_config"]["config_groups"]["group_0"]["weights"]
    assert (group["strategy"], group["block_structure"], group["num_bits"], group["type"]) == ("block", [128, 128], 8, "float")


def test_scales_of_activations_are_left_out_and_listed(recorded: At, tmp_path: Path, parts: Any, write: Any) -> None:
    found = parts(recorded("deepseek_fp8") / "model.safetensors")
    found[f"{Q}.input_scale"] = ("F32", (), np.ones(4, np.uint8))
    write(tmp_path / "in.safetensors", found)
    done = convert_checkpoint(tmp_path / "in.safetensors", f"{CT}_block_fp32", tmp_path / "new")
    assert done.dropped == [f"{Q}.input_scale"] and len(stored(tmp_path / "new")) == 2
