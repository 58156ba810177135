"""The VHDL bench of the kit under GHDL: right designs pass, wrong designs and broken files never do, each with its reason."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from emu_rows import Suite, read_suite
from support.golden import recounted

STEM = "convert__bf16_to_e2m1__nvidia_rne__directed"
RANDOM = "convert__bf16_to_e2m1__nvidia_sr_add8__directed"
HEAD = """library ieee;
use ieee.std_logic_1164.all;
entity dut is
  port (clk, rst, in_valid : in std_logic; x : in std_logic_vector(15 downto 0); r : in std_logic_vector; out_valid : out std_logic;
    y : out std_logic_vector(3 downto 0));
end entity;
architecture wrapper of dut is
  signal now, then1, then2 : std_logic_vector(3 downto 0);
  signal stopped : std_logic := '0';
  signal valid : std_logic_vector(2 downto 1) := "00";
begin
  unit : entity work.my_convert port map (bf16 => x, e2m1 => now);
"""
CLOCKED = """process (clk) begin
    if rising_edge(clk) then
      then1 <= now; then2 <= then1; valid <= valid(1) & in_valid;
      if rst = '1' then valid <= "00"; end if;
    end if;
  end process;
"""
DESIGNS = {
    "two clocks": (CLOCKED + "y <= then2; out_valid <= valid(2);", 0, "PASS reason=none"),
    "valid too early": (CLOCKED + "y <= then2; out_valid <= valid(1);", 1, "FAIL reason=mismatch"),
    "eight clocks that no reset clears": (
        "y <= transport now after 320 ns; out_valid <= transport in_valid after 320 ns;", 1, "FAIL reason=count"),
    "wrong sign of NaN": ("y <= now when now(2 downto 0) /= 7 else x(15) & now(2 downto 0); out_valid <= in_valid;".replace(
        "/= 7", '/= "111"'), 1, "FAIL reason=mismatch"),
    "a bit that nothing drives": ("y(2 downto 0) <= now(2 downto 0); out_valid <= in_valid;", 4, "FAIL reason=x"),
    "no answer": ("y <= now; out_valid <= '0';", 1, "FAIL reason=timeout"),
    "answers without a row": ("y <= now; out_valid <= not rst;", 1, "FAIL reason=count"),
    "an answer too few": ("y <= now; out_valid <= in_valid when x /= x\"40A0\" else '0';", 1, "FAIL reason=count"),
    "silent from there on": (("y <= now; out_valid <= in_valid when stopped /= '1' else '0'; "
        "stopped <= '1' when x = x\"40A0\" else stopped;"), 1, "FAIL reason=timeout"),
}  # fmt: skip


@pytest.fixture
def copy(checkout: Path, tmp_path: Path, need: Callable[..., None]) -> Path:
    """A suite in a folder of its own, without ending."""
    need("ghdl")
    for path in (checkout / "vectors/convert").glob(f"{STEM}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / STEM


def run(kit: Path, suite: Path, *designs: Path, stall: int = 0) -> tuple[int, list[str], str]:
    words = [str(kit / "vhdl/run.sh"), str(suite), *map(str, designs)]
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin:/usr/local/bin", "STALL": str(stall)})
    return done.returncode, done.stdout.splitlines(), done.stderr


def passed(suite: Suite) -> str:
    return f"RESULT PASS reason=none suite={suite.stem} rows_sha256={suite.rows_sha256} compared={len(suite.rows)} mismatch=0 x=0 masked=0"


def test_the_example_passes_with_and_without_gaps(kit: Path, copy: Path) -> None:
    expected = passed(read_suite(f"{copy}.mem"))
    for stall in (0, 5):
        assert run(kit, copy, kit / "vhdl/my_convert.vhd", stall=stall) == (0, [expected], "")


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_gets_its_verdict(kit: Path, copy: Path, name: str) -> None:
    body, code, verdict = DESIGNS[name]
    design = copy.with_name("dut.vhd")
    text = (kit / "vhdl/my_convert.vhd").read_text()
    design.write_text(text[: text.index("library ieee;", text.index("end architecture;"))] + HEAD + body + "\nend architecture;\n")
    found, lines, errors = run(kit, copy, design, stall=3)
    assert (found, lines[-1].split(" suite=")[0]) == (code, f"RESULT {verdict}"), errors
    if "mismatch" in verdict:
        assert lines[0].startswith(f"MISMATCH suite={STEM} tc=") and 2 <= len(lines) <= 4


def table(suite: Suite, name: str = "y") -> str:
    """A design that answers the rows of a suite with random operands from a table."""
    known = {(row.inputs["x"], row.inputs["r"]): row.expected[name] for row in suite.rows}
    rows = [f'when x"{x:04x}{r:02x}" => y <= x"{y:x}";' for (x, r), y in known.items()]
    process = "process (all) begin case x & r is " + "\n".join(rows) + ' when others => y <= "XXXX"; end case; end process;'
    return HEAD.replace("r : in std_logic_vector;", "r : in std_logic_vector(7 downto 0);").replace(
        "unit : entity work.my_convert port map (bf16 => x, e2m1 => now);", process + "out_valid <= in_valid;\nend architecture;\n"
    )


def test_random_operands_are_driven(checkout: Path, kit: Path, copy: Path) -> None:
    suite = read_suite(checkout / f"vectors/convert/{RANDOM}.mem")
    design = copy.with_name("dut.vhd")
    design.write_text(table(suite))
    assert run(kit, checkout / "vectors/convert" / RANDOM, design) == (0, [passed(suite)], "")
    design.write_text(
        table(suite._replace(rows=tuple(row._replace(expected={"y": row.expected["y"] ^ (row.tc == 9)}) for row in suite.rows)))
    )
    code, lines, _ = run(kit, checkout / "vectors/convert" / RANDOM, design)
    row = suite.rows[8]
    shown = f"in={row.inputs['x']:04x},{row.inputs['r']:02x} want={row.expected['y']:x} got={row.expected['y'] ^ 1:x} mask=f"
    assert (code, lines[0]) == (1, f"MISMATCH suite={RANDOM} tc=9 out=y {shown}")


DEFECTS = {
    "trailer gone": (".mem", lambda text: text[: text.index("\ne_") + 1], "BADFILE reason=guard"),
    "a row gone": (".mem", lambda text: text.split("\n", 1)[1], "BADFILE reason=count"),
    "shorter file": (".mem", lambda text: recounted(text.split("\n", 1)[1], -1), "BADFILE reason=count"),
    "longer file": (".mem", lambda text: recounted(text.replace("\ne_", "\na_0000_0_f // tc=9\ne_"), 1), "BADFILE reason=count"),
    "after the trailer": (".mem", lambda text: text + "a_0000_0_f // tc=359\n", "BADFILE reason=count"),
    "empty": (".mem", lambda text: "", "BADFILE reason=guard"),
    "x digit": (".mem", lambda text: text.replace("a_ffbf_7_f", "a_ffbf_x_f"), "BADFILE reason=guard"),
    "upper case": (".mem", lambda text: text.replace("a_ffbf_7_f", "a_FFBF_7_f"), "BADFILE reason=guard"),
    "digit too many": (".mem", lambda text: text.replace("a_ffbf_7_f", "a_0ffbf_7_f"), "BADFILE reason=guard"),
    "digit too few": (".mem", lambda text: text.replace("a_ffbf_7_f", "a_fbf_7_f"), "BADFILE reason=guard"),
    "other comment": (".mem", lambda text: text.replace(" // tc=358", " # tc=358"), "BADFILE reason=guard"),
    "masked row": (".mem", lambda text: text.replace("a_ffbf_7_f", "a_ffbf_7_0"), "BADFILE reason=count"),
    "wrong row": (".mem", lambda text: text.replace("a_ffbf_7_f", "a_ffbf_6_f"), "FAIL reason=mismatch"),
    "other columns": (".desc", lambda text: text.replace("col y out 4 1", "col y out 8 2"), ""),
    "no .desc": (".desc", lambda text: "x", ""),
    "self-test without a flipped bit": (".neg.mem", lambda text: text.replace("a_0000_1_f", "a_0000_0_f"), "PASS reason=none"),
    "self-test cut": (".neg.mem", lambda text: text[: text.index("\ne_") + 1], "PASS reason=none"),
}


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_never_passes(kit: Path, copy: Path, name: str) -> None:
    ending, change, verdict = DEFECTS[name]
    path = Path(f"{copy}{ending}")
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    code, lines, errors = run(kit, copy, kit / "vhdl/my_convert.vhd")
    assert code == 2
    assert "edited or truncated" in errors or name not in ("wrong row", "masked row", "trailer gone", "x digit")
    assert [line.split(" suite=")[0] for line in lines if line.startswith("RESULT ")] == ([f"RESULT {verdict}"] if verdict else []), errors
    assert errors or lines


def test_misuse_ends_with_two(kit: Path, copy: Path) -> None:
    for words in ((), (copy.with_name("none"), kit / "vhdl/my_convert.vhd"), (copy,), (copy, kit / "none.vhd")):
        done = subprocess.run([str(kit / "vhdl/run.sh"), *map(str, words)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr
