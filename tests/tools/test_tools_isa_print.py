"""The ISA proposal printed: links of the HTML resolve, the AsciiDoc is well formed, the PDF has pages, and a missing tool is said."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.isa import PAGE, printed
from tools.isa.__main__ import main
from tools.isa.asciidoc import MAIN, asciidoc_parts
from tools.isa.printed import html_text

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
MISUSE, TOOL_MISSING, LONGEST = 2, 5, 15


def tool(*names: str) -> str:
    """Return the path of a tool; without it the test is skipped, or ends with exit code 5 where EMU_NEED_BROWSER asks for it."""
    found = next((path for name in names if (path := shutil.which(name))), "")
    if not found and os.environ.get("EMU_NEED_BROWSER"):
        pytest.exit(f"printing needs {names[0]}: apt-get install {names[0]}", TOOL_MISSING)
    if not found or not os.environ.get("EMU_NEED_BROWSER"):
        pytest.skip("EMU_NEED_BROWSER=1 prints the proposal: a step of .ci/full")
    return found


def test_links_of_the_page_lead_to_files() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT) if not target.startswith("https://")]
    assert len(targets) > 15
    assert [target for target in targets if not (ROOT / "docs" / target).is_file()] == []


def test_links_of_the_html_resolve_and_nothing_is_asked_for_from_outside() -> None:
    html = html_text(TEXT)
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(ids) == len(set(ids)) > 40
    links = re.findall(r'href="([^"]+)"', html)
    assert {link for link in links if link.startswith("#")} <= {f"#{one}" for one in ids}
    assert {link for link in links if not link.startswith("#")} <= {
        "https://github.com/riscv/riscv-opcodes",
        "https://github.com/riscv/integrated-matrix-extension",
    }
    assert '<a href="#cvt-3">CVT-3</a>' in html
    assert not re.search(r"<(?:script|img|link)\b|\bsrc=|@import|url\(", html)


def faults(parts: dict[str, str]) -> list[str]:
    """What is not well formed in AsciiDoc parts: delimiters, cells of a table, includes, headings, anchors."""
    found = [name for name, text in parts.items() if name != MAIN and f"include::{name}[]" not in parts[MAIN]]
    found += [name for name in re.findall(r"^include::(.*)\[\]$", parts[MAIN], re.MULTILINE) if name not in parts]
    anchors = [anchor for text in parts.values() for anchor in re.findall(r"\[\[(.*?)\]\]", text)]
    found += [anchor for anchor in anchors if anchors.count(anchor) > 1]
    for name, text in parts.items():
        outside = re.sub(r"^----\n.*?^----$", "", text, flags=re.MULTILINE | re.DOTALL)
        found += [f"{name}: a listing stays open"] * ("\n----" in outside)
        for table in re.findall(r"^\|===\n(.*?)^\|===$", outside, re.MULTILINE | re.DOTALL):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            found += [f"{name}: rows of {sorted(widths)} cells"] * (len(widths) != 1)
        found += [f"{name}: a table stays open"] * (len(re.findall(r"^\|===$", outside, re.MULTILINE)) % 2)
        found += [f"{name}: no heading"] * (not re.match(r"=+ \S", text))
    return found


def test_the_asciidoc_is_well_formed_and_whole() -> None:
    parts = asciidoc_parts(TEXT)
    assert faults(parts) == []
    assert len(parts) == len(re.findall(r"^## ", TEXT, re.MULTILINE)) + 1
    text = "\n".join(parts.values())
    for block in re.findall(r"^```model\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        assert f"----\n{block}----\n" in text
    assert set(re.findall(r"\*([A-Z]{2,3}-\d+)\*", TEXT)) - {"ENC-1", "ENC-5"} <= set(re.findall(r"\]\]([A-Z]{2,3}-\d+)\*", text))
    assert "11.1" not in text and "11.3" not in text


@pytest.mark.parametrize(("old", "new"), [("----\n\n", ""), ("|===\n\n", ""), ("include::formats.adoc[]", ""), ("|`+8+` |-0 ", "|`+8+` ")])
def test_faults_of_asciidoc_are_seen(old: str, new: str) -> None:
    parts = asciidoc_parts(TEXT)
    name = next(name for name, text in parts.items() if old in text)
    assert faults(parts | {name: parts[name].replace(old, new, 1)})


def test_asciidoctor_reads_it_without_a_warning(tmp_path: Path) -> None:
    command = tool("asciidoctor")
    assert main(["build", "--out", str(tmp_path), "--root", str(ROOT), "--no-pdf"]) == 0
    words = [command, "-v", "--failure-level", "WARN", "-o", str(tmp_path / "out.html"), str(tmp_path / "riscv" / MAIN)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert (tmp_path / "out.html").read_text(encoding="utf-8").count('<a id="') > 30


def test_the_pdf_prints(tmp_path: Path) -> None:
    tool(*printed.BROWSERS)
    assert main(["build", "--out", str(tmp_path), "--root", str(ROOT)]) == 0
    data = (tmp_path / "isa_proposal.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert 8 < len(re.findall(rb"/Type /Page\b", data)) <= LONGEST


def test_a_missing_browser_and_wrong_places_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(printed, "BROWSERS", ("no-such-browser",))
    assert main(["build", "--out", str(tmp_path / "out"), "--root", str(ROOT)]) == TOOL_MISSING
    assert not (tmp_path / "out").exists()
    assert main(["build", "--out", str(tmp_path / "out"), "--root", str(tmp_path)]) == MISUSE
    assert main(["build", "--out", str(tmp_path / "out"), "--root", str(ROOT), "--no-pdf"]) == 0
    assert main(["build", "--out", str(tmp_path / "out"), "--root", str(ROOT), "--no-pdf"]) == MISUSE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("emu: ") for line in lines)
