"""The libraries themselves load what convert_checkpoint wrote: every value, bit for bit, is the one that the bytes of the source mean.

Run by .ci/peers, where torch, transformers with compressed-tensors, and mlx are installed; each test skips without its library.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint

At = Callable[[str], Path]
pytestmark = pytest.mark.filterwarnings("ignore")
MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 16, "dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
PLAIN = {
    "model.embed_tokens.weight": (16, 128), "lm_head.weight": (16, 128), "model.norm.weight": (128,),
    "model.layers.0.input_layernorm.weight": (128,), "model.layers.0.post_attention_layernorm.weight": (128,),
    "model.layers.0.self_attn.v_proj.weight": (8, 128), "model.layers.0.self_attn.o_proj.weight": (128, 8),
    "model.layers.0.mlp.gate_proj.weight": (32, 128), "model.layers.0.mlp.up_proj.weight": (32, 128),
    "model.layers.0.mlp.down_proj.weight": (128, 32),
}  # fmt: skip
MODULES = ("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj")


def meant(codes: NDArray[np.uint8], scales: NDArray[np.uint8], group: int, factor: float = 1.0) -> NDArray[np.float32]:
    """What bytes of a source mean, by hand. codes: [rows, n / 2], low nibble first.   scales: [rows, n / group]. Every product is exact."""
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1)
    element = np.where(nibbles & 8, -MAGNITUDES[nibbles & 7], MAGNITUDES[nibbles & 7])
    field, fraction = scales.astype(np.int32) >> 3, (scales & 7).astype(np.float32)
    e4m3 = np.where(field > 0, np.ldexp(1 + fraction / 8, field - 7), np.ldexp(fraction / 8, -6))
    scale = e4m3 if group == 16 else np.ldexp(np.float32(1), scales.astype(np.int32) - 127)
    return (element * np.repeat(scale, group, -1) * np.float32(factor)).astype(np.float32)


def raw(path: Path, name: str) -> NDArray[np.uint8]:
    container = open_checkpoint(path)
    return container.raw(container.entries[name])


def torchao_values(path: Path, group: int) -> dict[str, NDArray[np.float32]]:
    """Values of a recorded file of torchao, rows of scales."""
    return {
        name: meant(raw(path, f"{name}._weight_qdata").reshape(8, 64), raw(path, f"{name}._weight_scale").reshape(8, 128 // group), group)
        for name in MODULES
    }


def same(found: Any, wanted: NDArray[np.float32]) -> None:
    assert found.shape == wanted.shape and np.array_equal(np.ascontiguousarray(found, np.float32).view("<u4"), wanted.view("<u4"))
    assert len(np.unique(wanted.view("<u4"))) > 15 and (wanted.view("<u4") == 0x80000000).any()


def divided(modelopt: Path, folder: Path) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """A file of modelopt whose tensor factors are 2^-9, so that the reciprocal is exact, and its values."""
    data = bytearray((modelopt / "model.safetensors").read_bytes())
    for name, entry in open_checkpoint(modelopt).entries.items():
        if name.endswith("weight_scale_2"):
            data[entry.start : entry.start + 4] = np.float32(2.0**-9).tobytes()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(data)
    values = {
        name: meant(raw(folder, f"{name}.weight").reshape(8, 64), raw(folder, f"{name}.weight_scale").reshape(8, 8), 16, 2.0**-9)
        for name in MODULES
    }
    return folder, values


@pytest.mark.parametrize("to", ["compressed_tensors_mxfp4", "compressed_tensors_nvfp4"])
def test_transformers_loads_a_whole_model(recorded: At, parts: Any, write: Any, tmp_path: Path, to: str) -> None:
    torch = pytest.importorskip("torch", reason="transformers needs torch")
    pytest.importorskip("compressed_tensors", reason="reads the store")
    transformers = pytest.importorskip("transformers", reason="loads models with compressed-tensors")
    if to.endswith("nvfp4"):
        source, values = divided(recorded("modelopt_nvfp4"), tmp_path / "source")
    else:
        source, values = recorded("torchao_mxfp4_floor"), torchao_values(recorded("torchao_mxfp4_floor"), 32)
    given = tmp_path / "in"
    plain = {name: ("BF16", shape, np.full(shape, 0x3E80, "<u2")) for name, shape in PLAIN.items()}
    write(given / "model.safetensors", parts(source / "model.safetensors") | plain)
    (given / "config.json").write_text(json.dumps(LLAMA))
    assert convert_checkpoint(given, to, tmp_path / "new").lossless
    about = transformers.utils.quantization_config.CompressedTensorsConfig(dequantize=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "new", quantization_config=about, dtype=torch.bfloat16)
    loaded = dict(model.named_parameters())
    assert set(loaded) == {*PLAIN, *(f"{name}.weight" for name in MODULES)}
    for name, wanted in values.items():
        same(loaded[f"{name}.weight"].detach().float().numpy(), wanted)
    assert all((loaded[name] == 0.25).all() for name in PLAIN)


def test_the_reader_of_gpt_oss_gives_the_values(recorded: At, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="transformers needs torch")
    reader = pytest.importorskip("transformers.integrations.mxfp4", reason="reads the experts of gpt-oss")
    convert_checkpoint(recorded("torchao_mxfp4_floor"), "gpt_oss_mxfp4", tmp_path / "new")
    stored = load_file(tmp_path / "new" / "model.safetensors")
    for name, wanted in torchao_values(recorded("torchao_mxfp4_floor"), 32).items():
        blocks, scales = (torch.tensor(stored[name + part])[None] for part in ("_blocks", "_scales"))
        same(reader.convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)[0].T.numpy(), wanted)


@pytest.mark.parametrize(("name", "to", "group"), [("torchao_mxfp4_floor", "mlx_mxfp4", 32), ("torchao_nvfp4_1level", "mlx_nvfp4", 16)])
def test_mlx_gives_the_values(recorded: At, tmp_path: Path, name: str, to: str, group: int) -> None:
    mx: Any = pytest.importorskip("mlx.core", reason="mlx reads its own files")
    convert_checkpoint(recorded(name), to, tmp_path / "new")
    words = json.loads((tmp_path / "new" / "config.json").read_text())["quantization"]
    stored = mx.load(str(tmp_path / "new" / "model.safetensors"))
    assert words == {"group_size": group, "bits": 4, "mode": to.removeprefix("mlx_")} and len(stored) == 4
    for module, wanted in torchao_values(recorded(name), group).items():
        found = mx.dequantize(stored[f"{module}.weight"], stored[f"{module}.scales"], **words, dtype=mx.float32)
        same(np.array(found), wanted)
