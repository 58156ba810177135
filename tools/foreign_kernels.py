"""What kernels of other libraries turn out to be: every kernel checked suite by suite and identified, as plain data.

`python -m tools.foreign_kernels` writes the record docs/evidence/foreign_kernels.json; tools/docs/foreign_kernels.py makes the page of it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from emu.base.errors import EmuError, ToolError
from emu.check.libraries.model import Kernel, find, kernels
from emu.check.report.model import Report
from emu.check.run import _Checker
from emu.contracts import form_of
from emu.files.record import Record, all_open
from emu.identify.scale_steps import beside_scale_steps
from emu.spec import derive, get
from emu.spec.contract import parse

SCHEMA: Final = "emu-foreign-1"
RECORD: Final = "docs/evidence/foreign_kernels.json"
COMMAND: Final = f"python -m tools.foreign_kernels --out {RECORD}"
KIND: Final = Record("record of foreign kernels", f"make it again with {COMMAND}", all_open, ("schema", "libraries", "rows"), ascii=False)
SUITES: Final = ("directed", "exhaustive", "edges")
SHOWN: Final = 24  # most words of an operand in an example


def examine(kernel: Kernel, suite: str) -> Report:
    """Compare a kernel with its contract on one suite of SUITES. Raises: ToolError (not installed), SpecError, OperandError."""
    target = kernel.target()
    checker = _Checker(target, form_of(kernel.contract, target.source, target.result), kernel.profile, kernel.multiple)
    if suite != "edges":
        return checker.run((suite,), None, 1)
    found = beside_scale_steps(checker.form)
    if found is None:
        return Report(target.name, kernel.contract, "nothing")
    checker.questions = lambda *_: iter((found,))  # type: ignore[method-assign]
    report = checker.run(("exhaustive",), None, 1)
    if report.verdict == "too_little":  # of these rows alone: what a quantizer must reach is for the suites to say
        report.verdict, report.message = "pass", ""
    return report


def row(kernel: Kernel, identified: bool = True) -> dict[str, Any]:
    """Return everything that is published of one kernel. Raises: ToolError (its library is not installed)."""
    from emu.check.report.model import CLASSES

    reports = {suite: examine(kernel, suite) for suite in SUITES}
    verdicts = [report.verdict for report in reports.values() if report.verdict != "nothing"]
    verdict = next((word for word in verdicts if word != "pass"), "pass" if verdicts else "nothing")
    failures: dict[str, dict[str, Any]] = {}
    for suite, report in reports.items():
        for failure in report.failures:
            example = failure.example
            shown = {"operands": {name: _short(text) for name, text in example.operands.items()}}
            new = {"class": failure.name, "suite": suite, **shown, "place": example.place, "want": example.want, "got": example.got}
            failures.setdefault(failure.name, new)
    return {
        "kernel": kernel.id,
        "call": kernel.what,
        "contract": kernel.contract,
        "claim": kernel.claim,
        "note": kernel.note,
        "verdict": verdict,
        "message": next((report.message for report in reports.values() if report.message), ""),
        "suites": {
            suite: {"compared": report.compared, "differing": report.differing} for suite, report in reports.items() if report.compared
        },
        "failures": [failures[name] for name in CLASSES if name in failures],
        "identified": _identity(kernel) if identified else None,
    }


def _identity(kernel: Kernel) -> dict[str, Any] | None:
    """Return what identify says in short; None for codes and sources that are too wide for it."""
    from emu.identify.run import identify

    if not in_reach(kernel):
        return None
    try:
        found = identify(kernel.target())
    except ToolError:
        raise
    except EmuError as error:
        return {"kind": "nothing", "title": str(error), "found": [], "asked": 0, "agreed": 0}
    return {"kind": found.kind, "title": found.title, "found": list(found.found), "asked": found.asked, "agreed": found.agreed}


def in_reach(kernel: Kernel) -> bool:
    """Tell whether identify looks at formats as wide as those of a kernel's contract."""
    from emu.identify.convert import WIDE
    from emu.identify.convert_known import WIDEST

    contract, source = parse(kernel.contract), kernel.options.get("source", "fp32")
    if contract.op not in ("convert", "decode"):
        return True
    return derive.codes(get("format", contract.parts[0])).bits <= WIDEST and derive.codes(get("format", source)).bits <= WIDE


def _short(text: str) -> str:
    """Return an operand with runs of one word written once."""
    words, out = text.split(), []
    at = 0
    while at < len(words):
        same = 1
        while at + same < len(words) and words[at + same] == words[at]:
            same += 1
        out.append(words[at] if same == 1 else f"{words[at]} x{same}")
        at += same
    return " ".join(out[:SHOWN]) + (" ..." if len(out) > SHOWN else "")


def survey(
    chosen: Sequence[Kernel], before: dict[str, Any] | None = None, identified: bool = True
) -> Iterator[tuple[Kernel, dict[str, Any]]]:
    """Yield the record after every kernel, so that a long run can be written down as it goes; of libraries not installed the old rows stay.

    before: an older record.   Yields: (kernel, record).
    """
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "libraries": dict((before or {}).get("libraries", {})),
        "rows": list((before or {}).get("rows", [])),
    }
    for kernel in chosen:
        found = kernel.library.version
        if found is None:
            continue
        record["libraries"][kernel.library.name] = {"package": kernel.library.package, "version": found, "install": kernel.library.install}
        new = row(kernel, identified)
        rows = [old for old in record["rows"] if old["kernel"] != kernel.id]
        record["rows"] = sorted([*rows, new], key=lambda item: str(item["kernel"]))
        record["libraries"] = dict(sorted(record["libraries"].items()))
        yield kernel, record


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line. Returns: 0 done, 2 misuse, 5 nothing of what was named is installed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.foreign_kernels", description="check and identify the kernels of other libraries"
    )
    parser.add_argument("names", nargs="*", help="libraries or kernels, such as torchao or torchao.nvfp4; none: all that is installed")
    parser.add_argument("--out", type=Path, help="record to write; rows of other kernels in it stay")
    parser.add_argument("--no-identify", action="store_true", help="check only")
    parser.add_argument("--list", action="store_true", help="print names, contracts and what is installed, and stop")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    try:
        return _run(given)
    except EmuError as error:
        print(f"emu: {error}", file=sys.stderr)
        return 5 if isinstance(error, ToolError) else 2


def _run(given: argparse.Namespace) -> int:
    """List, or run what was named. Raises: OperandError (unknown name), ToolError (nothing of it is installed)."""
    chosen = [kernel for name in given.names for kernel in ((find(name),) if "." in name else kernels(name))] or list(kernels())
    if given.list:
        for kernel in chosen:
            print(f"foreign:{kernel.id:34} {kernel.library.version or 'not installed':16} {kernel.contract}")
        return 0
    if all(kernel.library.version is None for kernel in chosen):
        chosen[0].library.demand()
    before = KIND.read(given.out) if given.out and given.out.exists() else None
    for kernel, record in survey(chosen, before, not given.no_identify):
        row = next(item for item in record["rows"] if item["kernel"] == kernel.id)
        differing = sum(suite["differing"] for suite in row["suites"].values())
        compared = sum(suite["compared"] for suite in row["suites"].values())
        print(f"foreign:{kernel.id:34} {row['verdict']:9} {differing} of {compared} differ; {row['contract']}", flush=True)
        if given.out:
            KIND.write(given.out, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
