"""PyTorch's own casts on a CPU: FP8 in four formats, E8M0, bf16 and fp16, and what the FP8 codes decode to."""

from __future__ import annotations

from functools import partial
from typing import Any

from emu.check.libraries.model import Kernel, Library, load

LIBRARY = Library("torch", "torch")
_DTYPES = {
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz", "e8m0": "float8_e8m0fnu",
    "bf16": "bfloat16", "fp16": "float16",
}  # fmt: skip
_BF16 = "bf16"


def cast(x: Any, dtype: str) -> Any:
    """x.to(dtype), as raw bits."""
    torch = load("torch")
    wide = torch.int16 if dtype in ("bfloat16", "float16") else torch.uint8
    return x.to(getattr(torch, dtype)).view(wide)


def decode(codes: Any, dtype: str) -> Any:
    """Codes seen as dtype, to float32."""
    torch = load("torch")
    return codes.view(getattr(torch, dtype)).to(torch.float32)


def _kernel(fmt: str, source: str) -> Kernel:
    dtype = _DTYPES[fmt]
    policy = {"e8m0": "nvidia", "bf16": "ieee", "fp16": "ieee"}.get(fmt, "torch")
    mode = "rna" if fmt == "e8m0" else "rne"
    claim = "nearest" if fmt == "e8m0" else "same"
    tail = "" if source == "fp32" else f"_from_{source}"
    call = partial(cast, dtype=dtype)
    what = f"x.to(torch.{dtype}), x of {source}"
    return Kernel(
        LIBRARY, f"{fmt}{tail}", f"convert/{fmt}/{mode}/{policy}", call, what, claim, options={"takes": f"torch.{source}", "source": source}
    )


KERNELS = (
    *(_kernel(fmt, "fp32") for fmt in _DTYPES),
    *(_kernel(fmt, _BF16) for fmt in ("e4m3", "e5m2", "e8m0")),
    *(
        Kernel(
            LIBRARY,
            f"decode_{fmt}",
            f"decode/{fmt}",
            partial(decode, dtype=_DTYPES[fmt]),
            f"codes.view(torch.{_DTYPES[fmt]}).float()",
            options={"takes": "torch.bits"},
        )
        for fmt in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0")
    ),
)
