"""A real Kafka with rules for who may do what, and a listener that asks for credentials.

with secured_kafka(folder, {"alice": "wonderland"}) as kafka:
    kafka.allow("alice", ResourceType.TOPIC, "orders", AclOperation.DESCRIBE)
    task = lab.start(..., worker=kafka.worker("alice"))
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from penstock_cli.embedded import EmbeddedKafka

from .ports import free_port

__all__ = ["AclOperation", "ResourceType", "SecuredKafka", "secured_kafka"]

_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True)
class SecuredKafka:
    """Its two listeners: one with SASL PLAIN, and one without for whoever sets things up, who may do everything."""

    secured: str
    plain: str
    passwords: Mapping[str, str]

    def worker(self, user: str, password: str | None = None) -> dict[str, str]:
        """The worker properties with which a user comes."""
        own = self.passwords[user] if password is None else password
        jaas = f'{_MODULE} required username="{user}" password="{own}";'
        return {
            "bootstrap.servers": self.secured,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas,
        }

    def allow(self, user: str, kind: Any, name: str, *operations: Any, prefixed: bool = False) -> None:
        """Let a user do this with what has that name (`*`: all of the kind), or a name that begins so."""
        pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
        bindings = [
            AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
            for operation in operations
        ]
        client = AdminClient({"bootstrap.servers": self.plain})  # which must outlive its answers
        for future in client.create_acls(bindings).values():
            future.result(30)


@contextmanager
def secured_kafka(
    folder: Path, passwords: Mapping[str, str], *, without_acls: bool = False, **settings: str
) -> Iterator[SecuredKafka]:
    """A running one.

    Args:
        folder: its data folder.
        passwords: passwords of its users.
        without_acls: what no ACL is about is allowed to everybody.
        settings: more of the broker's; names have underscores for dots.
    """
    port = free_port()
    users = " ".join(f'user_{name}="{password}"' for name, password in passwords.items())
    listeners = f"PLAINTEXT://127.0.0.1:{{ports.broker}},SASL://127.0.0.1:{port}"
    given = {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{{ports.controller}}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f"{_MODULE} required {users};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": str(without_acls).lower(),
        **{name.replace("_", "."): text for name, text in settings.items()},
    }
    with EmbeddedKafka(folder, settings=given) as broker:
        yield SecuredKafka(f"127.0.0.1:{port}", broker.bootstrap_servers, dict(passwords))
