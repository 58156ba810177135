"""Rows that judge faults: the golden vectors, chosen suites that are only planned (the exact engine makes them), and rows kept beside them.

Kept beside them are shared random words, single conversions typed by hand, and blocks near ties: files of tests/mutation. Their stems
end in `__kill`, or begin with `words__`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from support.mutation import CALCULATE, WORDS

from emu.base.errors import FileError
from emu.base.inputs import read_json
from emu.contracts.contract import Contract
from emu.contracts.convert.contract import ConvertContract
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.rows import Input, make_row, pack
from emu.spec.contract import parse
from emu.spec.loader import read
from emu.vectors.files.manifest import OPERATIONS
from emu.vectors.files.suite import load, rows_sha256, stem_of
from emu.vectors.suites.plan import find

KILL: Final = "kill"

UNJUDGED: Final = ("layout", "insn")  # no seeded fault names them: layouts are indices alone, instructions are made of the other operations


class Suite(NamedTuple):
    """Rows of one suite. spec: ids that its contract names.   rows: (flags, values) in the order of their ids, which start at 1."""

    stem: str
    contract: str
    spec: tuple[str, ...]
    sha256: str
    rows: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]


class Shelf:
    """Where the suites are; each is made when it is asked for.

    vectors: a frozen folder.   planned: stem -> sha256 of its rows.   rows, blocks: as tests/mutation/rows.yaml and kill_rows.yaml.
    """

    def __init__(self, vectors: Path, planned: Mapping[str, str], rows: Path, blocks: Path) -> None:
        self.vectors, self.planned = vectors, planned
        typed = read(rows, rows.name).data
        self.kept = {suite.stem: suite for suite in (*_words(typed["words"]), *_typed(typed["convert"]), *_calculated(typed["calculate"]))}
        self.blocks = {_block_stem(group): group for group in read(blocks, blocks.name).data["recipes"]}

    def stems(self, op: str) -> list[str]:
        """Return the stems of an operation; without the kill suites of vectors/, whose rows the directed suites have."""
        folder = self.vectors / op
        frozen = {stem for path in folder.iterdir() if (stem := stem_of(path.name)) is not None} if folder.is_dir() else set()
        frozen = {stem for stem in frozen if not stem.endswith(f"__{KILL}")}
        return [stem for stem in (*sorted(frozen), *self.planned, *self.kept, *self.blocks) if stem.startswith(f"{op}__")]

    def suite(self, stem: str) -> Suite:
        """Return one suite. Raises: FileError for a bad file, a planned suite with other rows, an unknown stem."""
        if stem in self.kept:
            return self.kept[stem]
        if stem in self.blocks:
            return _blocks(stem, self.blocks[stem])
        if stem in self.planned:
            made = make_planned(stem)
            if made.sha256 != self.planned[stem]:
                raise FileError(f"{stem}: its rows are not those of the catalogue: sha256 {made.sha256}")
            return made
        folder = self.vectors / stem.partition("__")[0]
        found = load(folder, stem)
        fixed = {each["tcId"]: each["fixed_by"] for each in read_json(folder / "ERRATA.json") if each["stem"] == stem}
        rows = [found.rows[fixed.get(number, number) - 1] for number in range(1, len(found.rows) + 1)]  # for a wrong row the right one
        contract, pairs = found.record["contract"], tuple((row.flags, row.values) for row in rows)
        return Suite(stem, contract["name"], tuple(contract["spec"]), found.record["rows_sha256"], pairs)

    def suites(self, stems: Iterable[str]) -> dict[str, list[Suite]]:
        """Return operation -> suites for some stems."""
        out: dict[str, list[Suite]] = {}
        for stem in stems:
            out.setdefault(stem.partition("__")[0], []).append(self.suite(stem))
        return out

    def everything(self) -> dict[str, list[Suite]]:
        """Return operation -> all suites."""
        judging = [op for op in OPERATIONS if op not in UNJUDGED]
        return self.suites(stem for op in (*judging, WORDS, CALCULATE) for stem in self.stems(op))


def make_planned(stem: str) -> Suite:
    """Return a suite that the spec plans, made by the reference model alone."""
    plan = find(stem)
    return _made(stem, plan.operation, plan.cases(0, plan.size))


def _made(stem: str, op: Contract, cases: Iterable[Input]) -> Suite:
    rows = [make_row(op.layout, case, op.exact(case.values)) for case in cases]
    pairs = tuple((row.flags, row.values) for row in rows)
    return Suite(stem, str(op.name), tuple(op.name.spec), rows_sha256(op.layout, rows), pairs)


def _words(rows: Iterable[Mapping[str, Any]]) -> list[Suite]:
    """Return one suite for each rounding that shares words; a row is a word and the integers of its lanes."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[int, ...]]]] = {}
    for row in rows:
        values = (int(row["word"], 16), *(int(lane, 16) for lane in row["lanes"]))
        found.setdefault(row["rounding"], []).append((("sr_threshold",), values))
    return [_undigested(f"{WORDS}__{name}", name, f"rounding/{name}", rows) for name, rows in found.items()]


def _calculated(rows: Iterable[Mapping[str, Any]]) -> list[Suite]:
    """Return one suite for each operation, format, result format and mode; a row is the operands and the result."""
    found: dict[tuple[str, ...], list[tuple[tuple[str, ...], tuple[int, ...]]]] = {}
    for row in rows:
        key = (row["op"], row["format"], row.get("to", row["format"]), row.get("round", "rne"))
        values = (*(int(arg, 16) for arg in row["args"]), int(row["result"], 16))
        found.setdefault(key, []).append(((row["flag"],), values))
    return [_undigested(f"{CALCULATE}__{'_'.join(key)}", "/".join(key), f"format/{key[1]}", rows) for key, rows in found.items()]


def _undigested(stem: str, contract: str, spec: str, rows: Sequence[tuple[tuple[str, ...], tuple[int, ...]]]) -> Suite:
    return Suite(stem, contract, (spec,), hashlib.sha256(json.dumps(rows).encode("ascii")).hexdigest(), tuple(rows))


def _typed(rows: Iterable[Mapping[str, Any]]) -> list[Suite]:
    """Return one suite of each contract and source among typed conversions. Raises: FileError where the reference model does not agree."""
    found: dict[str, tuple[Contract, list[Input]]] = {}
    for row in rows:
        op = ConvertContract.of(parse(row["contract"]), row["source"])
        values = (int(row["x"], 16), *([int(row["random"], 16)] if "random" in row else []))
        if op.exact(values) != ((int(row["y"], 16),),):
            raise FileError(f"{row['contract']}: {row['x']} gives {op.exact(values)}, not {row['y']}")
        stem = f"convert__{op.src}_to_{op.dst}__{op.part}__{KILL}"
        found.setdefault(stem, (op, []))[1].append(Input(KILL, (row["flag"],), values))
    return [_made(stem, op, cases) for stem, (op, cases) in found.items()]


def _block_stem(group: Mapping[str, Any]) -> str:
    op = QuantizeContract.of(parse(f"quantize/{group['recipe']}"), "fp32")
    return f"quantize__fp32_to_{op.dst}__{op.part}__{KILL}"


def _blocks(stem: str, group: Mapping[str, Any]) -> Suite:
    """Return the suite of blocks near ties of one recipe: every whole tile of every listed input."""
    op = QuantizeContract.of(parse(f"quantize/{group['recipe']}"), "fp32")
    cases = [Input(KILL, ("threshold", "scale_tie", "order"), values) for row in group["rows"] for values in _tiles(op, row)]
    return _made(stem, op, dict.fromkeys(cases))


def _tiles(op: QuantizeContract, row: Mapping[str, str]) -> Iterator[tuple[int, ...]]:
    """Yield the input values of each whole tile of a listed input."""
    codes = [int(word, 16) for word in row["x"].split()]
    amax = int(row["tensor_amax"], 16) if "tensor_amax" in row else max(code & 0x7FFFFFFF for code in codes)
    drawn = [int(word, 16) for word in row.get("random", "").split()]
    for start in range(0, len(codes) - op.n + 1, op.n):
        values = [pack(codes[start : start + op.n], 32)]
        values += [min(amax, 0x7FC00000)] if op.reads_amax else []
        values += [op.columns] if op.ragged else []
        if op.rounding is not None:
            values.append(pack(drawn[start : start + op.n], op.rounding.random_bits))
        yield tuple(values)


def write(folder: Path, suites: Mapping[str, Sequence[Suite]]) -> None:
    """Write one JSON file an operation: the process that derives rows reads no vector file."""
    for op, found in suites.items():
        (folder / f"{op}.json").write_text(json.dumps(found), encoding="ascii")


def read_suites(folder: Path, op: str) -> list[Suite]:
    """Return the suites of an operation as `write` wrote them."""
    return [
        Suite(stem, contract, tuple(spec), digest, tuple((tuple(flags), tuple(values)) for flags, values in rows))
        for stem, contract, spec, digest, rows in json.loads((folder / f"{op}.json").read_text(encoding="ascii"))
    ]
