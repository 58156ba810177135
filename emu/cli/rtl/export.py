"""emu rtl export: golden functions for formal tools, and the constants of the spec for SystemVerilog and C."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import OutputPath, common_options, note, print_json, settings_of

FORMS = ("verilog", "smt2", "btor2")
PACKAGES = ("sv", "c")


@click.command("export")
@click.argument("contract", required=False)
@click.option("--golden", "form", type=click.Choice(FORMS), help="A golden function of CONTRACT in this language.")
@click.option("--package", "package", type=click.Choice(PACKAGES), help="The constants of the spec as a SystemVerilog package or C header.")
@click.option("--layout", "layouts", metavar="ID", multiple=True, help="Index maps of a layout as SystemVerilog functions; repeatable.")
@click.option("--source", help="Source of a conversion: fp32, bf16 or fp16.  [default: fp32]")
@click.option("--out", "-o", required=True, type=OutputPath(path_type=Path, dir_okay=False), help="The new file.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common_options
def command(
    contract: str | None, form: str | None, package: str | None, layouts: tuple[str, ...], source: str | None, out: Path, force: bool
) -> None:
    """Write a golden function of CONTRACT, the constants of the spec, or the index maps of layouts.

    CONTRACT: decode/<format>, convert/<dst>/<rounding>/<policy>, product/<a>x<b> or group_sum/<a>x<b>[/<lanes>].
    Ports are named like the columns of the golden suites; output `open` is 1 where a row must not be compared. No tool is needed.
    """
    from emu.base.atomic import write_text
    from emu.rtl.export import functions as export

    if sum((form is not None, package is not None, bool(layouts))) != 1:
        raise click.UsageError("name one of --golden, --package and --layout")
    if (form is None) != (contract is None):
        raise click.UsageError("--golden needs a CONTRACT, as convert/e2m1/rne/nvidia; --package and --layout take none")
    if form is not None:
        assert contract is not None
        item = export.golden(contract, source)
        text, name = export.render(item, form), item.name
    else:
        if source is not None:
            raise click.UsageError("--source belongs to the golden function of a conversion")
        if layouts:
            from emu.rtl.export import layout
            from emu.spec.registry import get

            text, name = layout.render([get("layout", item) for item in layouts]), "index maps"
        else:
            from emu.rtl.export.package import render

            text, name = render(package or ""), "constants of the spec"
    write_text(out, text, force)
    if settings_of().json:
        print_json({"out": str(out), "name": name, "bytes": len(text)})
    note(f"{out}: {name}, {len(text.splitlines())} lines")
