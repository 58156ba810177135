"""The paper beside our figures: same sign, same size. What is contradicted is said as plainly as what agrees.

A size is the same within DB decibels or RATIO of a bucket ratio; a bias only when it is equal. Not here: the figures (record.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from research.reproduction.paper import BY_ID, Claim

DB: Final = 0.5
RATIO: Final = 0.05
LAW: Final = 0.01  # how far from the product of the gains a gain may be
DEVIATIONS: Final = 2
VERDICTS: Final = ("further below 1", "nearer to 1", "above 1", "same")
OUTLIERS: Final = "lognormal_1.0"
CALM: Final = "gaussian"
E2M1, E1M2 = "e2m1_fp32scale", "e1m2_fp32scale"
FC1, FC2 = "_up_x", "_down_x"  # inputs of the two linear layers of a block
Record = dict[str, Any]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class ComparedClaim:
    """One line of the comparison. sign, size: yes, no, a count, or - where there is nothing to compare.   part: of the record."""

    claim: Claim
    ours: str
    sign: str = "-"
    size: str = "-"
    part: str = ""
    data: str = ""

    @property
    def paper(self) -> str:
        """The published values as text."""
        return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in self.claim.values.items()) or "unknown"

    def texts(self) -> tuple[str, ...]:
        """Return the cells of a printed table."""
        what = f"{self.claim.what} ({self.data})" if self.data else self.claim.what
        return self.claim.where, what, self.paper, self.ours, self.sign, self.size


def pick(rows: Rows, data: str, recipe: str, rotated: bool) -> dict[str, Any]:
    """Return the row of one cell."""
    return next(row for row in rows if row["data"] == data and row["recipe"] == recipe and (row["transform"] is not None) == rotated)


def pair(rows: Rows, data: str, recipe: str, name: str) -> tuple[float, float]:
    """Return a figure without and with rotation."""
    return pick(rows, data, recipe, False)[name], pick(rows, data, recipe, True)[name]


def names(rows: Rows, ending: str = "") -> list[str]:
    """Return the data of rows whose name ends so, in their order, each once."""
    return list(dict.fromkeys(row["data"] for row in rows if row["data"].endswith(ending)))


def rows(record: Record) -> list[ComparedClaim]:
    """Return the comparison of every claim that the record can answer, in the order of the paper's list."""
    makers: list[tuple[str, Callable[[Record], Iterator[ComparedClaim]]]] = [
        ("bias", _biases), ("tensors", _tensors), ("model", _model), ("gemm", _gemm), ("depth", _depth), ("tensors", _amplified),
        ("gemm", _restricted),
    ]  # fmt: skip
    found = [row for part, make in makers if record.get(part) for row in make(record)]
    return found + list(_training())


def _yes(*conditions: bool) -> str:
    return "yes" if all(conditions) else "no"


def _biases(record: Record) -> Iterator[ComparedClaim]:
    known = {row["format"]: dict(zip(row["values"], row["bias"], strict=True)) for row in record["bias"]}
    for claim, value in (("bias_2", "2"), ("bias_4", "4")):
        found = known["e2m1"][value]
        want = BY_ID[claim].values["bias"]
        yield ComparedClaim(
            BY_ID[claim], str(float(Fraction(found))), _yes(Fraction(found) < 0), _yes(Fraction(found) == Fraction(want)), "bias"
        )
    inner = [bias for bias in known["e1m2"].values() if bias is not None]
    yield ComparedClaim(BY_ID["bias_uniform"], f"{len(inner)} bins, all 0", "-", _yes(all(Fraction(bias) == 0 for bias in inner)), "bias")


def _change(claim: str, found: tuple[float, float], limit: float, part: str, data: str, digits: int = 2) -> ComparedClaim:
    """Compare a pair (raw, rotated) with a published one."""
    want = BY_ID[claim].values
    sign = _yes((found[1] > found[0]) == (want["rotated"] > want["raw"]))
    size = _yes(abs(found[0] - want["raw"]) <= limit, abs(found[1] - want["rotated"]) <= limit)
    return ComparedClaim(BY_ID[claim], f"{found[0]:.{digits}f} -> {found[1]:.{digits}f}", sign, size, part, data)


def _small(claim: str, found: tuple[float, float], part: str, data: str) -> ComparedClaim:
    """Compare a change by RHT with a published one that is close to nothing: the size is what matters, the sign is noise."""
    change = found[1] - found[0]
    return ComparedClaim(BY_ID[claim], f"{change:+.3f}", "-", _yes(abs(change - BY_ID[claim].values["change"]) <= DB / 10), part, data)


def _tensors(record: Record) -> Iterator[ComparedClaim]:
    found = record["tensors"]
    yield _change("e2m1_outlier", pair(found, OUTLIERS, E2M1, "sqnr_db"), DB, "tensors", OUTLIERS)
    yield _change("e1m2_outlier", pair(found, OUTLIERS, E1M2, "sqnr_db"), DB, "tensors", OUTLIERS)
    yield _change("bucket_outlier", pair(found, OUTLIERS, E1M2, "bucket_ratio"), RATIO, "tensors", OUTLIERS, 3)
    yield _small("e2m1_calm", pair(found, CALM, E2M1, "sqnr_db"), "tensors", CALM)
    yield _small("e1m2_calm", pair(found, CALM, E1M2, "sqnr_db"), "tensors", CALM)


def _model(record: Record) -> Iterator[ComparedClaim]:
    """Compare the inputs of the two linear layers of MiniLM's blocks with the paper's: a count of layers that agree."""
    found = record["model"]["tensors"]
    for claim, ending, recipe, name, limit in (
        ("e2m1_outlier", FC2, E2M1, "sqnr_db", DB),
        ("e1m2_outlier", FC2, E1M2, "sqnr_db", DB),
        ("bucket_outlier", FC2, E1M2, "bucket_ratio", RATIO),
    ):
        pairs = [pair(found, layer, recipe, name) for layer in names(found, ending)]
        each = [_change(claim, item, limit, "model", "") for item in pairs]
        yield _counted(claim, each, _range(pairs), "MiniLM, input of fc2")
    for claim, recipe in (("e2m1_calm", E2M1), ("e1m2_calm", E1M2)):
        pairs = [pair(found, layer, recipe, "sqnr_db") for layer in names(found, FC1)]
        changes = [after - before for before, after in pairs]
        each = [_small(claim, item, "model", "") for item in pairs]
        yield _counted(claim, each, f"{min(changes):+.2f} .. {max(changes):+.2f}", "MiniLM, input of fc1")


def _range(pairs: list[tuple[float, float]]) -> str:
    return " -> ".join(f"{min(column):.2f} .. {max(column):.2f}" for column in zip(*pairs, strict=True))


def _counted(claim: str, each: list[ComparedClaim], ours: str, data: str) -> ComparedClaim:
    signs = "-" if each[0].sign == "-" else f"{sum(row.sign == 'yes' for row in each)} of {len(each)}"
    return ComparedClaim(BY_ID[claim], ours, signs, f"{sum(row.size == 'yes' for row in each)} of {len(each)}", "model", data)


def _gemm(record: Record) -> Iterator[ComparedClaim]:
    found = record["gemm"]
    e2m1, e1m2 = (pair(found, OUTLIERS, recipe, "sqnr_db") for recipe in (E2M1, E1M2))
    ours = f"E2M1 {e2m1[0]:.2f} -> {e2m1[1]:.2f} dB, E1M2 {e1m2[0]:.2f} -> {e1m2[1]:.2f} dB"
    yield ComparedClaim(BY_ID["gemm_reversal"], ours, _yes(e2m1[0] > e1m2[0], e2m1[1] < e1m2[1]), "-", "gemm", OUTLIERS)
    row = pick(found, CALM, E2M1, False)
    ours = f"alpha_A alpha_B {row['alpha_product']:.5f}, eta {row['eta']:.5f}"
    yield ComparedClaim(BY_ID["gemm_gain"], ours, _yes(row["eta"] < 1), "-", "gemm", CALM)


def _depth(record: Record) -> Iterator[ComparedClaim]:
    """The sign is yes where the gain is the product of the operands' gains, within one percent."""
    found = [row for row in record["depth"] if row["layers"] == record["setting"]["depth"]["layers"]]
    for row in found:
        if row["recipe"] in (E2M1, E1M2) and row["transform"] is None and row["weights"] == "orthogonal":
            ours = f"after {row['layers']} layers: eta {row['eta']:.4f}, product of alphas {row['alpha_product']:.4f}"
            data = ("E2M1" if row["recipe"] == E2M1 else "E1M2") + (", residual path" if row["chain"] == "residual" else "")
            yield ComparedClaim(BY_ID["depth"], ours, _yes(abs(row["eta"] / row["alpha_product"] - 1) < LAW), "-", "depth", data)


def amplification(found: Rows, data: str, recipe: str = E2M1) -> str:
    """Say what RHT does to the gain of a tensor: `further below 1`, `nearer to 1`, `above 1`, or `same` within the noise of the sample.

    Noise: DEVIATIONS standard errors of alpha, sqrt(NMSE / elements) each, both tensors together.
    """
    before, after = (pick(found, data, recipe, rotated) for rotated in (False, True))
    shift = after["alpha"] - before["alpha"]
    noise = DEVIATIONS * math.sqrt((before["nmse"] + after["nmse"]) / before["elements"])
    if abs(shift) <= noise:
        return "same"
    if shift < 0:
        return "further below 1" if after["alpha"] < 1 else "nearer to 1"
    return "above 1" if after["alpha"] > 1 + noise else "nearer to 1"


def amplifications(found: Rows, recipe: str = E2M1) -> dict[str, list[str]]:
    """Return what RHT does to the gain -> the tensors on which it does."""
    verdicts = {name: amplification(found, name, recipe) for name in names(found)}
    return {word: [name for name, verdict in verdicts.items() if verdict == word] for word in VERDICTS}


def _amplified(record: Record) -> Iterator[ComparedClaim]:
    yield _amplified_row(record["tensors"], "tensors", "drawn")
    if record.get("model"):
        found = record["model"]["tensors"]
        for kind in ("activation", "weight"):
            yield _amplified_row([row for row in found if row["kind"] == kind], "model", f"MiniLM, {kind}s")
    if record.get("captured"):
        yield _amplified_row(record["captured"]["tensors"], "captured", "operands of a training step")


def _amplified_row(found: Rows, part: str, data: str) -> ComparedClaim:
    groups = amplifications(found)
    ours = ", ".join(f"{word}: {len(group)}" for word, group in groups.items() if group)
    return ComparedClaim(BY_ID["amplified"], ours, f"{len(groups[VERDICTS[0]])} of {len(names(found))}", "-", part, data)


def _restricted(record: Record) -> Iterator[ComparedClaim]:
    found = record["gemm"]
    whole, part = (pick(found, CALM, recipe, False) for recipe in (E2M1, "study_e2m1_to2"))
    ours = f"product: eta {part['eta']:.5f} (E2M1 {whole['eta']:.5f}), NMSE {part['nmse'] / whole['nmse']:.1f} times that of E2M1"
    yield ComparedClaim(BY_ID["restricted"], ours, _yes(part["nmse"] > whole["nmse"]), "-", "gemm", CALM)


def _training() -> Iterator[ComparedClaim]:
    """Claims on training: measured elsewhere, or not at all."""
    for claim in ("loss_dense", "loss_moe_8b", "loss_moe_124b", "rht_scope", "sr"):
        yield ComparedClaim(BY_ID[claim], "small models: docs/training.md", part="training")
    for claim in ("fused", "unfused"):
        yield ComparedClaim(BY_ID[claim], "not measured: a time on hardware", part="none")
