"""Matrix products by each engine, beside mmasim's simulation of the same instruction: million products a second of processor time.

Each side works on the shape that it is given: a peer that is asked for one instruction at a time has its own number of products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from time import perf_counter, process_time
from typing import Any

import numpy as np

from emu.base.errors import EmuError
from emu.bench.jobs import Job, Shape, matmul
from emu.bench.run import SEED, alternating
from emu.engines.native import convert as kernel
from emu.engines.table import choose
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get
from tools.bench import peers
from tools.bench.table import Measurement, rates


@dataclass(frozen=True)
class Peer:
    """A peer's job. shape: m, n, k of one call."""

    name: str
    shape: Shape
    make: Callable[[Any], Job | None]


@dataclass(frozen=True)
class DotCase:
    """One row. choice: a datapath, and operands where it leaves them free.   shape: m, n, k.   promised: least ratio to the peer, or None.

    form: of the kernel, None: the best.   jobs: threads; more than one are measured by the clock on the wall, on both sides.
    """

    name: str
    choice: tuple[Any, ...]
    shape: Shape
    engine: str
    peer: Peer
    promised: float | None = None
    form: int | None = None
    jobs: int = 1


def _scaled(shape: Shape, instruction: str) -> Peer:
    return Peer(f"mmasim m{shape[0]}n{shape[1]}k{shape[2]}", shape, lambda rng: peers.mmasim_block_scale(instruction, shape, rng))


def _plain(shape: Shape, instruction: str) -> Peer:
    return Peer(f"mmasim m{shape[0]}n{shape[1]}k{shape[2]}", shape, lambda rng: peers.mmasim_wgmma(instruction, shape, rng))


def _by(engine: str, name: str, rng: np.random.Generator) -> Job:
    """The same datapath by a slower engine, on a product of few outputs."""
    shape = (4, 4, 256) if engine == "exact" else (64, 64, 256)
    case = DotCase(name, (name,), shape, engine, Peer("", shape, lambda _: None))
    return _job(case, _plan(case), rng)


def _fused(choice: tuple[Any, ...], shape: Shape, form: int | None) -> Peer:
    """The kernel of one fused step: its rate is what one of levels is held against."""
    case = DotCase(choice[0], choice, shape, "native", Peer("", shape, lambda _: None), form=form)
    return Peer(f"emu {choice[0]}", shape, lambda rng: _job(case, _plan(case), rng))


def cases(jobs: int = 1) -> list[DotCase]:
    """Return every case, in the order of the table. Large tiles of mmasim: the largest instruction that it has.

    jobs: more than one adds the whole product with so many threads, beside the same with one.
    """
    large, small = (128, 256, 64), (16, 8, 64)
    nvfp4 = "kind::mxf4nvf4.block16.f32.e2m1.e2m1"
    of_nvfp4 = _scaled(large, f"m128n256k64.{nvfp4}.ue4m3")
    of_mxfp4 = _scaled(large, "m128n256k64.kind::mxf4.block32.f32.e2m1.e2m1.ue8m0")
    of_tile = _scaled(small, f"m16n8k64.{nvfp4}.f32.ue4m3")
    of_fp8 = _plain((64, 256, 32), "m64n256k32.f32.e4m3.e4m3")
    found = []
    for engine, aim in (("native", 30.0), ("numpy", 10.0), ("c_ref", None)):
        whole = (512, 512, 4096) if engine != "c_ref" else (256, 256, 1024)
        mxfp4, hopper = ("blackwell_mxf4_b32_ue8m0",), ("hopper_fp8", "e4m3", "e4m3")
        found += [
            DotCase("nvfp4", ("blackwell_mxf4nvf4_b16_ue4m3",), whole, engine, of_nvfp4, aim),
            DotCase("nvfp4", ("blackwell_mxf4nvf4_b16_ue4m3",), (128, 128, 64), engine, of_nvfp4),
            DotCase("nvfp4", ("blackwell_mxf4nvf4_b16_ue4m3",), small, engine, of_tile),
            DotCase("mxfp4", mxfp4, whole, engine, of_mxfp4),
            DotCase("fp8", hopper, (256, 256, 1024), engine, of_fp8),
        ]
    of_forms = [("nvfp4", ("blackwell_mxf4nvf4_b16_ue4m3",), of_nvfp4), ("fp8", ("hopper_fp8", "e4m3", "e4m3"), of_fp8)]
    for name, choice, peer in of_forms:
        for form in range(kernel.BEST_FORM + 1):
            found.append(DotCase(name, choice, (256, 256, 1024), "native", peer, form=form))
    proposed = [(profile, "ue4m3") for profile in ("ideal", "int64", "cheap", "late_c")] + [("late_c", "e8m0"), ("promote", "fp32")]
    for (profile, scale), engine in product(proposed, ("native", "numpy")):
        name = f"e1m2 {profile}, {scale}"
        found.append(DotCase(name, (profile, "e1m2", "e1m2", scale, 16), (256, 256, 1024), engine, of_nvfp4))
    own = DotCase("cdna3 fp8", ("cdna3_fp8", "e4m3fnuz", "e4m3fnuz"), (256, 256, 1024), "numpy", of_fp8)
    found.append(replace(own, engine="native", peer=Peer("emu numpy", own.shape, partial(_job, own, _plan(own)))))
    for name in ("int20_saturate", "int12_cut", "bf16_register", "fp32_fma_chain", "e1m2_int24_register", "e1m2_bf16_register"):
        fused = ("blackwell_mxf4nvf4_b16_ue4m3",) if name.startswith("e1m2") else ("hopper_fp16", "bf16", "bf16")
        for form in (None, *range(kernel.BEST_FORM)):
            peer = _fused(fused, (256, 256, 1024), form)
            found.append(DotCase(f"{name} (levels)", (name,), (256, 256, 1024), "native", peer, 0.5, form=form))
    for name in ("systolic_4way", "bf16_pairwise", "fp16_tree_fp32", "rvbna4_rne"):
        of = Peer("emu numpy", (64, 64, 256), partial(_by, "numpy", name))
        found.append(DotCase(f"{name} (levels)", (name,), (256, 256, 256), "native", of))
    for name in ("int20_saturate", "bf16_register", "systolic_4way", "rvbna4_rne"):
        of = Peer("emu exact", (4, 4, 256), partial(_by, "exact", name))
        found.append(DotCase(f"{name} (levels)", (name,), (64, 64, 256), "numpy", of, 50.0))
    if jobs > 1:
        for engine in ("native", "numpy", "c_ref"):
            one = next(case for case in found if case.engine == engine)
            alone = Peer("emu, 1 job", one.shape, partial(_job, one, _plan(one)))
            found.append(DotCase(one.name, one.choice, one.shape, engine, alone, jobs=jobs))
    return found


def label(case: DotCase) -> str:
    """Return the name of a row."""
    m, n, k = case.shape
    form = "" if case.form is None else f", form {kernel.FORMS[case.form]}"
    threads = "" if case.jobs == 1 else f", {case.jobs} jobs"
    return f"matmul {case.name} {m}x{n}x{k} {case.engine}{form}{threads}"


def run_dots(repeats: int, only: str, progress: Callable[[str], None] | None = None, jobs: int = 1) -> list[Measurement]:
    """Measure every case whose label contains `only` and whose engine can do it. Returns: rates in million products a second."""
    found = []
    for case in cases(jobs):
        if only in label(case):
            if progress is not None:
                progress(label(case))
            found += _measure(case, repeats)
    return found


def _measure(case: DotCase, repeats: int) -> list[Measurement]:
    """Alternate emu and the peer; nothing where the engine cannot do the case."""
    rng, plan = np.random.default_rng(SEED), _plan(case)
    try:
        choose("levels" if isinstance(plan, LevelsPlan) else "dot", case.engine, plan)
    except EmuError:
        return []
    job, other = _job(case, plan, rng), case.peer.make(rng)
    sides = [(job, case.shape)] if other is None else [(job, case.shape), (other, case.peer.shape)]
    times = alternating([work for work, _ in sides], repeats, process_time if case.jobs == 1 else perf_counter)
    mine, *peer = (rates(prod(shape), seconds) for (_, shape), seconds in zip(sides, times, strict=True))
    return [Measurement(label(case), prod(case.shape), mine, case.peer.name, peer[0] if peer else (), case.promised)]


def _plan(case: DotCase) -> DatapathPlan | LevelsPlan:
    model: Datapath = get("datapath", case.choice[0])
    return resolve_levels(*case.choice) if isinstance(model.facts, DatapathLevels) else resolve(*case.choice)


def _job(case: DotCase, plan: DatapathPlan | LevelsPlan, rng: np.random.Generator) -> Job:
    return matmul(plan, case.shape, case.engine, case.jobs, rng, case.form)
