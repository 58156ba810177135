"""Runs that are kept: a file of them, two runs compared in spite of a noisy machine, and a picture of all.

What is compared is each row's ratio to its peer, run by run: emu and the peer alternate, so that a busy moment of the machine meets both.
A row without a peer is compared by its rate, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import IO, Any, NamedTuple

from emu.analysis.plot import save
from emu.base.errors import FileError, OperandError
from emu.files.record import Place, Record

SCHEMA = "emu-bench-1"
KEEPS = 0.05  # a change of less is never called one
LEAST_RUNS = 5  # of each side: so many each are apart by chance once in 126 times

Row = dict[str, Any]


def _check(data: Mapping[str, Any]) -> None:
    if data["schema"] != SCHEMA:
        raise ValueError(f"its schema is {data['schema']!r}, not {SCHEMA!r}")
    for run in data["runs"]:
        for row in run["rows"]:
            if not row["rates"] or min([*row["rates"], *row["peer_rates"]]) <= 0 or not isinstance(row["name"], str):
                raise ValueError(f"a row of {run['made']} has no rates above 0")


def _opened(place: Place, _: Any) -> bool:
    """A line for each row of a run."""
    return len(place) < 4 and place[:1] in ((), ("runs",))


HISTORY = Record("history of benchmarks", "make one with python -m tools.bench --history FILE", _opened, ("schema", "runs"), check=_check)


class Change(NamedTuple):
    """One row of a comparison. by: what was compared.   times: the new median over the old one.

    verdict: faster, slower, same, or unsure where a side ran too rarely.
    """

    name: str
    by: str
    times: float
    verdict: str


def append(path: Path, run: Mapping[str, Any]) -> None:
    """Add a run, as data, to a file, or begin one. Raises: FileError (another file, a folder that cannot be written)."""
    runs = HISTORY.read(path)["runs"] if path.exists() else []
    made = datetime.now(UTC).isoformat(timespec="seconds")
    HISTORY.write(path, {"schema": SCHEMA, "runs": [*runs, {"made": made, **run}]})


def last_rows(path: Path) -> list[Row]:
    """Return the rows of the newest run of a file. Raises: FileError (none, or no history)."""
    runs = HISTORY.read(path)["runs"]
    if not runs:
        raise FileError(f"{path}: holds no run: python -m tools.bench --history {path} adds one")
    rows: list[Row] = runs[-1]["rows"]
    return rows


def compare(old: Sequence[Row], new: Sequence[Row]) -> list[Change]:
    """Return what became of each row that both runs have, in the order of the new one."""
    known = {row["name"]: row for row in old}
    return [_change(known[row["name"]], row) for row in new if row["name"] in known]


def _change(old: Row, new: Row) -> Change:
    """A change is one where every run of one side lies beyond every run of the other, and the medians are KEEPS apart."""
    paired = old["peer"] == new["peer"] and len(old["peer_rates"]) == len(old["rates"]) and len(new["peer_rates"]) == len(new["rates"])
    before, after = (_ratios(row) if paired else list(row["rates"]) for row in (old, new))
    times = median(after) / median(before)
    verdict = "same"
    if min(len(before), len(after)) < LEAST_RUNS:
        verdict = "unsure"
    elif times > 1 + KEEPS and min(after) > max(before):
        verdict = "faster"
    elif times < 1 - KEEPS and max(after) < min(before):
        verdict = "slower"
    return Change(new["name"], f"ratio to {new['peer']}" if paired else "rate, no peer beside it", times, verdict)


def _ratios(row: Row) -> list[float]:
    return [mine / peer for mine, peer in zip(row["rates"], row["peer_rates"], strict=True)]


def comparison_table(changes: Sequence[Change]) -> str:
    """Return the changes as a Markdown table, and a line with how many there are of each kind. Raises: OperandError (none)."""
    if not changes:
        raise OperandError("the two runs have no row in common: leave --only out, or name rows of the older run")
    lines = ["| job | compared | new / old | verdict |", "| --- | --- | ---: | --- |"]
    lines += [f"| {each.name} | {each.by} | {each.times:.2f} | {each.verdict} |" for each in changes]
    verdicts = [each.verdict for each in changes]
    counts = ", ".join(f"{word} {verdicts.count(word)}" for word in ("faster", "slower", "same", "unsure"))
    return "\n".join([*lines, "", counts]) + "\n"


def plot(path: Path, only: str, stream: IO[bytes], kind: str) -> None:
    """Draw the ratio to the peer over the runs of a file, a line for each row whose name contains `only`.

    stream: where the picture goes.   kind: png, svg or pdf.   Raises: FileError (no history), OperandError (no such row).
    """
    from matplotlib.figure import Figure

    runs = HISTORY.read(path)["runs"]
    lines: dict[str, list[tuple[int, float]]] = {}
    for number, run in enumerate(runs, 1):
        for row in run["rows"]:
            if row["peer_rates"] and only in row["name"]:
                lines.setdefault(row["name"], []).append((number, median(row["rates"]) / median(row["peer_rates"])))
    if not lines:
        raise OperandError(f"{path}: no row with a peer contains {only!r}")
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set_yscale("log")
    axes.set_xticks(range(1, len(runs) + 1), [run["made"][:10] for run in runs])
    axes.set_ylabel("times the peer, in the same run")
    save(figure, axes, "Speed beside the peers", stream, kind)
