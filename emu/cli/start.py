"""The command `emu` as it is installed: an interrupt while modules are still being imported is one line as well."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the process's command line. Tests: tests/cli/test_cli_main.py."""
    try:
        from emu.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("emu: interrupted: no file is half-written\n")
        sys.exit(130)
