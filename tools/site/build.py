"""Building the site: stage the pages, run the generator, put the explorer beside them, check the result."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from emu.base.errors import FileError, ToolError
from emu.explore.build import known_objects
from emu.explore.build import page as explorer_page
from tools.site.conformance import EXPLORER, site_pages
from tools.site.faults import faults
from tools.site.stage import staged

HERE: Final = Path(__file__).parent
GENERATOR: Final = "zensical"
SHIM: Final = "https://unpkg.com/iframe-worker/shim"  # all that its pages ask for outside: theme/worker.js stands in
SECONDS: Final = 300
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of a version: of a folder, and in an address without escapes
EMBEDDED: Final = f'\n<iframe class="explorer" src="{EXPLORER}" title="The explorer"></iframe>\n\n[Open it alone]({EXPLORER})\n'


def build(root: Path, out: Path, version: str) -> list[str]:
    """Write the site of the tree at `root` as the folder out/version, list it in out/versions.json, and return what is wrong with it.

    out: a folder; a version that is there already is replaced, the others stay. Each page has a menu of all (theme/page.js).
    version: letters, digits, `.`, `_` and `-`, the first a letter or a digit.
    Raises: FileError (no source tree, a link to no file, a name of no version, a folder out/version that is no site), ToolError (generator,
    clang or wasm-ld absent or broken).   Tests: tests/site/test_site_versions.py.
    """
    check_version(out, version)
    if not (root / "docs" / "index.md").is_file():
        raise FileError(f"{root}: no docs/index.md here: run in the source tree, or say --root DIR")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = work / "pages"
        pages.mkdir()
        offered = known_objects()
        explorer = explorer_page(offered)
        staged(root, pages)
        for path, text in site_pages(root, {thing.id for thing in offered if thing.kind == "recipe"}).items():
            (pages / path).write_text(text, encoding="utf-8")
        (pages / EXPLORER).write_text(explorer, encoding="utf-8")
        with (pages / "explorer.md").open("a", encoding="utf-8") as page:
            page.write(EMBEDDED)
        shutil.copytree(HERE / "theme", pages / "theme")
        shutil.copyfile(HERE / "mkdocs.yml", work / "mkdocs.yml")
        _generate(work)
        _mend(work / "html")
        found = faults(work / "html", HERE / "mkdocs.yml")
        put(work / "html", out, version)
    return found


def check_version(out: Path, version: str) -> None:
    """Raise FileError where a version cannot be written as the folder out/version."""
    if not NAME.fullmatch(version):
        raise FileError(f"--version {version!r}: is no name of a folder: write letters, digits, '.', '_' and '-', such as 1.0")
    if (out / version).exists() and not (out / version / "index.html").is_file():
        raise FileError(f"{out / version}: is there and is no site: it is not replaced; say another --out or --version")


def _generate(work: Path) -> None:
    command = [sys.executable, "-m", GENERATOR, "build", "--strict"]
    plain = os.environ | {"NO_COLOR": "1"}
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=SECONDS, check=False, env=plain)
    except subprocess.TimeoutExpired:
        raise ToolError(f"site: {GENERATOR} took more than {SECONDS} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip()
        if f"No module named {GENERATOR}" in said:
            raise ToolError(f"site: {GENERATOR} is not installed: pip install -c constraints.txt {GENERATOR}")
        raise ToolError(f"site: {GENERATOR} failed: {said[-2000:]}")


def _mend(html: Path) -> None:
    """Let the pages ask for nothing outside (the shim of the search is ours), and the logo lead to a file, which a folder is not under file://.

    The page for addresses that are not there has absolute links, which only one host could serve: it goes.
    """
    (html / "404.html").unlink(missing_ok=True)
    for path in html.rglob("*.html"):
        climb = "/".join([".."] * (len(path.relative_to(html).parts) - 1)) or "."
        text = path.read_text(encoding="utf-8")
        made = text.replace(SHIM, f"{climb}/theme/worker.js")
        for folder in {climb, f"./{climb}"}:
            made = made.replace(f'href="{folder}"', f'href="{climb}/index.html"')
        made = made.replace('<a href="" title=', f'<a href="{climb}/index.html" title=')
        if made != text:
            path.write_text(made, encoding="utf-8")


def put(html: Path, out: Path, version: str) -> None:
    """Move a built site to its folder, and list the versions, newest first, in versions.json (the form that mike writes) and for the menu.

    html: the site; pages.js is added, so that the menu of another version knows which pages this one has. versions.js says what
    versions.json says: a page that was opened from a file may load a script, and may not fetch.
    """
    check_version(out, version)
    pages = sorted(path.relative_to(html).as_posix() for path in html.rglob("*.html"))
    (html / "pages.js").write_text(f"self.emuPages = {json.dumps(pages)};\n", encoding="utf-8")
    out.mkdir(parents=True, exist_ok=True)
    target = out / version
    if target.exists():
        shutil.rmtree(target)
    shutil.move(html, target)
    names = sorted((path.name for path in out.iterdir() if (path / "index.html").is_file()), key=_newest, reverse=True)
    versions = json.dumps([{"version": name, "title": name, "aliases": []} for name in names], indent=2)
    (out / "versions.json").write_text(f"{versions}\n", encoding="utf-8")
    (out / "versions.js").write_text(f"self.emuVersions = {versions};\n", encoding="utf-8")
    links = "".join(f'<li><a href="{name}/index.html">emu {name}</a></li>' for name in names)
    start = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>emu: versions</title><h1>emu</h1><ul>{links}</ul></html>\n'
    (out / "index.html").write_text(start, encoding="utf-8")


def _newest(name: str) -> list[tuple[int, int | str]]:
    return [(1, int(part)) if part.isdigit() else (0, part) for part in name.replace("-", ".").split(".")]
