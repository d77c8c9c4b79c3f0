"""Pages of the console show everything as text, in the right order, and never a secret."""

import http.client
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from penstock.errors import ConnectError
from penstock_web.options import WebOptions
from penstock_web.source import Document, Event

from .resources import Rights
from .serving import served
from .shop import Shop, connector, many
from .showcase import showcase
from .stream import Stream

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"{{ 7*7 }}"

NAME = re.sub("[/{}]", "", ATTACK)
"""The same without what no address holds."""


class Browser:
    """Requests as a browser sends them."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.headers: dict[str, str] = {}

    def __call__(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), names)
            answer = connection.getresponse()
            self.headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        return self(path, "POST", {} if body is None else body, **{"X_Penstock_Console": "1", **headers})


@pytest.fixture
def shop() -> Shop:
    return showcase()


@pytest.fixture
def browser(shop: Shop) -> Iterator[Browser]:
    with served(shop) as server:
        yield Browser(server.port)


@pytest.fixture
def acting(shop: Shop) -> Iterator[tuple[Browser, Rights]]:
    rights = Rights(shop, alice="shop", eve="elsewhere")
    with served(shop, access=rights) as server:
        yield Browser(server.port), rights


def rows(page: str) -> list[str]:
    return re.findall(r'<tr id="row:([^"]+)"', page)


def test_the_list_begins_with_what_has_failed(browser: Browser) -> None:
    _, page = browser("/")
    assert rows(page)[:4] == ["shop/stock-levels", "pricing/prices", "shop/orders-to-warehouse", "web/sessions"]


def test_the_list_shows_why_a_connector_does_not_run(browser: Browser) -> None:
    _, page = browser("/?state=Failed")
    assert rows(page) == ["shop/stock-levels"]
    assert "correct the Secret stock-db" in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("namespace=pricing", ["pricing/prices"]),
        ("state=Paused", ["shop/customers"]),
        ("text=AUTHENTICATION+stock", ["shop/stock-levels"]),
        ("text=sparksink", ["web/sessions"]),
        ("namespace=web&state=Hindered", ["web/sessions"]),
        ("text=nothing-like-it", []),
    ],
)
def test_the_list_is_filtered_by_namespace_state_and_words(browser: Browser, query: str, expected: list[str]) -> None:
    assert rows(browser(f"/?{query}")[1]) == expected


def test_a_page_of_a_connector_shows_state_cause_tasks_versions_and_trace(browser: Browser) -> None:
    status, page = browser("/connectors/shop/orders-to-warehouse")
    assert status == 200
    for text in (
        "Degraded",
        "auto.evolve: true",
        "UndefinedColumn",
        "transforms.mask",
        "orders-to-warehouse-1-1",
        "<path class=",
    ):
        assert text in page, text


def test_a_page_of_a_connector_that_does_not_exist_says_so(browser: Browser) -> None:
    status, page = browser("/connectors/shop/none")
    assert (status, "There is no Connector shop/none" in page) == (404, True)


@pytest.mark.parametrize("part", ["config", "events", "offsets", "actions", "transform", "offsets/preview"])
def test_parts_of_a_connector_that_does_not_exist_are_not_found(browser: Browser, part: str) -> None:
    method = "POST" if part in ("transform", "offsets/preview") else "GET"
    assert browser(f"/connectors/shop/none/{part}", method, {"how": "reset"}, X_Penstock_Console="1")[0] == 404


def test_the_chain_of_transforms_is_shown_step_by_step(browser: Browser) -> None:
    _, part = browser("/connectors/shop/orders-to-warehouse/config")
    assert part.index("MaskField$Value") < part.index("RegexRouter")
    assert "only records that paid (HasHeaderKey) selects" in part
    assert "penstock transform - --records" in part


def test_a_value_that_could_be_a_secret_is_hidden(shop: Shop, browser: Browser) -> None:
    secrets = {
        "connection.password": "hunter2-a",
        "connection.url": "jdbc:postgresql://u:hunter2-b@db/shop",
        "sasl.jaas.config": 'PlainLoginModule required password="hunter2-c";',
        "api.token": "hunter2-d",
        "unknown": "hunter2-e",
        "transforms": "t",
        "transforms.t.type": "InsertField$Value",
        "transforms.t.static.value": "${secret:a:b}",
        "transforms.t.unknown": "hunter2-f",
        "topics": "orders",
    }
    shop.put(connector("safe", class_name="FileStreamSink", kind="sink", config=secrets))
    pages = [browser(f"/connectors/shop/safe{part}")[1] for part in ("", "/config", "/actions", "/offsets")]
    pages += [browser(path)[1] for path in ("/", "/plugins", "/policies?topic=x&connector=shop/safe")]
    assert not re.findall("hunter2.", "".join(pages))
    assert "${secret:a:b}" in pages[1]


def attacked() -> Shop:
    """A shop in which every text of a user is an attack."""
    document = connector(
        "x", "Failed", reason=ATTACK, message=ATTACK, trace=ATTACK, class_name=ATTACK,
        config={ATTACK: ATTACK, "topic": ATTACK, "transforms": "a", "transforms.a.type": ATTACK, "transforms.a.b": ATTACK},
        version=ATTACK, connectName=ATTACK, topicCreationPolicyRef={"name": ATTACK},
    )  # fmt: skip
    document["metadata"] |= {"name": NAME, "namespace": NAME, "creationTimestamp": ATTACK}
    status = document["status"]
    status["activeTopics"] = [{"name": ATTACK, "task": ATTACK, "since": ATTACK}]
    status["restartActions"] = [{"token": ATTACK, "action": ATTACK, "result": ATTACK, "message": ATTACK, "at": ATTACK}]
    status["pluginVersions"] = status["newerPluginVersions"] = [ATTACK]
    status["tasks"][0] |= {
        "pod": ATTACK,
        "versions": {"connector": ATTACK, "transforms": {ATTACK: ATTACK}},
        "retryAt": ATTACK,
    }
    status["taskSummary"] = ATTACK
    policy = {
        "kind": "TopicCreationPolicy",
        "metadata": {"name": NAME, "namespace": NAME},
        "spec": {
            "default": {"partitions": ATTACK},
            "groups": [{"name": ATTACK, "include": [ATTACK]}],
            "limits": {ATTACK: ATTACK},
        },
        "status": {"connectors": [ATTACK], "conditions": [{"type": "Ready", "status": "False", "message": ATTACK}]},
    }
    plugin = {
        "kind": "PluginVersion",
        "metadata": {"name": NAME, "namespace": NAME},
        "spec": {"plugin": ATTACK, "version": ATTACK, "image": ATTACK, "classes": [{"alias": ATTACK, "type": ATTACK}]},
    }
    shop = Shop(document, policy, plugin)
    shop.occurred = (Event(0.0, ATTACK, ATTACK, ATTACK, ATTACK),)
    shop.lists = {(NAME, NAME): {"offsets": [{"partition": {ATTACK: ATTACK}, "offset": {ATTACK: ATTACK}}]}}
    return shop


def test_no_text_of_a_user_becomes_markup() -> None:
    async def echo(document: Document, record: str) -> str:
        return record

    shop = attacked()
    with served(shop, WebOptions(title=ATTACK, transform=echo), Rights(shop)) as server:
        browser = Browser(server.port)
        own, word = f"/connectors/{quote(NAME)}/{quote(NAME)}", quote(ATTACK)
        paths = [
            "/",
            f"/?text={word}&namespace={word}&state={word}",
            own,
            "/plugins",
            f"/policies?topic={word}&connector={quote(f'{NAME}/{NAME}')}",
            f"/policies?topic={word}&connector={word}",
        ]
        paths += [f"{own}/{part}" for part in ("config", "events", "offsets", "actions")]
        answers = {path: browser(path) for path in paths}
        answers["missing"] = 200, browser(f"/connectors/{quote(NAME)}/{quote(NAME)}x")[1]
        for path in (paths[0], own, "/plugins", paths[4]):
            page, _, query = path.partition("?")
            stream = Stream(server.port, path, f"{page.rstrip('/')}/stream?{query}", "x")
            answers[f"stream of {path}"] = 200, "".join(stream.next()["parts"].values())
            stream.close()
        answers["transform"] = browser.post(f"{own}/transform", {"record": ATTACK})
        answers["preview"] = browser.post(f"{own}/offsets/preview", {"how": "reset"})
    for path, (status, page) in answers.items():
        assert status == 200, (path, page)
        assert "alert(1)" in page or path == f"{own}/actions", path
        assert "<script>" not in page, path
        assert "<img src=x" not in page, path
        assert "49" not in re.findall(r"\{\{.*?\}\}|\b49\b", page), path


def test_every_answer_forbids_foreign_content_and_framing(browser: Browser) -> None:
    for path in ("/", "/connectors/shop/orders", "/static/x/console.js", "/nothing"):
        browser(path)
        policy = browser.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert browser.headers["x-content-type-options"] == "nosniff"


def test_pages_have_no_inline_script_and_no_inline_style(browser: Browser) -> None:
    for path in ("/", "/connectors/shop/orders-to-warehouse", "/plugins", "/policies?topic=a"):
        _, page = browser(path)
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", page), path


def test_a_thousand_connectors_are_one_small_page() -> None:
    shop = Shop(*many(1000, failed=[500]))
    with served(shop) as server:
        browser = Browser(server.port)
        status, page = browser("/", Accept_Encoding="identity")
    assert status == 200
    assert len(rows(page)) == 1000
    assert rows(page)[0] == "team-0/feed-0500"
    assert len(page) < 600_000


def test_a_list_of_more_connectors_than_a_page_holds_says_so() -> None:
    with served(Shop(*many(1001))) as server:
        _, page = Browser(server.port)("/")
    assert len(rows(page)) == 1000
    assert "The first 1,000 of 1,001 Connectors are shown" in page


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("shop.a.changes", "group changes of the TopicCreationPolicy shop-topics"),
        ("shop.a", "partitions 3, replication factor 3"),
        ("elsewhere", "elsewhere would be refused"),
    ],
)
def test_policies_show_what_they_make_of_a_topic(browser: Browser, topic: str, expected: str) -> None:
    _, page = browser(f"/policies?topic={topic}&connector=shop/orders")
    assert page.count(expected) >= 2  # by the policy alone, and for the Connector


def test_patterns_that_take_years_do_not_stop_the_console(shop: Shop, browser: Browser) -> None:
    orders = next(d for d in shop.connectors() if d["metadata"]["name"] == "orders")
    del orders["spec"]["topicCreationPolicyRef"]
    rules = {"groups": "g", "g.include": "(a|aa)+b", "g.partitions": "1", "default.partitions": "1"}
    orders["spec"]["config"] |= {f"topic.creation.{n}": v for n, v in rules.items()}
    for group in ("g", "default"):
        orders["spec"]["config"][f"topic.creation.{group}.replication.factor"] = "1"
    _, page = browser(f"/policies?topic={'a' * 90}&connector=shop/orders")
    assert "take too long for this name" in page


def test_plugin_versions_show_the_connectors_that_use_them(browser: Browser) -> None:
    _, page = browser("/plugins")
    article = page[page.index("shop/sql-1.4.2") :].split("</article>")[0]
    assert "shop/orders-to-warehouse" in article
    assert "Used by 4 Connectors" in article


def test_a_request_by_another_site_is_refused(acting: tuple[Browser, Rights]) -> None:
    browser, rights = acting
    path, token = "/connectors/shop/orders/actions/stop", "Bearer alice"
    assert browser(path, "POST", {}, Authorization=token)[0] == 403
    assert browser.post(path, Authorization=token, Origin="http://evil.example")[0] == 403
    assert browser.post(path, Authorization=token, Sec_Fetch_Site="cross-site")[0] == 403
    assert rights.patches == []


@pytest.mark.parametrize("name", ["orders%2Fstatus", "%2e%2e", "missing"])
def test_an_action_on_anything_but_a_connector_is_not_found(acting: tuple[Browser, Rights], name: str) -> None:
    browser, rights = acting
    assert browser.post(f"/connectors/shop/{name}/actions/pause", Authorization="Bearer alice")[0] == 404
    assert rights.patches == []


def test_a_body_of_an_unknown_charset_is_refused(acting: tuple[Browser, Rights]) -> None:
    browser, _ = acting
    path = "/connectors/shop/orders/actions/alter-offsets"
    headers = {"Authorization": "Bearer alice", "Content_Type": "application/json; charset=rot13"}
    assert browser.post(path, {"document": "x"}, **headers)[0] == 400


def test_an_action_is_a_patch_by_the_user(acting: tuple[Browser, Rights]) -> None:
    browser, rights = acting
    assert browser.post("/connectors/shop/orders/actions/pause", Authorization="Bearer alice")[0] == 200
    assert browser.post("/connectors/shop/orders/actions/restart-failed", Authorization="Bearer alice")[0] == 200
    (_, _, pause), (user, name, restart) = rights.patches
    assert pause == {"spec": {"state": "Paused"}}
    assert (user, name) == ("alice", "orders")
    assert restart["metadata"]["annotations"]["penstock.dev/restart-failed"].startswith("console-")


@pytest.mark.parametrize(("token", "status"), [("", 401), ("Bearer eve", 403)])
def test_nobody_acts_without_the_right_to(acting: tuple[Browser, Rights], token: str, status: int) -> None:
    browser, rights = acting
    assert browser.post("/connectors/shop/orders/actions/stop", Authorization=token)[0] == status
    assert rights.patches == []


def test_a_console_without_actions_refuses_them(browser: Browser) -> None:
    assert browser.post("/connectors/shop/orders/actions/stop", Authorization="Bearer alice")[0] == 403
    assert "read-only" in browser("/connectors/shop/orders/actions")[1]


def test_actions_are_offered_to_those_who_may_request_them(acting: tuple[Browser, Rights]) -> None:
    browser, _ = acting
    own = "/connectors/shop/orders-to-warehouse/actions"
    assert "data-sign-in" in browser(own)[1]
    assert "may not change" in browser(own, Authorization="Bearer eve")[1]
    offered = re.findall(r"actions/([a-z-]+)\"", browser(own, Authorization="Bearer alice")[1])
    assert offered == ["pause", "stop", "restart-failed", "restart", "list-offsets", "reset-topics"]


def test_a_change_of_offsets_is_previewed_before_it_is_requested(acting: tuple[Browser, Rights]) -> None:
    browser, rights = acting
    own = "/connectors/shop/orders-to-warehouse"
    entry = {"partition": {"kafka_topic": "shop.orders", "kafka_partition": 1}, "offset": {"kafka_offset": 5}}
    document = json.dumps({"offsets": [entry]})
    _, preview = browser.post(f"{own}/offsets/preview", {"how": "alter", "document": document})
    assert re.search(r"partition 1</code></th>.*91231.*5", preview)
    _, reset = browser.post(f"{own}/offsets/preview", {"how": "reset"})
    assert reset.count("<code>none</code>") == 3
    assert rights.patches == []
    assert browser.post(f"{own}/actions/alter-offsets", {"document": document}, Authorization="Bearer alice")[0] == 200
    annotation = rights.patches[0][2]["metadata"]["annotations"]["penstock.dev/alter-offsets"]
    assert json.loads(annotation.split(" ", 1)[1]) == {"offsets": [entry]}


@pytest.mark.parametrize("body", [[], {}, "x", {"record": 1}, {"record": None}])
def test_a_request_with_a_wrong_body_is_refused_with_a_sentence(body: Any) -> None:
    async def fail(document: Document, record: str) -> str:
        raise ConnectError("never called")

    with served(showcase(), WebOptions(transform=fail)) as server:
        status, text = Browser(server.port).post("/connectors/shop/orders/transform", body)
    assert (status, "record" in text) == (400, True)


def test_a_body_of_more_than_a_megabyte_is_refused(acting: tuple[Browser, Rights]) -> None:
    browser, _ = acting
    status, _ = browser.post("/connectors/shop/orders/offsets/preview", {"how": "alter", "document": "x" * (2 << 20)})
    assert status == 413


def test_events_and_offsets_that_cannot_be_read_say_why(shop: Shop, browser: Browser) -> None:
    shop.is_reachable = False
    status, part = browser("/connectors/shop/orders/offsets")
    assert (status, "the API server does not answer" in part) == (200, True)
