"""What the compiler made of a kernel: its PTX, and the instructions in it that break a rounding. No GPU is needed to compile.

`python -m emu.engines.torch.triton.ptx 90 [NAME ...]` compiles kernels for sm_90 and prints the findings as JSON,
of every kernel and recipe where
none is named; with `--tensor-core` before the names it prints the matrix instructions instead. It must run without TRITON_INTERPRET.
Not here: the machine code that ptxas makes of correctly rounded division, which has approximations and repairs them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from emu.base.errors import EngineError
from emu.engines.torch.triton.launch import OPTIONS, Launch, interpreted

BANNED: Final[Mapping[str, str]] = {
    r"div\.(full|approx)\.": "approximate division",
    r"rcp\.approx\.": "approximate reciprocal",
    r"(rsqrt|sqrt|ex2|lg2|sin|cos|tanh)\.approx\.": "approximate function",
    r"(fma|mad)\.(\w+\.)*f(16|32|64)": "a product and a sum rounded once",
    r"fma\.(\w+\.)*bf16": "a product and a sum rounded once",
    r"\w+\.(\w+\.)*ftz\.": "subnormals flushed",
    r"cvt\.(\w+\.)*(e2m1|e4m3|e5m2|e2m3|e3m2|ue8m0)": "a conversion instruction instead of integers",
    r"cvt\.(\w+\.)*(bf16|f16)(x2)?\.f32": "a conversion instruction instead of integers",
}
ALLOWED: Final[Mapping[str, str]] = {}  # an instruction as it is printed -> why it is right here
INSTRUCTION: Final = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s")
POINTERS: Final = {
    "torch.uint8": "*u8",
    "torch.int16": "*i16",
    "torch.int32": "*i32",
    "torch.int64": "*i64",
    "torch.float16": "*fp16",
    "torch.bfloat16": "*bf16",
    "torch.float32": "*fp32",
    "torch.float8_e4m3fn": "*fp8e4nv",
    "torch.float8_e5m2": "*fp8e5",
}


def compile_ptx(launch: Launch, capability: int = 90, *, options: Mapping[str, Any] = OPTIONS) -> str:
    """Return the PTX of a launch for compute capability `capability` (90: sm_90).

    Raises: EngineError (the kernels run in Triton's interpreter in this process).
    """
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    if interpreted(launch.kernel):
        raise EngineError("TRITON_INTERPRET is set: compile kernels in a process without it")
    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    for place, name in enumerate(launch.kernel.arg_names):
        if name in launch.constants:
            signature[name], constants[(place,)] = "constexpr", launch.constants[name]
        else:
            argument = launch.arguments[name]
            signature[name] = "i32" if isinstance(argument, int) else POINTERS[str(argument.dtype)]
    source = ASTSource(fn=launch.kernel, signature=signature, constexprs=constants)
    target = GPUTarget("cuda", capability, 32)
    with knobs.runtime.scope():
        knobs.runtime.add_stages_inspection_hook = _stop_at_ptx
        return str(triton.compile(source, target=target, options={**options, "num_warps": launch.warps}).asm["ptx"])


def _stop_at_ptx(*stage: Any) -> tuple[str, str] | None:
    """Leave machine code out of a compile: the text is wanted. Called without arguments it returns its part of the cache key."""
    if not stage:
        return "no machine code", "no machine code"
    stage[1]["cubin"] = lambda _ptx, _metadata: b""
    return None


def instructions(ptx: str) -> Iterator[str]:
    """Yield the instructions of a PTX text, modifiers included, operands left out."""
    for line in ptx.splitlines():
        if found := INSTRUCTION.match(line):
            yield found.group(1)


def findings(ptx: str) -> dict[str, str]:
    """Return the banned instructions of a PTX text that nothing allows -> what is wrong with them."""
    found: dict[str, str] = {}
    for name in sorted(set(instructions(ptx))):
        for pattern, what in BANNED.items():
            if name not in ALLOWED and re.match(pattern, name + "."):
                found.setdefault(name, what)
    return found


def main(capability: int, wanted: list[str]) -> dict[str, dict[str, str]]:
    """Return the findings of kernels by name, of all for an empty list; a kernel without any has an empty entry."""
    from emu.engines.torch.triton.catalogue import launches

    return {name: findings(compile_ptx(launch(), capability)) for name, launch in launches() if not wanted or name in wanted}


def matrix_instructions(capability: int, wanted: list[str]) -> dict[str, list[str]]:
    """Return the multiply-accumulate instructions of kernels by name, each as often as it stands in the PTX."""
    from emu.engines.torch.triton.catalogue import launches

    texts = {name: compile_ptx(launch(), capability) for name, launch in launches() if not wanted or name in wanted}
    return {name: [item for item in instructions(text) if re.match(r"wgmma\.mma_async|mma\.", item)] for name, text in texts.items()}


if __name__ == "__main__":
    words = [word for word in sys.argv[2:] if word != "--tensor-core"]
    report = matrix_instructions if "--tensor-core" in sys.argv else main
    json.dump(report(int(sys.argv[1]), words), sys.stdout, indent=1)
