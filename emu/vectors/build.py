"""emu vectors build: chosen suites into a folder. Each suite is moved into place when it is complete; a second run skips what is right.

And emu vectors merge: the folders of several shards as one, byte for byte what one build makes.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.errors import FileError, SpecError
from emu.base.forks import end_with
from emu.base.inputs import read_json
from emu.contracts.rows import inputs_of
from emu.spec.contract import is_product, parse
from emu.vectors.coverage.count import write_cover
from emu.vectors.files import manifest
from emu.vectors.files.manifest import BENCH, OPERATIONS, SUITES
from emu.vectors.files.suite import generator_record, load, render, stem_of
from emu.vectors.files.write import digest_suite, write_suite, write_text
from emu.vectors.suites.frozen import selection
from emu.vectors.suites.plan import SuitePlan, families, plans_of
from emu.vectors.verify import check_manifest
from emu.vectors.versioning import apply_erratum

Progress = Callable[[str, int, int], None]
Task = tuple[str, bool]  # stem of a suite; whether its rows are written, or their digest alone
SCRATCH: Final = ".building"
NOTES: Final = "digests.json"
_PLANS: Final[dict[str, SuitePlan]] = {}  # of the build that runs: a forked worker finds them here
OTHER_FILES: Final = (manifest.MANIFEST, manifest.DIGESTS, manifest.ERRATA, manifest.COVER, manifest.KILL)


class Built(NamedTuple):
    """What a build did. written, skipped: stems.   digests: stems of which only the digest was made."""

    written: tuple[str, ...]
    skipped: tuple[str, ...]
    digests: tuple[str, ...]


def build(
    out: Path,
    suites: Iterable[str] | None = None,
    contracts: Iterable[str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    frozen: bool = True,
    shard: tuple[int, int] | None = None,
) -> Built:
    """Build golden vectors into a folder.

    out: new, empty, or an earlier (perhaps interrupted) build.   suites, contracts: names to build; None: any. With neither and frozen
    the frozen selection is built: files and DIGESTS.sha256.   jobs: processes.   progress: told (stem, suites done, all suites).
    shard: (i, n): of the suites, sorted by name, the i-th of every n, i from 1; all n shards in one folder, or merged, are one run.
    The same spec gives the same bytes whatever jobs is.
    Raises: SpecError (unknown contract or suite), FileError (a foreign folder, no plan), EngineError (implementations differ: that suite is
    not written).   Tests: tests/vectors/test_vectors_build.py.
    """
    shipped, digests = _part(*_chosen(suites, contracts, frozen), shard)
    try:
        check_folder(out)
        return _build(out, shipped, digests, max(1, jobs), progress)
    except OSError as error:
        raise FileError(f"{out}: {error.strerror or error}: what is finished stays, run the same command to go on") from None


def _build(out: Path, shipped: Sequence[SuitePlan], digests: Sequence[SuitePlan], jobs: int, progress: Progress | None) -> Built:
    """Build the plans that are not there yet, then sign the folder."""
    scratch = out / SCRATCH
    scratch.mkdir(parents=True, exist_ok=True)
    _PLANS.clear()
    _PLANS.update((plan.stem, plan) for plan in (*shipped, *digests))
    report = _Report(progress, len(_PLANS))
    known = _known_digests(scratch)
    todo, skipped = _split(shipped, out)
    hashes = {plan.stem: known[plan.stem][1] for plan in digests if known.get(plan.stem, ("",))[0] == _key(plan)}
    for stem in (*skipped, *hashes):
        report(stem)
    tasks = [(plan.stem, True) for plan in todo] + [(plan.stem, False) for plan in digests if plan.stem not in hashes]
    keys = {plan.stem: _key(plan) for plan in digests}
    for stem, digest in _run(tasks, out, jobs):
        report(stem)
        if stem in keys:
            hashes[stem] = digest
            known[stem] = (keys[stem], digest)
            write_text(scratch / NOTES, json.dumps(known))
    finish(out, {plan.operation.name.op for plan in (*shipped, *digests)}, hashes, jobs)
    shutil.rmtree(scratch)
    _PLANS.clear()
    return Built(tuple(plan.stem for plan in todo), tuple(skipped), tuple(hashes))


def _part(
    shipped: Sequence[SuitePlan], digests: Sequence[SuitePlan], shard: tuple[int, int] | None
) -> tuple[Sequence[SuitePlan], Sequence[SuitePlan]]:
    """Return the plans of a shard. Raises: SpecError (no such shard)."""
    if shard is None:
        return shipped, digests
    index, count = shard
    if not 1 <= index <= count:
        raise SpecError(f"shard {index}/{count}: shards are numbered 1 to {max(count, 1)}")
    mine = {plan.stem for plan in sorted((*shipped, *digests), key=lambda plan: plan.stem)[index - 1 :: count]}
    return [plan for plan in shipped if plan.stem in mine], [plan for plan in digests if plan.stem in mine]


class _Report:
    """Counts suites for the progress callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, stem: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(stem, self.done, self.total)


def _chosen(suites: Iterable[str] | None, contracts: Iterable[str] | None, frozen: bool) -> tuple[Sequence[SuitePlan], Sequence[SuitePlan]]:
    """Return the plans to write and the plans to digest."""
    if suites is None and contracts is None and frozen:
        return selection()
    wanted = None if suites is None else set(suites)
    for suite in sorted(wanted or ()):
        if suite not in SUITES:
            raise SpecError(f"suite {suite!r} is unknown: one of {', '.join(SUITES)}")
    names = None if contracts is None else {str(parse(name)) for name in contracts}
    found = [
        plan
        for contract, aliases in families().items()
        if names is None or names & {str(contract), *aliases}
        for plan in plans_of(contract, aliases)
        if wanted is None or plan.suite in wanted
    ]
    if not found:
        products = [name for name in sorted(names or ()) if is_product(name)]
        hint = f": {products[0]} is a product, its rows are those of `dot` under the datapath that it names" if products else ""
        raise FileError(f"no suite is planned for these contracts and suites{hint}")
    return sorted(found, key=lambda plan: plan.stem), ()


def check_folder(out: Path) -> None:
    """Refuse a folder that holds something else than vectors. Raises: FileError."""
    if not out.exists():
        return
    if not out.is_dir():
        raise FileError(f"{out}: not a folder")
    for path in sorted(out.iterdir()):
        if path.name in manifest.ABOUT and path.is_file():
            continue
        if path.name not in (*OPERATIONS, SCRATCH, BENCH) or not path.is_dir():
            raise FileError(f"{out}: holds {path.name}: vectors are built into a new folder or an earlier build")
        if path.name == BENCH:
            continue
        foreign = [
            file.name for file in path.iterdir() if path.name != SCRATCH and stem_of(file.name) is None and file.name not in OTHER_FILES
        ]
        if foreign:
            raise FileError(f"{path}: holds {min(foreign)}, which is no vector file")


def _key(plan: SuitePlan) -> str:
    """Return what a digest depends on besides the inputs: the facts and the version of the generator."""
    return f"{plan.operation.name.spec_sha256} {generator_record(plan, 0, [])['version']}"


def _known_digests(scratch: Path) -> dict[str, Any]:
    try:
        return dict(read_json(scratch / NOTES, "ascii"))
    except (OSError, ValueError):
        return {}


def _split(plans: Sequence[SuitePlan], out: Path) -> tuple[list[SuitePlan], list[str]]:
    """Return the plans still to write and the stems whose files are right."""
    todo, skipped = [], []
    for plan in plans:
        if _is_current(out / plan.operation.name.op, plan):
            skipped.append(plan.stem)
        else:
            todo.append(plan)
    return todo, skipped


def _is_current(folder: Path, plan: SuitePlan) -> bool:
    """Tell whether a folder holds a suite with right digests, made from these facts, this generator and these inputs."""
    if not (folder / f"{plan.stem}.json").is_file():
        return False
    try:
        suite = load(folder, plan.stem)
    except FileError:
        return False
    made = suite.record["contract"]["spec_sha256"], suite.record["generator"]["version"]
    if made != tuple(_key(plan).split(" ", 1)) or suite.layout != plan.operation.layout:
        return False
    cases = plan.cases(0, plan.size)
    planned = [row for row in suite.rows if "correction" not in row.flags]
    corrected = len(suite.rows) - len(planned) == len(manifest.of_stem(plan.stem))
    return corrected and [inputs_of(suite.layout, row) for row in planned] == [case.values for case in cases]


def _run(tasks: Sequence[Task], out: Path, jobs: int) -> Iterator[tuple[str, str]]:
    """Yield (stem, rows_sha256) of each task as it is done. The suites of one contract go to one process, which chooses their rows once."""
    groups: dict[int, list[Task]] = {}
    for stem, ships in tasks:
        groups.setdefault(id(_PLANS[stem].operation), []).append((stem, ships))
    if jobs == 1 or len(groups) < 2:
        for stem, ships in tasks:
            yield stem, _one(stem, ships, out)
        return
    context = multiprocessing.get_context("fork")  # the workers keep the spec folders that were loaded
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),)) as pool:
        long_first = sorted(groups.values(), key=lambda group: -max(_PLANS[stem].inputs.rows for stem, _ in group))
        for future in as_completed([pool.submit(_several, group, out) for group in long_first]):
            yield from future.result()


def _several(tasks: Sequence[Task], out: Path) -> list[tuple[str, str]]:
    """Write or digest the suites of one contract."""
    return [(stem, _one(stem, ships, out)) for stem, ships in tasks]


def _one(stem: str, ships: bool, out: Path) -> str:
    """Write or digest one suite."""
    plan = _PLANS[stem]
    if not ships:
        return digest_suite(plan)
    folder = out / plan.operation.name.op
    digest = write_suite(plan, folder, out / SCRATCH)
    wrong = manifest.of_stem(stem)
    if not wrong:
        return digest
    suite = load(folder, stem)
    for erratum in wrong:
        suite = apply_erratum(suite, erratum, grown=True)
    for name, text in sorted(render(suite).items(), key=lambda item: item[0].endswith(".json")):
        write_text(out / SCRATCH / name, text)
        os.replace(out / SCRATCH / name, folder / name)
    return str(suite.record["rows_sha256"])


def finish(out: Path, operations: set[str], hashes: dict[str, str], jobs: int = 1) -> None:
    """Write ERRATA.json, DIGESTS.sha256, COVER.json and MANIFEST.sha256 of each operation's folder."""
    tasks = [(out / op, {stem: digest for stem, digest in hashes.items() if stem.startswith(f"{op}__")}) for op in sorted(operations)]
    if jobs == 1 or len(tasks) < 2:
        for folder, own in tasks:
            _sign(folder, own)
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),)) as pool:
        for done in [pool.submit(_sign, folder, own) for folder, own in tasks]:
            done.result()


def _sign(folder: Path, hashes: dict[str, str]) -> None:
    """Write what tells of all suites of one operation."""
    folder.mkdir(exist_ok=True)
    present = {stem_of(path.name) for path in folder.iterdir()}
    own = [erratum for erratum in manifest.RELEASED if erratum["stem"] in present]
    write_text(folder / manifest.ERRATA, manifest.render_errata(own))
    write_text(folder / manifest.DIGESTS, manifest.render_digests(manifest.read_digests(folder) | hashes))
    write_cover(folder)
    write_text(folder / manifest.MANIFEST, manifest.render_manifest(folder))


def merge(out: Path, folders: Sequence[Path]) -> int:
    """Copy the suites of finished builds into one folder and sign it; return how many files it holds of them.

    out: new, empty, or a build.   folders: builds; a file that several hold must have the same bytes.
    Raises: FileError (an unfinished or changed folder, two files that differ), before anything is copied.
    Tests: tests/vectors/test_vectors_shards.py.
    """
    check_folder(out)
    sources: dict[str, Path] = {}
    digests: dict[str, str] = {}
    for folder in folders:
        found = [folder / op for op in OPERATIONS if (folder / op).is_dir()]
        if not found:
            raise FileError(f"{folder}: holds no vectors")
        for place in found:
            check_manifest(place)
            for stem, digest in manifest.read_digests(place).items():
                if digests.setdefault(stem, digest) != digest:
                    raise FileError(f"{place}: another digest of {stem} than an earlier folder has")
            for file in sorted(place.iterdir()):
                if file.name not in OTHER_FILES:
                    _take(sources, f"{place.name}/{file.name}", file)
    for name, file in sources.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, out / name)
    finish(out, {name.partition("/")[0] for name in sources} | {stem.partition("__")[0] for stem in digests}, digests)
    return len(sources)


def _take(sources: dict[str, Path], name: str, file: Path) -> None:
    """Note a file. Raises: FileError (another one of this name differs)."""
    known = sources.setdefault(name, file)
    if known != file and known.read_bytes() != file.read_bytes():
        raise FileError(f"{file}: differs from {known}: the builds are of different specs or versions")
