"""A new format, block or recipe is one YAML file and no code: a user's folder runs through every column and every way to name it.

The folder is tests/spec/user: E2M1 with bias 2, a sign-magnitude grid k/2, a codebook, and three blocks with their recipes.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError
from emu.cli.main import run
from emu.engines.exact.block import dequantize
from emu.spec import derive, get, names
from emu.spec.contract import ContractName, contracts
from emu.spec.registry import isolated, shipped_root

FOLDER = Path(__file__).parent / "user"
FORMATS = ("e2m1_b2", "s1e0m3_half", "dyadic")
RECIPES = ("e1m2_ue5m3", "dyadic_row", "sub_shift")
OBJECTS = {
    *(("format", name) for name in FORMATS),
    *(("recipe", name) for name in RECIPES),
    *(("block", name) for name in RECIPES),
}
BF16 = np.concatenate(
    [np.arange(0x3A00, 0x4180, 7), np.arange(0xBA00, 0xC180, 7), [0, 0x8000, 1, 0x8001, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0xFF7F]]
)


@pytest.fixture
def user() -> Iterator[None]:
    """The shipped spec and the user's folder."""
    with isolated(shipped_root()):
        emu.load_spec(FOLDER)
        yield


def data(rows: int, columns: int) -> np.ndarray:
    """Normal numbers whose magnitude changes from block to block, with zeros, a zero block and -0."""
    generator = np.random.default_rng(20260117)
    x = generator.standard_normal((rows, columns)).astype(np.float32)
    x *= np.exp2(generator.integers(-9, 9, (rows, columns // 8))).astype(np.float32).repeat(8, axis=1)
    x[0, :32], x[1, 3], x[2, 5] = 0, 0, -0.0
    return x


def draws(rounding: str, count: int) -> np.ndarray | None:
    """Random integers for a rounding, one per element or one word per `lanes` elements; None where it draws nothing."""
    facts = get("rounding", rounding).facts
    if facts.random == "none":
        return None
    bits = getattr(facts.random, "word", facts.random.per_element)
    lanes = getattr(facts.random, "lanes", 1)
    return np.random.default_rng(5).integers(0, 1 << bits, -(-count // lanes), dtype=np.uint64)


def test_names_list_them_and_load_spec_says_what_it_added() -> None:
    with isolated(shipped_root()):
        before = {kind: set(names(kind)) for kind in ("format", "block", "recipe")}
        assert set(emu.load_spec(FOLDER)) == {f"{kind}/{name}" for kind, name in OBJECTS}
        assert {(kind, name) for kind in before for name in set(names(kind)) - before[kind]} == OBJECTS
        assert "e2m1_b2" in emu.spec.names("format") and "sub_shift" in emu.spec.names("recipe")
        assert emu.spec.get("format", "half_e2m1") is emu.spec.get("format", "e2m1_b2")
    assert "e2m1_b2" not in names("format")


@pytest.mark.parametrize(
    ("name", "halves"),
    [
        ("e2m1_b2", "0 1/4 1/2 3/4 1 3/2 2 3 -0 -1/4 -1/2 -3/4 -1 -3/2 -2 -3"),
        ("s1e0m3_half", "0 1/2 1 3/2 2 5/2 3 7/2 -0 -1/2 -1 -3/2 -2 -5/2 -3 -7/2"),
        ("dyadic", "-2 -5/4 -7/8 -5/8 -3/8 -1/4 -1/8 0 1/16 3/16 5/16 1/2 3/4 1 3/2 2"),
    ],
)
def test_decode(name: str, halves: str, user: None) -> None:
    wanted = np.array([-0.0 if text == "-0" else float(Fraction(text)) for text in halves.split()], np.float32)
    assert (emu.decode(np.arange(16, dtype=np.uint8), name).view(np.uint32) == wanted.view(np.uint32)).all()


def answered(contract: ContractName) -> bool:
    """Whether the policy leaves nothing open and refuses nothing on the way to the format."""
    entry = derive.policy_entry(get("policy", contract.parts[2]), get("format", contract.parts[0]))
    pairs = (entry.nan, entry.overflow_nan, entry.inf, entry.zero, None if entry.negative is None else (entry.negative,))
    return all(min(pair) >= 0 for pair in pairs if pair is not None)


def quick(codes: np.ndarray, contract: ContractName, random: np.ndarray | None) -> np.ndarray:
    """The codes of the NumPy engine, or of the C reference where that one steps back."""
    try:
        return emu.convert(codes, *contract.parts, "bf16", random, "numpy")
    except EngineError:
        return emu.convert(codes, *contract.parts, "bf16", random, "c_ref")


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", FORMATS)
def test_convert_under_every_contract(name: str, user: None) -> None:
    codes = BF16.astype(np.uint16)
    mine = [contract for contract in contracts() if contract.op == "convert" and contract.parts[0] == name]
    assert {contract.parts[2] for contract in mine} >= {"nvidia", "ocp_saturate"}
    left_out = set(names("rounding")) - {contract.parts[1] for contract in mine}
    assert left_out == ({"odd", "odd_by_parity", "sr_te_fma8", "sr_te_sw8"} if name == "dyadic" else set())
    for contract in filter(answered, mine):
        random = draws(contract.parts[1], codes.size)
        assert (emu.convert(codes, *contract.parts, "bf16", random, "exact") == quick(codes, contract, random)).all(), contract


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("axis", [-1, 0])
def test_quantize_and_dequantize(name: str, axis: int, user: None) -> None:
    x = data(32, 64)
    random = np.random.default_rng(9).integers(0, 256, x.shape, dtype=np.uint32) if name == "e1m2_ue5m3" else None
    exact, fast = (emu.quantize(x, name, axis=axis, random=random, engine=engine) for engine in ("exact", "numpy"))
    assert (exact.codes == fast.codes).all() and len(np.unique(fast.codes)) > 8
    assert all((a.codes == b.codes).all() for a, b in zip(exact.levels, fast.levels, strict=True))
    if axis == -1:
        levels = {level.name: np.atleast_2d(level.codes).tolist() for level in fast.levels}
        wanted = dequantize(get("recipe", name), fast.codes.tolist(), {key: shaped(name, rows, 32) for key, rows in levels.items()})
        assert (fast.dequantize().view(np.uint32) == np.array(wanted, np.uint32)).all()
    assert (fast.dequantize() != 0).any()


def shaped(name: str, rows: list[list[int]], height: int) -> list[list[int]]:
    """Level codes as the reference model takes them: one row of codes per row of the tensor."""
    return rows if len(rows) == height else [[code] for code in rows[0]]


@pytest.mark.parametrize("name", ["e1m2_ue5m3", "dyadic_row"])
def test_tails(name: str, user: None) -> None:
    x = data(4, 64)[:, :43]
    random = np.random.default_rng(9).integers(0, 256, x.shape, dtype=np.uint32) if name == "e1m2_ue5m3" else None
    exact, fast = (emu.quantize(x, name, random=random, engine=engine) for engine in ("exact", "numpy"))
    assert (exact.codes == fast.codes).all()
    assert all((a.codes == b.codes).all() for a, b in zip(exact.levels, fast.levels, strict=True))


def test_a_saved_tensor_comes_back(user: None, tmp_path: Path) -> None:
    q = emu.quantize(data(8, 64), "sub_shift")
    q.save(tmp_path / "q.safetensors")
    assert (emu.Quantized.load(tmp_path / "q.safetensors").dequantize() == q.dequantize()).all()


SCRIPT = """
import numpy as np, emu
x = np.arange(-32, 32, dtype=np.float32).reshape(2, 32)
q = emu.quantize(x, "sub_shift")
print(emu.convert(x[0], "half_e2m1").tolist(), q.codes.tolist(), [level.codes.tolist() for level in q.levels])
"""


@pytest.mark.exhaustive
def test_environment_gives_the_same_codes(user: None) -> None:
    environment = {**os.environ, "EMU_SPEC_PATH": str(FOLDER)}
    result = subprocess.run([sys.executable, "-P", "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert result.stderr == ""
    x = np.arange(-32, 32, dtype=np.float32).reshape(2, 32)
    q = emu.quantize(x, "sub_shift")
    assert (
        result.stdout.strip()
        == f"{emu.convert(x[0], 'e2m1_b2').tolist()} {q.codes.tolist()} {[level.codes.tolist() for level in q.levels]}"
    )
    without = subprocess.run([sys.executable, "-P", "-c", SCRIPT], env={**os.environ, "EMU_SPEC_PATH": ""}, capture_output=True, text=True)
    assert "recipe 'sub_shift' is unknown" in without.stderr


def test_command_line(own_registry: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "e2m1_b2", "5/4"]) == 2
    assert "format 'e2m1_b2' is unknown" in capsys.readouterr().err
    assert run(["--spec", str(FOLDER), "convert", "e2m1_b2", "5/4", "--json"]) == 0
    assert '"0x4"' in capsys.readouterr().out  # 5/4 lies half way between 1 (code 4) and 3/2 (code 5)
    assert run(["list", "formats", "--json", "--spec", str(FOLDER)]) == 0
    assert {row["id"] for row in json.loads(capsys.readouterr().out)} >= set(FORMATS)
    assert run(["show", "recipe/sub_shift", "--spec", str(FOLDER)]) == 0
    assert "e8m0_rule" in capsys.readouterr().out
