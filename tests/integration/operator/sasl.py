"""An embedded Kafka that also has a listener which asks for credentials, and rules for who may do what."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from penstock_runtime.embedded import EmbeddedKafka
from penstock_runtime.embedded import settings as embedded

from ..ports import free_port

__all__ = ["PASSWORD", "USER", "SecuredKafka", "sasl_kafka"]

USER = "operator"
PASSWORD = "right-password"


class SecuredKafka(NamedTuple):
    """Its two listeners: one with SASL PLAIN, and one without for whoever sets things up."""

    secured: str
    plain: str


@contextmanager
def sasl_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """A running one; everything is allowed that no ACL forbids."""
    port = free_port()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    lines = []
    for line in embedded._SERVER.splitlines():
        name = line.partition("=")[0]
        if name in ("listeners", "advertised.listeners"):
            line += f",SASL://127.0.0.1:{port}"
        elif name == "listener.security.protocol.map":
            line += ",SASL:SASL_PLAINTEXT"
        lines.append(line)
    lines += [
        "sasl.enabled.mechanisms=PLAIN",
        f'listener.name.sasl.plain.sasl.jaas.config={module} required user_{USER}="{PASSWORD}";',
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:ANONYMOUS",
        "allow.everyone.if.no.acl.found=true",
    ]
    with patch.object(embedded, "_SERVER", "\n".join(lines) + "\n"), EmbeddedKafka(folder / "sasl") as broker:
        yield SecuredKafka(f"127.0.0.1:{port}", broker.bootstrap_servers)
