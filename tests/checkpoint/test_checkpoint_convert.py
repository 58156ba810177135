"""convert_checkpoint: files of real libraries from store to store and back, the same numbers every time; what cannot be held is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from emu.base.errors import FileError, SpecError
from emu.checkpoint import identify_files, writing
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.hold import factor_of
from emu.checkpoint.layout import Stated
from emu.checkpoint.read import StoredTensor, open_tensor
from emu.checkpoint.store import matches
from emu.cli.main import run
from emu.spec import get

LOW = Stated("low_nibble_first", "row_major")  # files that do not say whose they are
At = Callable[[str], Path]
E4M3 = get("format", "ue4m3")
GRID = [Fraction(x) / 2 for x in (0, 1, 2, 3, 4, 6, 8, 12)]


def e4m3(code: int) -> Fraction:
    """The value of a scale, by hand."""
    field, fraction = code >> 3, code & 7
    return Fraction(8 + fraction, 8) * Fraction(2) ** (field - 7) if field else Fraction(fraction, 8) * Fraction(2) ** -6


def values(path: Path) -> dict[str, list[Fraction]]:
    """Exact values of the weights of a folder, computed from its bytes by hand-sized code."""
    found = {}
    for fitting in matches(container := open_checkpoint(path)):
        tensor = open_tensor(container, fitting)
        assert isinstance(tensor, StoredTensor)
        columns, out = tensor.block.facts.shape[1], []
        for rows in tensor.chunks():
            for codes, scales in zip(rows.codes, rows.scales, strict=True):
                for place, code in enumerate(codes):
                    scale = int(scales[place // columns])
                    factor = e4m3(scale) if columns == 16 else Fraction(2) ** (scale - 127)
                    out.append((-1 if code & 8 else 1) * GRID[code & 7] * factor * factor_of(tensor))
        found[tensor.name.removesuffix(".weight")] = out
    return found


def stored(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Type, shape and bytes of every tensor of a folder."""
    container = open_checkpoint(path)
    return {name: (entry.dtype, entry.shape, container.raw(entry).tobytes()) for name, entry in container.entries.items()}


def metadata(file: Path) -> dict[str, str]:
    """The metadata of a file."""
    with safe_open(file, framework="numpy") as opened:
        return dict(opened.metadata())


def patched(source: Path, folder: Path, suffix: str, data: bytes, at: int = 0) -> Path:
    """A copy of a checkpoint of one file with other bytes in the tensors of a suffix."""
    folder.mkdir()
    raw = bytearray((source / "model.safetensors").read_bytes())
    for name, entry in open_checkpoint(source).entries.items():
        if name.endswith(suffix):
            raw[entry.start + at : entry.start + at + len(data)] = data
    (folder / "model.safetensors").write_bytes(raw)
    return folder


MXFP4 = ("compressed_tensors_mxfp4", "gpt_oss_mxfp4", "torchao_mxfp4")
NVFP4 = ("compressed_tensors_nvfp4", "modelopt_nvfp4", "torchao_nvfp4")


@pytest.mark.parametrize("name", ["compressed_tensors_mxfp4", "gpt_oss_mxfp4", "torchao_mxfp4_floor", "torchao_mxfp4_rceil"])
@pytest.mark.parametrize("to", MXFP4)
def test_mxfp4_is_lossless_between_all_stores(recorded: At, tmp_path: Path, name: str, to: str) -> None:
    done = convert_checkpoint(recorded(name), to, tmp_path / "new")
    assert done.lossless and len(done.weights) == 2
    assert values(tmp_path / "new") == values(recorded(name))
    report = identify_files(tmp_path / "new")
    assert report.stores == {to: 2} and report.exit_code == 0 and list(report.declared) == [to]


@pytest.mark.parametrize(("name", "store", "other"), [
    ("compressed_tensors_mxfp4", "compressed_tensors_mxfp4", "gpt_oss_mxfp4"), ("gpt_oss_mxfp4", "gpt_oss_mxfp4", "torchao_mxfp4"),
    ("torchao_mxfp4_floor", "torchao_mxfp4", "compressed_tensors_mxfp4"), ("torchao_nvfp4", "torchao_nvfp4", "modelopt_nvfp4"),
    ("torchao_nvfp4_1level", "torchao_nvfp4_1level", "mlx_nvfp4"),
])  # fmt: skip
def test_there_and_back_gives_the_same_bytes(recorded: At, tmp_path: Path, name: str, store: str, other: str) -> None:
    convert_checkpoint(recorded(name), other, tmp_path / "there")
    convert_checkpoint(tmp_path / "there", store, tmp_path / "back")
    assert stored(tmp_path / "back") == stored(recorded(name))


@pytest.mark.parametrize(("name", "store"), [("torchao_nvfp4", "torchao_nvfp4"), ("torchao_mxfp4_floor", "torchao_mxfp4")])
def test_every_file_of_torchao_says_what_each_tensor_is(
    recorded: At,
    parts: Callable[..., Any],
    write: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    store: str,
) -> None:
    """As the library wrote it; of MXFP4 it wrote another choice of kernel, and no activations."""
    monkeypatch.setattr(writing, "SHARD_BYTES", 1)
    others = {"model.norm.weight": ("F32", (4,), np.ones(4, "<f4")), "scale": ("F32", (), np.float32(1))}
    folder = recorded(name)
    before = metadata(folder / "model.safetensors")
    write(tmp_path / "in" / "model.safetensors", parts(folder / "model.safetensors") | others, before)
    done = convert_checkpoint(tmp_path / "in", store, tmp_path / "new")
    files = sorted((tmp_path / "new").glob("*.safetensors"))
    assert len(files) == (9 if store == "torchao_nvfp4" else 7) - 1 and sorted(done.kept) == ["model.norm.weight", "scale"]
    for file in files:
        said = metadata(file)
        assert said.pop("format") == "pt"
        assert json.loads(said.pop("tensor_names")) == [*sorted(done.weights), "model.norm.weight"] and len(said) == 3
        assert json.loads(said["model.norm.weight"]) == {"_type": "Tensor"}
        for weight in done.weights:
            mine, theirs = json.loads(said[weight]), json.loads(before[weight])
            if store == "torchao_mxfp4":
                assert mine["_data"].pop("act_quant_kwargs")["_type"] == "QuantizeTensorToMXKwargs"
                assert theirs["_data"].pop("act_quant_kwargs") is None
                kernels = [found["_data"].pop("kernel_preference")["_data"] for found in (mine, theirs)]
                assert kernels == ["AUTO", "EMULATED"]
            assert mine == theirs


@pytest.mark.cases(3)
@pytest.mark.parametrize(("name", "to"), [("torchao_nvfp4", "modelopt_nvfp4"), ("torchao_nvfp4_swizzled", "modelopt_nvfp4"),
                                          ("torchao_nvfp4_1level", "modelopt_nvfp4"), ("torchao_nvfp4_1level", "compressed_tensors_nvfp4"),
                                          ("modelopt_nvfp4", "torchao_nvfp4"), ("torchao_nvfp4_1level", "torchao_nvfp4"),
                                          ("compressed_tensors_nvfp4", "compressed_tensors_nvfp4")])  # fmt: skip
def test_nvfp4_is_lossless_where_the_factor_is_the_same_number(recorded: At, tmp_path: Path, name: str, to: str) -> None:
    assert convert_checkpoint(recorded(name), to, tmp_path / "new").lossless
    assert values(tmp_path / "new") == values(recorded(name))
    assert identify_files(tmp_path / "new").stores == {to: 2}


@pytest.mark.parametrize(("name", "to", "back"), [("torchao_mxfp4_rceil", "mlx_mxfp4", "compressed_tensors_mxfp4"),
                                                  ("torchao_nvfp4_1level", "mlx_nvfp4", "modelopt_nvfp4")])  # fmt: skip
def test_words_of_mlx_hold_the_first_code_in_the_lowest_bits(recorded: At, tmp_path: Path, name: str, to: str, back: str) -> None:
    assert convert_checkpoint(recorded(name), to, tmp_path / "mlx").lossless
    assert values(tmp_path / "mlx") == values(recorded(name)) and identify_files(tmp_path / "mlx").stores == {to: 2}
    before, after = stored(recorded(name)), stored(tmp_path / "mlx")
    for module in ("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj"):
        word, shape, data = after[f"{module}.weight"]
        codes = np.frombuffer(before[f"{module}._weight_qdata"][2], np.uint8)
        words = sum((codes[byte::4].astype(np.uint64) << 8 * byte for byte in range(4)), np.uint64(0))
        assert (word, shape) == ("U32", (8, 16)) and np.array_equal(np.frombuffer(data, "<u4"), words)
        assert after[f"{module}.scales"][:2] == ("U8", (8, 128 // (32 if to == "mlx_mxfp4" else 16)))
    said = {"group_size": 32 if to == "mlx_mxfp4" else 16, "bits": 4, "mode": to.removeprefix("mlx_")}
    assert json.loads((tmp_path / "mlx" / "config.json").read_text()) == {"quantization": said, "quantization_config": said}
    assert convert_checkpoint(tmp_path / "mlx", back, tmp_path / "back").lossless and values(tmp_path / "back") == values(recorded(name))


def test_files_of_mlx_are_known_by_their_mode_alone(recorded: At, tmp_path: Path) -> None:
    convert_checkpoint(recorded("torchao_mxfp4_floor"), "mlx_mxfp4", tmp_path / "mlx")
    config = tmp_path / "mlx" / "config.json"
    for mode, size, says in (("affine", 32, "no quantized weight"), ("nvfp4", 16, "k_proj.weight: 32 scales for 8 x 8 blocks"),
                             ("mxfp4", 64, "quantization.group_size = 64: 32 was expected")):  # fmt: skip
        config.write_text(json.dumps({"quantization": {"group_size": size, "bits": 8, "mode": mode}}))
        with pytest.raises(FileError, match=says):
            convert_checkpoint(tmp_path / "mlx", "compressed_tensors_mxfp4", tmp_path / "new")
    config.unlink()
    with pytest.raises(FileError, match="no quantized weight"):
        convert_checkpoint(tmp_path / "mlx", "compressed_tensors_mxfp4", tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["mlx"]


MLX = {"group_size": 16, "bits": 4, "mode": "nvfp4"}
MX = {"group_size": 32, "bits": 4, "mode": "mxfp4"}


def of_mlx(folder: Path, quantization: dict[str, Any]) -> Path:
    """A checkpoint of MLX: weight a in NVFP4, weight b in MXFP4, and a config.json that says something of them."""
    words = np.arange(8 * 16, dtype=np.uint32).reshape(8, 16) * np.uint32(0x01020304)
    scales = {columns: 96 + np.arange(8 * columns, dtype=np.uint8).reshape(8, columns) % 8 for columns in (4, 8)}
    folder.mkdir()
    save_file({"a.weight": words, "a.scales": scales[8], "b.weight": words, "b.scales": scales[4]}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"quantization": quantization}))
    return folder


def test_a_module_of_mlx_may_have_a_mode_of_its_own(tmp_path: Path) -> None:
    """What stands under the name of a module holds for it, in both orders of the two; values by hand-sized code."""
    found = []
    for name, said in (("one", {**MLX, "b": MX}), ("two", {**MX, "a": MLX}), ("three", {"a": MLX, "b": MX})):
        folder = of_mlx(tmp_path / name, said)
        assert identify_files(folder).stores == {"mlx_nvfp4": 1, "mlx_mxfp4": 1}
        found.append(values(folder))
    assert found[0] == found[1] == found[2]
    a, b = found[0]["a"], found[0]["b"]
    assert a[16 * 5 + 1] / b[16 * 5 + 1] == e4m3(96 + 5) / Fraction(2) ** (96 + 2 - 127) and b[16 * 5 + 1] != 0


@pytest.mark.parametrize(("said", "text"), [
    ({**MLX, "b": {**MX, "group_size": 16}}, "b.weight: config.json: quantization.b.group_size = 16: 32 was expected"),
    ({**MLX, "a": {"group_size": 64}, "b": MX}, "a.weight: config.json: quantization.a.group_size = 64: 16 was expected"),
    ({**MLX, "b": {"mode": "affine"}}, "b.weight is of no store: quantization.b.mode = affine$"),
    ({"mode": "affine", "a": MLX}, "b.weight is of no store: quantization.mode = affine$"),
    ({"a": MLX}, "b.weight is of no store: the files beside it do not say how it is quantized$"),
])  # fmt: skip
def test_a_module_of_mlx_that_contradicts_its_own_words_is_refused(tmp_path: Path, said: dict[str, Any], text: str) -> None:
    with pytest.raises(FileError, match=text):
        convert_checkpoint(of_mlx(tmp_path / "in", said), "mlx_mxfp4", tmp_path / "new", requantize=True)
    assert not (tmp_path / "new").exists()


def test_a_scale_that_mlx_reads_as_no_value_is_never_written(recorded: At, tmp_path: Path) -> None:
    source = patched(recorded("torchao_mxfp4_floor"), tmp_path / "in", "q_proj._weight_scale", b"\xff", 13)
    with pytest.raises(FileError, match="mlx_mxfp4 cannot hold it: a scale is a NaN code in row 0 or below"):
        convert_checkpoint(source, "mlx_mxfp4", tmp_path / "new")
    with pytest.raises(FileError, match="mlx_nvfp4 cannot hold it: it has no tensor factor, and this weight has one that is not 1"):
        convert_checkpoint(recorded("modelopt_nvfp4"), "mlx_nvfp4", tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_reciprocal_that_is_rounded_is_refused_or_said(recorded: At, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = recorded("modelopt_nvfp4")
    with pytest.raises(FileError, match="its tensor factor as a divisor is no binary32 number: --round-factor takes the nearest one"):
        convert_checkpoint(source, "compressed_tensors_nvfp4", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    assert run(["convert-checkpoint", str(source), "--to", "nvfp4-pack-quantized", "--out", str(tmp_path / "new"), "--round-factor"]) == 0
    said = capsys.readouterr()
    assert "lossless" not in said.out and said.out.count("rounded: tensor factor of") == 2 and "left out: 2 tensors" in said.err
    before, after = values(source), values(tmp_path / "new")
    for name, old in before.items():
        ratios = {new / one for new, one in zip(after[name], old, strict=True) if one}
        assert len(ratios) == 1 and 0 < abs(ratios.pop() - 1) <= Fraction(1, 2**24)
    assert {entry[1] for key, entry in stored(tmp_path / "new").items() if key.endswith("weight_global_scale")} == {(1,)}


def test_a_power_of_two_is_its_own_reciprocal(recorded: At, tmp_path: Path) -> None:
    source = patched(recorded("modelopt_nvfp4"), tmp_path / "in", "weight_scale_2", bytes.fromhex("0000003B"))  # 2^-9
    assert convert_checkpoint(source, "compressed_tensors_nvfp4", tmp_path / "new", stated=LOW).lossless
    found = {entry[2].hex() for key, entry in stored(tmp_path / "new").items() if key.endswith("weight_global_scale")}
    assert found == {"00000044"}  # 2^9
    assert values(tmp_path / "new") == values(tmp_path / "in")


def test_other_tensors_and_words_are_carried_over(recorded: At, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    made = load_file(recorded("compressed_tensors_mxfp4") / "model.safetensors")
    more = {
        "model.norm.weight": np.arange(128).astype(ml_dtypes.bfloat16), "lm_head.weight": np.ones((4, 8), np.float16),
        "ids": np.arange(3, dtype=np.int64),
    }  # fmt: skip
    save_file(made | more, source / "model.safetensors")
    words = json.loads((recorded("compressed_tensors_mxfp4") / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(words | {"model_type": "llama", "hidden_size": 128}))
    done = convert_checkpoint(source, "gpt_oss_mxfp4", tmp_path / "new")
    assert sorted(done.kept) == sorted(more) and done.dropped == []
    new = load_file(tmp_path / "new" / "model.safetensors")
    assert all(new[key].dtype == more[key].dtype and new[key].tobytes() == more[key].tobytes() for key in more)
    config = json.loads((tmp_path / "new" / "config.json").read_text())
    assert config["model_type"] == "llama" and config["hidden_size"] == 128
    assert config["quantization_config"] == {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}


def test_many_files_have_an_index(recorded: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "SHARD_BYTES", 600)
    convert_checkpoint(recorded("torchao_mxfp4_floor"), "compressed_tensors_mxfp4", tmp_path / "new")
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]
    assert values(tmp_path / "new") == values(recorded("torchao_mxfp4_floor"))


def test_what_cannot_be_held_is_refused_and_nothing_is_left(recorded: At, tmp_path: Path) -> None:
    source = patched(recorded("torchao_mxfp4_floor"), tmp_path / "in", "q_proj._weight_scale", b"\xff", 13)
    nan = "a scale is a NaN code in row 0 or below: nan there, refused in compressed_tensors_mxfp4"
    for given, to, error, says in (
        (source, "compressed_tensors_mxfp4", FileError, nan),
        (recorded("modelopt_nvfp4"), "compressed_tensors_mxfp4", FileError, "blocks of nvfp4_multiplier are no blocks of mxfp4"),
        (recorded("compressed_tensors_mxfp4"), "fouroversix_if4", SpecError, "not known: convert to .*compressed_tensors_mxfp4"),
        (recorded("compressed_tensors_mxfp4"), "zzz", SpecError, "zzz"),
    ):
        with pytest.raises(error, match=says):
            convert_checkpoint(given, to, tmp_path / "new")
    (tmp_path / "there").mkdir()
    with pytest.raises(FileError, match="exists already"):
        convert_checkpoint(recorded("compressed_tensors_mxfp4"), "gpt_oss_mxfp4", tmp_path / "there")
    with pytest.raises(FileError, match="no such folder"):
        convert_checkpoint(recorded("compressed_tensors_mxfp4"), "gpt_oss_mxfp4", tmp_path / "no" / "new")
    save_file({"a": np.ones(3, np.float32)}, source / "model.safetensors")
    with pytest.raises(FileError, match="no quantized weight"):
        convert_checkpoint(source, "gpt_oss_mxfp4", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "there"]


def test_a_wrong_writer_is_caught_by_reading_back(recorded: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = writing.pack_codes
    monkeypatch.setattr(writing, "pack_codes", lambda codes, bits: real(codes[..., ::-1], bits))
    with pytest.raises(FileError, match="does not come back as it was written"):
        convert_checkpoint(recorded("torchao_mxfp4_floor"), "compressed_tensors_mxfp4", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
