"""emu vectors deliver: one folder or zip file that needs nothing of emu, whole or not at all; its self-test passes, and fails on faults."""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from emu.cli.main import run
from emu.deliver import deliver, folder
from emu.spec.contract import GRAMMARS, parse
from emu.spec.registry import load_spec, restored
from emu.vectors.suites.plan import plans_of

CONTRACTS = ("dot/mine_int20", "decode/e1m2", "insn/cvt_rn_satfinite_e2m1x2_f32")
DESCRIPTOR = "descriptors/dot__mine_int20.txt"
OF_EACH = (  # of each operation a shipped contract
    "convert/e2m1/rne/nvidia", "decode/e2m1", "dequantize/nvfp4_te_ref/te", "transform/rht16_butterfly",
    "dot/hopper_fp8/e4m3xe4m3", "accumulate/ada_fp8/e4m3xe4m3", "layout/nvfp4/sf128x4", "insn/cvt_rn_satfinite_e2m1x2_f32",
    "operate/is_one/binary5p2se", "quantize/nvfp4_te_ref",
)  # fmt: skip
LAST = re.compile(r"SELF-TEST (PASS|FAIL) code=(\d) suites=(\d+) rows=(\d+) derived by the C reference; benches: (\d+) on .*, (\d+) on .*")


@pytest.fixture(scope="module")
def mine(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec folder with a running register that nobody else has: 20 bits in the place of 24."""
    lines = (checkout / "spec/datapath/e1m2_int24_register.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^expect:\n(  - .*\n)+", "", lines.replace("e1m2_int24_register", "mine_int20"), flags=re.MULTILINE)
    assert text.count("bits: 24") == 1
    out = tmp_path_factory.mktemp("spec")
    (out / "datapath").mkdir()
    (out / "datapath" / "mine_int20.yaml").write_text(text.replace("bits: 24", "bits: 20"), encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def packed(mine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The delivery as a zip file, made by the command."""
    out = tmp_path_factory.mktemp("packed") / "lane.zip"
    words = [word for name in (",".join(CONTRACTS[:2]), CONTRACTS[2]) for word in ("--contracts", name)]
    with restored():
        assert run(["vectors", "deliver", "--spec", str(mine), *words, "--suite", "smoke", "--suite", "all", "--out", str(out), "-q"]) == 0
    return out


@pytest.fixture
def whole(packed: Path, tmp_path: Path) -> Path:
    """The delivery, unpacked in an empty folder."""
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "lane"


def self_test(folder: Path, **variables: str) -> tuple[int, str]:
    """Exit code and output of the self-test, with nothing of this environment on its path: no emu, no Python of ours."""
    path = ":".join(part for part in os.defpath.split(":") if part)
    asked = {"PATH": f"/usr/local/bin:{path}:/usr/bin:/bin", "CFLAGS": "-O0 -std=c99", **variables}
    done = subprocess.run(["sh", "self_test.sh"], cwd=folder, env=asked, capture_output=True, text=True)
    found = LAST.fullmatch(done.stdout.splitlines()[-1].partition("; simulator")[0])
    assert found is not None and int(found[2]) == done.returncode and (found[1] == "PASS") == (done.returncode == 0), done.stdout
    return done.returncode, done.stdout + done.stderr


def sign_again(folder: Path) -> None:
    """Write the checksums of what is there now: a fault that no checksum shows."""
    names = [line.partition("  ")[2] for line in (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()]
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")


def edit(path: Path, old: str, new: str) -> None:
    """Put a fault into a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path}: {old}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.exhaustive
def test_it_holds_everything_and_passes_where_emu_is_not(whole: Path) -> None:
    for name in (
        "README.md",
        "LICENSE",
        "VERSION",
        "semantics.html",
        "c_ref/Makefile",
        "vectors/bench/HOWTO.md",
        "descriptors/dot__mine_int20.txt",
    ):
        assert (whole / name).is_file(), name
    assert not [path for path in whole.rglob("*") if path.suffix in (".o", ".a", ".so", ".pyc")]
    listed = {line.partition("  ")[2] for line in (whole / "SHA256SUMS").read_text(encoding="ascii").splitlines()}
    assert listed == {path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    code, said = self_test(whole)
    assert code == 0, said
    found = LAST.search(said)
    assert found is not None and (int(found[3]), int(found[4])) == (2, 24 + 16)  # insn: not derived by the command, its bench runs
    if shutil.which("iverilog"):
        assert (int(found[5]), int(found[6])) == (1, 2)
    readme = (whole / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in CONTRACTS) and "the C reference derives 2" in readme


@pytest.mark.exhaustive
def test_the_page_of_semantics_needs_nothing_else(whole: Path) -> None:
    page = (whole / "semantics.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#)', page) and "http" not in page
    targets, places = set(re.findall(r'href="#([^"]*)"', page)), set(re.findall(r'id="([^"]*)"', page))
    assert targets <= places and {"datapath-mine_int20", "format-e1m2", "format-ue4m3", "rounding-rne"} <= places
    assert "saturate" in page.partition('id="datapath-mine_int20"')[2].partition("</section>")[0]


@pytest.mark.exhaustive
def test_a_broken_file_is_a_bad_delivery(whole: Path) -> None:
    row = whole / "vectors/dot/dot__e1m2xe1m2_ue4m3_to_fp32__mine_int20__smoke.mem"
    edit(row, "a_", "a_f" if row.read_text()[2] != "f" else "a_0")
    code, said = self_test(whole, SIM="none")
    assert code == 2 and "mine_int20__smoke.mem" in said


def test_a_missing_file_and_a_missing_list(whole: Path) -> None:
    (whole / "descriptors/decode__e1m2.txt").unlink()
    assert self_test(whole, SIM="none")[0] == 2
    (whole / "SHA256SUMS").unlink()
    code, said = self_test(whole, SIM="none")
    assert code == 2 and "not a whole delivery" in said


@pytest.mark.exhaustive
def test_facts_that_differ_from_the_rows_are_found_without_checksums(whole: Path) -> None:
    edit(whole / DESCRIPTOR, "hold fixed 20 ", "hold fixed 12 ")
    above, old = (whole / DESCRIPTOR).read_text(encoding="ascii").removesuffix("\n").rsplit("\n", 1)
    word = hashlib.sha256(f"{above}\n".encode("ascii")).hexdigest()
    edit(whole / DESCRIPTOR, old, re.sub("[0-9a-f]{64}", word, old))
    sign_again(whole)
    code, said = self_test(whole, SIM="none")
    assert code == 1 and "MISMATCH" in said and "mine_int20" in said, said


def test_a_reference_design_with_a_fault_fails(whole: Path) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("no iverilog here")
    edit(whole / "suites.txt", "SRC_BIAS=1", "SRC_BIAS=2")
    sign_again(whole)
    code, said = self_test(whole, CC="no-such-compiler", SIM="icarus")
    assert code == 1 and "the bench does not pass" in said and "no-such-compiler" in said, said


def test_a_missing_tool_is_said(whole: Path) -> None:
    code, said = self_test(whole, CC="no-such-compiler", SIM="none")
    assert code == 5 and "no-such-compiler" in said


@pytest.mark.exhaustive
def test_the_same_delivery_has_the_same_bytes(mine: Path, packed: Path, tmp_path: Path) -> None:
    with restored():
        load_spec(mine)
        done = deliver(tmp_path / "lane", CONTRACTS, ("smoke", "all"), jobs=2)
    assert (done.suites, done.derived) == (3, 2)
    with zipfile.ZipFile(packed) as archive:
        names = {name.removeprefix("lane/"): archive.read(name) for name in archive.namelist()}
    assert names == {
        path.relative_to(tmp_path / "lane").as_posix(): path.read_bytes() for path in (tmp_path / "lane").rglob("*") if path.is_file()
    }


BAD = {
    "unknown contract": (["--contracts", "dot/nothing_of_this_name"], "nothing_of_this_name"),
    "unknown suite": (["--contracts", "decode/e1m2", "--suite", "some"], "some"),
    "no suite": (["--contracts", "decode/e1m2", "--suite", "kill"], "no suite"),
    "no contract": (["--contracts", ","], "no contract"),
}


@pytest.mark.parametrize("ending", ["out", "out.zip"])
@pytest.mark.parametrize("words", BAD.values(), ids=list(BAD))
def test_bad_input_is_one_line_and_leaves_nothing(
    words: tuple[list[str], str], ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["vectors", "deliver", *words[0], "--out", str(tmp_path / ending)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and words[1] in said and list(tmp_path.iterdir()) == []


def test_what_exists_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").mkdir()
    assert run(["vectors", "deliver", "--contracts", "decode/e1m2", "--out", str(tmp_path / "there")]) == 2
    assert "exists already" in capsys.readouterr().err and list((tmp_path / "there").iterdir()) == []
    assert run(["vectors", "deliver", "--contracts", "decode/e1m2", "--out", str(tmp_path / "no" / "folder")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_an_error_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "semantics_page", broken)
    for name in ("out", "out.zip"):
        assert run(["vectors", "deliver", "--contracts", "decode/e1m2", "--out", str(tmp_path / name)]) == 130
    assert list(tmp_path.iterdir()) == []


def test_of_a_small_operation_every_row_is_delivered(tmp_path: Path) -> None:
    """Contracts without chosen rows beside one with them: nothing that was asked for is left out."""
    names = ("operate/is_one/binary5p2se", "decode/e1m2", "layout/nvfp4/sf128x4")
    found = deliver(tmp_path / "out", names)
    stems = [line.split(" ")[1] for line in (tmp_path / "out" / "suites.txt").read_text(encoding="utf-8").splitlines()]
    assert [stem.rpartition("__")[2] for stem in stems] == ["all", "smoke", "all"] and found.rows == 16 + 64 + 32
    assert (tmp_path / "out" / "descriptors" / "operate__is_one__binary5p2se.txt").is_file()


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", OF_EACH)
def test_a_shipped_contract_is_delivered_with_the_suites_that_it_has(tmp_path: Path, name: str) -> None:
    assert run(["vectors", "deliver", "--contracts", name, "--out", str(tmp_path / "out"), "-q"]) == 0
    stems = [line.split(" ")[1] for line in (tmp_path / "out" / "suites.txt").read_text(encoding="utf-8").splitlines()]
    contract = parse(name)
    had = {plan.suite for plan in plans_of(contract, ())}
    assert {stem.rpartition("__")[2] for stem in stems} == (had & set(folder.CHOSEN) or {"all"})


def test_each_operation_has_a_delivery_tried() -> None:
    assert {name.partition("/")[0] for name in OF_EACH} == set(GRAMMARS)
