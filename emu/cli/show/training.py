"""The part of emu show that speaks of training recipes: the six operands as a table."""

from __future__ import annotations

from emu.pages.training import PRODUCTS, RANDOM, SIGNS, TAIL
from emu.spec import Training
from emu.spec.training import SUMMED, plan_of


def lines(training: Training) -> list[str]:
    """Return operands and facts as lines."""
    facts = training.facts
    given = {f"{gemm}.{name}": item for gemm, name, item in training.operands()}
    rows = [("product", "operand", "summed over", "recipe", "rotation", "rounding")]
    for key, operand in plan_of(training).operands.items():
        rotation = "in the recipe" if operand.rotates else given[key].transform
        cells = (given[key].recipe, rotation, given[key].round)
        rows.append((f"{operand.gemm}: {PRODUCTS[operand.gemm]}", operand.name, SUMMED[operand.gemm], *cells))
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    out = ["", *("  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows), ""]
    out += [f"operands are rounded to {facts.operands} first", f"signs: {SIGNS[facts.signs]}", f"random bits: {RANDOM[facts.random]}"]
    out += [f"lengths that no block divides: features {TAIL[facts.tail.features]}; tokens {TAIL[facts.tail.tokens]}"]
    if facts.kept_first != "0" or facts.kept_last != "0":
        out.append(f"kept in {facts.operands}: {facts.kept_first} of the layers at the beginning, {facts.kept_last} at the end")
    return out + ([f"based on {training.based_on}"] if training.based_on else [])
