"""How far a check is: told to whoever listens in this thread, such as a line on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Final

from emu.base.text import visible

QUIET: Final = 2.0  # seconds before a line is shown
EVERY: Final = 0.1  # seconds between two of them
_listener: ContextVar[Callable[[str], None] | None] = ContextVar("emu.check.progress", default=None)


def tell(text: str) -> None:
    """Hand a line on how far a check is to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(text)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Listen to the checks of this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def on_terminal(name: str) -> Iterator[None]:
    """Keep one line on stderr up to date while a check runs, where stderr is a terminal and the check takes seconds; it goes at the end."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    shown, due = False, monotonic() + QUIET

    def show(text: str) -> None:
        nonlocal shown, due
        if monotonic() >= due:
            stream.write(f"\r\x1b[K{visible(f'{name}: {text}')}")
            stream.flush()
            shown, due = True, monotonic() + EVERY

    try:
        with listening(show):
            yield
    finally:
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()
