"""The frozen selection: which suites `vectors/` holds as files, and which as digests. Small, and rebuilt within minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from emu.contracts.contract import stored_bits
from emu.spec import derive
from emu.spec.contract import parse
from emu.spec.registry import get, names
from emu.vectors.suites.plan import SuitePlan, families, plans_of

POLICIES: Final = ("nvidia", "ocp_saturate")
ROUNDINGS: Final = ("rne", "rz", "sr_add8")
NARROW: Final = "e2m1"  # directed rows as files; of other destinations as digests
EXHAUSTIVE: Final = ("e2m1", "e1m2")
MAIN_RECIPES: Final = (
    "nvfp4_te_ref", "nvfp4_te_cuda", "nvfp4_torchao", "nvfp4_te_4over6_mae_256", "nvfp4_te_4over6_mae_448", "nvfp4_te_4over6_mse_256",
    "nvfp4_te_4over6_mse_256_fast", "nvfp4_te_4over6_mse_448", "mxfp4_torchao_ceil", "mxfp4_torchao_even", "mxfp4_torchao_floor",
    "mxfp4_torchao_rceil", "hif4", "ufp4", "nvufp4", "nve0m3", "if4_mse",
)  # fmt: skip
BOTH_SOURCES: Final = ("nvfp4_te_ref", "nvfp4_torchao", "ufp4", "nvufp4")
MAIN_TRANSFORM: Final = "rht16_te"
DECISION_RECIPES: Final = ("nvfp4_te_ref",)
DOT_FILES: Final = (
    "blackwell_mxf4_b32_ue8m0", "blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf8f6f4/e4m3xe4m3", "hopper_fp8/e4m3xe4m3",
    "cdna3_fp8/e4m3fnuzxe4m3fnuz", "int64/e1m2xe1m2/16", "nv_like/e1m2xe1m2/ue4m3/16", "promote/e1m2xe1m2/16",
)  # fmt: skip
UNIFORM_PAIRS: Final = ("e1m2xe1m2", "int4xint4", "e2m1xe2m1")
DOT_DIGESTS: Final = (
    *DOT_FILES[:5], "blackwell_mxf4nvf4_b16_ue8m0", "blackwell_f8f6f4/e4m3xe4m3", "hopper_fp16/fp16xfp16", "hopper_fp16/bf16xbf16",
    "ada_fp8/e4m3xe4m3",
    *(f"{name}/{pair}/ue4m3/16" for name in ("ideal", "nv_like", "cheap", "late_c") for pair in UNIFORM_PAIRS),
    *(f"{name}/{pair}/16" for name in ("int64", "promote") for pair in UNIFORM_PAIRS),
)  # fmt: skip
MAIN_INSTRUCTIONS: Final = tuple(
    tuple(name.split("/")) for name in (
        "cvt_rn_satfinite_e2m1x2_f32", "cvt_rn_satfinite_e4m3x2_f32",
        "cvt_rz_satfinite_ue8m0x2_f32", "cvt_rn_satfinite_ue5m3x2_f32", "cvt_rn_f16x2_e2m1x2", "cvt_rs_satfinite_e2m1x4_f32/share16",
        "cvt_rs_satfinite_e2m1x4_f32/split8", "cvt_rn_satfinite_e1m2x2_f32",
        "cvt_rs_satfinite_e1m2x4_f32", "cvt_rn_satfinite_s4x2_f32", "cvt_rht16_rn_satfinite_ue4m3_e1m2x16_bf16",
        "v_cvt_scalef32_pk_fp4_f32", "v_cvt_scalef32_sr_pk_fp4_f32", "v_cvt_scalef32_pk_f32_fp4", "v_cvt_scalef32_pk8_fp4_f32/divide",
        "fcvt_h_s_rne", "fcvt_hd_sn_rmode_rn_dn_1", "vcvthf82bf4s_xmm", "vcvtps2hf8s_xmm",
    )
)  # fmt: skip
KILL_FILES: Final = (
    "convert__bf16_to_e2m1__nvidia_rne",
    "convert__bf16_to_e2m1__nvidia_sr_add8",
    "convert__bf16_to_e2m1__ocp_saturate_rne",
    "convert__bf16_to_e2m1__ocp_saturate_rz",
    "convert__bf16_to_e2m1__ocp_saturate_sr_add8",
    "convert__fp32_to_e2m1__nvidia_rne",
    "convert__fp32_to_e2m1__nvidia_rz",
    "convert__fp32_to_e2m1__nvidia_sr_add8",
    "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16",
    "dot__e2m1xe2m1_e8m0_to_fp32__blackwell_mxf4_b32_ue8m0",
    "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3",
    "dot__fp16xfp16_to_fp32__hopper_fp16",
    "quantize__bf16_to_mxfp4__mxfp4_torchao_ceil",
    "quantize__bf16_to_nvfp4_256__nvfp4_te_4over6_mse_256",
    "quantize__bf16_to_nvfp4__nvfp4_te_ref",
    "quantize__fp32_to_nvfp4__nvfp4_te_ref",
    "transform__bf16_to_bf16__rht16_te",
)
KILL_DIGESTS: Final = (
    "convert__fp32_to_e2m1__nvidia_odd",
    "convert__fp32_to_e2m1__nvidia_rd",
    "convert__fp32_to_e2m1__nvidia_rna",
    "convert__fp32_to_e2m1__nvidia_ru",
    "convert__fp32_to_e2m1__nvidia_sr_cmp8",
    "convert__fp32_to_e2m1__nvidia_sr_half8",
    "convert__fp32_to_e2m1__nvidia_sr_te_fma8",
    "convert__fp32_to_nf4__nvidia_rne",
    "dot__e4m3fnuzxe4m3fnuz_to_fp32__cdna3_fp8",
    "quantize__bf16_to_mxfp4__mxfp4_torchao_even",
    "transform__bf16_to_fp32__rht16_butterfly",
    "transform__bf16_to_fp32__rht16_exact",
    "transform__bf16_to_fp32__rht16_te_fp32",
    "transform__fp32_to_bf16__rht16_te",
)
CHAIN_FILES: Final = ("blackwell_mxf4nvf4_b16_ue4m3", "int64/e1m2xe1m2/16", "promote/e1m2xe1m2/16")
SOURCES: Final = ("fp32", "bf16")
WIDEST_BLOCK: Final = 64  # elements; suites of larger tiles are digests


class Selection(NamedTuple):
    """shipped: plans whose files are kept.   digests: plans of which only the digest is kept."""

    shipped: tuple[SuitePlan, ...]
    digests: tuple[SuitePlan, ...]


def selection() -> Selection:
    """Return the frozen selection of the loaded spec, sorted by stem."""
    shipped: list[SuitePlan] = []
    digests: list[SuitePlan] = []
    for contract, aliases in families().items():
        for plan in plans_of(contract, aliases):
            kept = _kill(plan) if plan.suite == "kill" else _CHOICES.get(contract.op, _nothing)(plan)
            if kept is not None:
                (shipped if kept else digests).append(plan)
    return Selection(tuple(sorted(shipped, key=_name)), tuple(sorted(digests, key=_name)))


def _name(plan: SuitePlan) -> str:
    return plan.stem


def _kill(plan: SuitePlan) -> bool | None:
    """Files or digests of the chosen ones; the data may hold more, built on request."""
    name = plan.stem.removesuffix("__kill")
    return True if name in KILL_FILES else False if name in KILL_DIGESTS else None


def _decode(plan: SuitePlan) -> bool | None:
    """Files for 4- to 8-bit formats, digests for wider ones."""
    bits = stored_bits(get("format", plan.operation.src))
    return None if bits < 4 else bits <= 8


def _convert(plan: SuitePlan) -> bool | None:
    """Smoke from bf16 as files. Directed: files for E2M1, digests for other destinations. Exhaustive bf16: digests."""
    op = plan.operation
    named = {part for part in _convert_parts(plan) if part[1] in POLICIES}
    roundings, policies = {rounding for rounding, _ in named} & set(ROUNDINGS), {policy for _, policy in named}
    if derive.codes(get("format", op.dst)).bits > 8 or op.src not in SOURCES or not roundings:
        return None
    if plan.suite == "smoke":
        return True if op.src == "bf16" and "rne" in roundings else None
    if plan.suite == "directed" and op.dst == NARROW:
        return op.src == "bf16" or "nvidia" in policies
    if plan.suite == "directed":
        return False if op.src == "fp32" and "rne" in roundings and "nvidia" in policies else None
    chosen = plan.suite == "all" and op.dst in EXHAUSTIVE and "nvidia" in policies and roundings & {"rne", "rz"}
    return False if chosen else None


def _convert_parts(plan: SuitePlan) -> Iterator[tuple[str, str]]:
    """Yield (rounding, policy) of every contract that a plan's rows belong to."""
    for name in plan.named():
        parts = parse(name).parts
        yield parts[1], parts[2]


def _quantize(plan: SuitePlan) -> bool | None:
    """Smoke from bf16 for every recipe, directed for the main ones; the decision space of some as digests."""
    op = plan.operation
    recipes = {parse(name).parts[0] for name in plan.named()}
    if plan.suite == "smoke":
        return _lanes(plan) <= WIDEST_BLOCK if op.src == "bf16" else None
    if plan.suite == "directed" and recipes & set(MAIN_RECIPES):
        return True if op.src == "bf16" or (op.src == "fp32" and recipes & set(BOTH_SOURCES)) else None
    if plan.suite == "all" and recipes & set(DECISION_RECIPES):
        return False
    return None


def _dequantize(plan: SuitePlan) -> bool | None:
    """Smoke to fp32 as files, directed to bf16 as digests."""
    if plan.suite == "smoke":
        return _lanes(plan) <= WIDEST_BLOCK if plan.operation.dst == "fp32" else None
    return False if plan.suite == "directed" and plan.operation.dst == "bf16" and _lanes(plan) <= WIDEST_BLOCK else None


def _lanes(plan: SuitePlan) -> int:
    """Return the elements of a row."""
    return plan.operation.layout.columns[0].lanes


def _transform(plan: SuitePlan) -> bool | None:
    """Smoke from bf16 as files, directed of the library's own rotation too; other directed suites as digests."""
    if plan.suite not in ("smoke", "directed") or plan.operation.src not in SOURCES:
        return None
    if plan.suite == "smoke":
        return True if plan.operation.src == "bf16" else None
    return plan.operation.src == "bf16" and plan.operation.name.parts[0] == MAIN_TRANSFORM


def _dot(plan: SuitePlan) -> bool | None:
    """Smoke of some datapaths as files; directed of the main ones as digests: a row takes a thousand bytes."""
    named = {name.partition("/")[2] for name in plan.named()}
    if plan.suite == "smoke":
        return True if named & set(DOT_FILES) else None
    return False if plan.suite == "directed" and named & set(DOT_DIGESTS) else None


def _accumulate(plan: SuitePlan) -> bool | None:
    """One chain of some datapaths as files; more chains of theirs as digests."""
    if not {name.partition("/")[2] for name in plan.named()} & set(CHAIN_FILES):
        return None
    return plan.suite == "smoke"


def _layout(plan: SuitePlan) -> bool | None:
    """Smoke of every order as files, the whole tensor as digests."""
    return plan.suite == "smoke"


def _insn(plan: SuitePlan) -> bool | None:
    """Smoke of the main instructions as files, directed of those with 4-bit results as digests."""
    if plan.operation.name.parts not in MAIN_INSTRUCTIONS:
        return None
    if plan.suite == "directed":
        return False if derive.codes(get("format", plan.operation.dst.rpartition("x")[0])).bits <= 4 else None
    return True if plan.suite == "smoke" else None


def _nothing(plan: SuitePlan) -> bool | None:
    """Nothing of an operation that is not named here."""
    return None


_CHOICES = {
    "decode": _decode, "convert": _convert, "quantize": _quantize, "dequantize": _dequantize, "transform": _transform,
    "dot": _dot, "accumulate": _accumulate, "layout": _layout, "insn": _insn,
}  # fmt: skip


def missing() -> list[str]:
    """Return recipes and datapaths that the selection names and the spec does not have."""
    dots = {
        name.partition("/")[2] for contract, aliases in families().items() if contract.op == "dot" for name in (str(contract), *aliases)
    }
    recipes = [name for name in (*MAIN_RECIPES, *DECISION_RECIPES) if name not in names("recipe")]
    instructions = {contract.parts for contract in families() if contract.op == "insn"}
    recipes += ["/".join(parts) for parts in MAIN_INSTRUCTIONS if parts not in instructions]
    return recipes + [name for name in (*DOT_FILES, *DOT_DIGESTS, *CHAIN_FILES) if name not in dots]
