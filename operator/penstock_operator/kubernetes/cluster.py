"""Which Kubernetes cluster this is, as claims in Kafka say it: releases of the same name in two clusters are two."""

import logging
import time
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_operator.errors import OperatorError, Refused, Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import NAMESPACE
from penstock_operator.settings import Settings

__all__ = ["in_this_cluster"]

log = logging.getLogger(__name__)

_NAMESPACE: Final = "kube-system"
_REMEDY: Final = (
    f"set clusterId of the release, or grant `get` on namespace {_NAMESPACE} (the chart does, with rbac.create)"
)
_PATIENCE: Final = 300.0  # seconds
_PAUSE: Final = 1.0


def in_this_cluster(settings: Settings, kube: Kube) -> Settings:
    """The settings with the cluster in them: as they name it, else by the uid of namespace `kube-system`.

    Asks again each second while the API server is away, for five minutes.

    Raises:
        ConfigError: they do not name it, and the namespace may not be read.
        OperatorError: the API server is away for longer.
    """
    if settings.release.cluster:
        return settings
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            found = kube.get(NAMESPACE, None, _NAMESPACE)
            break
        except Refused as e:
            raise ConfigError(Problem("release.cluster", f"is not known: {e}; {_REMEDY}")) from e
        except OperatorError as e:
            if time.monotonic() > deadline:
                raise
            log.warning("The operator cannot begin yet: %s", e)
            time.sleep(_PAUSE)
    if found is None:
        raise Unavailable(
            f"There is no namespace {_NAMESPACE}, whose uid names the cluster; set clusterId of the release"
        )
    return settings.in_cluster(str(found["metadata"]["uid"]))
