"""A link or a descriptor that a stranger sends: nothing of it is live in the page, nor in what the page hands over to be copied."""

import ast
import shutil
import subprocess

import pytest
from support.descriptor_samples import sealed
from support.explorer import answers, link

from emu.engines.c_ref import c_reference
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.spec import get

WORDS = ("<img src=x onerror=globalThis.LIVE=1>", "x;touch INJECTED", '"); INJECTED(); ("', "$(INJECTED)", "`INJECTED`", "'", "x\nINJECTED")
FIELDS = {"number": ("from", "to", "round", "policy", "code"), "block": ("a", "b", "from"), "dot": ("m1", "m2"),
          "layout": ("layout", "rows"),
          "dequantize": ("recipe", "profile"), "tensor": ("recipe",)}  # fmt: skip
BUTTONS = ("copy-shell", "copy-python", "copy-c", "copy-row")
CLICKED = """const out = [], at = id => document.querySelector(`#${id}`), wait = () => new Promise(done => setTimeout(done));
for (const hash of LINKS) {
  location.hash = hash; await wait(); await wait();
  at("copy-link").click();
  const before = explorer.copied(), said = {live: globalThis.LIVE || document.querySelectorAll("img, script[src]").length,
    copied: []};
  for (const id of BUTTONS) {
    at(id).click();
    if (explorer.copied() !== before) said.copied.push(explorer.copied());
    at("copy-link").click();
  }
  out.push(said);
}
return out;"""


def clicked(page: str, folder, links: list[str]) -> list[dict]:
    """What is live in the page of each link, and what its buttons copy."""
    found = answers(page, f"const LINKS = {links!r}, BUTTONS = {list(BUTTONS)};{CLICKED}", folder)
    assert isinstance(found, list) and len(found) == len(links), found
    return found


def test_a_link_with_signs_in_a_name_copies_nothing(page, tmp_path):
    links = [link(room, **{field: word}) for room, fields in FIELDS.items() for field in fields for word in WORDS]
    for hash_, said in zip(links, clicked(page, tmp_path, links), strict=True):
        assert not said["live"], hash_
        assert not [text for text in said["copied"] if "INJECTED" in text or "<img" in text], (hash_, said)
    names = [f"x {word}\x1b[201~\u202e\u3164\U000e0041" for word in WORDS]
    for name, said in zip(names, clicked(page, tmp_path, [link("tensor", tensor=name) for name in names]), strict=True):
        (line,) = said["copied"]
        told = subprocess.run(["bash", "-c", f"emu() {{ printf '%s\\0' \"$@\"; }}\n{line}"], capture_output=True, text=True, cwd=tmp_path)
        assert not said["live"] and line.isprintable() and told.stdout.split("\0")[-2] == name, line


@pytest.fixture
def own() -> str:
    """A descriptor whose remark ends a string of Python, and one of C where ??/ is a backslash."""
    text = descriptor_text([get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia")])
    remark = '# """; INJECTED = 1; """ \\ ??/"; int INJECTED; char *x = "'
    return sealed("\n".join(["emu descriptor 1", remark, *text.splitlines()[1:], ""]))


def test_a_descriptor_is_a_text_in_what_is_copied(page, tmp_path, own):
    asked = {"from": "bf16", "code": "0x4000", "to": "e2m1", "round": "rne", "policy": "nvidia"}
    (said,) = clicked(page, tmp_path, [link("number", own=own, **asked)])
    python = [text for text in said["copied"] if text.startswith("import numpy")]
    code = [text for text in said["copied"] if "int main" in text]
    assert len(python) == len(code) == 1 and "INJECTED" in python[0] and "INJECTED" in code[0]
    names = {node.id for node in ast.walk(ast.parse(python[0])) if isinstance(node, ast.Name)}
    assert "Library" in names and "INJECTED" not in names
    if shutil.which("gcc"):
        (tmp_path / "main.c").write_text(code[0])
        words = ["gcc", "-std=c99", "-E", "-P", f"-I{c_reference()}", "main.c"]
        found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert "emu_measure_descriptor" in found and "INJECTED" not in "".join(part for part in found.split('"')[::2])
