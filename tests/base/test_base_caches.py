"""Caches: bounded, the first value is kept, cleared together."""

from __future__ import annotations

from emu.base import caches
from emu.base.caches import Cache, bounded, lazy


def test_a_cache_forgets_its_oldest_entries_and_keeps_the_first_value() -> None:
    cache: Cache[int, str] = Cache("tests.oldest", 3)
    for number in range(5):
        assert cache.keep(number, f"first {number}") == f"first {number}"
    assert list(cache) == [2, 3, 4] and cache.keep(4, "second") == "first 4" and cache.setdefault(3, "second") == "first 3"
    cache[9] = "written"
    assert list(cache) == [3, 4, 9] and caches.caches()["tests.oldest"] == (3, 3)


def test_clear_empties_all_or_those_of_names() -> None:
    of_names: Cache[str, int] = Cache("tests.names", 8, names=True)
    made: list[int] = []

    @bounded(8)
    def square(number: int) -> int:
        made.append(number)
        return number * number

    of_names["a"] = 1
    assert square(3) == square(3) == 9 and made == [3]
    caches.clear(names_only=True)
    assert not of_names and square(3) == 9 and made == [3]
    caches.clear()
    assert square(3) == 9 and made == [3, 3]


def test_a_lazy_property_is_worked_out_once() -> None:
    class Thing:
        made = 0

        @lazy
        def value(self) -> int:
            self.made += 1
            return self.made

    thing = Thing()
    assert (thing.value, thing.value, Thing().value) == (1, 1, 1)
