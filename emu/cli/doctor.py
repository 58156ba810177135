"""emu doctor: is this installation able to give right answers?"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

import click

import emu
from emu.base.errors import EmuError
from emu.cli.examples.run import faults
from emu.cli.settings import common_options, note, print_json, print_table, progress, settings_of
from emu.spec import KINDS, get, names
from emu.spec.carried import facts_of_all
from emu.spec.models import PLURALS
from emu.spec.registry import broken_causes
from emu.vectors.files.manifest import VECTORS_VERSION

LIBRARIES = ("numpy", "ml_dtypes", "pydantic", "PyYAML", "safetensors", "click", "rich", "matplotlib", "cffi", "torch", "triton", "torchao")
ENGINES = {
    "exact": "emu.engines.exact",
    "numpy": "emu.engines.numpy",
    "c_ref": "emu.engines.c_ref._c",
    "native": "emu.engines.native._kernels",
    "torch": "torch",
}


class Check(NamedTuple):
    """One line of the answer. state: ok, WRONG, missing or note."""

    what: str
    state: str
    detail: str


@click.command("doctor")
@common_options
def command() -> int:
    """Check the spec (every file and every worked example, user folders too), the floating-point environment and the engines.

    Exit code 1 when a file does not load, a worked example does not hold, or the environment is unusable.
    """
    checks = [*_versions(), *_spec(), *_environment(), *_engines()]
    wrong = [check for check in checks if check.state == "WRONG"]
    if settings_of().json:
        print_json({"wrong": len(wrong), "checks": [check._asdict() for check in checks]})
    else:
        print_table(checks, ("check", "state", "detail"))
    note(f"{len(wrong)} wrong" if wrong else "all well")
    return 1 if wrong else 0


def _versions() -> Iterator[Check]:
    yield Check("emu", "note", emu.__version__)
    yield Check("spec", *_facts())
    yield Check("golden vectors", "note", f"{VECTORS_VERSION}: what this emu builds and verifies")
    yield Check("python", "note", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for library in LIBRARIES:
        try:
            yield Check(library, "note", version(library))
        except PackageNotFoundError:
            yield Check(library, "missing", "optional" if library.startswith("t") else "pip install fp4emu again")


def _facts() -> tuple[str, str]:
    """Return state and detail of the line that names the facts."""
    try:
        return "note", f"{sum(len(names(kind)) for kind in KINDS)} objects, facts {facts_of_all()}"
    except EmuError:
        return "note", "no digest: a file does not load, see below"


def _spec() -> Iterator[Check]:
    yield from (Check("spec files", "WRONG", f"{fault} ({left_out})") for fault, left_out in broken_causes().items())
    with progress() as bar:
        for kind in KINDS:
            held, total, bad = 0, 0, False
            for name in bar.track(names(kind), description=PLURALS[kind]):
                try:
                    results = list(faults(get(kind, name)))
                except EmuError as error:
                    bad = True
                    yield Check(f"{kind}/{name}", "WRONG", str(error))
                    continue
                wrong = [(number, fault) for number, fault in results if fault is not None]
                held, total = held + len(results) - len(wrong), total + len(results)
                yield from (Check(f"{kind}/{name}", "WRONG", f"worked example {number}: {fault}") for number, fault in wrong)
            state = "ok" if held == total and not bad else "note"
            yield Check(PLURALS[kind], state, f"{len(names(kind))} files, {held} of {total} worked examples hold")


def _environment() -> Iterator[Check]:
    from emu.engines.numpy.environment import check_environment

    try:
        check_environment()
        yield Check("float environment", "ok", "nearest even, subnormals kept")
    except EmuError as error:
        yield Check("float environment", "WRONG", str(error))


def _engines() -> Iterator[Check]:
    for engine, module in ENGINES.items():
        try:
            present = find_spec(module) is not None
        except ModuleNotFoundError:
            present = False
        yield Check(f"engine {engine}", "ok" if present else "missing", module + (_form() if present and engine == "native" else ""))


def _form() -> str:
    from emu.engines.native import convert as kernel

    return f", {kernel.FORMS[kernel.BEST_FORM]} form"
