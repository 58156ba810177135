"""Versions of the site side by side: what lists them, names that are refused, and the menu of each page, from a file and from a server."""

import json
from pathlib import Path

import pytest
from support.devtools import chromium, page, served

from emu.base.errors import FileError
from tools.rings.steps import all_steps
from tools.site.__main__ import main
from tools.site.build import HERE, put

PAGE = '<!doctype html><title>{0}</title><h1>{0}</h1><div class="md-header__title"></div><script src="{1}theme/page.js"></script>'
PAGES = {"1.0": ("index.html", "rtl.html", "sub/old.html"), "0.10": ("index.html", "rtl.html"), "0.9": ("index.html",)}


def written(folder: Path, out: Path, version: str) -> None:
    """Put a small site of a version into `out`."""
    html = folder / "html"
    for name in PAGES.get(version, ("index.html",)):
        (html / name).parent.mkdir(parents=True, exist_ok=True)
        (html / name).write_text(PAGE.format(f"{version} {name}", "../" * name.count("/")))
    (html / "theme").mkdir(exist_ok=True)
    (html / "theme/page.js").write_text((HERE / "theme/page.js").read_text(encoding="utf-8"))
    put(html, out, version)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    for version in PAGES:
        written(tmp_path, tmp_path / "out", version)
    return tmp_path / "out"


def test_versions_are_listed_newest_first_and_alike_in_both_files(out: Path) -> None:
    listed = json.loads((out / "versions.json").read_text())
    assert [item["version"] for item in listed] == ["1.0", "0.10", "0.9"]
    script = (out / "versions.js").read_text()
    assert (
        script.startswith("self.emuVersions = [") and json.loads(script.removeprefix("self.emuVersions = ").removesuffix(";\n")) == listed
    )
    pages = (out / "1.0/pages.js").read_text()
    assert json.loads(pages.removeprefix("self.emuPages = ").removesuffix(";\n")) == sorted(PAGES["1.0"])
    assert [(out / "index.html").read_text().count(f'href="{version}/index.html"') for version in PAGES] == [1, 1, 1]


def test_a_version_is_replaced_whole_and_the_others_stay(out: Path, tmp_path: Path) -> None:
    (out / "0.9/left.html").write_text("old")
    (out / "notes").mkdir()  # no site: no version
    written(tmp_path, out, "0.9")
    assert not (out / "0.9/left.html").exists() and (out / "1.0/sub/old.html").is_file()
    assert [item["version"] for item in json.loads((out / "versions.json").read_text())] == ["1.0", "0.10", "0.9"]


@pytest.mark.parametrize("version", ["", ".", "..", "../1.0", "a/b", "/1.0", "-1", "1 0", "1.0\n", "<b>", "1.0%2f"])
def test_a_name_of_no_version_is_refused(out: Path, tmp_path: Path, version: str) -> None:
    before = sorted(out.rglob("*"))
    with pytest.raises(FileError, match="is no name of a folder"):
        put(tmp_path / "html", out, version)
    assert sorted(out.rglob("*")) == before


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out/mine").mkdir(parents=True)
    (tmp_path / "out/mine/thesis.txt").write_text("years")
    assert main(["build", "--root", str(HERE.parents[1]), "--out", str(tmp_path / "out"), "--version", "mine"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("emu: ") and said.count("\n") == 1 and "is there and is no site" in said
    assert (tmp_path / "out/mine/thesis.txt").read_text() == "years"


def test_a_stale_page_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tools.site.build.build", lambda root, out, version: [])
    for told, code in ([], 0), (["--- docs/reference/spec.md\n+++ b"], 1):
        monkeypatch.setattr("tools.docs.tree.check", lambda root, told=told: told)
        assert main(["build", "--out", str(tmp_path)]) == code
    assert capsys.readouterr().out == "stale: --- docs/reference/spec.md: run python -m tools.docs build\n"


def test_the_stale_check_is_left_out_where_another_step_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr("tools.site.build.build", lambda root, out, version: [])
    monkeypatch.setattr("tools.docs.tree.check", lambda root: asked.append(root) or [])
    assert main(["build", "--out", str(tmp_path), "--no-stale-check"]) == 0 and asked == []
    assert main(["build", "--out", str(tmp_path)]) == 0 and asked == [Path()]


def test_a_step_that_leaves_out_the_stale_check_comes_after_the_step_that_runs_it() -> None:
    steps = all_steps()
    checks, leaves = ([n for n, step in enumerate(steps) if words in step.command] for words in ("tools.docs check", "--no-stale-check"))
    assert len(checks) == len(leaves) == 1 and checks[0] < leaves[0]


MENU = """
for (let i = 0; i < 100 && !document.querySelector(".versions"); i++) await new Promise(resolve => setTimeout(resolve, 20));
const menu = document.querySelector(".versions");
return menu && [menu.value, [...menu.options].map(item => item.text), menu.getAttribute("aria-label")];
"""
CHOSEN = """const menu = document.querySelector(".versions"); menu.value = %r; menu.dispatchEvent(new Event("change")); return null;"""


@pytest.mark.parametrize("way", ["file", "http"])
def test_the_menu_leads_to_the_same_page_of_another_version(out: Path, tmp_path: Path, way: str) -> None:
    binary = chromium()
    with served(out) as address, page(binary) as tab:
        start = out.as_uri() if way == "file" else address
        for begin, version, arrived in (
            ("1.0/rtl.html", "0.10", "0.10 rtl.html"),
            ("1.0/rtl.html?q=1#part", "0.9", "0.9 index.html"),
            ("1.0/sub/old.html", "0.10", "0.10 index.html"),
            ("0.9/index.html", "1.0", "1.0 index.html"),
        ):
            tab.open("about:blank")
            tab.open(f"{start}/{begin}")
            assert tab.ask(MENU) == [begin.partition("/")[0], ["1.0", "0.10", "0.9"], "Version"]
            tab.follow(CHOSEN % version)
            assert tab.ask("return document.title") == arrived


def test_a_version_that_lies_alone_has_no_menu(out: Path, tmp_path: Path) -> None:
    binary = chromium()
    (out / "versions.js").unlink()
    with page(binary) as tab:
        tab.open((out / "1.0/index.html").as_uri())
        assert tab.ask(MENU.replace("100", "10")) is None
