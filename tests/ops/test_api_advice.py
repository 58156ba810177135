"""A message that names an argument as `word=` is true of every public function that can raise it: the function takes that argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.spec import derive

SOURCES = Path(emu.__file__).parent
ROOMS = ("ops", "arrays", "engines", "nn", "torch", "files")
WORD = re.compile(r"(?<![\w<{(])([a-z]\w*)=(?=$|[^=])(?:[^:]*? of ([A-Za-z]\w*))?")

# file or folder -> public functions through which its messages are raised; a message of an engine names `engine` only where that engine
# was named, or it is one of those that the tests below provoke. The longest name counts.
NAMED = ["ops/functions.py:convert", "ops/functions.py:quantize", "ops/functions.py:dequantize", "ops/functions.py:transform",
         "ops/operations.py:operate", "ops/dot.py:dot", "ops/matmul.py:matmul", "ops/quantized.py:dequantize",
         "ops/instruction/call.py:__call__"]  # fmt: skip
ROUTES = {
    "engines": NAMED,
    "ops/operands.py": ["ops/functions.py:quantize"],  # that is the function which the message sends to
    "ops/dot.py": ["ops/dot.py:dot"],
    "ops/matmul.py": ["ops/matmul.py:matmul"],
    "torch/api.py": ["torch/api.py:convert", "torch/api.py:quantize", "torch/api.py:transform"],
    "nn/convert.py": ["nn/convert.py:convert_model"],
    "nn/datapath.py": ["nn/convert.py:convert_model", "nn/layers.py:QuantLinear.__init__", "nn/experts.py:QuantExperts.__init__"],
    "nn/experts.py": ["nn/experts.py:forward"],
    "nn/operand.py": ["nn/convert.py:convert_model"],
}


def text_of(node: ast.AST) -> str | None:
    """The text of a constant or an f-string; a value in it stands as X, an `{argument}` as it is."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def advices(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and texts of messages: what a `raise`, a function that returns a line, or a table of messages holds."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    silent = {id(part) for node in ast.walk(tree) if is_silent(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        said = text_of(node)
        if said and " " in said and id(node) not in inside | silent and WORD.search(said):
            yield node.lineno, said  # type: ignore[attr-defined]


def is_silent(node: ast.AST) -> bool:
    """A docstring, or what a module prints of itself."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or (isinstance(node, ast.FunctionDef) and node.name in ("extra_repr", "__repr__"))


def parameters(place: str) -> list[set[str]]:
    """The parameters of every function of a name in a file, or in a class of it."""
    path, _, name = place.partition(":")
    tree: ast.AST = ast.parse((SOURCES / path).read_text(encoding="utf-8"))
    if "." in name:
        kind, _, name = name.partition(".")
        tree = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind)
    found = [node.args for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    return [{each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)} for args in found]


def faults(file: str, said: str) -> list[str]:
    """What is wrong with the advice of a message."""
    route = max((place for place in ROUTES if file == place or file.startswith(f"{place}/")), key=len, default=None)
    if route is None:
        return [f"{file}: no route: through which public functions is this raised?"]
    wrong = []
    for word, owner in WORD.findall(said):
        places = [place for place in ROUTES[route] if not owner or place.endswith(f":{owner}")]
        if not places:
            wrong.append(f"{file}: {owner} is no function of the route")
        wrong += [f"{file}: {place} takes no {word}" for place in places for names in parameters(place) if word not in names]
    return wrong


ALL = [
    (str(path.relative_to(SOURCES)), line, said)
    for room in ROOMS
    for path in sorted((SOURCES / room).rglob("*.py"))
    for line, said in advices(ast.parse(path.read_text(encoding="utf-8")))
]


def test_every_function_that_advises_takes_the_argument() -> None:
    assert len(ALL) > 40
    assert not [fault for file, _, said in ALL for fault in faults(file, said)]


def test_every_route_is_one_and_every_function_is_there() -> None:
    assert all(parameters(place) for places in ROUTES.values() for place in places)
    assert all(any(file == route or file.startswith(f"{route}/") for file, _, _ in ALL) for route in ROUTES)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("engines/numpy/x.py", "it has no operation add: use exact='engine'"),
        ("torch/api.py", "give a float tensor, or codes with formats="),
        ("nn/operand.py", "or list the layer in keep= of QuantLinear"),
        ("files/x.py", "cannot be read: use force=True"),
    ],
)
def test_a_wrong_advice_is_seen(file: str, said: str) -> None:
    assert faults(file, said)


@pytest.mark.cases(6)
@pytest.mark.parametrize("name", emu.spec.names("format"))
def test_functions_without_an_engine_never_advise_one(name: str) -> None:
    """Of every format, with codes in every width and beyond the last."""
    bits = derive.codes(emu.spec.get("format", name)).bits
    said: set[str] = set()
    numbers = [number for low, high in pairwise((0, 8, 16, 32, 64)) for number in (0, 2**low - 1, 2**low, 2**high - 1)]
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64):
        codes = np.array([number for number in {*numbers, 2**bits - 1, 2**bits} if number <= np.iinfo(kind).max], kind)
        for part in (codes, codes[:1], codes[codes < 2**bits] if bits < 64 else codes, codes.reshape(-1, 1)):
            for function, more in (
                (emu.amax, (name,)),
                *((emu.decode, (name, to)) for to in (np.float16, np.float32, np.float64)),
                (emu.pack, ()),
                (emu.unpack, ()),
            ):
                try:
                    function(part, *more)  # type: ignore[operator]
                except emu.EmuError as error:
                    said.add(str(error))
    assert not [line for line in said if "engine" in line or len(line.splitlines()) != 1]


NO_NUMBERS: list[Any] = [
    np.array(["x"]),
    np.array([1j]),
    np.array([True]),
    np.array([None]),
    np.array([1]),
    np.array([1.5]),
    np.array([[1.5]], "f2"),
]
CALLS = [
    (emu.convert, lambda x: emu.convert(x, "e2m1")),
    (emu.convert, lambda x: emu.convert(x, "e2m1", source="e4m3")),
    (emu.quantize, lambda x: emu.quantize(x, "nvfp4_te_ref")),
    (emu.quantize, lambda x: emu.quantize(x, "nvfp4_te_ref", source="e4m3")),
    (emu.transform, lambda x: emu.transform(x, "rht16_ufp4")),
    (emu.transform, lambda x: emu.transform(x, "rht16_ufp4", source="e4m3")),
    (emu.amax, emu.amax),
    (emu.amax, lambda x: emu.amax(x, "e4m3")),
    (emu.decode, lambda x: emu.decode(x, "e4m3")),
    (emu.operate, lambda x: emu.operate("negate", x)),
    (emu.operate, lambda x: emu.operate("negate", x, formats="e4m3")),
    (emu.dot, lambda x: emu.dot(x, x, "nv_like", a_format="e2m1", b_format="e2m1", scale_format="ue4m3")),
    (emu.matmul, lambda x: emu.matmul(x, x, "nv_like")),
    (emu.pack, emu.pack),
    (emu.unpack, emu.unpack),
    (emu.to_layout, lambda x: emu.to_layout(x, "mlx_words4")),
]  # fmt: skip


@pytest.mark.parametrize(("function", "call"), CALLS)
def test_what_is_no_number_is_told_with_arguments_that_are_there(function: Callable[..., Any], call: Callable[[Any], Any]) -> None:
    told = set()
    for x in NO_NUMBERS:
        try:
            call(x)
        except emu.EmuError as error:
            told.add(str(error))
    assert told
    assert not [(line, word) for line in told for word, _ in WORD.findall(line) if word not in signature(function).parameters]
