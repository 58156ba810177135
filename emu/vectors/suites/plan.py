"""Plans: one suite of one contract from one source, before it is computed. Every plan follows from the spec alone."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.base.inputs import read_json
from emu.contracts import OPERATIONS, Contract
from emu.contracts.rows import Input
from emu.contracts.suites import Inputs, about
from emu.spec.contract import ContractName, contracts, parse, vector_instructions
from emu.spec.loader import read
from emu.spec.models import KINDS
from emu.spec.registry import digest, get, names
from emu.vectors.files.manifest import parse_stem
from emu.vectors.suites.notes import is_about
from emu.vectors.suites.own import CHAINED, own_kill

NAMED: Final = Path(__file__).with_name("named.yaml")


@dataclass(frozen=True)
class SuitePlan:
    """One suite.   operation: its contract.   inputs: what its rows try.   aliases: other contracts with the same rows."""

    operation: Contract
    inputs: Inputs
    aliases: tuple[str, ...]

    @property
    def suite(self) -> str:
        """Which suite of the contract it is."""
        return self.inputs.suite

    @property
    def stem(self) -> str:
        """The file name without ending."""
        return self.operation.stem(self.suite)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.inputs.size

    @property
    def space(self) -> dict[str, Any]:
        """The `space` object of the JSON file."""
        told = self.inputs.about
        return {
            "exhaustive": told["exhaustive"],
            "inputs": told["inputs"],
            "size": self.size,
            "seed": told["seed"],
            "recipe": told["recipe"],
        }

    def cases(self, start: int, stop: int) -> list[Input]:
        """Return the cases of rows start .. stop - 1."""
        return self.inputs.cases(start, stop)

    def named(self) -> tuple[str, ...]:
        """Return every contract that these rows belong to."""
        return (str(self.operation.name), *self.aliases)


def families() -> dict[ContractName, tuple[str, ...]]:
    """Return contract -> aliases: contracts whose rows are identical by their resolved facts share the first one's files."""
    return _families(tuple((kind, name, digest(get(kind, name))) for kind in KINDS for name in names(kind)), tuple(OPERATIONS))


@bounded(4, names=True)
def _families(known: tuple[tuple[str, str, str], ...], operations: tuple[str, ...]) -> dict[ContractName, tuple[str, ...]]:
    groups: dict[Any, list[ContractName]] = {}
    for contract in (*contracts(), *vector_instructions(), *named()):
        groups.setdefault(OPERATIONS[contract.op].sameness(contract), []).append(contract)
    out = {}
    for members in groups.values():
        first, *rest = sorted(members, key=OPERATIONS[members[0].op].precedence)
        out[first] = tuple(sorted(str(contract) for contract in rest))
    return out


@bounded(1)
def named() -> tuple[ContractName, ...]:
    """Return the contracts of no list that have suites all the same: of members of a series, and of operations on numbers."""
    found: Any = read(NAMED).data
    return tuple(parse(f"{op}/{text}") for op, texts in found.items() for text in texts)


def plans(op: str | None = None) -> Iterator[SuitePlan]:
    """Yield every plan of the registry, or those of one operation, contract by contract."""
    for contract, aliases in families().items():
        if op in (None, contract.op):
            yield from plans_of(contract, aliases)


def plans_of(contract: ContractName, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    """Yield the plans of one family of contracts; after the directed suite its kill suites: rows of the records, of own files chosen."""
    for operation in OPERATIONS[contract.op].openings(contract):
        suites = list(operation.suites())
        for inputs in suites:
            yield SuitePlan(operation, inputs, aliases)
            for kill in KILLS if inputs.suite == "directed" else ():
                parts = [
                    (one, rows_of_stems(kill)[operation.stem(one.suite)])
                    for one in suites
                    if operation.stem(one.suite) in rows_of_stems(kill)
                ]
                if parts:
                    yield SuitePlan(operation, _kill(kill, parts, contract.op), aliases)
            if inputs.suite == "directed" and (own := own_kill(operation, suites)) is not None:
                yield SuitePlan(operation, own, aliases)


def _kill(suite: str, parts: Sequence[tuple[Inputs, tuple[int, ...]]], op: str) -> Inputs:
    """Return some rows of other suites. parts: (inputs of the suite, numbers of its rows from 1)."""

    def chosen() -> list[Input]:
        out: list[Input] = []
        for inputs, numbers in parts:
            assert inputs.chosen is not None
            made = inputs.chosen()
            out += [made[number - 1] for number in numbers]
        return out

    return replace(parts[0][0], suite=suite, about=about(False, KILLS[suite], f"{op}.{suite}"), chosen=chosen)


def find(stem: str) -> SuitePlan:
    """Return the plan of a stem. Raises: FileError when the spec plans no such suite."""
    op = stem.partition("__")[0]
    for contract, aliases in families().items():
        if contract.op == op and any(part in stem for part in contract.parts):
            for plan in plans_of(contract, aliases):
                if plan.stem == stem:
                    return plan
    raise FileError(f"{stem}: the loaded spec plans no suite of this name: is a --spec folder missing?")


# Kill suites: the directed rows that together kill every mutant of a record. Which rows, is data: kill_rows/*.yaml.
# Records of seeded mutants (`emu-kill-1`) list the rows that kill each: one for each mutant is chosen here. The five first ids that a
# record lists of a suite suffice: each of them kills the mutant. A record may list all (`ids`); then fewer rows may be enough. A record
# of mutants that a contract makes of itself (`emu-held-back-1`) lists the rows that were chosen, also of the suite `bits`.
# A published row keeps its place. A kill suite that is frozen does not grow: further rows are the suite `kill_more`.


SCHEMA: Final = "emu-kill-1"
CHOSEN: Final = "emu-held-back-1"
FOLDER: Final = Path(__file__).with_name("kill_rows")
KILLS: Final = {
    "kill": "the directed rows that together kill every recorded mutant",
    "kill_more": "further rows for mutants that the contract makes of itself, which the suite kill was not chosen for",
}
KEYS: Final = {"kill": "rows", "kill_more": "more"}  # suite -> its key in the data
HEADER: Final = (
    "# Rows of directed suites that together kill every recorded mutant, by: emu vectors kill. Rows are appended, never removed.\n"
)
Matrix = dict[str, dict[str, list[int]]]  # directed stem -> mutant -> ids of rows that kill it
Rows = dict[str, tuple[int, ...]]  # stem -> ids of rows


@bounded(2)
def rows_of_stems(suite: str = "kill") -> Rows:
    """Return stem -> tcIds of its rows in a kill suite, in the order of that suite. Raises: SpecError (a malformed file)."""
    found: Rows = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        data: Any = read(path).data
        found |= {str(item["stem"]): tuple(int(number) for number in item[KEYS[suite]]) for item in data["suites"] if KEYS[suite] in item}
    return found


def read_records(paths: Iterable[Path]) -> Matrix:
    """Return the kills of directed suites that records list. Raises: FileError (no record of a schema)."""
    matrix: Matrix = {}
    for path, data in _of_schema(paths, SCHEMA):
        try:
            entries = [(entry["id"], entry["class"], entry["killedBy"]) for entry in data["mutants"]]
        except (KeyError, TypeError) as error:
            raise FileError(f"{path}: no record of mutants ({SCHEMA}): {error}") from None
        for name, kind, killers in entries:
            for stem, kill in killers.items():
                if stem.endswith("__directed") and not stem.startswith(CHAINED):
                    matrix.setdefault(stem, {})[f"{kind}/{path.stem}/{name}"] = [int(number) for number in kill.get("ids", kill["first"])]
    return matrix


def read_chosen(paths: Iterable[Path]) -> Rows:
    """Return the rows that records of generated mutants chose. Raises: FileError (no record of a schema)."""
    out: Rows = {}
    for path, data in _of_schema(paths, CHOSEN):
        try:
            out |= {str(stem): tuple(map(int, rows)) for entry in data["contracts"] for stem, rows in entry["rows"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(f"{path}: no record of generated mutants ({CHOSEN}): {error}") from None
    return out


def read_judged(path: Path) -> set[str]:
    """Return the stems, without their suite, of the suites that judged netlist mutants. Raises: FileError (no record of those)."""
    try:
        return {str(stem).rpartition("__")[0] for unit in read_json(path)["units"] for stem in {**unit["suites"]}}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path}: no record of netlist mutants (emu rtl mutants --out): {type(error).__name__} {error}") from None


def _of_schema(paths: Iterable[Path], wanted: str) -> Iterator[tuple[Path, Any]]:
    """Yield the records of one schema. Raises: FileError (another file than a record)."""
    for path in paths:
        try:
            data = read_json(path)
            schema = data["schema"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{path}: no record of mutants ({SCHEMA}, {CHOSEN}): {error}") from None
        if schema not in (SCHEMA, CHOSEN):
            raise FileError(f"{path}: schema is {schema!r}, not {SCHEMA} or {CHOSEN}")
        if schema == wanted:
            yield path, data


def of_class(matrix: Mapping[str, Sequence[int]], flags: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """Return the rows of each mutant whose flags list its class; all of them where none does.

    matrix: "<class>/<id>" -> tcIds.   flags: of the rows, tcId 1 first.   Raises: FileError (a record of other rows).
    """
    found = {}
    for name, numbers in matrix.items():
        if max(numbers) > len(flags):
            raise FileError(f"{name}: killed by row {max(numbers)}, the suite has {len(flags)}: the record is of other rows, make it again")
        kind = name.partition("/")[0]
        named = [number for number in numbers if is_about(kind, flags[number - 1])]
        found[name] = named or list(numbers)
    return found


def cover(mutants: Mapping[str, Sequence[int]], kept: Sequence[int] = ()) -> list[int]:
    """Return rows that kill every mutant: those kept, then more, ascending.

    Greedy: the row that kills most mutants that still live, the lowest among equals; then rows without which nothing lives again are
    dropped, the highest first. Rows that are kept stay.
    """
    killed_by: dict[int, set[str]] = {}
    for name, numbers in mutants.items():
        for number in numbers:
            killed_by.setdefault(number, set()).add(name)
    living = set(mutants) - {name for number in kept for name in killed_by.get(number, ())}
    wanted, chosen = set(living), []
    while living:
        best = min(killed_by, key=lambda number: (-len(killed_by[number] & living), number))
        chosen.append(best)
        living -= killed_by[best]
    for number in sorted(chosen, reverse=True):
        rest = [other for other in chosen if other != number]
        if wanted <= {name for other in rest for name in killed_by[other]}:
            chosen = rest
    return [*kept, *sorted(chosen)]


def updated(matrix: Matrix, least: int = 1, chosen: Rows | None = None, frozen: Container[str] = ()) -> dict[str, Rows]:
    """Return suite -> stem -> its rows, those of the data first.

    least: mutants that a new suite must have.   chosen: rows of generated mutants.   frozen: stems whose `kill` does not change.
    Raises: FileError (a stem that the spec does not plan; a record of other rows).
    """
    out, more = dict(rows_of_stems()), dict(rows_of_stems("kill_more"))

    def add(stem: str, rows: Sequence[int]) -> None:
        grown = more if stem.rpartition("__")[0] in frozen else out
        there = {*out.get(stem, ()), *more.get(stem, ())}
        if added := [row for row in rows if row not in there]:
            grown[stem] = (*grown.get(stem, ()), *added)

    for stem, mutants in matrix.items():
        if stem not in out and len(mutants) < least:
            continue
        plan = find(stem)
        flags = [case.flags for case in plan.cases(0, plan.size)]
        add(stem, cover(of_class(mutants, flags), (*out.get(stem, ()), *more.get(stem, ()))))
    for stem, rows in (chosen or {}).items():
        if max(rows, default=0) > find(stem).size:
            raise FileError(f"{stem}: row {max(rows)} of {find(stem).size}: the record is of other rows, make it again")
        add(stem, rows)
    return {"kill": out, "kill_more": more}


def render(suites: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, str]:
    """Return file name -> text of the data files, one per operation. suites: as `updated` returns. Raises: FileError (no stem)."""
    out = {}
    for op in OPERATIONS:
        mine = []
        for stem in sorted({stem for rows in suites.values() for stem in rows}):
            if parse_stem(stem).op == op:
                lists = [f"{KEYS[suite]}: [{', '.join(map(str, rows[stem]))}]" for suite, rows in suites.items() if stem in rows]
                mine.append(f'  - {{stem: "{stem}", {", ".join(lists)}}}')
        if mine:
            out[f"{op}.yaml"] = HEADER + "\n".join(["suites:", *mine]) + "\n"
    return out
