"""The gate: every bit of the kernel is that of torchao's quantizer, on chosen blocks and on both sides of each decision."""

from kernel import third

from emu.testing import check


def test_kernel() -> None:
    """A kernel that differs fails with the report and its smallest counterexample."""
    check(third, "quantize/mxfp4_torchao_floor", takes="torch.fp32", gives=("codes", "scale"), suites=["directed"])
