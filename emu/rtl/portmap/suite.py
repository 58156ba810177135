"""The suites that judge a port map: found by stem or contract, read from a folder of golden vectors. Not here: building them (suites)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from emu.base.errors import FileError, SpecError
from emu.rtl.portmap.model import PortMap
from emu.rtl.portmap.model import Suite as SuiteName
from emu.spec.contract import parse
from emu.vectors.files import manifest
from emu.vectors.files.manifest import parse_stem
from emu.vectors.files.suite import Suite, load, render
from emu.vectors.suites.plan import SuitePlan, families, find, plans_of


def plans_for(model: PortMap, wanted: Sequence[str] = (), contract: str | None = None) -> list[SuitePlan]:
    """Return the plans that judge a design, in the order asked for.

    wanted: stems or suite names (smoke, directed, ...) in the place of the map's.   contract: in the place of the map's.
    Raises: SpecError (an unknown contract or suite name), FileError (the spec plans no such suite).
    """
    stems = [name for name in wanted if "__" in name]
    names = [name for name in wanted if "__" not in name]
    for name in names:
        if name not in get_args(SuiteName):
            raise SpecError(f"suite {name!r}: name a stem, or one of {', '.join(get_args(SuiteName))}")
    out = [find(str(parse_stem(stem))) for stem in stems]
    if names or not stems:
        out += _by_name(model, names, contract)
    operations = {plan.operation.name.op for plan in out}
    if len(operations) > 1:
        raise SpecError(f"suites of {' and '.join(sorted(operations))}: one design has one operation")
    return list({plan.stem: plan for plan in out}.values())


def _by_name(model: PortMap, names: Sequence[str], contract: str | None) -> list[SuitePlan]:
    if model.suite is not None and contract is None:
        return [find(model.suite)] if not names else [find(f"{model.suite.rpartition('__')[0]}__{name}") for name in names]
    text = contract or model.contract
    assert text is not None
    name, source = str(parse(text)), model.source
    if source is None and model.suite is not None:
        source = parse_stem(model.suite).src
    for family, aliases in families().items():
        if name in (str(family), *aliases):
            plans = [plan for plan in plans_of(family, aliases) if source in (None, plan.operation.src, _result(plan))]
            found = {plan.suite: plan for plan in plans}
            asked = names or model.suites
            chosen = [item for item in asked if item in found]
            said = bool(names) or "suites" in model.model_fields_set  # the suites that a map leaves out are those of the two that there are
            if not chosen or (said and len(chosen) < len(asked)):
                none = next(item for item in asked if item not in found)
                raise FileError(f"{name} from {source}: no suite {none}: there is {', '.join(found) or 'none at all'}")
            return [found[item] for item in chosen]
    raise FileError(f"{name}: the spec plans no suites for this contract")


def _result(plan: SuitePlan) -> str | None:
    """Return the result format where it is what a contract leaves open."""
    return plan.operation.dst if plan.operation.name.op == "dequantize" else None


def stored(plan: SuitePlan, folder: Path) -> Suite:
    """Return a suite of a folder of golden vectors, every file of it checked, against the manifest too.

    folder: of all operations, or of this one.   Raises: FileError (missing, truncated, edited, of other facts than the loaded spec).
    """
    own = folder / plan.operation.name.op
    place = own if own.is_dir() else folder
    if not (place / f"{plan.stem}.json").is_file():
        raise FileError(f"{place}: holds no {plan.stem}: leave --vectors out to build it, or name another --suite")
    suite = load(place, plan.stem)
    if suite.record["contract"]["spec_sha256"] != plan.operation.name.spec_sha256 or suite.layout != plan.operation.layout:
        raise FileError(f"{plan.stem}: made from other facts than the loaded spec: build it again")
    check_manifest(place, render(suite))
    return suite


def check_manifest(folder: Path, names: Iterable[str]) -> None:
    """Compare files with MANIFEST.sha256 of their folder. Raises: FileError (an edited file, no manifest)."""
    path = folder / manifest.MANIFEST
    if not path.is_file():
        raise FileError(f"{folder}: has no {manifest.MANIFEST}: the build did not finish, or files were taken out: build it again")
    listed = manifest.listed_files(path)
    for name in names:
        if listed.get(name) != manifest.file_sha256(folder / name):
            raise FileError(f"{name}: its sha256 is not the one of {manifest.MANIFEST}: it was edited")
