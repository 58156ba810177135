"""What is measured: each case is a job of emu, the peer beside it, the data, and the ratio that this project aims at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from emu.bench.jobs import MakeJob, convert, decode, dequantize, quantize, read_4_write_1, torch_quantize, transform
from tools.bench import peers, plain


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


def _torch_cases() -> list[Case]:
    found = []
    for dtype, short in (("float32", "fp32"), ("bfloat16", "bf16")):
        nvfp4, mxfp4 = partial(peers.torchao_nvfp4, dtype=dtype), partial(peers.torchao_mxfp4, dtype=dtype)
        found += [
            Case(f"quantize nvfp4_te_ref torch {short}", torch_quantize("nvfp4_te_ref", dtype), f"torchao nvfp4 {short}", nvfp4, 3),
            Case(f"quantize nvfp4_torchao torch {short}", torch_quantize("nvfp4_torchao", dtype), f"torchao nvfp4 {short}", nvfp4, 3),
            Case(
                f"quantize mxfp4_torchao_floor torch {short}",
                torch_quantize("mxfp4_torchao_floor", dtype),
                f"torchao mxfp4 {short}",
                mxfp4,
                3,
            ),
        ]
    return found


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
            Case(f"convert e2m1 native, {data}", convert("e2m1", "rne", "native"), limit, read_4_write_1, share, data),
            Case(f"convert e1m2 native, {data}", convert("e1m2", "rne", "native"), limit, read_4_write_1, share, data),
            Case(f"convert e2m1 native packed, {data}", _packed("e2m1"), limit, read_4_write_1, share, data),
        ]
    for form, name in enumerate(_form_names()):
        found.append(Case(f"convert e2m1 native, form {name}", _form(form), limit, read_4_write_1, None))
    found.append(Case("convert e2m1 native", convert("e2m1", "rne", "native"), ml_dtypes, peers.ml_dtypes_convert, None))
    found.append(Case("convert e1m2 ru native", convert("e1m2", "ru", "native"), ml_dtypes, peers.ml_dtypes_convert, None))
    for to, rounding in (("e2m1", "rne"), ("e2m1", "rz"), ("e1m2", "rne"), ("e1m2", "rz")):
        found.append(Case(f"convert {to} {rounding} numpy", convert(to, rounding, "numpy"), ml_dtypes, peers.ml_dtypes_convert, 8))
    for to in ("e4m3", "e5m2", "e2m3", "e3m2"):
        found.append(Case(f"convert {to} native", convert(to, "rne", "native"), "emu numpy", convert(to, "rne", "numpy"), None))
    found.append(Case("convert e2m1 c_ref", convert("e2m1", "rne", "c_ref"), torchao, peers.torchao_convert, 3))
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
            found.append(Case(f"quantize {recipe} {engine}", quantize(recipe, engine), peer, peer_job, aims.get((recipe, engine))))
    for recipe in ("nvfp4_te_ref", "mxfp4_torchao_floor"):
        last = quantize(recipe, "native")
        found.append(Case(f"quantize {recipe} native axis=0", quantize(recipe, "native", 0), "emu, last axis", last, 0.5))
    found.append(Case("quantize nvfp4_te_ref native, bits", quantize("nvfp4_te_ref", "native"), *nvfp4, _by_form(30, 22), "bits"))
    return found


def _beside_plain_c() -> list[Case]:
    """Each beside one loop of C that is right for finite numbers alone, vectorised by the compiler."""
    return [
        Case("convert e2m1, beside plain C", convert("e2m1", "rne", "native"), "plain C", plain.convert, None),
        Case("decode e2m1, beside plain C", decode, "plain C", plain.decode, 0.7),
        Case("quantize mxfp4_torchao_floor, beside plain C", quantize("mxfp4_torchao_floor", "native"), "plain C", plain.mxfp4, 0.9),
        Case("quantize nvfp4_te_ref, beside plain C", quantize("nvfp4_te_ref", "native"), "plain C", plain.nvfp4, None),
        Case("dequantize nvfp4_te_ref, beside plain C", dequantize, "plain C", plain.nvfp4_back, None),
    ]


def cases() -> list[Case]:
    """Return every case, in the order of the table."""
    return [
        *_conversions(),
        Case("decode e2m1", decode, "ml_dtypes e2m1", peers.ml_dtypes_decode, 5),
        *_beside_plain_c(),
        *_tensors(),
        *_torch_cases(),
        Case("transform rht16_te native", transform("rht16_te", "native"), "emu numpy", transform("rht16_te", "numpy"), None),
        Case("dequantize nvfp4_te_ref", dequantize, "memory copy", peers.memory_copy, None),
        Case("quantize nvfp4_te_4over6_mse_256", quantize("nvfp4_te_4over6_mse_256", "auto"), "memory copy", peers.memory_copy, None),
        Case("quantize hif4", quantize("hif4", "auto"), "memory copy", peers.memory_copy, None),
        Case("quantize nvfp4_f46_mse", quantize("nvfp4_f46_mse", "auto"), "fouroversix", partial(peers.fouroversix_mse, kind="nvfp4"), 10),
        Case("quantize if4_mse", quantize("if4_mse", "auto"), "fouroversix", partial(peers.fouroversix_mse, kind="if4"), 10),
    ]
