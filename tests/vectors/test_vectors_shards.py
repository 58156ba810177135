"""Builds in parts: the same bytes as one run. Large suites: two implementations agree, `exact` derives flagged rows and one in 64."""

import filecmp
import shutil
from pathlib import Path

import pytest

from emu.base.errors import EngineError, FileError, SpecError
from emu.contracts.convert.contract import ConvertContract
from emu.vectors import build, find, load, verify
from emu.vectors.build import merge
from emu.vectors.compute import PLAIN, SAMPLE, compute
from emu.vectors.files.manifest import MANIFEST, render_manifest

CONTRACTS = ("convert/e2m1/rne/nvidia", "convert/e1m2/rz/ocp_saturate", "layout/nvfp4/sf128x4", "insn/vfext_vf2")
PARTS = 3


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same bytes."""
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert len(names) > 50
    return names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file()) and all(
        filecmp.cmp(one / name, other / name, shallow=False) for name in names
    )


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """One run, and the folders of its parts."""
    root = tmp_path_factory.mktemp("shards")
    for out, shard in [("whole", None), *((f"part{number}", (number, PARTS)) for number in range(1, PARTS + 1))]:
        build(root / out, ["smoke"], CONTRACTS, shard=shard)
    return root / "whole", [root / f"part{number}" for number in range(1, PARTS + 1)]


@pytest.mark.exhaustive
def test_merged_parts_are_one_run(builds: tuple[Path, list[Path]], tmp_path: Path) -> None:
    whole, parts = builds
    stems = [{path.stem for path in part.glob("*/*__*.json")} for part in parts]
    assert all(len(found) >= 2 for found in stems) and not stems[0] & stems[1] and not stems[1] & stems[2]
    merge(tmp_path / "out", parts)
    assert same(whole, tmp_path / "out") and verify(tmp_path / "out").exit_code == 0


@pytest.mark.exhaustive
def test_parts_into_one_folder_are_one_run(builds: tuple[Path, list[Path]], tmp_path: Path) -> None:
    """The last of three parts into the merged folder of two: what is there stays, the folder is signed again."""
    whole, parts = builds
    merge(tmp_path / "out", parts[:2])
    build(tmp_path / "out", ["smoke"], CONTRACTS, shard=(3, PARTS))
    assert same(whole, tmp_path / "out")


@pytest.mark.exhaustive
def test_parts_that_differ_or_are_broken_are_not_merged(builds: tuple[Path, list[Path]], tmp_path: Path) -> None:
    _, parts = builds
    other = Path(shutil.copytree(parts[0], tmp_path / "other"))
    path = next(other.glob("convert/*.tv"))
    path.write_bytes(path.read_bytes().replace(b"a ", b"b ", 1))
    with pytest.raises(FileError, match=r"sha256 is not the one of MANIFEST"):
        merge(tmp_path / "out", [parts[0], other])
    (path.parent / MANIFEST).write_text(render_manifest(path.parent), encoding="ascii")
    with pytest.raises(FileError, match=r"differs from .*: the builds are of different specs or versions"):
        merge(tmp_path / "out", [parts[0], other])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shard", [(0, 3), (4, 3), (1, 0)])
def test_a_shard_that_is_not_there_is_refused(shard: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="shards are numbered 1 to"):
        build(tmp_path / "out", ["smoke"], CONTRACTS[:1], shard=shard)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 200 rows be too many for the reference model."""
    for module in ("files.manifest", "files.write", "files.suite", "compute"):
        monkeypatch.setattr(f"emu.vectors.{module}.SHARD_ROWS", 200)


@pytest.mark.usefixtures("small")
def test_of_a_large_suite_the_reference_model_derives_flagged_rows_and_a_sample(tmp_path: Path) -> None:
    stem = "convert__bf16_to_e2m1__nvidia_rne__directed"
    build(tmp_path, ["directed"], ["convert/e2m1/rne/nvidia"])
    suite = load(tmp_path / "convert", stem)
    rows = suite.rows
    wanted = sum(number % SAMPLE == 0 or not PLAIN.issuperset(row.flags) for number, row in enumerate(rows))
    assert (
        len(rows) > 200 and suite.record["generator"]["exact_rows"] == wanted and suite.record["generator"]["agreed"] == ["c_ref", "numpy"]
    )
    plan = find(stem.replace("directed", "random"))
    computed = list(compute(plan, 0, 1000))
    assert sum(part.exact_rows for part in computed) == -(-1000 // SAMPLE) and plan.size > 1000


@pytest.mark.usefixtures("small")
def test_one_implementation_is_not_enough_for_a_large_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConvertContract, "engines", lambda self: {"numpy": self.numpy})
    with pytest.raises(EngineError, match="no two other implementations derive them"):
        list(compute(find("convert__bf16_to_e2m1__nvidia_rne__random"), 0, 100))
