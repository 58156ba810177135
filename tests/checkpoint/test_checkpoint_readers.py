"""The libraries themselves load what convert_checkpoint wrote: every value, bit for bit, is the one that the bytes of the source mean.

Run by .ci/peers, where torch, transformers with compressed-tensors, and mlx are installed; each test skips without its library.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from emu.checkpoint import writing
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.dequantized import read_weight
from emu.spec import get, names

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


REAL = tuple(f"fp8_{part}{word}" for part in ("block", "row", "tensor") for word in ("", "_fp32"))  # scales that are no powers of two
COMPRESSED = tuple(f"compressed_tensors_{name}" for name in ("mxfp4", "mxfp6", "mxfp8", "nvfp4", *REAL))
TORCHAOS = tuple(f"torchao_{name}" for name in ("fp8_row", "fp8_tensor", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2", "nvfp4", "nvfp4_1level"))
MLX = ("mlx_mxfp4", "mlx_mxfp8", "mlx_nvfp4")
FIELDS: dict[str, tuple[int, int]] = {
    "mxfp6": (2, 3),
    "mxfp8": (4, 3),
    "mxfp8_e4m3": (4, 3),
    "mxfp8_e5m2": (5, 2),
}  # bits of exponent and fraction


def wide_values(path: Path, store: str) -> dict[str, NDArray[np.float32]]:
    """What a recorded file with elements of 6 or 8 bits means, by hand: a row of codes is one number, the first code in its lowest bits."""
    exponent, fraction = FIELDS["mx" + store.partition("_mx")[2]]
    bits, found = 1 + exponent + fraction, {}
    for name in MODULES:
        parts = (f"{name}._weight_qdata", f"{name}._weight_scale") if "torchao" in store else (f"{name}.weight", f"{name}.weight_scale")
        rows = raw(path, parts[0] + ("_packed" if bits == 6 else "")).reshape(8, -1)
        numbers = [int.from_bytes(row.tobytes(), "little") for row in rows]
        codes = np.array([[number >> bits * place & (1 << bits) - 1 for place in range(128)] for number in numbers], np.int32)
        field, rest = codes >> fraction & (1 << exponent) - 1, codes & (1 << fraction) - 1
        whole = np.where(field > 0, rest + (1 << fraction), rest).astype(np.float32) * np.where(codes >> bits - 1, -1, 1).astype(np.float32)
        scales = np.repeat(raw(path, parts[1]).reshape(8, 4).astype(np.int32), 32, -1) - 127
        found[name] = np.ldexp(whole, np.maximum(field, 1) - (1 << exponent - 1) + 1 - fraction + scales).astype(np.float32)
    return found


def real_values(path: Path) -> dict[str, NDArray[np.float64]]:
    """What a recorded file of E4M3 under scales of rows or of the tensor means, by hand, exactly: 4 bits by 24 fill no binary64."""
    found = {}
    for name in MODULES:
        parts = (f"{name}._weight_qdata", f"{name}._weight_scale") if "torchao" in path.name else (f"{name}.weight", f"{name}.weight_scale")
        codes, scales = raw(path, parts[0]).reshape(8, 128).astype(np.int32), raw(path, parts[1])
        short = open_checkpoint(path).entries[parts[1]].dtype == "BF16"
        bits = scales.view("<u2").astype("<u4") << 16 if short else scales.view("<u4")
        field, rest = codes >> 3 & 15, codes & 7
        magnitude = np.ldexp(np.where(field > 0, rest + 8, rest).astype(np.float64), np.maximum(field, 1) - 10)
        found[name] = np.where(codes > 127, -magnitude, magnitude) * bits.view("<f4").astype(np.float64).reshape(-1, 1)
    return found


def torchao_values(path: Path, group: int) -> dict[str, NDArray[np.float32]]:
    """Values of a recorded file of torchao, rows of scales."""
    return {
        name: meant(raw(path, f"{name}._weight_qdata").reshape(8, 64), raw(path, f"{name}._weight_scale").reshape(8, 128 // group), group)
        for name in MODULES
    }


def same(found: Any, wanted: NDArray[np.float32]) -> None:
    assert found.shape == wanted.shape and np.array_equal(np.ascontiguousarray(found, np.float32).view("<u4"), wanted.view("<u4"))
    different = len(np.unique(wanted.view("<u4")))
    assert different > 60 or (different > 15 and (wanted.view("<u4") == 0x80000000).any())  # codes of 4 bits are few: -0 is among them


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


@pytest.fixture
def whole(recorded: At, parts: Any, write: Any, tmp_path: Path) -> Callable[[str], tuple[Path, dict[str, NDArray[np.float32]]]]:
    """A function: store to convert to -> a model of one layer, two of whose weights that store can hold, and the values of these."""

    def made(to: str) -> tuple[Path, dict[str, NDArray[np.float32]]]:
        if "_fp8_" in to or to == "deepseek_fp8":
            name = {"row": "compressed_tensors_fp8_row", "row_fp32": "compressed_tensors_fp8_row_fp32"}.get(to.partition("fp8_")[2])
            source = recorded(name or "compressed_tensors_fp8_tensor")
            source = recorded("torchao_fp8_tensor") if to in ("torchao_fp8_tensor", "deepseek_fp8") else source
            values = {name: found.astype(np.float32) for name, found in real_values(source).items()}
        elif to.endswith(tuple(FIELDS)):
            name = "compressed_tensors_mxfp8" if to == "torchao_mxfp8_e4m3" else to
            source, values = recorded(name), wide_values(recorded(name), name)
        elif to.endswith("_nvfp4"):
            source, values = divided(recorded("modelopt_nvfp4"), tmp_path / "source")
        else:
            name, group = ("torchao_nvfp4_1level", 16) if to.endswith("1level") else ("torchao_mxfp4_floor", 32)
            source, values = recorded(name), torchao_values(recorded(name), group)
        plain = {name: ("BF16", shape, np.full(shape, 0x3E80, "<u2")) for name, shape in PLAIN.items()}
        read = {name: part for name, part in parts(source / "model.safetensors").items() if name not in PLAIN}
        write(tmp_path / "in" / "model.safetensors", read | plain)
        (tmp_path / "in" / "config.json").write_text(json.dumps(LLAMA))
        return tmp_path / "in", values

    return made


@pytest.mark.parametrize("to", COMPRESSED)
def test_transformers_loads_a_whole_model(whole: Any, tmp_path: Path, to: str) -> None:
    torch = pytest.importorskip("torch", reason="transformers needs torch")
    pytest.importorskip("compressed_tensors", reason="reads the store")
    transformers = pytest.importorskip("transformers", reason="loads models with compressed-tensors")
    given, values = whole(to)
    assert convert_checkpoint(given, to, tmp_path / "new").lossless
    about = transformers.utils.quantization_config.CompressedTensorsConfig(dequantize=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "new", quantization_config=about, dtype=torch.bfloat16)
    loaded = dict(model.named_parameters())
    assert set(loaded) == {*PLAIN, *(f"{name}.weight" for name in MODULES)}
    for name, wanted in values.items():  # of the type that was asked for, bfloat16
        same(loaded[f"{name}.weight"].detach().float().numpy(), wanted.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert all((loaded[name] == 0.25).all() for name in PLAIN)


def test_transformers_loads_a_whole_model_of_deepseek(whole: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="transformers needs torch")
    transformers = pytest.importorskip("transformers", reason="reads the store")
    given, values = whole("deepseek_fp8")
    assert convert_checkpoint(given, "deepseek_fp8", tmp_path / "new").lossless
    for dtype, wide in ((torch.bfloat16, ml_dtypes.bfloat16), (torch.float32, np.float32)):
        about = transformers.FineGrainedFP8Config(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "new", quantization_config=about, dtype=dtype)
        loaded = dict(model.named_parameters())
        assert set(loaded) == {*PLAIN, *(f"{name}.weight" for name in MODULES)}
        for name, wanted in values.items():
            same(loaded[f"{name}.weight"].detach().float().numpy(), wanted.astype(wide).astype(np.float32))
            assert np.array_equal(read_weight(tmp_path / "new", f"{name}.weight", wide), wanted.astype(wide))


def test_the_readers_of_tiles_give_the_values(recorded: At, tmp_path: Path) -> None:
    """Whole tiles by transformers, cut ones by compressed-tensors: as `read_weight` says, in each type."""
    torch = pytest.importorskip("torch", reason="the readers need torch")
    library = pytest.importorskip("transformers.integrations.finegrained_fp8", reason="reads tiles")
    compressors = pytest.importorskip("compressed_tensors.compressors", reason="reads tiles")
    from compressed_tensors.quantization import preset_name_to_scheme
    from safetensors.torch import load_file as load_tensors

    name = MODULES[0]
    convert_checkpoint(recorded("deepseek_fp8"), "deepseek_fp8", tmp_path / "whole")
    found = load_tensors(tmp_path / "whole" / "model.safetensors")
    for dtype, wide in ((torch.bfloat16, ml_dtypes.bfloat16), (torch.float32, np.float32)):
        read = library.Fp8Dequantize(None)._dequantize_one(found[f"{name}.weight"], found[f"{name}.weight_scale_inv"], dtype)
        same(read.float().numpy(), read_weight(tmp_path / "whole", f"{name}.weight", wide).astype(np.float32))
    reader, scheme = compressors.BaseCompressor.get_value_from_registry("float-quantized"), preset_name_to_scheme("FP8_BLOCK", ["Linear"])
    for to, wide in (("compressed_tensors_fp8_block", ml_dtypes.bfloat16), ("compressed_tensors_fp8_block_fp32", np.float32)):
        convert_checkpoint(recorded("compressed_tensors_fp8_block"), to, tmp_path / to)
        found = load_tensors(tmp_path / to / "model.safetensors")
        read = reader.decompress({part: found[f"{name}.{part}"] for part in ("weight", "weight_scale")}, scheme)["weight"]
        same(read.float().numpy(), read_weight(tmp_path / to, f"{name}.weight", wide).astype(np.float32))


TORCHAO = pytest.mark.parametrize("to", TORCHAOS)


@TORCHAO
@pytest.mark.parametrize("most", [1 << 40, 1 << 10])  # bytes of a file: one, or many
def test_transformers_loads_a_whole_model_of_torchao(
    whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, most: int
) -> None:
    torch = pytest.importorskip("torch", reason="transformers needs torch")
    pytest.importorskip("torchao", reason="reads the store")
    transformers = pytest.importorskip("transformers", reason="loads models with torchao")
    monkeypatch.setattr(writing, "SHARD_BYTES", most)
    given, values = whole(to)
    assert convert_checkpoint(given, to, tmp_path / "new").lossless
    assert (len(list((tmp_path / "new").glob("*.safetensors"))) > 1) == (most == 1 << 10)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "new", dtype=torch.bfloat16)
    loaded = dict(model.named_parameters())
    assert set(loaded) == {*PLAIN, *(f"{name}.weight" for name in MODULES)}
    for name, wanted in values.items():
        weight = loaded[f"{name}.weight"]
        assert type(weight.data).__name__ == ("MXTensor" if "mxfp" in to else "Float8Tensor" if "fp8" in to else "NVFP4Tensor")
        same(weight.dequantize(torch.float32).detach().numpy(), wanted)
        if "mxfp" in to:  # the kernel of choice needs a GPU
            emulated = type(weight.kernel_preference).EMULATED
            weight.kernel_preference = weight.act_quant_kwargs.kernel_preference = emulated
    assert all((loaded[name] == 0.25).all() for name in PLAIN)
    assert torch.isfinite(model(torch.tensor([[1, 2, 3]])).logits).all()  # its products run on these weights


@TORCHAO
def test_the_reader_of_torchao_gives_the_values(whole: Any, tmp_path: Path, to: str) -> None:
    torch = pytest.importorskip("torch", reason="torchao needs torch")
    support = pytest.importorskip("torchao.prototype.safetensors.safetensors_support", reason="reads the store")
    from safetensors import safe_open

    given, values = whole(to)
    convert_checkpoint(given, to, tmp_path / "new")
    with safe_open(tmp_path / "new" / "model.safetensors", framework="pt") as file:
        found, left = support.unflatten_tensor_state_dict({name: file.get_tensor(name) for name in list(file.keys())}, file.metadata())
    assert set(found) == {*PLAIN, *(f"{name}.weight" for name in MODULES)} and left == {}
    for name, wanted in values.items():
        same(found[f"{name}.weight"].dequantize(torch.float32).numpy(), wanted)
    again, metadata = support.flatten_tensor_state_dict(found)
    with safe_open(tmp_path / "new" / "model.safetensors", framework="pt") as file:
        assert set(again) == set(file.keys())
        assert {key: json.loads(text) for key, text in metadata.items() if key != "tensor_names"} == {
            key: json.loads(text) for key, text in file.metadata().items() if key not in ("tensor_names", "format")
        }  # what the library itself would write of them


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


def test_mlx_gives_the_values_of_mxfp8(recorded: At, tmp_path: Path) -> None:
    mx: Any = pytest.importorskip("mlx.core", reason="mlx reads its own files")
    convert_checkpoint(recorded("compressed_tensors_mxfp8"), "mlx_mxfp8", tmp_path / "new")
    words = json.loads((tmp_path / "new" / "config.json").read_text())["quantization"]
    stored = mx.load(str(tmp_path / "new" / "model.safetensors"))
    for module, wanted in wide_values(recorded("compressed_tensors_mxfp8"), "compressed_tensors_mxfp8").items():
        found = mx.dequantize(stored[f"{module}.weight"], stored[f"{module}.scales"], **words, dtype=mx.float32)
        same(np.array(found), wanted)


@pytest.mark.parametrize("word", ["bfloat16", "float32"])
def test_modelopt_gives_the_values(recorded: At, tmp_path: Path, word: str) -> None:
    """Its two readers of 8 bits, on files of emu; a scale that is no bfloat16 number is rounded before it multiplies."""
    torch = pytest.importorskip("torch", reason="modelopt needs torch")
    library = pytest.importorskip("modelopt.torch.quantization.qtensor", reason="reads the store")
    from safetensors.torch import load_file as load_tensors

    dtype, wide = getattr(torch, word), np.float32 if word == "float32" else ml_dtypes.bfloat16
    convert_checkpoint(recorded("compressed_tensors_mxfp8"), "modelopt_mxfp8", tmp_path / "mx")
    found = load_tensors(tmp_path / "mx" / "model.safetensors")
    for name, wanted in wide_values(recorded("compressed_tensors_mxfp8"), "compressed_tensors_mxfp8").items():
        tensor = library.MXFP8QTensor((8, 128), dtype, found[f"{name}.weight"])
        same(tensor.dequantize(dtype, scale=found[f"{name}.weight_scale"]).float().numpy(), wanted.astype(wide).astype(np.float32))
    convert_checkpoint(recorded("compressed_tensors_fp8_tensor"), "modelopt_fp8", tmp_path / "real")
    path = tmp_path / "real" / "model.safetensors"
    for bits in (0x3A100000, 0x3F818000, 0x3F7FFFFF):
        data, name = bytearray(path.read_bytes()), MODULES[0]
        at = open_checkpoint(path).entries[f"{name}.weight_scale"].start
        data[at : at + 4] = bits.to_bytes(4, "little")
        path.write_bytes(data)
        found = load_tensors(path)
        tensor = library.FP8QTensor((8, 128), dtype, found[f"{name}.weight"])
        read = tensor.dequantize(dtype, scale=found[f"{name}.weight_scale"]).float().numpy()
        same(read, read_weight(tmp_path / "real", f"{name}.weight", wide).astype(np.float32))


def test_the_spec_names_the_readers_that_are_run_here() -> None:
    """And gguf's, of test_checkpoint_gguf.py."""
    run = dict.fromkeys(COMPRESSED, ("compressed_tensors",)) | dict.fromkeys(TORCHAOS, ("torchao",)) | dict.fromkeys(MLX, ("mlx",))
    run |= {"gpt_oss_mxfp4": ("gpt_oss",), "deepseek_fp8": ("transformers",)}
    run |= dict.fromkeys(("modelopt_fp8", "modelopt_mxfp8"), ("modelopt",)) | dict.fromkeys(("gguf_mxfp4", "gguf_nvfp4"), ("gguf",))
    stores = [get("checkpoint", name) for name in names("checkpoint")]
    assert {store.id: store.facts.write.read_by for store in stores if store.facts.write is not None and store.facts.write.read_by} == run
