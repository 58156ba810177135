"""Commands in this process."""

import pytest

from emu.cli.main import run as run_command


@pytest.fixture
def run(capsys):
    """Run emu check: (exit code, what it printed)."""

    def command(*words):
        code = run_command(["check", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return command
