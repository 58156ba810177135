"""Locks that a fork leaves whole: no child process starts with a lock that a thread of its parent held. Workers that end with their parent.

A forked child has one thread, and a copy of the memory as it was. Whatever another thread of the parent was changing stays half changed
there, and whatever lock that thread held is never released. So before a fork all locks of this module are taken, which waits until no
thread is inside one of them; both processes give them back.

Threads take outer locks before inner ones, and no other under an inner one. Modules that are being imported are waited for as well.

The interpreter runs after a fork what modules registered until then, and before it only what they had when it began. Two modules of the
standard library, imported by another thread in between, would give back a lock that was not taken: they are imported here.
"""

from __future__ import annotations

import _imp
import concurrent.futures.thread  # noqa: F401
import logging
import os
import time
from importlib import _bootstrap
from threading import RLock, Thread, get_ident
from typing import Any, Final, Literal

Level = Literal["outer", "inner"]
_LOCKS: Final[dict[Level, list[Any]]] = {"outer": [], "inner": []}
_MODULE_LOCKS: Final[dict[str, Any]] = getattr(_bootstrap, "_module_locks", {})
_LOGGING: Final[Any] = getattr(logging, "_lock", None) or RLock()  # held in some imports, too
_taken: list[Any] = []  # locks of this module, from before a fork until after it
_held: list[Any] = []  # locks of modules that are being imported, likewise
_WAIT: Final[Any] = getattr(_bootstrap, "_lock_unlock_module", lambda _name: None)


def fork_safe_lock(level: Level) -> Any:
    """Return a new reentrant lock that every fork takes and gives back. For locks that live as long as the process.

    level: inner for a lock under which no other is taken; outer for one under which inner locks may be.
    """
    lock = RLock()
    _LOCKS[level].append(lock)
    return lock


def _before() -> None:
    """Wait until no thread imports a module or holds one of the locks, and let none begin.

    While it waits for an import, or for the lock of logging, it holds nothing: an import may need any of the locks, and who holds one may
    import. logging takes its lock after this, once more.   Tests: tests/base/test_base_forks.py.
    """
    while True:
        for lock in (*_LOCKS["outer"], *_LOCKS["inner"]):
            lock.acquire()
            _taken.append(lock)
        free = _LOGGING.acquire(blocking=False)
        busy = _hold_imports() if free else []
        if free and not busy:
            return
        _give_back()
        if free:
            _LOGGING.release()
        else:
            with _LOGGING:
                pass
        for name in busy:
            _WAIT(name)


def _hold_imports() -> list[str]:
    """Take the interpreter's locks of imports; return the modules that other threads are importing, and then take nothing.

    CPython has a lock for each module that is being imported (importlib._bootstrap._module_locks, each with an owner and a lock of its own
    state), makes new ones only under the import lock, and its own fork puts only the import lock in order. A child could never finish what
    another thread has begun. Where an interpreter has no such table there is nothing to wait for.
    """
    _imp.acquire_lock()
    known = {name: lock for name, found in list(_MODULE_LOCKS.items()) if (lock := found()) is not None and hasattr(lock, "lock")}
    for lock in known.values():
        lock.lock.acquire()
    busy = [name for name, lock in known.items() if getattr(lock, "owner", None) not in (None, get_ident())]
    if not busy:
        _held.extend(known.values())
        return []
    for lock in known.values():
        lock.lock.release()
    _imp.release_lock()
    return busy


def _give_back() -> None:
    while _taken:
        _taken.pop().release()


def _after_in_child() -> None:
    while _held:
        _held.pop().lock.release()
    _imp.release_lock()
    _give_back()


def _after() -> None:
    _after_in_child()
    _LOGGING.release()  # in the child, logging has made it anew


def end_with(parent: int) -> None:
    """Make this worker process end when its parent does: one that was killed cannot tell it to. parent: the parent's process number.

    For the initializer of a pool of processes.   Tests: tests/vectors/test_vectors_build.py.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
