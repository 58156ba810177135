"""Staging: GitHub's Markdown becomes the generator's, links reach what they name, long tables fold."""

from pathlib import Path, PurePosixPath

import pytest

from emu.base.errors import FileError
from tools.site.stage import TABLE_ROWS, folded, named, place, readable, staged, table_at

HERE = PurePosixPath("docs/page.md")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in {
        "docs/page.md": "# Page\n",
        "docs/other.md": "# Other\n",
        "docs/figure.svg": "<svg/>",
        "docs/evidence/record.json": "{}",
        "spec/format/e2m1.yaml": "id: e2m1\n",
        "c_ref/README.md": "[up](../docs/page.md) [file](src/a.c)\n",
        "c_ref/src/a.c": "int a;\n",
        "README.md": "# Tree\n",
        "CHANGELOG.md": "# Changes\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("[o](other.md)", "[o](other.md)"),
        ("[o](other.md#part)", "[o](other.md#part)"),
        ("[o](#part)", "[o](#part)"),
        ("[`code`](other.md)", "[`code`](other.md)"),
        ("`[o](nowhere.md)`", "`[o](nowhere.md)`"),
        ("![f](figure.svg)", "![f](figure.svg)"),
        ("[y](../spec/format/e2m1.yaml)", "[y](repository/spec/format/e2m1.yaml.txt)"),
        ("[j](evidence/record.json)", "[j](repository/docs/evidence/record.json)"),
        ("[c](../c_ref/)", "[c](repository/c_ref/README.md)"),
        ("[c](../c_ref)", "[c](repository/c_ref/README.md)"),
        ("[s](../spec/)", "s"),
        ("[w](https://example.org/a.md)", "[w](https://example.org/a.md)"),
        ("a [o](other.md) `x` [p](page.md)", "a [o](other.md) `x` [p](page.md)"),
    ],
)
def test_a_link_leads_to_the_place_of_the_file(tree: Path, text: str, made: str) -> None:
    assert readable(text, HERE, tree)[0] == made


def test_a_link_to_nothing_is_refused_with_its_page(tree: Path) -> None:
    with pytest.raises(FileError, match=r"docs/page\.md: links to gone\.md, which is not there"):
        readable("see [g](gone.md)", HERE, tree)


def test_a_link_in_fenced_code_is_code(tree: Path) -> None:
    text = "```\n[g](gone.md)\n```"
    assert readable(text, HERE, tree) == (text, [])
    with pytest.raises(FileError, match="line 1: a fence ``` without its end"):
        readable("```\ncode", HERE, tree)


def test_files_that_pages_link_to_come_along_and_what_they_link_to(tree: Path, tmp_path: Path) -> None:
    (tree / "docs/page.md").write_text("[c](../c_ref/) [y](../spec/format/e2m1.yaml)\n")
    out = tmp_path / "out"
    assert staged(tree, out) == ["other.md", "page.md", "repository/CHANGELOG.md", "repository/README.md", "repository/c_ref/README.md"]
    assert (out / "repository/c_ref/README.md").read_text() == "[up](../../page.md) [file](src/a.c.txt)\n"
    assert (out / "repository/c_ref/src/a.c.txt").read_text() == "int a;\n"
    assert (out / "repository/spec/format/e2m1.yaml.txt").read_text() == "id: e2m1\n"


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("# What it is", "what-it-is"),
        ("## `nvfp4_te_ref`: a recipe", "nvfp4_te_ref-a-recipe"),
        ("### A [link](x.md), and more", "a-link-and-more"),
        ("## 0.1.0 - unreleased", "010---unreleased"),
        ("## Is it? (yes)", "is-it-yes"),
    ],
)
def test_a_heading_has_the_name_that_github_gives_it(heading: str, slug: str) -> None:
    names: dict[str, int] = {}
    assert named(heading, names) == f"{heading} {{#{slug}}}"
    assert named(heading, names) == f"{heading} {{#{slug}-1}}"


def test_lists_and_tables_get_the_empty_line_that_the_generator_needs(tree: Path) -> None:
    assert readable("text\n- a\n- b\nstill b\n- c", HERE, tree)[0] == "text\n\n- a\n- b\nstill b\n- c"
    assert readable("text\n| a |\n| --- |\n| 1 |", HERE, tree)[0] == "text\n\n| a |\n| --- |\n| 1 |"


@pytest.mark.parametrize(("rows", "folds"), [(TABLE_ROWS, False), (TABLE_ROWS + 1, True)])
def test_a_table_longer_than_the_limit_is_folded(tree: Path, rows: int, folds: bool) -> None:
    table = ["| a | b |", "| --- | ---: |", *(f"| {i} | [o](other.md) |" for i in range(rows))]
    made = readable("\n".join([*table, "", "after"]), HERE, tree)[0]
    assert ("???" in made) == folds
    assert made == "\n".join([*(folded(table) if folds else table), "", "after"])
    assert table_at(["| a |", "no table"], 0) == []


def test_what_a_page_folds_is_markdown_and_no_table_in_it_folds_again(tree: Path) -> None:
    table = ["| a | b |", "| --- | ---: |", *(f"| {i} | [o](other.md) |" for i in range(TABLE_ROWS + 1))]
    lines = ["<details>", "<summary>Rows</summary>", "", *table, "", "</details>", "", *table, "", "after"]
    wanted = ['<details markdown="1">', *lines[1 : len(table) + 6], *folded(table), "", "after"]
    assert readable("\n".join(lines), HERE, tree)[0] == "\n".join(wanted)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("docs/a/b.md", "a/b.md"),
        ("docs/x.svg", "x.svg"),
        ("docs/x.json", "repository/docs/x.json"),
        ("spec/a.yaml", "repository/spec/a.yaml.txt"),
        ("vectors/LICENSE", "repository/vectors/LICENSE"),
    ],
)
def test_place(source: str, target: str) -> None:
    assert place(PurePosixPath(source)).as_posix() == target
