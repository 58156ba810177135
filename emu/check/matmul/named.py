"""Targets of products by text: py:module:function, file.py:function, c:lib.so:symbol, exec:command, foreign:library.kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from emu.base.errors import OperandError
from emu.check.libraries.products import find_product
from emu.check.matmul.programs import exec_gemm
from emu.check.matmul.target import GemmTarget, c_gemm, python_gemm

_OPTIONS: Final = {"c": ("signature", "packing", "scale_layout"), "exec": ("wants", "packing", "scale_layout", "seconds"), "foreign": ()}


def make(text: str, contract: str, options: Mapping[str, Any], folders: tuple[str, ...] = ()) -> GemmTarget:
    """Return the target of a text: py:module:function, file.py:function, c:lib.so:symbol, exec:command or foreign:library.kernel.

    folders: spec folders to add.   Raises: OperandError (an option it has not), ToolError, SpecError.
    """
    from emu.check.targets.named import function_of, library_of
    from emu.spec import load_spec

    for folder in folders:
        load_spec(folder, skip_broken=True)
    kind, _, rest = text.partition(":")
    given = {name: value for name, value in options.items() if value is not None}
    takes = _OPTIONS.get(kind, ("takes", "packing", "scale_layout", "device"))
    unknown = next((name for name in given if name not in takes), None)
    if unknown is not None:
        raise OperandError(f"target {text!r}: {unknown} says nothing of a product: leave --{unknown.replace('_', '-')} out")
    if kind == "exec":
        return exec_gemm(rest, contract, **given)
    if kind == "foreign":
        return find_product(rest, contract)
    if kind == "c":
        path, signature = library_of(rest, given.pop("signature", None))
        return c_gemm(path, signature, contract, **given)
    rest = rest if kind == "py" else text
    return python_gemm(function_of(rest), contract, name=rest, **given)
