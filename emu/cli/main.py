"""The entry point: finds the command, turns every error into one line and an exit code.

Exit codes: 0 fine, 1 something differs, 2 misuse or a bad file, 3 nothing was compared, 5 a tool is missing, 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

import emu
from emu.base.errors import EmuError, ToolError
from emu.cli.settings import LazyGroup, Settings, common_options, settings_of

# Each command and the module that holds it, in the order of help.
COMMANDS = {
    "list": "emu.cli.list",
    "show": "emu.cli.show",
    "convert": "emu.cli.convert",
    "quantize": "emu.cli.quantize",
    "dequantize": "emu.cli.dequantize",
    "analyze": "emu.cli.analyze",
    "explain": "emu.cli.explain.group",
    "compare-datapaths": "emu.cli.explain.compare_datapaths",
    "probe": "emu.cli.explain.probe",
    "check": "emu.cli.check",
    "study": "emu.cli.study",
    "identify": "emu.cli.identify",
    "vectors": "emu.cli.vectors.group",
    "rtl": "emu.cli.rtl",
    "sweep": "emu.cli.vectors.sweep",
    "export": "emu.cli.export",
    "layout": "emu.cli.layout",
    "docs": "emu.cli.docs",
    "bench": "emu.cli.bench",
    "doctor": "emu.cli.doctor",
}
MISUSE = 2
TOOL_MISSING = 5


@click.group(cls=LazyGroup, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(emu.__version__, prog_name="emu")
@common_options
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Answer, to the last bit, what must come out of 4-bit formats and block scaling."""


def run(arguments: Sequence[str] | None = None, commands: click.Command = commands, program: str = "emu") -> int:
    """Run one command line and return its exit code; errors become one line on stderr.

    arguments: the words after the program's name; None: those of the process.   commands: another command or group of them, with its name.
    """
    try:
        code = commands.main(None if arguments is None else list(arguments), prog_name=program, standalone_mode=False, obj=Settings())
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return MISUSE
    except click.ClickException as error:
        return _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted: nothing was written")
        return 130
    except ToolError as error:
        return _fail(str(error), TOOL_MISSING)
    except EmuError as error:
        return _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(f"{error.filename or 'system'}: {error.strerror or error}")
    except MemoryError:
        return _fail("out of memory: quantize tensors one by one with --select, or use a machine with more")
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int = MISUSE) -> int:
    """Print one line to stderr."""
    click.echo("emu: " + " ".join(message.split()), err=True)
    return code


def _stop(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def main() -> NoReturn:
    """Run the process's command line; a termination signal unwinds, so that no partial file stays."""
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(run())


__all__ = ["COMMANDS", "commands", "main", "run", "settings_of"]
