"""The webhook with a certificate of cert-manager: the operator serves it, and takes over a renewed one while it runs."""

from collections.abc import Callable, Iterator

import pytest

from ..integration.running import until
from .cert_manager import DEFINITIONS, CertManager
from .cluster import Cluster
from .kafka import Kafka
from .place import Place
from .release import Release
from .reviewing import refusal, served, wrong

MOUNTED = 240.0
"""Seconds until a changed Secret is in the pod's folder and has been looked at. The kubelet takes up to 90."""


@pytest.fixture
def definitions(kubernetes: Cluster) -> Iterator[None]:
    """Those of cert-manager, as far as the chart uses them."""
    if kubernetes.api.get("customresourcedefinitions", None, "certificates.cert-manager.io") is not None:
        pytest.skip("cert-manager is installed here, and would act too")
    kubernetes.apply(DEFINITIONS)
    kubernetes.kubectl("wait", "--for=condition=Established", "--filename=-", stdin=DEFINITIONS)
    yield
    kubernetes.kubectl("delete", "--ignore-not-found", "--filename=-", stdin=DEFINITIONS)


@pytest.mark.slow
@pytest.mark.usefixtures("definitions", "release")
@pytest.mark.timeout(900)
def test_a_certificate_of_cert_manager_is_served_and_its_renewal_needs_no_restart(
    kubernetes: Cluster, kafka: Kafka, namespaces: Callable[[str], str]
) -> None:
    place, own = Place(kubernetes, kafka, namespaces("certified")), Release(kubernetes, namespaces("certified-system"))
    topics = {"offset.storage.topic": "certified-offsets", "status.storage.topic": "certified-status"}
    webhook = {"enabled": True, "certManager": {"enabled": True}}
    values = {"crds": {"install": False}, "watchNamespaces": [place.namespace], "webhook": webhook}
    misspelled, manager = wrong(place), CertManager(kubernetes, own.namespace)
    try:
        own.install({"bootstrap.servers": kafka.servers, "group.id": "certified", **topics}, **values)
        assert not refusal(misspelled)  # nothing depends on the certificate

        manager.issue_all()
        until(lambda: served(kubernetes, kafka, own), seconds=MOUNTED, what="the first certificate is served")
        until(lambda: refusal(misspelled), what="the API server asks")

        before = own.operator()
        renewed = manager.issue("penstock-webhook")
        until(lambda: served(kubernetes, kafka, own) == renewed, seconds=MOUNTED, what="the renewed one is served")
        assert refusal(misspelled)
        after = own.operator()
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert [c["restartCount"] for c in after["status"]["containerStatuses"]] == [0]
    finally:
        own.uninstall()
        kubernetes.delete_namespaces(place.namespace, own.namespace)
