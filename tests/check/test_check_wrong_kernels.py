"""Wrong quantizers made from the contract: whatever changes an element of ten named tensors must fail, and the right ones must pass."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support import wrong_kernels as wrong
from support.whole import tries
from support.wrong_kernels import Wrong, made, off_by_an_ulp, other_recipe, ruled, seen_in, verdict

from emu.check.targets.c import c_target
from emu.spec import get

REF = "nvfp4_te_ref"
FAST = 29  # one wrong kernel of so many by default
WHOLE = [(REF, "fp32", 0), (REF, "bf16", 20261), ("e2m1_fp32scale", "fp32", 0), ("mxfp4_te_pow2", "fp32", 20262)]
LEAST = {"ulp": 0.7, "fact": 0.65, "index": 1.0, "shape": 0.95}  # share that is caught; the others change nothing that can be seen


def judge(kernels, size):
    """Check kernels; return the share caught by kind. A kernel that passes must be right on every named tensor."""
    caught, all_of = Counter(), Counter()
    for item in kernels:
        all_of[item.kind] += 1
        if verdict(item) != "pass":
            caught[item.kind] += 1
        else:
            assert seen_in(item, size) == "", item.name
    return {kind: caught[kind] / count for kind, count in all_of.items()}


def test_wrong_kernels_fail():
    kernels = made(REF)
    assert len(kernels) >= 200 and {item.kind for item in kernels} == set(LEAST)
    assert all(share >= LEAST[kind] for kind, share in judge(kernels[::FAST], 10**5).items())


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize(("recipe", "source", "seed"), WHOLE)
def test_every_wrong_kernel_fails(recipe, source, seed):
    shares = judge(made(recipe, source, seed)[:: tries(6, 1)], 10**6)
    print(recipe, source, seed, {kind: f"{share:.0%}" for kind, share in shares.items()})
    assert shares["ulp"] >= 0.5 and all(share >= LEAST[kind] for kind, share in shares.items() if seed == 0)


RIGHT = (REF, "e2m1_fp32scale", "mxfp4_te_pow2", "nvfp4_te_4over6_mse_448", "nvfp4_te_2d_ref", "ufp4", "nvfp4_torchao_1level")


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("recipe", RIGHT)
@pytest.mark.parametrize("key", [1, 77])
def test_right_ones_pass(recipe, key):
    """The machinery without a fault: what it makes differs by the fault alone."""
    kernels = {
        "program": off_by_an_ulp(recipe, "fp32", "", 1, 0, 1),
        "recipe": other_recipe(get("recipe", recipe), "fp32"),
        "rule": ruled(recipe, "fp32", lambda kernel, x, given: kernel(x, **given)),
    }
    if get("block", get("recipe", recipe).facts.block).facts.shape[0] > 1:
        del kernels["program"]  # its machinery has tiles of one row
    for name, kernel in list(kernels.items())[: 3 if key == 1 else 1]:
        item = Wrong(name, "right", f"quantize/{recipe}", kernel)
        assert verdict(item, key=key) == "pass", name


# Faults that were thought of after the inputs had been chosen: what no element of the lists above is about.


def before(change):
    """A fault of x."""
    return lambda kernel, x, given: kernel(change(x.copy()).astype(x.dtype), **given)


def after(name, change):
    """A fault of an answer. change: answer, largest magnitude code of each block, operands -> answer."""

    def rule(kernel, x, given):
        out = kernel(x, **given)
        wide = 32 if out["scale"].shape[1] == -(-x.shape[1] // 32) else 16
        padded = np.pad(x & np.uint32(0x7FFFFFFF), ((0, 0), (0, -x.shape[1] % wide)))
        tops = padded.reshape(len(x), -1, wide).max(-1) if name == "scale" else x
        return out | {name: change(out[name], tops, given).astype(out[name].dtype)}

    return rule


def with_amax(change):
    """A fault of the tensor maximum, an fp32 code."""
    return lambda kernel, x, given: kernel(x, **given | {"tensor_amax": np.asarray(change(int(given["tensor_amax"])), "u4")})


MX, ONE_SCALE, INF = "mxfp4_te_pow2", "e2m1_fp32scale", 0x7F800000
UNSEEN = {
    "x cut to bf16 below 2^-100": (REF, "fp32", before(lambda x: np.where(x & 0x7FFFFFFF < 27 << 23, x & 0xFFFF0000, x))),
    "subnormals flushed, powers of two": (MX, "fp32", before(lambda x: np.where(x & 0x7FFFFFFF < 1 << 23, x & 0x80000000, x))),
    "subnormals flushed, one scale": (ONE_SCALE, "fp32", before(lambda x: np.where(x & 0x7FFFFFFF < 1 << 23, x & 0x80000000, x))),
    "subnormals flushed, bf16": (REF, "bf16", before(lambda x: np.where(x & 0x7FFF < 0x80, x & 0x8000, x))),
    "subnormals flushed, fp16": (REF, "fp16", before(lambda x: np.where(x & 0x7FFF < 0x400, x & 0x8000, x))),
    "last bit of x dropped": (REF, "fp32", before(lambda x: x & 0xFFFFFFFE)),
    "NaN taken for zero": (MX, "fp32", before(lambda x: np.where(x & 0x7FFFFFFF > INF, 0, x))),
    "Inf taken for the largest": (MX, "fp32", before(lambda x: np.where(x & 0x7FFFFFFF == INF, x - 1, x))),
    "the largest scale one low": (REF, "fp32", after("scale", lambda s, tops, given: np.where(s == 0x7E, 0x7D, s))),
    "the smallest scale zero": (REF, "fp32", after("scale", lambda s, tops, given: np.where(s == 1, 0, s))),
    "the smallest power of two as the next": (MX, "fp32", after("scale", lambda s, tops, given: np.where(s == 0, 1, s))),
    "the largest power of two one low": (MX, "fp32", after("scale", lambda s, tops, given: np.where(s == 0xFD, 0xFC, s))),
    "NaN for blocks beyond the tensor maximum": (
        REF, "fp32", after("scale", lambda s, tops, given: np.where(tops > int(given["tensor_amax"]), 0x7F, s))),
    "a scale one high for some fractions": (
        REF, "fp32", after("scale", lambda s, tops, given: s + ((tops & 0x3F == 0x2A) & (s > 0x20) & (s < 0x7E)))),
    "a code one low for numbers of bf16": (MX, "fp32", after("codes", lambda c, x, given: c - ((c == 0xF) & (x & 0xFFFF == 0)))),
    "negative numbers of two bits one low": (
        MX, "fp32", after("codes", lambda c, x, given: c - ((c == 0xA) & (x & 0xFFFF == 0) & (x >> 16 & 0x7F == 0x40)))),
    "last bit of the tensor maximum dropped": (REF, "fp32", with_amax(lambda amax: amax & ~1)),
    "a tensor maximum of 2^100 at most": (REF, "fp32", with_amax(lambda amax: min(amax, 227 << 23) if amax <= INF else amax)),
    "a tensor maximum of 2^-100 at least": (REF, "fp32", with_amax(lambda amax: max(amax, 27 << 23))),
    "half of the random integer": (
        "ufp4_sr", "fp32", lambda kernel, x, given: kernel(x, random=given["random"] & (np.iinfo(given["random"].dtype).max >> 1))),
}  # fmt: skip


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", UNSEEN)
def test_faults_of_later_fail(name):
    recipe, source, rule = UNSEEN[name]
    assert verdict(Wrong(name, "later", f"quantize/{recipe}", ruled(recipe, source, rule), source)) == "differs"


# The same in C.

STEPS = ("RATIO", "AMAX_MULTIPLIER", "SCALE_RAW", "TENSOR_FACTOR", "FACTOR", "RECIPROCAL", "SCALED")
RULES = ("OVER_ROW_ENDS", "ODD_LAST_BLOCK", "COLUMNS_256", "COLUMNS_1024", "BEYOND_THE_ROW", "PAST_THE_END", "ROWS_16_BITS",
         "BLOCKS_16_BITS", "NO_ZEROS", "LAST_LANE", "SCALE_TRANSPOSED", "PAIRS", "STATIC_AMAX", "ODD_ROWS")  # fmt: skip
SIGNATURE = "(x: const float*, rows: size_t, columns: size_t, tensor_amax: float, codes: uint8_t*, scale: uint8_t*)"
IN_C = {f"ulp_{step.lower()}_{rate}": (step, rate, 1 if rate in (2, 32) else -1, 0) for step in STEPS for rate in wrong.RATES}
IN_C |= {rule.lower(): (0, 1, 0, rule) for rule in RULES}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The kernels in C, compiled once."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: kernels in C cannot be made")
    folder = tmp_path_factory.mktemp("wrong")
    lines = [f"KERNEL({name}, {step}, {rate}, {way}, {rule})" for name, (step, rate, way, rule) in {**IN_C, "right": (0, 1, 0, 0)}.items()]
    (folder / "kernels.inc").write_text("\n".join(lines))
    source = Path(wrong.__file__).with_suffix(".c")
    words = [compiler, "-std=c11", "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-I{folder}", "-o", folder / "k.so", source, "-lm"]
    subprocess.run(words, check=True)
    return folder / "k.so"


def in_c(library, name):
    return c_target(str(library), f"{name}{SIGNATURE}", f"quantize/{REF}")


def test_a_right_kernel_in_c_passes(library):
    assert verdict(Wrong("right", "right", f"quantize/{REF}", None), in_c(library, "right")) == "pass"


@pytest.mark.cases(8, 16)
@pytest.mark.parametrize("name", IN_C)
def test_a_wrong_kernel_in_c_fails(library, name):
    found = verdict(Wrong(name, "c", f"quantize/{REF}", None), in_c(library, name))
    assert found in ("differs", "shape", "dtype"), found


# And in torch, where memory and strides are the kernel's own business.


def quantizer(torch, fault=""):
    """nvfp4_te_ref in torch operations, or with one fault."""
    magnitudes = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])

    def codes_of(scaled):
        magnitude = scaled.abs()[..., None]
        odd = torch.arange(7) % 2 == 1
        code = ((magnitude > magnitudes) | ((magnitude == magnitudes) & (odd if fault != "ties up" else True))).sum(-1)
        return torch.where(torch.isnan(scaled), 0, code | torch.where(scaled < 0, 8, 0)).to(torch.uint8)

    def kernel(x, tensor_amax):
        rows, columns = x.shape
        if fault == "strides":
            x = torch.as_strided(x, (rows, columns), (columns, 1))
        largest = torch.finfo(torch.float32).max
        amax = torch.as_tensor(np.float32(tensor_amax))
        ratio = 2688.0 / amax if fault == "number by tensor" else torch.tensor(2688.0) / amax  # the first is a reciprocal, times 2688
        multiplier = torch.minimum(ratio, torch.tensor(largest))
        multiplier = torch.where(multiplier == 0, 1.0, multiplier)
        if fault == "padding":
            padded = torch.nn.functional.pad(x, (0, -columns % 16), value=float(x.max()) if x.numel() else 0.0)
        elif fault == "over row ends":
            flat = torch.nn.functional.pad(x.reshape(-1), (0, 16))
            padded = torch.stack([flat[r * columns : r * columns + columns + -columns % 16] for r in range(rows)])
        else:
            padded = torch.nn.functional.pad(x, (0, -columns % 16))
        blocks = padded.reshape(rows, -1, 16)
        top = (blocks.to(torch.bfloat16).float() if fault == "bf16 maximum" else blocks).abs().amax(-1)
        sixth = torch.tensor([0x3E2AAAAB], dtype=torch.int32).view(torch.float32)
        raw = top / 6 * multiplier if fault == "division" else top * (multiplier * sixth)
        scale = torch.clamp(torch.minimum(raw, torch.tensor(largest)), -448, 448).to(torch.float8_e4m3fn)
        factor = scale.float() * (1.0 / multiplier)
        if fault == "no reciprocal":
            scaled = torch.clamp(blocks / factor[..., None], -6, 6)
        else:
            scaled = torch.clamp(blocks * torch.minimum(1.0 / factor, torch.tensor(largest))[..., None], -6, 6)
        scaled = torch.where(scaled == 0, 0.0, scaled)
        codes = codes_of(scaled).reshape(rows, -1)[:, :columns]
        if fault == "empty":
            out = torch.empty(codes.shape, dtype=torch.uint8)
            out[:, : columns // 16 * 16] = codes[:, : columns // 16 * 16]
            codes = out
        if fault == "batch" and rows > 512:
            codes = torch.where(torch.arange(rows)[:, None] == rows - 1, 0, codes)
        return codes.contiguous(), scale

    return kernel


FAULTS = ("number by tensor", "division", "no reciprocal", "bf16 maximum", "ties up", "strides", "padding", "over row ends", "empty",
          "batch")  # fmt: skip


@pytest.mark.parametrize("fault", ["", *FAULTS])
def test_kernels_in_torch(fault):
    from emu.check.targets.python import python_target

    torch = pytest.importorskip("torch")
    target = python_target(quantizer(torch, fault), f"quantize/{REF}", takes="torch.fp32", gives=("codes", "scale"))
    found = verdict(Wrong(fault, "torch", f"quantize/{REF}", None), target)
    assert found == "pass" if not fault else found in ("differs", "dtype"), found  # junk is no code
