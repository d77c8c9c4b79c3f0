"""A namespace that is deleted takes its Connectors with it, whatever goes first of them and of the operator's rights."""

import itertools
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import pytest

from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.names import FINALIZER

from .world.chart import Chart
from .world.site import Site
from .world.watched import Watched

pytestmark = pytest.mark.slow

RESET = {"offsets": "Reset"}


@pytest.fixture
def team(make_site: Callable[..., Site]) -> Iterator[tuple[Site, Chart, str]]:
    """A release, and a namespace that it watches beside its own."""
    site = make_site(spaces=2)
    chart = Chart(site, site.namespaces)
    yield site, chart, site.namespaces[1]
    chart.remove()


def end(site: Site, namespace: str) -> None:
    site.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})


def take_rights(site: Site, chart: Chart, namespace: str) -> None:
    """As the namespace's controller may, before it comes to the Connectors."""
    for document in chart.documents:
        if document["kind"] == "RoleBinding" and document["metadata"]["namespace"] == namespace:
            site.api.delete(document)


def left(site: Site, namespace: str) -> list[bytes]:
    """The claims of a namespace's Connectors."""
    return [k for k in list(site.kubelet.records.latest) if k.startswith(b'["penstock-claim","' + namespace.encode())]


def gone(site: Site, namespace: str, seconds: float = 90.0) -> None:
    namespaces = Watched(site.connection, "/api/v1/namespaces")
    try:
        namespaces.until(lambda all_: f"/{namespace}" not in all_, f"{namespace} is gone", seconds)
    finally:
        namespaces.close()


def test_a_namespace_with_resets_ends_in_any_order(team: tuple[Site, Chart, str]) -> None:
    site, chart, namespace = team
    operator = chart.operator().start()
    for n in range(4):
        site.create(f"orders-{n}", namespace=namespace, deletion=RESET)
        site.settled(f"{namespace}/orders-{n}")
    site.create("stays")
    site.settled("stays")
    end(site, namespace)
    gone(site, namespace)
    site.kubelet.records.until(lambda: not left(site, namespace), "their records are forgotten", 120)
    site.change("stays", state="Paused")
    site.settled("stays", "Paused")
    assert operator.probe("healthz")[0] == 200


@pytest.mark.parametrize("restarts", [False, True], ids=["operator-runs", "operator-starts-again"])
def test_a_namespace_ends_although_its_role_binding_went_first(team: tuple[Site, Chart, str], restarts: bool) -> None:
    site, chart, namespace = team
    operator = chart.operator().start()
    site.create("orders", namespace=namespace, deletion=RESET)
    site.settled(f"{namespace}/orders")
    site.until(f"{namespace}/orders", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    site.create("stays")
    site.settled("stays")
    if restarts:
        operator.kill()
        operator.ended()
    take_rights(site, chart, namespace)
    end(site, namespace)
    if restarts:
        operator.start().ready(120)
    gone(site, namespace)
    site.kubelet.records.until(lambda: not left(site, namespace), "its records are forgotten", 120)
    site.change("stays", state="Paused")
    site.settled("stays", "Paused")
    if not restarts:
        operator.stop()
        operator.start().ready(120)  # with a namespace that is no more
        site.change("stays", state="Running")
        site.settled("stays")


def test_rights_that_are_missing_in_a_namespace_that_lives_let_nothing_go(team: tuple[Site, Chart, str]) -> None:
    site, chart, namespace = team
    operator = chart.operator().start()
    site.create("orders", namespace=namespace, deletion=RESET)
    site.settled(f"{namespace}/orders")
    site.until(f"{namespace}/orders", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    take_rights(site, chart, namespace)
    site.delete("orders", namespace=namespace)
    operator.until(lambda: operator.logged(f"Listing pods of {namespace}"), "it may not look")
    assert site.get(f"{namespace}/orders")["metadata"]["finalizers"]
    for document in chart.documents:
        if document["kind"] == "RoleBinding":
            site.api.apply(document)
    site.gone(f"{namespace}/orders", seconds=120)


class Account:
    """The operator's ServiceAccount."""

    def __init__(self, chart: Chart) -> None:
        self.kube = Kube.connect(kubeconfig=chart.kubeconfig())

    def merge(self, body: dict[str, Any], change: dict[str, Any]) -> tuple[int, str]:
        """Patch a Connector; the code of the answer, and its text."""
        path = CONNECTOR.path(body["metadata"]["namespace"], body["metadata"]["name"])
        answer = self.kube.server.request(
            "PATCH", CONNECTOR, path, "Changing it", body=change, content_type="application/merge-patch+json"
        )
        return answer.code, answer.body.decode()


@pytest.fixture
def account(team: tuple[Site, Chart, str]) -> Iterator[Account]:
    """That of the release, bounded by its policy, which the API server minds within seconds."""
    site, chart, namespace = team
    body = site.api.create(site.manifest("probe", namespace=namespace))
    made = Account(chart)
    deadline = time.monotonic() + 60
    for number in itertools.count():  # nobody tells when a policy has come into force
        if made.merge(body, {"metadata": {"labels": {"probe": f"x{number}"}}})[0] != HTTPStatus.OK:
            break
        assert time.monotonic() < deadline, "the policy does not come into force"
        time.sleep(0.1)
    yield made
    made.kube.close()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"spec": {"tasksMax": 7}}, id="spec"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, id="labels"),
        pytest.param({"metadata": {"annotations": {"penstock.dev/restart": "x"}}}, id="annotations"),
        pytest.param({"metadata": {"finalizers": ["example.com/theirs", FINALIZER]}}, id="finalizers-of-others"),
    ],
)
def test_the_operators_account_may_not_change_a_connector_where_nobody_asked_for_it(
    team: tuple[Site, Chart, str], account: Account, change: dict[str, Any]
) -> None:
    site = team[0]
    elsewhere = site.api.new_namespace()
    body = site.api.create(site.manifest("orders", namespace=elsewhere))
    code, text = account.merge(body, change)
    assert code >= HTTPStatus.BAD_REQUEST
    assert "the operator may not change" in text
    end(site, elsewhere)


def test_the_operators_account_may_put_on_and_take_off_its_finalizer(
    team: tuple[Site, Chart, str], account: Account
) -> None:
    site, _, namespace = team
    body = site.api.create(site.manifest("orders", namespace=namespace))
    site.api.merge(body, {"metadata": {"finalizers": ["example.com/theirs"], "labels": {"a": "b"}}})
    for finalizers in (["example.com/theirs", FINALIZER], ["example.com/theirs"]):
        code, text = account.merge(body, {"metadata": {"finalizers": finalizers}})
        assert code == HTTPStatus.OK, text
    site.api.merge(body, {"metadata": {"finalizers": []}})
