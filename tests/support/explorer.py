"""The page of the explorer in headless Chromium: scripts run in it, and what they answer comes back."""

import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlencode

from support import devtools
from support.devtools import chromium

from emu.engines.c_ref import c_reference


def browser() -> str:
    """Return Chromium's path; raises as devtools.chromium does where it, or what makes the page, is missing."""
    return chromium(tools=("clang", "wasm-ld"))


def answers(page: str, script: str, folder: Path, start: str = "") -> object:
    """Return what `script` returns in the page, or promises, through JSON; codes that are BigInt come back as hex.

    start: what stands after the #.   What the script throws is the member `thrown`.
    """
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    with devtools.page(browser()) as tab:
        tab.open(f"{file.as_uri()}#{start}")
        said = tab.ask(
            "let said; try { said = await (async () => {" + script + "})(); } catch (error) { said = {thrown: String(error)}; }"
            "return JSON.stringify(said === undefined ? null : said, "
            "(_, value) => typeof value === 'bigint' ? '0x' + value.toString(16) : value);"
        )
    return json.loads(said)


def texts(page: str, links: list[str], folder: Path) -> list[dict]:
    """Return what the page says of each link, from the functions that draw it."""
    said = answers(page, f"return {json.dumps(links)}.map(link => explorer.text(link));", folder)
    assert isinstance(said, list), said
    return said


def link(room: str, **state: object) -> str:
    """Return the address of a state."""
    return f"#{room}?{urlencode(state)}"


def digits(number: Fraction) -> str:
    """Return a dyadic number with all its decimals."""
    power = number.denominator.bit_length() - 1
    assert number.denominator == 1 << power
    whole, rest = divmod(abs(number.numerator) * 5**power, 10**power)
    return ("-" if number < 0 else "") + str(whole) + (f".{rest:0{power}d}" if power else "")


def planted(page: str, before: str, after: str) -> str:
    """Return a page with a fault: one place of its scripts changed."""
    assert page.count(before) == 1, f"{before!r} stands {page.count(before)} times"
    return page.replace(before, after)


def compiled_and_run(text: str, folder: Path) -> str:
    """Return what a C program that is copied from the page prints, run in `folder`, with the C reference that the page was made of."""
    folder.mkdir(exist_ok=True)
    (folder / "main.c").write_text(text)
    source = c_reference()
    files = [*map(str, source.glob("src/*/*.c")), "main.c"]
    flags = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{source}", "-o", "main"]
    subprocess.run(["gcc", *flags, *files], cwd=folder, check=True)
    return subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=True).stdout


def emu_ref(folder: Path) -> dict:
    """Make the command emu_ref in a folder; the value is how subprocess.run() calls a copied command that finds it, in that folder."""
    made = folder / "c_ref"
    if not made.is_dir():
        shutil.copytree(c_reference(), made)
        subprocess.run(["make", "-s", "-C", str(made), "emu_ref", "CFLAGS=-O0 -std=c99", "WARNINGS="], check=True)
    path = f"{made}:{Path(sys.executable).parent}:/usr/bin:/bin"
    return {"cwd": folder, "env": {"PATH": path}, "capture_output": True, "text": True, "check": True}


def ran(command: str, folder: Path) -> list[str]:
    """Return the lines that a copied command prints, in a folder where emu_ref is made."""
    return subprocess.run(["bash", "-e", "-c", command], **emu_ref(folder)).stdout.splitlines()


def integer(text: str) -> int:
    """Return a BigInt as answers() hands it over: 0x2a, 0x-2a."""
    return int(text.replace("0x-", "-0x"), 16)
