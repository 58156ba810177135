"""emu vectors build: whole or not at all, resumable, the same bytes however it is run; implementations that differ stop it."""

import filecmp
from pathlib import Path

import pytest

from emu.base.errors import EngineError, FileError, SpecError
from emu.contracts.convert.contract import ConvertContract
from emu.vectors import build, find, verify
from emu.vectors.files.write import digest_suite

RNE = "convert/e2m1/rne/nvidia"


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same bytes."""
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names
    return names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file()) and all(
        filecmp.cmp(one / name, other / name, shallow=False) for name in names
    )


@pytest.mark.exhaustive
def test_processes_and_order_do_not_change_a_byte(tmp_path: Path) -> None:
    build(tmp_path / "one", ["smoke"], [RNE, "convert/e1m2/rz/ocp_saturate"])
    build(tmp_path / "two", ["smoke"], ["convert/e1m2/rz/ocp_saturate", RNE], jobs=2)
    build(tmp_path / "three", ["smoke"], ["convert/e1m2/rz/ocp_saturate"])
    build(tmp_path / "three", ["smoke"], [RNE])
    assert same(tmp_path / "one", tmp_path / "two") and same(tmp_path / "one", tmp_path / "three")


def test_a_second_run_skips_what_is_right_and_mends_what_is_not(tmp_path: Path) -> None:
    first = build(tmp_path / "out", ["smoke"], [RNE])
    assert first.written and not first.skipped
    path = tmp_path / "out" / "convert" / f"{first.written[0]}.tv"
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    second = build(tmp_path / "out", ["smoke"], [RNE])
    assert second.written == first.written[:1] and set(second.skipped) == set(first.written[1:])
    assert path.read_bytes() == good and verify(tmp_path / "out").exit_code == 0


def test_a_stopped_build_leaves_no_half_suite_and_goes_on(tmp_path: Path) -> None:
    class Stop(Exception):
        """The user's interruption."""

    def stop(stem: str, done: int, total: int) -> None:
        if done > 1:
            raise Stop

    with pytest.raises(Stop):
        build(tmp_path / "out", ["smoke"], [RNE], progress=stop)
    assert verify(tmp_path / "out").exit_code == 2
    stems = [path.stem for path in (tmp_path / "out" / "convert").glob("*.json")]
    assert len(stems) == 2
    resumed = build(tmp_path / "out", ["smoke"], [RNE])
    assert sorted(resumed.skipped) == sorted(stems) and len(resumed.written) == 1
    build(tmp_path / "whole", ["smoke"], [RNE])
    assert same(tmp_path / "out", tmp_path / "whole")


def test_progress_counts_every_suite(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    build(tmp_path / "out", ["smoke"], [RNE], progress=lambda stem, done, total: seen.append((done, total)))
    assert seen == [(done, 3) for done in (1, 2, 3)]


def test_foreign_folders_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"notes\.txt"):
        build(tmp_path / "mine", ["smoke"], [RNE])
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="not a folder"):
        build(tmp_path / "file", ["smoke"], [RNE])
    assert (tmp_path / "file").read_text() == "mine" and [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_unknown_names_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for suites, contracts, words in (
        (["smok"], None, "suite"),
        (["smoke"], ["convert/e2m1/rne/nvidea"], "nvidia"),
        (["smoke"], ["quantise/x"], "quantize"),
    ):
        with pytest.raises(SpecError, match=words):
            build(tmp_path / "out", suites, contracts)
    with pytest.raises(FileError, match="no suite"):
        build(tmp_path / "out", ["smoke"], ["decode/e2m1"])
    assert not (tmp_path / "out").exists()


def test_implementations_that_differ_stop_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ConvertContract.numpy

    def wrong(self: ConvertContract, rows):
        answers = right(self, rows)
        return [*answers[:3], ((answers[3][0][0] ^ 1,),), *answers[4:]]

    monkeypatch.setattr(ConvertContract, "numpy", wrong)
    with pytest.raises(EngineError, match="row 4: numpy and the reference model differ in y"):
        build(tmp_path / "out", ["smoke"], [RNE])
    assert not list((tmp_path / "out").glob("convert/*"))


@pytest.mark.exhaustive
def test_shards_do_not_change_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stem = "convert__bf16_to_e2m1__nvidia_rne__directed"
    whole = digest_suite(find(stem))
    for module in ("files.manifest", "files.write", "files.suite", "compute"):
        monkeypatch.setattr(f"emu.vectors.{module}.SHARD_ROWS", 100)
    monkeypatch.setattr("emu.vectors.compute.CHUNK", 7)
    built = build(tmp_path / "out", ["directed"], [RNE])
    from emu.vectors import load

    suite = load(tmp_path / "out" / "convert", stem)
    assert stem in built.written and suite.record["rows_sha256"] == whole
    shards = -(-len(suite.rows) // 100)
    assert len(suite.record["shards"]) == shards > 2
    assert "`define TC_BASE 101\n" in (tmp_path / "out" / "convert" / f"{stem}.s0001of{shards:04d}.svh").read_text()
    assert verify(tmp_path / "out").exit_code in (0, 1) and not verify(tmp_path / "out").faults


@pytest.mark.exhaustive
def test_suites_of_many_rows_leave_the_tests_out(tmp_path: Path) -> None:
    from emu.vectors import load

    build(tmp_path / "out", ["directed"], ["convert/e4m3/rz/nvidia"])
    suite = load(tmp_path / "out" / "convert", "convert__fp32_to_e4m3__nvidia_rz__directed")
    assert len(suite.rows) > 4096
    assert all(set(group) == {"name", "comment", "tcFirst", "rows", "flags"} for group in suite.record["groups"])
    assert sum(group["rows"] for group in suite.record["groups"]) == len(suite.rows)


def test_a_full_disk_is_one_line_and_the_build_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from emu.vectors.files import write

    right, count = write.write_text, []

    def full(path: Path, text: str) -> None:
        count.append(path)
        if len(count) == 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        right(path, text)

    monkeypatch.setattr(write, "write_text", full)
    with pytest.raises(FileError, match="No space left on device"):
        build(tmp_path / "out", ["smoke"], [RNE])
    assert len(list((tmp_path / "out").glob("convert/*.json"))) == 1
    monkeypatch.setattr(write, "write_text", right)
    assert len(build(tmp_path / "out", ["smoke"], [RNE]).skipped) == 1 and verify(tmp_path / "out").exit_code == 0
