"""A model's weights, and an exporter that writes them as NVFP4 under ModelOpt's names; `swapped` puts the nibbles the wrong way round."""

import json
from pathlib import Path

import numpy as np
from ml_dtypes import float8_e4m3fn
from safetensors.numpy import save_file

import emu


def weights() -> dict[str, np.ndarray]:
    """Return the model: an embedding, two layers, a norm."""
    rng = np.random.default_rng(1)
    return {
        "model.embed_tokens.weight": rng.standard_normal((64, 128), np.float32),
        "model.layers.0.mlp.up_proj.weight": rng.standard_normal((256, 128), np.float32) / 8,
        "model.layers.0.mlp.down_proj.weight": rng.standard_normal((128, 256), np.float32) / 16,
        "model.norm.weight": np.ones(128, np.float32),
    }


def exported(swapped: bool) -> dict[str, np.ndarray]:
    """Return its tensors in ModelOpt's store. swapped: the fault."""
    found = {}
    for name, value in weights().items():
        if "proj" not in name:
            found[name] = value
            continue
        q = emu.quantize(value, "nvfp4_modelopt")
        tensor, scale = (level.codes for level in q.levels)
        packed = q.codes[:, 0::2] | q.codes[:, 1::2] << 4
        found[name] = packed << 4 | packed >> 4 if swapped else packed
        found[f"{name}_scale"] = scale.view(float8_e4m3fn)
        found[f"{name}_scale_2"] = tensor.view(np.float32).reshape(())
    return found


Path("bf16").mkdir()
save_file(weights(), "bf16/model.safetensors")
for folder, swapped in (("nvfp4", False), ("swapped", True)):
    Path(folder).mkdir()
    save_file(exported(swapped), f"{folder}/model.safetensors")
    Path(folder, "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "NVFP4", "group_size": 16}}))
