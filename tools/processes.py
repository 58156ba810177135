"""Other programs: what git prints, what a program prints within its time, and the end of all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def git(root: Path, *words: str, hint: str = "") -> str:
    """Return what a git command prints. hint: what else may be done where it fails. Raises: FileError (no clone, an unknown name)."""
    done = subprocess.run(["git", "-c", "core.quotepath=off", *words], check=False, cwd=root, capture_output=True, encoding="utf-8")
    if done.returncode:
        from emu.base.errors import FileError  # here: rings run before emu is installed

        raise FileError(f"git {' '.join(words)}: {done.stderr.strip() or 'nothing in common'}: run in the clone{hint}")
    return done.stdout


def output_of(command: Sequence[str], folder: Path, seconds: float, environment: Mapping[str, str] | None = None) -> tuple[int | None, str]:
    """Run a program in a session of its own; return its exit code (None: the time was over) and what it printed.

    All that it started ends with it. environment: of the program; None: that of this process.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        end_session(process)
        process.communicate()


def end_session(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Kill a process that began a session, and what it left running there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
