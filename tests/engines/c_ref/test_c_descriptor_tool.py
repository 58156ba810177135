"""emu_ref --descriptor: rows of objects that the build does not have, and one line for a file that is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from emu.cli.main import run as run_cli
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.spec.registry import get
from tests.support.descriptor_samples import drawn_format

MINE = drawn_format(1)


def emu_ref(built: Path, *words: str, stdin: str = "") -> tuple[int, str, str]:
    done = subprocess.run([built / "emu_ref", *words], input=stdin, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "mine.txt"
    found.write_text(descriptor_text([MINE, get("policy", "nvidia")]), encoding="ascii")
    return found


def test_a_format_of_the_user_is_generated_filled_and_checked(built: Path, path: Path) -> None:
    words = (f"convert/{MINE.id}/rne/nvidia", "--descriptor", str(path))
    code, rows, said = emu_ref(built, "gen", *words)
    assert (code, said) == (0, "")
    assert len(rows.splitlines()) > 100
    code, out, said = emu_ref(built, "check", *words, stdin=rows)
    assert (code, said) == (0, "") and out.startswith("RESULT PASS")
    inputs = "".join(f"{line.split()[1]}\n" for line in rows.splitlines()[:-1])
    assert emu_ref(built, "fill", *words, stdin=inputs) == (0, rows, "")
    assert emu_ref(built, "fill", words[0], stdin=inputs)[0] == 2
    first = rows.splitlines()[5]
    wrong = rows.replace(first, first[:-3] + ("1" if first[-3] == "0" else "0") + first[-2:], 1)
    assert emu_ref(built, "check", *words, stdin=wrong)[0] in (1, 2)
    assert emu_ref(built, "gen", words[0])[0] == 2


def test_a_datapath_of_the_user_is_generated_filled_and_checked(built: Path, path: Path) -> None:
    mine = get("datapath", "hopper_fp8").model_copy(update={"id": "my_lane"})
    path.write_text(descriptor_text([mine]), encoding="ascii")
    words = ("dot/my_lane/e4m3xe5m2", "--descriptor", str(path))
    code, rows, said = emu_ref(built, "gen", *words, "--random", "20", "--key", "7")
    assert (code, said) == (0, "")
    assert rows == emu_ref(built, "gen", "dot/hopper_fp8/e4m3xe5m2", "--random", "20", "--key", "7")[1]
    assert emu_ref(built, "check", *words, stdin=rows)[1].startswith("RESULT PASS")
    inputs = "".join(" ".join(line.split()[1:4]) + "\n" for line in rows.splitlines()[:-1])
    assert emu_ref(built, "fill", *words, stdin=inputs) == (0, rows, "")
    assert emu_ref(built, "gen", words[0])[0] == 2


def test_a_file_that_is_wrong_is_one_line_and_exit_2(built: Path, path: Path) -> None:
    path.write_text(path.read_text().replace("formats 1", "formats 2", 1))
    code, out, said = emu_ref(built, "gen", "decode/fp4", "--descriptor", str(path))
    assert (code, out) == (2, "")
    assert said.startswith(f"emu_ref: {path}:") and said.count("\n") == 1
    code, out, said = emu_ref(built, "gen", "decode/fp4", "--descriptor", str(path.parent / "absent"))
    assert (code, out, said) == (2, "", f"emu_ref: {path.parent / 'absent'}: cannot be read\n")
    path.write_text("# " + "x" * (1 << 20))
    code, out, said = emu_ref(built, "gen", "decode/fp4", "--descriptor", str(path))
    assert (code, said) == (2, f"emu_ref: {path}:0: the file is too long: at most 1 MiB, export fewer objects at a time\n")


def test_the_command_writes_a_file_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.txt"
    words = ["export", "descriptor", "format/e2m1", "rounding/rne", "policy/nvidia"]
    assert run_cli([*words, "-o", str(out)]) == 0
    assert "lines" in capsys.readouterr().err
    assert run_cli(words) == 0
    assert capsys.readouterr().out == out.read_text(encoding="ascii")
    assert run_cli([*words, "-o", str(out)]) == 2
    assert run_cli(["export", "descriptor", "checkpoint/" + "compressed_tensors_nvfp4"]) == 2
    assert run_cli(["export", "descriptor", "format/none_such"]) == 2
