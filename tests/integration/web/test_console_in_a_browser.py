"""What users do with the console, in a browser. Pictures are left in `build/console`."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_web.options import WebOptions
from penstock_web.server import WebServer
from penstock_web.source import Document

from ...unit.web.resources import Rights
from ...unit.web.serving import served
from ...unit.web.shop import Shop, connector, many
from ...unit.web.showcase import showcase
from .browser import Browser
from .installed import axe, installed_chromium

pytestmark = pytest.mark.slow

PICTURES: Final = Path(__file__).parents[3] / "build" / "console"
PAGES: Final = {
    "connectors": "/",
    "connector": "/connectors/shop/orders-to-warehouse",
    "plugins": "/plugins",
    "policies": "/policies?topic=shop.orders.changes&connector=shop/orders",
}
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(installed_chromium()) as found:
        yield found


@pytest.fixture
def shop() -> Shop:
    return showcase()


@pytest.fixture
def rights(shop: Shop) -> Rights:
    return Rights(shop, alice="shop")


@pytest.fixture
def address(shop: Shop, rights: Rights, browser: Browser) -> Iterator[str]:
    async def transform(document: Document, record: str) -> str:
        return f"record 1\n  in   value {record}"

    with served(shop, WebOptions(title="Kafka kafka-eu", transform=transform), rights) as server:
        browser.errors.clear()
        browser.look(1280)
        yield f"http://127.0.0.1:{server.port}"
        browser.leave()


def changed(shop: Shop, name: str, **status: Any) -> None:
    document = copy.deepcopy(next(dict(d) for d in shop.documents if d["metadata"]["name"] == name))
    document["status"] |= status
    shop.put(document)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_accessible_and_fit_in_each_width_and_theme(
    browser: Browser, address: str, page: str, dark: bool, width: int
) -> None:
    browser.look(width, dark=dark)
    browser.open(address + PAGES[page])
    browser.until("[...document.querySelectorAll('[data-load]')].every(part => part.loaded)")
    browser.until("!document.querySelector('.live').hidden")
    height = min(4000, max(600, browser("document.documentElement.scrollHeight")))
    browser.look(width, dark=dark, height=height)
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.picture(PICTURES / f"{page}-{width}-{'dark' if dark else 'light'}.png")
    assert browser("document.documentElement.scrollWidth") <= width
    browser("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser(f"{axe()};0")
    found = browser(
        f"axe.run(document, {{runOnly: {json.dumps(_RULES)}}})"
        ".then(r => r.violations.map(v => [v.id, ...v.nodes.map(n => n.html.slice(0, 200))]))"
    )
    assert found == []
    assert browser.errors == []


def test_a_failed_connector_among_a_thousand_is_found_in_two_clicks(browser: Browser) -> None:
    with served(Shop(*many(1000, failed=[770]))) as server:
        browser.look(1280)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser("document.querySelector('.chip.bad').click()")
        browser.until("document.querySelectorAll('#rows tr').length === 1")
        browser("document.querySelector('#rows th a').click()")
        browser.until("document.querySelector('h1')?.textContent === 'feed-0770'")
        assert "disk full; free space" in browser("document.getElementById('head').textContent")
        assert "UndefinedColumn" in browser("document.getElementById('trace-0').textContent")
        browser.leave()


def test_the_list_changes_while_it_is_open_and_the_focus_stays(browser: Browser, shop: Shop, address: str) -> None:
    browser.open(f"{address}/")
    browser.until("document.querySelector('.live')?.textContent === 'Live'")
    browser("document.querySelector('#rows a[href=\"/connectors/shop/reviews\"]').focus()")
    changed(shop, "reviews", state="Failed")
    browser.until("document.querySelector('#rows tr th a').textContent === 'reviews'")
    assert browser("document.activeElement.getAttribute('href')") == "/connectors/shop/reviews"
    shop.remove("reviews")
    browser.until("!document.querySelector('#rows a[href=\"/connectors/shop/reviews\"]')")
    shop.put(connector("brand-new"))
    browser.until("document.querySelector('#rows a[href=\"/connectors/shop/brand-new\"]')")


def test_an_opened_trace_stays_open_while_the_page_changes(browser: Browser, shop: Shop, address: str) -> None:
    browser.open(f"{address}/connectors/shop/orders-to-warehouse")
    browser("document.getElementById('trace-1').open = true")
    document = copy.deepcopy(dict(shop.connector("shop", "orders-to-warehouse") or {}))
    document["status"]["tasks"][1]["restarts"] = 77
    shop.put(document)
    browser.until("document.getElementById('tasks').textContent.includes('77')")
    assert browser("document.getElementById('trace-1').open") is True


def test_a_page_says_in_words_that_the_state_changed(browser: Browser, shop: Shop, address: str) -> None:
    browser.open(f"{address}/connectors/shop/reviews")
    changed(shop, "reviews", state="Failed")
    browser.until("document.getElementById('say').textContent === 'The state is Failed now.'")


def test_a_page_whose_server_is_gone_says_so_and_recovers(browser: Browser, shop: Shop) -> None:
    server = WebServer(shop, WebOptions())
    server.start()
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.until("document.querySelector('.live').textContent === 'Live'")
    server.close()
    browser.until("document.querySelector('.live').textContent === 'Not connected'")
    again = WebServer(shop, WebOptions(port=server.port))
    again.start()
    changed(shop, "reviews", state="Failed")
    browser.until("document.querySelector('.live').textContent === 'Live'")
    browser.until("document.getElementById('row:shop/reviews').textContent.includes('Failed')")
    browser.leave()
    again.close()


def test_the_list_is_used_by_keyboard_alone(browser: Browser, address: str) -> None:
    browser.open(f"{address}/")
    browser.press("/")
    assert browser("document.activeElement.name") == "text"
    browser.write("sink")
    browser.until("document.querySelectorAll('#rows tr').length === 4")
    browser.until("document.getElementById('say').textContent === '4 Connectors'")
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    browser.press("ArrowUp")
    name = browser("document.activeElement.textContent")
    browser.press("Enter")
    browser.until(f"document.querySelector('h1')?.textContent === {json.dumps(name)}")


def test_the_first_tab_leads_past_the_navigation(browser: Browser, address: str) -> None:
    browser.open(f"{address}/")
    browser.press("Tab")
    assert browser("document.activeElement.textContent") == "Skip to content"
    browser.press("Enter")
    assert browser("location.hash") == "#main"


def test_a_user_pauses_a_connector_with_their_own_token(browser: Browser, rights: Rights, address: str) -> None:
    browser.open(f"{address}/connectors/shop/orders")
    browser.until("document.querySelector('#actions input')")
    browser("document.querySelector('#sign-in').open = true; document.querySelector('#actions input').focus()")
    browser.write("alice")
    browser.press("Enter")
    browser.until("document.querySelector('#actions [data-action$=pause]')")
    browser("document.querySelector('#actions [data-action$=pause]').click()")
    browser.until("document.getElementById('action-result').textContent.includes('Paused')")
    assert rights.patches == [("alice", "orders", {"spec": {"state": "Paused"}})]


def test_a_restart_is_requested_after_a_question_only(browser: Browser, rights: Rights, address: str) -> None:
    browser.open(f"{address}/connectors/shop/orders")
    browser("sessionStorage.setItem('penstock-token', 'alice'); location.reload()")
    browser.until("document.querySelector('#actions [data-action$=restart]')")
    browser("document.querySelector('#actions [data-action$=restart]').click()")
    browser.until("document.querySelector('dialog[open]')")
    browser("document.querySelector('dialog button[value=\"\"]').click()")
    browser.until("!document.querySelector('dialog')")
    assert rights.patches == []
    browser("document.querySelector('#actions [data-action$=restart]').click()")
    browser.until("document.querySelector('dialog[open]')")
    browser("document.querySelector('dialog button[value=yes]').click()")
    browser.until("document.getElementById('action-result').textContent.includes('requested')")
    assert len(rights.patches) == 1


def test_offsets_are_reset_after_a_preview(browser: Browser, shop: Shop, rights: Rights, address: str) -> None:
    document = copy.deepcopy(dict(shop.connector("shop", "orders-to-warehouse") or {}))
    document["spec"]["state"] = document["status"]["state"] = "Stopped"
    shop.put(document)
    browser.open(f"{address}/connectors/shop/orders-to-warehouse")
    browser("sessionStorage.setItem('penstock-token', 'alice'); location.reload()")
    browser.until("document.querySelector('#change-offsets')")
    browser("document.querySelector('#change-offsets').open = true")
    browser("document.querySelector('#change-offsets button[value=reset]').click()")
    browser.until("document.querySelectorAll('#preview tbody tr').length === 3")
    assert rights.patches == []
    browser("document.querySelector('#preview button').click()")
    browser.until("document.getElementById('action-result').textContent.includes('reset-offsets')")
    assert list(rights.patches[0][2]["metadata"]["annotations"]) == ["penstock.dev/reset-offsets"]


def test_a_record_is_tried_on_the_page(browser: Browser, address: str) -> None:
    browser.open(f"{address}/connectors/shop/orders-to-warehouse")
    browser.until("document.querySelector('#try textarea')")
    browser("document.querySelector('#try textarea').value = '<img src=x onerror=alert(1)>'")
    browser("document.querySelector('#try button').click()")
    browser.until("document.querySelector('#try-result pre')?.textContent.includes('<img src=x')")
    assert browser("document.querySelectorAll('#try-result img').length") == 0
