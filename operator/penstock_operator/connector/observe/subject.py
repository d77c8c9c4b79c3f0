"""Connector that is being observed, and the context for that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plan_hashes import latest_request
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.context import Context
from penstock_operator.key import Key

__all__ = ["Subject"]


@dataclass(frozen=True, slots=True)
class Subject:
    """Connector at one moment.

    Attributes:
        connector: the resource, as far as it can be read.
        document: the resource as returned by the API server.
        context: the API server, Kafka and the release.
        cached: cache of this Connector.
        key: its namespace and name.
        uid: its uid.
        persisted: its state, read from its status.
        reconfiguration: the last request of its plugin for a task reconfiguration.
        now: seconds since 1970.
    """

    connector: Connector
    document: Mapping[str, Any]
    context: Context
    cached: CachedConnector
    key: Key
    uid: str
    persisted: PersistedState
    reconfiguration: str
    now: float

    @classmethod
    def of(
        cls, connector: Connector, document: Mapping[str, Any], context: Context, cached: CachedConnector
    ) -> "Subject":
        """Return the Connector as it is now."""
        own = connector.metadata
        key, persisted = Key(own.namespace or "", own.name), PersistedState.of(document.get("status"))
        reports = context.status.reports(connector.connect_name).values()
        mine = (r for r in reports if r.connector_uid == own.uid)
        reconfiguration = latest_request(persisted.reconfiguration, mine, is_refused=bool(persisted.refused))
        return cls(
            connector, document, context, cached, key, own.uid or "", persisted, reconfiguration, context.clock()
        )
