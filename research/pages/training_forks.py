"""The section of forked runs on the page of training, from their record. Not here: comparisons (research.forks.evidence), tests of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from emu.pages.render import Bold, Code
from emu.spec import registry
from emu.spec.training import GEMMS
from research.forks.evidence import at_length, chosen, compared, figure, floor, judged, null, null_at_length, paired, relative_gap
from research.forks.plan import BASE
from research.forks.record import KIND, RECORD
from research.forks.statistics import Outcome, bootstrap, detectable, holm, outcome, power, rms
from research.pages.charts import Axis, Dots, Mark
from research.pages.training_tables import paired as paired_gaps
from research.train.fit import line as fitted
from research.train.statistics import by_cell as cells_of
from research.train.statistics import estimate, gaps

Data = dict[str, Any]
MARGIN = 3  # times the null spread
NEARLY_EQUAL = ("int4_train", "nvufp4")  # one grid; scales differ by the order of operations alone
POWER_OF_TWO = ("e1m2_e8m0", "mxfp4_train")
FIGURES = {"kl": "divergence", "gap": "loss gap", "gradient": "gradient NMSE"}


def forks_section(root: Path, scratch: Data | None = None) -> Data | None:
    """Return what the template shows of forks; None where the tree holds no record. scratch: the study of runs from scratch, for its power.

    Raises: FileError (a damaged record).
    """
    if not (root / RECORD).is_file():
        return None
    record = KIND.read(root / RECORD)
    config, lines = record["config"], record["runs"]
    primary = judged(lines, config["primary"])
    if primary is None:
        return None
    better, worse = config["primary"]["better"], config["primary"]["worse"]
    models = list(dict.fromkeys(item["model"] for item in lines))
    nulls = {name: list(null(lines, name, "kl").values()) for name in (better, worse)}
    spread = rms([value for values in nulls.values() for value in values])
    low, high = bootstrap(primary.values)
    ablations = {(item["better"], item["worse"]): _ablation_row(lines, item, spread) for item in config["ablations"]}
    return {
        **record,
        "record_path": RECORD,
        "record_name": RECORD.removeprefix("docs/"),
        "done": len(record["runs"]),
        "planned": sum(record["planned"].values()),
        "missing": _missing(record),
        "clusters": len(primary.values),
        "pairs": len(paired(lines, better, worse)[0]),
        "wins": sum(value < 0 for value in primary.values),
        "ratio": _ratio(primary),
        "bootstrap": f"{math.exp(low):.3f} to {math.exp(high):.3f}",
        "p": f"{primary.p:.2g}",
        "least_p": f"{2 / 2 ** len(primary.values):.2g}",
        "detectable": f"{100 * (1 - math.exp(-detectable(primary.spread, len(primary.values)))):.1f}",
        "margin": f"{abs(primary.mean) / spread:.1f}",
        "null_spread": f"{100 * spread:.1f}",
        "answer_rows": _answer_rows(lines, config),
        "sizes": _sizes(config, models),
        "primary_rows": [_primary_row(lines, config, model) for model in (*models, None)],
        "null_rows": [_null_row(lines, model, (better, worse)) for model in models],
        "ablation_rows": [row[:-1] for row in ablations.values() if row is not None],
        "ablation_runs": " or ".join(map(str, sorted({row[-1] for row in ablations.values() if row is not None}))),
        "power_of_two": ablations.get(POWER_OF_TWO),
        "cost_model": (costs := _cost_rows(lines))[0],
        "cost_rows": costs[1],
        "size": _over_size(record, models),
        "length_rows": _length_rows(lines, config),
        "length_floor": _length_floor(lines, config),
        "gap_rows": (gap_rows := _gap_rows(lines, config, models)),
        "gap_all": next(f"{row[4]} ({row[5]})" for row in gap_rows if row[5]),
        "gap_published": ", ".join(f"{item['ratio']:.2f}" for item in config.get("published") or ()),
        "gradient_rows": _gradient_rows(lines, (better, worse)),
        "product_rows": _product_rows(record),
        "forward_apart": _forward_apart(record),
        "scratch": None if scratch is None else _scratch(scratch, better, worse),
    }


def _missing(record: Data) -> str:
    """Return how many forks of each part are still to be run."""
    done = Counter(item["part"] for item in record["runs"])
    return ", ".join(f"{part}: {count - done[part]} of {count}" for part, count in record["planned"].items() if count > done[part])


def _ratio(found: Outcome) -> str:
    mean, low, high = found.shown(math.exp)
    return f"{mean:.3f}" + ("" if low is None or high is None else f" ({low:.3f} to {high:.3f})")


def _sizes(config: Data, models: Sequence[str]) -> list[list[Any]]:
    return [[name, *(config["models"][name][key] for key in ("width", "layers", "hidden")), config["models"][name].get("experts") or ""]
            for name in models]  # fmt: skip


def _primary_row(lines: Sequence[Data], config: Data, model: str | None) -> list[Any]:
    test = judged(lines, config["primary"], model)
    assert test is not None
    pair = paired(lines, config["primary"]["better"], config["primary"]["worse"], model)
    won = f"{sum(value < 0 for value in test.values)} of {len(test.values)}"
    means = [f"{math.fsum(figure(item, 'kl') for item in some) / len(some):.5f}" for some in pair]
    return ["**all**" if model is None else model, len(test.values), len(pair[0]), *means, _ratio(test), won]


def _answer_rows(lines: Sequence[Data], config: Data) -> list[list[Any]]:
    """Return the primary endpoint and the secondary comparisons: claim, order, figure, effect, runs, p, margin over the null, power."""
    names = config["primary"]["better"], config["primary"]["worse"]
    found = [(item, test) for item in (config["primary"], *config["secondary"]) if (test := judged(lines, item)) is not None]
    adjusted = [found[0][1].p, *holm([test.p for _, test in found[1:]])]
    rows: list[list[Any]] = []
    for (item, test), p in zip(found, adjusted, strict=True):
        spread = rms([value for name in names for value in null(lines, name, item["figure"]).values()])
        margin = abs(test.mean) / spread
        told = p < 0.05 and margin > MARGIN
        verdict = "open" if not told else "yes" if test.mean < 0 else "the other way round"
        won = f"{sum(value < 0 for value in test.values)} of {len(test.values)}"
        rows.append([
            item["claim"], _order(item), FIGURES[item["figure"]], _shown(test, item["figure"]), won, f"{p:.2g}", f"{margin:.1f}",
            _power(test), Bold(verdict),
        ])  # fmt: skip
    return rows


def _power(test: Outcome) -> str:
    likely = power(test.mean, test.spread, len(test.values)) if test.spread else 1.0
    return "> 0.99" if likely > 0.99 else f"{likely:.2f}"


def ratios_chart(record: Data) -> Dots:
    """Return the ratios of divergences, primary and secondary, each with the ends of its interval."""
    lines, config = record["runs"], record["config"]
    rows: list[str] = []
    marks: list[Mark] = []
    items = [(config["primary"], model) for model in (None, *dict.fromkeys(line["model"] for line in lines))]
    items += [(item, None) for item in config["secondary"] if item["figure"] == "kl"]
    for item, model in items:
        test = judged(lines, item, model)
        if test is not None:
            shown = zip(test.shown(math.exp), (True, False, False), strict=True)
            marks += [Mark(len(rows), 0, round(value, 3), mean) for value, mean in shown if value is not None]
            rows.append(f"{item['better']} / {item['worse']}" + (f", {model}" if model else ""))
    high = max(mark.value for mark in marks)
    ticks = [(tick / 5, f"{tick / 5:.1f}") for tick in range(1, int(5 * high) + 2)]
    axis = Axis("divergence from BF16, first over second", 0.2, ticks[-1][0], ticks)
    return Dots("What a recipe costs, first over second", axis, rows, ("ratio",), marks, ("mean", "ends of the 95 % interval"))


def _null_row(lines: Sequence[Data], model: str, names: Sequence[str]) -> list[Any]:
    cells = [f"{100 * rms(list(null(lines, name, 'kl', model).values())):.1f}" for name in names]
    return [model, *cells, f"{math.fsum(floor(lines, model)) / len(floor(lines, model)):.2g}"]


def _shown(test: Outcome, what: str) -> str:
    if what != "gap":
        return _ratio(test)
    inside = "" if test.low is None or test.high is None else f" ({test.low:+.4f} to {test.high:+.4f})"
    return f"{test.mean:+.4f}{inside} nats"


def _order(item: Data) -> tuple[Any, ...]:
    return Code(item["better"]), " < ", Code(item["worse"])


def _ablation_row(lines: Sequence[Data], item: Data, spread: float) -> list[Any] | None:
    test = judged(lines, item)
    if test is None or len(test.values) < 2:  # one run has no interval
        return None
    kept = compared(lines, "kl", item["better"], item["worse"])
    same = all(value == 0 for value in kept.values())
    apart = "the same bits" if same else "yes" if abs(test.mean) > MARGIN * spread else ""
    return [item["claim"], _order(item), "1" if same else _ratio(test), "" if same else _power(test), apart, len(test.values)]


def _cost_rows(lines: Sequence[Data]) -> tuple[str, list[list[Any]]]:
    """Return the model that has most trainings, and what each training of the spec costs on it, the cheapest first."""
    counts: dict[str, set[str]] = {}
    for item in lines:
        counts.setdefault(item["model"], set()).add(item["training"])
    model = max(counts, key=lambda name: len(counts[name]))
    rows: list[tuple[float, list[Any]]] = []
    for training in sorted((counts[model] & set(registry.names("training"))) - {BASE}):
        # the first fork alone: not every training has a second one
        some = [item for (_, _, fork), item in chosen(lines, training, model=model).items() if fork == 0]
        kl = estimate([figure(item, "kl") for item in some])
        half = "" if kl.half is None else f" ± {kl.half:.5f}"
        gap = estimate(list(relative_gap(some).values()))
        exact = math.fsum(item["kl_exact"][-1] for item in some) / len(some)
        rows.append((kl.mean, [Code(training), f"{kl.mean:.5f}{half}", f"{exact:.5f}", f"{gap.mean:+.2f}"]))
    return model, [row for _, row in sorted(rows, key=lambda row: row[0])]


def _weights(model: Data) -> int:
    feed = 3 * model["width"] * model["hidden"] * max(model.get("experts") or 1, 1)
    return int(model["layers"] * (4 * model["width"] ** 2 + feed))


def _over_size(record: Data, models: Sequence[str]) -> str | None:
    """Return the slope of the primary endpoint over the logarithm of the size of dense models, one point a cluster; None: one size."""
    config, points = record["config"], []
    for model in models:
        if not config["models"][model].get("experts"):
            values = compared(record["runs"], "kl", config["primary"]["better"], config["primary"]["worse"], model).values()
            points += [(float(_weights(config["models"][model])), value) for value in values]
    if len({x for x, _ in points}) < 2:
        return None
    found = fitted([x for x, _ in points], [y for _, y in points])
    error = "" if found.error is None else f" ± {100 * found.error:.1f}"
    return f"{100 * found.slope:+.1f}{error}"


def _length_rows(lines: Sequence[Data], config: Data) -> list[list[Any]]:
    better, worse = config["primary"]["better"], config["primary"]["worse"]
    rows: list[list[Any]] = []
    for place, steps in enumerate(config.get("lengths") or ()):
        first, second = (at_length(lines, place, name, "kl") for name in (better, worse))
        if not first or len(first) != len(second):
            return rows
        test = outcome([math.log(a / b) for a, b in zip(first, second, strict=True)])
        spread = null_at_length(lines, place, (better, worse))
        means = (f"{math.fsum(some) / len(some):.5f}" for some in (first, second))
        rows.append([steps, *means, _ratio(test), "" if spread is None else f"{100 * spread:.1f}"])
    return rows


def _length_floor(lines: Sequence[Data], config: Data) -> tuple[str, ...] | None:
    """Return the divergence of BF16 from weights one step larger, at the first and the last length; None where neither was run."""
    places = (0, len(config.get("lengths") or ()) - 1)
    found = [at_length(lines, place, BASE, "kl", 1) for place in places if place >= 0]
    return tuple(f"{math.fsum(some) / len(some):.2g}" for some in found) if len(found) == 2 and all(found) else None


def _gap_rows(lines: Sequence[Data], config: Data, models: Sequence[str]) -> list[list[Any]]:
    """Return the loss gaps of every model and their ratio, for all models with an interval by bootstrap; then the published ones."""
    names = config["primary"]["better"], config["primary"]["worse"]
    rows: list[list[Any]] = []
    for model in (*models, None):
        first, second = (relative_gap(some) for some in paired(lines, *names, model))
        pairs = [(first[key], second[key]) for key in first]
        means = [math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True)]
        ratio, interval = means[0] / means[1], ""
        if model is None:  # the error of a ratio, to first order
            low, high = bootstrap([(a - ratio * b) / means[1] for a, b in pairs])
            interval = f"{ratio + low:.2f} to {ratio + high:.2f}"
        where = "**all**" if model is None else model
        rows.append([where, len(pairs), *(f"{value:+.2f}" for value in means), f"{ratio:.2f}", interval])
    return rows + [[f"published: {item['what']}", "", "", "", f"{item['ratio']:.2f}", ""] for item in config.get("published") or ()]


def _gradient_rows(lines: Sequence[Data], names: Sequence[str]) -> list[list[Any]]:
    rows = []
    for forward in ("exact", "quantized"):
        for name, pair in zip(names, paired(lines, *names), strict=True):
            some = [item["gradient"][forward] for item in pair]
            means = [math.fsum(column) / len(some) for column in zip(*some, strict=True)]
            rows.append([Code(name), forward, f"{means[0]:.4f}", f"{means[2]:.4f}", f"{100 * means[3]:.1f}"])
    return rows


def _product_rows(record: Data) -> list[list[Any]]:
    """Return the error of each product on an exact forward pass: the mean over models, layers and forks, and the range over layers."""
    rows = []
    for gemm, training in product(GEMMS, record["layers"]):
        layers = _layers(record, gemm, "exact", training)
        if layers:
            means = [math.fsum(column) / len(layers) for column in zip(*layers, strict=True)]
            across = [f"{pick(item[0] for item in layers):.4f}" for pick in (min, max)]
            numbers = (f"{means[0]:.4f}", " to ".join(across), f"{means[2]:.4f}", f"{100 * means[3]:.1f}")
            rows.append([gemm, Code(training), *numbers])
    return rows


def _layers(record: Data, gemm: str, forward: str, training: str) -> list[list[float]]:
    return [figures for products in record["layers"][training].values() for figures in products[forward].get(gemm, {}).values()]


def _forward_apart(record: Data) -> str:
    """Return by how many percent the mean error of a product differs at most between both forward passes."""
    found = [0.0]
    for gemm, training in product(GEMMS, record["layers"]):
        exact, quantized = ([item[0] for item in _layers(record, gemm, way, training)] for way in ("exact", "quantized"))
        if exact and quantized:
            found.append(abs(math.fsum(quantized) / len(quantized) / (math.fsum(exact) / len(exact)) - 1))
    return f"{100 * max(found):.1f}"


def _scratch(study: Data, better: str, worse: str) -> Data:
    """Return the same order from runs from scratch, all models together: mean, error, power; and what nearly equal trainings differ by."""
    cells, models = cells_of(study["runs"]), study["config"]["models"]
    values = [value for model in models for value in gaps(cells, model, worse, better)]
    near = [value for model in models for value in gaps(cells, model, *NEARLY_EQUAL)]
    found = paired_gaps(values)
    error = found["error"] or 0
    return {
        "count": len(values), "won": sum(value > 0 for value in values),
        "mean": f"{found['mean']:+.3f}", "error": f"{error:.3f}",
        "power": f"{100 * (found['power'] or 0):.0f}", "least": f"{detectable(error * len(values) ** 0.5, len(values)):.2f}",
        "near": f"{rms(near):.2f}" if near else "", "near_count": len(near), "names": [Code(name) for name in NEARLY_EQUAL],
    }  # fmt: skip
