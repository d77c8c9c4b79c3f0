"""The documentation site that `make docs` builds: whole, without other hosts, readable in a browser and by programs."""

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import pytest
from scripts.docs_site.pages import PARSER, Page
from scripts.docs_site.staging import address

from .browser import Browser
from .installed import axe, installed_chromium

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[3]
DOCS: Final = ROOT / "docs"
PAGES: Final = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
REPOSITORY: Final = "https://git.example/penstock/blob/v0.1.0"
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
_OF_THE_THEME: Final = {
    name: {"enabled": False}
    for name in (
        "scrollable-region-focusable",  # its script lets blocks of code have the focus only where there is a pointer
        "label-content-name-mismatch",  # of the button with the version
    )
}
_BLOCKS: Final = {
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "pre",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "code",
    "em",
}


class Document(HTMLParser):
    """What the tests ask of a page: links, what it loads, anchors, and the number of each kind of block in its article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.blocks: Counter[str] = Counter()
        self._in_code = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(found["href"])
        if "src" in found:
            self.loaded.append(found["src"])
        if tag in _BLOCKS and not (self._in_code and tag == "code"):
            self.blocks[tag] += 1
        self._in_code |= tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._in_code &= tag != "pre"


def article(text: str) -> str:
    """The part of a page that is made of its Markdown."""
    found = re.search(r"<article.*?</article>", text, re.DOTALL)
    assert found
    return found[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with an older version that it has published before."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "0.0").mkdir()
    environment = {**os.environ, "PENSTOCK_REPO_URL": REPOSITORY, "PENSTOCK_SITE_URL": "https://docs.example"}
    environment.setdefault("PENSTOCK_CACHE", str(Path.home() / ".cache" / "penstock"))
    setup = subprocess.run(
        [ROOT / "scripts" / "docs-setup", sys.executable], env=environment, stdout=subprocess.PIPE, check=True
    )
    subprocess.run(
        [setup.stdout.decode().strip(), ROOT / "scripts" / "build-site", folder], env=environment, check=True
    )
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Path:
    return folder / "0.1"


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[str, Document]:
    """The pages by their address."""
    return {address(page): Document((site / address(page) / "index.html").read_text()) for page in PAGES}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(installed_chromium()) as found:
        yield found


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def opened(browser: Browser, place: str) -> None:
    browser.leave()
    browser.until("location.href === 'about:blank'")
    browser.errors.clear()
    browser.requests.clear()
    browser.send("Page.navigate", url=place)
    browser.until(f"location.href === {json.dumps(place)} && document.readyState === 'complete'")


def elsewhere(browser: Browser, served: str) -> list[str]:
    """The addresses on other hosts that the browser has asked for."""
    return [address for address in browser.requests if not address.startswith((served, "data:", "blob:", "about:"))]


def test_no_page_loads_anything_from_another_host(site: Path, documents: dict[str, Document]) -> None:
    for name, document in documents.items():
        assert document.loaded, name
        assert [target for target in document.loaded if urlsplit(target).netloc] == [], name
    styles = list(site.rglob("*.css"))
    assert styles
    for style in styles:
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", style.read_text()) == []


def test_each_link_leads_to_a_page_and_an_anchor_of_the_site_or_to_a_file_of_the_repository(
    site: Path, documents: dict[str, Document]
) -> None:
    for name, document in documents.items():
        for link in document.links:
            target = urlsplit(urljoin(f"https://docs.example/0.1/{name}", link))
            if target.netloc != "docs.example":
                own = link.removeprefix(f"{REPOSITORY}/")
                assert own == link or (ROOT / urlsplit(own).path).exists(), f"{name}: {link}"
                continue
            path = target.path.removeprefix("/0.1/")
            assert (site / path).exists(), f"{name}: {link}"
            if target.fragment and path in documents:
                assert target.fragment in documents[path].ids | {"__skip"}, f"{name}: {link}"


def test_each_page_has_the_lists_tables_and_code_that_github_shows(site: Path) -> None:
    for page in PAGES:
        shown = Document(article((site / address(page) / "index.html").read_text())).blocks
        assert shown == Document(PARSER.render((DOCS / page).read_text())).blocks, page


def test_programs_find_all_pages_and_their_markdown(folder: Path, site: Path) -> None:
    listed = re.findall(r"^- \[.+\]\((\S+)\): \S", (site / "llms.txt").read_text(), re.MULTILINE)
    assert sorted(listed) == PAGES
    assert (folder / "llms.txt").exists()
    for page in PAGES:
        assert Page(site / page).title == Page(DOCS / page).title
    places = re.findall(r"<loc>https://docs.example/0.1/(.*?)</loc>", (site / "sitemap.xml").read_text())
    assert sorted(places) == sorted(map(address, PAGES))


def test_the_search_knows_all_pages(site: Path) -> None:
    found = {item["location"].partition("#")[0] for item in json.loads((site / "search.json").read_text())["items"]}
    assert {address(page) for page in PAGES} <= found


def test_versions_that_were_published_before_can_be_selected(folder: Path) -> None:
    versions = json.loads((folder / "versions.json").read_text())
    assert [version["version"] for version in versions] == ["0.1", "0.0"]


def test_diagrams_are_drawn_in_the_colors_of_the_theme(browser: Browser, served: str) -> None:
    for dark, scheme in ((False, "default"), (True, "slate")):
        browser.look(1280, dark=dark)
        opened(browser, f"{served}/0.1/architecture/")
        browser.until(f"document.querySelector('.diagram[data-scheme={scheme}] svg')")
    assert browser.errors == []
    assert elsewhere(browser, served) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", ["", "first-connector/", "debugging/", "reference/connector/", "playground/"])
def test_pages_are_accessible_and_fit_in_each_width_and_theme(
    browser: Browser, served: str, page: str, dark: bool, width: int
) -> None:
    browser.look(width, dark=dark)
    opened(browser, f"{served}/0.1/{page}")
    browser.until(f"document.body.dataset.mdColorScheme === '{'slate' if dark else 'default'}'")
    pictures = ROOT / "build" / "docs"
    pictures.mkdir(parents=True, exist_ok=True)
    name = page.strip("/").replace("/", "-") or "index"
    browser.picture(pictures / f"{name}-{width}-{'dark' if dark else 'light'}.png", whole=False)
    assert browser("document.documentElement.scrollWidth") <= width
    browser(f"{axe()};0")
    found = browser(
        f"axe.run(document, {{runOnly: {json.dumps(_RULES)}, rules: {json.dumps(_OF_THE_THEME)}}})"
        ".then(r => r.violations.map(v => [v.id, ...v.nodes.map(n => n.html.slice(0, 200))]))"
    )
    assert found == []
    assert browser.errors == []
    assert elsewhere(browser, served) == []


def test_a_reader_finds_a_reason_with_the_search(browser: Browser, served: str) -> None:
    browser.look(1280)
    opened(browser, f"{served}/0.1/")
    browser.until("document.querySelector('.md-search__button')")
    browser("document.querySelector('.md-search__button').click()")
    root = "[...document.querySelectorAll('*')].find(e => e.shadowRoot)?.shadowRoot"
    browser.until(f"{root}?.activeElement?.tagName === 'INPUT'")
    browser.write("Hindered")
    found = r"/\/0\.1\/debugging\/(\?.*)?#kafka-or-another-service-is-unavailable$/.test(a.href)"
    browser.until(f"[...{root}.querySelectorAll('a')].some(a => {found})")
    assert elsewhere(browser, served) == []


def test_a_reader_changes_a_manifest_and_runs_its_transforms_in_the_browser(browser: Browser, served: str) -> None:
    def run(manifest: str) -> str:
        count = browser("Number(document.getElementById('playground').dataset.shown ?? 0)")
        browser(f"document.querySelector('textarea').value = {json.dumps(manifest)}")
        browser("document.querySelector('article .md-button, .md-content .md-button').click()")
        shown = f"document.getElementById('playground').dataset.shown > {count}"
        part = f"new Promise(done => setTimeout(() => done({shown}), 1000))"
        assert any(browser(part) for _ in range(200))  # Python starts slowly where other tests run, too
        return str(browser("document.querySelector('article pre.highlight > code').textContent"))

    blocks = re.findall(r"^```\w*\n(.*?)^```", (DOCS / "playground.md").read_text(), re.MULTILINE | re.DOTALL)
    manifest, _, recorded = blocks
    browser.look(1280)
    opened(browser, f"{served}/0.1/playground/")
    browser.until("document.querySelector('textarea')")
    assert run(manifest) == recorded
    assert '~ value.card  "4111" -> "x"' in run(f"{manifest}    transforms.mask.replacement: x\n")
    wrong = run(manifest.replace("MaskField", "Maskfield"))
    assert "Connector orders: transforms.mask.type: Invalid value Maskfield$Value" in wrong
    router = (
        "    transforms.shop.type: RegexRouter\n    transforms.shop.regex: o.*\n    transforms.shop.replacement: a\n"
    )
    assert "regular expressions do not work on this page" in run(
        manifest.partition("    transforms.shop.type")[0] + router
    )
    assert browser.errors == []
    assert elsewhere(browser, served) == []
