"""The record of netlist mutants of the running registers. Not here: drawing and judging them (tests/rtl/test_rtl_running_mutants.py)."""

from emu.files.record import Record, opens

COMMAND = "EMU_ALL=1 EMU_MUTANTS=write pytest -m exhaustive tests/rtl/test_rtl_running_mutants.py"
KIND = Record("record of mutants of running registers", f"run {COMMAND}", opens("designs"), ("designs",))
