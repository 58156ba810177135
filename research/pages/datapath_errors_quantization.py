"""The sections of the page of datapath errors on operands and on quantization."""

from __future__ import annotations

from typing import Any

from emu.pages.render import Code, Ref
from emu.spec import names
from research.pages.charts import Axis, Dots, Mark

Record = dict[str, Any]


def quantization_tables(record: Record) -> dict[str, Any]:
    """Return the tables of both sections, by the names that the template has for them."""
    return {
        "data": [_data_row(item) for item in record["data"]],
        "recipes": [_recipe_row(item) for item in record["recipes"]],
        "quantization": _errors(record),
        "int4": _int4(record),
    }


def _data_row(item: Record) -> tuple[Any, ...]:
    (m, k), (n, _) = item["a"], item["b"]
    return Code(item["name"]), item["title"], f"{m} x {k}", f"{n} x {k}", Code(item["digest"])


def _recipe_row(item: Record) -> tuple[Any, ...]:
    name = item["recipe"]
    shown = Ref("recipe", name) if name in names("recipe") and not name.startswith("study_") else Code(name)
    return shown, Code(item["element"]), Code(item["scale"]), item["block"]


def data_names(record: Record) -> list[str]:
    """Return the names of the data, in the order of the record."""
    return [item["name"] for item in record["data"]]


def _errors(record: Record) -> tuple[Any, ...]:
    """Return head, rows and number columns of the table of quantization errors, without and with rotation."""
    found = {(row["data"], row["recipe"], row["rotation"]): row["quantization"] for row in record["errors"]}
    rotation = next(row["rotation"] for row in record["errors"] if row["rotation"] != "none")
    rows = []
    for item in record["recipes"]:
        pairs = [(found[name, item["recipe"], "none"], found[name, item["recipe"], rotation]) for name in data_names(record)]
        rows.append((Code(item["recipe"]), *(_two(plain, rotated) for plain, rotated in pairs)))
    return ("recipe", *data_names(record)), rows, range(1, len(record["data"]) + 1)


def _two(plain: float, rotated: float) -> str:
    texts = [f"{plain:.4f}", f"{rotated:.4f}"]
    if plain != rotated:
        best = 0 if plain < rotated else 1
        texts[best] = f"**{texts[best]}**"
    return " / ".join(texts)


def _int4(record: Record) -> dict[str, Any]:
    """Compare INT4 with E1M2: in how many products the error is the same, and under which scales it is not."""
    facts = {item["recipe"]: (item["element"], item["scale"]) for item in record["recipes"]}
    found = {(row["data"], row["rotation"], *facts[row["recipe"]]): row["quantization"] for row in record["errors"]}
    int4 = [key for key in found if key[2] == "int4"]
    other = [key for key in int4 if found[key] != found[*key[:2], "e1m2", key[3]]]
    return {
        "same": len(int4) - len(other),
        "products": len(int4),
        "other": len(other),
        "scales": sorted({key[3] for key in other}),
    }


def quantization_chart(record: Record) -> Dots:
    """Return the quantization error of every product."""
    data = data_names(record)
    recipes = [item["recipe"] for item in record["recipes"]]
    marks = [
        Mark(recipes.index(row["recipe"]), data.index(row["data"]), row["quantization"], row["rotation"] == "none")
        for row in record["errors"]
    ]
    top = int(max(mark.value for mark in marks) * 20 + 1) / 20
    axis = Axis("relative error of the product", 0.0, top, [(i / 20, f"{i / 20:.2f}") for i in range(int(top * 20) + 1)])
    return Dots("Quantization error of the product", axis, recipes, data, marks, ("as given", "rotated"))
