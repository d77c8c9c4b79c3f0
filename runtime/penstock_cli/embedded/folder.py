"""Data folder of an embedded Kafka.

kafka.json         cluster id and ports, kept so that clients find the broker again after a restart
topics/            Kafka's own data
kafka.log          the broker's log, at most two files of 10 MB
tmp/               Java's temporary files; emptied at every start
*.lock             see `lock`
"""

import json
import logging
import secrets
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.errors import ConnectError
from penstock_cli.embedded.formatting import new_id
from penstock_cli.embedded.settings import Ports

__all__ = ["Identity", "choose_ports", "read_identity", "require_free", "write_identity"]

_logger = logging.getLogger(__name__)

# Below the range from which Linux takes the local ports of clients (32768 and up): a port in that range may be taken
# by any passing connection while the broker is down.
_LOWEST, _HIGHEST = 20000, 32767


@dataclass(frozen=True, slots=True)
class Identity:
    """Persistent identity of a data folder's broker. A port is 0 before the first start."""

    cluster_id: str
    broker_port: int = 0
    controller_port: int = 0


def read_identity(folder: Path) -> Identity:
    """Read the identity of this folder's broker, or create a new one."""
    path = folder / "kafka.json"
    try:
        return Identity(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Identity(new_id())
    except (ValueError, TypeError) as error:
        raise ConnectError(f"cannot read {path}: {error}; restore it or choose another data folder") from error


def write_identity(folder: Path, identity: Identity) -> None:
    """Save the identity atomically."""
    new = folder / "kafka.json.new"
    new.write_text(json.dumps(asdict(identity), indent=2) + "\n", encoding="utf-8")
    new.replace(folder / "kafka.json")


def choose_ports(identity: Identity, wanted: int) -> Ports:
    """Choose the ports to listen on: the wanted port, else those of the last start, else new ones.

    Args:
        identity: identity with the ports of the last start.
        wanted: port for clients, or 0 for any.

    Raises:
        ConnectError: the wanted port is taken.
    """
    if wanted:
        require_free(wanted)
    broker = wanted or identity.broker_port
    if broker and not wanted and not _is_free(broker):
        chosen = _free_port(broker)
        _logger.warning("Port %d of the last start is taken; the embedded Kafka uses port %d instead", broker, chosen)
        broker = chosen
    broker = broker or _free_port()
    controller = identity.controller_port
    if not controller or controller == broker or not _is_free(controller):
        controller = _free_port(broker)
    return Ports(broker, controller)


def require_free(port: int) -> None:
    """Raise ConnectError if a port that the user chose is in use."""
    if not _is_free(port):
        raise ConnectError(
            f"cannot use port {port} on 127.0.0.1: another program uses it; choose another port, or 0 for any free port"
        )


def _free_port(taken: int = 0) -> int:
    for _ in range(1000):
        port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST + 1)
        if port != taken and _is_free(port):
            return port
    raise ConnectError(
        f"cannot start Kafka: no port between {_LOWEST} and {_HIGHEST} is free on 127.0.0.1; stop programs that use them"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does: closing connections do not block it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
