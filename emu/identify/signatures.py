"""Forms: which operands and answers a kernel of an operation may have, as contracts to declare it by; and trying them in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from emu.arrays.values import _FORMAT_OF_DTYPE as FORMAT_OF_DTYPE
from emu.base.errors import EmuError, OperandError, SpecError, TargetError
from emu.check.model import Target
from emu.contracts import form_of
from emu.contracts.form import Arrays, takes_signs
from emu.identify.model import CodesAlone, Identity
from emu.identify.run import STAGES, identify
from emu.identify.shared import recipes_of_shared_scales
from emu.spec import derive
from emu.spec.contract import parse, recipes_of_blocks
from emu.spec.models import Block, Recipe
from emu.spec.registry import get, names

Opened = Callable[[str], AbstractContextManager[Target]]
OTHER_FORM = ("shape", "dtype", "raises")  # verdicts after which another form is tried


def contracts_of(op: str, among: Sequence[str] | None = None) -> list[str]:
    """Return contracts, one for each form of an operation; a contract is its own form.

    op: an operation or a contract.   among: of dot: the datapaths.   Raises: SpecError, OperandError (an operation without forms).
    """
    if "/" in op:
        return [str(parse(op))]
    if op not in STAGES:
        raise OperandError(f"identify: {op} cannot be identified: one of {', '.join(STAGES)}")
    if op == "quantize":
        return [f"quantize/{name}" for name in (*_recipes(recipes_of_blocks()), *_recipes(recipes_of_shared_scales()))]
    if op == "dequantize":
        return [f"dequantize/{name}/{_profile(name)}" for name in (*_recipes(recipes_of_blocks()), *_recipes(recipes_of_shared_scales()))]
    if op == "convert":
        return _conversions()
    if op == "decode":
        return [f"decode/{name}" for name in _one_by_width()]
    if op == "transform":
        return [f"transform/{name}" for name in names("transform")]
    if not among:
        raise OperandError(
            "identify: a dot product needs --among with datapaths, such as blackwell_mxf4nvf4_b16_ue4m3: they say its operands"
        )
    return [str(parse(f"dot/{name}")) for name in among]


def _profile(name: str) -> str:
    recipe: Recipe = get("recipe", name)
    return next(iter(recipe.facts.dequantize))


def _recipes(among: Sequence[str]) -> list[str]:
    """Return one recipe of some for each shape, width of codes and set of levels.

    Those that read a tensor maximum or signs and draw nothing come first.
    """
    found: dict[str, str] = {}
    for name in sorted(among, key=_plainness):
        recipe: Recipe = get("recipe", name)
        block: Block = get("block", recipe.facts.block)
        levels = [(level.name, derive.codes(get("format", level.format)).bits, level.granularity) for level in block.facts.levels]
        wide = derive.codes(get("format", block.element_formats[0])).bits
        found.setdefault(str([block.facts.shape, levels, wide, _draws(recipe), takes_signs(recipe)]), name)
    return list(found.values())


def _plainness(name: str) -> tuple[bool, bool, bool, str]:
    recipe: Recipe = get("recipe", name)
    reads = any("tensor_amax" in getattr(step, "args", ()) for step in recipe.facts.steps)
    return _draws(recipe), not reads, not takes_signs(recipe), name


def _draws(recipe: Recipe) -> bool:
    return any(getattr(step, "random", None) for step in recipe.facts.steps)


def _conversions() -> list[str]:
    """Return conversions to codes of 4 and of 8 bits: one that draws nothing, and one for each width of random integers of an element.

    Then one to each further format that NumPy has as a dtype: codes that come in a dtype are of no other format.
    """
    found: dict[tuple[int, str], str] = {}
    own = sorted(fmt for fmt in FORMAT_OF_DTYPE.values() if derive.codes(get("format", fmt)).bits <= 8)
    for number, fmt in enumerate(("e2m1", "e4m3", *own)):
        for rounding in names("rounding"):
            facts = get("rounding", rounding).facts.random
            bits = 0 if facts == "none" else getattr(facts, "per_element", 0) if not hasattr(facts, "word") else -1
            for policy in names("policy") if bits == 0 or (bits > 0 and number < 2) else ():
                try:
                    found.setdefault((bits, fmt), str(parse(f"convert/{fmt}/{rounding}/{policy}")))
                except SpecError:
                    continue
                break
    order = ["e2m1", "e4m3", *own]
    return [found[key] for key in sorted(found, key=lambda key: (order.index(key[1]), key[0]))]


def _one_by_width() -> list[str]:
    found: dict[int, str] = {}
    for name in names("format"):
        bits = derive.codes(get("format", name)).bits + derive.unused_high_bits(get("format", name))
        if bits <= 8:
            found.setdefault(bits, name)
    return [found[bits] for bits in sorted(found)]


def _fuller(contract: str, found: Identity) -> str | None:
    """Return the contract of what was found where it has operands that the form of another contract did not offer; else None."""
    own = f"{found.op}/{found.found[0].partition(',')[0]}"  # of values alone: without the profile
    if found.op != "quantize" or not set(form_of(own).extras) - set(form_of(contract).extras):
        return None
    return own


def _again(contract: str, opened: Opened, asked: Mapping[str, Any]) -> Identity | None:
    """Return what a kernel is under one contract; None where it does not take its form. Raises: TargetError (another fault)."""
    try:
        with opened(contract) as target:
            return identify(target, **asked)
    except TargetError as error:
        if error.verdict not in OTHER_FORM:
            raise
        return None


class _Counted:
    """A target that counts the questions it has answered."""

    def __init__(self, target: Target) -> None:
        self.target, self.name, self.op, self.source, self.answered = target, target.name, target.op, target.source, 0

    @property
    def result(self) -> str | None:
        """Format of the values, which may be known after the first answer alone."""
        return self.target.result

    @result.setter
    def result(self, fmt: str | None) -> None:
        self.target.result = fmt

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)

    def __call__(self, operands: Arrays, *layout: str) -> Arrays:
        found = self.target(operands, *layout)
        self.answered += 1
        return found


def _fault(faults: Sequence[tuple[int, str, EmuError]]) -> EmuError:
    """Return why no form fits: the fault of the form under which a kernel answered most; codes that are too wide say the least.

    faults: questions answered, contract, fault, of each form.
    """
    _, contract, error = max(faults, key=lambda fault: (fault[0], getattr(fault[2], "verdict", "") != "dtype"))
    if len(faults) == 1 or not isinstance(error, TargetError):
        return error
    return TargetError(error.verdict, f"{error} (asked as {contract}; no form of {len(faults)} fits: --op names a contract)")


def identify_any(contracts: Sequence[str], opened: Opened, among: Sequence[str] | None, **rest: Any) -> Identity:
    """Identify a kernel whose form is not known: the contracts are tried in turn until one documented behaviour is found.

    opened: gives the target of a contract.   among, rest: as identify.
    Returns: the first documented behaviour, asked once more with the operands that it has and
    the form had not; else what agrees on the largest part. A quantizer that gives codes and no scales, or codes in a
    dtype that no recipe has, is asked as a conversion.
    Raises: TargetError (no form fits: that of the form under which it answered most), OperandError.
    """
    asked = {"among": among, **rest}
    best: Identity | None = None
    faults: list[tuple[int, str, EmuError]] = []
    for contract in contracts:
        counted = None
        try:
            with opened(contract) as target:
                counted = _Counted(target)
                found = identify(counted, **asked)
        except CodesAlone:
            if len(contracts) == 1:
                raise
            return identify_any(_conversions(), opened, among)
        except (TargetError, OperandError) as error:
            if isinstance(error, TargetError) and error.verdict not in OTHER_FORM:
                raise
            faults.append((counted.answered if counted else 0, contract, error))
            continue
        if found.kind == "documented":
            own = _fuller(contract, found) if len(contracts) > 1 else None
            return found if own is None else _again(own, opened, asked) or found
        if best is None or (found.kind == "variant", found.agreed * best.asked) > (best.kind == "variant", best.agreed * found.asked):
            best = found
    if best is not None:
        return best
    fault = _fault(faults)
    if len(contracts) > 1 and contracts[0].startswith("quantize/") and getattr(fault, "verdict", "") == "dtype":
        with suppress(TargetError, OperandError):  # codes alone, in a dtype of their own
            return identify_any(_conversions(), opened, among)
    raise fault
