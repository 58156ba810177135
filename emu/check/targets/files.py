"""Files as a target: the inputs of a check in one file, the answers of any machine in another. Names, shapes and the digest are verified.

Inputs: tensor `<number>.<operand>` for each question, floats where a format has a dtype, else unsigned codes; the header key `emu_check` is
JSON: contract, source, suites, count, key, why each question's rows are asked, and the digest of all tensors. Results: `<number>.<answer>`,
with the same header key copied. Nothing is run here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors import SafetensorError, safe_open

from emu import __version__
from emu.arrays.values import float_dtype
from emu.base.errors import FileError, TargetError
from emu.base.inputs import parse_json
from emu.check.inputs import suites as inputs
from emu.check.inputs.finite import LeftOut, finite_only
from emu.check.inputs.suites import SUITES
from emu.check.targets.answers import Reading, read
from emu.contracts import form_of
from emu.contracts.form import Arrays, Bits, Form, Question
from emu.files.tensors import open_tensors
from emu.files.writers import tensor_writer
from emu.spec.models import Format

HEADER: Final = "emu_check"
FLOATS: Final = ("fp32", "fp16", "bf16")


def questions(about: Mapping[str, Any]) -> Iterator[tuple[str, Question]]:
    """Yield (suite, question) of a header's options, in the order of the file."""
    form = form_of(about["contract"], about["source"], about["result"])
    for suite in inputs.completed(form, about["suites"]):
        found = inputs.questions(form, suite, about["takes_amax"], about, about.get("takes_signs", True))
        if about.get("finite"):
            found = finite_only(form, suite, found, tuple(about["multiple"]), LeftOut())
        yield from ((suite, question) for question in found)


def emit(
    path: str | Path,
    contract: str,
    *,
    source: str | None = None,
    result: str | None = None,
    suites: Iterable[str] = SUITES,
    count: int | None = None,
    key: int = 1,
    takes_amax: bool = True,
    takes_signs: bool = True,
    multiple: tuple[int, int] = (1, 1),
    finite: bool = False,
    shapes: Iterable[tuple[int, int]] = (),
    force: bool = False,
) -> dict[str, Any]:
    """Write the inputs of a check into one .safetensors file; whole or not at all.

    takes_amax: False puts tensor maxima into the tensors instead of an operand.   takes_signs: False asks under the signs of the
    rotation's own file alone.   finite: leave NaN and Inf out.   shapes: as in a check.
    Returns: what the header says.
    Raises: SpecError (contract), FileError (the path exists, or cannot be written).   Tests: tests/check/test_check_files.py.
    """
    form = form_of(contract, source, result)
    about: dict[str, Any] = {
        "contract": str(form.contract), "source": source, "result": result, "suites": list(suites), "count": count, "key": key,
        "takes_amax": takes_amax, "multiple": list(multiple), "finite": finite, "shapes": [list(shape) for shape in shapes],
        "version": __version__,
    } | ({} if takes_signs else {"takes_signs": False})  # fmt: skip
    metadata: dict[str, str] = {}
    summary, why = hashlib.sha256(), []
    with tensor_writer(path, force, metadata) as writer:
        number = -1
        for number, (suite, question) in enumerate(questions(about)):
            why.append({"suite": suite, "why": _runs(question.why)})
            for name, bits in question.operands.items():
                writer.put(f"{number:04d}.{name}", as_floats(bits, form.operands[name]))
                _add(summary, number, name, bits)
        about |= {"questions": number + 1, "digest": summary.hexdigest()}
        metadata[HEADER] = json.dumps(about | {"rows": why}, sort_keys=True)
    return about


def _add(summary: Any, number: int, name: str, bits: Bits) -> None:
    summary.update(f"{number} {name} {bits.dtype.str} {bits.shape}\n".encode("ascii"))
    summary.update(np.ascontiguousarray(bits).tobytes())


def _runs(why: tuple[str, ...]) -> list[list[Any]]:
    """Return reasons as runs: [[reason, rows], ...]."""
    out: list[list[Any]] = []
    for reason in why:
        if out and out[-1][0] == reason:
            out[-1][1] += 1
        else:
            out.append([reason, 1])
    return out


def as_floats(bits: Bits, fmt: Format | None) -> Any:
    """Return an operand as a file holds it: floats of a format with a dtype, else the codes."""
    return bits.view(float_dtype(fmt)) if fmt is not None and fmt.id in FLOATS else bits


class FileTarget:
    """Answers that were computed elsewhere, one question after another. wants: what the inputs held."""

    def __init__(self, path: Path, about: Mapping[str, Any], form: Form, reading: Reading) -> None:
        self.path, self.about, self.form, self.reading = path, about, form, reading
        self.name, self.op, self.source, self.result = path.name, form.op, about["source"], about["result"]
        left_out = {"tensor_amax": not about["takes_amax"], "signs": not about.get("takes_signs", True)}
        extras = tuple(name for name in form.extras if not left_out.get(name))
        self.wants, self.next, self.declared = extras, 0, reading.gives is not None
        self.deterministic = True
        self.file = open_tensors(path)
        self.names = [info.name for info in self.file.tensors]

    def __call__(self, operands: Arrays) -> Arrays:
        """Return the answers to the next question. Raises: TargetError (shape, dtype), FileError (a tensor is missing)."""
        number, self.next = self.next, self.next + 1
        prefix = f"{number:04d}."
        given = {name.removeprefix(prefix): self.file.read(name) for name in self.names if name.startswith(prefix)}
        if not given:
            raise FileError(f"{self.path}: no tensor {prefix}codes or another answer to question {number}: run all of the inputs")
        gives = self.reading.gives
        if isinstance(gives, Mapping):
            missing = [name for name in gives if name not in given]
            if missing:
                raise FileError(f"{self.path}: no tensor {prefix}{missing[0]}")
        try:
            answers, self.result = read(given, self.form, operands, self.reading, self.result)
        except TargetError as error:
            raise TargetError(error.verdict, f"{self.path.name}, question {number}: {error}") from None
        return answers


def results_target(
    path: str | Path,
    *,
    contract: str | None = None,
    gives: Mapping[str, str] | None = None,
    packing: str = "low_nibble_first",
    scale_layout: str = "row_major",
    result: str | None = None,
) -> FileTarget:
    """Return the answers of a file as a target.

    contract: what the file must be about, None: whatever its header says.   gives: name of a tensor -> name of the contract.
    Raises: FileError (no such file, no header, another contract, inputs that this version would not write).
    """
    file = Path(path)
    about = header(file)
    if contract is not None and str(form_of(contract).contract) != about["contract"]:
        raise FileError(f"{file}: answers {about['contract']}, not {contract}: name that contract, or emit its inputs")
    form = form_of(about["contract"], about["source"], about["result"])
    verify(file, about)
    target = FileTarget(file, {**about, "result": result or about["result"]}, form, Reading(gives, packing, scale_layout))
    numbers = {number: name for name in target.names if (number := name.partition(".")[0]).isdecimal()}
    more = [name for number, name in sorted(numbers.items()) if int(number) >= about["questions"]]
    if more:
        raise FileError(f"{file}: {more[0]} answers no question of the inputs, which have {about['questions']}: leave it out")
    return target


def header(path: Path) -> dict[str, Any]:
    """Return what the header of a file of inputs or results says. Raises: FileError."""
    try:
        with safe_open(str(path), framework="np") as stream:
            text = (stream.metadata() or {}).get(HEADER)
    except (OSError, SafetensorError) as error:
        raise FileError(f"{path}: cannot be read as .safetensors: {error}") from None
    if text is None:
        raise FileError(f"{path}: its header has no {HEADER}: copy the metadata of the inputs when writing the results")
    try:
        about: dict[str, Any] = parse_json(text)
        needed = ("contract", "source", "result", "suites", "count", "key", "takes_amax", "multiple", "digest", "questions")
        missing = [name for name in needed if name not in about]
    except (ValueError, TypeError):
        raise FileError(f"{path}: its {HEADER} is no JSON object: copy the metadata of the inputs unchanged") from None
    if missing:
        raise FileError(f"{path}: its {HEADER} lacks {missing[0]}: copy the metadata of the inputs unchanged")
    return about


def verify(path: Path, about: Mapping[str, Any]) -> None:
    """Make the inputs again and compare digests. Raises: FileError (another spec or version made them, or the header was changed)."""
    summary, number = hashlib.sha256(), -1
    for number, (_, question) in enumerate(questions(about)):
        for name, bits in question.operands.items():
            _add(summary, number, name, bits)
    if summary.hexdigest() != about["digest"] or number + 1 != about["questions"]:
        made = about.get("version", "an unknown version")
        raise FileError(f"{path}: its digest is not that of the inputs that emu {__version__} makes (its header is of {made}): emit again")
