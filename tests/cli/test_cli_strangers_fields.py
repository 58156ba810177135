"""One hostile field at a time: each free text of each kind of spec file alone, all else healthy, through what prints and writes the object.

All at once: tests/cli/test_cli_strangers.py, tests/pages/test_pages_strangers.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.strangers import OBJECTS, SHOWN, SIGNS, Field, compiled, free_fields, live, live_in_page, spoil

from emu.base.errors import EmuError
from emu.cli.main import run
from emu.spec import load_spec
from emu.spec.models import PLURALS
from emu.spec.registry import restored

FIELDS = free_fields()
SLOW = ("recipe", "datapath", "instruction", "policy")  # what a folder of these is checked for takes seconds
# Beside `show`, `list` and pages. {name}: the object; {out}: a new file without its ending.
WRITING: dict[str, list[str]] = {
    "format": ["rtl export decode/{name} --golden verilog -o {out}.v", "rtl export --package sv -o {out}.sv",
               "rtl export --package c -o {out}.h", "export descriptor format/{name}"],
    "rounding": ["rtl export convert/e2m1/{name}/nvidia --golden verilog -o {out}.v", "export descriptor rounding/{name}"],
    "policy": ["rtl export convert/e2m1/rne/{name} --golden verilog -o {out}.v"],
    "block": ["rtl export --package sv -o {out}.sv", "rtl export --package c -o {out}.h"],
    "layout": ["rtl export --layout {name} -o {out}.sv", "layout show {name} --shape 4x4"],
    "recipe": ["export descriptor recipe/{name}"],
    "datapath": ["export descriptor datapath/{name}"],
    "instruction": ["operate {name} 0x1"],
}  # fmt: skip


def test_each_kind_has_free_fields() -> None:
    assert {field.kind for field in FIELDS} == {*OBJECTS} and len(FIELDS) == len({*FIELDS}) > 100
    assert {"title", "aliases", "where", "facts", "why", "what", "until"} <= {field.what.partition(".")[2] for field in FIELDS}
    assert not {"id", "kind", "status", "ref"} & {field.what.partition(".")[2] for field in FIELDS}


def cases(fields: list[Field], slow: tuple[str, ...] = ()) -> list[Any]:
    return [pytest.param(one, marks=[pytest.mark.exhaustive] if one.kind in slow else [], id=f"{one.kind}-{one.what}") for one in fields]


@contextmanager
def loaded(field: Field, folder: Path) -> Iterator[str]:
    """The name of an object with the field spoiled, known to emu; empty where the loader refuses it, in one harmless line."""
    name, text = spoil(field, f"{SIGNS} {SHOWN}")
    if not name:
        pytest.skip("no shipped object has a place for it")
    (folder / field.kind).mkdir(parents=True)
    (folder / field.kind / f"my_{name}.yaml").write_text(text, encoding="utf-8")
    why = ""
    with restored():
        try:
            load_spec(folder)
        except EmuError as error:
            why = str(error)
        assert live(why) == [] and "\n" not in why and (not why or f"my_{name}.yaml:" in why)
        yield "" if why else f"my_{name}"


def tell(line: str, capfd: Any, good: tuple[int, ...] = (0,), **places: object) -> None:
    """Run a command; what it says is harmless."""
    code = run([word.format(**places) for word in line.split()])
    said = capfd.readouterr()
    assert code in good and "unexpected" not in said.err and "Traceback" not in said.err, (line, said.err)
    assert live(said.out) + live(said.err) == [], line


@pytest.mark.cases(12, 60)
@pytest.mark.parametrize("field", cases(FIELDS, SLOW))
def test_one_field_of_a_stranger_is_shown_as_text(tmp_path: Path, capfd: Any, field: Field) -> None:
    with loaded(field, tmp_path) as name:
        if name:
            for line in (f"show {field.kind}/{name}", f"show {field.kind}/{name} --json", f"list {PLURALS[field.kind]}"):
                tell(line, capfd)


@pytest.mark.exhaustive
@pytest.mark.cases(0, 60)
@pytest.mark.parametrize("field", cases(FIELDS))
def test_one_field_of_a_stranger_is_written_as_text(tmp_path: Path, capfd: Any, field: Field) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with loaded(field, tmp_path / "spec") as name:
        if not name:
            return
        tell("docs build --out {out}/pages", capfd, out=out)
        for line in WRITING.get(field.kind, []):
            tell(line, capfd, (0, 2), name=name, out=out / "made")  # 2: this object is not for that
        made = [path for path in out.rglob("*") if path.is_file()]
        assert len(made) > 1
        for path in made:
            if path.suffix == ".md":
                assert live_in_page(path.read_text(encoding="utf-8")) == []
            else:
                compiled(path)


@pytest.mark.parametrize("kind", [kind for kind in OBJECTS if kind in WRITING and kind not in SLOW])
def test_each_line_writes_the_healthy_object(tmp_path: Path, capfd: Any, kind: str) -> None:
    for line in WRITING[kind]:
        if "--package" not in line:
            tell(line, capfd, name=OBJECTS[kind], out=tmp_path / "made")
