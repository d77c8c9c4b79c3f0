"""A Connector that does not own its name in Kafka does nothing to whoever does: not while it lives, not when it goes."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock_model.contracts.job import Action
from penstock_operator.names import FINALIZER

from .world.site import Site, condition

pytestmark = pytest.mark.slow

RESET = {"offsets": "Reset"}


def is_refused(body: dict[str, Any], reason: str = "NameConflict") -> bool:
    return condition(body, "Stalled").startswith(f"True {reason}")


class Owner:
    """A Connector that owns the name `moved`, and what must stay as it is."""

    def __init__(self, site: Site, **spec: Any) -> None:
        self.site = site
        site.create("orders", connectName="moved", **spec)
        site.settled("orders")
        site.kubelet.records.until(lambda: site.kubelet.records.claim("moved"), "a claim")
        self.pods = self._pods()
        self.records = dict(site.kubelet.records.latest)

    def _pods(self) -> list[str]:
        return [p["metadata"]["uid"] for p in self.site.kubelet.alive(self.site.key("orders"))]

    def is_unharmed(self) -> None:
        """Everything of it is there, and nothing was reset."""
        records = self.site.kubelet.records
        assert self._pods() == self.pods
        for key in records.of("moved"):
            assert records.latest.get(key) == self.records.get(key)
        assert records.of("moved")
        assert not [t for t in records.tombstones if b"moved" in t]
        assert Action.RESET_OFFSETS not in [action for _, action in self.site.kubelet.jobs]


def hold(site: Site, name: str, **spec: Any) -> None:
    """Create a Connector that asks for another's name, with the finalizer that an older release had put on it."""
    manifest = site.manifest(name, connectName="moved", deletion=RESET, **spec)
    manifest["metadata"]["finalizers"] = [FINALIZER]
    site.api.create(manifest)


def jobs_of(site: Site, name: str) -> list[str]:
    return [pod for pod, _ in site.kubelet.jobs if pod.startswith(site.key(name) + "-")]


def test_a_finalizer_that_an_older_release_left_on_a_refused_connector_goes(site: Site) -> None:
    site.operator().start()
    owner = Owner(site)
    hold(site, "copies")
    site.until("copies", is_refused, "refused")
    site.until("copies", lambda b: not b["metadata"].get("finalizers"), "without a finalizer")
    site.delete("copies")
    site.gone("copies")
    assert jobs_of(site, "copies") == []
    owner.is_unharmed()
    site.check()


def test_an_operator_that_starts_again_lets_a_refused_connector_go_before_it_has_seen_the_owner(site: Site) -> None:
    operator = site.operator().start()
    owner = Owner(site)
    names = [f"a-copy-{n}" for n in range(12)]
    for name in names:
        site.create(name, connectName="moved", deletion=RESET)
    for name in names:
        site.until(name, is_refused, "refused")
    operator.kill()
    operator.ended()
    for name in names[:6]:
        site.delete(name)
    hold(site, "held")
    site.delete("held")
    operator.start().ready()
    for name in names[6:]:
        site.delete(name)
    for name in [*names, "held"]:
        site.gone(name)
        assert jobs_of(site, name) == []
    owner.is_unharmed()
    site.check()


def owner_whose_reset_is_held(site: Site) -> None:
    """An owner of the name that is being deleted, with the short pod that resets its offsets held."""
    Owner(site, deletion=RESET)
    site.until("orders", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    site.kubelet.hold(lambda pod: "reset" in pod["metadata"]["name"])
    site.delete("orders")
    site.kubelet.pods.until(lambda all_: any("orders-reset" in k for k in all_), "the short pod that resets")


def test_a_name_is_taken_over_from_an_owner_that_is_being_deleted_only_once_it_is_gone(site: Site) -> None:
    site.operator().start()
    owner_whose_reset_is_held(site)
    site.create("copies", connectName="moved", deletion=RESET)
    refused = site.until("copies", is_refused, "refused")
    assert not refused["metadata"].get("finalizers")
    site.create("third", connectName="moved", deletion=RESET)
    site.until("third", is_refused, "refused")
    site.delete("third")
    site.gone("third")
    site.kubelet.let_go()
    site.gone("orders")
    site.settled("copies")
    site.until("copies", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    resets = [pod for pod, action in site.kubelet.jobs if action is Action.RESET_OFFSETS]
    assert [pod.startswith(f"{site.key('orders')}-reset") for pod in resets] == [True]
    site.delete("copies")
    site.gone("copies")
    site.check()


def test_the_name_of_another_namespaces_connector_cannot_be_squatted(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    two = site.namespaces[1]
    site.operator().start()
    name = f"{two}.orders"
    site.create("squatter", connectName=name, deletion=RESET)
    refused = site.until("squatter", lambda b: is_refused(b, "NameReserved"), "refused")
    assert f"belongs to namespace {two}" in condition(refused, "Stalled")
    site.create("orders", namespace=two)
    site.settled(f"{two}/orders")
    site.kubelet.records.until(lambda: site.kubelet.records.claim(name), "a claim")
    site.delete("squatter")
    site.gone("squatter")
    assert jobs_of(site, "squatter") == []
    assert site.kubelet.records.tombstones == []
    claim = site.kubelet.records.claim(name)
    assert claim is not None
    assert (claim.namespace, claim.name) == (two, "orders")
    site.check()


def test_the_group_of_another_namespaces_sink_cannot_be_had_through_a_variable(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    meta = {"name": "db", "namespace": site.namespace}
    group = f"connect-{site.namespaces[1]}.orders"
    site.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"group": group}})
    site.operator().start()
    config = {"file": "/data/a", "topics": "orders", "consumer.override.group.id": "${secret:db:group}"}
    site.create("squatter", config=config, deletion=RESET, **{"class": "FileStreamSink"})
    refused = site.until("squatter", lambda b: is_refused(b, "NameReserved"), "refused")
    assert not refused["metadata"].get("finalizers")
    assert group not in str(refused["status"])
    site.delete("squatter")
    site.gone("squatter")
    assert jobs_of(site, "squatter") == []
    site.check()
