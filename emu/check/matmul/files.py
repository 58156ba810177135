"""Products by files: the questions of a check in one .safetensors file, the results of any machine in another.

Inputs: `<number>.a_packed`, `<number>.a_scales` ... as emu.check.matmul.target names them; results: `<number>.d`. The header key
`emu_check` of the inputs is JSON and has to be copied: contract, options, and the digest of each question. Nothing is run here.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from emu import __version__
from emu.base.errors import FileError, OperandError, TargetError
from emu.base.inputs import parse_json
from emu.check.matmul.numbers import Bits
from emu.check.matmul.pair import PREFIX, Pair, pair_of
from emu.check.matmul.report import GemmReport
from emu.check.matmul.run import Check, shapes_of
from emu.check.matmul.sets import limits_of
from emu.check.matmul.target import NAMES, SIZES, GemmTarget, result_shape
from emu.check.targets.files import HEADER
from emu.contracts.form import Arrays, integer_dtype
from emu.files.tensors import open_tensors
from emu.files.writers import tensor_writer

ASKED = ("accumulate", "operands", "reduce", "epilogue", "shapes", "count", "key", "batched", "align", "batch_invariant")
OPTIONS = (*ASKED, "packing", "scale_layout", "wants")


class _Recorder(Check):
    """A check that asks all its questions and judges none."""

    def call(self, operands: dict[str, Bits], exact: bool = True, kept: bool = True) -> Bits:
        """Keep the operands."""
        self.target.operands.append(operands)
        shape = result_shape(operands)
        return np.zeros((math.prod(shape[:-1]), shape[-1]), integer_dtype(self.pair.out))

    def judge(self, question: Any, got: Bits, wrong: Bits) -> None:
        """Nothing."""

    def other(self, got: Bits, found: Any, live: Bits) -> bool:
        """Every program stays, so that every question is asked."""
        return False


class _Kept(GemmTarget):
    """What a recorder asks."""

    def __init__(self, pair: Pair, wants: tuple[str, ...], packing: str, scale_layout: str) -> None:
        super().__init__(pair, "files", wants, packing, scale_layout)
        self.operands: list[dict[str, Bits]] = []
        self.stored = True


def wanted(pair: Pair, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return what each question of a file holds. names: None for packed codes, scales and tensor scales. Raises: OperandError."""
    if names is None:
        parts = [(f"{name}_packed", *((f"{name}_scales",) if side.scale else ()), *((f"{name}_tensor",) if side.tensor else ()))
                 for name, side in (("a", pair.a), ("b", pair.b))]  # fmt: skip
        return (*parts[0], *parts[1])
    wrong = next((name for name in names if name not in NAMES or name in ("a", "b", *SIZES)), None)
    if wrong is not None:
        known = "a_codes, a_packed, a_scales, a_tensor, the same for b, c, alpha, beta, offsets, sizes and scale_offsets"
        raise OperandError(f"wants {wrong!r}: a file holds {known}")
    return names


def recorded(about: dict[str, Any]) -> _Kept:
    """Return every question of a header's options."""
    pair = pair_of(about["contract"])
    kept = _Kept(pair, tuple(about["wants"]), about["packing"], about["scale_layout"])
    check = _check_of(_Recorder, kept, about)
    check.order_free()
    check.epilogue()
    check.envelope()
    return kept


def _check_of(kind: type[Check], target: GemmTarget, about: dict[str, Any]) -> Check:
    """Return a check with the options of a header."""
    shapes = shapes_of(target, target.pair, about["shapes"], about["batched"], about["align"])[: about["count"]]
    limits = limits_of(about["accumulate"], about["operands"], about["reduce"])
    last = about["batched"], about["align"], about["batch_invariant"]
    return kind(target, target.pair, limits, about["epilogue"], shapes, about["key"], about["shapes"] is not None, *last)


def digest_of(operands: Arrays) -> str:
    """Return the digest of the operands of a question."""
    summary = hashlib.sha256()
    for name in sorted(operands):
        array = np.ascontiguousarray(operands[name])
        summary.update(f"{name} {array.dtype.str} {array.shape}\n".encode("ascii"))
        summary.update(array.tobytes())
    return summary.hexdigest()


def emit(path: str | Path, contract: str, *, force: bool = False, wants: tuple[str, ...] | None = None, **options: Any) -> dict[str, Any]:
    """Write the questions of a check of products into one .safetensors file; whole or not at all.

    options: accumulate, operands, reduce, epilogue, shapes, count, key, packing, scale_layout, all given.   Returns: the header.
    Raises: SpecError, OperandError, FileError.
    """
    pair = pair_of(contract)
    about: dict[str, Any] = {"contract": pair.text, "version": __version__, "wants": list(wanted(pair, wants)), **options}
    kept = recorded(about)
    metadata: dict[str, str] = {}
    with tensor_writer(path, force, metadata) as writer:
        for number, operands in enumerate(kept.operands):
            for name in about["wants"]:
                writer.put(f"{number:04d}.{name}", np.asarray(kept.array(name, operands)))
        about["digests"] = [digest_of(operands) for operands in kept.operands]
        metadata[HEADER] = json.dumps(about, sort_keys=True)
    return about


class FileGemm(GemmTarget):
    """Stored results; see stored_results."""

    def __init__(self, path: Path, about: dict[str, Any], pair: Pair) -> None:
        super().__init__(pair, path.name, tuple(about["wants"]), about["packing"], about["scale_layout"])
        self.path, self.about, self.stored = path, about, True
        self.numbers = {digest: number for number, digest in enumerate(about["digests"])}

    def __call__(self, operands: Arrays) -> Arrays:
        """Return what the file holds for a question. Raises: TargetError (nothing, another shape or dtype), FileError."""
        number = self.numbers.get(digest_of(operands))
        if number is None:
            made = self.about["version"]
            raise FileError(f"{self.path}: emu {__version__} asks other questions (these are of {made}): emit again")
        with open_tensors(self.path) as file:
            name = f"{number:04d}.d"
            if all(info.name != name for info in file.tensors):
                raise TargetError("shape", f"{self.path.name} has no tensor {name}: answer every question")
            return self.answer(file.read(name), operands)


def stored_results(path: str | Path, contract: str) -> tuple[FileGemm, dict[str, Any]]:
    """Return the results of a file as a target, and its header. Raises: FileError (no such file, header or contract)."""
    file = Path(path)
    try:
        with safe_open(str(file), framework="np") as stream:
            about = parse_json((stream.metadata() or {}).get(HEADER, "null"))
    except (OSError, SafetensorError) as error:
        raise FileError(f"{file}: cannot be read as .safetensors: {error}") from None
    except ValueError:
        raise FileError(f"{file}: its {HEADER} is no JSON object: copy the metadata of the inputs unchanged") from None
    if not isinstance(about, dict) or any(name not in about for name in ("contract", "digests", "version", *OPTIONS)):
        raise FileError(f"{file}: its header has no {HEADER} of a product: copy the metadata of the inputs when writing the results")
    pair = pair_of(contract)
    if about["contract"] != pair.text or not str(about["contract"]).startswith(PREFIX):
        raise FileError(f"{file}: answers {about['contract']}, not {contract}: name that contract, or emit its inputs")
    return FileGemm(file, about, pair), about


def check_stored(path: str | Path, contract: str) -> GemmReport:
    """Judge the results of a file by the options that its header names. Raises: FileError, SpecError."""
    target, about = stored_results(path, contract)
    return _check_of(Check, target, about).run()
