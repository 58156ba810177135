"""emu check: does a kernel give the bits of a contract?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.errors import OperandError
from emu.cli.settings import InputPath, Kernel, OutputPath, common_options, note, print_json_text, progress, say_text, settings_of

LATE = 10  # seconds that a process may take beyond the program that it runs


@click.command("check")
@click.argument("target", required=False, type=Kernel())
@click.option(
    "--against",
    "contract",
    required=True,
    metavar="CONTRACT",
    help="What must come out: quantize/nvfp4_te_ref, convert/e2m1/rne/nvidia, matmul/nvfp4/nvfp4/fp32 ...",
)
@click.option("--suite", "suites", multiple=True, metavar="NAME", help="directed, exhaustive, stratified, decisions, shapes; none: all.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="Stratified elements; never fewer than the suite's minimum.")
@click.option("--repeat", default=60, show_default=True, type=click.IntRange(0), metavar="N", help="Questions asked again, cheap first.")
@click.option("--key", default=1, show_default=True, type=click.IntRange(0, (1 << 64) - 1), help="Key of the generator of inputs.")
@click.option("--seconds", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Limit for one call of the target.")
@click.option("--signature", metavar="TEXT", help='Of a C symbol: "f(x: const float*, n: size_t, codes: uint8_t*)".')
@click.option("--takes", metavar="KIND", help="numpy.fp32, torch.bf16 ..., numpy.bits: what a Python target is given.")
@click.option("--gives", metavar="NAMES", help="codes, packed, values, or names separated by commas; outer=inner for names of a mapping.")
@click.option("--wants", metavar="NAMES", help="Which of tensor_amax, random, signs it takes, separated by commas; none: nothing.")
@click.option("--source", metavar="ID", help="Format of x, or of the codes to convert.")
@click.option("--result", metavar="ID", help="Format of values.")
@click.option("--packing", metavar="NAME", help="low_nibble_first or high_nibble_first.")
@click.option("--scale-layout", metavar="NAME", help="row_major or 128x4.")
@click.option("--device", metavar="NAME", help="Device of torch tensors.")
@click.option("--profile", metavar="NAME", help="Dequantize profile for fake-quantized values; left out: the recipe's first.")
@click.option("--multiple", default="1x1", show_default=True, metavar="RxC", help="Rows and columns that the kernel needs, as multiples.")
@click.option(
    "--shapes",
    metavar="RxC,...",
    help="Shapes of tensors that a quantizer is given too, such as 4096x5120,1x64; of a product MxNxK, several ExMxNxK, the only ones.",
)
@click.option("--finite", is_flag=True, help="Leave inputs with NaN or Inf out; the report says how many.")
@click.option("--accumulate", metavar="NAME", help="Of a product: fp32, fp16, bf16, or significand bits of the accumulator.")
@click.option("--operands", metavar="NAME", help="Of a product: what dequantized operands are held in: exact, bf16, fp16, tf32, fp8.")
@click.option("--reduce", metavar="NAME", help="Of a product: in what partial sums are joined: fp32, bf16, fp16.")
@click.option("--epilogue", metavar="TEXT", help="Of a product: words of the epilogue that it must have; left out: any of the list.")
@click.option("--batched", is_flag=True, help="Of a product: a is [B, M, K], b [B, N, K].")
@click.option("--align", type=click.IntRange(1), metavar="N", help="Of grouped products: rows of each group begin at a multiple of N.")
@click.option(
    "--batch-invariant/--no-batch-invariant",
    default=None,
    help="Of a product: a row must have the same bits in every batch; or never ask.",
)
@click.option("--bound", metavar="NAME", help="Of a product: judge errors by the bound of a standard, tosa, and no bits.")
@click.option("--emit", type=OutputPath(path_type=Path), metavar="FILE", help="Write the inputs to this .safetensors file and stop.")
@click.option("--results", type=InputPath(path_type=Path), metavar="FILE", help="Judge the answers of this .safetensors file.")
@click.option("--junit", type=OutputPath(path_type=Path), metavar="FILE", help="Write the report as JUnit XML too.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@common_options
def command(target: str | None, contract: str, **options: Any) -> int:
    """Compare TARGET with a contract, bit for bit. This runs the target's code with your rights, in a process of its own.

    TARGET: py:module:function or file.py:function, c:lib.so:symbol, exec:command. With --emit and --results there is none: the inputs are
    run elsewhere. Exit code 1: it differs, or misbehaves; 3: nothing was compared, or too few decisions of a quantizer.
    """
    from emu.base.atomic import write_text
    from emu.check.inputs.suites import parse_shapes

    emit, results, junit, force = (options.pop(name) for name in ("emit", "results", "junit", "force"))
    if (target is not None) + (emit is not None) + (results is not None) != 1:
        raise OperandError("check: name a TARGET, or --emit, or --results, one of them")
    product = contract.startswith("matmul/")
    if target is None:
        _refuse_unread("--emit" if emit is not None else "--results", product)
    options["multiple"] = _multiple(options["multiple"])
    strange = next((name for name in _OF_PRODUCTS if options[name] not in (None, False) and not product), None)
    if strange is not None:
        raise OperandError(f"check: --{strange.replace('_', '-')} is of products: {contract} is none")
    options["shapes"] = () if options["shapes"] is None else parse_shapes(options["shapes"], 3 if product else 2)
    if options["bound"] is not None and target is None:
        raise OperandError("check: --bound asks the target itself: it takes neither --emit nor --results")
    if emit is not None:
        return (_emit_products if product else _emit)(emit, contract, options, force)
    report = (_product if product else _report)(target, results, contract, options)
    if junit is not None:
        write_text(junit, report.junit(), force)
    print_json_text(report.json()) if settings_of().json else say_text(report.text())
    return int(report.exit_code)


_READ: dict[tuple[str, bool], tuple[str, ...]] = {  # options that a file of inputs or answers has a use for; of products: True
    ("--emit", False): ("suites", "count", "key", "wants", "source", "result", "multiple", "shapes", "finite"),
    ("--emit", True): ("suites", "gives", "source", "result", "profile", "finite", "count", "key", "shapes", "wants", "packing",
                       "scale_layout", "accumulate", "operands", "reduce", "epilogue", "batched", "align", "batch_invariant", "bound"),
    ("--results", False): ("gives", "result", "packing", "scale_layout", "profile", "junit"),
    ("--results", True): ("suites", "gives", "source", "result", "profile", "finite", "bound", "junit"),
}  # fmt: skip
_ALWAYS = ("contract", "emit", "results", "force")


def _refuse_unread(how: str, product: bool) -> None:
    """Refuse an option that was given and is not read. Raises: OperandError."""
    context = click.get_current_context()
    for name in context.params:
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and name not in (*_READ[how, product], *_ALWAYS):
            word = "suite" if name == "suites" else name.replace("_", "-")
            about = "the file of inputs says it" if how == "--results" else "it belongs to the check of the answers"
            raise OperandError(f"check: --{word} is not read beside {how}: {about}, leave it out")


def _refuse_formats(contract: str, options: dict[str, Any]) -> None:
    """Refuse a format of x or of values where the contract says it, or has none. Raises: OperandError, SpecError."""
    from emu.contracts import OPERATIONS, form_of
    from emu.contracts.form import OF_RESULT

    form = form_of(contract, options["source"], options["result"])
    if options["source"] is not None and OPERATIONS[form.op].opens != "source":
        raise OperandError(f"check: --source says nothing of {contract}: leave it out")
    if options["result"] is not None and form.op not in OF_RESULT:
        raise OperandError(f"check: --result says nothing of {contract}: leave it out")


def _emit(path: Path, contract: str, options: dict[str, Any], force: bool) -> int:
    from emu.check.inputs.suites import SUITES
    from emu.check.targets.files import emit

    wants = _names(options["wants"])
    _refuse_formats(contract, options)
    about = emit(
        path, contract, source=options["source"], result=options["result"], suites=options["suites"] or SUITES, count=options["count"],
        key=options["key"], takes_amax=wants is None or "tensor_amax" in wants, takes_signs=wants is None or "signs" in wants,
        multiple=options["multiple"], finite=options["finite"], shapes=options["shapes"], force=force,
    )  # fmt: skip
    note(f"{path}: {about['questions']} questions of {about['contract']}, digest {about['digest'][:16]}; answer <number>.<name> each")
    return 0


def _report(target: str | None, results: Path | None, contract: str, options: dict[str, Any]) -> Any:
    from emu.check.inputs.suites import SUITES
    from emu.check.progress import listening
    from emu.check.run import check
    from emu.check.targets.files import results_target
    from emu.check.targets.isolate import spawned
    from emu.check.targets.named import make
    from emu.spec.registry import added_folders

    asked = {name: options[name] for name in ("profile", "multiple", "count", "key", "finite", "shapes", "repeat")}
    gives = _gives(options["gives"])
    with progress() as bar, listening(lambda text: bar.update(task, description=f"check: {text}")):
        task = bar.add_task("check", total=None)
        if results is not None:
            if not isinstance(gives, dict | None):
                raise OperandError("check: --gives of stored answers says which is which: outer=inner, with commas")
            layout = {name: options[name] for name in ("packing", "scale_layout") if options[name] is not None}
            stored = results_target(results, contract=contract, gives=gives, result=options["result"], **layout)
            about = stored.about
            asked |= {"multiple": tuple(about["multiple"]), "count": about["count"], "key": about["key"]}
            asked |= {"finite": bool(about.get("finite")), "shapes": tuple(tuple(shape) for shape in about.get("shapes", ()))}
            return check(stored, contract, suites=about["suites"], **asked)
        _refuse_formats(contract, options)
        names = ("signature", "takes", "source", "result", "packing", "scale_layout", "device")
        given = {name: options[name] for name in names} | {"gives": gives, "wants": _names(options["wants"])}
        from emu.base.errors import TargetError
        from emu.check.report.model import Report

        try:
            own = str(target).startswith("exec:")  # it stops its program by itself
            given |= {"seconds": options["seconds"]} if own else {}
            with spawned(make, (target, contract, given, added_folders()), options["seconds"] + (LATE if own else 0)) as isolated:
                return check(isolated, contract, suites=options["suites"] or SUITES, **asked)
        except TargetError as error:
            return Report(str(target), contract, error.verdict, message=str(error))  # type: ignore[arg-type]


_OF_PRODUCTS: dict[str, Any] = {
    "accumulate": "fp32", "operands": "exact", "reduce": "fp32", "epilogue": "any", "batched": False, "align": 1, "batch_invariant": None,
    "bound": None,
}  # fmt: skip


def _product_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a product. Raises: OperandError (one that says nothing of it, a shape that is none)."""
    for name in ("suites", "gives", "source", "result", "profile", "finite"):
        if options[name]:
            raise OperandError(f"check: --{name.rstrip('s') if name == 'suites' else name} says nothing of a product: leave it out")
    found = {name: default if options[name] is None else options[name] for name, default in _OF_PRODUCTS.items()}
    return found | {"shapes": options["shapes"] or None, "count": options["count"], "key": options["key"]}


def _emit_products(path: Path, contract: str, options: dict[str, Any], force: bool) -> int:
    from emu.check.matmul.files import emit

    layout = {"packing": options["packing"] or "low_nibble_first", "scale_layout": options["scale_layout"] or "row_major"}
    asked = _product_options(options)
    del asked["bound"]
    about = emit(path, contract, force=force, wants=_names(options["wants"]), **layout, **asked)
    note(f"{path}: {len(about['digests'])} products of {about['contract']}: {', '.join(about['wants'])}; answer <number>.d each")
    return 0


def _product(target: str | None, results: Path | None, contract: str, options: dict[str, Any]) -> Any:
    from emu.base.errors import TargetError
    from emu.check.matmul.files import check_stored
    from emu.check.matmul.named import make
    from emu.check.matmul.pair import pair_of
    from emu.check.matmul.report import GemmReport
    from emu.check.matmul.run import check_gemm
    from emu.check.matmul.sets import limits_of
    from emu.check.targets.isolate import spawned
    from emu.spec.registry import added_folders

    asked = _product_options(options)
    with progress() as bar:
        bar.add_task("check", total=None)
        if results is not None:
            return check_stored(results, contract)
        pair_of(contract)
        limits_of(asked["accumulate"], asked["operands"], asked["reduce"])
        given = {name: options[name] for name in ("signature", "takes", "packing", "scale_layout", "device")}
        given["wants"] = _names(options["wants"])
        try:
            own = str(target).startswith("exec:")
            given |= {"seconds": options["seconds"]} if own else {}
            late = options["seconds"] + (LATE if own else 0)
            with spawned(make, (target, contract, given, added_folders()), late) as isolated:  # type: ignore[arg-type]
                return check_gemm(isolated, contract, repeat=options["repeat"], **asked)
        except TargetError as error:
            return GemmReport(str(target), contract, error.verdict, message=str(error))  # type: ignore[arg-type]


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name for name in text.split(",") if name and name != "none")


def _gives(text: str | None) -> str | tuple[str, ...] | dict[str, str] | None:
    if text is None or ("," not in text and "=" not in text):
        return text
    parts = text.split(",")
    if "=" not in text:
        return tuple(parts)
    pairs = [part.partition("=") for part in parts]
    return {outer: inner or outer for outer, _, inner in pairs}


def _multiple(text: str) -> tuple[int, int]:
    rows, _, columns = text.partition("x")
    if not rows.isdigit() or not columns.isdigit() or not int(rows) or not int(columns):
        raise OperandError(f"--multiple {text!r}: write rows x columns, such as 128x64")
    return int(rows), int(columns)
