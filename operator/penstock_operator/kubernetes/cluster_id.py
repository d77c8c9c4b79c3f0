"""Find the id of this Kubernetes cluster, which distinguishes releases of the same name in Kafka."""

import logging
import time
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_operator.errors import OperatorError, Refused, Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import NAMESPACE
from penstock_operator.settings import Settings

__all__ = ["with_cluster_id"]

log = logging.getLogger(__name__)

_NAMESPACE: Final = "kube-system"
_REMEDY: Final = (
    f"set clusterId of the release, or grant `get` on namespace {_NAMESPACE} (the chart does, with rbac.create)"
)
_TIMEOUT: Final = 300.0  # seconds
_PAUSE: Final = 1.0


def with_cluster_id(settings: Settings, kube: Kube) -> Settings:
    """Return the settings with the cluster's id: `clusterId` if it is set, otherwise the uid of namespace `kube-system`.

    While the API server does not respond, the request is repeated every second, for five minutes.

    Raises:
        ConfigError: `clusterId` is not set, and the operator may not read the namespace.
        OperatorError: the API server did not respond for five minutes.
    """
    if settings.release.cluster:
        return settings
    deadline = time.monotonic() + _TIMEOUT
    while True:
        try:
            namespace = kube.get(NAMESPACE, None, _NAMESPACE)
            break
        except Refused as e:
            raise ConfigError(Problem("release.cluster", f"is unknown: {e}; {_REMEDY}")) from e
        except OperatorError as e:
            if time.monotonic() > deadline:
                raise
            log.warning("The operator cannot start yet: %s", e)
            time.sleep(_PAUSE)
    if namespace is None:
        raise Unavailable(
            f"Namespace {_NAMESPACE}, whose uid identifies the cluster, does not exist; set clusterId of the release"
        )
    return settings.in_cluster(str(namespace["metadata"]["uid"]))
