"""Text of strangers in what emu writes: every free field of each kind of spec file opens nothing in C, SystemVerilog, Markdown and HTML."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.strangers import OBJECTS, PROSE, ROOT, SIGNS, compiled, live_in_page, twin

from emu.base.errors import EmuError
from emu.base.text import in_comment, in_script
from emu.cli.main import run
from emu.deliver.semantics import semantics_page
from emu.rtl.export.functions import golden
from emu.rtl.portmap.environment import environment
from emu.rtl.portmap.file import load_map
from emu.rtl.simulate.vhdl import as_verilog
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


def test_a_wrapper_has_the_name_of_its_map_in_a_comment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = ROOT / "vectors" / "bench" / "examples"
    shutil.copytree(examples, tmp_path / "examples")
    path = tmp_path / "examples" / "a\nINJECTED \\.yaml"
    shutil.copyfile(examples / "fp4_pack2.yaml", path)
    assert run(["rtl", "wrap", str(path)]) == 0
    text = capsys.readouterr().out
    assert "INJECTED" in text and "INJECTED" not in code(text)


EXPORTS = {
    "c.h": "--package c", "sv.sv": "--package sv", "layout.sv": "--layout my_sf128x4", "decode.v": "decode/my_e2m1 --golden verilog",
    "product.v": "product/my_e2m1xe4m3 --golden verilog", "sum.v": "group_sum/my_e2m1xe2m1/2 --golden verilog",
    "convert.v": "convert/my_e2m1/my_sr_ptx_share16/my_nvidia --golden verilog",
}  # fmt: skip
# Which tool reads the text of each template. A template that holds no text of a stranger goes from emu to its tool in these tests.
READ_BY = {
    "package.c.j2": "cc", "package.sv.j2": "iverilog", "layout.sv.j2": "iverilog", "wrapper.sv.j2": "iverilog", "streams.sv.j2": "iverilog",
    "environment.sv.j2": "iverilog", "parts.sv.j2": "part of the three before",
    "bench.sv.j2": "tests/rtl/test_rtl_netlist.py", "compare.v.j2": "tests/rtl/test_rtl_prove.py",
    "prove.v.j2": "tests/rtl/test_rtl_prove.py",
    "lemmas.v.j2": "tests/rtl/test_rtl_prove_lanes.py", "replay.sv.j2": "tests/rtl/test_rtl_prove.py",
    "sequence.v.j2": "tests/rtl/test_rtl_prove_sequence.py", "sequence_replay.sv.j2": "tests/rtl/test_rtl_prove_sequence.py",
}  # fmt: skip  # no VHDL: emu reads it (emu/rtl/simulate/vhdl.py) and writes none, and vectors/bench/vhdl is written by hand
MAPS = sorted(path.stem for path in (ROOT / "vectors" / "bench" / "examples").glob("*.yaml"))


def test_each_template_of_code_has_a_reader() -> None:
    assert {path.name for path in TEMPLATES} == {*READ_BY}
    assert all((ROOT / reader).is_file() for reader in READ_BY.values() if "/" in reader)
    assert not [path for path in TEMPLATES if path.suffixes[0] == ".vhd"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EXPORTS)
def test_a_tool_takes_what_is_exported(mine: None, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert run(["rtl", "export", *EXPORTS[name].split(), "-o", str(out)]) == 0
    compiled(out)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MAPS)
def test_a_tool_takes_the_wrapper_and_the_environment_of_a_map(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    examples = tmp_path / "examples"
    shutil.copytree(ROOT / "vectors" / "bench" / "examples", examples)
    path = examples / "a\nINJECTED *| \\ `INJECTED ??|.yaml"
    text = (examples / f"{name}.yaml").read_text(encoding="utf-8")
    path.write_text(re.sub(r'((?:title|why): )"[^"\n]*"', lambda found: f'{found[1]}"{SIGNS}"', text), encoding="utf-8")
    file = load_map(path)
    if any(design.suffix == ".vhd" for design in file.files) and shutil.which("ghdl") is None:
        pytest.skip("ghdl is not here, and this design is VHDL")
    sources = as_verilog(file.files, file.map.module, tmp_path)
    assert run(["rtl", "wrap", str(path)]) == 0
    (tmp_path / "wrapper.sv").write_text(capsys.readouterr().out, encoding="utf-8")
    compiled(tmp_path / "wrapper.sv", *sources, macros=["TC_N=1"])
    assert file.map.contract is not None
    made = environment(file.map, golden(file.map.contract, file.map.source).layout, path.name, 2, 16)
    (tmp_path / "environment.sv").write_text(made.text, encoding="utf-8")
    compiled(tmp_path / "environment.sv", *sources)


@pytest.mark.parametrize(
    ("name", "text"), [("a.c", "*/ x"), ("a.sv", "package p;\n`INJECTED\nendpackage"), ("a.v", "module"), ("a.sh", "(")]
)
def test_a_tool_refuses_what_is_live(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        compiled(tmp_path / name)


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


def test_pages_have_it_as_text(mine: None, tmp_path: Path) -> None:
    assert run(["docs", "build", "--out", str(tmp_path / "pages"), "--quiet"]) == 0
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "pages").rglob("*.md")}
    assert len(pages) > len(OBJECTS)
    assert {name: found for name, text in pages.items() if (found := live_in_page(text))} == {}
    assert sum("INJECTED" in text for text in pages.values()) >= len(OBJECTS)


@pytest.mark.parametrize("text", ["<script>INJECTED</script>", "[a](INJECTED)", "![a](INJECTED)", "<INJECTED:x>", "[a]: INJECTED\n\n[a]"])
def test_live_text_is_seen(text: str) -> None:
    assert live_in_page(text)


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
