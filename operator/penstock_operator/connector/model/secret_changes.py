"""Decide whether a change of a Secret restarts a connector's tasks (`spec.onSecretChange`). Pure."""

from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.secrets import Secrets

__all__ = ["secrets_hash"]


def secrets_hash(connector: Connector, secrets: Secrets, last: Plan | None, restarted: str = "") -> str:
    """Return the hash of the Secrets with which a connector's tasks should run; empty: Secrets are not read.

    With `onSecretChange: Ignore`, or if the release does not read Secrets, it is the hash of the last plan, so that neither
    a changed Secret nor a change of either setting restarts tasks. The same applies if no Secret is referenced, so that a
    new key of the release restarts no tasks. A restart of the connector uses the current values of the Secrets.
    """
    is_seen = bool(secrets.names) and (secrets.hash is not None or bool(secrets.missing))
    follows = connector.spec.on_secret_change == "Restart" and is_seen  # noqa: S105 (no password)
    if follows or last is None or last.restarted != restarted:
        return secrets.hash or ""
    return last.secrets
