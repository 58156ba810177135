"""emu vectors deliver: everything that a project needs of some contracts, in one folder or zip file that needs nothing of emu."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Callable, Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Any, Final, NamedTuple

import emu
from emu.base.atomic import folder_beside, whole_file
from emu.base.errors import FileError, SpecError
from emu.base.templates import filled
from emu.contracts import contract_of
from emu.contracts.columns import Column
from emu.contracts.rows import Row, is_open
from emu.deliver.semantics import objects_of, semantics_page
from emu.engines.c_ref import c_reference
from emu.engines.c_ref.descriptor_file import KINDS, descriptor_text
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import read_units
from emu.spec.contract import ContractName, parse
from emu.spec.registry import get, shipped_root
from emu.vectors.build import build_part
from emu.vectors.files.manifest import SCHEMA, VECTORS_VERSION, file_sha256
from emu.vectors.files.suite import Suite, load, stem_of

HERE: Final = Path(__file__).parent
SUMS: Final = "SHA256SUMS"
SELF_TEST: Final = "self_test.sh"
CHOSEN: Final = ("smoke", "directed", "kill", "kill_more", "bits", "sums")
IGNORED: Final = shutil.ignore_patterns("__pycache__", "*.o", "*.a", "*.so", "emu_ref", "build.py", "out", "*.pyc", "__init__.py")
NO_C: Final = ("layout", "insn")  # operations that the command emu_ref does not derive
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever a zip file is made
Progress = Callable[[str, int, int], None]


class Delivered(NamedTuple):
    """What a delivery holds: suites and rows, how many suites the C reference derives, on how many a reference design runs."""

    suites: int
    rows: int
    derived: int
    designs: int


def deliver(
    out: Path, contracts: Sequence[str], suites: Sequence[str] | None = None, jobs: int = 1, progress: Progress | None = None
) -> Delivered:
    """Write the delivery of some contracts as a new folder, whole or not at all.

    contracts: names, those of a user's own objects too.   suites: smoke, directed, kill, all, random; None: smoke, directed and kill, of
    decoders and of operations on small numbers all codes.   jobs: processes.   progress: told (what, parts done, all parts).
    Raises: FileError (out exists, no folder to put it in, no such suite), SpecError (an unknown contract or suite), EngineError.
    Tests: tests/deliver/test_deliver_folder.py.
    """
    named = _named(contracts)
    with folder_beside(_new(out)) as work:
        found = _fill(work, named, suites, jobs, progress)
        os.rename(work, out)
    return found


def deliver_zip(
    out: Path, contracts: Sequence[str], suites: Sequence[str] | None = None, jobs: int = 1, progress: Progress | None = None
) -> Delivered:
    """Write the delivery as a new zip file, whole or not at all; it unpacks into one folder. The same delivery gives the same bytes.

    Arguments and errors are those of `deliver`.
    """
    named = _named(contracts)
    with folder_beside(_new(out)) as work, whole_file(out) as stream:
        found = _fill(work, named, suites, jobs, progress)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(path for path in work.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(f"{out.stem}/{path.relative_to(work).as_posix()}", EPOCH)
                entry.external_attr = (stat.S_IFREG | (0o755 if os.access(path, os.X_OK) else 0o644)) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes())
    return found


def _new(out: Path) -> Path:
    """Return a path that may become a new folder or file. Raises: FileError."""
    if os.path.lexists(out):
        raise FileError(f"{out}: exists already: name a new folder or zip file")
    if not out.parent.is_dir():
        raise FileError(f"{out}: no such folder {out.parent}: make it first")
    return out


def _named(contracts: Sequence[str]) -> list[str]:
    """Return the names in order, each once. Raises: SpecError (none, or an unknown one)."""
    found = list(dict.fromkeys(str(parse(name)) for name in contracts))
    if not found:
        raise SpecError("no contract: name at least one, as dot/nv_like/e1m2xe1m2/ue4m3/16 (emu list contracts prints them)")
    return found


def _fill(work: Path, names: Sequence[str], suites: Sequence[str] | None, jobs: int, progress: Progress | None) -> Delivered:
    """Write everything into an empty folder."""
    tell = progress or (lambda *_: None)
    vectors = work / "vectors"
    _build(vectors, names, suites, jobs, tell)
    found = [load(folder, stem) for folder in sorted(vectors.iterdir()) for stem in _stems(folder)]
    kit = simulator.path()
    tell("benches and C reference", 0, 0)
    shutil.copytree(kit, vectors / "bench", ignore=IGNORED)
    shutil.copytree(c_reference(), work / "c_ref", ignore=IGNORED)
    contracts = {suite.stem: parse(suite.record["contract"]["name"]) for suite in found}
    tell("descriptors", 0, 0)
    (work / "descriptors").mkdir()
    described = {name: _descriptor(work / "descriptors", name) for name in dict.fromkeys(contracts.values())}
    tell("semantics", 0, 0)
    _write(work / "semantics.html", semantics_page(list(dict.fromkeys(contracts.values()))))
    designs = {stem: unit for unit in reversed(read_units(kit).values()) for stem in unit.suites}
    lines = [_line(suite, described[contracts[suite.stem]], designs.get(suite.stem), kit) for suite in found]
    _write(work / "suites.txt", "".join(f"{line}\n" for line in lines))
    done = Delivered(
        len(found),
        sum(len(suite.rows) for suite in found),
        sum(described[contracts[suite.stem]] != "skip" for suite in found),
        sum(suite.stem in designs for suite in found),
    )
    _about(work, found, done)
    sums = sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())
    _write(work / SUMS, "".join(f"{file_sha256(work / name)}  {name}\n" for name in sums))
    return done


def _build(vectors: Path, names: Sequence[str], suites: Sequence[str] | None, jobs: int, tell: Progress) -> None:
    """Build the suites: those asked for; else the chosen ones, and all rows of contracts that have no chosen ones."""
    if suites:
        build_part(vectors, suites, names, jobs, tell)
        return
    small = [name for name in names if not any(inputs.suite in CHOSEN for inputs in contract_of(parse(name)).suites())]
    for chosen, some in ((CHOSEN, [name for name in names if name not in small]), (("all",), small)):
        if some:
            build_part(vectors, chosen, some, jobs, tell)


def _stems(folder: Path) -> list[str]:
    return sorted({stem for path in folder.iterdir() if (stem := stem_of(path.name)) is not None})


def _descriptor(folder: Path, contract: ContractName) -> str:
    """Write the descriptor of a contract; return its file name, `-` where the C reference needs none, `skip` where it cannot derive it."""
    if contract.op in NO_C:
        return "skip"
    if all(thing.kind in KINDS for thing in contract.objects):
        name = str(contract).replace("/", "__") + ".txt"
        _write(folder / name, descriptor_text([get(thing.kind, thing.id) for thing in contract.objects]))
        return name
    shipped = shipped_root()
    own = [name for kind, name in objects_of([contract]) if not (shipped / kind / f"{name}.yaml").is_file()]
    return "skip" if own else "-"


def _line(suite: Suite, descriptor: str, unit: Any, kit: Path) -> str:
    """Return what self_test.sh needs to know of a suite: operation, stem, shards, rows, descriptor, reference design with its macros."""
    shards = ",".join(str(shard["file"]).removesuffix(".mem") for shard in suite.record["shards"])
    design = ",".join(file.relative_to(kit).as_posix() for file in unit.files) or "none" if unit else "-"
    wrapper = unit.wrapper.relative_to(kit).as_posix() if unit else "harness/replay.sv"
    defines = ",".join(f"{name}={value}" for name, value in unit.defines.items()) if unit else ""
    words = (suite.record["op"], suite.stem, shards, len(suite.rows), descriptor, design, wrapper, defines or "-")
    return " ".join(str(word) for word in words)


def _about(work: Path, suites: Sequence[Suite], done: Delivered) -> None:
    """Write README.md, LICENSE, VERSION and the self-test."""
    digest = hashlib.sha256("".join(f"{suite.record['rows_sha256']}  {suite.stem}\n" for suite in suites).encode("ascii")).hexdigest()
    facts = {"delivery": digest, "vectors": VECTORS_VERSION, "schema": SCHEMA, "emu": emu.__version__}
    _write(work / "VERSION", "".join(f"{name} {value}\n" for name, value in facts.items()))
    shutil.copyfile(_license(), work / "LICENSE")
    shutil.copyfile(HERE / SELF_TEST, work / SELF_TEST)
    (work / SELF_TEST).chmod(0o755)
    rows = [
        {
            "contract": suite.record["contract"]["name"],
            "status": suite.record["contract"]["status"],
            "stem": suite.stem,
            "op": suite.record["op"],
            "rows": len(suite.rows),
            "open": sum(_is_open(suite, row) for row in suite.rows),
            "stages": sum(_is_stage(column) for column in suite.layout.columns),
        }
        for suite in suites
    ]
    _write(work / "README.md", filled(HERE / "README.md.j2", suites=rows, done=done, digest=digest))


def _is_open(suite: Suite, row: Row) -> bool:
    return is_open(suite.layout, row)


def _is_stage(column: Column) -> bool:
    return column.role == "stage"


def _license() -> Path:
    """Return the licence that came with emu: of the distribution, or of the checkout for an editable install. Raises: FileError."""
    beside = Path(emu.__file__).parent.parent / "LICENSE"
    listed = [Path(str(file.locate())) for file in files("fp4emu") or () if file.name == "LICENSE"]
    found = next((path for path in (beside, *listed) if path.is_file()), None)
    if found is None:
        raise FileError("LICENSE: not where the installed emu should have it: install emu again")
    return found


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))
