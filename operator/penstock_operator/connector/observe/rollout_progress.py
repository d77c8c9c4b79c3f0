"""Read the rollout progress of all Connectors from the API server, when the operator starts."""

from collections.abc import Mapping
from typing import Any

from penstock_operator.connector.model.plan_hashes import release_hash
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.rollout.progress import Progress, progress_of_status
from penstock_operator.settings import Settings

__all__ = ["progress_of_all"]


def progress_of_all(kube: Kube, settings: Settings, now: float) -> list[tuple[Key, Progress | None]]:
    """Return the progress of each Connector, according to its status.

    Args:
        kube: the API server, which gets one list request for each watched namespace.
        settings: settings of the release.
        now: seconds since 1970.

    Raises:
        OperatorError: a request to the API server failed.
    """
    wanted = release_hash(settings)
    return [
        (Key(body["metadata"]["namespace"], body["metadata"]["name"]), _progress(body, wanted, now, settings))
        for namespace in settings.watch_namespaces or (None,)
        for body in kube.list(CONNECTOR, namespace)
    ]


def _progress(body: Mapping[str, Any], wanted: str, now: float, settings: Settings) -> Progress | None:
    try:
        return progress_of_status(body, wanted, now, settings.rollout)
    except (ValueError, TypeError, AttributeError):  # a status that was not written by Penstock
        return Progress()
