"""Philox4x32-10: the published known answers, the array form against Python integers, independence of chunks."""

import numpy as np
import pytest

from emu.base.errors import OperandError
from emu.base.philox import MULTIPLIERS, ROUNDS, WEYL, draw, stream_of, words

# Known answers of the Random123 library, kat_vectors, philox4x32 with 10 rounds: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


def philox_block(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the four 32-bit words of one counter block. counter, key: low word first. Source: Random123 philox4x32, 10 rounds."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        product0, product1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (product1 >> 32) ^ c1 ^ k0, product1 & 0xFFFFFFFF, (product0 >> 32) ^ c3 ^ k1, product0 & 0xFFFFFFFF
        k0, k1 = (k0 + WEYL[0]) & 0xFFFFFFFF, (k1 + WEYL[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_block_gives_the_known_answer(counter, key, result):
    assert philox_block(counter, key) == result


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_words_give_the_known_answer(counter, key, result):
    start = 4 * (counter[0] | counter[1] << 32)
    found = words(key[0] | key[1] << 32, 4, start, counter[2] | counter[3] << 32)
    assert tuple(found.tolist()) == result


def test_words_are_the_blocks_in_order():
    key, stream = 0x0123456789ABCDEF, 0xFEDCBA9876543210
    found = words(key, 64, (1 << 34) - 20, stream)
    first = ((1 << 34) - 20) // 4
    halves = (stream & 0xFFFFFFFF, stream >> 32)
    blocks = [philox_block((b & 0xFFFFFFFF, b >> 32, *halves), (key & 0xFFFFFFFF, key >> 32)) for b in range(first, first + 16)]
    assert found.tolist() == [word for block in blocks for word in block]


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 5, 262143, 262144])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_words_do_not_depend_on_the_split(start, count):
    whole = words(7, 262160)
    assert np.array_equal(words(7, count, start), whole[start : start + count])


def test_draw_takes_the_low_bits():
    assert np.array_equal(draw(5, 100, 8), words(5, 100) & 0xFF)
    assert np.array_equal(draw(5, 100, 32), words(5, 100))
    pairs = [int(a) | int(b) << 32 for a, b in words(5, 200).reshape(-1, 2)]
    assert draw(5, 100, 64).tolist() == pairs
    assert draw(5, 100, 33).tolist() == [pair & (1 << 33) - 1 for pair in pairs]


def test_streams_of_names_differ():
    assert stream_of("") == 0
    assert stream_of("a") == int.from_bytes(bytes.fromhex("ca978112ca1bbdca"), "little")  # SHA-256 of "a" begins with ca978112ca1bbdca
    assert not np.array_equal(words(1, 16, stream=stream_of("a")), words(1, 16, stream=stream_of("b")))


BAD = [(-1, 4, 0, 0), (1 << 64, 4, 0, 0), (0, 4, 0, 1 << 64), (0, -1, 0, 0), (0, 1, -1, 0)]


@pytest.mark.parametrize(("key", "count", "start", "stream"), BAD)
def test_bad_operands_are_refused(key, count, start, stream):
    with pytest.raises(OperandError, match="random"):
        words(key, count, start, stream)


@pytest.mark.parametrize("bits", [0, 65])
def test_bad_widths_are_refused(bits):
    with pytest.raises(OperandError, match="1 to 64 bits"):
        draw(0, 4, bits)
