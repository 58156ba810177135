"""Writes small checkpoints with the real libraries, and records them as hex: python tests/checkpoint/make_files.py FOLDER [STORE...]

Needs the extra [foreign]. The weights are those of `weight` below, so that a test has the original at hand without a file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

ROWS, COLUMNS = 8, 128
MODULES = ("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj")
PARTIAL = (130, 136)  # sides that end inside a block of 128 x 128
MXFP6, MXFP8 = "mxfp6-pack-quantized", "mxfp8-quantized"
COMPRESSED = ("compressed-tensors", "torch")
COMMAND = "python tests/checkpoint/make_files.py FOLDER"


def weight(name: str, rows: int = ROWS, columns: int = COLUMNS, dtype: str = "bfloat16") -> Any:
    """Weights without a generator: sign, 3 bits of exponent and 7 of fraction out of a hash; elements 32 to 63 of row 1 are zero."""
    size = 2 * rows * columns
    raw = b"".join(hashlib.sha256(f"{name}/{number}".encode()).digest() for number in range(-(-size // 32)))[:size]
    words = np.frombuffer(raw, "<u2")
    bits = words & 0x807F | (117 + (words >> 7 & 7)).astype(np.uint16) << 7
    bits = bits.reshape(rows, columns)
    bits[1, 32:64] = 0
    return bits.view(ml_dtypes.bfloat16).astype(dtype)


def torch_weights(dtype: str, rows: int = ROWS, columns: int = COLUMNS, modules: tuple[str, ...] = MODULES) -> dict[str, Any]:
    import torch

    return {name: torch.tensor(weight(name, rows, columns).astype(np.float32)).to(getattr(torch, dtype)) for name in modules}


def save(folder: Path, tensors: dict[str, Any], metadata: dict[str, str] | None = None, config: Any = None) -> None:
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors", metadata)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config, sort_keys=True), encoding="utf-8")


def save_values(folder: Path, values: dict[str, Any]) -> None:
    """Keep the first weight as the library reads it back, in binary32. The suffix keeps it out of the checkpoint."""
    from safetensors.torch import save_file

    name = MODULES[0]
    save_file({f"{name}.weight": values[name].contiguous()}, folder / "values.safetensors.read")


def compressed_tensors(folder: Path, preset: str, dtype: str, word: str | None = None) -> None:
    """Observed minimum and maximum per group, global scale of both projections together, then the library's compressor.

    preset: of the library's schemes.   word: of its format; None: packed.
    """
    import torch
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
    from compressed_tensors.quantization import preset_name_to_scheme
    from compressed_tensors.quantization.lifecycle.forward import dequantize as read_back
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    scheme = preset_name_to_scheme(preset, ["Linear"])
    word = word or f"{preset.lower()}-pack-quantized"
    weights, stored, read = torch_weights(dtype), {}, {}
    top = max(item.abs().max() for item in weights.values())
    for name, item in weights.items():
        groups = item.reshape(ROWS, -1, scheme.weights.group_size)
        shared = generate_gparam(-top, top) if preset == "NVFP4" else None
        scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), scheme.weights, global_scale=shared)
        given = {"weight": item, "weight_scale": scale} | ({} if shared is None else {"weight_global_scale": shared})
        found = BaseCompressor.get_value_from_registry(word).compress(given, scheme)
        stored |= {f"{name}.{part}": tensor for part, tensor in found.items()}
        if shared is not None:
            read[name] = read_back(
                x_q=unpack_fp4_from_uint8(found["weight_packed"], ROWS, COLUMNS, torch.float32),
                scale=found["weight_scale"].float(),
                args=scheme.weights,
                global_scale=shared,
                dtype=torch.float32,
            )
    if read:
        save_values(folder, read)
    stored["model.norm.weight"] = torch.ones(COLUMNS, dtype=torch.bfloat16)
    group = scheme.model_dump(mode="json", exclude_none=True)
    config = {"quantization_config": {"config_groups": {"group_0": group}, "format": word, "quant_method": "compressed-tensors"}}
    save(folder, stored, config=config)


def modelopt(folder: Path, dtype: str) -> None:
    import torch
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    weights, stored, read = torch_weights(dtype), {}, {}
    shared = torch.stack([NVFP4QTensor.get_weights_scaling_factor_2(item) for item in weights.values()]).max()
    for name, item in weights.items():
        found, scale, tensor = NVFP4QTensor.quantize(item, 16, weights_scaling_factor_2=shared)
        stored |= {f"{name}.weight": found._quantized_data, f"{name}.weight_scale": scale, f"{name}.weight_scale_2": tensor.clone()}
        stored[f"{name}.input_scale"] = torch.tensor(0.001)
        read[name] = found.dequantize(torch.float32, scale=scale, double_scale=tensor, block_sizes={-1: 16})
    producer = {"name": "modelopt", "version": version("nvidia-modelopt")}
    config = {"producer": producer, "quantization": {"quant_algo": "NVFP4", "group_size": 16}}
    save(folder, stored)
    save_values(folder, read)
    (folder / "hf_quant_config.json").write_text(json.dumps(config), encoding="utf-8")


def torchao_nvfp4(folder: Path, dtype: str, swizzled: bool, levels: int) -> None:
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

    tensors = {}
    for name, item in torch_weights(dtype).items():
        scale = per_tensor_amax_to_scale(item.abs().max()) if levels == 2 else None
        tensors[f"{name}.weight"] = NVFP4Tensor.to_nvfp4(item, per_tensor_scale=scale, is_swizzled_scales=swizzled)
    save(folder, *flatten_tensor_state_dict(tensors))
    if levels == 2 and not swizzled:
        import torch

        save_values(folder, {name: tensors[f"{name}.weight"].dequantize(torch.float32) for name in MODULES})


def compressed_tensors_fp8(folder: Path, preset: str, dtype: str) -> None:
    """One scale for the tensor, for each row, or for each block of 128 x 128, of a weight whose sides are no multiples of 128.

    How the library reads a weight back is kept, but for blocks, where the files would be large.
    """
    import torch
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import preset_name_to_scheme
    from compressed_tensors.quantization.utils import calculate_qparams, maybe_pad_tensor_for_block_quant

    scheme, library, stored = preset_name_to_scheme(preset, ["Linear"]), BaseCompressor.get_value_from_registry("float-quantized"), {}
    block = preset == "FP8_BLOCK"
    for name, item in (torch_weights(dtype, *PARTIAL, MODULES[:1]) if block else torch_weights(dtype)).items():
        if block:
            tiles = maybe_pad_tensor_for_block_quant(item, (128, 128)).reshape(2, 128, 2, 128)
            low, high = tiles.amin((1, 3)), tiles.amax((1, 3))
        else:
            groups = item if preset == "FP8_DYNAMIC" else item.reshape(1, -1)
            low, high = (found.reshape(-1, 1) if preset == "FP8_DYNAMIC" else found for found in (groups.amin(-1), groups.amax(-1)))
        scale, _ = calculate_qparams(low, high, scheme.weights)
        found = library.compress({"weight": item, "weight_scale": scale}, scheme)
        stored |= {f"{name}.{part}": tensor for part, tensor in found.items()}
        if not block and name == MODULES[0]:
            save_values(folder, {name: library.decompress(found, scheme)["weight"].to(torch.float32)})
    group = scheme.model_dump(mode="json", exclude_none=True)
    config = {"config_groups": {"group_0": group}, "format": "float-quantized", "quant_method": "compressed-tensors"}
    save(folder, stored, config={"quantization_config": config})


def torchao_fp8(folder: Path, dtype: str, granularity: str) -> None:
    import torch
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import granularity as library
    from torchao.quantization.quantize_.workflows.float8.float8_tensor import Float8Tensor

    tensors = {}
    for name, item in torch_weights(dtype).items():
        tensors[f"{name}.weight"] = Float8Tensor.from_hp(item, granularity=getattr(library, granularity)())
    save(folder, *flatten_tensor_state_dict(tensors))
    save_values(folder, {name: tensors[f"{name}.weight"].dequantize(torch.float32) for name in MODULES})


def transformers_fp8(folder: Path, dtype: str) -> None:
    """By its quantizer of weights that it saves in the form of DeepSeek; two tiles."""
    from types import SimpleNamespace

    from transformers import FineGrainedFP8Config
    from transformers.integrations.finegrained_fp8 import Fp8Quantize

    quantizer, stored = Fp8Quantize(SimpleNamespace(quantization_config=FineGrainedFP8Config(weight_block_size=(128, 128)))), {}
    for name, item in torch_weights(dtype, 128, 256, MODULES[:1]).items():
        stored |= quantizer.convert({f"{name}.weight": item})
    said = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    save(folder, stored, config={"quantization_config": said})


def torchao_mx(folder: Path, dtype: str, mode: str, swizzled: bool, element: str = "float4_e2m1fn_x2") -> None:
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

    tensors = {}
    for name, item in torch_weights(dtype).items():
        given = {"scaling_mode": ScaleCalculationMode[mode], "is_swizzled_scales": swizzled}
        tensors[f"{name}.weight"] = MXTensor.to_mx(item, getattr(torch, element), 32, **given)
    save(folder, *flatten_tensor_state_dict(tensors))


def gpt_oss(folder: Path, dtype: str) -> None:
    """Codes and scales of modelopt's MXFP4 under the names of gpt-oss, as the reader of transformers takes them."""
    from modelopt.torch.quantization.qtensor import MXFP4QTensor

    stored = {}
    for name, item in torch_weights(dtype).items():
        found, scale = MXFP4QTensor.quantize(item, 32)
        stored[f"{name}_blocks"] = found._quantized_data.reshape(1, ROWS, -1, 16)
        stored[f"{name}_scales"] = scale.reshape(1, ROWS, -1)
    save(folder, stored, config={"quantization_config": {"quant_method": "mxfp4"}})


def gguf(folder: Path, qtype: str) -> None:
    import gguf as library

    writer = library.GGUFWriter(folder / "model.gguf", "llama")
    for number, name in enumerate(MODULES):
        kind = library.GGMLQuantizationType[qtype]
        if qtype == "MXFP4":
            packed = library.quants.quantize(weight(name, dtype="float32"), kind)
        else:  # the package reads NVFP4 and does not write it: a file of modelopt is repacked, as its converter does
            packed = _nvfp4_records(name)
        writer.add_tensor(f"blk.0.attn_{'qk'[number]}.weight", packed, raw_dtype=kind)
    writer.add_tensor("output_norm.weight", np.ones(COLUMNS, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _nvfp4_records(name: str) -> Any:
    import torch
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    found, scale, _ = NVFP4QTensor.quantize(torch_weights("float32")[name], 16)
    packed = found._quantized_data.numpy()
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(ROWS, -1, 4, 2, 8)
    nibbles = (codes[..., 0, :] | codes[..., 1, :] << 4).reshape(ROWS, -1, 32)
    scales = scale.view(torch.uint8).numpy().reshape(ROWS, -1, 4)
    return np.concatenate([scales, nibbles], -1).reshape(ROWS, -1)


FILES: dict[str, tuple[tuple[str, ...], Callable[[Path], None]]] = {
    "compressed_tensors_nvfp4": (COMPRESSED, lambda path: compressed_tensors(path, "NVFP4", "float32")),
    "compressed_tensors_nvfp4_bf16": (COMPRESSED, lambda path: compressed_tensors(path, "NVFP4", "bfloat16")),
    "compressed_tensors_mxfp4": (COMPRESSED, lambda path: compressed_tensors(path, "MXFP4", "bfloat16")),
    "compressed_tensors_mxfp6": (COMPRESSED, lambda path: compressed_tensors(path, "MXFP6A16", "bfloat16", MXFP6)),
    "compressed_tensors_mxfp8": (COMPRESSED, lambda path: compressed_tensors(path, "MXFP8A16", "bfloat16", MXFP8)),
    "compressed_tensors_fp8_tensor": (COMPRESSED, lambda path: compressed_tensors_fp8(path, "FP8", "bfloat16")),
    "compressed_tensors_fp8_row": (COMPRESSED, lambda path: compressed_tensors_fp8(path, "FP8_DYNAMIC", "bfloat16")),
    "compressed_tensors_fp8_row_fp32": (COMPRESSED, lambda path: compressed_tensors_fp8(path, "FP8_DYNAMIC", "float32")),
    "compressed_tensors_fp8_block": (COMPRESSED, lambda path: compressed_tensors_fp8(path, "FP8_BLOCK", "bfloat16")),
    "torchao_fp8_row": (("torchao", "torch"), lambda path: torchao_fp8(path, "bfloat16", "PerRow")),
    "torchao_fp8_tensor": (("torchao", "torch"), lambda path: torchao_fp8(path, "float32", "PerTensor")),
    "deepseek_fp8": (("transformers", "torch"), lambda path: transformers_fp8(path, "bfloat16")),
    "modelopt_nvfp4": (("nvidia-modelopt", "torch"), lambda path: modelopt(path, "bfloat16")),
    "torchao_nvfp4": (("torchao", "torch"), lambda path: torchao_nvfp4(path, "bfloat16", False, 2)),
    "torchao_nvfp4_swizzled": (("torchao", "torch"), lambda path: torchao_nvfp4(path, "bfloat16", True, 2)),
    "torchao_nvfp4_1level": (("torchao", "torch"), lambda path: torchao_nvfp4(path, "float32", False, 1)),
    "torchao_mxfp4_floor": (("torchao", "torch"), lambda path: torchao_mx(path, "bfloat16", "FLOOR", False)),
    "torchao_mxfp4_rceil": (("torchao", "torch"), lambda path: torchao_mx(path, "bfloat16", "RCEIL", True)),
    "torchao_mxfp8_e4m3": (("torchao", "torch"), lambda path: torchao_mx(path, "bfloat16", "RCEIL", True, "float8_e4m3fn")),
    "torchao_mxfp8_e5m2": (("torchao", "torch"), lambda path: torchao_mx(path, "bfloat16", "FLOOR", False, "float8_e5m2")),
    "gpt_oss_mxfp4": (("nvidia-modelopt", "torch"), lambda path: gpt_oss(path, "bfloat16")),
    "gguf_mxfp4": (("gguf",), lambda path: gguf(path, "MXFP4")),
    "gguf_nvfp4": (("gguf", "nvidia-modelopt", "torch"), lambda path: gguf(path, "NVFP4")),
}


def record(name: str, folder: Path) -> None:
    """Write one store into a folder, and what it wrote as hex into a file of text."""
    libraries, make = FILES[name]
    at = folder / name
    at.mkdir(parents=True)
    make(at)
    files = {path.name: path.read_bytes().hex() for path in sorted(at.iterdir())}
    about = {"command": f"{COMMAND} {name}", "versions": {item: version(item) for item in libraries}, "files": files}
    (folder / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for chosen in sys.argv[2:] or FILES:
        record(chosen, Path(sys.argv[1]))
        print("wrote", chosen)
