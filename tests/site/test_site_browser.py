"""The built site in Chromium: pages load at two widths from a file and from a server, the search answers, axe finds nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.devtools import Page, axe, chromium, page, served

from emu.spec import names
from tools.site.build import HERE, build
from tools.site.faults import named

ROOT = Path(__file__).resolve().parents[2]
PHONE, DESK = 390, 1280
KINDS = ("format", "recipe", "datapath", "instruction", "layout", "policy")

# What people ask, in the words that they type, and the page that answers; a section of the page of questions answers as well.
SEARCHES = (
    ("2.5 become in E2M1", "reference/format/e2m1.html"),
    ("NaN infinity too large policy", "reference/policies.html"),
    ("difference between MXFP4 and NVFP4", "reference/block/nvfp4.html"),
    ("two libraries give different NVFP4 bits", "families.html"),
    ("which recipe does my quantizer follow", "howto_identify.html"),
    ("test my quantizer in CI", "howto_kernel.html"),
    ("is my FP4 GEMM right", "howto_check_matmul.html"),
    ("check attention KV cache", "howto_check_attention.html"),
    ("what does this checkpoint hold", "howto_checkpoint.html"),
    ("convert a checkpoint", "howto_checkpoint.html"),
    ("golden vectors for my RTL", "rtl.html"),
    ("MISMATCH why", "tutorial_rtl.html"),
    ("prove my converter", "formal.html"),
    ("describe the datapath of my chip", "datapath_levels.html"),
    ("accumulator width", "chips.html"),
    ("where does the scale of an element lie", "layouts.html"),
    ("E2M1 shrink", "shrinkage.html"),
    ("random Hadamard transform", "shrinkage.html"),
    ("stochastic rounding random bits operand", "reference/rounding/sr_add8.html"),
    ("measured on real hardware GPU", "gpu_evidence.html"),
)

SEARCH = """
if (!window.field) {
  document.querySelector(".md-search__button").click();
  for (let i = 0; i < 100 && !window.field; i++) {
    await new Promise(resolve => setTimeout(resolve, 50));
    window.field = [...document.body.children].map(item => item.shadowRoot?.querySelector("input")).find(Boolean);
  }
}
const root = field.getRootNode(), hits = () => [...root.querySelectorAll("a")].map(item => item.getAttribute("href"));
const before = hits().join();
Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, %r);
field.dispatchEvent(new Event("input", {bubbles: true}));
for (let i = 0; i < 100 && (hits().join() === before || !hits().length); i++) await new Promise(resolve => setTimeout(resolve, 50));
return hits();
"""

AXE = """
for (const item of document.getAnimations()) item.finish();
const found = await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"], iframes: false});
return found.violations.map(item => `${item.id}: ${item.nodes[0].html.slice(0, 200)} ${item.nodes[0].failureSummary.slice(0, 300)}`);
"""


AUDITED = (
    "index.html",
    "questions.html",
    "conformance.html",
    "open_questions.html",
    "kernels.html",
    "glossary.html",
    "explorer.html",
    "reference/format/e2m1.html",
)

# Return what the explorer says of each link, as text.
OPENED = """
const text = value => JSON.stringify(value, (_, item) => typeof item === "bigint" ? String(item) : item);
return %s.map(link => { try { return text(explorer.text(link)); } catch (error) { return `thrown: ${error}`; } });
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chromium("zensical", "axe_playwright_python", tools=("clang", "wasm-ld"))
    out = tmp_path_factory.mktemp("site")
    assert build(ROOT, out, "1.0") == []
    return out / "1.0"


@pytest.fixture
def tab(site: Path, tmp_path: Path) -> Iterator[Page]:
    with page(chromium(), tmp_path / "profile") as found:
        yield found


def shown(site: Path) -> list[str]:
    """The pages of the tree, and one of each kind of the reference."""
    return named(HERE / "mkdocs.yml") + [f"reference/{kind}/{names(kind)[0]}.html" for kind in KINDS]


@pytest.mark.parametrize("way", ["file", "http"])
def test_pages_load_at_two_widths_without_scrolling_sideways_and_ask_for_nothing_outside(site: Path, tab: Page, way: str) -> None:
    with served(site) as address:
        start = site.as_uri() if way == "file" else address
        wrong = []
        for name in shown(site):
            tab.size(PHONE)
            tab.open(f"{start}/{name}")
            title = tab.ask("return document.querySelector('h1').innerText")
            wide = []
            for width in (PHONE, DESK):
                tab.size(width)
                wide.append(tab.ask("return document.documentElement.scrollWidth - window.innerWidth"))
            if not title or max(wide) > 0:
                wrong.append((name, title, wide))
        assert wrong == []
        menu = f"{site.parent.as_uri()}/versions.js"  # of the versions; lies beside their folders
        outside = {item for item in tab.requests if not item.startswith((start, "data:")) and item != menu}
        assert outside == set()
        assert len(tab.requests) > len(shown(site))


@pytest.mark.parametrize("way", ["file", "http"])
def test_the_search_finds_what_people_ask_first(site: Path, tab: Page, way: str) -> None:
    assert len(re.findall(r"^## ", (ROOT / "docs/questions.md").read_text(encoding="utf-8"), re.MULTILINE)) == len(SEARCHES)
    with served(site) as address:
        start = site.as_uri() if way == "file" else address
        tab.size(DESK)
        tab.open(f"{start}/index.html")
        lost = []
        for words, answer in SEARCHES:
            hits = [item.removeprefix(f"{start}/") for item in tab.ask(SEARCH % words)][:5]
            if not any(hit.partition("?")[0] == answer or (hit.startswith("questions.html") and "#" in hit) for hit in hits):
                lost.append((words, hits))
        assert lost == []


def test_a_search_for_nothing_finds_nothing(site: Path, tab: Page) -> None:
    tab.size(DESK)
    tab.open((site / "index.html").as_uri())
    assert tab.ask(SEARCH % "E2M1")
    assert tab.ask(SEARCH % "zzqqxx") == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site: Path, tab: Page, theme: str) -> None:
    tab.theme(theme)
    tab.size(DESK)
    script, found = axe(), {}
    for name in AUDITED:
        tab.open((site / name).as_uri())
        tab.ask(script + "\nreturn null")
        said = tab.ask(AXE)
        if said:
            found[name] = said
    assert found == {}


def test_axe_would_find_a_fault(site: Path, tab: Page) -> None:
    tab.open((site / "index.html").as_uri())
    tab.ask(axe() + "\nreturn null")
    tab.ask("document.querySelector('article').insertAdjacentHTML('beforeend', '<img src=picture.svg><input>'); return null")
    said = " ".join(tab.ask(AXE))
    assert "image-alt" in said and "label" in said


def test_a_page_that_is_too_wide_would_be_seen(site: Path, tab: Page) -> None:
    tab.size(PHONE)
    tab.open((site / "index.html").as_uri())
    tab.ask("document.querySelector('article').insertAdjacentHTML('beforeend', '<div style=width:900px>wide</div>'); return null")
    assert tab.ask("return document.documentElement.scrollWidth - window.innerWidth") > 0


def test_the_field_above_a_table_keeps_the_rows_that_hold_its_words(site: Path, tab: Page) -> None:
    tab.open((site / "conformance.html").as_uri())
    script = """const field = document.querySelector(".filter input"), table = document.getElementById("libraries-table");
    field.value = %r; field.dispatchEvent(new Event("input"));
    return [[...table.tBodies[0].rows].filter(row => row.offsetHeight).length, field.closest("div").querySelector("output").textContent];"""
    every, _ = tab.ask(script % "")
    left, told = tab.ask(script % "torchao differs")
    assert 0 < left < every and told == f"{left} of {every} rows"
    assert tab.ask(script % "zzqqxx")[0] == 0


def test_every_link_to_the_explorer_opens_its_row(site: Path, tab: Page) -> None:
    links = re.findall(r'explorer_page\.html(#[^"]+)"', (site / "conformance.html").read_text(encoding="utf-8"))
    links = [link.replace("&amp;", "&") for link in links]
    assert len(links) > 50
    tab.open((site / "explorer_page.html").as_uri())
    said = tab.ask(OPENED % json.dumps(links))
    assert len(set(said)) > len(links) // 2
    own = [text.replace('"code":"refused"', "") for text in said]  # another format of the table may refuse the number
    wrong = [(link, text) for link, text in zip(links, own, strict=True) if "thrown" in text or '"refused"' in text]
    assert wrong == []
