"""Topic creation switched off in a release with running sources, on a real API server with real plans (KIP-158)."""

from collections.abc import Callable

from penstock_model.connect.worker_config import WorkerConfig

from ..running import until
from .test_upgrades import FAST
from .world.answers import real
from .world.site import Site, condition

OFF = {"topic.creation.enable": "false"}
RULES = {
    "topic.creation.default.partitions": "2",
    "topic.creation.default.replication.factor": "1",
    "file": "/data/a",
    "topic": "orders",
}


def creates_topics(site: Site, name: str) -> set[bool]:
    """Whether the tasks of this Connector that live may create topics, by the worker configuration of their plans."""
    specs = [t.spec for t in list(site.kubelet.tasks.values()) if t.spec.connector == f"{site.namespace}.{name}"]
    return {WorkerConfig.parse(s.worker).topic_creation_enable for s in specs}


def test_topic_creation_that_is_switched_off_ends_in_running_sources_and_stalls_none(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(answers=real)
    operator = site.operator(rollout=FAST).start().ready()
    site.create("orders", config=RULES)
    site.settled("orders")
    assert creates_topics(site, "orders") == {True}

    assert operator.stop() == 0
    site.operator(rollout=FAST, properties=OFF).start().ready()
    until(lambda: creates_topics(site, "orders") == {False}, what="its task follows the switch")
    site.settled("orders")
    body = site.until("orders", lambda b: condition(b, "UpdatePending") == "absent", "it waits for nothing")
    assert condition(body, "Stalled") == "False NotStalled: "
    assert condition(body, "ConfigValid").startswith("True")
    for name in ("partitions", "replication.factor"):
        assert f"topic.creation.default.{name}: is ignored" in condition(body, "ConfigValid")

    site.create("items", config=RULES)
    refused = site.until("items", lambda b: condition(b, "Stalled").startswith("True"), "a new one is refused")
    assert "topic.creation.default.partitions: would be ignored" in condition(refused, "Stalled")
    assert site.kubelet.alive(site.key("items")) == []
    site.check()


def test_topic_creation_that_is_switched_off_ends_in_a_source_whose_configuration_is_refused(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(answers=real)
    operator = site.operator(rollout=FAST).start().ready()
    site.create("orders", config=RULES)
    site.settled("orders")
    site.change("orders", config={**RULES, "batch.size": "many"})
    site.until("orders", lambda b: condition(b, "Stalled").startswith("True ConfigInvalid"), "its change is refused")
    assert creates_topics(site, "orders") == {True}

    assert operator.stop() == 0
    site.operator(rollout=FAST, properties=OFF).start().ready()
    until(lambda: creates_topics(site, "orders") == {False}, what="its task follows the switch")
    body = site.until("orders", lambda b: condition(b, "UpdatePending") == "absent", "it waits for nothing")
    assert condition(body, "Stalled").startswith("True ConfigInvalid")

    site.change("orders", config={**RULES, "batch.size": "100"})
    site.settled("orders")
    assert creates_topics(site, "orders") == {False}
    site.check()
