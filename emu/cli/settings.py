"""Options every command has: --spec, --json, --quiet; groups whose commands are imported when asked for; and how results are printed."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar, cast

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from emu.base.atomic import check_target
from emu.base.cluster import check_reached, checked_address
from emu.base.in_use import check_apart, reads, writes
from emu.base.text import json_text, visible, visible_text
from emu.spec.registry import broken_causes, load_spec

Function = TypeVar("Function", bound=Callable[..., Any])
WIDE = 200
LONGEST = 900  # characters of a line of error


@dataclass
class Settings:
    """What the common options say. json: machine-readable output on stdout. quiet: only results and errors.

    answered: whether JSON was printed.   fault: the last line of error.
    """

    json: bool = False
    quiet: bool = False
    answered: bool = False
    fault: str = ""


class InputPath(click.Path):
    """A file or folder that the command reads."""


class OutputPath(click.Path):
    """What the command writes.

    kind: "file": a new one, or with --force in the place of another; "folder": one that the command makes or fills; "kept": a record that
    it reads and writes anew.
    """

    def __init__(self, kind: Literal["file", "folder", "kept"] = "file", **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind


class Kernel(click.types.StringParamType):
    """A kernel under test, by text: its files are read."""


class LazyGroup(click.Group):
    """A group of commands by name, each the `command` of a module, or `module:name`, imported when it is asked for.

    modules: name of a command -> module, in the order of help.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of help."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None when there is none of that name."""
        if cmd_name not in self.modules:
            return None
        module, _, name = self.modules[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name or "command")
        return command


def settings_of(ctx: click.Context | None = None) -> Settings:
    """Return the settings of the running command."""
    found = (ctx or click.get_current_context()).find_object(Settings)
    return found if found is not None else Settings()


def _add_spec(_ctx: click.Context, _parameter: click.Parameter, folders: tuple[str, ...]) -> tuple[str, ...]:
    before = set(broken_causes())
    for folder in folders:
        load_spec(folder, skip_broken=True)
    for fault, left_out in broken_causes().items():
        if fault not in before:
            say_error(f"{fault} ({left_out})")
    return folders


def _set(name: str) -> Callable[[click.Context, click.Parameter, bool], bool]:
    def store(ctx: click.Context, _parameter: click.Parameter, value: bool) -> bool:
        if value:
            setattr(settings_of(ctx), name, True)
        return value

    return store


def stacked(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return a decorator that adds options to a command, in this order."""
    return lambda function: functools.reduce(lambda inner, option: option(inner), reversed(options), function)


def _claim(ctx: click.Context) -> None:
    """Tell the register what the command reads and writes, before it works. Raises: FileError (results in the place of inputs)."""
    from emu.check.targets.files_of import files_of

    given = [(param.type, ctx.params.get(str(param.name))) for param in ctx.command.params]
    named = [(kind, path) for kind, value in given for path in (value if isinstance(value, tuple) else (value,)) if path is not None]
    for kind, path in named:
        for file in [path] if isinstance(kind, InputPath) else files_of(path) if isinstance(kind, Kernel) else ():
            reads(file)
    results = [(kind, Path(path)) for kind, path in named if isinstance(kind, OutputPath)]
    check_apart(path for _, path in results)
    for kind, path in results:
        check_target(path, ctx.params.get("force", False)) if kind.kind == "file" else writes(path)


def _claiming(function: Function) -> Function:
    """Claim the files of a command, and reach its cluster, before its function runs."""

    @functools.wraps(function)
    def claimed(*values: Any, **options: Any) -> Any:
        ctx = click.get_current_context()
        _claim(ctx)
        if (address := ctx.params.get("cluster")) is not None:
            check_reached(address)
        return function(*values, **options)

    return cast(Function, claimed)


# --spec, --json and --quiet of every command; they may stand before or after its name. What a command reads is not written over.
common_options = stacked(
    click.option("--spec", metavar="DIR", multiple=True, expose_value=False, is_eager=True, callback=_add_spec, help="Add spec files."),
    click.option("--json", is_flag=True, expose_value=False, callback=_set("json"), help="Print JSON on stdout."),
    click.option("--quiet", "-q", is_flag=True, expose_value=False, callback=_set("quiet"), help="No progress, no notes."),
    _claiming,
)


def _cluster(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    return None if text is None else checked_address(text)


cluster_option = click.option(
    "--cluster",
    callback=_cluster,
    metavar="ADDRESS|local:N",
    help="Workers of a Dask scheduler, or N on this machine, instead of --jobs; no result depends on them.",
)
# --jobs and --cluster of commands whose tasks are functions of the spec and their names.
worker_options = stacked(
    click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes; no result depends on it."),
    cluster_option,
)


def say(*lines: object, err: bool = False) -> None:
    """Print lines, to stdout or stderr. What strangers wrote into one of them neither moves the cursor nor begins another line."""
    for line in lines:
        click.echo(visible(line), err=err)


def say_text(text: str) -> None:
    """Print a text of several lines to stdout: a file's content, a report."""
    click.echo(visible_text(text), nl=not text.endswith("\n"))


def print_json(data: Any) -> None:
    """Print data as indented JSON. NaN and Inf must have been turned into text or None before."""
    print_json_text(json_text(data))


def print_json_text(text: str) -> None:
    """Print text that is JSON."""
    settings_of().answered = True
    say_text(text)


def show(data: Any, lines: Iterable[str]) -> None:
    """Print data as JSON under --json, lines otherwise."""
    print_json(data) if settings_of().json else say(*lines)


def print_table(rows: Iterable[Sequence[object]], header: Sequence[str], right: Sequence[str] = (), title: str | None = None) -> None:
    """Print an aligned table without a frame; the width of the terminal, or wide where stdout is none.

    right: names of the columns to align right.
    """
    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), title_justify="left")
    table.title = title and Text(visible(title))
    for name in header:
        table.add_column(Text(visible(name)), justify="right" if name in right else "left", overflow="fold", no_wrap=False)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    with console.capture() as capture:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().split("\n")[:-1]))


def note(text: str) -> None:
    """Print a remark to stderr unless --quiet."""
    if not settings_of().quiet:
        say(text, err=True)


def lead_nowhere(stream: TextIO) -> None:
    """Let what a stream did not take lead nowhere: else Python tries again while it ends, and its code 120 takes the place of ours."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say_error(message: str) -> None:
    """Print what is wrong to stderr, in one line of a length that a terminal shows: the middle of a longer one is left out."""
    line = " ".join(message.split())
    if len(line) > LONGEST:
        line = f"{line[: LONGEST * 2 // 3]} ... {line[-LONGEST // 3 :]}"
    if click.get_current_context(silent=True) is not None:
        settings_of().fault = line
    say(f"emu: {line}", err=True)


class _Description(ProgressColumn):
    """What a bar counts: often the name of a tensor, so no letter of it is taken for an instruction."""

    def render(self, task: Task) -> Text:
        """Return the name as it is shown."""
        return Text(visible(task.description))


def progress() -> Progress:
    """Return a progress bar on stderr; silent when that is no terminal, under --quiet and --json."""
    settings = settings_of()
    console = Console(stderr=True)
    columns = (_Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=settings.quiet or not console.is_terminal)


@contextmanager
def bar_of(title: str, parts: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show a progress bar; yields what takes the name of each part as it begins. parts: None: how many is not known."""
    with progress() as bar:
        task = bar.add_task(title, total=parts)
        yield lambda name: bar.update(task, advance=1, description=name)


@contextmanager
def counting_bar(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar; yield the function that is told (what, how many parts are done, how many there are; 0: not known)."""
    with progress() as bar:
        task = bar.add_task(title, total=None)
        yield lambda text, done, total: bar.update(task, completed=done, total=total or None, description=text)
