"""Java sinks whose tasks are members of the connector's consumer group, and commit their offsets there themselves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from penstock_model.connect.consumer_group import default_consumer_group
from penstock_runtime.java_plugins.java_class import PREFIX

__all__ = ["GroupMembership", "client_prefix", "with_worker_clients"]

_CLIENTS: Final[Mapping[str, str]] = {"org.apache.iceberg.connect.IcebergSinkConnector": "iceberg.kafka."}
"""Prefix of the Kafka client properties, by connector class."""
_CONNECTION: Final = ("security.", "sasl.", "ssl.")


@dataclass(frozen=True, slots=True)
class GroupMembership:
    """Membership of a task in the consumer group of its connector.

    Attributes:
        group: id of the group.
        member: `group.instance.id` of the static member (KIP-345).
        clients: properties of its Kafka client.
    """

    group: str
    member: str
    clients: Mapping[str, str]

    @classmethod
    def of(cls, class_name: str, connector: str, task: int, properties: Mapping[str, str]) -> Self | None:
        """Return the membership of a task of that class; None if its tasks need none."""
        prefix = _CLIENTS.get(class_name)
        if prefix is None:
            return None
        group = properties.get("consumer.override.group.id", default_consumer_group(connector))
        clients = {name.removeprefix(prefix): text for name, text in properties.items() if name.startswith(prefix)}
        return cls(group, f"{group}-{task}", clients)


def client_prefix(reference: str) -> str | None:
    """Return the prefix of the Kafka client properties of a sink that joins its consumer group.

    Args:
        reference: reference to the connector's class, as in a task spec.

    Returns:
        The prefix; None for any other connector.
    """
    return _CLIENTS.get(reference.rpartition("#")[2]) if reference.startswith(PREFIX) else None


def with_worker_clients(
    config: Mapping[str, str], prefix: str, layers: Iterable[tuple[str, Mapping[str, str]]]
) -> dict[str, str]:
    """Return a configuration in which the connector's own clients connect as the worker's do, unless it overrides this.

    In Kafka Connect, the Iceberg sink reads the worker's properties file for this.

    Args:
        config: configuration of the connector.
        prefix: prefix of the properties of its clients.
        layers: client properties of the worker; later layers override earlier ones, as in `WorkerConfig.clients`.
    """
    worker = {
        prefix + name: text
        for _, properties in layers
        for name, text in properties.items()
        if name == "bootstrap.servers" or name.startswith(_CONNECTION)
    }
    return {**worker, **config}
