"""A cocotb 2 test: golden rows through module `dut` of the kit's wrappers. run.py starts it; EMU_ROWS names the rows, EMU_SEED the gaps."""

import itertools
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb.types import LogicArray
from emu_rows import Score, read_suite

WATCHDOG = 1000  # cycles without an answer


@cocotb.test()
async def golden_rows(dut):
    """Random gaps, X on the inputs between rows; every answer is judged in order, and no answer may be missing or extra."""
    suite, gaps = read_suite(os.environ["EMU_ROWS"]), random.Random(int(os.environ.get("EMU_SEED", "1")))
    score, rows, sent, answered, quiet, fault = Score(suite), suite.rows, 0, 0, 0, None
    Clock(dut.clk, 40, unit="ns").start()  # four EMU_TICK: the clocks that wrappers of port maps make are in percent of it
    dut.rst.value, dut.in_valid.value = 1, 0
    for cycle in itertools.count():  # as long as answers come
        drives = cycle > 9 and sent < len(rows) and gaps.random() < 0.75
        for name, value in rows[sent if drives else 0].inputs.items():
            port = getattr(dut, name)
            port.value = value if drives else LogicArray("X" * len(port))
        dut.in_valid.value, dut.rst.value, sent = int(drives), int(cycle < 4), sent + drives
        await FallingEdge(dut.clk)
        if str(dut.out_valid.value) == "1" and cycle > 4:
            fault = fault or ("count" if answered == sent else None)
            if line := None if fault else score.add(rows[answered], {name: str(getattr(dut, name).value) for name in rows[0].expected}):
                print(line)
            answered, quiet = answered + 1, 0
        quiet += 1
        if fault or quiet > WATCHDOG + 9 or (answered == len(rows) and quiet > 40):
            break
        await RisingEdge(dut.clk)
    print(score.result(fault or ("timeout" if answered < len(rows) else None)), flush=True)
    assert score.passed and not fault
