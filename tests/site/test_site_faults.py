"""The check of a built site: a clean one passes, and one planted fault of each kind is named."""

from pathlib import Path

import pytest

from tools.site.faults import faults, named

CLEAN = {
    "index.html": '<html><head><link rel="canonical" href="https://example.org/"><script src="theme/a.js"></script></head>'
    '<body><h1 id="top">Home</h1><a href="sub/page.html#part">p</a><a href="#top">t</a><a href="https://example.org/">w</a></body></html>',
    "sub/page.html": '<h2 id="part">Part</h2><a href="../index.html">home</a><a href="../explorer_page.html#block?x=1">b</a>'
    '<script>const todo = "/tmp/x";</script>',
    "explorer_page.html": "<html></html>",
    "theme/a.js": "1",
    "theme/a.css": "a { background: url(data:image/png;base64,AA) }",
}


def site(folder: Path, changes: dict[str, tuple[str, str]]) -> tuple[Path, Path]:
    for name, text in CLEAN.items():
        old, new = changes.get(name, ("", ""))
        assert old in text
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace(old, new) if old else text)
    config = folder / "mkdocs.yml"
    config.write_text("nav:\n  - Home: index.md\n  - More:\n      - sub/page.md\n")
    return folder, config


def test_a_clean_site_has_no_fault(tmp_path: Path) -> None:
    assert faults(*site(tmp_path, {})) == []
    assert named(tmp_path / "mkdocs.yml") == ["index.html", "sub/page.html"]


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("index.html", "sub/page.html#part", "sub/gone.html", "index.html: links to sub/gone.html, which is not there"),
        ("index.html", "#part", "#gone", "index.html: links to sub/page.html#gone, which is not there"),
        ("index.html", 'href="#top"', 'href="#gone"', "index.html: links to #gone, which is not there"),
        ("sub/page.html", "../index.html", "..", "sub/page.html: links to .., which is not there"),
        ("index.html", "theme/a.js", "theme/b.js", "index.html: asks for theme/b.js, which is not there"),
        ("index.html", "theme/a.js", "https://cdn.example.org/a.js", "index.html: asks for https://cdn.example.org/a.js outside"),
        ("index.html", "<h1", '<img src="//cdn.example.org/a.png"><h1', "index.html: asks for //cdn.example.org/a.png outside"),
        ("index.html", "canonical", "stylesheet", "index.html: asks for https://example.org/ outside"),
        ("theme/a.css", "url(data:image/png;base64,AA)", "url('https://fonts.example.org/a')", "theme/a.css: asks for something outside"),
        ("theme/a.css", "a {", '@import "//fonts.example.org/a"; a {', "theme/a.css: asks for something outside"),
        ("sub/page.html", "Part", "TODO: write this", "sub/page.html: says 'TODO'"),
        ("sub/page.html", "Part", "see /tmp/out", "sub/page.html: says '/tmp/o'"),
    ],
)
def test_a_planted_fault_is_named(tmp_path: Path, name: str, old: str, new: str, told: str) -> None:
    assert told in faults(*site(tmp_path, {name: (old, new)}))


def test_a_page_of_the_tree_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder, config = site(tmp_path, {})
    config.write_text("nav:\n  - gone.md\n  - repository/README.md\n")
    assert faults(folder, config) == [f"mkdocs.yml: names {name}.html, which is not there" for name in ("gone", "repository/index")]
