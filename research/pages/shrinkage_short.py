"""What the shrinkage page says first: each claim of the paper, what came out here and how sure it is; every number from the record."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Bold
from research.forks.statistics import outcome
from research.pages.comparison import Comparison, difference
from research.pages.shrinkage_intervals import GAIN, depth_leads, leads, shifts
from research.pages.shrinkage_tables import e8m0_leads
from research.reproduction.compare import E1M2, E2M1, OUTLIERS, pick
from research.reproduction.data import FP32_ROTATION, ROTATION
from research.reproduction.record import RESTRICTED

Record = dict[str, Any]
GROUPS = ("kinds of drawn tensors", "groups of MiniLM's tensors", "of its products")


def short_figures(record: Record) -> Record:
    """Return the figures that the sentences before the appendix stand on."""
    gemm, found = record["gemm"], record["tensors"]
    alphas = {(row["source"], row["transform"], row["recipe"]): row["alpha"] for row in record["precision"]}
    grids = (("e2m1", E2M1), ("e1m2", E1M2))
    ends = {f"{chain}_{name}": _end(record, recipe, chain) for chain in ("linear", "residual") for name, recipe in grids}
    better, moved = leads(record), shifts(record)
    told = [item for item in better if item.verdict]
    return {
        **ends,
        "rows": _rows(record, ends, better, moved),
        "product": {name: pick(gemm, "gaussian", recipe, False)["eta"] for name, recipe in grids},
        "told": f"{sum(item.verdict > 0 for item in better)} of {len(better)}",
        "moves": [sum(item.verdict == side for item in moved) for side in (-1, 1)],
        "part": _end(record, RESTRICTED[0], "linear"),
        "open": [item for item in better if not item.verdict],
        "least": min(item.found.mean for item in told),
        "most": max(item.found.mean for item in told),
        "share": max(row["coherent_share"] for row in found),
        "far": max(record["model"]["gemm"], key=lambda row: abs(row["eta"] - row["alpha_product"])),
        "near": max(abs(row["eta"] - row["alpha_product"]) for row in gemm),
        "wide": alphas["fp32", FP32_ROTATION, E1M2],
        "narrow": alphas["fp32", ROTATION, E1M2],
        "given": pick(found, OUTLIERS, E1M2, False)["sqnr_db"] - pick(found, OUTLIERS, E2M1, False)["sqnr_db"],
        "rotated": pick(found, OUTLIERS, E1M2, True)["sqnr_db"] - pick(found, OUTLIERS, E2M1, True)["sqnr_db"],
        "e8m0": [db for _, _, db in e8m0_leads(record)],
        "residual": [item.cells(*difference(4), ("told", "told"))[2:] for item in depth_leads(record)],
    }


def _rows(record: Record, ends: Record, better: list[Comparison], moved: list[Comparison]) -> list[tuple[Any, ...]]:
    """Return a row for each claim: claim, what came out, how sure, verdict."""
    gemm = record["gemm"]
    biased = {row["format"]: [bias for bias in row["bias"] if bias not in (None, "0")] for row in record["bias"]}
    drawn, products = [item for item in better if "MiniLM" not in item.name], [item for item in better if "product" in item.name]
    inputs = [item for item in better if "MiniLM" in item.name and "product" not in item.name]
    lines, nets = ([ends[f"{chain}_{grid}"] for grid in ("e2m1", "e1m2")] for chain in ("linear", "residual"))
    normal, part = (pick(gemm, "gaussian", recipe, False) for recipe in (E2M1, RESTRICTED[0]))
    law = all(abs(row["eta"] / row["alpha_product"] - 1) < 0.01 for row in lines)
    down, up = (sum(item.side == side for item in moved) for side in (-1, 1))
    wins = [sum(item.verdict > 0 for item in group) for group in (drawn, inputs, products)]
    told = (f"{won} of {len(group)} {words}" for won, group, words in zip(wins, (drawn, inputs, products), GROUPS, strict=True))
    every = sum(wins) == len(better)
    return [
        ("Bins of E2M1 are biased toward zero where values are equally dense, those of E1M2 are not",
         f"at 2 and at 4: {' and '.join(biased['e2m1'])}; E1M2: {'none' if not biased['e1m2'] else 'some'}", "exact",
         Bold("confirmed" if len(biased["e2m1"]) == 2 and not biased["e1m2"] else "contradicted")),
        ("The product of two E2M1 operands shrinks", f"gain {normal['eta']:.4f}; E1M2 {pick(gemm, 'gaussian', E1M2, False)['eta']:.4f}",
         _operand(record), Bold("confirmed" if normal["eta"] < 1 else "contradicted")),
        ("The rotation turns the order of the grids round: E1M2 rotated is closer than E2M1 as given",
         f"+{min(item.found.mean for item in drawn):.2f} to +{max(item.found.mean for item in drawn):.2f} dB on drawn tensors",
         "told for " + ", ".join(told),
         Bold("confirmed" if every else "narrowed")),
        ("The gains of layers multiply", f"24 linear layers: {lines[0]['eta']:.3f}, product of the gains {lines[0]['alpha_product']:.3f}",
         _seeds(lines), Bold("confirmed" if law else "contradicted")),
        ("... and so a deep network shrinks",
         f"with a residual path: {nets[0]['eta']:.3f}, product of the gains {nets[0]['alpha_product']:.3f}; E1M2 {nets[1]['eta']:.3f}",
         _seeds(nets), Bold("narrowed" if nets[0]["eta"] > 1 - (1 - nets[0]["alpha_product"]) / 4 else "confirmed")),
        ("The rotation makes the shrinkage of E2M1 worse",
         f"gain further down in {down} of {len(moved)} groups of tensors, up in {up}, not told in the others",
         f"beyond three nulls: {sum(item.verdict < 0 for item in moved)} down, {sum(item.verdict > 0 for item in moved)} up",
         Bold("confirmed" if down == len(moved) else "contradicted as a rule")),
        ("E2M1 restricted to values up to 2 is worse than E2M1",
         f"NMSE {part['nmse'] / normal['nmse']:.1f} times, though its gain is {part['eta']:.4f}",
         "one draw, no null pairs", Bold("confirmed" if part["nmse"] > normal["nmse"] else "contradicted")),
    ]  # fmt: skip


def _operand(record: Record) -> str:
    """Return the gain of one E2M1 operand of normal numbers with its interval over seeds."""
    seeds = [row for row in record["nulls"]["drawn"] if (row["data"], row["recipe"]) == ("gaussian", E2M1)]
    found = outcome([row["given"][GAIN] for row in seeds])
    return f"one operand over {len(seeds)} seeds: {found.mean:.4f} ({found.low:.4f} to {found.high:.4f}); no null pairs"


def _seeds(rows: list[Record]) -> str:
    return f"{rows[0]['seeds']} seeds, deviation {max(row['eta_deviation'] for row in rows):.4f}"


def _end(record: Record, recipe: str, chain: str) -> Record:
    wanted = {"recipe": recipe, "chain": chain, "transform": None, "weights": "orthogonal", "layers": record["setting"]["depth"]["layers"]}
    found: Record = next(row for row in record["depth"] if wanted.items() <= {key: row[key] for key in wanted}.items())
    return found
