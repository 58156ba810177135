"""The study of datapaths as one record: what was run, on which facts, and every figure. Not here: the page (datapath_page.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from emu.analysis.cells import load_recipes
from emu.base.errors import OperandError
from emu.files.record import Record, changed, digests_of
from emu.spec import digest, get
from emu.spec.datapath import resolve
from research import minilm
from research.datapath import proof
from research.datapath.data import Data, is_asked, model_products, synthetic
from research.datapath.errors import DATAPATHS, RECIPES, cell_of, error_rows, null_row, plans_of, quantized
from research.datapath.order import KINDS, invariant, spread

COMMAND: Final = "python -m research datapath --out docs/evidence/datapath_errors.json --force"
RECORD: Final = "docs/evidence/datapath_errors.json"
PARTS: Final = ("errors", "nulls", "orders", "proof")
ORDER_DATA: Final = ("outliers", "wide_range", "minilm_layer3_down")
ORDER_RECIPES: Final = (
    "nvfp4_te_ref", "nvufp4", "study_e2m1_ue5m3", "study_e1m2_ue5m3", "mxfp4_torchao_floor", "mxe1m2_floor",
    "e2m1_fp32scale", "e1m2_fp32scale",
)  # fmt: skip
ORDER_OUTPUTS: Final = 32
NULL_ELEMENTS: Final = ("e2m1", "e1m2")  # whose order is told, and so needs null pairs
Tick = Callable[[str], None]


def run(
    model: Path | None,
    parts: Sequence[str] = PARTS,
    only: Sequence[str] = (),
    engine: str = "auto",
    jobs: int = 1,
    tick: Tick = lambda _: None,
) -> dict[str, Any]:
    """Run the study and return its record, ready for JSON.

    model: folder of the real model, or None: without its products.   parts: which of PARTS.   only: data and recipes whose name holds one
    of these words; all where none does.   tick: called with the name of each cell.   Raises: OperandError (nothing left to run).
    """
    load_recipes()
    data, recipes = _chosen_data(model, parts, only), _chosen(list(RECIPES), only, str)
    if set(parts) - set(PARTS) or not parts:
        raise OperandError(f"parts {', '.join(parts) or 'none'}: each is one of {', '.join(PARTS)}")
    record: dict[str, Any] = {"command": COMMAND, "data": [_data(item) for item in data], "recipes": [_recipe(name) for name in recipes]}
    record["datapaths"] = {name: digest(get("datapath", name)) for name in (*DATAPATHS, *({"nv_like", proof.REPORTED} - set(DATAPATHS)))}
    record["sentences"] = list(minilm.SENTENCES)
    if "errors" in parts:
        record["errors"] = list(_errors(data, recipes, engine, jobs, tick))
    if "nulls" in parts:
        tick("nulls")
        grids = [name for name in recipes if cell_of(name)[0] in NULL_ELEMENTS]
        record["nulls"] = [null_row(item, name, engine) for item in data for name in grids]
    if "orders" in parts:
        record["orders"] = list(_orders(data, recipes, engine, jobs, tick))
    if "proof" in parts:
        record["proof"] = _proof(engine, tick)
    return record


def _chosen(items: list[Any], only: Sequence[str], name: Callable[[Any], str]) -> list[Any]:
    """Return the items whose name holds one of the words; all of them where no name does."""
    return [item for item in items if any(word in name(item) for word in only)] or items


def _chosen_data(model: Path | None, parts: Sequence[str], only: Sequence[str]) -> list[Data]:
    """Return the data to run; the model runs only where its products are asked for."""
    drawn = synthetic()
    named = [item for item in drawn if any(word in item.name for word in only)]
    if model is None or tuple(parts) == ("proof",) or (named and not is_asked(only)):
        return named or drawn
    return _chosen([*drawn, *model_products(model)], only, lambda item: item.name)


def _data(item: Data) -> dict[str, Any]:
    shapes = {"a": list(item.a.shape), "b": list(item.b.shape)}
    return {"name": item.name, "title": item.title, **shapes, "every": item.every, "digest": item.digest}


def _recipe(name: str) -> dict[str, Any]:
    element, scale, block = cell_of(name)
    return {"recipe": name, "element": element, "scale": scale, "block": block, "digest": digest(get("recipe", name))}


def _errors(data: Sequence[Data], recipes: Sequence[str], engine: str, jobs: int, tick: Tick) -> Iterator[dict[str, Any]]:
    for item in data:
        for recipe in recipes:
            tick(f"{item.name} {recipe}")
            yield from (error_rows(item, recipe, rotated, engine, jobs) for rotated in (False, True))


def _orders(data: Sequence[Data], recipes: Sequence[str], engine: str, jobs: int, tick: Tick) -> Iterator[dict[str, Any]]:
    for item in data:
        for recipe in recipes:
            if item.name not in ORDER_DATA or recipe not in ORDER_RECIPES:
                continue
            tick(f"orders: {item.name} {recipe}")
            found = quantized(item, recipe, False, engine)
            few = slice(0, ORDER_OUTPUTS)
            side = replace(found.a, codes=found.a.codes[few], scales=None if found.a.scales is None else found.a.scales[few])
            found = replace(found, a=side, exact=replace(found.exact, numbers=found.exact.numbers[few]))
            for plan in plans_of(found):
                kinds = [kind for kind in KINDS if invariant(plan, kind) is not None]
                spreads = {kind: vars(spread(found, plan, kind, engine, jobs)) for kind in kinds}
                yield {"data": item.name, "recipe": recipe, "datapath": plan.datapath.id, "kinds": spreads}


def claims() -> list[dict[str, Any]]:
    """Return what the facts say of each datapath and kind of reordering: true (never changes a result), false, or None (not offered)."""
    found = []
    for name in DATAPATHS:
        facts: Any = get("datapath", name).facts
        scale, block = facts.scale.formats[0], facts.scale.blocks[0]
        plan = resolve(name, facts.a[0], facts.b[0], scale, block)
        found.append({"datapath": name, **{kind: invariant(plan, kind) for kind in KINDS}})
    return found


def _proof(engine: str, tick: Tick) -> dict[str, Any]:
    tick("proof: facts")
    reported = resolve(proof.REPORTED)
    wider = resolve("nv_like_exact", reported.a, reported.b, reported.scale, reported.block)
    found: dict[str, Any] = {
        "reported": proof.REPORTED,
        "reported_adder_bits": reported.adder_bits,
        "pairs": [proof.facts_of(*pair) for pair in proof.PAIRS],
    }
    found["rows"] = []
    for pair in proof.PAIRS:
        tick(f"proof: rows of {' x '.join(pair)}")
        found["rows"].append(proof.row_counts(*pair, engine=engine))
    found["widths"] = [row for pair in proof.WIDTH_PAIRS for row in proof.width_counts(*pair, engine=engine)]
    tick("proof: smallest loss")
    loss = proof.smallest_loss(reported, wider)
    if loss is not None:
        found["loss"] = {"row": [list(part) for part in loss.row], "code": loss.code, "wider": loss.wider}
    return found


KIND: Final = Record(
    "record of datapaths",
    f"make it with: {COMMAND}",
    lambda place, value: not place or (len(place) == 1 and isinstance(value, list)),
    ("data", "recipes", "datapaths", *PARTS),
)
read_record, as_text = KIND.read, KIND.text


def stale(record: dict[str, Any]) -> list[str]:
    """Return what a record was made from and the spec says otherwise now; empty when it still fits."""
    load_recipes()
    made = {item["recipe"]: item["digest"] for item in record["recipes"]}
    now = digests_of({"recipe": made, "datapath": record["datapaths"]})
    drawn = {item.name: item.digest for item in synthetic()}
    old = changed(made, now["recipe"]) + changed(record["datapaths"], now["datapath"])
    old += [item["name"] for item in record["data"] if drawn.get(item["name"], item["digest"]) != item["digest"]]
    return old + sorted(set(RECIPES) - set(made) | set(DATAPATHS) - set(record["datapaths"]))
