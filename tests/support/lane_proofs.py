"""The record of sums that were proven lane by lane. Not here: the proofs (tests/rtl/test_rtl_prove_lanes.py)."""

from emu.files.record import Record, opens

COMMAND = "EMU_ALL=1 EMU_PROOFS=write pytest -m exhaustive tests/rtl/test_rtl_prove_lanes.py"
KIND = Record("record of proofs", f"run {COMMAND}", opens("proofs"), ("design_sha256", "proofs"))
