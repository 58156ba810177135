"""The torch engine refuses what it cannot do right: flushed subnormals, another rounding mode, no torch, work that is not its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError
from emu.engines.table import ENGINES, TABLE, choose
from emu.spec import get
from emu.spec.datapath import resolve

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
environment = importlib.import_module("emu.engines.torch.tensors")

X = np.linspace(-3, 3, 32, dtype=np.float32).reshape(2, 16)


def test_flushed_subnormals_are_refused():
    assert torch.set_flush_denormal(True)
    try:
        for work in (
            lambda: emu.quantize(X, "nvfp4_te_ref", engine="torch"),
            lambda: emu.transform(X, "rht16_te_fp32", engine="torch"),
            lambda: importlib.import_module("emu.torch.api").quantize(torch.from_numpy(X), "nvfp4_te_ref"),
        ):
            with pytest.raises(EngineError, match="flushes subnormals"):
                work()
        assert emu.convert(np.array([1e-40], np.float32), "fp16", engine="torch").tolist() == [0]  # integers only: nothing to refuse
    finally:
        torch.set_flush_denormal(False)
    environment.check_environment()


def test_advice_names_an_argument_that_the_function_has():
    functions, layers = importlib.import_module("emu.torch"), importlib.import_module("emu.nn")
    for x in (torch.ones(3), torch.ones(3, dtype=torch.bool)):
        with pytest.raises(emu.OperandError, match=r"^formats='e2m1' takes unsigned codes, not [^=]*$"):
            functions.operate("negate", x, formats="e2m1")
    assert torch.set_flush_denormal(True)
    try:
        with pytest.raises(EngineError, match=r"flushes subnormals to zero: [^=]*$"):
            layers.QuantLinear(32, 32)(torch.ones(4, 32))
    finally:
        torch.set_flush_denormal(False)


ROUND_UP = """
import ctypes, ctypes.util, torch
from emu.engines.torch.tensors import check_environment
check_environment()
assert ctypes.CDLL(ctypes.util.find_library("m")).fesetround(0x800) == 0  # FE_UPWARD of x86
try:
    check_environment()
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of the rounding mode is that of x86")
def test_another_rounding_mode_is_refused():
    done = subprocess.run([sys.executable, "-c", ROUND_UP], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("EngineError torch does not round to nearest even")


def test_auto_never_takes_torch_and_rows_come_last():
    assert "torch" in ENGINES
    rows = [row.engine for row in TABLE]
    assert set(rows[rows.index("torch") :]) == {"torch"}
    assert choose("quantize", "auto", get("recipe", "nvfp4_te_ref"), get("format", "fp32")) != "torch"
    assert choose("quantize", "torch", get("recipe", "nvfp4_te_ref"), get("format", "fp32")) == "torch"


def test_without_torch_there_is_one_clear_line(monkeypatch):
    present = importlib.import_module("emu.engines.torch.present")
    monkeypatch.setattr(present, "has_torch", lambda: False)
    with pytest.raises(EngineError) as caught:
        choose("convert", "torch", get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne"), get("policy", "nvidia"))
    assert str(caught.value) == "engine torch needs torch, which is not installed: pip install 'fp4emu[torch]'"


def test_import_of_the_package_loads_no_torch():
    code = "import sys, emu.torch, emu.engines; assert 'torch' not in sys.modules; emu.torch.convert; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (("nv_like_exact", "e1m2", "e1m2", "ue5m3", 16), "sums of 81 bits"),
        (("nv_like_exact", "e1m2", "int4", "e8m0", 16), "sums of 523 bits"),
    ],
)
def test_datapaths_that_need_more_bits_are_refused(choice, why):
    plan = resolve(*choice)
    datapath = importlib.import_module("emu.engines.torch.datapath")
    with pytest.raises(EngineError, match=why):
        datapath.refuse(plan)
    with pytest.raises(EngineError, match="cannot dot this"):
        choose("dot", "torch", plan)
