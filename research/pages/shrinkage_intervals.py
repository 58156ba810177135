"""The orders that the shrinkage page tells, as pairs with nulls. Not here: the figures (research.reproduction.nulls)."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Any, Final

from research.forks.statistics import rms
from research.minilm import PARTS
from research.pages.comparison import Comparison
from research.reproduction.compare import E1M2, E2M1
from research.reproduction.data import TITLES

Record = dict[str, Any]
Row = dict[str, Any]
WHAT: Final = {"activation": "MiniLM, input of {}", "weight": "MiniLM, weights of {}", "product": "MiniLM, product {}"}
SQNR, GAIN = 0, 1  # places of a figure in a row


def leads(record: Record) -> list[Comparison]:
    """Return by how many dB E1M2 rotated leads E2M1 as given, tensors and products in groups of pairs."""
    return [
        Comparison(name, tuple(_turned(high, SQNR) - low["given"][SQNR] for low, high in pairs), _null((high for _, high in pairs), SQNR))
        for name, pairs in _groups(record)
    ]


def shifts(record: Record) -> list[Comparison]:
    """Return by how much the rotation moves the gain of E2M1 where the gain as given is below 1, in groups of pairs."""
    return [
        Comparison(name, tuple(_turned(low, GAIN) - low["given"][GAIN] for low, _ in pairs), _null((low for low, _ in pairs), GAIN))
        for name, pairs in _groups(record)
        if "product" not in name
    ]


def depth_leads(record: Record) -> list[Comparison]:
    """Return by how much gain and cosine of chains with a residual path are larger with E1M2 rotated than with E2M1 as given."""
    rows, last = record["nulls"]["depth"], record["setting"]["depth"]["layers"]
    wanted = {"chain": "residual", "recipe": E2M1, "transform": None, "layers": last}
    low = next(row for row in record["depth"] if wanted.items() <= {key: row[key] for key in wanted}.items())
    return [
        Comparison(name, tuple(_turned(row, place) - low[f"{name}_each"][row["seed"]] for row in rows), _null(rows, place))
        for place, name in enumerate(("eta", "cosine"))
    ]


def _groups(record: Record) -> list[tuple[str, list[tuple[Row, Row]]]]:
    """Return (name, pairs of rows of E2M1 and E1M2): a group for each kind of drawn numbers, then for each part of the model."""
    nulls = record["nulls"]
    found = [(TITLES[name], [row for row in nulls["drawn"] if row["data"] == name]) for name in dict.fromkeys(_names(nulls["drawn"]))]
    for kind, text in WHAT.items():
        rows = nulls["gemm"] if kind == "product" else [row for row in nulls["tensors"] if row["kind"] == kind]
        found += [(text.format(part), [row for row in rows if f"_{part}" in row["data"]]) for part in PARTS]
    return [(name, _pairs(rows)) for name, rows in found if rows]


def _names(rows: Iterable[Row]) -> list[str]:
    return [row["data"] for row in rows]


def _pairs(rows: list[Row]) -> list[tuple[Row, Row]]:
    low, high = ([row for row in rows if row["recipe"] == recipe] for recipe in (E2M1, E1M2))
    return list(zip(low, high, strict=True))


def _turned(row: Row, place: int) -> float:
    return fmean(figures[place] for figures in row["rotated"])


def _null(rows: Iterable[Row], place: int) -> float:
    return rms([figures[place] - row["rotated"][0][place] for row in rows for figures in row["rotated"][1:]])
