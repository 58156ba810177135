"""Targets of checks that give what a contract says, but for what a test turns in it."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from emu.check.targets.python import PythonTarget, python_target
from emu.contracts import form_of
from emu.contracts.form import expect


def spoiled(contract: str, spoil: Callable[..., Any]) -> PythonTarget:
    """A target that gives the first answer of a contract, turned by spoil(answer, operands in their order)."""
    form = form_of(contract)

    def fn(*given: Any) -> Any:
        answer = expect(form, dict(zip(form.operands, given, strict=True)), "auto").arrays[next(iter(form.answers))].copy()
        return spoil(answer, given)

    fn.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in form.operands])  # type: ignore[attr-defined]
    return python_target(fn, contract, takes="numpy.bits")
