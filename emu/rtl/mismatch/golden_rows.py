"""Golden rows beside those of a log: found by suite and id, checked against what was printed, with what is compared and what was got."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from emu.base.errors import FileError
from emu.contracts import OPERATIONS
from emu.contracts.columns import KIND_BITS, Column, Layout
from emu.contracts.rows import Answer, Input, Row, inputs_of, is_nan, make_row, unpack, value_of
from emu.rtl.mismatch.lines import Log, Seen
from emu.rtl.portmap.rows import TIED
from emu.rtl.portmap.suite import stored
from emu.vectors.files.manifest import SHARD_ROWS
from emu.vectors.files.suite import Suite, rows_sha256
from emu.vectors.suites.plan import SuitePlan, families, find

FORMAL = "formal"  # the suite of rows that a proof found
MOST_KEPT = 1 << 15  # answers
MOST_DIGESTED = 8192  # rows: larger suites are not computed whole for their digest


@dataclass(frozen=True)
class Case:
    """One row of a log beside the golden one.

    got: result column -> integer, None where a bit is x or z; columns that were not printed are absent.   text: the same as printed.
    """

    tc: int
    row: Row
    got: dict[str, int | None]
    text: dict[str, str]

    def wrong(self, layout: Layout) -> list[str]:
        """Return the result columns that differ, in order."""
        return [column.name for column in layout.results if column.name in self.got and not fits(layout, self.row, column, self.got)]


def fits(layout: Layout, row: Row, column: Column, got: dict[str, int | None]) -> bool:
    """Tell whether a printed value is right: equal under the mask, any NaN where the payload is free."""
    value = got[column.name]
    mask = value_of(layout, row, f"m_{column.name}")
    if value is None:
        return not mask
    want = value_of(layout, row, column.name)
    kinds = value_of(layout, row, f"k_{column.name}") if column.any_nan else 0
    if not kinds:
        return not (want ^ value) & mask
    lanes = zip(unpack(want, column), unpack(value, column), unpack(mask, column), strict=True)
    return all(
        is_nan(have, column.format) if kinds >> (KIND_BITS * lane) & 15 else not (wanted ^ have) & bits
        for lane, (wanted, have, bits) in enumerate(lanes)
    )


class Golden:
    """The golden rows of one suite: from a folder of vectors, or computed one by one by the reference model.

    The suite `formal` is of no file: its rows are the inputs that a proof found (emu rtl prove).

    left_out: result column -> bits that are not compared.
    """

    def __init__(self, name: str, vectors: Path | None, left_out: dict[str, int] | None = None) -> None:
        stem, _, shard = name.partition(".s")
        self.free = stem.endswith(f"__{FORMAL}")
        self.plan: SuitePlan = any_plan(stem.removesuffix(FORMAL)) if self.free else find(stem)
        self.name, self.layout = name, self.plan.operation.layout
        self.first = 1 + int(shard[:4]) * SHARD_ROWS if shard else 1
        self.suite: Suite | None = None if vectors is None else stored(self.plan, vectors)
        self.size = self.plan.size if self.suite is None else len(self.suite.rows)
        self.left_out = {f"m_{column}": bits for column, bits in (left_out or {}).items()}
        self.row = lru_cache(maxsize=1 << 14)(self._row)
        self.printed = dict[int, Row]()
        self._answers = dict[tuple[int, ...], Answer]()

    def left_out_words(self) -> list[str]:
        """Return the output columns of which the run compared nothing, and the flags or bits of the others that it did not compare."""
        out: list[str] = []
        for column in self.layout.results:
            bits = self.left_out.get(f"m_{column.name}", 0) if column.role == "out" else 0
            if bits == (1 << column.bits) - 1:
                out.append(column.name)
            elif bits:
                out += [name for place, name in enumerate(column.flags) if bits >> place & 1] or [f"bits {bits:x} of {column.name}"]
        return out

    def values(self, tc: int) -> tuple[int, ...]:
        """Return the inputs of a row: those that the log printed, where a port map ties some of them."""
        return inputs_of(self.layout, self.printed.get(tc) or self.row(tc))

    def answer(self, values: tuple[int, ...]) -> Answer:
        """Return the right answer to some inputs, each asked of the reference model once."""
        if values not in self._answers:
            if len(self._answers) >= MOST_KEPT:
                self._answers.clear()
            self._answers[values] = self.plan.operation.exact(values)
        return self._answers[values]

    def fresh(self, count: int) -> list[tuple[int, ...]]:
        """Return inputs of no suite: random rows of the contract, directed ones of another stream. count: of each kind, at most."""
        op = self.plan.operation
        chained = op.name.op == "accumulate"  # a row of a chain means nothing alone
        rows = [] if op.chooser is None or chained else [*op.draw(0, count), *op.directed("explain mismatch")]
        return [case.values for case in (rows if len(rows) <= 2 * count else rows[:: -(-len(rows) // (2 * count))])]

    def _row(self, tc: int) -> Row:
        return self._masked(self._whole(tc))

    def _masked(self, row: Row) -> Row:
        if not self.left_out:
            return row
        pairs = zip(self.layout.columns, row.values, strict=True)
        return row._replace(values=tuple(value & ~self.left_out.get(column.name, 0) for column, value in pairs))

    def _whole(self, tc: int) -> Row:
        """Return a row with the masks of the golden suite."""
        if not 1 <= tc <= self.size:
            raise FileError(f"{self.name}: has no row {tc}: its tcIds are 1..{self.size}")
        if self.suite is not None:
            return self.suite.rows[tc - 1]
        (case,) = self.plan.cases(tc - 1, tc)
        return make_row(self.layout, case, self.answer(case.values))

    def case(self, seen: Seen) -> Case:
        """Return a printed row beside the golden one. Raises: FileError (expected values are not those that the reference model gives)."""
        layout = self.layout
        row = self._free(seen) if self.free else self.row(seen.tc)
        pairs = zip(layout.inputs, inputs_of(layout, row), strict=True)
        if list(seen.given) != [f"{value:0{column.digits}x}" for column, value in pairs]:
            row = self._tied(seen, row)
        names = [column.name for column in layout.results]
        text = dict[str, str]()
        for key, value in seen.got.items():
            if isinstance(key, str):
                text[key] = value
            elif key < len(names):
                text[names[key]] = value
        for name, want in seen.want.items():
            if name not in names:
                raise FileError(f"{self.name} tc={seen.tc}: has no column {name}")
            column = layout.columns[layout.index(name)]
            if want != f"{value_of(layout, row, name):0{column.digits}x}":
                raise FileError(
                    f"{self.name} tc={seen.tc}: want={want}, the golden row has {name}={value_of(layout, row, name):0{column.digits}x}: "
                    "the file that was run was edited, or made from another spec"
                )
        self.printed[seen.tc] = row
        return Case(seen.tc, row, {name: _number(value) for name, value in text.items()}, text)

    def _free(self, seen: Seen) -> Row:
        """Return the row of the printed inputs, of no suite. Raises: FileError (they are no inputs of this contract)."""
        read = [_number(text) for text in seen.given]
        columns = self.layout.inputs
        if len(read) != len(columns) or any(value is None or value >> column.bits for value, column in zip(read, columns, strict=True)):
            wanted = ", ".join(f"{column.name} of {column.bits} bits" for column in columns)
            raise FileError(f"{self.name} tc={seen.tc}: in={','.join(seen.given)}: write {wanted}")
        values = tuple(value or 0 for value in read)
        return self._masked(make_row(self.layout, Input(FORMAL, (FORMAL,), values), self.plan.operation.exact(values)))

    def _tied(self, seen: Seen, golden: Row) -> Row:
        """Return the row of the printed inputs, some of which a port map ties. Raises: FileError (they are no inputs of this suite)."""
        layout = self.layout
        given = inputs_of(layout, golden)
        read = [_number(text) for text in seen.given]
        fits_all = all(value is not None and value >> column.bits == 0 for column, value in zip(layout.inputs, read, strict=False))
        values = tuple(value or 0 for value in read) if fits_all and len(read) == len(given) else ()
        if not any(one == other for one, other in zip(values, given, strict=False)):
            told = f"in={','.join(seen.given)} shares no input with the golden row"
            raise FileError(f"{self.name} tc={seen.tc}: {told}: another file was run")
        return self._masked(make_row(layout, Input(golden.group, (TIED,), values), self.plan.operation.exact(values)))

    def digest_words(self, log: Log) -> str:
        """Return what the RESULT line's digest says of the file that was run; nothing where there is no such line."""
        digests = {result.rows_sha256 for result in log.results if result.suite == self.name}
        if not digests:
            return ""
        if self.suite is None and self.size > MOST_DIGESTED:
            return f"the digest of {self.size} rows was not computed (--vectors DIR has it)"
        rows = [self._whole(tc) for tc in range(self.first, min(self.first + SHARD_ROWS, self.size + 1))]
        if digests == {rows_sha256(self.layout, rows)}:
            return "the rows that were run are the golden ones (rows_sha256)"
        return "rows_sha256 is not the golden one: rows were masked (a port map) or edited; the rows below were compared one by one"


def any_plan(head: str) -> SuitePlan:
    """Return a plan of the contract whose stems begin with a text. Raises: FileError (the loaded spec has none)."""
    for suite in ("directed", "all", "smoke"):
        try:
            return find(head + suite)
        except FileError:
            continue
    return find(f"{head}directed")


def mismatch_lines(contract: str, layout: Layout, row: Row, got: Mapping[str, str], wrong: Sequence[str]) -> list[str]:
    """Return the MISMATCH lines of one row of no suite, for emu explain mismatch; none where vectors know no such contract.

    got: result column -> hex text.   wrong: the columns that differ.
    """
    for name, aliases in families().items():
        if contract in (str(name), *aliases):
            for operation in OPERATIONS[name.op].openings(name):
                if operation.layout.inputs == layout.inputs:
                    return list(_lines(operation.stem(FORMAL), layout, row, got, wrong))
    return []


def _lines(stem: str, layout: Layout, row: Row, got: Mapping[str, str], wrong: Sequence[str]) -> Iterator[str]:
    given = ",".join(f"{value:0{column.digits}x}" for column, value in zip(layout.inputs, inputs_of(layout, row), strict=True))
    for name in wrong:
        digits = layout.columns[layout.index(name)].digits
        want, mask = (f"{value_of(layout, row, key):0{digits}x}" for key in (name, f"m_{name}"))
        yield f"MISMATCH suite={stem} tc=1 out={name} in={given} want={want} got={got[name].lower()} mask={mask}"


def _number(text: str) -> int | None:
    return None if set(text.lower()) & {"x", "z"} else int(text, 16)


def cases_of(golden: Golden, log: Log) -> tuple[list[Case], list[Case]]:
    """Return the rows of a log that differ and those that agree, in order. Raises: as Golden.case."""
    found: Iterable[Case] = (golden.case(seen) for seen in log.rows.values() if seen.suite == golden.name)
    bad: list[Case] = []
    good: list[Case] = []
    for case in found:
        (bad if case.wrong(golden.layout) else good).append(case)
    return bad, good
