"""The tables of the shrinkage page on drawn data: tensors, products, depth, scale codecs, equal grids."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code
from research.pages.charts import Axis, Dots, Mark
from research.reproduction.compare import E1M2, E2M1, amplification, names, pair, pick
from research.reproduction.data import FP32_ROTATION, ROTATION, TITLES
from research.reproduction.record import RESTRICTED

Record = dict[str, Any]
GRID_NAMES = {E2M1: "E2M1", E1M2: "E1M2"}
SHORT = {
    **GRID_NAMES,
    RESTRICTED[0]: "E2M1 to 2 (9 levels)",
    RESTRICTED[1]: "E2M1 to 3 (11 levels)",
    RESTRICTED[2]: "E2M1 to 4 (13 levels)",
    RESTRICTED[3]: "0, 2, 4, 6 (7 levels)",
}


WAY = ("chain", "weights", "recipe", "transform")
ROTATIONS = {None: "no", ROTATION: "yes, bf16", FP32_ROTATION: "yes, FP32"}


def arrow(found: tuple[float, float], digits: int = 2) -> str:
    """Return a figure without and with rotation; the larger is bold."""
    texts = [f"{number:.{digits}f}" for number in found]
    if texts[0] != texts[1]:
        best = 0 if found[0] > found[1] else 1
        texts[best] = f"**{texts[best]}**"
    return " -> ".join(texts)


def plain(found: tuple[float, float], digits: int) -> str:
    """Return a figure without and with rotation, neither marked."""
    return " -> ".join(f"{number:.{digits}f}" for number in found)


def drawn_tables(record: Record) -> dict[str, Any]:
    """Return the tables of all sections on drawn data, by the names that the template has for them."""
    m, n, k = record["setting"]["gemm_shape"]
    gemm = record["gemm"]
    e2m1 = pick(gemm, "gaussian", E2M1, False)["nmse"]
    return {
        "tensors": _tensors(record),
        "bias": [_bias(row) for row in record["bias"]],
        "m": m,
        "n": n,
        "k": k,
        "products": _products(gemm),
        "restricted": [f"{pick(gemm, 'gaussian', name, False)['nmse'] / e2m1:.1f} ({SHORT[name]})" for name in RESTRICTED],
        "depth": _depth(record),
        "precision": _precision(record["precision"]),
        "scales": _scales(record["scales"]),
        "scale_leads": [f"{TITLES[name]}{', rotated' if rotated else ''}: {db:+.2f} dB" for name, rotated, db in e8m0_leads(record)],
        **_equal(record["equivalence"]),
    }


def _tensors(record: Record) -> list[tuple[Any, ...]]:
    found, lines = record["tensors"], []
    for name in names(found):
        figures = [arrow(pair(found, name, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        gains = [plain(pair(found, name, recipe, "alpha"), 5) for recipe in (E2M1, E1M2)]
        buckets = [plain(pair(found, name, recipe, "bucket_ratio"), 3) for recipe in (E2M1, E1M2)]
        lines.append((TITLES[name], *figures, *gains, amplification(found, name), *buckets))
    return lines


def _bias(row: Record) -> tuple[Any, ...]:
    cells = [f"{value}: {bias}" for value, bias in zip(row["values"], row["bias"], strict=True) if bias not in (None, "0")]
    return Code(row["format"]), row["values"], cells or "none"


def _products(found: list[Record]) -> list[tuple[Any, ...]]:
    """Return a row for each data set, grid and rotation; a restricted grid on the first data set alone, as it is."""
    lines = []
    for name in names(found):
        for recipe, grid in SHORT.items() if name == names(found)[0] else GRID_NAMES.items():
            for rotated in (False, True) if recipe in GRID_NAMES else (False,):
                row = pick(found, name, recipe, rotated)
                numbers = (f"{row['alpha_product']:.5f}", f"{row['eta']:.5f}", f"{row['nmse']:.5f}", f"{row['sqnr_db']:.2f}")
                lines.append((TITLES[name], grid, "yes" if rotated else "no", *numbers))
    return lines


def _depth(record: Record) -> tuple[Any, ...]:
    """Return head, rows and number columns of the table over depth."""
    marks = sorted({row["layers"] for row in record["depth"]})
    lines = []
    for key in dict.fromkeys(tuple(row[name] for name in WAY) for row in record["depth"]):
        rows = {row["layers"]: row for row in record["depth"] if tuple(row[name] for name in WAY) == key}
        last = rows[marks[-1]]
        etas = [f"{rows[mark]['eta']:.4f}" for mark in marks[:-1]] + [f"{last['eta']:.4f} ({last['eta_deviation']:.4f})"]
        tail = (f"{last['alpha_product']:.4f}", f"{last['cosine']:.4f}", f"{last['norm_ratio']:.3f}")
        lines.append((*key[:2], SHORT[key[2]], ROTATIONS[key[3]], *etas, *tail))
    etas = [f"eta_{mark}" for mark in marks]
    header = ("chain", "weights", "grid", "rotated", *etas, "product of alphas", f"cos_{marks[-1]}", "|y| / |x|")
    return header, lines, range(4, len(header))


def _precision(found: list[Record]) -> list[tuple[Any, ...]]:
    lines = []
    for source, transform in dict.fromkeys((row["source"], row["transform"]) for row in found):
        rows = [row for row in found if (row["source"], row["transform"]) == (source, transform)]
        gains = [f"{next(row['alpha'] for row in rows if row['recipe'] == recipe):.5f}" for recipe in (E2M1, E1M2)]
        lines.append((source, ROTATIONS[transform], *gains))
    return lines


def _scales(found: list[Record]) -> tuple[Any, ...]:
    """Return head and rows of the table of scale codecs."""
    lines = []
    for codec, element in dict.fromkeys((row["codec"], row["element"]) for row in found):
        recipe, block = next((row["recipe"], row["block"]) for row in found if (row["codec"], row["element"]) == (codec, element))
        figures = [arrow(pair(found, name, recipe, "sqnr_db")) for name in names(found)]
        lines.append((Code(codec), element.upper(), Code(recipe), block, *figures, plain(pair(found, names(found)[0], recipe, "alpha"), 4)))
    titles = [TITLES[name] for name in names(found)]
    return ("scale", "grid", "recipe", "block", *(f"SQNR, {title}" for title in titles), f"alpha, {titles[0]}"), lines


def _equal(found: Record) -> Record:
    """Return how many pairs of recipes are the same grid bit for bit and over how many elements, and what differs in the others."""
    steps, values = ("steps", "scales", "values"), ("elements", "steps", "scales", "values")
    other = [row for row in found["recipes"] if any(row[name] for name in steps)]
    same = [row for row in found["recipes"] if row not in other]
    products = [row for row in found["products"] if row["different"]]
    return {
        "equal_pairs": len(same),
        "equal_elements": f"{sum(row['elements'] for row in same):,}",
        "equal_products": len(found["products"]) - len(products),
        "unequal": [(Code(row["first"]), Code(row["other"]), *(f"{row[name]:,}" for name in values)) for row in other],
        "unequal_products": [(Code(row["datapath"]), f": {row['different']:,} of {row['results']:,}") for row in products],
    }


def tensor_chart(record: Record) -> Dots:
    """Return SQNR of every drawn tensor."""
    found = record["tensors"]
    data = names(found)
    marks = [
        Mark(data.index(row["data"]), list(GRID_NAMES).index(row["recipe"]), row["sqnr_db"], row["transform"] is None) for row in found
    ]
    axis = Axis("SQNR, dB", 18.0, 25.0, [(float(db), str(db)) for db in range(18, 26)])
    return Dots("SQNR of drawn tensors", axis, data, list(GRID_NAMES.values()), marks, ("as it is", "rotated"))


def _chain_name(row: Record) -> str:
    path = ", residual" if row["chain"] == "residual" else ""
    return SHORT[row["recipe"]] + path + (f", rotated, {ROTATIONS[row['transform']].split()[1]}" if row["transform"] else "")


def depth_chart(record: Record) -> Dots:
    """Return the gain after some layers, a line for each grid."""
    marks = sorted({row["layers"] for row in record["depth"]})
    rows = [row for row in record["depth"] if row["weights"] == "orthogonal"]
    labels = list(dict.fromkeys(_chain_name(row) for row in rows))
    found = [Mark(labels.index(_chain_name(row)), marks.index(row["layers"]), row["eta"]) for row in rows]
    axis = Axis("gain of the chain", 0.75, 1.15, [(tick / 20, f"{tick / 20:.2f}") for tick in range(15, 24)])
    return Dots("What is left of a signal", axis, labels, [f"{mark} layers" for mark in marks], found)


def e8m0_leads(record: Record) -> list[tuple[str, bool, float]]:
    """Return, per data and rotation, how many dB the best E8M0 rule of E1M2 is ahead of the best one of E2M1."""
    found = [row for row in record["scales"] if row["codec"].startswith("e8m0")]
    out = []
    for name in names(found):
        for rotated in (False, True):
            best = [
                max(
                    row["sqnr_db"]
                    for row in found
                    if row["data"] == name and (row["transform"] is not None) == rotated and row["element"] == grid
                )
                for grid in ("e1m2", "e2m1")
            ]
            out.append((name, rotated, best[0] - best[1]))
    return out
