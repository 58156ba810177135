"""Stores of GGUF, written: every byte by a rule of the test's own, lossless there and back, read by the package gguf, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu.base.errors import FileError, SpecError
from emu.checkpoint import identify_files
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.layout import Stated
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run
from emu.files.gguf import write_gguf
from emu.files.writers import Planned

LOW = Stated("low_nibble_first", "row_major")  # files that do not say whose they are
At = Callable[[str], Path]
library = pytest.importorskip("gguf", reason="the second opinion, gguf, is of the extra [checkpoint]")
MODULES = ("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj")


def stored(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Type, shape and bytes of every tensor."""
    container = open_checkpoint(path)
    return {name: (entry.dtype, entry.shape, container.raw(entry).tobytes()) for name, entry in container.entries.items()}


def records(codes: bytes, scales: bytes, block: int, unit: int) -> bytes:
    """Units of GGUF from bytes with the low nibble first, in plain loops."""
    nibbles = [half for byte in codes for half in (byte & 15, byte >> 4)]
    out = b""
    for first in range(0, len(nibbles), unit):
        out += scales[first // block : (first + unit) // block]
        for start in range(first, first + unit, block):
            out += bytes(nibbles[start + j] | nibbles[start + j + block // 2] << 4 for j in range(block // 2))
    return out


@pytest.mark.parametrize(("name", "to", "block", "unit", "codes", "back"), [
    ("torchao_mxfp4_floor", "gguf_mxfp4", 32, 32, "._weight_qdata", "torchao_mxfp4"),
    ("torchao_nvfp4_1level", "gguf_nvfp4", 16, 64, "._weight_qdata", "torchao_nvfp4_1level"),
    ("modelopt_nvfp4", "gguf_nvfp4_scaled", 16, 64, ".weight", "modelopt_nvfp4"),
])  # fmt: skip
def test_there_and_back(recorded: At, tmp_path: Path, name: str, to: str, block: int, unit: int, codes: str, back: str) -> None:
    before = stored(recorded(name))
    done = convert_checkpoint(recorded(name), to, tmp_path / "new")
    assert done.lossless and sorted(path.name for path in (tmp_path / "new").iterdir()) == ["model.gguf"]
    found = stored(tmp_path / "new")
    scale = codes.replace("_qdata", "_scale") if "_qdata" in codes else "_scale"
    for module in MODULES:
        parts = (before[module + codes][2], before[module + (scale if "_qdata" in codes else ".weight_scale")][2])
        assert found[f"{module}.weight"] == (f"{to.split('_')[1].upper()}", (8, 128), records(*parts, block, unit))
        if to == "gguf_nvfp4_scaled":
            assert found[f"{module}.scale"] == ("F32", (1,), before[f"{module}.weight_scale_2"][2])
    report = identify_files(tmp_path / "new")
    assert report.stores == {to: 2} and report.exit_code == 0
    assert verify_checkpoint(tmp_path / "new", recorded(name)).exit_code == 0
    convert_checkpoint(tmp_path / "new", back, tmp_path / "back")
    assert {key: value for key, value in before.items() if "input" not in key} == stored(tmp_path / "back")


def values(codes: NDArray[np.uint8], scales: NDArray[np.uint8], group: int) -> NDArray[np.float32]:
    """What low-nibble-first bytes mean, by hand; no product is rounded."""
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(8, 128)
    element = np.where(nibbles & 8, -grid[nibbles & 7], grid[nibbles & 7])
    field, fraction = scales.astype(int) >> 3, (scales & 7).astype(np.float32)
    e4m3 = np.where(field > 0, np.ldexp(1 + fraction / 8, field - 7), np.ldexp(fraction / 8, -6))
    scale = e4m3 if group == 16 else np.ldexp(np.float32(1), scales.astype(int) - 127)
    return (element * np.repeat(scale.reshape(8, -1), group, -1)).astype(np.float32)


@pytest.mark.parametrize(("name", "to", "group"), [("torchao_mxfp4_floor", "gguf_mxfp4", 32), ("torchao_nvfp4_1level", "gguf_nvfp4", 16)])
def test_the_package_gguf_reads_the_values(recorded: At, tmp_path: Path, name: str, to: str, group: int) -> None:
    before = stored(recorded(name))
    convert_checkpoint(recorded(name), to, tmp_path / "new")
    reader = library.GGUFReader(tmp_path / "new" / "model.gguf")
    assert reader.fields["general.file_type"].contents() == {32: 38, 16: 39}[group]
    for item in reader.tensors:
        module = item.name.removesuffix(".weight")
        codes, scales = (np.frombuffer(before[module + part][2], np.uint8) for part in ("._weight_qdata", "._weight_scale"))
        found, wanted = library.quants.dequantize(item.data, item.tensor_type), values(codes, scales, group)
        assert found.shape == (8, 128) and np.array_equal(found, wanted) and len(np.unique(wanted)) > 15


def test_other_tensors_go_both_ways(recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    more = {
        "model.norm.weight": ("F32", (5,), np.arange(5, dtype="<f4")), "a": ("BF16", (3, 2, 1), np.arange(6, dtype="<u2")),
        "b": ("I64", (1,), np.array([-1], "<i8")),
    }  # fmt: skip
    source = write(tmp_path / "in.safetensors", parts(recorded("torchao_mxfp4_floor") / "model.safetensors") | more)
    convert_checkpoint(source, "gguf_mxfp4", tmp_path / "new", stated=LOW)
    convert_checkpoint(tmp_path / "new", "torchao_mxfp4", tmp_path / "back")
    assert {name: stored(tmp_path / "back")[name] for name in more} == {name: stored(source)[name] for name in more}
    data = (tmp_path / "new" / "model.gguf").read_bytes()
    assert len(data) % 32 == 0 and library.GGUFReader(tmp_path / "new" / "model.gguf").tensors[-1].data_offset % 32 == 0


@pytest.mark.parametrize(("name", "entry", "why"), [
    ("x" * 64, ("F32", (1,), np.zeros(1, "<f4")), "at most 63 bytes"), ("a", ("F32", (), np.zeros((), "<f4")), "1 to 4 axes"),
    ("a", ("F32", (1,) * 5, np.zeros(1, "<f4")), "1 to 4 axes"), ("a", ("U8", (4,), np.zeros(4, "u1")), "is U8, which no .gguf file"),
    ("a", ("F32", (0,), np.zeros(0, "<f4")), "not empty"),
])  # fmt: skip
def test_tensors_that_gguf_cannot_hold(recorded: At, parts: Any, write: Any, tmp_path: Path, name: str, entry: Any, why: str) -> None:
    source = write(tmp_path / "in.safetensors", parts(recorded("torchao_mxfp4_floor") / "model.safetensors") | {name: entry})
    with pytest.raises(FileError, match=why):
        convert_checkpoint(source, "gguf_mxfp4", tmp_path / "new", stated=LOW)
    assert not (tmp_path / "new").exists()


def test_the_longest_name(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf", [Planned("x" * 63, "F32", (1,), 4, lambda: [np.zeros(4, np.uint8)])], {}, {})
    assert list(stored(tmp_path / "a.gguf")) == ["x" * 63]


def test_rows_that_are_no_multiple_of_a_record(write: Any, tmp_path: Path) -> None:
    """A row of 48 holds three blocks of 16 and no whole record of 64: neither the same codes nor new ones fit."""
    tensors = {"m._weight_qdata": ("U8", (2, 24), np.zeros(48, "u1")), "m._weight_scale": ("F8_E4M3", (2, 3), np.full(6, 56, "u1"))}
    source = write(tmp_path / "in.safetensors", tensors)
    with pytest.raises(FileError, match="rows of 48 elements are no multiple of its units of 64"):
        convert_checkpoint(source, "gguf_nvfp4", tmp_path / "new", stated=LOW)
    with pytest.raises(FileError, match="rows of 48 elements are no multiple of the blocks of 64"):
        convert_checkpoint(source, "gguf_nvfp4", tmp_path / "new", requantize=True, stated=LOW)


def test_a_factor_needs_its_tensor(recorded: At, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="it has no tensor factor"):
        convert_checkpoint(recorded("modelopt_nvfp4"), "gguf_nvfp4", tmp_path / "new")
    with pytest.raises(SpecError, match=r"the recipe by which its weights are made is not known: --recipe names one of .*nvfp4_modelopt"):
        convert_checkpoint(recorded("compressed_tensors_nvfp4"), "gguf_nvfp4_scaled", tmp_path / "new", requantize=True)


def test_quantized_again_by_the_rule_of_ggml(recorded: At, tmp_path: Path) -> None:
    done = convert_checkpoint(recorded("modelopt_nvfp4"), "gguf_mxfp4", tmp_path / "new", requantize=True)
    assert {change.recipe for change in done.changed.values()} == {"mxfp4_ggml"} and not done.lossless
    assert verify_checkpoint(tmp_path / "new").exit_code in (0, 3)


def test_types_that_only_gguf_knows_are_refused(recorded: At, tmp_path: Path) -> None:
    writer = library.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tensor("q", np.zeros((1, 34), np.uint8), raw_dtype=library.GGMLQuantizationType.Q8_0)
    writer.add_tensor("m", np.zeros((1, 17), np.uint8), raw_dtype=library.GGMLQuantizationType.MXFP4)
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file, writer.close):
        step()
    with pytest.raises(FileError, match="q is Q8_0, neither a quantized weight of a known store nor plain numbers"):
        convert_checkpoint(tmp_path / "a.gguf", "torchao_mxfp4", tmp_path / "new")


def test_the_command(recorded: At, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert-checkpoint", str(recorded("modelopt_nvfp4")), "--to", "gguf_nvfp4_scaled", "--out", str(tmp_path / "new")]) == 0
    assert "lossless" in capsys.readouterr().out
