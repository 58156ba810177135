"""What arXiv 2606.20381 says, as far as it is known here: the other column of the page. Not here: our figures (record.py).

status: "paper" for values quoted as the paper's in notes on it; "reported" for values that at least two public reading notes on the
paper give alike, to all digits; "unknown" where neither has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PAPER: Final = "arXiv 2606.20381"
NOTES: Final = "public reading notes on the paper, found by text search, at least two of them alike"
Status = Literal["paper", "reported", "unknown"]


@dataclass(frozen=True)
class Claim:
    """One published statement. where: part of the paper.   values: by name; empty where none is known."""

    id: str
    where: str
    what: str
    status: Status
    source: str
    values: dict[str, float]


def _known(id: str, where: str, what: str, **values: float) -> Claim:  # noqa: A002
    return Claim(id, where, what, "paper", PAPER, values)


def _reported(id: str, where: str, what: str, **values: float) -> Claim:  # noqa: A002
    return Claim(id, where, what, "reported", NOTES, values)


def _unknown(id: str, where: str, what: str) -> Claim:  # noqa: A002
    return Claim(id, where, what, "unknown", "the text was not at hand", {})


CLAIMS: Final = (
    _known("bias_2", "theory", "bias of the bin at 2 of E2M1, flat density", bias=-0.125),
    _known("bias_4", "theory", "bias of the bin at 4 of E2M1, flat density", bias=-0.25),
    _known("bias_uniform", "theory", "bias of every inner bin of E1M2, flat density", bias=0.0),
    _known("e2m1_outlier", "tensor with outliers, input of fc2", "SQNR of E2M1, dB", raw=21.90, rotated=20.00),
    _known("e1m2_outlier", "tensor with outliers, input of fc2", "SQNR of E1M2, dB", raw=19.94, rotated=23.19),
    _known("bucket_outlier", "tensor with outliers, input of fc2", "effective bucket ratio of E1M2", raw=0.56, rotated=0.97),
    _reported("e2m1_calm", "well-behaved tensor, input of fc1", "change of SQNR by RHT, E2M1, dB", change=0.007),
    _reported("e1m2_calm", "well-behaved tensor, input of fc1", "change of SQNR by RHT, E1M2, dB", change=-0.008),
    _unknown("gemm_reversal", "one product", "SQNR of a product under both grids, without and with RHT"),
    _unknown("gemm_gain", "one product", "eta = alpha_A alpha_B below 1 for E2M1"),
    _unknown("depth", "accumulation", "gain of many layers is the product of their gains"),
    _unknown("amplified", "RHT", "RHT amplifies the shrinkage of E2M1"),
    _unknown("restricted", "figure 10", "E2M1 restricted to |q| <= 2 trains worse than E2M1"),
    _known("loss_dense", "figure 8", "loss above BF16, Dense 1.5B, %", e2m1=1.26, ufp4=0.97),
    _reported("loss_moe_8b", "figure 8", "loss above BF16, MoE 7.9B, %", e2m1=2.3596, ufp4=1.8469),
    _reported("loss_moe_124b", "figure 8", "loss above BF16, MoE 124B, %", e2m1=1.7308, ufp4=1.3863),
    _reported(
        "rht_scope", "table 2, Dense 1.5B", "loss of E1M2 by scope of RHT, change against none",
        wgrad=-0.00481, dgrad_wgrad=-0.00290, fprop_wgrad=-0.00644, all_three=-0.01123,
    ),
    _reported("sr", "table 2, Dense 1.5B", "loss of UFP4 with SR on dY, change against none", change=-0.00456),
    _known("fused", "kernels", "time of a fused rotation and quantization / quantization alone", sm90=1.06, sm100=1.07),
    _reported("unfused", "kernels", "time of a separate rotation and quantization / fused", sm90=1.62, sm100=1.41),
)  # fmt: skip
BY_ID: Final = {claim.id: claim for claim in CLAIMS}
