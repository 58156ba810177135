"""Text of strangers in what emu writes: every free field of each kind of spec file opens nothing in C, SystemVerilog, Markdown and HTML."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pydantic import ValidationError
from support.strangers import OBJECTS, PROSE, ROOT, SIGNS, twin

from emu.base.errors import EmuError
from emu.base.text import in_comment, in_script
from emu.cli.main import run
from emu.deliver.semantics import semantics_page
from emu.spec import get, load_spec
from emu.spec.contract import parse
from emu.spec.loader import parse as read_text
from emu.spec.models import KINDS
from emu.spec.registry import restored

HOSTILE = (SIGNS, "[x]: javascript:INJECTED")
NAMING = ("datapath", "instruction", "series")  # their facts name other things: the prose alone is free
TEXT = re.compile(r'"[^"\n]*"')
TEMPLATES = sorted(path for end in ("c", "v", "sv", "vhd") for path in (ROOT / "emu").rglob(f"*.{end}.j2"))


def valid(text: str, kind: str) -> bool:
    """Whether the model of a kind takes a file of this text; of one that changes another, what is taken is told by loading it."""
    try:
        data = read_text(text, "x.yaml").data
        return "based_on" in data or bool(KINDS[kind].model_validate(data))
    except (EmuError, ValidationError):
        return False


def loads(text: str, folder: Path, kind: str) -> bool:
    """Whether a file of this text is taken whole."""
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"my_{OBJECTS[kind]}.yaml").write_text(text, encoding="utf-8")
    with restored():
        try:
            return bool(load_spec(folder))
        except EmuError:
            return False


def pieces_of(text: str, good: Callable[[str], bool]) -> list[str]:
    """A text in pieces, between which stand the quoted fields that take any text."""
    pieces = [text]
    for found in [*TEXT.finditer(text)][::-1]:  # from the end, so that places before stay
        tried = [pieces[0][: found.start()], pieces[0][found.end() :], *pieces[1:]]
        pieces = tried if good(f'"{SIGNS}"'.join(tried)) else pieces
    return pieces


@pytest.fixture(scope="module")
def free_fields(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Kind -> the text of a file in pieces; between them stand the fields that take any text."""
    root, out = tmp_path_factory.mktemp("tried"), {}
    for kind in OBJECTS:
        if kind in NAMING:
            pieces = PROSE.split(twin(kind))
        else:
            pieces = pieces_of(twin(kind), partial(valid, kind=kind))
        assert loads(f'"{SIGNS}"'.join(pieces), root / kind, kind), kind
        assert len(pieces) > 2, kind  # the title, where a source says so
        out[kind] = pieces
    return out


@pytest.fixture(scope="module", params=HOSTILE, ids=["signs", "reference"])
def mine(request: pytest.FixtureRequest, free_fields: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A loaded folder with a file of each kind, whose free fields all hold hostile text."""
    root = tmp_path_factory.mktemp("mine")
    for kind, pieces in free_fields.items():
        (root / kind).mkdir()
        (root / kind / f"my_{OBJECTS[kind]}.yaml").write_text(f'"{request.param}"'.join(pieces), encoding="utf-8")
    with restored():
        assert len(load_spec(root)) >= len(KINDS)
        yield


def code(text: str) -> str:
    """What is left of C or SystemVerilog without comments and texts."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    "words",
    [["--package", "c"], ["--package", "sv"], ["--layout", "my_sf128x4"], ["decode/my_e2m1", "--golden", "verilog"]],
    ids=["c", "sv", "layout", "verilog"],
)
def test_code_has_it_in_comments_alone(mine: None, tmp_path: Path, words: list[str]) -> None:
    out = tmp_path / "out.h"
    assert run(["rtl", "export", *words, "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert ("INJECTED" in text) == ("--golden" not in words)
    assert "INJECTED" not in code(text)
    compiler = shutil.which("cc")
    if words == ["--package", "c"] and compiler:
        subprocess.run([compiler, "-std=c99", "-fsyntax-only", "-x", "c", out], check=True)


def test_a_wrapper_has_the_name_of_its_map_in_a_comment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = ROOT / "vectors" / "bench" / "examples"
    shutil.copytree(examples, tmp_path / "examples")
    path = tmp_path / "examples" / "a\nINJECTED \\.yaml"
    shutil.copyfile(examples / "fp4_pack2.yaml", path)
    assert run(["rtl", "wrap", str(path)]) == 0
    text = capsys.readouterr().out
    assert "INJECTED" in text and "INJECTED" not in code(text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_a_template_puts_into_a_comment_is_made_harmless(path: Path) -> None:
    holes: list[str] = []
    text = re.sub(r"{{.*?}}", lambda hole: f"{{{holes.append(hole[0]) or len(holes) - 1}}}", path.read_text(encoding="utf-8"))
    comments = re.findall(r"//[^\n]*|/\*.*?\*/", re.sub(r'"[^"\n]*"', "", text), re.DOTALL)
    inside = [holes[int(number)] for comment in comments for number in re.findall(r"{(\d+)}", comment)]
    assert [hole for hole in inside if "| comment }}" not in hole] == []


def test_templates_of_code_are_looked_at() -> None:
    assert len(TEMPLATES) > 10


@pytest.mark.parametrize("text", ["*/", "**//", "/*/", "*\\", "a\nb", "a\rb", "??/", "end\\", "\u202e", "\u2028", "*??/\n/"])
def test_comment(text: str) -> None:
    found = in_comment(text)
    assert not re.search(r"\*/|/\*|\\|\?\?/|[\n\r]", found) and found.isprintable()


def live(text: str) -> list[str]:
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


def test_pages_have_it_as_text(mine: None, tmp_path: Path) -> None:
    assert run(["docs", "build", "--out", str(tmp_path / "pages"), "--quiet"]) == 0
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "pages").rglob("*.md")}
    assert len(pages) > len(OBJECTS)
    assert {name: found for name, text in pages.items() if (found := live(text))} == {}
    assert sum("INJECTED" in text for text in pages.values()) >= len(OBJECTS)


@pytest.mark.parametrize("text", ["<script>INJECTED</script>", "[a](INJECTED)", "![a](INJECTED)", "<INJECTED:x>", "[a]: INJECTED\n\n[a]"])
def test_live_text_is_seen(text: str) -> None:
    assert live(text)


class _Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(f"{name}={value}" for name, value in attrs)]

    def handle_comment(self, data: str) -> None:
        self.found.append(data)


@pytest.mark.parametrize("contract", ["decode/my_e2m1", "quantize/my_nvfp4_te_ref", "convert/my_e2m1/my_sr_ptx_share16/my_nvidia"])
def test_the_page_of_a_delivery_has_it_as_text(mine: None, contract: str) -> None:
    page, tags = semantics_page([parse(contract)]), _Tags()
    tags.feed(page)
    assert "INJECTED" in page
    assert not {"script", "img", "svg", "textarea"} & {*tags.found} and not [item for item in tags.found if "INJECTED" in item]


def test_a_script_of_the_explorer_has_it_as_text(mine: None) -> None:
    text = in_script({"title": get("recipe", "my_nvfp4_te_ref").title + "</script><!--<script>"})
    assert "INJECTED" in text and "<" not in text
