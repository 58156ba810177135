"""TransformerEngine's reference NVFP4 quantizer: plain PyTorch inside the wheel, read without the compiled core that a CPU cannot have.

The package refuses to import without that core. Empty parents stand in for it, and its own quantizer file is run as it is.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache, partial
from importlib.metadata import files
from pathlib import Path
from types import ModuleType
from typing import Any

from emu.base.errors import ToolError
from emu.check.libraries.model import Kernel, Library, e8m0_of, load

LIBRARY = Library(
    "transformer_engine",
    "transformer_engine",
    ("torch",),
    "pip install -c constraints.txt torch && pip install -c constraints.txt --no-deps transformer_engine",
)
_FP32 = {"takes": "torch.fp32"}
_OWN = "emu_foreign_transformer_engine"
_PARENTS = ("", ".pytorch", ".pytorch.custom_recipes", ".pytorch.quantized_tensor", ".pytorch.tensor", ".pytorch.tensor.utils")


@cache
def _reference() -> Any:
    """Return the module reference_nvfp4, its imports answered by stand-ins while it loads."""
    folder = "transformer_engine/pytorch/custom_recipes/"
    paths = {str(path): Path(str(path.locate())) for path in files("transformer_engine") or ()}
    stand_ins = {f"transformer_engine{name}": ModuleType(f"transformer_engine{name}") for name in _PARENTS}
    tensors = stand_ins["transformer_engine.pytorch.quantized_tensor"]
    tensors.QuantizedTensorStorage = tensors.Quantizer = object  # type: ignore[attr-defined]
    recipes = stand_ins["transformer_engine.pytorch.custom_recipes"]
    stand_ins["transformer_engine.pytorch.tensor.utils"].is_custom = bool  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        recipes.gemm = _run(paths, folder + "gemm.py")  # type: ignore[attr-defined]
        recipes.reference_utils = _run(paths, folder + "reference_utils.py")  # type: ignore[attr-defined]
        return _run(paths, folder + "reference_nvfp4.py")
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _run(paths: dict[str, Path], name: str) -> Any:
    if name not in paths:
        raise ToolError(f"foreign:transformer_engine: {name} is not in the installed version: {LIBRARY.install}")
    title = f"{_OWN}_{Path(name).stem}"
    spec = importlib.util.spec_from_file_location(title, paths[name])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    spec.loader.exec_module(module)
    return module


def nvfp4(x: Any, *, tensor_amax: Any, rows: int, **options: Any) -> dict[str, Any]:
    """NVFP4QuantizerRef._quantize_blockwise_reference with a tensor maximum."""
    words = {"pow_2_scales": False, "eps": 0.0, **options}
    packed, scale = _reference().NVFP4QuantizerRef._quantize_blockwise_reference(x, tensor_amax, 16, rows, **words)
    return {"packed": packed, "scale": scale, "tensor": tensor_amax}


def mxfp4(x: Any) -> dict[str, Any]:
    """The same with powers of two, blocks of 32."""
    one = load("torch").ones(())
    packed, scale = _reference().NVFP4QuantizerRef._quantize_blockwise_reference(x, one, 32, 1, pow_2_scales=True, eps=0.0)
    return {"packed": packed, "scale": e8m0_of(scale.numpy())}


def cast(x: Any) -> Any:
    """cast_to_fp4x2, unpacked again."""
    pairs = load("torch").stack([x, load("torch").zeros_like(x)], -1)
    return _reference().cast_to_fp4x2(pairs).reshape(-1) & 15


def _adaptive(mode: str, top: int, fast: bool = False) -> Kernel:
    tail = f"{mode}_{top}{'_fast' if fast else ''}"
    words = {
        "nvfp4_use_4over6": True, "nvfp4_e4m3_max": top, "nvfp4_4over6_err_mode": mode.upper(), "nvfp4_4over6_err_use_fast_math": fast
    }  # fmt: skip
    what = f"NVFP4QuantizerRef, 4 over 6, {mode.upper()}, {top}{', fast math' if fast else ''}"
    return Kernel(LIBRARY, f"nvfp4_4over6_{tail}", f"quantize/nvfp4_te_4over6_{tail}", partial(nvfp4, rows=1, **words), what,
                  options=_FP32, multiple=(1, 16))  # fmt: skip


KERNELS = (
    Kernel(LIBRARY, "e2m1", "convert/e2m1/rne/gfloat_sat", cast, "reference_nvfp4.cast_to_fp4x2", "nearest", options=_FP32),
    Kernel(
        LIBRARY, "nvfp4", "quantize/nvfp4_te_ref", partial(nvfp4, rows=1), "NVFP4QuantizerRef, tiles 1x16", options=_FP32, multiple=(1, 16)
    ),
    Kernel(
        LIBRARY,
        "nvfp4_2d",
        "quantize/nvfp4_te_2d_ref",
        partial(nvfp4, rows=16),
        "NVFP4QuantizerRef, tiles 16x16",
        options=_FP32,
        multiple=(16, 16),
    ),
    _adaptive("mae", 256),
    _adaptive("mae", 448),
    _adaptive("mse", 256),
    _adaptive("mse", 448),
    _adaptive("mse", 256, fast=True),
    Kernel(
        LIBRARY, "mxfp4_pow2", "quantize/mxfp4_te_pow2", mxfp4, "NVFP4QuantizerRef, powers of two, 1x32", options=_FP32, multiple=(1, 32)
    ),
)
