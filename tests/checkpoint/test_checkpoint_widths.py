"""Elements of 6 and 8 bits: files of real libraries from store to store, the values by hand, what contradicts itself refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu import quantize
from emu.base.errors import FileError
from emu.checkpoint import identify_files, read
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.read import StoredTensor, open_tensor
from emu.checkpoint.store import matches
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run

At = Callable[[str], Path]
Q, K = "model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj"
E4M3 = ("compressed_tensors_mxfp8", "modelopt_mxfp8", "mlx_mxfp8", "torchao_mxfp8_e4m3")
FIELDS = {"mxfp8_e4m3": (4, 3), "mxfp8_e5m2": (5, 2), "mxfp6_e2m3": (2, 3), "mxfp6_e3m2": (3, 2), "mxfp4": (2, 1)}


def opened(path: Path) -> dict[str, StoredTensor]:
    container = open_checkpoint(path)
    found = [open_tensor(container, fitting) for fitting in matches(container)]
    assert all(isinstance(item, StoredTensor) for item in found)
    return {item.name: item for item in found if isinstance(item, StoredTensor)}


def values(path: Path) -> dict[str, list[Fraction]]:
    """Exact values of the weights, by the fields of their codes."""
    found = {}
    for name, tensor in opened(path).items():
        exponent, fraction = FIELDS[tensor.block.id]
        out = []
        for rows in tensor.chunks():
            for codes, scales in zip(rows.codes.tolist(), rows.scales.tolist(), strict=True):
                for place, code in enumerate(codes):
                    field, rest = code >> fraction & (1 << exponent) - 1, code & (1 << fraction) - 1
                    power = max(field, 1) - (1 << exponent - 1) + 1 - fraction + scales[place // 32] - 127
                    sign = -1 if code >> exponent + fraction else 1
                    out.append(sign * ((bool(field) << fraction) + rest) * Fraction(2) ** power)
        found[name] = out
    return found


def stored(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    container = open_checkpoint(path)
    return {name: (entry.dtype, entry.shape, container.raw(entry).tobytes()) for name, entry in container.entries.items()}


@pytest.mark.parametrize("name", ["compressed_tensors_mxfp8", "torchao_mxfp8_e4m3"])
@pytest.mark.parametrize("to", E4M3)
def test_mxfp8_is_lossless_between_all_stores(recorded: At, tmp_path: Path, name: str, to: str) -> None:
    assert convert_checkpoint(recorded(name), to, tmp_path / "new").lossless
    assert values(tmp_path / "new") == values(recorded(name)) and len(values(tmp_path / "new")) == 2
    container = open_checkpoint(tmp_path / "new")
    assert {fitting[0].store.id for fitting in matches(container)} == {to}
    convert_checkpoint(tmp_path / "new", name, tmp_path / "back")
    if name == "compressed_tensors_mxfp8":
        assert stored(tmp_path / "back") == stored(recorded(name))


@pytest.mark.parametrize("name", ["compressed_tensors_mxfp6", "torchao_mxfp8_e5m2"])
def test_a_store_writes_the_bytes_of_its_library(recorded: At, tmp_path: Path, name: str) -> None:
    assert convert_checkpoint(recorded(name), name, tmp_path / "new").lossless
    assert stored(tmp_path / "new") == stored(recorded(name))


def test_the_libraries_wrote_what_recipes_make_of_the_weights(recorded: At, make_files: Any) -> None:
    """Bytes of four files from the original weights; the packing by a number as long as a row."""
    for name, recipe, bits in [("compressed_tensors_mxfp6", "mxfp6_e2m3_torchao_even", 6),
                               ("compressed_tensors_mxfp8", "mxfp8_e4m3_torchao_rceil", 8),
                               ("torchao_mxfp8_e5m2", "mxfp8_e5m2_torchao_floor", 8)]:  # fmt: skip
        found, files = quantize(make_files.weight(Q), recipe), stored(recorded(name))
        codes = next(files[key][2] for key in (f"{Q}.weight_packed", f"{Q}.weight", f"{Q}._weight_qdata") if key in files)
        rows = [sum(code << bits * place for place, code in enumerate(row)) for row in found.codes.tolist()]
        assert codes == b"".join(row.to_bytes(128 * bits // 8, "little") for row in rows)


def test_words_of_mlx_hold_four_codes(recorded: At, tmp_path: Path) -> None:
    convert_checkpoint(recorded("compressed_tensors_mxfp8"), "mlx_mxfp8", tmp_path / "mlx")
    codes = np.frombuffer(stored(recorded("compressed_tensors_mxfp8"))[f"{Q}.weight"][2], np.uint8)
    words = sum((codes[byte::4].astype(np.uint64) << 8 * byte for byte in range(4)), np.uint64(0))
    word, shape, data = stored(tmp_path / "mlx")[f"{Q}.weight"]
    assert (word, shape) == ("U32", (8, 32)) and np.array_equal(np.frombuffer(data, "<u4"), words)
    said = {"group_size": 32, "bits": 8, "mode": "mxfp8"}
    assert json.loads((tmp_path / "mlx" / "config.json").read_text())["quantization"] == said


def test_shapes_tell_stores_of_one_set_of_names(recorded: At, tmp_path: Path) -> None:
    """Codes of 4 and of 6 bits bear the same names and types in compressed-tensors; without its JSON file the count of scales tells."""
    for name in ("compressed_tensors_mxfp4", "compressed_tensors_mxfp6"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes((recorded(name) / "model.safetensors").read_bytes())
        assert {item.store.id for item in opened(tmp_path / name).values()} == {name}
        assert not any(item.others for item in opened(tmp_path / name).values())


@pytest.mark.parametrize(("name", "to", "lossless"), [
    ("compressed_tensors_mxfp4", "compressed_tensors_mxfp6", True), ("compressed_tensors_mxfp4", "compressed_tensors_mxfp8", True),
    ("compressed_tensors_mxfp6", "compressed_tensors_mxfp4", False), ("compressed_tensors_mxfp8", "torchao_mxfp8_e5m2", False),
    ("torchao_mxfp8_e5m2", "compressed_tensors_mxfp6", False),
])  # fmt: skip
def test_other_widths_are_quantized_again(recorded: At, tmp_path: Path, name: str, to: str, lossless: bool) -> None:
    if not lossless:
        with pytest.raises(FileError, match="are no blocks of"):
            convert_checkpoint(recorded(name), to, tmp_path / "new")
    done = convert_checkpoint(recorded(name), to, tmp_path / "new", requantize=not lossless)
    before, after = values(recorded(name)), values(tmp_path / "new")
    assert done.lossless == lossless == (before == after) and set(done.refitted if lossless else done.changed) == set(before)
    for weight, change in done.changed.items():
        pairs = list(zip(before[weight], after[weight], strict=True))
        assert change.values == sum(one != two for one, two in pairs) and change.error == max(abs(one - two) for one, two in pairs)


def test_each_weight_is_quantized_once(recorded: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from emu.checkpoint import requantize

    real, rows = requantize._quantized, []
    monkeypatch.setattr(requantize, "_quantized", lambda given: rows.append(given.first) or real(given))
    monkeypatch.setattr(read, "CHUNK", 1)
    convert_checkpoint(recorded("compressed_tensors_mxfp8"), "compressed_tensors_mxfp4", tmp_path / "new", requantize=True)
    assert rows == [0, 0]


@pytest.mark.parametrize("rows", [127, 128, 129, 257])
def test_sizes_just_over_a_chunk(tmp_path: Path, make_files: Any, write: Any, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Rows are read 128 at a time here; the tiles of torchao end there too."""
    monkeypatch.setattr(read, "CHUNK", 1)
    found = quantize(make_files.weight("rows", rows, 32), "mxfp8_e4m3_torchao_rceil")
    write(tmp_path / "in.safetensors", {"m.weight": ("F8_E4M3", found.codes.shape, found.codes),
                                        "m.weight_scale": ("U8", found.scales.shape, found.scales)})  # fmt: skip
    convert_checkpoint(tmp_path / "in.safetensors", "torchao_mxfp8_e4m3", tmp_path / "new")
    again = convert_checkpoint(tmp_path / "in.safetensors", "compressed_tensors_mxfp6", tmp_path / "six", requantize=True)
    assert stored(tmp_path / "new")["m._weight_qdata"][2] == found.codes.tobytes()
    six = quantize(found.dequantize(np.float32, "exact"), "mxfp6_e2m3_torchao_even")
    assert again.changed["m.weight"].elements == rows * 32 and stored(tmp_path / "six")["m.weight_scale"][2] == six.scales.tobytes()
    assert np.array_equal(np.concatenate([item.codes for item in opened(tmp_path / "six")["m.weight"].chunks()]), six.codes)


def test_files_of_emu_quantize_are_stores_too(tmp_path: Path, make_files: Any, write: Any) -> None:
    x = make_files.weight("x", 4, 64)
    write(tmp_path / "model.safetensors", {"m.weight": ("BF16", x.shape, x.view("<u2"))})
    for recipe, block, to in [("mxfp8_e4m3_torchao_rceil", "mxfp8_e4m3", "torchao_mxfp8_e4m3"),
                              ("mxfp8_e5m2_torchao_floor", "mxfp8_e5m2", "torchao_mxfp8_e5m2"),
                              ("mxfp6_e2m3_torchao_even", "mxfp6_e2m3", "compressed_tensors_mxfp6"),
                              ("mxfp6_e3m2_torchao_even", "mxfp6_e3m2", None)]:  # fmt: skip
        path = tmp_path / f"{block}.safetensors"
        assert run(["quantize", str(tmp_path / "model.safetensors"), "-r", recipe, "-o", str(path), "-q"]) == 0
        tensor = opened(path)["m.weight"]
        assert tensor.store.id == f"emu_{block}" and np.array_equal(tensor.take(0, 4).codes, quantize(x, recipe).codes)
        report = identify_files(path, tmp_path / "model.safetensors")
        assert report.exit_code == 0 and report.tensors[0].said == recipe and recipe in report.tensors[0].identified
        if to is not None:
            assert convert_checkpoint(path, to, tmp_path / to).lossless and values(tmp_path / to) == values(path)


def changed(source: Path, folder: Path, change: Callable[[dict[str, Any]], None], parts: Any, write: Any) -> Path:
    """A copy of a checkpoint with other tensors."""
    found = parts(source / "model.safetensors")
    change(found)
    write(folder / "model.safetensors", found)
    (folder / "config.json").write_bytes((source / "config.json").read_bytes())
    return folder


CASES: list[tuple[str, str, str, tuple[int, ...], str]] = [
    ("compressed_tensors_mxfp6", f"{Q}.weight_packed", "U8", (8, 95), "its last axis holds no whole number of codes of 6 bits"),
    ("compressed_tensors_mxfp6", f"{Q}.weight_packed", "U8", (8, 93), r"rows of whole units of 32 elements were expected"),
    ("compressed_tensors_mxfp6", f"{Q}.weight_packed", "U8", (8, 72), "32 scales for 8 x 3 blocks"),
    ("compressed_tensors_mxfp8", f"{Q}.weight", "F8_E4M3", (8, 120), r"rows of whole units of 32 elements were expected"),
    ("compressed_tensors_mxfp8", f"{Q}.weight", "F8_E4M3", (7, 128), "32 scales for 7 x 4 blocks"),
    ("compressed_tensors_mxfp8", f"{Q}.weight_scale", "U8", (8, 3), "24 scales for 8 x 4 blocks"),
    ("compressed_tensors_mxfp8", f"{Q}.weight_scale", "F16", (8, 4), f"{Q}.weight is of no store: .*_scale as U8, which is F16\\)"),
]


@pytest.mark.parametrize(("name", "tensor", "word", "shape", "says"), CASES)
def test_what_contradicts_itself_is_one_line(
    recorded: At, tmp_path: Path, parts: Any, write: Any, capsys: Any, name: str, tensor: str, word: str, shape: tuple[int, ...], says: str
) -> None:
    def change(found: dict[str, Any]) -> None:
        size = int(np.prod(shape)) * (2 if word == "F16" else 1)
        found[tensor] = (word, shape, np.zeros(size, np.uint8))

    folder = changed(recorded(name), tmp_path / "in", change, parts, write)
    assert run(["convert-checkpoint", str(folder), "--to", "torchao_mxfp8_e4m3", "--out", str(tmp_path / "new"), "--requantize"]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"emu: {folder}") and Q in said and [path.name for path in tmp_path.iterdir()] == ["in"]
    with pytest.raises(FileError, match=says):
        convert_checkpoint(folder, "torchao_mxfp8_e4m3", tmp_path / "new", requantize=True)


@pytest.mark.parametrize(("name", "part", "code", "shown"), [
    ("compressed_tensors_mxfp8", "weight", 0x7F, "codes 7F "), ("compressed_tensors_mxfp8", "weight", 0xFF, "codes FF "),
    ("torchao_mxfp8_e5m2", "_weight_qdata", 0x7C, "codes 7C "), ("torchao_mxfp8_e5m2", "_weight_qdata", 0xFD, "codes FD "),
    ("compressed_tensors_mxfp8", "weight_scale", 0xFF, "scale FF"),
])  # fmt: skip
def test_elements_and_scales_that_are_no_numbers_are_damage(
    recorded: At, tmp_path: Path, name: str, part: str, code: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emu.checkpoint import identify

    monkeypatch.setattr(identify, "passive_findings", lambda tensor, scan: [])  # what recipes can write takes seconds
    source = recorded(name)
    (tmp_path / "in").mkdir()
    data = bytearray((source / "model.safetensors").read_bytes())
    data[open_checkpoint(source).entries[f"{Q}.{part}"].start] = code
    (tmp_path / "in" / "model.safetensors").write_bytes(data)
    done = verify_checkpoint(tmp_path / "in")
    assert done.exit_code == 1 and [fault.tensor for fault in done.faults] == [f"{Q}.weight"]
    assert shown in done.faults[0].places[0] and done.faults[0].places[0].startswith("row 0 block 0: ")
    with pytest.raises(FileError, match=r"row 0 element 0 is NaN or beyond binary32|is the code FF"):
        convert_checkpoint(tmp_path / "in", "compressed_tensors_mxfp4", tmp_path / "new", requantize=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
