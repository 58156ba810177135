"""The sections of the page of datapath errors on operands and on quantization."""

from __future__ import annotations

from typing import Any

from emu.docgen.dot_chart import Axis, Mark, chart
from emu.docgen.markdown import code, prose, table
from emu.spec import names

PICTURE = "datapath_errors_quantization.svg"
Record = dict[str, Any]


def input_lines(record: Record) -> list[str]:
    """Return the section on operands: data, sentences, recipes."""
    return [
        "## What was run",
        "",
        *table(("data", "what", "A", "B, rows are outputs", "digest"), [_data_row(item) for item in record["data"]]),
        "",
        prose(
            "Measured are the first 64 rows of A and 64 rows of B, spread evenly where B is a weight; both are ",
            "quantized whole, so tensor maxima ",
            "are real. Drawn numbers are bf16, from Philox4x32-10 (`research/datapath/data.py`). Weights are ",
            "binary32 as stored; activations are ",
            "those of the model on these sentences, run in binary64 and rounded to bf16 (`emu/analysis/minilm.py`; ",
            "tokens by the model's own vocabulary):",
        ),
        "",
        *(f"- {sentence}" for sentence in record["sentences"]),
        "",
        *table(("recipe", "element", "scale", "block"), [_recipe_row(item) for item in record["recipes"]]),
        "",
        prose(
            "The recipes `study_...` fill cells that no shipped recipe fills; they are user files in ",
            "`research/spec`, with status proposed, and no ",
            "one's product. Rotated: both operands went through `rht16_ufp4` along K, signs 0xD7E8; the product stays ",
            "the same. ",
            "`e1m2_fp32scale` rotated is `ufp4`. C is +0, K one ascending chain of instructions.",
        ),
        "",
    ]


def _data_row(item: Record) -> tuple[str, ...]:
    (m, k), (n, _) = item["a"], item["b"]
    return code(item["name"]), item["title"], f"{m} x {k}", f"{n} x {k}", code(item["digest"])


def _recipe_row(item: Record) -> tuple[str, ...]:
    name = item["recipe"]
    shown = f"[`{name}`](reference/recipe/{name}.md)" if name in names("recipe") and not name.startswith("study_") else code(name)
    return shown, code(item["element"]), code(item["scale"]), str(item["block"])


def data_names(record: Record) -> list[str]:
    """Return the names of the data, in the order of the record."""
    return [item["name"] for item in record["data"]]


def quantization_lines(record: Record) -> list[str]:
    """Return the section on quantization errors."""
    lines = [
        "## Quantization error",
        "",
        prose(
            "The exact product of the quantized operands against the product of the given ones: root of (sum of ",
            "squared differences / sum of squares), ",
            "binary64. The second number is with rotation; the smaller of the two is bold.",
        ),
        "",
    ]
    found = {(row["data"], row["recipe"], row["rotation"]): row["quantization"] for row in record["errors"]}
    rotation = next(row["rotation"] for row in record["errors"] if row["rotation"] != "none")
    rows = []
    for item in record["recipes"]:
        pairs = [(found[name, item["recipe"], "none"], found[name, item["recipe"], rotation]) for name in data_names(record)]
        rows.append((code(item["recipe"]), *(_two(plain, turned) for plain, turned in pairs)))
    lines += table(("recipe", *data_names(record)), rows, numbers=range(1, len(record["data"]) + 1))
    return [*lines, "", f"![Quantization error by recipe]({PICTURE})", "", *_reading(record), ""]


def _two(plain: float, turned: float) -> str:
    texts = [f"{plain:.4f}", f"{turned:.4f}"]
    if plain != turned:
        best = 0 if plain < turned else 1
        texts[best] = f"**{texts[best]}**"
    return " / ".join(texts)


def _reading(record: Record) -> list[str]:
    """Compare INT4 with E1M2, and say what the rule of the E8M0 recipes does."""
    facts = {item["recipe"]: (item["element"], item["scale"]) for item in record["recipes"]}
    found = {(row["data"], row["rotation"], *facts[row["recipe"]]): row["quantization"] for row in record["errors"]}
    int4 = [key for key in found if key[2] == "int4"]
    other = [key for key in int4 if found[key] != found[*key[:2], "e1m2", key[3]]]
    where = f", and differs in {len(other)}, all with {' and '.join(sorted({key[3] for key in other}))} scales, " if other else ": "
    return [
        prose(
            f"INT4 with the codes -7 .. 7 is E1M2 times 4. Its error is the same in {len(int4) - len(other)} of {len(int4)} ",
            f"products{where}",
            "where the two recipes order their operations differently. " if other else "the recipes order their operations alike. ",
            "With E8M0 scales the rule `floor` cuts what exceeds the largest element times a power of two, which costs ",
            "the uniform grid (7/4 of 2) more than E2M1 (6 of 8).",
        ),
    ]


def quantization_picture(record: Record) -> str:
    """Draw the quantization error of every product."""
    data = data_names(record)
    recipes = [item["recipe"] for item in record["recipes"]]
    marks = [
        Mark(recipes.index(row["recipe"]), data.index(row["data"]), row["quantization"], row["rotation"] == "none")
        for row in record["errors"]
    ]
    top = int(max(mark.value for mark in marks) * 20 + 1) / 20
    axis = Axis("relative error of the product", 0.0, top, [(i / 20, f"{i / 20:.2f}") for i in range(int(top * 20) + 1)])
    return chart("Quantization error of the product", axis, recipes, data, marks, ("as given", "rotated"))
