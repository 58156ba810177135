"""emu vectors build: chosen suites into a folder. Each suite is moved into place when it is complete; a second run skips what is right.

And emu vectors merge: the folders of several shards as one, byte for byte what one build makes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.atomic import only_writer, temporary_folder
from emu.base.errors import FileError, SpecError
from emu.base.inputs import read_json
from emu.base.workers import done_by_processes
from emu.contracts.rows import inputs_of
from emu.spec.carried import results
from emu.spec.contract import is_product, parse
from emu.vectors.coverage.count import write_cover
from emu.vectors.files import manifest
from emu.vectors.files.manifest import BENCH, OPERATIONS, SUITES
from emu.vectors.files.suite import Suite, generator_record, load, render, stem_of
from emu.vectors.files.write import SCRATCH, digest_suite, replace_text, write_suite
from emu.vectors.suites.frozen import selection
from emu.vectors.suites.plan import NAMED, SuitePlan, families, plans_of
from emu.vectors.verify import check_manifest
from emu.vectors.versioning import apply_erratum

Progress = Callable[[str, int, int], None]
NOTES: Final = "digests.json"
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
    cluster: str | None = None,
) -> Built:
    """Build golden vectors into a folder.

    out: new, empty, or an earlier (perhaps interrupted) build.   suites, contracts: names to build; None: any. With neither and frozen
    the frozen selection is built: files and DIGESTS.sha256.   jobs: processes.   progress: told (stem, suites done, all suites).
    shard: (i, n): of the suites, sorted by name, the i-th of every n, i from 1; all n shards in one folder, or merged, are one run.
    cluster: workers instead of processes (emu.base.cluster); their suites are written here, so they need not share a disk.
    The same spec gives the same bytes whatever jobs and cluster are.
    Raises: SpecError (unknown contract or suite), FileError (a foreign folder, one that another command fills, no plan), EngineError
    (implementations differ: that suite is not written); as emu.spec.carried.results.
    Tests: tests/vectors/test_vectors_build.py, tests/vectors/test_vectors_builders.py, tests/vectors/test_vectors_cluster.py.
    """
    plans = _part(*_chosen(suites, contracts, frozen), shard)
    with _staying(out):
        return _build(out, *plans, max(1, jobs), cluster, progress)


@contextmanager
def _staying(out: Path) -> Iterator[None]:
    """Fill a folder as the only command, and say of an error that what is there stays. Raises: FileError."""
    try:
        check_folder(out)
        out.mkdir(parents=True, exist_ok=True)
        with only_writer(out):
            yield
    except OSError as error:
        raise FileError(f"{out}: {error.strerror or error}: what is finished stays, run the same command to go on") from None


def build_part(out: Path, suites: Iterable[str], contracts: Iterable[str], jobs: int, progress: Progress | None) -> Built:
    """Build into a folder that goes when this fails, as part of another result.

    Arguments and errors: as build; OSError (a full disk), which is said of that result.
    """
    return _build(out, *_chosen(suites, contracts, False), max(1, jobs), None, progress)


def _build(
    out: Path, shipped: Sequence[SuitePlan], digests: Sequence[SuitePlan], jobs: int, cluster: str | None, progress: Progress | None
) -> Built:
    """Build the plans that are not there yet, then sign the folder."""
    scratch = out / SCRATCH
    scratch.mkdir(parents=True, exist_ok=True)
    report = _Report(progress, len(shipped) + len(digests))
    known = _known_digests(scratch)
    todo, skipped = _split(shipped, out)
    hashes = {plan.stem: known[plan.stem][1] for plan in digests if known.get(plan.stem, ("",))[0] == _key(plan)}
    for stem in (*skipped, *hashes):
        report(stem)
    tasks = _tasks(todo, [plan for plan in digests if plan.stem not in hashes])
    keys = {plan.stem: _key(plan) for plan in digests}
    for _, found in results(partial(_several, out if cluster is None else None), tasks, jobs, cluster):
        for made in found:
            report(made.stem)
            _put(made, out)
            if made.stem in keys:
                hashes[made.stem] = made.digest
                known[made.stem] = (keys[made.stem], made.digest)
                replace_text(scratch / NOTES, json.dumps(known))
    finish(out, {plan.operation.name.op for plan in (*shipped, *digests)}, hashes, jobs)
    shutil.rmtree(scratch)
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
        if any(parse(name).op == "operate" for name in names or ()):
            hint = f": of operations on numbers those have suites that {NAMED.name} names, `emu check` tries any"
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
        if path.name in (BENCH, SCRATCH):
            continue
        foreign = [file.name for file in path.iterdir() if stem_of(file.name) is None and file.name not in (*OTHER_FILES, SCRATCH)]
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


class _Task(NamedTuple):
    """Suites of one contract: they go to one process, which chooses their rows once. digested: those whose rows are not written."""

    contract: str
    written: tuple[str, ...]
    digested: tuple[str, ...]


class _Made(NamedTuple):
    """A suite that was made. files: its files by name, where the process that made it does not write them itself."""

    stem: str
    digest: str
    files: dict[str, bytes]


def _tasks(written: Sequence[SuitePlan], digested: Sequence[SuitePlan]) -> list[_Task]:
    """Return what is to do, the longest first."""
    groups: dict[str, tuple[list[SuitePlan], list[SuitePlan]]] = {}
    for plans, place in ((written, 0), (digested, 1)):
        for plan in plans:
            groups.setdefault(plan.stem.rpartition("__")[0], ([], []))[place].append(plan)
    long_first = sorted(groups.values(), key=lambda group: -max(plan.inputs.rows for plan in (*group[0], *group[1])))
    return [
        _Task(str((*group[0], *group[1])[0].operation.name), *(tuple(plan.stem for plan in plans) for plans in group))
        for group in long_first
    ]


def _several(out: Path | None, task: _Task) -> list[_Made]:
    """Write or digest the suites of a task. out: where to; None: the files are handed back."""
    name = parse(task.contract)
    plans = {plan.stem: plan for plan in plans_of(name, families()[name])}
    if out is not None:
        return [_one(plans[stem], out) for stem in task.written] + [_Made(stem, digest_suite(plans[stem]), {}) for stem in task.digested]
    with temporary_folder("build") as folder:
        made = _several(folder, task)
        names = {path.name: path for path in sorted(folder.glob("*/*")) if path.is_file()}
        return [one._replace(files={name: path.read_bytes() for name, path in names.items() if stem_of(name) == one.stem}) for one in made]


def _put(made: _Made, out: Path) -> None:
    """Write the files of a suite and move them into their folder, the JSON file last."""
    folder = out / made.stem.partition("__")[0]
    folder.mkdir(exist_ok=True)
    for name, data in sorted(made.files.items(), key=lambda item: (item[0].endswith(".json"), item[0])):
        (out / SCRATCH / name).write_bytes(data)
        os.replace(out / SCRATCH / name, folder / name)


def _one(plan: SuitePlan, out: Path) -> _Made:
    """Write one suite."""
    folder = out / plan.operation.name.op
    digest = write_suite(plan, folder, out / SCRATCH)
    wrong = manifest.of_stem(plan.stem)
    if not wrong:
        return _Made(plan.stem, digest, {})
    suite = load(folder, plan.stem)
    for erratum in wrong:
        suite = apply_erratum(suite, erratum, grown=True)
    suite = Suite(suite.record | {"vectors_version": manifest.VECTORS_VERSION}, suite.layout, suite.rows)  # this version has them
    _put(_Made(plan.stem, "", {name: text.encode("ascii") for name, text in render(suite).items()}), out)
    return _Made(plan.stem, str(suite.record["rows_sha256"]), {})


def finish(out: Path, operations: set[str], hashes: dict[str, str], jobs: int = 1) -> None:
    """Write ERRATA.json, DIGESTS.sha256, COVER.json and MANIFEST.sha256 of each operation's folder."""
    tasks = [(out / op, {stem: digest for stem, digest in hashes.items() if stem.startswith(f"{op}__")}) for op in sorted(operations)]
    for _ in done_by_processes(_sign, tasks, jobs):
        pass


def _sign(task: tuple[Path, dict[str, str]]) -> None:
    """Write what tells of all suites of one operation. task: its folder; digests of suites that are not written."""
    folder, hashes = task
    folder.mkdir(exist_ok=True)
    present = {stem_of(path.name) for path in folder.iterdir()}
    own = [erratum for erratum in manifest.RELEASED if erratum["stem"] in present]
    replace_text(folder / manifest.ERRATA, manifest.render_errata(own))
    replace_text(folder / manifest.DIGESTS, manifest.render_digests(manifest.read_digests(folder) | hashes))
    write_cover(folder)
    replace_text(folder / manifest.MANIFEST, manifest.render_manifest(folder))


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
    with _staying(out):
        (out / SCRATCH).mkdir(exist_ok=True)
        for name, file in sources.items():
            (out / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(file, out / SCRATCH / file.name)
            os.replace(out / SCRATCH / file.name, out / name)
        finish(out, {name.partition("/")[0] for name in sources} | {stem.partition("__")[0] for stem in digests}, digests)
        shutil.rmtree(out / SCRATCH)
    return len(sources)


def _take(sources: dict[str, Path], name: str, file: Path) -> None:
    """Note a file. Raises: FileError (another one of this name differs)."""
    known = sources.setdefault(name, file)
    if known != file and known.read_bytes() != file.read_bytes():
        raise FileError(f"{file}: differs from {known}: the builds are of different specs or versions")
