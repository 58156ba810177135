"""The reference pages: one for every object, links that lead somewhere, the oracle's own text, and numbers that the oracle confirms."""

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from emu.docgen import tree
from emu.docgen.grid import grid
from emu.docgen.markdown import anchor
from emu.docgen.source import closure, oracle
from emu.errors import FileError
from emu.exact.codebook import round_to_codebook
from emu.exact.decode import decode_code
from emu.exact.round import round_value
from emu.exact.value import finite
from emu.spec import KINDS, derive, get, names
from emu.spec.models.format import CodebookFacts

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
MOST_BYTES = 1_300_000
LINK = re.compile(r"\]\(([^)#]*)(#[^)]*)?\)")
NARROW = [name for name in names("format") if derive.codes(get("format", name)).bits <= 8]
TINY = Fraction(1, 1 << 200)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def headings(path: Path) -> set[str]:
    found, fenced = set(), False
    for line in text_of(path).splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            found.add(anchor(line.lstrip("#").strip()))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_has_its_page_with_title_status_and_sources(kind: str) -> None:
    assert sorted(path.stem for path in (REFERENCE / kind).glob("*.md")) == list(names(kind))
    for name in names(kind):
        thing, page = get(kind, name), text_of(REFERENCE / kind / f"{name}.md")
        assert page.startswith(f"{tree.MARK}\n\n# {kind} `{name}`\n\n**{thing.title}**\n\nStatus **{thing.status}**")
        assert all(f"`{alias}`" in page for alias in thing.aliases)
        assert all(f"| {' '.join(point.what.split()).replace('|', chr(92) + '|')} |" in page for point in thing.open)
        assert all(f"(../sources.md#{source.ref})" in page for source in thing.sources)


def test_links_lead_to_files_and_headings() -> None:
    pages = sorted(REFERENCE.rglob("*.md"))
    known = {path: headings(path) for path in pages}
    assert len(pages) > 150
    count, broken = 0, []
    for page in pages:
        for target, fragment in LINK.findall(text_of(page)):
            if target.startswith("http"):
                continue
            path = (page.parent / target).resolve() if target else page
            count += 1
            if not path.exists() or (fragment and fragment[1:] not in known.get(path, ())):
                broken.append(f"{page.relative_to(ROOT)}: {target}{fragment}")
    assert broken == [] and count > 1000


def test_the_tree_stays_small_and_its_lines_are_clean() -> None:
    pages = sorted(REFERENCE.rglob("*.md"))
    assert sum(path.stat().st_size for path in pages) < MOST_BYTES
    assert [path for path in pages if re.search(r"[ \t]$|\r", text_of(path), re.MULTILINE) or not text_of(path).endswith("\n")] == []


def test_the_oracle_is_printed_whole() -> None:
    """Every line of every module stands on its page, in the order of the file; nothing is retyped, nothing left out."""
    modules = oracle(ROOT)
    assert len(modules) > 15
    for name, module in modules.items():
        source = [line for line in text_of(ROOT / "emu" / "exact" / f"{name}.py").splitlines() if line.strip()]
        printed = [line for piece in module.pieces for line in piece.text.splitlines() if line.strip()]
        summary = [line.strip() for line in module.summary.splitlines() if line.strip()]
        assert [line for line in source if line in printed] == printed
        rest = [line.strip().strip('"') for line in source if line not in printed]
        assert [line for line in rest if line] == summary
        page = text_of(REFERENCE / "oracle" / f"{name}.md")
        assert all(piece.text in page for piece in module.pieces)


def test_functions_behind_an_operation() -> None:
    modules = oracle(ROOT)
    found = [f"{piece.module}.{piece.name}" for piece in closure(modules, ("decode", "decode_code"))]
    assert found[0] == "decode.decode_code" and {"decode.magnitude_of", "codebook.codebook_values", "value.Value"} <= set(found)
    assert not any(name.startswith("round.") for name in found)
    with pytest.raises(FileError, match=r"emu/exact/decode\.py has no decode_all: the pages name it"):
        closure(modules, ("decode", "decode_all"))


@pytest.mark.parametrize("name", NARROW)
def test_bins_are_those_of_the_oracle(name: str) -> None:
    """Just inside each edge a value rounds to the bin's own value, just outside to another; the bias follows from the edges."""
    fmt = get("format", name)
    points, nearest = grid(fmt), get("rounding", "rne")
    assert points is not None

    def rounded(number: Fraction) -> Fraction:
        if isinstance(fmt.facts, CodebookFacts):
            return decode_code(round_to_codebook(finite(number), fmt, nearest, None), fmt).signed
        return round_value(finite(number), fmt, nearest).signed

    for item in points.bins():
        assert rounded(item.low + TINY) == rounded(item.high - TINY) == item.value
        assert rounded(item.low - TINY) != item.value and rounded(item.high + TINY) != item.value
        assert item.low + item.high == 2 * item.mean
    assert len(points.bins()) > 0 or len(points.values) < 3


def test_what_the_bins_say_about_the_proposal() -> None:
    """E2M1 shrinks where its spacing doubles; the uniform grids never."""
    biases = {
        name: [(item.value, item.bias) for item in grid(get("format", name)).bins() if item.bias]
        for name in ("e2m1", "e1m2", "e0m3", "int4")
    }
    assert biases == {"e2m1": [(2, Fraction(-1, 8)), (4, Fraction(-1, 4))], "e1m2": [], "e0m3": [], "int4": []}


def test_the_same_bytes_under_another_hash_seed_and_folder(tmp_path: Path) -> None:
    script = (
        "import sys, hashlib; from pathlib import Path; from emu.docgen import tree; "
        "print(hashlib.sha256(repr(sorted(tree.pages(Path(sys.argv[1])).items())).encode()).hexdigest())"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-P", "-c", script, str(ROOT)],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed, "LC_ALL": "C"},
            capture_output=True,
            text=True,
        )
        for seed in ("1", "2")
    ]
    assert [result.stderr for result in digests] == ["", ""] and len({result.stdout for result in digests}) == 1
