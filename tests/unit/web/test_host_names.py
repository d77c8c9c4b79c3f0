"""The console answers requests for its own names only, so that a page of another site cannot read it by DNS rebinding."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock_operator.settings import Settings
from penstock_operator.web.console import host_names
from penstock_web.options import WebOptions
from penstock_web.protection import is_own_host

from .serving import served
from .showcase import showcase
from .test_console_pages import Browser

SERVICE = "own-console"


def names(**console: Any) -> frozenset[str]:
    """Names of the console of a release in the namespace `data`."""
    release = {"name": "own", "namespace": "data", "serviceAccount": "own-operator"}
    worker = {"bootstrap.servers": "kafka:9092", "group.id": "g"}
    topics = {"offset.storage.topic": "o", "status.storage.topic": "s"}
    given = {"enabled": True, "service": SERVICE, **console}
    document = {"release": release, "worker": {**worker, **topics}, "images": {"runtime": "r"}, "console": given}
    return host_names(Settings.of(document))


@pytest.fixture
def browser() -> Iterator[Browser]:
    with served(showcase(), WebOptions(names=names(hosts=["Penstock.example.com"]))) as server:
        yield Browser(server.port)


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8090",
        "LOCALHOST",
        "127.0.0.1:8090",
        "[::1]:8090",
        "10.1.2.3",
        "[fd00::1]:8090",
        "own-console:8090",
        "own-console.data.svc:8090",
        "own-console.data.svc.cluster.local:8090",
        "own-console.data.svc.cluster.local.:8090",
        "penstock.example.com",
        "Penstock.Example.Com:443",
    ],
)
def test_requests_for_a_forwarded_port_an_address_the_service_or_a_listed_name_are_answered(
    browser: Browser, host: str
) -> None:
    assert browser("/", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "penstock.example.com.evil.example",
        "example.com",
        "own-console.data",
        "own-console.other",
        "own-console.data.svc.evil.example",
        "[::1].evil.example",
        "localhost@evil.example",
    ],
)
@pytest.mark.parametrize("path", ["/", "/stream", "/connectors/shop/orders", "/connect/shop/connectors", "/static/x/y"])
def test_requests_for_other_names_are_refused_with_the_setting_to_change(
    browser: Browser, host: str, path: str
) -> None:
    status, text = browser(path, Host=host)
    assert status == 421
    assert "console.hosts" in text


def test_the_console_of_one_machine_answers_for_no_other_name() -> None:
    with served(showcase(), WebOptions(is_cluster=False)) as server:
        browser = Browser(server.port)
        assert browser("/", Host="localhost")[0] == 200
        status, text = browser("/", Host="evil.example")
    assert status == 421
    assert text == "this console does not answer requests for this host name; use localhost or an IP address\n"


@pytest.mark.parametrize("host", ["[", "[::1", "a]b", "localhost:x:y", "//", "\u2100.example"])
def test_a_malformed_name_is_not_an_own_one(host: str) -> None:
    assert not is_own_host(host, {"own"})


def test_without_a_service_only_listed_names_are_own() -> None:
    assert names(service="", hosts=["a.example"]) == {"a.example"}
