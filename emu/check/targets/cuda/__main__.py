"""`python -m emu.check.targets.cuda [OUT.json]`: every conversion function on the GPU at hand against its contract; refuses without one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from emu.base.atomic import temporary_folder, whole_file
from emu.base.errors import EmuError, ToolError
from emu.base.text import visible
from emu.check.run import check
from emu.check.targets.cuda.build import FUNCTIONS, build, cuda_target


def verdicts() -> list[dict[str, Any]]:
    """Return function, contract, verdict and rows compared. Raises: ToolError (no GPU, no toolkit)."""
    with temporary_folder("cuda") as folder:
        library = build(folder)
        found = []
        for function, (_, contract) in FUNCTIONS.items():
            report = check(cuda_target(function, library), contract)
            found.append({"function": function, "contract": contract, "verdict": report.verdict, "compared": report.compared})
        return found


def main(words: list[str]) -> int:
    """Run the command; return its exit code: 0, 1 where a function departs, 2 for a bad file, 5 without a GPU or toolkit."""
    try:
        found = verdicts()
        text = json.dumps(found, indent=1) + "\n"
        if words:
            with whole_file(Path(words[0]), force=True) as stream:
                stream.write(text.encode("utf-8"))
        else:
            print(text, end="")
    except EmuError as error:
        print(visible(f"emu: {error}"), file=sys.stderr)
        return 5 if isinstance(error, ToolError) else 2
    return int(any(item["verdict"] != "pass" for item in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
