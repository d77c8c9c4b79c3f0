"""Which Kubernetes cluster this is, as claims in Kafka say it: releases of the same name in two clusters are two."""

from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_operator.errors import Refused, Unavailable
from penstock_operator.kinds import NAMESPACE
from penstock_operator.kube import Kube
from penstock_operator.settings import Settings

__all__ = ["in_this_cluster"]

_NAMESPACE: Final = "kube-system"


def in_this_cluster(settings: Settings, kube: Kube) -> Settings:
    """The settings with the cluster in them: as they name it, else by the uid of namespace `kube-system`.

    Raises:
        ConfigError: they do not name it, and the namespace may not be read.
        OperatorError: the API server is away.
    """
    if settings.release.cluster:
        return settings
    try:
        found = kube.get(NAMESPACE, None, _NAMESPACE)
    except Refused as e:
        remedy = (
            f"set clusterId of the release, or grant `get` on namespace {_NAMESPACE} (the chart does, with rbac.create)"
        )
        raise ConfigError(Problem("release.cluster", f"is not known: {e}; {remedy}")) from e
    if found is None:
        raise Unavailable(
            f"There is no namespace {_NAMESPACE}, whose uid names the cluster; set clusterId of the release"
        )
    return settings.in_cluster(str(found["metadata"]["uid"]))
