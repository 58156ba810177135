"""emu explore: the explorer as one HTML file, or served on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import OutputPath, common_options, note, say


@click.command("explore")
@click.option(
    "--out", "-o", type=OutputPath(path_type=Path, dir_okay=False), help="Write the page to this new file; a browser opens it from there."
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8037, show_default=True, help="Without --out: serve the page here; 0: any free port."
)
@click.option("--open", "link", metavar="LINK", help="Open a browser there: a link, as reports print it, or the name of a room.")
@common_options
def command(out: Path | None, force: bool, port: int, link: str | None) -> None:
    """Make the explorer: a page that shows why a number, a block or a place in memory is what it is.

    The page computes with the C reference, compiled to WebAssembly by clang, and sends nothing anywhere. Without --out it is served to this
    machine alone until Ctrl-C. See docs/explorer.md.
    """
    from emu.base.atomic import write_text
    from emu.explore.build import page

    place = "" if link is None else _place(link)
    text = page()
    if out is not None:
        write_text(out, text, force)
        note(f"{out}: {len(text.encode())} bytes")
        if place:
            _browse(out.resolve().as_uri() + place)
        return
    _serve(text.encode(), port, place)


def _place(link: str) -> str:
    """Return a link with its #. Raises: OperandError (it is of no room)."""
    from emu.base.errors import OperandError
    from emu.explain.link import OBJECTS

    place = link.rpartition("#")[2]
    if place.partition("?")[0] not in OBJECTS or not place.isprintable() or " " in place:
        raise OperandError(f"--open {link!r}: is no link of the page: one of {', '.join(OBJECTS)}, or what a report prints")
    return "#" + place


def _browse(address: str) -> None:
    """Print an address, and show it where there is a browser."""
    import webbrowser

    say(address)
    webbrowser.open(address)


def _serve(page: bytes, port: int, place: str) -> None:
    """Answer with the page until somebody interrupts. Raises: FileError (the port is taken)."""
    from emu.explore.serve import served

    with served(page, port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        say(f"{address} (Ctrl-C ends it)")
        if place:
            _browse(address + place)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            note("ended")
