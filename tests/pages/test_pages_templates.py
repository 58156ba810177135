"""Templates: the outline of every page stands in one, names that are not given are errors, and cells stay cells."""

import ast
import re
from pathlib import Path

import jinja2
import pytest

from emu.pages.render import OPEN, Anchor, Code, Function, Links, Ref, SourceRef, cell, environment, joined, marked, table

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("emu/pages", "research/pages", "tools/docs")
TEMPLATES = [path for folder in FOLDERS for path in sorted((ROOT / folder / "templates").glob("*.md.j2"))]
MARKDOWN = re.compile(r"^#+ \w|^\| \S+ \||\]\(|^```|^!\[")
ALLOWED = {
    "emu/pages/render.py",
    "research/pages/shrinkage.py",
    "tools/docs/api.py",
}  # Markdown of data; a claim that names a page; docstrings


def pages() -> list[Path]:
    return [
        *sorted((ROOT / "docs" / "reference").rglob("*.md")),
        *(
            page
            for path in TEMPLATES
            if (page := ROOT / "docs" / f"{path.name[:-6]}.md").is_file() and "generated from" in page.read_text("utf-8")
        ),
    ]


def patterns() -> list[re.Pattern[str]]:
    """Every heading of a template as a pattern; what is filled in matches anything."""
    lines = [line for path in TEMPLATES for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    return [re.compile(".+".join(map(re.escape, re.split(r"\{\{.*?\}\}", line)))) for line in lines]


def test_the_outline_of_every_page_stands_in_a_template() -> None:
    known, count, missing = patterns(), 0, []
    for path in filter(Path.is_file, pages()):
        fenced = False
        for line in path.read_text(encoding="utf-8").splitlines():
            fenced ^= line.startswith("```")
            if line.startswith("#") and not fenced:
                count += 1
                if not any(pattern.fullmatch(line) for pattern in known):
                    missing.append(f"{path.relative_to(ROOT)}: {line}")
    assert missing == [] and count > 1500


def test_python_gives_data_and_no_markdown() -> None:
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.py")):
            name = str(path.relative_to(ROOT))
            if name in ALLOWED:
                continue
            texts = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant))
            found += [f"{name}:{node.lineno}: {str(node.value)[:60]!r}" for node in texts if MARKDOWN.search(str(node.value))]
    assert found == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_name_that_is_not_given_is_an_error(path: Path) -> None:
    template = environment(path.parent).get_template(path.name)
    with pytest.raises(jinja2.UndefinedError):
        template.render(links=Links())


def test_values_become_markdown_where_they_are_shown() -> None:
    links, own = Links("../"), Links("../", frozenset({("format", "mine")}))
    assert marked([Code("a"), OPEN, 3], links) == "`a`, **open**, 3"
    assert marked(joined(" or ", [Ref("format", "e2m1"), "none"]), links) == "[`e2m1`](../format/e2m1.md) or none"
    assert marked([Ref("format", "e2m1"), Ref("format", "mine")], own) == "`e2m1`, [`mine`](../format/mine.md)"
    assert marked(Function("round", "Goes_Up"), links) == "[`round.Goes_Up`](../reference_model/round.md#goes_up)"
    assert marked((Function("round", "up"), SourceRef("ocp")), own) == "`round.up``ocp`" and marked(Anchor("a", "b"), own) == "[a](#b)"


def test_cells_stay_cells() -> None:
    assert cell("a | b\n c", Links()) == "a \\| b c" and cell(None, Links()) == "" and cell(Code("x|y"), Links()) == "`x\\|y`"
    assert table(("a", "b"), [(1, None)], Links(), (0,)) == "| a | b |\n| ---: | --- |\n| 1 |  |"
