"""Seeded faults of the native kernels, and of Python that a test was once too weak to judge, die by the tests that they name.

docs/evidence/KILL_named.json keeps which. After a change of a catalogue, or of a named test: EMU_KILL=changed pytest tests/mutation
-m mutants -k named tries the faults that the record does not hold as they are; EMU_KILL=write tries all of them and writes.
"""

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.mutation_kill import catalogue_sha256, render
from support.mutation_named import (
    ARRAY_CLASSES,
    COMMAND,
    NamedBench,
    NamedFault,
    named_head,
    named_record,
    read_named_faults,
    refused_named,
)
from support.whole import tries

from emu.base.errors import SpecError
from emu.engines.native import convert as kernel

CATALOGUES = [
    Path(__file__).with_name("catalogue") / f"{name}.yaml" for name in ("kernels", "python", "checks", "matmul", "levels", "p3109")
]
SEED, CHOSEN = 20261122, tries(1, 3)
NEEDED = ("tie", "sticky", "nan", "inf", "zero_sign", "subnormal", "saturate", "packing", "order", "sr_threshold", *ARRAY_CLASSES)
FOLDER = "emu/engines/native/kernels/"
KEYS = ["id", "layer", "class", "form", "where", "change", "text", "killedBy"]
LINE = (
    '  - {id: "kernel_NAME", class: "edge", tests: ["a/b.py::test_c"], text: "t", file: "engines/native/kernels/dot.c", '
    'old: "a", new: "b"}\n'
)


@pytest.fixture(scope="module")
def named() -> list[NamedFault]:
    return read_named_faults(CATALOGUES)


@pytest.fixture(scope="module")
def named_file(checkout: Path) -> Path:
    return checkout / "docs" / "evidence" / "KILL_named.json"


@pytest.fixture(scope="module")
def named_data(named_file: Path) -> dict[str, Any]:
    return dict(json.loads(named_file.read_text(encoding="ascii")))


def test_every_named_fault_can_be_made(named: list[NamedFault]) -> None:
    assert refused_named(named) == []
    assert len({(fault.file, fault.old, fault.new) for fault in named}) == len(named)


def test_every_kernel_and_class_has_faults(named: list[NamedFault], checkout: Path) -> None:
    """At least two faults in every C file that computes something, and every class that is needed; tree_flags.c is tree.c once more."""
    counts = Counter(Path(fault.file).name for fault in named if f"emu/{fault.file}".startswith(FOLDER))
    computing = {path.name for path in (checkout / FOLDER).glob("*.c")} - {"forms.c", "tree_flags.c"}
    assert {name: counts[name] for name in computing if counts[name] < 2} == {}
    assert set(NEEDED) <= {fault.kill_class for fault in named}


def test_every_named_test_is_there(named: list[NamedFault], checkout: Path) -> None:
    for name in {name for fault in named for name in fault.tests}:
        file, _, function = name.partition("::")
        assert f"\ndef {function}(" in (checkout / "tests" / file).read_text(encoding="utf-8"), name


def test_a_bad_named_entry_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "kernels.yaml"
    path.write_text("faults:\n" + LINE.replace("NAME", "one") + LINE.replace("NAME", "two"))
    assert [fault.id for fault in read_named_faults([path])] == ["kernel_one", "kernel_two"]
    for old, new in (('"edge"', '"other"'), ("::test_c", ""), ("text:", "texts:"), ("kernel_", "c_")):
        path.write_text("faults:\n" + LINE + LINE.replace(old, new))
        with pytest.raises(SpecError, match=r"kernels\.yaml:3: "):
            read_named_faults([path])


def test_the_record_of_named_faults_is_fresh(named: list[NamedFault], named_file: Path, named_data: dict[str, Any]) -> None:
    """Every fault of the catalogues as it is now, killed by all tests that it names."""
    assert named_data["catalogue_sha256"] == catalogue_sha256(named), COMMAND
    assert named_data["survivors"] == [] and all(list(row) == KEYS for row in named_data["mutants"])
    assert [{key: row[key] for key in KEYS[:-1]} for row in named_data["mutants"]] == [named_head(fault) for fault in named], COMMAND
    assert [row["killedBy"] for row in named_data["mutants"]] == [list(fault.tests) for fault in named], COMMAND
    assert named_file.read_text(encoding="ascii") == render(named_data)


def can_run(faults: list[NamedFault]) -> list[NamedFault]:
    """The faults that this machine's vector instructions can show."""
    return [fault for fault in faults if fault.form <= kernel.BEST_FORM]


@pytest.mark.exhaustive
def test_a_seeded_choice_is_killed_by_its_tests(named: list[NamedFault], checkout: Path, tmp_path: Path) -> None:
    """The right code passes them, each fault fails all of its own."""
    mine = sorted(can_run(named), key=lambda fault: hashlib.sha256(f"{SEED}/{fault.id}".encode()).digest())[:CHOSEN]
    bench = NamedBench(tmp_path, checkout / "tests")
    whole = tuple(dict.fromkeys(name for fault in mine for name in fault.tests))
    assert bench.judged(NamedFault("kernel_right", "", whole, "", "engines/native/kernels/dot.c", "", "")) == []
    assert bench.run(mine) == {fault.id: list(fault.tests) for fault in mine}, COMMAND


@pytest.mark.mutants
def test_kill_named_json(named: list[NamedFault], named_file: Path, checkout: Path, tmp_path: Path) -> None:
    """Every fault; with EMU_KILL=changed only those that the record does not hold as they are."""
    mode = os.environ.get("EMU_KILL")
    held = json.loads(named_file.read_text(encoding="ascii"))["mutants"] if named_file.exists() else []
    heads = [named_head(fault) for fault in named]
    same = [row for row in held if mode == "changed" and {key: row[key] for key in KEYS[:-1]} in heads]
    failing = {row["id"]: row["killedBy"] for row in same}
    todo = [fault for fault in named if failing.get(fault.id) != list(fault.tests)]
    if can_run(todo) != todo:
        pytest.skip(f"this machine lacks the vector instructions of {[fault.id for fault in todo if fault not in can_run(todo)]}")
    bench = NamedBench(tmp_path, checkout / "tests")
    whole = tuple(dict.fromkeys(name for fault in todo for name in fault.tests))
    assert not whole or bench.judged(NamedFault("kernel_right", "", whole, "", "engines/native/kernels/dot.c", "", "")) == []
    text = render(named_record(named, failing | bench.run(todo, min(4, os.cpu_count() or 1))))
    if mode in ("write", "changed"):
        named_file.write_text(text, encoding="ascii")
    assert named_file.read_text(encoding="ascii") == text, COMMAND
