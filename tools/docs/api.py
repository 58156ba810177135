"""docs/api.md: every public name with its signature and its docstring, read from the sources of a tree; nothing is imported for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import NamedTuple

from emu.base.errors import FileError
from emu.pages.render import fence

PATH = "docs/api.md"
PACKAGES = {
    "emu": "The operations: values in, codes or values out. Each takes NumPy arrays and tensors of torch; where its first argument is a "
    "tensor (or a `Quantized` of tensors), the arrays that come back are tensors on the same device. A tensor on a GPU is copied to the "
    "host and its results back; `emu.torch` computes where the tensor lies, and inside compiled graphs.",
    "emu.spec": "The objects by kind and id. `emu list` and `emu show` print them; their fields are described in "
    "[reference/spec.md](reference/spec.md).",
    "emu.torch": "The same operations on tensors, on their device, each one node of a compiled graph. Importing it needs no torch, the "
    "first use of a name does. Results of `quantize` are `QuantizedTensor(codes, levels, recipe)`, tensors all.",
    "emu.nn": "Layers whose three matrix products are quantized as a training recipe says ([howto_training.md](howto_training.md)).",
    "emu.testing": "A kernel held to a contract, in a test ([howto_kernel.md](howto_kernel.md), "
    "[howto_check_matmul.md](howto_check_matmul.md), [howto_check_attention.md](howto_check_attention.md)).",
    "emu.strategies": "Hypothesis strategies of codes, blocks, operands and spec objects, and the points where results change. "
    "Those that draw need Hypothesis.",
}
_WIDE = 110
_ITEM = re.compile(r"(`{0,2}[A-Za-z_][\w.]*`{0,2}(, `{0,2}[A-Za-z_][\w.]*`{0,2})*( / \w+)?|NaN, [\w, +-]*\w):\s")
_LEFT_OUT = ("Tests:", "Test:")


class Item(NamedTuple):
    """A public name. node: its definition; None for a module or a constant.   text: its docstring, or that of the module."""

    name: str
    node: ast.FunctionDef | ast.ClassDef | None
    text: str


def api_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page of the public names, for a tree that has the sources. Raises: FileError (an undefined name)."""
    if _file(root, "emu") is None:
        return {}
    lines = [
        "# Public functions and classes",
        "",
        (
            "Everything that is public, by package: signature, operands with their shapes and units, what comes back, errors, sources. "
            "The text is that of the docstrings, so `help(emu.quantize)` says the same. "
            "Every error derives from `emu.EmuError` and carries one line; every result is exact, the same for every `engine=`."
        ),
        "",
        (
            "`engine`: `auto` takes the quickest that can do the work; `exact` (the reference), `numpy` (NumPy), `c_ref` (the C "
            "reference), `native` (C kernels) and `torch` are the same bits, and one that cannot do the work says so."
        ),
    ]
    for package, about in PACKAGES.items():
        items = public_items(root, package)
        lines += ["", f"## {package}", "", about, ""]
        lines += [", ".join(f"[{item.name}](#{_anchor(f'{package}.{item.name}')})" for item in items)]
        for item in items:
            lines += ["", f"### {package}.{item.name}", "", *described(item)]
    return {PATH: "\n".join(lines) + "\n"}


def public_items(root: Path, package: str) -> list[Item]:
    """Return the names of a package's __all__, functions first, each with its definition."""
    tree = _parse(root, package)
    found = [definition(root, package, name) for name in _all(tree)]
    order = {ast.FunctionDef: 0, ast.ClassDef: 1}
    return sorted(found, key=lambda item: (order.get(type(item.node), 2), _is_error(item), item.name.lower()))


def definition(root: Path, package: str, name: str) -> Item:
    """Return where a name is defined, through the imports of the packages between. Raises: FileError (nowhere)."""
    tree = _parse(root, package)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return Item(name, node, ast.get_docstring(node) or "")
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in ast.unparse(node).split("=")[0].split(":")[0].split():
            return Item(name, None, ast.unparse(node))
    for imported in ast.walk(tree):
        home = imported.module if isinstance(imported, ast.ImportFrom) else None
        if isinstance(imported, ast.ImportFrom) and home and home != package and name in [alias.name for alias in imported.names]:
            return definition(root, home, name)
    if _file(root, f"{package}.{name}") is not None:
        return Item(name, None, ast.get_docstring(_parse(root, f"{package}.{name}")) or "")
    raise FileError(f"{package}: no definition of {name} was found: __all__ names what is not there")


def described(item: Item) -> list[str]:
    """Return signature and docstring as Markdown, with the public methods of a class."""
    if item.node is None:
        return paragraphs(item.text) if " = " not in item.text else [fence([item.text[: 2 * _WIDE]], "python")]
    if isinstance(item.node, ast.FunctionDef):
        return [fence(signature(item.node), "python"), *paragraphs(item.text)]
    lines = [fence(_class_line(item.node), "python"), *paragraphs(item.text)]
    if "SpecObject" in [ast.unparse(base) for base in item.node.bases]:
        return lines
    for node in item.node.body:
        if isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__call__"):
            words = [ast.unparse(decorator) for decorator in node.decorator_list]
            if "property" in words or "cached_property" in words:
                summary = " ".join(paragraphs(ast.get_docstring(node) or ""))
                lines += ["", f"`{node.name}` (property): {summary}"]
            elif not any("validator" in word for word in words):
                lines += ["", fence(signature(node), "python"), *paragraphs(ast.get_docstring(node) or "")]
    return lines


def _class_line(node: ast.ClassDef) -> list[str]:
    """Return how an object of a class is made: the fields of a record, the parameters of __init__, else the bases."""
    bases = [ast.unparse(base) for base in node.bases]
    if "NamedTuple" in bases or any("dataclass" in ast.unparse(item) for item in node.decorator_list):
        fields = [_field(item) for item in node.body if isinstance(item, ast.AnnAssign)]
        line = f"{node.name}({', '.join(fields)})"
        return [line] if len(line) <= _WIDE else [f"{node.name}(", *(f"    {field}," for field in fields), ")"]
    made = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if made is None or bases[0].endswith("Error"):
        return [f"class {node.name}({', '.join(bases)})"]
    made = copy(made)
    made.args = copy(made.args)
    made.args.args, made.name, made.returns = made.args.args[1:], node.name, None
    return signature(made)


def _field(item: ast.AnnAssign) -> str:
    return ast.unparse(item.target) + f": {ast.unparse(item.annotation)}" + (f" = {ast.unparse(item.value)}" if item.value else "")


def signature(node: ast.FunctionDef) -> list[str]:
    """Return a function's signature; one parameter a line where it is long."""
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if any(ast.unparse(item).endswith("composite") for item in node.decorator_list):  # Hypothesis gives the first argument
        node = copy(node)
        node.args = copy(node.args)
        node.args.args, result = node.args.args[1:], f" -> SearchStrategy[{ast.unparse(node.returns)}]" if node.returns else ""
    arguments = ast.unparse(node.args)
    line = f"{node.name}({arguments}){result}"
    if len(line) <= _WIDE:
        return [line]
    return [f"{node.name}(", *(f"    {part}," for part in _parts(node.args)), f"){result}"]


def _parts(given: ast.arguments) -> Iterator[str]:
    """Yield each parameter as it is written."""
    for number, parameter in enumerate(given.args):
        default = number - len(given.args) + len(given.defaults)
        yield _parameter(parameter, given.defaults[default] if default >= 0 else None)
    if given.vararg is not None or given.kwonlyargs:
        yield "*" + (ast.unparse(given.vararg) if given.vararg is not None else "")
    for parameter, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _parameter(parameter, value)
    if given.kwarg is not None:
        yield "**" + ast.unparse(given.kwarg)


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    written = ast.unparse(parameter)
    if default is None:
        return written
    return f"{written} = {ast.unparse(default)}" if parameter.annotation else f"{written}={ast.unparse(default)}"


def paragraphs(text: str) -> list[str]:
    """Return a docstring as Markdown: its sentences, then what it says of each argument and of results as a list."""
    lines: list[str] = []
    items: list[str] = []
    for block in text.split("\n\n"):
        for line in block.splitlines():
            for number, part in enumerate(re.split(r" {3,}", line.strip())):
                sentence = number == 0 and items and items[-1].endswith(".") and part[:1].isupper()
                if _ITEM.match(part) or part.startswith(_LEFT_OUT) or sentence:
                    items.append(part)
                elif items and (number == 0 or not lines):
                    items[-1] += f" {part}"
                elif number == 0 and lines and not items and lines[-1]:
                    lines[-1] += f" {part}"
                else:
                    (items or lines).append(part)
    kept = [re.sub(r"^([^:]+):", r"**\1**:", part) for part in items if not part.startswith(_LEFT_OUT)]
    body = [*lines, *([""] if lines and kept else []), *(f"- {part}" for part in kept)]
    return [re.sub(r"(?<![`\w*])\*(?=\w)", r"\\*", part) for part in body]


def _is_error(item: Item) -> bool:
    return item.name.endswith("Error")


def _anchor(heading: str) -> str:
    return heading.lower().replace(".", "")


def _all(tree: ast.Module) -> list[str]:
    """Return the names that a package says are public."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _file(root: Path, module: str) -> Path | None:
    path = root.joinpath(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _parse(root: Path, module: str) -> ast.Module:
    file = _file(root, module)
    if file is None:
        raise FileError(f"{root}: no module {module} in this tree")
    return ast.parse(file.read_text(encoding="utf-8"))
