"""The entry point: finds the command, turns every error into one line and an exit code.

Exit codes: 0 fine, 1 something differs, 2 misuse, a bad file or a fault of emu itself, 3 nothing was compared, 5 a tool is missing,
130 interrupted, 141 what read the output went away.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

import click

import emu
from emu.base.errors import EmuError, ToolError
from emu.base.in_use import one_command
from emu.cli.settings import LazyGroup, Settings, common_options, lead_nowhere, say, say_error, settings_of
from emu.spec.registry import added_folders, shipped_root

# Each command and the module that holds it, in the order of help.
COMMANDS = {
    "list": "emu.cli.list",
    "show": "emu.cli.show",
    "convert": "emu.cli.convert",
    "operate": "emu.cli.operate:operate_command",
    "query": "emu.cli.operate:query_command",
    "quantize": "emu.cli.quantize",
    "dequantize": "emu.cli.dequantize",
    "analyze": "emu.cli.analyze",
    "explain": "emu.cli.explain.group",
    "compare-datapaths": "emu.cli.explain.compare_datapaths",
    "probe": "emu.cli.explain.probe",
    "check": "emu.cli.check",
    "study": "emu.cli.study",
    "identify": "emu.cli.identify",
    "convert-checkpoint": "emu.cli.convert_checkpoint",
    "verify-checkpoint": "emu.cli.verify_checkpoint",
    "vectors": "emu.cli.vectors.group",
    "rtl": "emu.cli.rtl",
    "sweep": "emu.cli.vectors.sweep",
    "export": "emu.cli.export",
    "layout": "emu.cli.layout",
    "explore": "emu.cli.explore",
    "docs": "emu.cli.docs",
    "bench": "emu.cli.bench",
    "doctor": "emu.cli.doctor",
}
MISUSE = 2
TOOL_MISSING = 5
INTERRUPTED = 130
READER_GONE = 128 + 13  # as a shell says of a process that ended by SIGPIPE: no verdict was read, so none is given


@click.group(cls=LazyGroup, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(emu.__version__, prog_name="emu")
@common_options
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Answer, to the last bit, what must come out of 4-bit formats and block scaling."""


def run(arguments: Sequence[str] | None = None, commands: click.Command = commands, program: str = "emu") -> int:
    """Run one command line and return its exit code; errors become one line on stderr.

    Under --json a command that says what is wrong, and has printed no JSON, prints {"error": the line, "exit": the code} on stdout.
    arguments: the words after the program's name; None: those of the process.   commands: another command or group of them, with its name.
    """
    words, settings = sys.argv[1:] if arguments is None else list(arguments), Settings()
    code = _run(words, settings, commands, program)
    asked = settings.json or "--json" in takewhile(lambda word: word != "--", words)  # a wrong option may stand before it
    if code and asked and settings.fault and not settings.answered:
        with contextlib.suppress(OSError):
            click.echo(json.dumps({"error": settings.fault, "exit": code}))
    return code


def _run(words: list[str], settings: Settings, commands: click.Command, program: str) -> int:
    """Run one command line and return its exit code; its settings hold what it said."""
    try:
        with one_command(lambda: [shipped_root(), *(Path(folder) for folder in added_folders())]):
            code = commands.main(words, prog_name=program, standalone_mode=False, obj=settings)
    except SystemExit as error:
        if error.code == 1:  # click and rich end so when nobody reads the output any more; here 1 is a verdict
            return _ended(BrokenPipeError(), settings)
        raise
    except BaseException as error:  # some libraries raise what is no Exception
        return _ended(error, settings)
    return code if isinstance(code, int) else 0


def _ended(error: BaseException, settings: Settings) -> int:
    """Say in one line why a command ended, and return its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        settings.fault = "no command is named: see --help"
        say(*error.format_message().split("\n"), err=True)
        return MISUSE
    code, message = _reason(error)
    settings.fault = " ".join(message.split())
    if code != READER_GONE:
        with contextlib.suppress(OSError):
            say_error(message)
    return code


def _reason(error: BaseException) -> tuple[int, str]:
    """Return the exit code of an error, and the line that says it."""
    match error:
        case click.ClickException():
            return MISUSE, error.format_message()
        case click.Abort() | KeyboardInterrupt():
            return INTERRUPTED, "interrupted: no file is half-written"
        case EmuError():
            return TOOL_MISSING if isinstance(error, ToolError) else MISUSE, str(error)
        case BrokenPipeError():
            lead_nowhere(sys.stdout)
            return READER_GONE, ""
        case OSError():
            if error.filename is None:
                lead_nowhere(sys.stdout)  # a full disk behind stdout: what is still to be printed would raise again at the end
            return MISUSE, f"{error.filename or 'system'}: {error.strerror or error}"
        case MemoryError():
            return MISUSE, "out of memory: quantize tensors one by one with --select, or use a machine with more"
        case RecursionError():
            return MISUSE, "its values are nested too deeply: no input of emu is"
    return MISUSE, _unexpected(error)


def _unexpected(error: BaseException) -> str:
    """Return in one line what nobody planned for, and where it happened. With EMU_TRACEBACK=1 in the environment Python says all of it."""
    if os.environ.get("EMU_TRACEBACK") == "1":
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame for frame in reversed(frames) if f"{os.sep}emu{os.sep}" in frame.filename), frames[-1])
    place = f"{own.filename.rpartition(f'{os.sep}emu{os.sep}')[2]}:{own.lineno}"
    return (
        f"unexpected {type(error).__name__} in {place}: {str(error)[:200]}: please report this line and the command "
        "(EMU_TRACEBACK=1 shows where it comes from); no file is half-written"
    )


def _stop(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def main() -> NoReturn:
    """Run the process's command line; a termination signal unwinds, so that no partial file stays."""
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(run())


__all__ = ["COMMANDS", "commands", "main", "run", "settings_of"]
