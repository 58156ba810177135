"""The part of the architects' chapter about whole models and about products of one: best against best, then like against like."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from emu.base.errors import FileError
from emu.pages.render import Code
from research.forks.statistics import outcome
from research.models import results
from research.models.plan import CHOSEN, DECIDING, E1M2, E2M1, FEEDBACK, GRIDS, MODELS, OPERANDS, OTHERS, PAIRED, Cell, plan
from research.models.results import RAW_E1M2, RAW_E2M1, TURNED_E1M2, TURNED_E2M1, Ratio, Way, losses, ratio
from research.models.study import REPORT
from research.pages.charts import Axis, Dots, Mark, draw_dots

Record = dict[str, Any]
TITLES: Final = {"minilm": "MiniLM", "smollm": "SmolLM2-135M"}
FIGURES: Final = {"minilm": "1 - cosine", "smollm": "KL, nats a token"}
CHOICES: Final = (("a", "none"), ("wa", "none"), ("w", "none"), ("w", FEEDBACK), ("wa", FEEDBACK), ("k", "none"))  # operands, treatment
WAYS: Final = (RAW_E2M1, TURNED_E2M1, RAW_E1M2, TURNED_E1M2)
SETS: Final = {"lee": "50 Lee texts, every two", "simlex999": "SimLex-999", "wordsim353": "WordSim-353"}
GUESSES: Final = {
    "none": "as it is",
    "signs": "each error gets a random sign",
    "shuffle": "errors change places within a block of 16",
    "regain": "gain set to 1",
}
DEPLOYED: Final = {  # both operands in 4 bits: what a deployment may do
    "each part in E2M1 as given or in E1M2 rotated": Way(CHOSEN, True),
    "both rotated: weights E2M1, activations E1M2": Way(E1M2, True, weights=E2M1),
    "both as given: weights E2M1, activations E1M2": Way(E1M2, weights=E2M1),
    "both rotated: weights E1M2, activations E2M1": Way(E2M1, True, weights=E1M2),
    "both as given: weights E1M2, activations E2M1": Way(E2M1, weights=E1M2),
    "E1M2 rotated": TURNED_E1M2,
    "E2M1 as given, error feedback": Way(E2M1, treatment=FEEDBACK),
    "E1M2 as given, error feedback": Way(E1M2, treatment=FEEDBACK),
    "E2M1 rotated, error feedback": Way(E2M1, True, FEEDBACK),
    "E1M2 rotated, error feedback": Way(E1M2, True, FEEDBACK),
}


def models_part(record: Record) -> Record:
    """Return what the template shows of the record of whole models."""
    shown = [(model, *choice) for model in TITLES for choice in CHOICES if known(record, model, *choice)]
    ways = deployed(record)
    return {
        "best_rows": [_best_row(record, *key) for key in shown],
        "like_rows": [_like_row(record, *key) for key in shown],
        "other_rows": _others(record),
        "other_models": list(TITLES.values()),
        "why_rows": _why(record),
        "seen_rows": _seen(record.get("weights", [])),
        "part_rows": _parts(record),
        "worse": [f"{row[0]} {float(row[1].split()[0]):.2f} ({row[-1]})" for row in _parts(record) if float(row[1].split()[0]) > 1],
        "deployed": ways,
        **deployed_table(ways),
        "pair_rows": _pairs(record),
        "run": len(record["lines"]),
        "not_run": [
            (title, sum(cell.model in names and cell.name not in record["lines"] for cell in plan()))
            for title, names in (("MiniLM", ("minilm", *PAIRED)), ("SmolLM2-135M", ("smollm",)))
        ],
        "models_command": record["command"],
        "setting": record["setting"],
    }


def known(record: Record, model: str, operands: str, treatment: str = "none") -> bool:
    """Tell whether both grids were run, as given and rotated."""
    return all(len(losses(record, model, operands, replace(way, treatment=treatment))) for way in WAYS)


def title_of(model: str, operands: str, treatment: str = "none") -> str:
    """Return what a row compares."""
    return f"{TITLES[model]}, {OPERANDS[operands]}{', error feedback' if treatment == FEEDBACK else ''}"


def words(found: Ratio) -> list[str]:
    """Return ratio with interval, null pairs and power as cells of a table."""
    null = "" if found.null is None else f"{100 * found.null:.1f} %"
    return [f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]", null, "> 0.99" if found.power > 0.99 else f"{found.power:.2f}"]


def verdict(found: Ratio, rotated: bool = True) -> str:
    """Name the grid with the smaller loss where the comparison settles it. rotated: is a side; then one sign set settles nothing."""
    if not found.settled or (rotated and found.null is None):
        return "open"
    return "E1M2" if found.value < 1 else "E2M1"


def compared(record: Record, model: str, operands: str, first: Way, second: Way) -> list[str]:
    """Return losses of two ways, second way first, then the ratio of the first over it, its null pairs and its power."""
    sides = [losses(record, model, operands, way) for way in (second, first)]
    return [*(f"{side.mean():.4f}" for side in sides), *words(ratio(sides[1], sides[0]))]


def best_ratio(record: Record, model: str, operands: str, treatment: str = "none") -> tuple[list[bool], Ratio]:
    """Return which grid was rotated, E2M1 first, and the loss of E1M2 over that of E2M1, each as it is best."""
    low, high = (results.best(record, model, operands, recipe, treatment) for recipe in GRIDS)
    return [low[0], high[0]], ratio(high[1], low[1])


def _best_row(record: Record, model: str, operands: str, treatment: str) -> list[str]:
    turned, found = best_ratio(record, model, operands, treatment)
    sides = ["rotated" if one else "as given" for one in turned]
    sets = str(max(*found.signs, 1)) if any(turned) else ""
    return [title_of(model, operands, treatment), *sides, *words(found), sets, verdict(found, any(turned))]


def _like_row(record: Record, model: str, operands: str, treatment: str) -> list[str]:
    ways = [replace(way, treatment=treatment) for way in WAYS]
    loss = f"{losses(record, model, operands, ways[0]).mean():.4f}"
    given, turned = (
        ratio(losses(record, model, operands, one), losses(record, model, operands, other))
        for one, other in ((ways[2], ways[0]), (ways[3], ways[1]))
    )
    return [title_of(model, operands, treatment), FIGURES[model], loss, words(given)[0], *words(turned)[:2], verdict(turned)]


def _others(record: Record) -> list[list[Any]]:
    """Return W4A4 under every recipe that was run, against E2M1 with binary32 scales, model beside model; the smallest loss first."""
    bases = {model: losses(record, model, "wa", RAW_E2M1) for model in TITLES}
    found = []
    for way in [Way(name, turned) for name in (*GRIDS, *DECIDING, *OTHERS) for turned in (False, True)]:
        sides = {model: losses(record, model, "wa", way) for model in TITLES}
        ratios = {model: ratio(side, bases[model]) for model, side in sides.items() if len(side) and len(bases[model])}
        if ratios and way != RAW_E2M1:
            cells = [words(ratios[model])[0] if model in ratios else "" for model in TITLES]
            found.append((next(iter(ratios.values())).value, [Code(way.recipe), "yes" if way.rotated else "no", *cells]))
    return [row for _, row in sorted(found, key=lambda item: item[0])]


def _why(record: Record) -> list[list[str]]:
    pairs = [
        (model, text, replace(RAW_E2M1, treatment=name), replace(TURNED_E1M2, treatment=name))
        for model in TITLES
        for name, text in GUESSES.items()
    ]
    pairs.append(("minilm", "weights through Q4_1 first", replace(RAW_E2M1, source="q4_1"), replace(TURNED_E1M2, source="q4_1")))
    return [
        [f"{TITLES[model]}: {text}", *compared(record, model, "w", high, low)]
        for model, text, low, high in pairs
        if len(losses(record, model, "w", low)) and len(losses(record, model, "w", high))
    ]


def _seen(rows: list[Record]) -> list[list[str]]:
    found = []
    for part in dict.fromkeys(row["part"] for row in rows):
        own = {(row["recipe"], row["signs"], row["layer"]): row for row in rows if row["part"] == part}
        layers = sorted({layer for _, _, layer in own})
        cells = [
            in_db([own[E1M2, 0, layer][figure] - own[E2M1, None, layer][figure] for layer in layers])
            for figure in ("plain_db", "seen_db", "output_db")
        ]
        found.append([part, *cells])
    return found


def in_db(leads: list[float]) -> str:
    """Return the mean of leads in dB with its 95 % interval over layers."""
    found = outcome(leads)
    return f"{found.mean:+.2f}" + ("" if found.low is None else f" [{found.low:+.2f}, {found.high:+.2f}]")


def _parts(record: Record) -> list[list[str]]:
    rows = []
    for model, parts in MODELS.items():
        for part in parts:
            low, high = replace(RAW_E2M1, only=part), replace(TURNED_E1M2, only=part)
            sides = [losses(record, model, "wa", way) for way in (low, high)]
            if all(len(side) for side in sides):
                found = ratio(sides[1], sides[0])
                rows.append([f"{TITLES[model]}: {part}", *words(found), verdict(found)])
    return rows


def deployed(record: Record) -> list[list[str]]:
    """Return W4A4 in every way that a deployment may take, against E2M1 as given, on documents that chose nothing, model by model."""
    rows = []
    for model in TITLES:
        base = losses(record, model, "wa", RAW_E2M1)[:, REPORT]
        for text, way in DEPLOYED.items():
            side = losses(record, model, "wa", way)[:, REPORT] if len(losses(record, model, "wa", way)) else base[:0]
            if len(base) and len(side):
                found = ratio(side, base)
                settled = found.settled and (found.null is not None or not way.rotated)
                order = ("less" if found.value < 1 else "more") if settled else "open"
                rows.append([TITLES[model], text, f"{side.mean():.4f}", *words(found), str(len(side)) if way.rotated else "", order])
    return rows


def deployed_table(rows: list[list[str]]) -> Record:
    """Return the rows of deployed, models beside each other: head behind the way, rows, columns of numbers."""
    models = list(dict.fromkeys(row[0] for row in rows))
    cells = {(row[0], row[1]): [row[3], row[4], row[-1]] for row in rows}
    return {
        "deployed_head": [text for model in models for text in (model, "null", "against E2M1")],
        "deployed_rows": [
            [way, *(cell for model in models for cell in cells.get((model, way), [""] * 3))]
            for way in dict.fromkeys(row[1] for row in rows)
        ],
        "deployed_numbers": [place for place in range(1, 3 * len(models)) if place % 3],
    }


def parts_given(record: Record) -> dict[str, list[str]]:
    """Return model -> the parts that the choice kept in E2M1 as given, of the models for which it was run."""
    names = {model: Cell(model, "wa", CHOSEN, 0).name for model in TITLES}
    return {TITLES[model]: record["lines"][name]["given"] for model, name in names.items() if name in record["lines"]}


def _pairs(record: Record) -> list[list[str]]:
    """Return, set by set, how far the order of likeness departs from that in binary32, and what people say of both."""
    rows = []
    for name, title in SETS.items():
        plain = record["lines"].get(Cell(name, "", "").name)
        for operands in ("a", "wa", "w"):
            sides = [losses(record, name, operands, way) for way in WAYS]
            if plain is None or not all(len(side) for side in sides):
                continue
            found = ratio(sides[3], sides[0])
            people = [losses(record, name, operands, way, "people").mean() for way in (RAW_E2M1, TURNED_E1M2)]
            cells = [f"{value:.3f}" for value in (results.mean(plain["people"]), *people)]
            rows.append([f"{title}, {OPERANDS[operands]}", *words(found), verdict(found), *cells])
    return rows


def product_rows(gemm: list[Record], grids: tuple[str, str]) -> list[list[str]]:
    """Return, part by part of MiniLM, how many dB E1M2 leads by: best against best, chosen on the other layers, then like against like."""
    parts = list(dict.fromkeys(row["data"].split("_")[1] for row in gemm))
    rows = []
    for part in parts:
        own = [row for row in gemm if row["data"].split("_")[1] == part]
        layers = list(dict.fromkeys(row["data"] for row in own))
        table = {(row["data"], row["recipe"], row["transform"] is not None): row["sqnr_db"] for row in own}
        leads: dict[str, list[float]] = {"best": [], "given": [], "rotated": []}
        for layer in layers:
            turned = [_chosen(table, grid, [name for name in layers if name != layer]) for grid in grids]
            low, high = (table[layer, grid, one] for grid, one in zip(grids, turned, strict=True))
            leads["best"].append(high - low)
            for key, one in (("given", False), ("rotated", True)):
                leads[key].append(table[layer, grids[1], one] - table[layer, grids[0], one])
        cells = [cell for values in leads.values() for cell in (in_db(values), f"{sum(x > 0 for x in values)} of {len(values)}")]
        rows.append([part, *cells])
    return rows


def _chosen(table: dict[tuple[str, str, bool], float], grid: str, layers: Iterable[str]) -> bool:
    names = list(layers)
    if not names:
        raise FileError("a choice needs another layer than the one reported")
    return sum(table[name, grid, True] - table[name, grid, False] for name in names) > 0


def losses_chart(record: Record) -> str:
    """Return the picture of the ratio of losses, E1M2 over E2M1, best, as given, and rotated, with the ends of their intervals."""
    rows: list[str] = []
    marks: list[Mark] = []
    for model in TITLES:
        for operands, treatment in CHOICES:
            if not known(record, model, operands, treatment):
                continue
            sides = [losses(record, model, operands, replace(way, treatment=treatment)) for way in WAYS]
            found = [best_ratio(record, model, operands, treatment)[1], ratio(sides[2], sides[0]), ratio(sides[3], sides[1])]
            for series, item in enumerate(found):
                marks.append(Mark(len(rows), series, item.value))
                marks += [Mark(len(rows), series, end, False) for end in (item.low, item.high)]
            rows.append(title_of(model, operands, treatment))
    values = [mark.value for mark in marks] or [1.0]
    low, high = math.floor(10 * min(*values, 0.9)) / 10, math.ceil(10 * max(*values, 1.1)) / 10
    ticks = [(place / 10, f"{place / 10:.1f}") for place in range(round(10 * low), round(10 * high) + 1)]
    axis = Axis("loss of E1M2 / loss of E2M1; left of 1: E1M2 loses less", low, high, ticks)
    names = ("each as it is best", "both as given", "both rotated")
    return draw_dots(Dots("Whole models: loss of E1M2 against E2M1", axis, rows, names, marks, ("ratio", "ends of the 95 % interval")))
