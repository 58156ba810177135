"""A probe as files for an owner of the hardware: rows to run, what each answer means, all of it as data; and answers read back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emu.base.atomic import folder_beside
from emu.base.errors import FileError
from emu.base.inputs import read_bytes
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.dot.rows import join
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.hypotheses import Plan, Supposed
from emu.contracts.rows import Row, pack
from emu.contracts.text import digits_of
from emu.explain.probe.run import Probe
from emu.spec import derive
from emu.spec.contract import parse
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format
from emu.vectors.files import writers

SCHEMA = "emu-probe-1"
UNKNOWN = "?"
_LINE = re.compile(r"(\d+)\s+(0x)?([0-9a-fA-F]+|\?+)\Z")


def write_probe(probe: Probe, folder: str | Path, command: str) -> list[str]:
    """Write README.md, rows.tv, answers.txt and probe.json into a new folder; all or nothing. Returns the file names.

    command: the words that make this probe again.   Raises: FileError (the folder has something in it, cannot be written).
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileError(f"{target}: exists already and is not an empty folder: name a new one")
    if not target.parent.is_dir():
        raise FileError(f"{target}: no such folder {target.parent}: make it first")
    files = {
        "README.md": readme(probe, command),
        "answers.txt": answers_template(probe),
        "probe.json": json.dumps(data_of(probe), indent=1) + "\n",
        "rows.tv": rows_text(probe),
    }
    with folder_beside(target) as beside:
        for name, text in files.items():
            (beside / name).write_text(text, encoding="ascii", newline="\n")
        beside.rename(target)
    return list(files)


def layout(plan: Plan, k: int) -> Layout:
    """Return the input columns of the rows: a, sa, b, sb, c, as golden vectors have them; of levels r too, the random words."""
    if isinstance(plan, LevelsPlan):
        return layout_of(LevelsContract.of(parse(f"dot/{plan.name}")).inputs())

    def packed(name: str, fmt: Format, lanes: int) -> Column:
        return Column(name, "in", lanes * (derive.codes(fmt).bits + derive.unused_high_bits(fmt)), fmt.id, lanes)

    blocks = k // plan.block if plan.block else 0
    columns = [packed("a", plan.a, k), *([packed("sa", plan.scale, blocks)] if plan.scale else [])]
    columns += [packed("b", plan.b, k), *([packed("sb", plan.scale, blocks)] if plan.scale else [])]
    return layout_of([*columns, packed("c", plan.c, 1)])


def rows_text(probe: Probe) -> str:
    """Return the rows as `.tv`: guard, columns, trailer with the count; element 0 in the low bits of its column."""
    columns = layout(probe.plan, len(probe.rows[0].row.a))
    return writers.render_tv(columns, [Row("probe", (), _packed(built.row, columns)) for built in probe.rows])


def _packed(row: Any, columns: Layout) -> tuple[int, ...]:
    codes = {"a": row.a, "b": row.b, "sa": row.scale_a, "sb": row.scale_b, "c": (row.c,), "r": getattr(row, "random", ())}
    return tuple(pack(codes[column.name], column.lane_bits) for column in columns.columns)


def data_of(probe: Probe) -> dict[str, Any]:
    """Return the probe as plain data: rows (element 0 first), hypotheses with their answers, classes that no row tells apart."""
    plan = probe.plan
    rows = [{"row": i + 1, "family": built.family, "text": built.text} | built.row.texts(plan) for i, built in enumerate(probe.rows)]
    supposed = [
        item.data() | {"answers": [None if code is None else join((code,), plan.d) for code in found]}
        for item, found in zip(probe.hypotheses, probe.answers, strict=True)
    ]
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "datapath": probe.datapath,
        "from": [item.name for item in probe.plans],
        "digest": probe.digest,
    }
    out |= {"k": len(probe.rows[0].row.a), "candidates": probe.tried, "rows": rows, "hypotheses": supposed}
    return out | {"classes": [[probe.hypotheses[number].text for number in members] for members in probe.classes]}


def answers_template(probe: Probe) -> str:
    """Return the file that the owner of the hardware fills in: one line per row."""
    lines = [
        f"# emu probe {probe.plan.name} digest {probe.digest}",
        f"# row, result code in hex ({probe.plan.d.id}); leave ? where it was not run",
    ]
    lines += [f"{number + 1} {UNKNOWN * digits_of(probe.plan.d)}" for number in range(len(probe.rows))]
    return "\n".join(lines) + "\n"


def read_answers(path: str | Path, probe: Probe) -> list[int | None]:
    """Return the answers of a file in the form of answers.txt; None for a row that is left out or ?.

    Raises: FileError (unreadable, a line of another form, a row twice or unknown, a code too wide, answers of another probe).
    """
    try:
        text = read_bytes(path).decode("ascii")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: is no ASCII text") from None
    found: dict[int, int | None] = {}
    for place, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        named = re.match(r"# emu probe \S+ digest ([0-9a-f]{16})\Z", stripped)
        if named and named[1] != probe.digest:
            raise FileError(
                f"{path}, line {place}: answers to other rows ({named[1]}, not {probe.digest}): write the probe again and run it"
            )
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.match(stripped)
        if match is None:
            raise FileError(f"{path}, line {place}: {stripped[:40]!r} is not a row number and a hex code")
        row = int(match[1])
        if not 1 <= row <= len(probe.rows) or row in found:
            raise FileError(f"{path}, line {place}: row {row} is {'twice here' if row in found else f'not one of 1..{len(probe.rows)}'}")
        found[row] = None if match[3].startswith(UNKNOWN) else int(match[3], 16)
        if (found[row] or 0) >> derive.codes(probe.plan.d).bits:
            raise FileError(f"{path}, line {place}: {match[3]} is no {probe.plan.d.id} code")
    return [found.get(row + 1) for row in range(len(probe.rows))]


def table_of(probe: Probe) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return per row (what it is, [(answer, hypotheses of at most one change that expect it)])."""
    out = []
    for number, built in enumerate(probe.rows):
        by_answer: dict[str, list[Supposed]] = {}
        for item, found in zip(probe.hypotheses, probe.answers, strict=True):
            if len(item.changes) < 2:
                code = found[number]
                by_answer.setdefault("refused" if code is None else join((code,), probe.plan.d), []).append(item)
        out.append((built.text, [(code, compact(items)) for code, items in by_answer.items()]))
    return out


def compact(items: Sequence[Supposed]) -> str:
    """Return hypotheses in words, those of one datapath together, runs of F as a range."""
    by_datapath: dict[str, list[str]] = {}
    for item in items:
        by_datapath.setdefault(item.plan.datapath.id, []).append(item.text.partition(f"{item.plan.datapath.id}")[2].lstrip(": "))
    return "; ".join(f"{name}: {', '.join(_joined(texts))}" for name, texts in by_datapath.items())


def _joined(texts: Sequence[str]) -> list[str]:
    """Join F 23, F 24, F 25 to F 23..25."""
    out: list[str] = []
    runs: dict[int, list[int]] = {}
    for text in texts:
        match = re.match(r"F (\d+)\Z", text)
        if match is None:
            out.append(text)
        elif runs and max(runs) == len(out) - 1 and runs[len(out) - 1][1] == int(match[1]) - 1:
            runs[len(out) - 1][1] += 1
            low, high = runs[len(out) - 1]
            out[-1] = f"F {low}..{high}"
        else:
            out.append(text)
            runs[len(out) - 1] = [int(match[1])] * 2
    return out


def _length(plan: Plan, k: int) -> str:
    return "one instruction" if k == plan.facts.k else f"{k // plan.facts.k} instructions"


def readme(probe: Probe, command: str) -> str:
    """Return the README of the folder: what to run, what the columns are, what each answer means."""
    plan, k = probe.plan, len(probe.rows[0].row.a)
    columns = layout(plan, k)
    named = ", ".join(
        f"`{column.name}` {column.bits} bits ({column.lanes} x {column.format or 'random word'})" for column in columns.columns
    )
    lines = [
        f"# Probe of {probe.datapath}",
        "",
        f"Readings: {', '.join(item.name for item in probe.plans)}." if len(probe.plans) > 1 else f"Operands: {plan.name}.",
        f"{len(probe.rows)} instructions that tell {len(probe.classes)} hypotheses about the machine apart.",
        f"Made by `{command}`.",
        "",
        f"1. Run every row of `rows.tv` as {_length(plan, k)} with K = {k}, one output: D = A * B{'' if plan.c is None else ' + C'}.",
        "   A line is the guard `a`, then the columns below as hex; the last line is the trailer with the count.",
        f"   Columns: {named}. Element i of width w stands at bits w*i and up: element 0 is the last digit.",
        *(f"   `{column.name}`: {column.means}." for column in columns.columns if column.role == "r"),
        "   `probe.json` has the same rows with element 0 first.",
        f"2. Write the {plan.d.id} code of each result into `answers.txt`.",
        f"3. `{command.partition(' --out')[0]} --answers answers.txt` says which hypotheses fit.",
        "",
        "## What each answer means",
        "",
        "Hypotheses with at most one changed fact; `probe.json` has all.",
    ]
    for number, (text, answers_of) in enumerate(table_of(probe), 1):
        lines += ["", f"### Row {number}: {text}", "", "| D | expected by |", "| --- | --- |"]
        lines += [f"| `{code}` | {names} |" for code, names in answers_of]
    same = [members for members in probe.classes if len(members) > 1]
    if same:
        lines += ["", "## Not told apart", "", f"None of the {probe.tried} rows that were tried shows a difference between these:", ""]
        lines += [f"- {compact([probe.hypotheses[number] for number in members])}" for members in same]
    return "\n".join(lines) + "\n"
