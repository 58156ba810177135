"""Sweeps one after the other, leaf by leaf on several processes; what is done outlives a kill. Digests depend on neither."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.atomic import whole_file
from emu.base.caches import bounded
from emu.base.errors import EngineError
from emu.base.inputs import read_json
from emu.base.workers import in_order
from emu.spec.carried import results as results_of
from emu.vectors.sweep.inputs import count_inputs, count_leaves
from emu.vectors.sweep.judge import Leaf, engines_for, judge
from emu.vectors.sweep.space import Sweep, find

SHARD: Final = 4
SAVE_EVERY: Final = 16  # shards
Progress = Callable[[str, int, int], None]


class Result(NamedTuple):
    """A whole sweep, equal in all engines. exact: inputs that the exact engine derived too.   codes_sha256: over the digests of its leaves.
    code_sha256: of the engines' own files."""

    sweep: Sweep
    engines: tuple[str, ...]
    inputs: int
    exact: int
    codes_sha256: str
    code_sha256: str


class _Task(NamedTuple):
    """Some leaves of a sweep. A worker makes the sweep of its name again."""

    name: str
    first: int
    leaves: int
    engines: tuple[str, ...]
    codes: range | None


def run(
    sweeps: Sequence[Sweep],
    state: Path | None = None,
    engines: Sequence[str] | None = None,
    jobs: int = 1,
    codes: range | None = None,
    shard: int = SHARD,
    finished: Callable[[Result], None] | None = None,
    progress: Progress | None = None,
    cluster: str | None = None,
) -> list[Result]:
    """Run sweeps in order.

    state: file that keeps what is done, so that the same call goes on after a kill; it is removed at the end.   engines: only these.
    jobs: processes.   codes: of finite sweeps only these source codes.   shard: leaves a task has.
    finished: told each result as it is there.   progress: told (name, inputs done, inputs of all).
    cluster: workers instead of processes (emu.base.cluster).
    Returns: the results of this call.
    Raises: EngineError with the first differing input (kind Differs), no engine; FileError; as emu.spec.carried.results.
    """
    chosen = {sweep.name: engines_for(sweep, engines) for sweep in sweeps}
    done = _Done(state, {sweep.name: _identity(sweep, chosen[sweep.name], codes) for sweep in sweeps})
    total, count = sum(count_inputs(sweep, codes) for sweep in sweeps), 0
    results = []
    tasks = _tasks(sweeps, chosen, done, shard, codes)
    shards = in_order(results_of(_one, tasks, jobs, cluster))
    try:
        for sweep in sweeps:
            if sweep.name not in done.finished:
                while len(done.leaves.get(sweep.name, [])) < count_leaves(sweep, codes):
                    _take(sweep, next(shards), done)
                    if progress is not None:
                        progress(sweep.name, count + sum(inputs for _, inputs, _ in done.leaves[sweep.name]), total)
                results.append(_result(sweep, chosen[sweep.name], done.leaves.pop(sweep.name)))
                if finished is not None:
                    finished(results[-1])
                done.finish(sweep.name)
            count += count_inputs(sweep, codes)
    except BaseException:
        done.save()
        raise
    finally:
        shards.close()
    done.remove()
    return results


def _identity(sweep: Sweep, engines: tuple[str, ...], codes: range | None) -> str:
    """Return what must be the same for leaves judged earlier to count."""
    return sha256(repr([code_sha256(), sweep.name, sweep.spec_sha256, engines, codes]).encode()).hexdigest()


class Differs(EngineError):
    """Engines, or the reference model, disagree; the message names the first differing input."""


def _take(sweep: Sweep, found: list[Leaf], done: _Done) -> None:
    """Note the leaves of a shard. Raises: Differs."""
    for leaf in found:
        if leaf.difference is not None:
            raise Differs(leaf.difference)
        done.leaves.setdefault(sweep.name, []).append((leaf.digest, leaf.inputs, leaf.exact))
    done.tick()


def _result(sweep: Sweep, engines: tuple[str, ...], leaves: list[tuple[str, int, int]]) -> Result:
    digest = sha256(b"".join(bytes.fromhex(leaf[0]) for leaf in leaves)).hexdigest()
    inputs, exact = sum(leaf[1] for leaf in leaves), sum(leaf[2] for leaf in leaves)
    return Result(sweep, engines, inputs, exact, digest, code_sha256())


def _tasks(sweeps: Sequence[Sweep], engines: dict[str, tuple[str, ...]], done: _Done, shard: int, codes: range | None) -> list[_Task]:
    """Return the shards still to do, in order; a shard never reaches into the next sweep."""
    found = []
    for sweep in sweeps:
        if sweep.name not in done.finished:
            last = count_leaves(sweep, codes)
            first = len(done.leaves.get(sweep.name, []))
            found += [_Task(sweep.name, start, min(shard, last - start), engines[sweep.name], codes) for start in range(first, last, shard)]
    return found


def _one(task: _Task) -> list[Leaf]:
    """Judge the leaves of a task up to the first that differs."""
    sweep = find(task.name)
    found: list[Leaf] = []
    for leaf in range(task.first, task.first + task.leaves):
        found.append(judge(sweep, leaf, task.engines, task.codes))
        if found[-1].difference is not None:
            break
    return found


class _Done:
    """What is done: the identities of finished sweeps, and the leaves of the one under way; on disk as a whole file."""

    def __init__(self, path: Path | None, identities: dict[str, str]) -> None:
        self.path, self.identities, self.ticks = path, identities, 0
        self.leaves: dict[str, list[tuple[str, int, int]]] = {}
        kept = {"finished": {}, "leaves": {}} | self._read()
        self.finished = {name for name, identity in identities.items() if kept["finished"].get(name) == identity}
        for name, (identity, rows) in kept["leaves"].items():
            if identities.get(name) == identity:
                self.leaves[name] = rows

    def _read(self) -> dict[str, Any]:
        """Return the file's content; one that is missing, or is no state, counts as nothing."""
        if self.path is None:
            return {}
        try:
            found = read_json(self.path, "ascii", own=True)
            finished = {str(name): str(identity) for name, identity in found["finished"].items()}
            leaves = {
                str(name): (str(identity), [(bytes.fromhex(digest).hex(), int(inputs), int(exact)) for digest, inputs, exact in rows])
                for name, (identity, rows) in found["leaves"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
        return {"finished": finished, "leaves": leaves}

    def finish(self, name: str) -> None:
        """Note a finished sweep."""
        self.finished.add(name)

    def tick(self) -> None:
        """Save now and then."""
        self.ticks += 1
        if self.ticks % SAVE_EVERY == 0:
            self.save()

    def save(self) -> None:
        """Write the file. Raises: FileError."""
        if self.path is not None:
            finished = {name: self.identities[name] for name in sorted(self.finished)}
            leaves = {name: [self.identities[name], rows] for name, rows in self.leaves.items()}
            with whole_file(self.path, force=True) as file:
                file.write(json.dumps({"finished": finished, "leaves": leaves}).encode("ascii"))

    def remove(self) -> None:
        """Forget the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


# The digest of the code that a sweep judged: a later reader sees whether the engines have changed since.


ENGINES: Final = ("exact", "numpy", "c_ref", "native")


@bounded(1)
def code_sha256() -> str:
    """Return one sha256 over what converts: modules of the engines that `convert` imports, the kernels, C sources of conversions.

    Of the C reference it is the digest that was compiled in, so that code of other operations leaves a record valid.
    """
    from emu.engines.c_ref._c import ffi, lib

    digest = sha256(ffi.string(lib.emu_convert_digest))
    for path in sorted(code_files()):
        digest.update(path.as_posix().encode() + b"\0" + (Path(str(files("emu"))) / path).read_bytes())
    return digest.hexdigest()


def code_files() -> set[Path]:
    """Return the files of the engines that a conversion runs, as paths in the package."""
    root = Path(str(files("emu")))
    found: set[Path] = set()
    left = [Path("engines", engine, "convert.py") for engine in ENGINES]
    while left:
        path = left.pop()
        if path not in found and (root / path).is_file():
            found.add(path)
            modules = _imported(ast.parse((root / path).read_bytes()))
            left += [path for name in modules for path in _places(name) if path.parts[0] == "engines"]
    return found | {path.relative_to(root) for path in (root / "engines" / "native" / "kernels").iterdir() if path.suffix in (".c", ".h")}


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports, lazily or not; a name that is imported from a package may be a module too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{name.name}" for name in node.names))
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def _places(module: str) -> tuple[Path, ...]:
    """Return the files that a module of the package may be."""
    if not module.startswith("emu."):
        return ()
    path = Path(*module.split(".")[1:])
    return path.with_suffix(".py"), path / "__init__.py"
