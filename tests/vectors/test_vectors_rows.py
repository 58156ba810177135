"""The row model: columns tile the word, trailers count, NaN kinds and masks compare what they say, flags name classes of faults."""

import pytest

from emu.contracts.columns import Column, layout_from, layout_of
from emu.contracts.rows import Input, Row, is_open, make_row, mismatches, pack, unpack
from emu.vectors.files import writers
from emu.vectors.files.writers import flip_place, negative_rows
from emu.vectors.suites import notes

E2M1 = layout_of([Column("x", "in", 32, "fp32"), Column("y", "out", 4, "e2m1")])


def test_the_columns_of_the_published_example() -> None:
    described = E2M1.described()
    assert [(item["name"], item["msb"], item["lsb"]) for item in described] == [("guard", 43, 40), ("x", 39, 8), ("y", 7, 4), ("m_y", 3, 0)]
    assert E2M1.width == 44
    assert layout_from(described) == E2M1


def test_the_lines_of_the_published_example() -> None:
    rows = [Row("all", ("tie_even",), (0x40A00000, 6, 15)), Row("all", ("nan_sign",), (0xFFC00000, 7, 15))]
    assert writers.render_mem(E2M1, rows) == "a_40a00000_6_f // tc=1 tie_even\na_ffc00000_7_f // tc=2 nan_sign\ne_00000000_0_2\n"
    assert writers.render_tv(E2M1, rows) == "a 40a00000 6 f\na ffc00000 7 f\ne 00000000 0 2\n"


def test_a_narrow_word_is_padded_so_that_the_count_fits() -> None:
    layout = layout_of([Column("x", "in", 4, "e2m1"), Column("y", "out", 4, "e1m2")])
    assert [column.name for column in layout.columns] == ["pad", "x", "y", "m_y"]
    assert layout.digits == 5
    assert make_row(layout, Input("g", (), (3,)), ((5,),)).values == (0, 3, 5, 15)
    assert writers.trailer(layout, 65536) == "e 10 0 0 0"


def test_damaged_columns_are_refused() -> None:
    described = E2M1.described()
    described[1]["lsb"] += 4
    with pytest.raises(ValueError, match="tile"):
        layout_from(described)


def test_lanes_lie_from_the_low_bits_up() -> None:
    column = Column("codes", "out", 16, "e2m1", 4)
    assert pack([1, 2, 3, 4], 4) == 0x4321
    assert unpack(0x4321, column) == (1, 2, 3, 4)


def test_an_unknown_code_is_masked_and_flagged() -> None:
    layout = layout_of([Column("x", "in", 32), Column("y", "out", 8, lanes=2)])
    half = make_row(layout, Input("g", ("nan",), (1,)), ((5, -1),))
    assert half.values == (1, 0x05, 0x0F) and half.flags == ("nan",) and not is_open(layout, half)
    whole = make_row(layout, Input("g", ("nan",), (1,)), ((-1, -2),))
    assert whole.values == (1, 0, 0) and whole.flags == ("nan", "open") and is_open(layout, whole)


def test_a_nan_of_any_payload_matches_only_under_its_kind() -> None:
    layout = layout_of([Column("x", "in", 4), Column("y", "out", 32, "fp32", any_nan=True)])
    nan = make_row(layout, Input("g", (), (1,)), ((0x7FC00000,),))
    one = make_row(layout, Input("g", (), (1,)), ((0x3F800000,),))
    assert nan.values[-1] == 1 and one.values[-1] == 0
    assert mismatches(layout, nan, ((0xFFC12345,),)) == []
    assert mismatches(layout, nan, ((0x7F800000,),)) == ["y"]
    assert mismatches(layout, one, ((0x7FC00000,),)) == ["y"]
    assert mismatches(layout, one, ((-1,),)) == ["y"]


def test_the_self_test_flips_a_compared_bit_of_the_first_row_that_has_one() -> None:
    open_row, row = Row("g", (), (1, 0, 0)), Row("g", (), (2, 6, 14))
    found = negative_rows(E2M1, [open_row] * 20 + [row] * 3)
    assert len(found) == 21
    assert found[20].values == (2, 4, 14) and found[:20] == [open_row] * 20
    assert len(negative_rows(E2M1, [row] * 40)) == 4


def test_the_self_test_passes_over_nan_lanes() -> None:
    layout = layout_of([Column("x", "in", 4), Column("y", "out", 64, "fp32", 2, any_nan=True)])
    row = make_row(layout, Input("g", (), (1,)), ((0x7FC00000, 0x3F800000),))
    assert flip_place(layout, row) == 32


def test_every_flag_names_known_classes_of_faults() -> None:
    assert all(set(note.kills) <= set(notes.KILL_CLASSES) and note.kind in notes.KINDS and note.text for note in notes.NOTES.values())
    assert {"tie", "sticky", "saturate", "zero_sign", "nan", "inf", "sr_threshold", "sr_op", "order", "packing", "decode"} <= {
        kill for note in notes.NOTES.values() for kill in note.kills
    }
    with pytest.raises(KeyError, match="no_such_flag"):
        notes.described(["tie", "no_such_flag"])
