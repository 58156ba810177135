"""The sections of the shrinkage page on drawn data: tensors, products, depth, scale codecs, equal grids."""

from __future__ import annotations

from typing import Any

from emu.docgen.dot_chart import Axis, Mark, chart
from emu.docgen.markdown import code, prose, table
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


def tensor_lines(record: Record) -> list[str]:
    """Return the section on single tensors."""
    setting, found = record["setting"], record["tensors"]
    rows, columns = setting["tensor_shape"]
    lines = []
    for name in names(found):
        figures = [arrow(pair(found, name, recipe, "sqnr_db")) for recipe in (E2M1, E1M2)]
        gains = [plain(pair(found, name, recipe, "alpha"), 5) for recipe in (E2M1, E1M2)]
        buckets = [plain(pair(found, name, recipe, "bucket_ratio"), 3) for recipe in (E2M1, E1M2)]
        lines.append((TITLES[name], *figures, *gains, amplification(found, name), *buckets))
    header = ("tensor", "SQNR E2M1, dB", "SQNR E1M2, dB", "alpha E2M1", "alpha E1M2", "RHT moves alpha of E2M1", "B_eff E2M1", "B_eff E1M2")
    return [
        "## One tensor",
        "",
        prose(
            f"Drawn, {rows} x {columns}, binary32, seed {setting['tensor_seed']}; blocks of 16 along rows with a binary32 scale ",
            f"(`e2m1_fp32scale`, `e1m2_fp32scale`), each as it is -> rotated (`{setting['rotation']}`, signs ",
            f"{setting['signs']}; E1M2 rotated ",
            "is `ufp4`). alpha = <y, x> / <x, x>: below one the tensor shrank. B_eff: share of the code space in use.",
        ),
        "",
        *table(header, lines),
        "",
        "![SQNR of drawn tensors](shrinkage_tensors.svg)",
        "",
        *_bias_lines(record),
    ]


def _bias_lines(record: Record) -> list[str]:
    lines = []
    for row in record["bias"]:
        cells = [f"{value}: {bias}" for value, bias in zip(row["values"], row["bias"], strict=True) if bias not in (None, "0")]
        lines.append((code(row["format"]), ", ".join(row["values"]), ", ".join(cells) or "none"))
    return [
        prose(
            "Bias of a bin under a locally flat density, (2 q_i - q_(i-1) - q_(i+1)) / 4, exact; every other ",
            "inner bin has none. The largest ",
            "value has no upper neighbour and is not in the formula.",
        ),
        "",
        *table(("grid", "values above zero", "biased bins"), lines),
        "",
    ]


def tensor_picture(record: Record) -> str:
    """Draw SQNR of every drawn tensor."""
    found = record["tensors"]
    data = names(found)
    marks = [
        Mark(data.index(row["data"]), list(GRID_NAMES).index(row["recipe"]), row["sqnr_db"], row["transform"] is None) for row in found
    ]
    axis = Axis("SQNR, dB", 18.0, 25.0, [(float(db), str(db)) for db in range(18, 26)])
    return chart("SQNR of drawn tensors", axis, data, list(GRID_NAMES.values()), marks, ("as it is", "rotated"))


def gemm_lines(record: Record) -> list[str]:
    """Return the section on products, restricted grids included."""
    setting, found = record["setting"], record["gemm"]
    m, n, k = setting["gemm_shape"]
    lines = []
    for name in names(found):
        for recipe, grid in SHORT.items():
            for rotated in (False, True):
                row = pick(found, name, recipe, rotated)
                numbers = (f"{row['alpha_product']:.5f}", f"{row['eta']:.5f}", f"{row['nmse']:.5f}", f"{row['sqnr_db']:.2f}")
                lines.append((TITLES[name], grid, "yes" if rotated else "no", *numbers))
    e2m1 = pick(found, "gaussian", E2M1, False)
    ratios = [f"{pick(found, 'gaussian', name, False)['nmse'] / e2m1['nmse']:.1f} times ({SHORT[name]})" for name in RESTRICTED]
    return [
        "## One product, and E2M1 with fewer levels",
        "",
        prose(
            f"A B^T with M = N = {m if m == n else f'{m}, {n}'}, K = {k}, seed {setting['gemm_seed']}, both ",
            "operands quantized. eta: gain of ",
            "the product. INT4 and E0M3 give the digits of E1M2 (below).",
        ),
        "",
        *table(("data", "grid", "rotated", "alpha_A alpha_B", "eta", "NMSE", "SQNR, dB"), lines, numbers=range(3, 7)),
        "",
        prose(
            "The restricted grids are evenly spaced up to 2 and in 0, 2, 4, 6: there the gain is above one, ",
            "as for E1M2, while NMSE on normal data ",
            f"is that of E2M1 {', '.join(ratios)}. Even spacing, not resolution, decides the sign of the ",
            "bias; up to 3 and up to 4 keep a bin ",
            "that is biased. The paper restricts to 2 (reported), and finds training worse: agreeing with the error, not with the gain.",
        ),
        "",
    ]


def depth_lines(record: Record) -> list[str]:
    """Return the section on depth."""
    setting = record["setting"]["depth"]
    marks = sorted({row["layers"] for row in record["depth"]})
    lines = []
    for key in dict.fromkeys((row["weights"], row["recipe"], row["transform"]) for row in record["depth"]):
        rows = {row["layers"]: row for row in record["depth"] if (row["weights"], row["recipe"], row["transform"]) == key}
        last = rows[marks[-1]]
        etas = [f"{rows[mark]['eta']:.4f}" for mark in marks[:-1]] + [f"{last['eta']:.4f} ({last['eta_deviation']:.4f})"]
        tail = (f"{last['alpha_product']:.4f}", f"{last['cosine']:.4f}", f"{last['norm_ratio']:.3f}")
        lines.append((key[0], SHORT[key[1]], ROTATIONS[key[2]], *etas, *tail))
    header = ("weights", "grid", "rotated", *(f"eta_{mark}" for mark in marks), "product of alphas", f"cos_{marks[-1]}", "|y| / |x|")
    return [
        "## Depth",
        "",
        prose(
            f"{setting['layers']} linear layers of width {setting['width']}, batch {setting['batch']}, ",
            f"{record['setting']['seeds']} seeds, both ",
            "operands of every product quantized, beside the same chain without quantization. eta_l: ",
            "projection of the output of layer l on ",
            "the exact one, mean over seeds; in brackets the deviation. Rotated to bf16 is `rht16_ufp4`, to FP32 `rht16_exact`.",
        ),
        "",
        *table(header, lines, numbers=range(3, len(header))),
        "",
        "![Gain over depth](shrinkage_depth.svg)",
        "",
        *_precision_lines(record),
    ]


def _chain_name(row: Record) -> str:
    return SHORT[row["recipe"]] + (f", rotated, {ROTATIONS[row['transform']].split()[1]}" if row["transform"] else "")


def _precision_lines(record: Record) -> list[str]:
    found = record["precision"]
    lines = []
    for source, transform in dict.fromkeys((row["source"], row["transform"]) for row in found):
        rows = [row for row in found if (row["source"], row["transform"]) == (source, transform)]
        gains = [f"{next(row['alpha'] for row in rows if row['recipe'] == recipe):.5f}" for recipe in (E2M1, E1M2)]
        lines.append((source, ROTATIONS[transform], *gains))
    return [
        prose(
            "The paper leaves the precision of rotated values open. It is seen: normal numbers rounded to bf16 before they are ",
            "quantized, by the source or after the rotation, have another alpha, and a chain shows it.",
        ),
        "",
        *table(("normal numbers N as", "rotated", "alpha E2M1", "alpha E1M2"), lines, numbers=(2, 3)),
        "",
    ]


def depth_picture(record: Record) -> str:
    """Draw the gain after some layers, a line for each grid."""
    marks = sorted({row["layers"] for row in record["depth"]})
    rows = [row for row in record["depth"] if row["weights"] == "orthogonal"]
    labels = list(dict.fromkeys(_chain_name(row) for row in rows))
    found = [Mark(labels.index(_chain_name(row)), marks.index(row["layers"]), row["eta"]) for row in rows]
    axis = Axis("gain of the chain", 0.75, 1.15, [(tick / 20, f"{tick / 20:.2f}") for tick in range(15, 24)])
    return chart("What is left of a signal", axis, labels, [f"{mark} layers" for mark in marks], found)


def scale_lines(record: Record) -> list[str]:
    """Return the section on scale codecs."""
    found = record["scales"]
    lines = []
    for codec, element in dict.fromkeys((row["codec"], row["element"]) for row in found):
        recipe, block = next((row["recipe"], row["block"]) for row in found if (row["codec"], row["element"]) == (codec, element))
        figures = [arrow(pair(found, name, recipe, "sqnr_db")) for name in names(found)]
        gains = [plain(pair(found, name, recipe, "alpha"), 4) for name in names(found)]
        lines.append((code(codec), element.upper(), code(recipe), str(block), *figures, *gains))
    titles = [TITLES[name] for name in names(found)]
    header = ("scale", "grid", "recipe", "block", *(f"SQNR, {title}" for title in titles), *(f"alpha, {title}" for title in titles))
    return [
        "## Scales that the paper left open",
        "",
        prose(
            "The paper's blocks have binary32 scales. With 8 bits and a fraction (UE4M3 under a tensor scale, UE5M3) little changes. ",
            "A power of two (E8M0) costs the uniform grid more: where a maximum lies just above its largest value, 7/4, ",
            "either the maximum is cut or half of the codes are lost.",
        ),
        "",
        *table(header, lines),
        "",
        *_scale_reading(record),
    ]


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


def _scale_reading(record: Record) -> list[str]:
    words = [f"{TITLES[name]}{', rotated' if rotated else ''}: {db:+.2f} dB" for name, rotated, db in e8m0_leads(record)]
    return [
        prose(
            f"The best E8M0 rule of E1M2 against the best one of E2M1: {'; '.join(words)}. alpha of E2M1 under ",
            "`floor` is saturation, larger than the bias of any bin.",
        ),
        "",
    ]


def equal_lines(record: Record) -> list[str]:
    """Return the section on INT4, E1M2 and E0M3."""
    found = record["equivalence"]
    counted = ("steps", "scales", "values")
    lines = [
        (
            *(code(row[name]) for name in ("codec", "first", "other")),
            f"{row['elements']:,}",
            *(f"{row[name]:,}" for name in counted),
            row["ratio"],
        )
        for row in found["recipes"]
    ]
    header = ("scale", "recipe", "other recipe", "elements", "steps that differ", "scales", "values", "scale ratio")
    names_of, numbers_of = ("datapath", "first", "other"), ("results", "different")
    products = [(*(code(row[name]) for name in names_of), *(str(row[name]) for name in numbers_of)) for row in found["products"]]
    return [
        "## INT4 = E1M2 = E0M3",
        "",
        prose(
            "One grid, steps k = -7 .. 7, of 1/4, 1 and 1; E1M2 and E0M3 have the same sign-magnitude codes (also -0), INT4 two's ",
            "complement and a -8 that no recipe writes. Blocks in which every bf16 significand of the maximum meets every smaller ",
            "magnitude down to 2^-6; under a tensor scale, for every significand of the tensor maximum. The scale of E1M2 is the ratio ",
            "times the other's, exactly; where a tensor scale exists it takes the power of two, and scale codes are equal.",
        ),
        "",
        *table(header, lines, numbers=range(3, 8)),
        "",
        "Matrix products, bit by bit, tensor scales included:",
        "",
        *table(("datapath", "recipe", "other recipe", "results", "results that differ"), products, numbers=(3, 4)),
        "",
        prose(
            "`f46_nvint4` differs by the order of its operations alone (a division by 7, then the product with the tensor's multiplier; ",
            "values divided at the end): where orders are the same, so is every bit.",
        ),
        "",
    ]
