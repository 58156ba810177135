"""Targets by text, as the command line names them: py:module:function, c:lib.so:symbol, exec:command, foreign:library.kernel."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from emu.base.errors import OperandError
from emu.check.model import RAISED, Target
from emu.check.targets.c import c_target
from emu.check.targets.exec import exec_target
from emu.check.targets.python import python_target

KINDS: Final = ("py", "c", "exec", "foreign")
OPTIONS: Final = {
    "py": ("takes", "gives", "wants", "source", "result", "packing", "scale_layout", "device"),
    "c": ("signature", "source", "result", "packing", "scale_layout"),
    "exec": ("gives", "wants", "source", "result", "packing", "seconds"),
    "foreign": ("gives", "source", "result"),
}


def parse_target(text: str, contract: str, **options: Any) -> Target:
    """Return the target of a text.

    text: "py:module:function", "py:file.py:function" (py: may be left out), "c:lib.so" or "c:lib.so:symbol" with a signature,
    "exec:command words", "foreign:library.kernel" (emu/check/libraries).
    options: of python_target, c_target or exec_target; None counts as not given.
    Raises: OperandError (unknown kind, an option that it has not, nothing importable), ToolError, SpecError.
    """
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        kind, rest = "py", text
    given = {name: value for name, value in options.items() if value is not None}
    unknown = next((name for name in given if name not in OPTIONS[kind]), None)
    if unknown is not None:
        raise OperandError(f"target {text!r}: {unknown} says nothing of a {kind} target: leave --{unknown.replace('_', '-')} out")
    if kind == "exec":
        return exec_target(rest, contract, **given)
    if kind == "c":
        return _library(rest, contract, given)
    if kind == "foreign":
        from emu.check.libraries.model import find

        return find(rest).target(contract, **given)
    return python_target(function_of(rest), contract, name=rest, **given)


def is_python(text: str) -> bool:
    """Tell whether a text names a Python function."""
    return text.partition(":")[0] not in KINDS[1:]


def _library(text: str, contract: str, given: Mapping[str, Any]) -> Target:
    options = dict(given)
    path, signature = library_of(text, options.pop("signature", None))
    return c_target(path, signature, contract, **options)


def library_of(text: str, signature: str | None) -> tuple[str, str]:
    """Return the path of "lib.so:symbol" and the signature of the symbol. Raises: OperandError (none, or of another symbol)."""
    path, _, symbol = text.partition(":")
    if signature is None:
        raise OperandError(f'target c:{text}: a C symbol needs its signature: --signature "f(x: const float*, n: size_t, codes: uint8_t*)"')
    named = signature.partition("(")[0].strip()
    if symbol and named != symbol:
        raise OperandError(f"target c:{text}: the signature is of {named}, not of {symbol}")
    return str(Path(path).resolve()) if Path(path).exists() else path, signature


def function_of(text: str) -> Any:
    """Import the function of "module:function" or "file.py:function". Raises: OperandError."""
    where, _, name = text.rpartition(":")
    if not where or not name:
        raise OperandError(f"target {text!r} is no target: write module:function, file.py:function, c:lib.so:symbol or exec:command")
    try:
        if where.endswith(".py"):
            module = _file(Path(where))
        else:
            if "" not in sys.path:
                sys.path.insert(0, "")
            module = importlib.import_module(where)
    except RAISED as error:
        raise OperandError(f"target {text!r} cannot be imported: {type(error).__name__}: {error}") from None
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise OperandError(f"target {text!r}: {where} has no function {name}")
    return found


def _file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(f"emu_check_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# The first thing a child process does: load the user's spec folders and make the target.


def make(text: str, contract: str, options: Mapping[str, Any], folders: tuple[str, ...] = ()) -> Target:
    """Return the target of a text; see parse_target. folders: spec folders to add. Raises: as parse_target."""
    if folders:
        from emu.spec import load_spec

        for folder in folders:
            load_spec(folder, skip_broken=True)
    if text.startswith("exec:") and isinstance(options.get("gives"), str):
        options = {**options, "gives": (options["gives"],)}
    return parse_target(text, contract, **options)
