"""What is measured: each case is a job of emu, the peer beside it, the data, and the ratio that this project aims at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from emu.bench import peers
from emu.bench.peers import Job

MakeJob = Callable[[Any], Job | None]


@dataclass(frozen=True)
class Case:
    """One row. job, peer_job: from the data to what is timed, None where it cannot run here.

    data: `normal`, standard normal numbers, or `bits`, random bit patterns.   promised: least ratio to the peer, or None.
    """

    name: str
    job: MakeJob
    peer: str
    peer_job: MakeJob
    promised: float | None
    data: str = "normal"


def _convert(to: str, rounding: str, engine: str) -> MakeJob:
    import emu

    return lambda x: lambda: emu.convert(x, to, rounding=rounding, engine=engine)


def _packed(to: str) -> MakeJob:
    from emu.engines.native import convert as kernel
    from emu.spec import get

    facts = get("format", "fp32"), get("format", to), get("rounding", "rne"), get("policy", "nvidia")
    return lambda x: lambda: kernel.convert_packed(x.view(np.uint32), *facts)


def _form(form: int) -> MakeJob:
    from emu.engines.native import convert as kernel
    from emu.spec import get

    facts = get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia")
    if form > kernel.BEST_FORM:
        return lambda _: None
    return lambda x: lambda: kernel.convert(x.view(np.uint32), *facts, form=form)


def _limit(x: Any) -> Job:
    """Read 4 bytes and write 1 an element, into memory that is there: what no conversion to bytes can pass."""
    from emu.engines.native import convert as kernel

    bits, out = x.view(np.uint32).reshape(-1), np.zeros(x.size, np.uint8)
    return lambda: kernel.read_4_write_1(bits, out)


def _quantize(recipe: str, engine: str, axis: int = -1) -> MakeJob:
    import emu

    return lambda x: lambda: emu.quantize(x, recipe, axis=axis, engine=engine)


def _torch_quantize(recipe: str, dtype: str) -> MakeJob:
    """Return the torch engine on a tensor, eager, one thread; nothing where torch is not installed."""

    def make(x: Any) -> Job | None:
        if peers.installed("torch") is None:
            return None
        import torch

        from emu.torch.api import quantize

        torch.set_num_threads(1)
        tensor = torch.from_numpy(x).to(getattr(torch, dtype))
        return lambda: quantize(tensor, recipe)

    return make


def _torch_cases() -> list[Case]:
    found = []
    for dtype, short in (("float32", "fp32"), ("bfloat16", "bf16")):
        nvfp4, mxfp4 = partial(peers.torchao_nvfp4, dtype=dtype), partial(peers.torchao_mxfp4, dtype=dtype)
        found += [
            Case(f"quantize nvfp4_te_ref torch {short}", _torch_quantize("nvfp4_te_ref", dtype), f"torchao nvfp4 {short}", nvfp4, 3),
            Case(f"quantize nvfp4_torchao torch {short}", _torch_quantize("nvfp4_torchao", dtype), f"torchao nvfp4 {short}", nvfp4, 3),
            Case(
                f"quantize mxfp4_torchao_floor torch {short}",
                _torch_quantize("mxfp4_torchao_floor", dtype),
                f"torchao mxfp4 {short}",
                mxfp4,
                3,
            ),
        ]
    return found


def _transform(name: str, engine: str) -> MakeJob:
    import emu

    return lambda x: lambda: emu.transform(x, name, engine=engine)


def _decode(x: Any) -> Job:
    import emu

    codes = emu.convert(x, "e2m1")
    return lambda: emu.decode(codes, "e2m1")


def _dequantize(x: Any) -> Job:
    import emu

    return emu.quantize(x, "nvfp4_te_ref").dequantize


def _nothing(_: Any) -> None:
    return None


def _by_form(with_avx512: float, with_avx2: float) -> float | None:
    """Return what is aimed at with the vector instructions of this machine."""
    from emu.engines.native import convert as kernel
    from emu.engines.native._kernels import lib

    return {lib.EMU_AVX512: with_avx512, lib.EMU_AVX2: with_avx2}.get(kernel.BEST_FORM)


def _conversions() -> list[Case]:
    limit, ml_dtypes, torchao = "read 4 write 1", "ml_dtypes e2m1", "torchao f32 to f4"
    share = _by_form(0.5, 0.25)
    found = []
    for data in ("normal", "bits"):
        found += [
            Case(f"convert e2m1 native, {data}", _convert("e2m1", "rne", "native"), limit, _limit, share, data),
            Case(f"convert e1m2 native, {data}", _convert("e1m2", "rne", "native"), limit, _limit, share, data),
            Case(f"convert e2m1 native packed, {data}", _packed("e2m1"), limit, _limit, share, data),
        ]
    found += [Case(f"convert e2m1 native, form {name}", _form(form), limit, _limit, None) for form, name in enumerate(_form_names())]
    found.append(Case("convert e2m1 native", _convert("e2m1", "rne", "native"), ml_dtypes, peers.ml_dtypes_convert, None))
    found.append(Case("convert e1m2 ru native", _convert("e1m2", "ru", "native"), ml_dtypes, peers.ml_dtypes_convert, None))
    for to, rounding in (("e2m1", "rne"), ("e2m1", "rz"), ("e1m2", "rne"), ("e1m2", "rz")):
        found.append(Case(f"convert {to} {rounding} numpy", _convert(to, rounding, "numpy"), ml_dtypes, peers.ml_dtypes_convert, 8))
    found.append(Case("convert e2m1 c_ref", _convert("e2m1", "rne", "c_ref"), torchao, peers.torchao_convert, 3))
    return found


def _form_names() -> tuple[str, ...]:
    from emu.engines.native import convert as kernel

    return kernel.FORMS


def _tensors() -> list[Case]:
    nvfp4, mxfp4 = ("torchao nvfp4", peers.torchao_nvfp4), ("torchao mxfp4 floor", peers.torchao_mxfp4)
    names = {"nvfp4_te_ref": nvfp4, "mxfp4_torchao_floor": mxfp4, "ufp4": nvfp4}
    aims: dict[tuple[str, str], float | None] = {
        ("nvfp4_te_ref", "native"): _by_form(30, 22),
        ("mxfp4_torchao_floor", "native"): _by_form(50, 28),
        ("nvfp4_te_ref", "numpy"): 8,
        ("mxfp4_torchao_floor", "numpy"): 7,
        ("ufp4", "numpy"): 4,
        ("nvfp4_te_ref", "c_ref"): 3,
        ("mxfp4_torchao_floor", "c_ref"): 3,
    }
    found = []
    for engine in ("native", "numpy", "c_ref"):
        for recipe, (peer, peer_job) in names.items():
            found.append(Case(f"quantize {recipe} {engine}", _quantize(recipe, engine), peer, peer_job, aims.get((recipe, engine))))
    for recipe in ("nvfp4_te_ref", "mxfp4_torchao_floor"):
        last = _quantize(recipe, "native")
        found.append(Case(f"quantize {recipe} native axis=0", _quantize(recipe, "native", 0), "emu, last axis", last, 0.5))
    found.append(Case("quantize nvfp4_te_ref native, bits", _quantize("nvfp4_te_ref", "native"), *nvfp4, _by_form(30, 22), "bits"))
    return found


def cases() -> list[Case]:
    """Return every case, in the order of the table."""
    return [
        *_conversions(),
        Case("decode e2m1", _decode, "ml_dtypes e2m1", peers.ml_dtypes_decode, 5),
        *_tensors(),
        *_torch_cases(),
        Case("transform rht16_te native", _transform("rht16_te", "native"), "emu numpy", _transform("rht16_te", "numpy"), None),
        Case("dequantize nvfp4_te_ref", _dequantize, "", _nothing, None),
        Case("quantize nvfp4_te_4over6_mse_256", _quantize("nvfp4_te_4over6_mse_256", "auto"), "", _nothing, None),
        Case("quantize hif4", _quantize("hif4", "auto"), "", _nothing, None),
    ]
