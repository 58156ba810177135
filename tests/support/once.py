"""What takes seconds to make and is only read, made once for all processes of a test run."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of this name that all workers of a run share. make: fills it, new and empty; one worker does, the others wait.

    No test writes into it.   Raises: what make raises, in every worker: each tries again.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"once-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made, attempt = folder / "made", folder / "attempt"
        if not made.is_dir():
            shutil.rmtree(attempt, ignore_errors=True)  # of a worker that failed
            attempt.mkdir()
            make(attempt)
            attempt.rename(made)
    return made
