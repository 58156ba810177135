"""The test of a product: every order of summation must give the same bits on what it is asked."""

from product import tiled

from emu.testing import check_matmul


def test_product() -> None:
    """A product that differs fails with the report."""
    check_matmul(tiled, "nvfp4", "nvfp4", shapes=[(17, 33, 96), (5, 3, 160)])
