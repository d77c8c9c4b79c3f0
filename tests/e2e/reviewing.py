"""The webhook of a release as seen from outside: what it refuses, how often it was asked, and whom the API server trusts."""

import base64
import re
from typing import Final

from .cluster import Cluster, Failed
from .kafka import Kafka
from .place import Connector, Place
from .release import Release

__all__ = ["authority", "refusal", "reviews", "served", "trusted", "wrong"]

_METRICS: Final = 8080
_SERVED: Final = """
import socket, ssl, sys
host, trusted = sys.argv[1:]
context = ssl.create_default_context(cadata=trusted)
with socket.create_connection((host, 443), timeout=5) as plain, context.wrap_socket(plain, server_hostname=host) as own:
    print(ssl.DER_cert_to_PEM_cert(own.getpeercert(True)))
"""


def wrong(place: Place) -> Connector:
    """A Connector with a property that is misspelled, not applied yet."""
    return place.unapplied("wrong", "Datagen", {"topic": f"{place.namespace}.wrong", "rate": "fast", "topik": "x"})


def refusal(connector: Connector) -> str:
    """What kubectl prints if the object is refused; empty: it was not."""
    try:
        connector.kubectl("apply", "--dry-run=server", "--filename=-", stdin=connector.manifest())
    except Failed as failed:
        return str(failed)
    return ""


def reviews(cluster: Cluster, release: Release) -> int:
    """How many reviews the present operator of a release has made."""
    own = release.operator()["metadata"]
    path = f"/api/v1/namespaces/{own['namespace']}/pods/{own['name']}:{_METRICS}/proxy/metrics"
    counts = re.findall(
        r"^penstock_operator_reviews_total\{.*\} ([0-9.e+]+)$", cluster.kubectl("get", "--raw", path), re.MULTILINE
    )
    assert counts
    return int(sum(map(float, counts)))


def trusted(cluster: Cluster, release: Release) -> str:
    """The certificates that the API server trusts for the webhook of a release, as PEM; empty: none yet."""
    found = cluster.api.get("validatingwebhookconfigurations", None, release.webhook_configuration)
    assert found is not None, f"there is no {release.webhook_configuration}"
    (bundle,) = {each["clientConfig"].get("caBundle", "") for each in found["webhooks"]}
    return base64.b64decode(bundle).decode()


def served(cluster: Cluster, kafka: Kafka, release: Release) -> str:
    """The certificate of the webhook as PEM, if it is one that the API server trusts; empty: there is none."""
    host, pem = f"{release.name}-webhook.{release.namespace}.svc", trusted(cluster, release)
    try:
        return cluster.python(kafka.namespace, "toolbox", _SERVED, host, pem).strip() if pem else ""
    except Failed:
        return ""


def authority(release: Release) -> str:
    """Name of the Secret with the authority that its operator makes."""
    return f"{release.name}-webhook-authority"
