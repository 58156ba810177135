"""Files that cannot be read give one line and exit code 2: truncated, foreign, alone, leading out of their folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import FileError
from emu.checkpoint import identify_files
from emu.cli.main import run

At = Callable[[str], Path]
Q = "model.layers.0.self_attn.q_proj"
INDEX = "model.safetensors.index.json"


def fault(path: Path, *more: Any) -> str:
    with pytest.raises(FileError) as caught:
        identify_files(path, *more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_truncated_empty_and_foreign(recorded: At, tmp_path: Path) -> None:
    raw = (recorded("modelopt_nvfp4") / "model.safetensors").read_bytes()
    path = tmp_path / "model.safetensors"
    for data in (raw[:-1], raw[:100], raw[:7], b"", b"not a file of tensors at all"):
        path.write_bytes(data)
        assert fault(path).startswith(f"{path}: cannot read as .safetensors (truncated or foreign): ")
        assert fault(recorded("modelopt_nvfp4"), path).startswith(f"{path}: cannot read")


def test_missing_and_other_kinds(tmp_path: Path) -> None:
    assert fault(tmp_path / "none") == f"{tmp_path / 'none'}: no such file or folder"
    assert fault(tmp_path) == f"{tmp_path}: a folder without .safetensors or .gguf files"
    (tmp_path / "model.bin").write_bytes(b"x")
    assert fault(tmp_path / "model.bin").endswith("is no checkpoint: give .safetensors, .gguf, *.safetensors.index.json or a folder")


@pytest.mark.parametrize(
    ("store", "part"),
    [
        ("compressed_tensors_nvfp4", "weight_global_scale"), ("compressed_tensors_nvfp4", "weight_scale"),
        ("modelopt_nvfp4", "weight_scale_2"), ("modelopt_nvfp4", "weight_scale"), ("torchao_mxfp4_floor", "_weight_scale"),
    ],
)  # fmt: skip
def test_a_missing_companion(store: str, part: str, recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    shutil.copytree(recorded(store), tmp_path / "ckpt")
    path = tmp_path / "ckpt" / "model.safetensors"
    found = parts(path)
    del found[f"{Q}.{part}"]
    metadata = {"a": json.dumps({"_type": "MXTensor"})} if store.startswith("torchao") else None
    write(path, found, metadata)
    text = fault(tmp_path / "ckpt")
    assert "is of no store: the spec has none with " in text and "fetch" not in text
    assert f" needs {Q}.{part}, which is missing): a store of your own" in text


def test_a_part_that_an_index_places_elsewhere(indexed: Any) -> None:
    """Only where an index says where a part is does anybody know that a file is absent."""
    folder = indexed()
    path = folder / "part0.safetensors"
    placed = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
    assert identify_files(path).exit_code == 0
    placed[f"{Q}.weight_scale"] = "part7.safetensors"
    (folder / INDEX).write_text(json.dumps({"weight_map": placed}), encoding="utf-8")
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"q_proj.weight_scale\"", b"q_proj.weight_scal_\""))
    assert fault(path).endswith("the index says that it is in part7.safetensors: name the folder, with that file in it")


def test_a_companion_of_another_type(recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    found = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    found[f"{Q}.weight_scale_2"] = ("F16", (), np.zeros(1, "<u2"))
    assert f"{Q}.weight_scale_2 as F32, which is F16" in fault(write(tmp_path / "model.safetensors", found))


@pytest.fixture
def indexed(recorded: At, parts: Any, write: Any, tmp_path: Path) -> Callable[[dict[str, Any] | None], Path]:
    """A function: changes of the weight map -> a folder of two files with an index."""

    def make(changes: dict[str, Any] | None = None) -> Path:
        found = parts(recorded("compressed_tensors_nvfp4") / "model.safetensors")
        halves = [{name: item for name, item in found.items() if (Q in name) == mine} for mine in (True, False)]
        placed: dict[str, Any] = {}
        for number, half in enumerate(halves):
            write(tmp_path / "ckpt" / f"part{number}.safetensors", half)
            placed |= dict.fromkeys(half, f"part{number}.safetensors")
        (tmp_path / "ckpt" / INDEX).write_text(json.dumps({"weight_map": placed | (changes or {})}), encoding="utf-8")
        return tmp_path / "ckpt"

    return make


def test_an_index_joins_files(indexed: Any, original: At) -> None:
    folder = indexed()
    for path in (folder, folder / INDEX):
        found = identify_files(path, original("float32"))
        assert found.exit_code == 0 and found.recipes == ["nvfp4_compressed_tensors"] and len(found.tensors) == 2


@pytest.mark.parametrize(
    "name",
    [
        "../part0.safetensors",
        "/etc/part0.safetensors",
        "..\\part0.safetensors",
        "C:part0.safetensors",
        "sub/a.safetensors",
        "",
        "..",
        5,
        None,
    ],
)
def test_an_index_never_leads_out_of_its_folder(indexed: Any, name: Any) -> None:
    folder = indexed({"model.norm.weight": name})
    assert fault(folder).startswith(f"{folder / INDEX}: {name!r} is no plain file name")


def test_an_index_that_is_wrong(indexed: Any) -> None:
    folder = indexed({"model.norm.weight": "part9.safetensors"})
    assert fault(folder).endswith("names part9.safetensors, which is not there: fetch it")
    folder = indexed({"other.weight": "part0.safetensors"})
    assert "the index says that other.weight is in part0.safetensors, which does not hold it" in fault(folder)
    folder = indexed({"model.norm.weight": "part0.bin"})
    assert fault(folder).endswith("'part0.bin' is no .safetensors file")
    for text in ("{}", "[]", '{"weight_map": 5}', "{", '{"weight_map": {}}'):
        (folder / INDEX).write_text(text, encoding="utf-8")
        assert INDEX in fault(folder)


def test_a_broken_config_and_a_name_twice(recorded: At, tmp_path: Path) -> None:
    folder = tmp_path / "ckpt"
    shutil.copytree(recorded("modelopt_nvfp4"), folder)
    (folder / "config.json").write_text("{", encoding="utf-8")
    assert fault(folder).startswith(f"{folder / 'config.json'}: cannot read as JSON")
    (folder / "config.json").unlink()
    shutil.copy(folder / "model.safetensors", folder / "model2.safetensors")
    assert "is in model.safetensors too: name one file" in fault(folder)


def test_a_header_that_names_a_tensor_twice(recorded: At, tmp_path: Path) -> None:
    raw = (recorded("modelopt_nvfp4") / "model.safetensors").read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    text = raw[8:end].decode().rstrip()
    name, about = next(item for item in json.loads(text).items() if item[0].endswith(".weight"))
    twice = f"{text[:-1]},{json.dumps(name)}:{json.dumps(about)}}}".encode()
    (tmp_path / "model.safetensors").write_bytes(len(twice).to_bytes(8, "little") + twice + raw[end:])
    assert f"{name} is there twice" in fault(tmp_path / "model.safetensors")


def test_broken_gguf(recorded: At, tmp_path: Path) -> None:
    raw = (recorded("gguf_mxfp4") / "model.gguf").read_bytes()
    path = tmp_path / "model.gguf"
    for data in (raw[: len(raw) // 2], raw[:40], raw[:3], b"", b"GGUF" + b"\xff" * 60):
        path.write_bytes(data)
        assert fault(path).startswith(f"{path}: ")


def test_exit_codes_of_the_command(recorded: At, original: At, tmp_path: Path, capsys: Any) -> None:
    good, weights = str(recorded("torchao_nvfp4")), str(original("bfloat16"))
    assert run(["identify", "--quantized", good, "--original", weights]) == 0
    assert "recipe: nvfp4_torchao" in capsys.readouterr().out
    assert run(["identify", "--quantized", str(recorded("compressed_tensors_nvfp4_bf16")), "--original", weights, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["departing"]
    assert run(["identify", "--quantized", str(tmp_path)]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and error.startswith(f"emu: {tmp_path}: ")
    assert run(["identify", "--quantized", weights]) == 3
    assert run(["identify", "--original", weights]) == 2
