"""Look up the Secrets that a Connector refers to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock_operator.connector.model import secrets
from penstock_operator.connector.model.secrets import Secrets
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.kubernetes.kinds import SECRET

__all__ = ["SecretValues", "look_up_secrets"]


class SecretValues(NamedTuple):
    """Secrets that a Connector refers to: all of them, and those in its own configuration, without the worker's."""

    every: Secrets
    own: Secrets


async def look_up_secrets(subject: Subject) -> SecretValues:
    """Look up the Secrets of a Connector, if the release reads Secrets.

    Raises:
        OperatorError: a request to the API server failed.
    """
    context, config = subject.context, subject.connector.spec.config
    references = secrets.references(config, context.settings.worker)
    by_name: dict[str, Mapping[str, Any] | None] | None = None
    if context.settings.secrets.watch and not secrets.too_many(config):
        by_name = {
            name: await context.run(context.kube.get, SECRET, subject.key.namespace, name)
            for name in sorted({r.name for r in references})
        }
    own = secrets.examine((r for r in references if not r.worker), by_name, context.hmac_key)
    return SecretValues(secrets.examine(references, by_name, context.hmac_key), own)
