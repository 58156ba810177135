"""emu probe: the few instructions that decide the open facts of a machine, and what its results say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.base.errors import OperandError
from emu.cli.explain import FREE, free_options
from emu.cli.settings import InputPath, OutputPath, common_options, note, print_json, progress, say, settings_of, show

if TYPE_CHECKING:
    from emu.explain.probe.run import Finding, Probe


@click.command("probe")
@click.argument("datapath")
@free_options
@click.option("--depth", default=2, show_default=True, type=click.IntRange(1, 2), help="Facts changed at a time in the hypotheses.")
@click.option(
    "--out", "-o", type=OutputPath("folder", path_type=Path), help="New folder for README.md, rows.tv, answers.txt and probe.json."
)
@click.option("--answers", type=InputPath(path_type=Path), help="Results of the machine: answers.txt, filled in.")
@common_options
def command(
    datapath: str,
    depth: int,
    out: Path | None,
    answers: Path | None,
    **free: Any,
) -> int:
    """Choose the rows whose results tell hypotheses about DATAPATH apart: fraction bits, floor, group size, steps, roundings, late C.

    Of a datapath of levels a hypothesis changes one fact: how a level adds, its register or alignment, C, special values.
    With open facts (blackwell_e0m3) the readings of it are told apart. --answers names what fits. Exit code 1: nothing fits.
    """
    from emu.explain.probe.files import data_of, read_answers, write_probe
    from emu.explain.probe.run import identify, make_probe

    if out is not None and answers is not None:
        raise OperandError("probe: --out writes the rows, --answers reads results: name one of them")
    with progress() as bar:
        task = bar.add_task("probe", total=None)

        def step(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        probe = make_probe(datapath, free["a_format"], free["b_format"], free["scale_format"], free["block"], depth, step)
    if answers is not None:
        finding = identify(probe, read_answers(answers, probe))
        show(_finding_data(finding), _finding_lines(finding))
        return int(not finding.fits)
    if out is not None:
        words = ["emu", "probe", datapath, *(f"--{name.replace('_', '-')} {free[name]}" for name in FREE if free[name] is not None)]
        words += [f"--depth {depth}"] if depth != 2 else []
        write_probe(probe, out, " ".join([*words, "--out", out.name]))
        note(f"{out}: {len(probe.rows)} rows that tell {len(probe.classes)} hypotheses apart")
    if settings_of().json:
        print_json(data_of(probe))
    elif out is None:
        say(*_probe_lines(probe))
    return 0


def _probe_lines(probe: Probe) -> list[str]:
    from emu.explain.probe.files import compact, table_of

    plan = probe.plan
    told = f"{len(probe.rows)} rows tell {len(probe.classes)} of {len(probe.hypotheses)} hypotheses apart ({probe.tried} rows were tried)"
    lines = [f"probe of {', '.join(item.name for item in probe.plans)}: {told}"]
    for number, ((text, answers), built) in enumerate(zip(table_of(probe), probe.rows, strict=True), 1):
        lines += ["", f"row {number}: {text}"]
        lines += [f"  {name:<3} {value}" for name, value in built.row.texts(plan).items()]
        lines += [f"  D {code}: {names}" for code, names in answers]
    same = [members for members in probe.classes if len(members) > 1]
    lines += ["", "no row tried tells these apart:"] if same else []
    return [*lines, *(f"  {compact([probe.hypotheses[number] for number in members])}" for members in same)]


def _finding_lines(finding: Finding) -> list[str]:
    lines = [f"{finding.given} of {finding.asked} rows answered"]
    if finding.fits:
        how = "fits" if len(finding.fits) == 1 else "fit, and these rows do not tell them apart"
        lines.append(f"{len(finding.fits)} hypothes{'is' if len(finding.fits) == 1 else 'es'} {how}:")
        lines += [f"  {item.text}" for item in finding.fits]
        return lines + (
            ["no hypothesis of the probe fits: of the combinations of changes, those with the fewest are listed"]
            if finding.combined
            else []
        )
    lines += [f"row {row}: no hypothesis expects {code:#x}" for row, code in finding.unexplained]
    lines.append("nothing fits" + (", no combination of changes either" if finding.combined else ""))
    lines.append(f"nearest ({finding.nearest_right} rows right): {'; '.join(item.text for item in finding.nearest)}")
    return lines


def _finding_data(finding: Finding) -> dict[str, Any]:
    out: dict[str, Any] = {"asked": finding.asked, "given": finding.given, "fits": [item.data() for item in finding.fits]}
    out |= {"combined": finding.combined, "unexplained": [{"row": row, "answer": f"{code:x}"} for row, code in finding.unexplained]}
    return out | {"nearest": [item.data() for item in finding.nearest], "nearest_right": finding.nearest_right}
