"""Bounded caches: what a process has worked out once and keeps, safe to use from several threads and after a fork.

Keys are facts (digests, bit patterns, numbers, shapes), never the address of an object; or they are names of spec objects, and then the
cache is forgotten when a name comes to mean something else. Each cache has a size and forgets its oldest entries beyond it. A hit takes no
lock. A miss may be worked out by several threads at once; all of them get the value that was kept first.

Not here: values that belong to one object and go with it (`lazy` keeps those on the object itself).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, ParamSpec, TypeVar

from emu.base.forks import fork_safe_lock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
P = ParamSpec("P")

_LOCK: Final = fork_safe_lock("inner")
_ALL: Final[dict[str, tuple[bool, Callable[[], None], Callable[[], tuple[int, int]]]]] = {}


class Cache(dict[K, V], Generic[K, V]):
    """A dict of at most `size` entries. Read it with `get`, fill it with `keep`.

        found = _codes.get(key)
        return found if found is not None else _codes.keep(key, work_out(fmt))

    name: unique, usually the module and what is kept.   size: entries; the oldest goes when one more comes.
    names: the keys name spec objects, by id, and not by their facts.
    """

    def __init__(self, name: str, size: int, *, names: bool = False) -> None:
        super().__init__()
        self.name, self.size = name, size
        _register(name, names, self.clear, lambda: (len(self), size))

    def keep(self, key: K, value: V) -> V:
        """Keep a value unless the key has one already; return the one that is kept."""
        with _LOCK:
            kept = super().setdefault(key, value)
            self._forget_oldest()
        return kept

    def __setitem__(self, key: K, value: V) -> None:
        """Keep a value in place of the one that was kept, if any."""
        with _LOCK:
            super().__setitem__(key, value)
            self._forget_oldest()

    def setdefault(self, key: K, default: V) -> V:
        """Do as `keep`."""
        return self.keep(key, default)

    def _forget_oldest(self) -> None:
        while len(self) > self.size:
            del self[next(iter(self))]


def bounded(size: int, *, names: bool = False) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the results of a module's function for the last `size` different arguments, as functools.lru_cache does, and at its cost.

    names: arguments name spec objects, by id.   The function must give the same for equal arguments; its result must never be changed.
    """

    def wrap(make: Callable[P, T]) -> Callable[P, T]:
        kept = lru_cache(maxsize=size)(make)
        _register(f"{make.__module__}.{make.__qualname__}", names, kept.cache_clear, lambda: (kept.cache_info().currsize, size))
        return kept  # type: ignore[return-value]

    return wrap


class _Lazy(cached_property[T]):
    """functools.cached_property without its lock, which Python 3.11 holds for all objects of a class at once and over a fork."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """Work the value out and keep it; of two threads that do, the first is kept."""
        if instance is None:
            return self
        assert self.attrname is not None
        return instance.__dict__.setdefault(self.attrname, self.func(instance))


def lazy(make: Callable[[Any], T]) -> cached_property[T]:
    """Make a method a property that is worked out at first use and kept on its object (which must have a __dict__)."""
    return _Lazy(make)


def _register(name: str, names: bool, clear: Callable[[], None], count: Callable[[], tuple[int, int]]) -> None:
    _ALL[name] = (names, clear, count)  # a module that is loaded again takes its own place


def caches() -> dict[str, tuple[int, int]]:
    """Return name -> (entries, most entries) of every cache of the modules that are imported."""
    return {name: count() for name, (_, _, count) in sorted(_ALL.items())}


def clear(*, names_only: bool = False) -> None:
    """Forget what caches hold; it is worked out again when it is asked for.

    names_only: only those whose keys are names of spec objects, because a name now means another object.
    """
    for names, empty, _ in list(_ALL.values()):
        if names or not names_only:
            empty()
