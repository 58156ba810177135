"""c_ref/dpi/emu_ref_pkg.sv: the public C headers as SystemVerilog imports. Functions that DPI-C cannot carry are named, not imported."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from emu.base.errors import FileError

PATH: Final = "c_ref/dpi/emu_ref_pkg.sv"
HEADERS: Final = ("c_ref/emu_ref.h", "c_ref/dpi/emu_dpi.h")
SCALARS: Final = {"int32_t": "int", "uint8_t": "byte unsigned", "uint32_t": "int unsigned", "uint64_t": "longint unsigned"}
# structs that no function returns a handle to
PLAIN_STRUCTS: Final = tuple(f"const emu_{name}*" for name in ("value", "rounded", "matrix", "datapath", "epilogue_facts"))
HEAD: Final = """// The C reference for SystemVerilog. Generated from emu_ref.h and emu_dpi.h by: python -m tools.docs build. Do not edit.
// A chandle is a descriptor: what an emu_find_* function returns. The other functions return EMU_OK or an EMU_ERROR_* number.
package emu_ref_pkg;
"""
RESERVED: Final = {"library", "program", "property", "packed", "local", "ref", "table", "type", "var", "with"}  # words of the headers
WIDTH: Final = 138
_GLUE: Final = "~"
_ENUM: Final = re.compile(r"enum\s*\{([^}]*)\}")
_FUNCTION: Final = re.compile(r"(?:^|\n)\s*((?:const )?\w+ \**)(emu_\w+)\(([^)]*)\)\s*;")


class Parameter(NamedTuple):
    """One parameter of a C function: its type without the name, and the name."""

    kind: str
    name: str


def dpi_pages(root: Path) -> dict[str, str]:
    """Return path in the source tree -> text of the SystemVerilog package.

    root: a source tree.   Raises: FileError (a header is missing).   Tests: tests/engines/c_ref/test_c_dpi.py.
    """
    texts = [_declarations(root / header) for header in HEADERS]
    lines = [f"  localparam int {name} = {value};" for text in texts for name, value in enum_values(text)]
    left_out = []
    for text in texts:
        lines.append("")
        for result, name, parameters in functions(text):
            imported = import_of(result, name, parameters)
            if imported is None:
                left_out.append(name)
            else:
                lines += wrapped(imported)
    lines += ["", "  // not here, because they take structs or arrays:", *(f"  //   {name}" for name in left_out), "endpackage"]
    return {PATH: HEAD + "\n".join(lines) + "\n"}


def _declarations(path: Path) -> str:
    """Return the declarations of a header between its markers, without comments."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise FileError(f"{path}: missing: the DPI declarations are generated from it") from None
    return re.sub(r"/\*.*?\*/", " ", text.split("/* cdef begin */")[1].rsplit("/* cdef end */", 1)[0], flags=re.DOTALL)


def enum_values(text: str) -> Iterator[tuple[str, int]]:
    """Yield name and value of every enum constant. text: C declarations without comments."""
    for body in _ENUM.findall(text):
        for item in filter(None, (part.strip() for part in body.split(","))):
            name, _, value = item.partition("=")
            yield name.strip(), int(value, 0)


def functions(text: str) -> Iterator[tuple[str, str, list[Parameter]]]:
    """Yield result type, name and parameters of every function. text: C declarations without comments."""
    for result, name, inside in _FUNCTION.findall(text):
        parameters = []
        for part in inside.split(",") if inside.strip() != "void" else ():
            words = re.match(r"(.*?)(\w+)$", " ".join(part.split()))
            assert words is not None, f"{name}: {part}"
            parameters.append(Parameter(words[1].strip().replace(" *", "*"), words[2]))
        yield result.strip().replace(" *", "*"), name, parameters


def import_of(result: str, name: str, parameters: list[Parameter]) -> str | None:
    """Return the import of a function; None when DPI-C cannot carry a parameter."""
    formals = [formal_of(parameter) for parameter in parameters]
    returned = SCALARS.get(result) or ("string" if result == "const char*" else "chandle" if result.endswith("*") else None)
    if returned is None or None in formals:
        return None
    return f'import "DPI-C" function {returned} {name}(' + ", ".join(filter(None, formals)) + ");"


def wrapped(imported: str) -> list[str]:
    """Return an import as indented lines, broken between parameters."""
    head, *rest = imported.split(", ")
    glued = ", ".join([head, *(formal.replace(" ", _GLUE) for formal in rest)]).replace("(input ", f"(input{_GLUE}")
    return [line.replace(_GLUE, " ") for line in textwrap.wrap(glued, WIDTH, initial_indent="  ", subsequent_indent="      ")]


def formal_of(parameter: Parameter) -> str | None:
    """Return a parameter as SystemVerilog: strings, descriptors (chandle), plain pointers (output); None for arrays and other structs."""
    kind, name = parameter.kind, parameter.name + "_" * (parameter.name in RESERVED)
    if kind in SCALARS:
        return f"input {SCALARS[kind]} {name}"
    if kind == "const char*":
        return f"input string {name}"
    if kind.startswith("const emu_") and kind.endswith("*"):
        return None if kind in PLAIN_STRUCTS else f"input chandle {name}"
    if kind.endswith("*") and kind[:-1] in SCALARS:
        return f"output {SCALARS[kind[:-1]]} {name}"
    if kind in ("const emu_bits", "emu_bits"):
        return f"{'input' if kind.startswith('const') else 'output'} bit [EMU_DPI_BITS-1:0] {name}"
    return None
