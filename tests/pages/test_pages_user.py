"""Pages of a user's own objects: the same as those of the reference, for theirs alone, with plain names for what comes with emu."""

import re
from pathlib import Path

import pytest

from emu.cli.main import run
from emu.spec import KINDS, get
from emu.spec.registry import restored

OBJECTS = {
    "format": "e2m1",
    "rounding": "sr_ptx_share16",
    "policy": "nvidia",
    "block": "nvfp4",
    "transform": "rht16_te",
    "recipe": "nvfp4_te_ref",
    "datapath": "late_c",
    "instruction": "prop_rht_quantize",
    "layout": "sf128x4",
    "checkpoint": "gguf_nvfp4",
    "training": "ufp4",
    "coverage": "dot",
    "series": "p3109",
    "epilogue": "te_nvfp4",
}
LINK = re.compile(r"\[([^][]*)\]\(([^)]*)\)")


def twin(checkout: Path, folder: Path, kind: str) -> str:
    """Write a shipped object into a folder under an id of the user's own; return that id."""
    name = OBJECTS[kind]
    lines = (checkout / "spec" / kind / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("aliases:")).replace(f'id: "{name}"', f'id: "my_{name}"', 1)
    text = text.replace("cvt_rht16", "my_cvt_rht16").replace("cvt.rht16", "my_cvt.rht16")  # a mnemonic names one instruction
    text = text.replace('"binary', '"my_binary')  # and an id one member of one series
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"my_{name}.yaml").write_text(text + "\n", encoding="utf-8")
    return f"my_{name}"


def body(page: Path) -> list[str]:
    """The lines that the facts decide: without the head, links, prefixes of own names, who uses it, and what lists every other format."""
    text = LINK.sub(r"\1", page.read_text(encoding="utf-8")).split("\n## ", 1)[1].split("\n## Used by")[0].rstrip()
    return [line for line in text.replace("my_", "").splitlines() if not line.startswith("| exact in")]


def test_every_kind_is_tried() -> None:
    assert list(OBJECTS) == [kind for kind in OBJECTS if kind in KINDS] and set(OBJECTS) == set(KINDS)


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_own_object_has_the_page_of_a_shipped_one(kind: str, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = twin(checkout, tmp_path / "mine", kind)
    with restored():
        assert run(["docs", "build", "--spec", str(tmp_path / "mine"), "--out", str(tmp_path / "pages")]) == 0
        title = get(kind, name).title
    page = tmp_path / "pages" / kind / f"{name}.md"
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "pages" / "contents.md"), str(page)]
    assert len([path for path in (tmp_path / "pages").rglob("*") if path.is_file()]) == 2
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {kind} `{name}`\n\n**{title}**\n")
    assert body(page) == body(checkout / "docs" / "reference" / kind / f"{OBJECTS[kind]}.md")
    targets = [target for _, target in LINK.findall(text)]
    assert all(target.startswith("#") or (page.parent / target).is_file() for target in targets), targets
    assert f"[`{name}`]({kind}/{name}.md)" in (tmp_path / "pages" / "contents.md").read_text(encoding="utf-8")


def test_own_objects_are_linked_to_each_other_and_shipped_ones_are_names(checkout: Path, tmp_path: Path) -> None:
    mine, pages = tmp_path / "mine", tmp_path / "pages"
    twin(checkout, mine, "format")
    twin(checkout, mine, "block")
    path = mine / "block" / "my_nvfp4.yaml"
    text = path.read_text(encoding="utf-8").replace('"e2m1"', '"my_e2m1"')
    assert '"my_e2m1"' in text
    path.write_text(text, encoding="utf-8")
    with restored():
        assert run(["docs", "build", "--spec", str(mine), "--out", str(pages), "--quiet"]) == 0
    block = (pages / "block" / "my_nvfp4.md").read_text(encoding="utf-8")
    assert "Elements are [`my_e2m1`](../format/my_e2m1.md)." in block and "| `ue4m3` |" in block
    assert "[`my_nvfp4`](../block/my_nvfp4.md)" in (pages / "format" / "my_e2m1.md").read_text(encoding="utf-8")


def test_misuse_is_one_line_and_leaves_no_page(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, pages = tmp_path / "mine", tmp_path / "pages"
    with restored():
        assert run(["docs", "build", "--out", str(pages)]) == 2
    assert "only objects that come with emu are known: name a folder with yours, --spec DIR" in capsys.readouterr().err
    name = twin(checkout, mine, "format")
    (mine / "format" / "broken.yaml").write_text('kind: "format"\n', encoding="utf-8")
    with restored():
        assert run(["docs", "build", "--spec", str(mine), "--out", str(pages)]) == 2
    assert "broken.yaml" in capsys.readouterr().err and not pages.exists()
    (mine / "format" / "broken.yaml").unlink()
    pages.mkdir()
    (pages / "contents.md").write_text("by hand\n", encoding="utf-8")
    with restored():
        assert run(["docs", "build", "--spec", str(mine), "--out", str(pages)]) == 2
        assert capsys.readouterr().err.count("\n") == 1 and not (pages / "format").exists()
        assert (pages / "contents.md").read_text(encoding="utf-8") == "by hand\n"
        assert run(["docs", "build", "--spec", str(mine), "--out", str(pages), "--force"]) == 0
    assert (pages / "format" / f"{name}.md").is_file()
    (pages / "contents.md").unlink()
    with restored():  # as after a kill: what is there says the same
        assert run(["docs", "build", "--spec", str(mine), "--out", str(pages)]) == 0
    assert (pages / "contents.md").is_file()
