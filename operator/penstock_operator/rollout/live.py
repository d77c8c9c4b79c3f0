"""What all Connectors take of a release's limit when an operator begins, from the API server."""

from collections.abc import Mapping
from typing import Any

from penstock_operator.connector.plans import release
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.queue.key import Key
from penstock_operator.rollout.share import Share, of_status
from penstock_operator.settings import Settings

__all__ = ["all_shares"]


def all_shares(kube: Kube, settings: Settings, now: float) -> list[tuple[Key, Share | None]]:
    """Each Connector's share, by its status.

    Args:
        kube: the API server; one list for each watched namespace.
        settings: of the release.
        now: seconds since 1970.

    Raises:
        OperatorError: the API server does not answer as it should.
    """
    wanted = release(settings)
    return [
        (Key(body["metadata"]["namespace"], body["metadata"]["name"]), _share(body, wanted, now, settings))
        for namespace in settings.watch_namespaces or (None,)
        for body in kube.list(CONNECTOR, namespace)
    ]


def _share(body: Mapping[str, Any], wanted: str, now: float, settings: Settings) -> Share | None:
    try:
        return of_status(body, wanted, now, settings.rollout)
    except (ValueError, TypeError, AttributeError):  # a status that none of ours has written
        return Share()
