"""Text of strangers: what it may hold, spec files full of it, and what of it is live on a terminal."""

import ast
import json
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt
from pydantic.fields import FieldInfo

from emu.spec.loader import parse
from emu.spec.models import KINDS
from emu.spec.models.common import Names, Part

ROOT = Path(__file__).resolve().parents[2]
SIGNS = (
    "x */ __attribute__((constructor)) void INJECTED(void) /* <script>INJECTED()</script> <img src=INJECTED> </textarea> "
    "[a](javascript:INJECTED) ![b](http://INJECTED) ` <svg onload=INJECTED> `` | <!-- INJECTED ??/"
)
SHOWN = "[red]MARKUP[/red] [link=http://a.b]MARKUP[/link] $(INJECTED) ${INJECTED} {{ 7*7 }} {% if %} !!python/name:os.system -- // '"
MOVING = "\x1b]0;title\x07 \x1b[2J \x9b31m \x85 \u2028 \u202e\u2066 \u200b\U000e0041 \u3164 \r \x08 \x7f \x0c \t\nINJECTED "
HOSTILE = f"x{SIGNS} {SHOWN} {MOVING}"
FILE = "a\x1b]0;t\x07\u202e\n[red]MARKUP[|red] $(INJECTED) `INJECTED` '\""  # a name that a file may have
OBJECTS = {
    "format": "e2m1", "rounding": "sr_ptx_share16", "policy": "nvidia", "block": "nvfp4", "transform": "rht16_te", "recipe": "nvfp4_te_ref",
    "datapath": "late_c", "instruction": "prop_rht_quantize", "layout": "sf128x4", "checkpoint": "gguf_nvfp4", "training": "ufp4",
    "coverage": "dot", "series": "p3109", "epilogue": "te_nvfp4",
}  # fmt: skip
PROSE = re.compile(r'(?<=title: |where: )"[^"\n]*"')


def twin(kind: str, name: str = "") -> str:
    """The text of a shipped object under an id of a user's own. name: left out, that of OBJECTS."""
    name = name or OBJECTS[kind]
    lines = (ROOT / "spec" / kind / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("aliases:")).replace(f'id: "{name}"', f'id: "my_{name}"', 1)
    text = text.replace("cvt_rht16", "my_cvt_rht16").replace("cvt.rht16", "my_cvt.rht16").replace('"binary', '"my_binary')
    return re.sub(r"^(id: .*)$", r'\1\naliases: ["my_other"]', text, count=1, flags=re.MULTILINE) + "\n"


def write_spec(folder: Path, words: str) -> Path:
    """Write a spec file of each kind whose prose all holds some text."""
    for kind, name in OBJECTS.items():
        (folder / kind).mkdir(parents=True)
        (folder / kind / f"my_{name}.yaml").write_text(f'"{words}"'.join(PROSE.split(twin(kind))), encoding="utf-8")
    return folder


def live(text: str) -> list[str]:
    """What of a text a terminal would obey, or a reader would take for a line of emu."""
    moving = [letter for letter in text if letter not in "\n\t" and (not letter.isprintable() or letter == "\u3164")]
    eaten = re.findall(r"(?<!\])MARKUP.*", text)  # rich took the mark before it
    return [*map(ascii, moving), *eaten, *re.findall(r"^INJECTED.*", text, re.MULTILINE)]


def spoiled(data: Any, words: str = HOSTILE) -> Any:
    """Some JSON with the text in the place of every other text; names of members stay."""
    if isinstance(data, dict):
        return {key: spoiled(value, words) for key, value in data.items()}
    return [spoiled(value, words) for value in data] if isinstance(data, list) else words if isinstance(data, str) else data


def gguf(path: Path, words: str) -> Path:
    """Write a GGUF file with one MXFP4 tensor; its name, a key and a text of its metadata hold some text."""
    text = struct.pack("<Q", len(words.encode())) + words.encode()
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text + struct.pack("<I", 8) + text + text + struct.pack("<IQIQ", 1, 32, 39, 0)
    path.write_bytes(header + bytes(-len(header) % 32) + bytes(17))
    return path


def safetensors(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> Path:
    """Write a .safetensors file of float32 tensors under any names."""
    header: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at := at + array.nbytes]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values()))
    return path


Place = tuple[str | int, ...]


class Field(NamedTuple):
    """A text of a kind of file that no model bounds. what: model and field."""

    kind: str
    what: str


def _is_free(field: FieldInfo) -> bool:
    """Whether a field holds `str` itself, or lists or maps of it; ids, names and numbers carry a pattern, closed words are Literal."""

    def bound(marks: Sequence[Any]) -> bool:
        return any(getattr(mark, "pattern", None) or isinstance(mark, Names) for mark in marks)

    def free(node: Any) -> bool:
        if get_origin(node) is Annotated:
            return free(get_args(node)[0]) and not bound(get_args(node)[1:])
        inner = get_args(node)[1:] if get_origin(node) is dict else get_args(node)  # a key of a file is a bare word
        return node is str or (get_origin(node) is not Literal and any(map(free, inner)))

    return not bound(field.metadata) and free(field.annotation)


def _free(value: Any, data: Any, place: Place) -> Iterator[tuple[str, Place]]:
    """Yield (model and field, place) of free texts in a read file, those of fields that it leaves out as well."""
    if isinstance(value, Part) and isinstance(data, dict):
        for key, field in type(value).model_fields.items():
            at = (*place, field.alias or key)
            if not _is_free(field):
                yield from _free(getattr(value, key), data.get(at[-1]), at)
                continue
            held = data.get(at[-1])
            where = [*held] if isinstance(held, dict) else [0] if "tuple" in str(field.annotation) else []
            yield f"{type(value).__name__}.{key}", (*at, *where[:1])
    elif isinstance(value, dict) and isinstance(data, dict):
        for key, inner in value.items():
            yield from _free(inner, data[key], (*place, key))
    elif isinstance(value, tuple) and isinstance(data, tuple):
        for number, inner in enumerate(value):
            yield from _free(inner, data[number], (*place, number))


def free_fields() -> list[Field]:
    """Each free field of each kind once, as the models declare them."""

    def inside(node: Any) -> Iterator[type[Part]]:
        if isinstance(node, type) and issubclass(node, Part):
            yield node
            node = tuple(field.annotation for field in node.model_fields.values())
        for inner in node if isinstance(node, tuple) else get_args(node):
            yield from inside(inner)

    return [
        Field(kind, f"{model.__name__}.{key}")
        for kind in OBJECTS
        for model in dict.fromkeys(inside(KINDS[kind]))
        for key, field in model.model_fields.items()
        if _is_free(field)
    ]


def spoil(field: Field, words: str) -> tuple[str, str]:
    """A shipped object that has a place for a field, and the text of its file with some words in the first one, all else as it is.

    That of OBJECTS comes first; two empty texts: none has one.
    """
    first = OBJECTS[field.kind]
    for name in sorted((path.stem for path in (ROOT / "spec" / field.kind).glob("*.yaml")), key=lambda name: (name != first, name)):
        data = parse(twin(field.kind, name), "x.yaml").data
        if "based_on" not in data:
            for what, place in _free(KINDS[field.kind].model_validate(data), data, ()):
                if what == field.what:
                    return name, _spoiled_at(data, place, words)
    return "", ""


def _spoiled_at(data: Any, spot: Place, words: str) -> str:
    def put(data: Any, place: Place) -> Any:
        if not place:
            return words
        if isinstance(place[0], int):
            return [*(data or ())[: place[0]], put((*(data or ()), None)[place[0]], place[1:]), *(data or ())[place[0] + 1 :]]
        return {**(data or {}), place[0]: put((data or {}).get(place[0]), place[1:])}

    def written(data: Any) -> str:
        if isinstance(data, dict):
            return "{" + ", ".join(f"{key}: {written(value)}" for key, value in data.items()) + "}"
        return f"[{', '.join(map(written, data))}]" if isinstance(data, list | tuple) else json.dumps(data, ensure_ascii=False)

    return "".join(f"{key}: {written(value)}\n" for key, value in put(data, spot).items())


def compiled(path: Path, *others: Path, macros: Sequence[str] = ()) -> None:
    """Let a tool read what emu wrote: by its name. others: files that belong to it.   macros: of a bench."""
    tool, words = {
        ".c": ("cc", ["-std=c99", "-fsyntax-only", "-x", "c"]), ".h": ("cc", ["-std=c99", "-fsyntax-only", "-x", "c"]),
        ".sh": ("bash", ["-n"]), ".v": ("iverilog", ["-g2012", "-t", "null"]), ".sv": ("iverilog", ["-g2012", "-t", "null"]),
    }.get(path.suffix, ("", []))  # fmt: skip
    if not tool:
        read(path)
        return
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not here")
    package = re.search(r"^package (\w+);", path.read_text(encoding="utf-8"), re.MULTILINE)
    if package and path.suffix == ".sv":
        others = (*others, path.with_name("top.sv"))  # alone it has nothing on top
        others[-1].write_text(f"module top;\n  import {package[1]}::*;\nendmodule\n", encoding="utf-8")
    words = [*words, *(f"-D{macro}" for macro in macros), str(path), *map(str, others)]
    said = subprocess.run([tool, *words], capture_output=True, text=True, check=False)
    if said.returncode and tool == "iverilog" and "sorry" in said.stderr:  # what Icarus does not know
        if shutil.which("verilator") is None:
            pytest.skip("verilator is not here, and Icarus cannot")
        words = ["--lint-only", "-Wno-fatal", *words[3:]]
        said = subprocess.run(["verilator", *words], capture_output=True, text=True, check=False)
    assert said.returncode == 0 and not re.search("macro .* undefined", said.stderr), said.stderr[-2000:]  # a warning of Icarus


def read(path: Path) -> None:
    """Read what emu wrote as what its name says that it is."""
    text = path.read_text(encoding="utf-8") if path.suffix in (".py", ".json", ".yaml", ".yml") else ""
    if path.suffix in (".svg", ".xml"):
        ET.parse(path)
    elif path.suffix == ".py":
        ast.parse(text)
    elif path.suffix == ".json":
        json.loads(text)
    elif path.suffix in (".yaml", ".yml"):
        yaml.safe_load(text)


def live_in_page(text: str) -> list[str]:
    """What of a Markdown page a browser would run or fetch, and has the word. Links of any kind count."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.validateLink = lambda _: True  # type: ignore[method-assign]
    found: list[str] = []

    def walk(tokens: list[Any]) -> None:
        for token in tokens:
            address = str(token.attrs.get("href", "")) + str(token.attrs.get("src", ""))
            found.extend(part for part in (token.content if token.type.startswith("html") else "", address) if "INJECTED" in part)
            walk(token.children or [])

    walk(parser.parse(text))
    return found
