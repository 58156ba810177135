"""The command `emu` as it is installed: closed streams are filled before any file is opened, and an interrupt while modules are being
imported is one line as well. (What comes before this module is Python's own start and some milliseconds of `import emu`.)"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the process's command line. Tests: tests/cli/test_cli_main.py, tests/files/test_files_streams.py."""
    try:
        fill_streams()
        from emu.cli.main import main as run

        run()
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            sys.stderr.write("emu: interrupted: no file is half-written\n")
            sys.stderr.flush()
        sys.exit(130)
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            from emu.cli.settings import lead_nowhere

            lead_nowhere(sys.stderr)


def fill_streams() -> None:
    """Let stdin, stdout and stderr lead nowhere where whoever started the process closed them.

    Else the next file that is opened, a result perhaps, takes the number of the closed one, and what is printed, also by a program that
    emu starts, gets into it.
    """
    numbers = [os.open(os.devnull, os.O_RDWR)]
    while numbers[-1] <= 2:
        os.set_inheritable(numbers[-1], True)
        numbers.append(os.open(os.devnull, os.O_RDWR))
    os.close(numbers[-1])
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - open as long as the process
