"""Releases with webhooks in one cluster: each reviews what it watches, with a certificate of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from ..integration.running import until
from .cluster import Cluster
from .kafka import Kafka
from .place import Connector, Place
from .release import Release
from .reviewing import authority, refusal, reviews, served, trusted, wrong

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Team:
    """A release of a team and the namespace that it watches."""

    release: Release
    wrong: Connector

    def is_asked(self) -> bool:
        """Whether an invalid Connector of the team is refused."""
        return bool(refusal(self.wrong))


Install = Callable[[str], Team]


@pytest.fixture
def install(kubernetes: Cluster, kafka: Kafka, release: Release, namespaces: Callable[[str], str]) -> Iterator[Install]:
    """Install a release for one namespace, under the same name as the others."""
    with ExitStack() as ends:

        def made(team: str) -> Team:
            place = Place(kubernetes, kafka, namespaces(team))
            own = Release(kubernetes, namespaces(f"{team}-system"))
            ends.callback(kubernetes.delete_namespaces, place.namespace, own.namespace)
            ends.callback(own.uninstall)
            topics = {"offset.storage.topic": f"{team}-offsets", "status.storage.topic": f"{team}-status"}
            worker = {"bootstrap.servers": kafka.servers, "group.id": team, **topics}
            values = {"crds": {"install": False}, "watchNamespaces": [place.namespace], "webhook": {"enabled": True}}
            own.install(worker, **values)
            found = Team(own, wrong(place))
            until(found.is_asked, what=f"the webhook of {team} refuses")
            return found

        yield made


def renew(kubernetes: Cluster, kafka: Kafka, own: Team, other: Team) -> None:
    """Have an operator make another authority and certificate, which concerns no other release."""
    before, others = trusted(kubernetes, own.release), trusted(kubernetes, other.release)
    kubernetes.kubectl("delete", "secret", authority(own.release), "--namespace", own.release.namespace)
    until(lambda: trusted(kubernetes, own.release) != before, what="another authority is trusted")
    until(lambda: served(kubernetes, kafka, own.release), what="the operator has a certificate of that authority")
    until(own.is_asked, what="the API server asks again")
    assert trusted(kubernetes, other.release) == others
    assert other.is_asked()


def test_each_release_reviews_its_own_namespace_with_its_own_certificate(
    kubernetes: Cluster, kafka: Kafka, install: Install
) -> None:
    shop, stock = install("shop"), install("stock")

    before = reviews(kubernetes, stock.release)
    asked = reviews(kubernetes, shop.release)
    assert shop.is_asked()
    assert reviews(kubernetes, shop.release) > asked
    assert reviews(kubernetes, stock.release) == before

    renew(kubernetes, kafka, shop, stock)
    renew(kubernetes, kafka, stock, shop)

    shop.release.uninstall()
    assert not shop.is_asked()
    assert stock.is_asked()
    assert trusted(kubernetes, stock.release)


def test_a_release_of_all_namespaces_reviews_those_of_another_release_too(
    kubernetes: Cluster, release: Release, place: Place, install: Install
) -> None:
    audit = install("audit")
    release.enable_webhook(enabled=True)
    try:
        elsewhere = wrong(place)
        until(lambda: refusal(elsewhere), what="the webhook of all namespaces refuses")
        before = reviews(kubernetes, release), reviews(kubernetes, audit.release)
        assert audit.is_asked()
        assert reviews(kubernetes, release) > before[0]
        assert reviews(kubernetes, audit.release) > before[1]
        audit.release.uninstall()
        assert audit.is_asked()
    finally:
        release.enable_webhook(enabled=False)
