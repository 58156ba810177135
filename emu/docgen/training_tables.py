"""Tables of one study of training: figures with intervals, gaps to BF16, orders on every seed. Not here: fits (training_sizes.py)."""

from __future__ import annotations

from typing import Any

from emu.docgen.markdown import code, plural, prose, table
from research.train.statistics import BASE, Estimate, by_cell, estimate, gaps, wins

Study = dict[str, Any]
VERDICTS = {True: "yes", False: "**no**, the other way round"}


def with_half(found: Estimate, digits: int, sign: str = "") -> str:
    """Return a mean with its half width."""
    half = "" if found.half is None else f" ± {found.half:.{digits}f}"
    return f"{found.mean:{sign}.{digits}f}{half}"


def short_lines(record: dict[str, Study]) -> list[str]:
    """Return the section that counts which orders came out."""
    lines = ["## In short", ""]
    for study in record.values():
        rows = _orders(study)
        came = [row for row in rows if row["verdict"] == VERDICTS[True]]
        against = [row for row in rows if row["verdict"] == VERDICTS[False]]
        open_ = len(rows) - len(came) - len(against)
        lines.append(
            f"- **{study['config']['title']}**: of {plural(len(rows), 'order')} looked for, {len(came)} came out on every seed, "
            f"{len(against)} the other way round on every seed, {open_} differ from seed to seed; "
            f"of the first two sorts, {sum(not row['unsure'] for row in came + against)} have a margin whose interval leaves 0 out."
        )
        lines += [f"  - against the claim: {row['text']} on {code(row['model'])} ({row['claim']}){row['unsure']}" for row in against]
    return [*lines, "", "Each order is a row of the tables below, with seeds and margins."]


def _orders(study: Study) -> list[dict[str, str]]:
    cells = by_cell(study["runs"])
    rows = []
    for order in study["config"]["orders"]:
        for model in order["models"]:
            won, seeds = wins(cells, model, order["better"], order["worse"])
            if seeds:
                margin = estimate(gaps(cells, model, order["worse"], order["better"]))
                verdict = VERDICTS[won == seeds] if won in (0, seeds) else "differs from seed to seed"
                unsure = "" if margin.sign or won not in (0, seeds) else "; its interval holds 0"
                text = f"{code(order['better'])} < {code(order['worse'])}"
                rows.append(
                    {"model": model, "text": text, "claim": order["claim"], "won": f"{won} of {seeds}", "verdict": verdict}
                    | {"margin": with_half(margin, 2, "+"), "unsure": unsure}
                )
    return rows


def order_lines(study: Study) -> list[str]:
    """Return the table of orders that were looked for."""
    rows = [[row["text"], row["model"], row["won"], row["margin"], row["verdict"] + row["unsure"], row["claim"]] for row in _orders(study)]
    if not rows:
        return []
    header = ("order", "model", "seeds", "second above first, %", "came out?", "claim")
    words = prose(
        "An order came out when it holds on every seed; the margin is the mean over seeds of how far the second figure lies above the ",
        "first, in percent of it, with a 95 % interval. Three seeds that agree by chance are no rarity: one in eight.",
    )
    return ["", "### Orders", "", words, "", *table(header, rows, (2, 3))]


def reference_lines(study: Study) -> list[str]:
    """Return our figures beside those of another implementation of the same experiment."""
    config, cells = study["config"], by_cell(study["runs"])
    given = {(item["model"], item["training"]): item["metrics"] for item in config["reference"]}
    rows = []
    for (model, training), metrics in cells.items():
        ours, sheet = estimate(list(metrics.values())), given.get((model, training))
        seeds = " / ".join(f"{metrics[seed]:.5f}" for seed in sorted(metrics))
        other = estimate(sheet) if sheet else None
        told = ("", "") if other is None else (f"{other.mean:.5f}", f"{ours.mean / other.mean:.3f}")
        above = gaps(cells, model, training)
        rows.append([model, code(training), seeds, with_half(ours, 5), *told, f"{estimate(above).mean:+.0f}" if above else ""])
    header = ("inputs", "training", "seeds", "mean", "elsewhere", "ours / elsewhere", "above BF16, %")
    words = prose(
        f"Elsewhere: {config['reference_source']}, means of the same seeds. The order in which ",
        "weights are drawn and the held-out inputs are not told there; other choices move the figures of all recipes together by a few ",
        "percent, and leave the orders.",
    )
    return ["### Figures", "", words, "", *table(header, rows, (3, 4, 5, 6))]


def run_lines(study: Study) -> list[str]:
    """Return figures and gaps to BF16, a table for each model."""
    cells = by_cell(study["runs"])
    lines: list[str] = []
    for model in study["config"]["models"]:
        rows = [_row(cells, model, training, metrics) for (name, training), metrics in cells.items() if name == model]
        if rows:
            header = ("training", "seeds", "figure", "above BF16, %", "seeds")
            lines += [
                "",
                f"### {code(model)}",
                "",
                *table(header, [row[:4] + row[5:] for row in sorted(rows, key=lambda row: row[4])], (1, 2, 3)),
            ]
    words = prose(
        "Above BF16: mean over seeds of the relative gap, each to the BF16 run of the same seed. Sorted by it. A gap whose interval holds ",
        "0 is not told from none.",
    )
    return [words, *lines]


def same_lines(study: Study) -> list[str]:
    """Return which trainings ended in the same weights, bit for bit, on every seed that both have."""
    bits: dict[tuple[str, str], dict[int, str]] = {}
    for run in study["runs"]:
        bits.setdefault((run["model"], run["training"]), {})[run["seed"]] = run["bits"]
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (model, training), found in bits.items():
        groups.setdefault((model, tuple(found[seed] for seed in sorted(found))), []).append(training)
    same = [f"{' = '.join(map(code, names))} on {code(model)}" for (model, _), names in groups.items() if len(names) > 1]
    return ["", f"The same weights at the end of every seed, bit for bit: {'; '.join(same)}."] if same else []


def _row(cells: dict[Any, dict[int, float]], model: str, training: str, metrics: dict[int, float]) -> list[Any]:
    above = gaps(cells, model, training)
    gap = estimate(above) if above and training != BASE else None
    each = "" if gap is None else " / ".join(f"{value:+.2f}" for value in above)
    shown = "" if gap is None else with_half(gap, 2, "+")
    figure = estimate(list(metrics.values()))
    return [code(training), str(len(metrics)), with_half(figure, 4), shown, -1e9 if gap is None else gap.mean, each]


def anchor_lines(study: Study) -> list[str]:
    """Return published gaps beside ours."""
    anchors = study["config"].get("anchors") or []
    if not anchors:
        return []
    cells = by_cell(study["runs"])
    rows = []
    for anchor in anchors:
        own = [
            f"{model} {estimate(found).mean:+.2f}"
            for model in study["config"]["models"]
            if (found := gaps(cells, model, anchor["training"]))
        ]
        told = f"{anchor['gap_percent']:+.2f}" if anchor.get("gap_percent") is not None else "lower than E2M1"
        rows.append([code(anchor["training"]), anchor["what"], told, anchor["status"], anchor["source"], ", ".join(own)])
    header = ("training", "published for", "above BF16, %", "status", "source", "ours, %")
    words = "Other models, other lengths, other text: only signs and orders can be compared, not sizes."
    return ["", "### Published gaps", "", words, "", *table(header, rows, (2,))]
