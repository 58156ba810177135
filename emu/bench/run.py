"""The measured jobs: what emu does, the peer beside it, and the ratio that is promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from emu.bench import peers
from emu.bench.peers import Job

SEED = 2606


@dataclass(frozen=True)
class Measurement:
    """One row: processor time of emu and of the peer over the same elements, medians of `repeats` alternating runs.

    rate, peer_rate: million elements a second; peer_rate None where the peer is not installed.   promised: least ratio, or None.
    """

    name: str
    elements: int
    rate: float
    peer: str
    peer_rate: float | None
    promised: float | None

    @property
    def ratio(self) -> float | None:
        """emu's rate over the peer's."""
        return None if self.peer_rate is None else self.rate / self.peer_rate


@dataclass(frozen=True)
class _Case:
    name: str
    job: Callable[[Any], Job]
    peer: str
    peer_job: Callable[[Any], Job | None]
    promised: float | None


def _convert(rounding: str, to: str) -> Callable[[Any], Job]:
    import emu

    return lambda x: lambda: emu.convert(x, to, rounding=rounding)


def _quantize(recipe: str, axis: int = -1) -> Callable[[Any], Job]:
    import emu

    return lambda x: lambda: emu.quantize(x, recipe, axis=axis)


def _decode(x: Any) -> Job:
    import emu

    codes = emu.convert(x, "e2m1")
    return lambda: emu.decode(codes, "e2m1")


def _dequantize(x: Any) -> Job:
    import emu

    quantized = emu.quantize(x, "nvfp4_te_ref")
    return quantized.dequantize


CASES = (
    _Case("convert e2m1 rne", _convert("rne", "e2m1"), "ml_dtypes e2m1", peers.ml_dtypes_convert, 8),
    _Case("convert e2m1 rz", _convert("rz", "e2m1"), "ml_dtypes e2m1", peers.ml_dtypes_convert, 8),
    _Case("convert e1m2 rne", _convert("rne", "e1m2"), "ml_dtypes e2m1", peers.ml_dtypes_convert, 8),
    _Case("convert e1m2 rz", _convert("rz", "e1m2"), "ml_dtypes e2m1", peers.ml_dtypes_convert, 8),
    _Case("decode e2m1", _decode, "ml_dtypes e2m1", peers.ml_dtypes_decode, 5),
    _Case("quantize nvfp4_te_ref", _quantize("nvfp4_te_ref"), "torchao nvfp4", peers.torchao_nvfp4, 8),
    _Case("quantize mxfp4_torchao_floor", _quantize("mxfp4_torchao_floor"), "torchao mxfp4 floor", peers.torchao_mxfp4, 7),
    _Case("quantize ufp4 (RHT)", _quantize("ufp4"), "torchao nvfp4", peers.torchao_nvfp4, 4),
    _Case("quantize nvfp4_te_ref axis=0", _quantize("nvfp4_te_ref", 0), "emu, last axis", _quantize("nvfp4_te_ref"), 0.5),
    _Case(
        "quantize mxfp4_torchao_floor axis=0", _quantize("mxfp4_torchao_floor", 0), "emu, last axis", _quantize("mxfp4_torchao_floor"), 0.5
    ),
    _Case("dequantize nvfp4_te_ref", _dequantize, "", lambda _: None, None),
    _Case("quantize nvfp4_te_4over6_mse_256", _quantize("nvfp4_te_4over6_mse_256"), "", lambda _: None, None),
    _Case("quantize hif4", _quantize("hif4"), "", lambda _: None, None),
)


def run(elements: int = 1 << 24, repeats: int = 5, only: str = "", progress: Callable[[str], None] | None = None) -> list[Measurement]:
    """Measure every case whose name contains `only`.

    elements: of a standard normal float32 matrix with 4096 columns (fewer when small).   repeats: runs of each side, alternating.
    progress: called with the name of each case.   Returns: one Measurement a case.
    """
    columns = min(4096, elements)
    x = np.random.default_rng(SEED).standard_normal((max(elements // columns, 1), columns), dtype=np.float32)
    found = []
    for case in CASES:
        if only in case.name:
            if progress is not None:
                progress(case.name)
            found.append(_measure(case, x, repeats))
    return found


def _measure(case: _Case, x: Any, repeats: int) -> Measurement:
    """Alternate emu and the peer, so that a busy moment of the machine meets both."""
    job, other = case.job(x), case.peer_job(x)
    times: list[float] = []
    peer_times: list[float] = []
    for turn in range(repeats + 1):
        for work, kept in ((job, times), (other, peer_times)):
            if work is not None:
                begin = process_time()
                work()
                if turn:
                    kept.append(process_time() - begin)
    peer_rate = x.size / median(peer_times) / 1e6 if peer_times else None
    return Measurement(case.name, x.size, x.size / median(times) / 1e6, case.peer, peer_rate, case.promised)
