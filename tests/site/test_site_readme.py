"""README.md and the site agree: what the one leads to is in the other's tree of pages, and no page of docs/ is outside it."""

import re
from pathlib import Path

from support.questions import QUESTIONS

from tools.site.build import HERE
from tools.site.faults import named

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 130
BELOW = ("held_back",)  # reached from the page of golden vectors: about suites, not about numbers


def links(path: Path) -> set[str]:
    """Return the pages of docs/ that a page links to, as paths of the site."""
    found = re.findall(r"\]\(((?:docs/)?[a-z0-9_/]+)\.md(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    return {f"{name.removeprefix('docs/')}.html" for name in found}


def test_readme_is_short_and_leads_to_pages_of_the_tree() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES
    found = links(ROOT / "README.md")
    assert len(found) > 25 and sorted(found - set(named(HERE / "mkdocs.yml"))) == []


def test_start_page_and_readme_know_the_same_readers() -> None:
    assert sorted(links(ROOT / "docs/index.md") - set(named(HERE / "mkdocs.yml"))) == []
    both = [
        re.findall(r"^\| I? ?(\w+ [^|]+?) \|", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in ("README.md", "docs/index.md")
    ]
    for word in ("RTL", "kernel", "chip", "grid", "format", "bit is", "numbers", "question"):
        assert all(any(word in row for row in rows) for rows in both), word


def test_each_question_leads_to_the_place_that_answers() -> None:
    sections = re.split(r"^## ", (ROOT / "docs/questions.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(sections) == len(QUESTIONS) == 20
    for section, (_, place, _) in zip(sections, QUESTIONS, strict=True):
        assert f"]({place.replace('.html', '.md')})" in section, place


def test_every_page_of_docs_is_in_the_tree() -> None:
    pages = {f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")}
    assert len(pages) > 40
    assert sorted(pages - set(named(HERE / "mkdocs.yml")) - {f"{name}.html" for name in BELOW}) == []
    assert all((ROOT / f"docs/{name}.md").is_file() and f"{name}.html" not in named(HERE / "mkdocs.yml") for name in BELOW)


def test_every_drawing_brings_its_own_ground() -> None:
    """A drawing without one is dark on dark in the dark theme."""
    drawings = sorted((ROOT / "docs").glob("*.svg"))
    assert len(drawings) > 10
    for path in drawings:
        text = path.read_text(encoding="utf-8")
        first = re.search(r"<(?:path|rect)[^>]*>", re.sub(r"<defs>.*?</defs>", "", text, flags=re.DOTALL))
        assert first and re.search(r"fill(?:=\"|: )#f{3,6}\b", first[0]), path.name


def test_the_picture_of_readme_names_every_engine() -> None:
    text = (ROOT / "docs/picture.svg").read_text(encoding="utf-8")
    assert [name for name in ("exact", "numpy", "c_ref", "native", "torch") if not re.search(rf">(?:[^<]*\W)?{name}\b", text)] == []
