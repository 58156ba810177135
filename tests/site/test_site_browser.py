"""The built site in Chromium: pages load at two widths from a file and from a server, the search answers, axe finds nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.devtools import Page, axe, chromium, page, served
from support.once import once
from support.questions import QUESTIONS

from emu.explain.link import link
from emu.explore.build import known_objects
from emu.spec import names
from tools import foreign_kernels, machines
from tools.docs.foreign_kernels import told
from tools.site.build import HERE, build
from tools.site.conformance import EXPLORER, failure
from tools.site.faults import named

ROOT = Path(__file__).resolve().parents[2]
PHONE, DESK, SCREEN = 390, 1280, 800
KINDS = ("format", "recipe", "datapath", "instruction", "layout", "policy")

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

# Return where words are drawn, top and bottom in the window: the first time behind the place that is open; None where they are not drawn.
SEEN = """
await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
const article = document.querySelector("article"), walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT), nodes = [];
const place = document.getElementById(location.hash.slice(1)) || article.querySelector("h1");
for (let node; node = walk.nextNode();)
  if (place.compareDocumentPosition(node) & 4 && node.parentElement.checkVisibility()) nodes.push(node);
const words = %r.split(" ").map(word => word.replace(/\\W/g, "\\\\$&")).join("\\\\s+");
const found = nodes.map(node => node.data).join("").match(new RegExp(words));
if (!found) return null;
const point = at => { for (const node of nodes) if (at < node.length) return [node, at]; else at -= node.length; };
const range = document.createRange(), [last, end] = point(found.index + found[0].length - 1);
range.setStart(...point(found.index));
range.setEnd(last, end + 1);
const {top, bottom} = range.getBoundingClientRect();
return [top, bottom];
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

    def make(folder: Path) -> None:
        assert build(ROOT, folder, "1.0") == []

    return once(tmp_path_factory, "site", make) / "1.0"


@pytest.fixture
def tab(site: Path, tmp_path: Path) -> Iterator[Page]:
    with page(chromium()) as found:
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


def test_on_a_phone_drawings_keep_their_size_and_names_stay_whole_in_boxes_that_scroll(site: Path, tab: Page) -> None:
    tab.size(PHONE)
    tab.open((site / "training.html").as_uri())
    drawn = "return [...document.querySelectorAll('article p > img')].map(item => [item.width, item.parentElement.clientWidth])"
    assert [width > 600 > box for width, box in tab.ask(drawn)] == [True, True]
    lines = "return [...document.querySelectorAll('article td code')].map(item => item.getClientRects().length)"
    assert {*tab.ask(lines)} - {0} == {1}  # 0: folded


@pytest.mark.parametrize("way", ["file", "http"])
def test_the_search_finds_what_people_ask_first(site: Path, tab: Page, way: str) -> None:
    with served(site) as address:
        start = site.as_uri() if way == "file" else address
        tab.size(DESK)
        tab.open(f"{start}/index.html")
        lost = []
        for words, place, _ in QUESTIONS:
            answer = place.partition("#")[0]
            hits = [item.removeprefix(f"{start}/") for item in tab.ask(SEARCH % words)][:5]
            if not any(hit.partition("?")[0] == answer or (hit.startswith("questions.html") and "#" in hit) for hit in hits):
                lost.append((words, hits))
        assert lost == []


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_what_people_ask_first_is_answered_without_scrolling(site: Path, tab: Page, width: int) -> None:
    """One rule for a desk and a phone: what answers is drawn whole in a window of SCREEN pixels that opens at the place."""
    tab.size(width, SCREEN)
    below = []
    for _, place, seen in QUESTIONS:
        tab.open("about:blank")
        tab.open(f"{site.as_uri()}/{place}")
        found = tab.ask(SEEN % seen)
        if found is None or not 0 <= found[0] < found[1] <= SCREEN:
            below.append((place, seen, found))
    assert below == []


def test_an_answer_that_is_folded_or_below_the_screen_would_be_seen(site: Path, tab: Page) -> None:
    tab.size(DESK, SCREEN)
    tab.open((site / "questions.html").as_uri())
    last = tab.ask("return [...document.querySelectorAll('article h2')].at(-1).firstChild.data")
    assert tab.ask(SEEN % last)[0] > SCREEN and tab.ask(SEEN % "zzqqxx") is None
    folded = "<details><summary>s</summary><p>zzqqxx</p></details>"
    tab.ask(f"document.querySelector('article h1').insertAdjacentHTML('afterend', '{folded}'); return null")
    assert tab.ask(SEEN % "zzqqxx") is None
    tab.ask("document.querySelector('article details').open = true; return null")
    assert 0 < tab.ask(SEEN % "zzqqxx")[1] < SCREEN


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


def test_the_theme_is_the_systems_until_one_is_chosen(site: Path, tab: Page) -> None:
    def scheme(theme: str) -> str:
        tab.theme(theme)
        tab.open((site / "index.html").as_uri())
        return str(tab.ask("return document.body.dataset.mdColorScheme"))

    assert [scheme(theme) for theme in ("light", "dark", "light")] == ["default", "slate", "default"]
    tab.ask("document.querySelector('[data-md-component=palette] label:not([hidden])').click(); return null")
    assert [scheme(theme) for theme in ("dark", "light")] == ["default", "default"]


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
    assert tab.ask("return [...document.querySelectorAll('.tall')].map(part => part.offsetHeight <= window.innerHeight)") == [True] * 3
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


def test_links_of_each_kind_show_the_result_of_both_sides(site: Path, tab: Page) -> None:
    """Of datapaths both D; of a library the code of the contract, and the library's where another contract of the page gives it."""
    compared = machines.KIND.read(ROOT / machines.RECORD)["pairs"]
    differing = [pair for pair in compared if pair["verdict"] == machines.DIFFERS]
    asked = [(link("dot", **pair["state"]), [code for code, _ in pair["results"]]) for pair in differing[:: len(differing) // 4]]
    record = told(foreign_kernels.KIND.read(ROOT / foreign_kernels.RECORD))
    offered = {thing.id for thing in known_objects() if thing.kind == "recipe"}
    for room, source in (("number", "fp32"), ("number", "bf16"), ("block", "fp32")):
        cells = [failure(row, item, offered) for row in record if row["source"] == source for item in row["failures"]]
        some = [cell for cell in cells if cell["alike"] and f"#{room}?" in (cell["link"] or "")][:3]
        asked += [(cell["link"].partition("#")[2], [cell[key].partition(" ")[0] for key in ("want", "got")]) for cell in some]
    assert len(asked) == 5 + 3 + 3 + 3
    wrong = []
    for address, codes in asked:
        tab.open("about:blank")
        tab.open(f"{(site / EXPLORER).as_uri()}#{address}")
        drawn = tab.ask("return document.querySelector('#room').innerText").lower()
        if any(code.lower() not in drawn for code in codes) or tab.ask("return document.querySelector('#fault').textContent"):
            wrong.append((address, codes))
    assert wrong == []
