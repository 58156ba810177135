"""COVER.json of a folder of suites (`emu-cover-1`): which bins of the coverage models its rows reach, and which nothing can reach."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError, SpecError
from emu.base.inputs import read_json
from emu.contracts.contract import Contract, Values
from emu.contracts.cover import Bin, Subject
from emu.contracts.rows import inputs_of
from emu.spec.models import Coverage
from emu.spec.registry import get, names
from emu.vectors.coverage.model import Cross, count, row_bins
from emu.vectors.coverage.record import record, render
from emu.vectors.files.manifest import COVER, read_digests
from emu.vectors.files.suite import Suite, load, stem_of
from emu.vectors.files.write import replace_text
from emu.vectors.suites.plan import find

MOST_ROWS: Final = 4096  # of an exhaustive suite that is counted
FIRST: Final = 1  # ids of rows that COVER.json keeps of a bin; emu vectors cover keeps more
ORDER: Final = ("directed", "all", "kill", "smoke")


def modelled() -> dict[str, Coverage]:
    """Return operation -> coverage model."""
    models: list[Coverage] = [get("coverage", name) for name in names("coverage")]
    return {model.facts.op: model for model in models}


def counted_as(stem: str) -> str:
    """Return the operation whose model counts a suite; the operation of the stem where no such suite is planned."""
    op = stem.split("__", maxsplit=1)[0]
    try:
        return find(stem).operation.covered_as if model_of(op) is not None else op
    except FileError:
        return op


def model_of(op: str) -> Coverage | None:
    """Return the coverage model of an operation; None where there is none."""
    return modelled().get(op)


def subject_of(op: Contract) -> Subject:
    """Return what gives the axes of a contract their meaning. Raises: SpecError (an operation without a coverage model)."""
    found = op.cover()
    if found is None:
        raise SpecError(f"{op.name.op}: no coverage model: there are some of {', '.join(sorted(modelled()))}")
    return found


def counted(sizes: Mapping[str, int]) -> list[str]:
    """Return the stems that COVER.json counts: of each contract and source the suite that the others are parts of.

    sizes: stem -> rows of what is there.   Directed before small exhaustive suites, kill, smoke; others are counted on request.
    """
    chosen: dict[str, str] = {}
    for stem in sorted(sizes):
        head, suite = stem.rpartition("__")[::2]
        if suite in ORDER and (suite == "directed" or sizes[stem] <= MOST_ROWS):
            known = chosen.setdefault(head, stem)
            chosen[head] = min(known, stem, key=lambda name: ORDER.index(name.rpartition("__")[2]))
    return sorted(chosen.values())


def _with_axes(stems: Sequence[str]) -> list[str]:
    """Return the stems that the model of their operation counts: datapaths of levels have a model of their own."""
    return [stem for stem in stems if find(stem).operation.covered_as == stem.split("__")[0]]


def crosses_of(stem: str, rows: Iterable[tuple[int, Values]]) -> list[Cross]:
    """Return the crosses of a planned suite's contract, counted over rows. rows: (test-case id, input values)."""
    op = find(stem).operation
    model = model_of(op.covered_as)
    if model is None:
        raise SpecError(f"{op.name.op}: no coverage model")
    return count(subject_of(op), model, rows)


def suite_rows(suite: Suite) -> list[tuple[int, Values]]:
    """Return (test-case id, input values) of the rows of a suite; open rows count too, because a design sees them."""
    return [(number, inputs_of(suite.layout, row)) for number, row in enumerate(suite.rows, 1)]


def planned(folder: Path, stems: Iterable[str]) -> list[str]:
    """Return the directed suites that a folder keeps as digests alone, of contracts that it has other suites of: they are counted too."""
    heads = {stem.rpartition("__")[0] for stem in stems}
    return _with_axes([stem for stem in read_digests(folder) if stem.endswith("__directed") and stem.rpartition("__")[0] in heads])


def cover_data(op: str, suites: Sequence[Suite], more: Sequence[str] = (), only: Container[str] | None = None) -> dict[str, Any] | None:
    """Return the data of COVER.json for suites of one operation; None where it has no model, or none of them is counted.

    more: stems of planned suites without files; their rows are made again from the plan.   only: stems that are counted now; None: all.
    """
    model = model_of(op)
    if model is None:
        return None
    rows: dict[str, Callable[[], list[tuple[int, Values]]]] = {suite.stem: partial(suite_rows, suite) for suite in suites}
    sizes = {suite.stem: len(suite.rows) for suite in suites} | {stem: find(stem).size for stem in more}
    rows |= {stem: partial(planned_rows, stem) for stem in more}
    chosen = _with_axes(counted(sizes))
    if not chosen:
        return None
    found = [(stem, sizes[stem], crosses_of(stem, rows[stem]())) for stem in chosen if only is None or stem in only]
    return record(model, found, FIRST)


def planned_rows(stem: str) -> list[tuple[int, Values]]:
    """Return (test-case id, input values) of the rows of a planned suite."""
    plan = find(stem)
    return [(number, case.values) for number, case in enumerate(plan.cases(0, plan.size), 1)]


def write_cover(folder: Path) -> None:
    """Write COVER.json of one operation's folder from the suites in it; none where its operation has no model.

    Raises: FileError (a damaged suite), EngineError (a row that a proof calls impossible), OSError.
    """
    stems = sorted({stem for path in folder.iterdir() if (stem := stem_of(path.name)) is not None})
    data = cover_data(folder.name, [load(folder, stem) for stem in stems], planned(folder, stems))
    if data is None:
        (folder / COVER).unlink(missing_ok=True)
    else:
        replace_text(folder / COVER, render(data))


def check_cover(folder: Path, suites: Sequence[Suite], full: bool = False) -> None:
    """Check that COVER.json of a folder follows from its rows and today's model.

    full: count the suites that are digests alone again too; else only that they are there.   Raises: FileError.
    """
    path = folder / COVER
    more = planned(folder, [suite.stem for suite in suites])
    wanted = cover_data(folder.name, suites, more, None if full else {suite.stem for suite in suites})
    if wanted is None:
        raise FileError(f"{COVER}: nothing here is counted")
    try:
        found = read_json(path, "ascii")
        same = path.read_bytes() == render(found).encode("ascii") and {**found, "suites": []} == {**wanted, "suites": []}
        entries, named = _by_stem(wanted), _by_stem(found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{COVER}: missing or malformed: {error!r}") from None
    sizes = {suite.stem: len(suite.rows) for suite in suites} | {stem: find(stem).size for stem in more}
    if not same or sorted(named) != _with_axes(counted(sizes)):
        raise FileError(f"{COVER}: not written as the writer does, of these suites and this model: build the folder again")
    wrong = [stem for stem, entry in entries.items() if named[stem] != entry]
    if wrong:
        raise FileError(f"{COVER}: {wrong[0]}: does not follow from the rows and the coverage model: build the folder again")


def _by_stem(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return stem -> what a record says of it."""
    return {stem: {**entry, "stems": []} for entry in data["suites"] for stem in entry["stems"]}


def examples(stem: str, crosses: Sequence[Cross]) -> dict[tuple[str, Bin], Values]:
    """Return (cross, bin) -> inputs that reach a hole: what is known by its proof, else the first directed row of the contract that does.

    crosses: of rows of the stem's contract.   A hole that nothing here reaches is left out.
    """
    found = {(cross.name, one): known.example for cross in crosses for one, known in cross.settled.items() if known.example is not None}
    wanted = {(cross.name, one) for cross in crosses for one in cross.holes()} - set(found)
    op = find(stem).operation
    model, subject = model_of(op.covered_as), subject_of(op)
    assert model is not None
    try:
        rows = planned_rows(f"{stem.rpartition('__')[0]}__directed") if wanted else []
    except FileError:  # no such suite is planned
        rows = []
    for _, values in rows:
        for name, some in row_bins(subject, model, values).items():
            for key in ((name, tuple(text.split(" "))) for text in some):
                if key in wanted:
                    wanted.remove(key)
                    found[key] = values
    return found
