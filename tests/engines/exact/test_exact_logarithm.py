"""The digits of log2: the interval that they give holds it, told by whole powers alone."""

from fractions import Fraction

import pytest

from emu.engines.exact.logarithm import bounds


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_the_interval_holds_the_logarithm(bits):
    """2^(low * n) <= number^n <= 2^(high * n), where n is the denominator of both; numbers at which a digit is hard to tell among them."""
    shortest = set()
    for denominator in range(3, 60):
        for numerator in range(denominator + 1, 2 * denominator):
            number = Fraction(numerator, denominator)
            low, high = bounds(number, bits)
            count = max(low.denominator, high.denominator)
            assert Fraction(2) ** int(low * count) <= number**count <= Fraction(2) ** int(high * count), number
            shortest.add(high - low)
    assert min(shortest) == Fraction(1, 2**bits) < max(shortest)  # some stop early, where a digit cannot be told
