"""Counts of what was reached: they add up, and a check that reached too little says so."""

import pytest

from emu.contracts.reach import LEAST, Reach


def test_counts_add_up():
    total = Reach()
    total.add(Reach(1, 2, {1, 3}, 8, {1: 3, 2: 1}, 7, 4, {5}, 6))
    total.add(Reach(1, 5, {3, 9}, 6, {2: 4, 7: 9}, 5, 2, {5, 6}, 1))
    assert total == Reach(2, 7, {1, 3, 9}, 8, {1: 3, 2: 5, 7: 9}, 7, 6, {5, 6}, 7)
    assert total.data() == {
        "tensor_maxima": 2, "blocks": 7, "element_codes": 3, "element_changes": 3, "element_changes_of_format": 7,
        "least_of_each_change": 3, "exact_ties": 6, "scale_codes": 2, "scale_changes": 7,
    }  # fmt: skip


@pytest.mark.parametrize(("changes", "scale_changes", "enough"), [(4, LEAST, True), (3, LEAST, False), (4, LEAST - 1, False)])
def test_where_too_little_begins(changes, scale_changes, enough):
    """Half of the changes of an element format, rounded up, and LEAST changes of a scale."""
    reach = Reach(blocks=1, magnitudes=8, changes=dict.fromkeys(range(1, changes + 1), 1), scale_changes=scale_changes)
    assert (reach.lacks() == "") == enough
