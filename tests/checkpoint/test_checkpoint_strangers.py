"""JSON of strangers (config files, an index, metadata of headers) is trusted in no type: an answer or one line, whatever stands there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import EmuError, FileError
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.described import bytes_fault, described, elsewhere, left_out
from emu.checkpoint.read import StoredTensor, open_tensor
from emu.checkpoint.store import matches
from emu.cli.main import run

At = Callable[[str], Path]
WRONG: tuple[Any, ...] = (None, "plain text", [1], {"a": 1}, {"_data": "text"}, "remove it")
CONFIGS = ("config.json", "hf_quant_config.json", "model.safetensors.index.json")
RECORDED = ("compressed_tensors_nvfp4", "compressed_tensors_fp8_block", "modelopt_nvfp4", "deepseek_fp8", "gpt_oss_mxfp4", "torchao_nvfp4",
            "torchao_mxfp4_rceil", "torchao_fp8_row", "emu")  # fmt: skip
Q = "model.layers.0.self_attn.q_proj"


def changes(data: Any) -> Iterator[Any]:
    """Copies of some JSON with a value of another type, or none, at each place; the whole of it first."""
    yield from WRONG
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        for value in changes(data[key]):
            copy = data.copy()
            copy[key] = value
            if value == WRONG[-1]:
                del copy[key]
            yield copy


def ask(folder: Path) -> None:
    """Read all that is said of the weights. It is answered, or refused in one line; anything else is a fault."""
    for to in (None, "modelopt_nvfp4"):
        said = ""
        try:
            container = open_checkpoint(folder)
            found = matches(container)
            tensors = [item for item in (open_tensor(container, fitting) for fitting in found) if isinstance(item, StoredTensor)]
            for tensor in tensors:
                assert [described(container, tensor.match), left_out(container, tensor.match), bytes_fault(container, tensor.match)]
            list(elsewhere(container, [tensor.match for tensor in tensors]))
            if to is not None:
                convert_checkpoint(folder, to, folder / "new", round_factor=True)
        except EmuError as error:
            said = str(error)
        finally:
            shutil.rmtree(folder / "new", ignore_errors=True)
        assert "\n" not in said


@pytest.mark.cases(2)
@pytest.mark.parametrize("store", RECORDED)
def test_a_value_of_another_type_anywhere_is_answered_or_refused(recorded: At, parts: Any, write: Any, tmp_path: Path, store: str) -> None:
    folder, tried = tmp_path / "ckpt", 0
    path = folder / "model.safetensors"
    if store == "emu":
        folder.mkdir()
        np.savez(tmp_path / "x.npz", **{f"{Q}.weight": np.ones((2, 32), np.float32)})
        assert run(["quantize", str(tmp_path / "x.npz"), "-r", "nvfp4_modelopt", "-o", str(path), "--quiet"]) == 0
    else:
        shutil.copytree(recorded(store), folder)
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    said, tensors = header.pop("__metadata__", {}), parts(path)
    (folder / CONFIGS[2]).write_text(json.dumps({"weight_map": dict.fromkeys(list(header)[:3], path.name)}), encoding="utf-8")
    for file in CONFIGS:
        if (folder / file).exists():
            data = json.loads((folder / file).read_text(encoding="utf-8"))
            for changed in changes(data):
                (folder / file).write_text(json.dumps(changed), encoding="utf-8")
                ask(folder)
                tried += 1
            (folder / file).write_text(json.dumps(data), encoding="utf-8")
    for key, text in said.items():
        data = json.loads(text) if text[:1] in "[{" else text
        for changed in changes(data):
            write(path, tensors, said | {key: changed if isinstance(changed, str) else json.dumps(changed)})
            ask(folder)
            tried += 1
    assert tried > 20


@pytest.mark.parametrize("entry", ["plain text", "5", "[]", '{"_data": "text"}', '{"_data": {"is_swizzled_scales": "no"}}'])
def test_what_torchao_says_of_a_weight_is_an_object_or_refused(
    recorded: At, original: At, parts: Any, write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str
) -> None:
    source = recorded("torchao_nvfp4") / "model.safetensors"
    raw = source.read_bytes()
    said = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
    path = write(tmp_path / "model.safetensors", parts(source), said | {f"{Q}.weight": entry})
    assert run(["verify-checkpoint", str(path), "--original", str(original("bfloat16"))]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"emu: {path}: the header says of {Q}.weight ") and error.count("\n") == 1
    with pytest.raises(FileError, match="is_swizzled_scales"):
        convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "new")
