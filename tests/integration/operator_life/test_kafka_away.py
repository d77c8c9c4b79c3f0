"""Kafka is away, or was, or somebody vanished while the operator was: what is told, and what is left."""

from collections.abc import Callable

import pytest

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.job import Action, JobAnswer, JobRequest, Outcome
from penstock_model.contracts.task_reports import Claim, claim_key, report_key
from penstock_operator.names import ROLE_LABEL

from .world.answers import template
from .world.site import Site, condition

pytestmark = pytest.mark.slow


def test_connectors_come_and_go_while_kafka_is_unavailable(
    make_site: Callable[..., Site], own_kafka: EmbeddedKafka
) -> None:
    away = [False]

    def answers(request: JobRequest) -> JobAnswer:
        if away[0]:
            message = "Kafka does not answer"
            return JobAnswer(id=request.id, action=request.action, outcome=Outcome.UNAVAILABLE, message=message)
        return template(request)

    site = make_site(servers=own_kafka.bootstrap_servers, answers=answers)
    operator = site.operator().start()
    for name in ("stays", "goes", "halts"):
        site.create(name)
        site.settled(name)
    pods = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("stays"))]

    away[0] = True
    own_kafka.kill()
    site.create("comes")
    told = site.until("comes", lambda b: "Kafka does not answer" in condition(b, "Ready"), "it says so")
    assert condition(told, "Ready").startswith("False Unavailable")
    site.delete("goes")
    site.gone("goes")
    site.change("halts", state="Stopped")
    site.settled("halts", "Stopped")
    site.until("stays", lambda b: condition(b, "Ready").startswith("Unknown KafkaUnavailable"), "it says so", 120)
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("stays"))] == pods
    assert operator.probe("healthz")[0] == 200

    own_kafka.start()
    away[0] = False
    site.settled("comes", seconds=120)
    site.settled("stays", seconds=120)
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("stays"))] == pods
    site.kubelet.records.until(
        lambda: not site.kubelet.records.of(f"{site.namespace}.goes"), "what is gone is forgotten", 120
    )
    after = {"stays": ["RUNNING"], "goes": ["RUNNING", None], "halts": ["RUNNING", "STOPPED"], "comes": ["RUNNING"]}
    records = site.kubelet.records
    told = {name: f"status-connector-{site.namespace}.{name}" for name in after}
    records.until(lambda: {n: records.states(key) for n, key in told.items()} == after, "the connectors' states", 120)
    site.check()


def test_the_operator_starts_while_kafka_is_unavailable(
    make_site: Callable[..., Site], own_kafka: EmbeddedKafka
) -> None:
    site = make_site(servers=own_kafka.bootstrap_servers)
    operator = site.operator().start()
    site.create("orders")
    site.settled("orders")
    pods = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    operator.kill()
    operator.ended()
    own_kafka.kill()
    operator.start().ready()
    site.create("rests", state="Stopped")
    site.settled("rests", "Stopped")
    own_kafka.start()
    site.settled("orders", seconds=120)
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == pods
    site.check()


def test_a_fresh_connector_starts_only_once_its_name_is_known_to_be_free(
    make_site: Callable[..., Site], own_kafka: EmbeddedKafka
) -> None:
    site = make_site(servers=own_kafka.bootstrap_servers)  # whose short pods reach Kafka, as it seems to them
    records = site.kubelet.records
    records.make()
    foreign = Claim(
        connector_uid="x",
        namespace="elsewhere",
        name="orders",
        created="2020-01-01T00:00:00Z",
        operator="elsewhere/penstock",
        cluster="elsewhere",
        installation="another-lease",
    )
    records.write(claim_key("taken"), foreign.to_value())
    records.until(lambda: records.claim("taken"), "the claim")
    own_kafka.kill()
    site.operator().start()
    site.create("orders")
    site.create("copies", connectName="taken")
    for name in ("orders", "copies"):
        told = site.until(name, lambda b: condition(b, "Ready").startswith("False KafkaUnavailable"), "it says so", 90)
        assert "starts once it is known that no other connector has the name" in condition(told, "Ready")
        assert condition(told, "ConfigValid").startswith("True")
        assert condition(told, "Reconciling").startswith("True")
    assert Action.PREPARE not in [action for _, action in site.kubelet.jobs]
    assert not [p for p in site.kubelet.pods.objects.values() if p["metadata"]["labels"][ROLE_LABEL] == "task"]
    own_kafka.start()
    site.settled("orders", seconds=120)
    site.until("copies", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused", 120)
    assert site.kubelet.alive(site.key("copies")) == []
    site.check()


@pytest.mark.parametrize("connect_name", [None, "moved"], ids=["its-own-name", "a-name-that-it-brought"])
def test_records_of_connectors_that_went_while_the_operator_was_unavailable_are_forgotten(
    site: Site, connect_name: str | None
) -> None:
    operator = site.operator().start()
    more = {} if connect_name is None else {"connectName": connect_name}
    site.create("orders", **more)
    site.create("others")
    site.settled("orders")
    site.settled("others")
    name = connect_name or f"{site.namespace}.orders"
    site.kubelet.records.until(lambda: site.kubelet.records.claim(name), "a claim")
    foreign = Claim(
        connector_uid="x",
        namespace="elsewhere",
        name="orders",
        created="",
        operator="elsewhere.penstock",
        cluster="elsewhere",
        installation="another-lease",
    )
    site.kubelet.records.write(claim_key("elsewhere.orders"), foreign.to_value())
    site.kubelet.records.write(report_key("elsewhere.orders", 0), b'{"apiVersion": "penstock.dev/report/v9"}')
    operator.kill()
    operator.ended()
    site.delete("orders")
    site.connectors.until(lambda all_: site.key("orders") not in all_, "deleted")
    operator.start()
    site.kubelet.records.until(lambda: not site.kubelet.records.of(name), "forgotten", 60)
    assert len(site.kubelet.records.of("elsewhere.orders")) == 2
    assert site.kubelet.records.of(f"{site.namespace}.others")
    site.check()
