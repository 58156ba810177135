"""Runs pytest again and again in a folder, each time in a fork of a process that has imported what no mutant is in: a program of its own.

A line of JSON asks: arguments of pytest, seconds, the file for what it prints; a line answers with the exit code (null: the time was over).
What a run has started ends with it. Not here: who asks (judge.py).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
import traceback
from typing import Any, Final

import pytest

_SHARED: Final = ("numpy", "hypothesis", "jsonschema", "yaml", "_hypothesis_pytestplugin", "emu.spec.registry", "emu.arrays")
_MUTATED: Final = ("emu.engines", "emu.vectors", "emu.check")
_WAIT: Final = 0.02  # seconds between two looks at a run


class _Plugin:
    """The extensions need not be compiled from the sources beside them: a mutant of C is one that is not."""

    def pytest_plugin_registered(self, plugin: Any) -> None:
        if hasattr(plugin, "extension_fault"):
            plugin.extension_fault = lambda monkeypatch: None


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in _SHARED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name, module in list(sys.modules.items()):
        assert not name.startswith(_MUTATED), name
        if name.partition(".")[0].strip("_").startswith(("hypothesis", "emu")):
            module.__doc__ = f"{module.__doc__} PYTEST_DONT_REWRITE"  # they were imported before pytest could
    for line in sys.stdin:
        words, seconds, said = json.loads(line)
        print(json.dumps(_run(words, seconds, said)), file=answers, flush=True)


def _run(words: list[str], seconds: float, said: str) -> int | None:
    process, end = os.fork(), time.monotonic() + seconds
    if not process:
        _child(words, said)
    found = (0, 0)
    while not found[0] and time.monotonic() < end:
        time.sleep(_WAIT)
        found = os.waitpid(process, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if found[0]:
        return os.waitstatus_to_exitcode(found[1])
    os.waitpid(process, 0)
    return None


def _child(words: list[str], said: str) -> None:
    code = 3
    try:
        os.setsid()
        for number, path in ((0, os.devnull), (1, said)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(1, 2)
        code = int(pytest.main(words, plugins=[_Plugin()]))
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
