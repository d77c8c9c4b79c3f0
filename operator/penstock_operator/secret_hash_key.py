"""Key with which the operator hashes the values of Secrets. The operator creates one per release, once.

The chart cannot create it: each sync of a GitOps tool would render another key, and so restart every task.
"""

import base64
import secrets
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_operator.errors import Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import SECRET
from penstock_operator.settings import Settings

__all__ = ["secret_hash_key", "secret_name"]

_LEAST: Final = 16
_BYTES: Final = 32
_FIELD: Final = "key"


def secret_name(settings: Settings) -> str:
    """Return the name of the Secret with the key, in the release's namespace."""
    return f"{settings.release.name}-secret-hash-key"


def secret_hash_key(path: Path, settings: Settings, kube: Kube) -> bytes:
    """Read the key from the mounted file, or else from the release's Secret, which is created if it does not exist.

    Raises:
        ConfigError: the key is too short, or cannot be read.
        OperatorError: the API server refuses or is unavailable.
    """
    if not settings.secrets.watch:
        return b""  # Secrets are not read, so no value is hashed
    if path.exists():
        return _checked(_read(path), str(path))
    name, namespace = secret_name(settings), settings.release.namespace
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "penstock", "penstock.dev/operator": settings.release.label},
        },
        "immutable": True,
        "data": {_FIELD: base64.b64encode(secrets.token_bytes(_BYTES)).decode()},
    }
    found = kube.get(SECRET, namespace, name) or kube.create(made) or kube.get(SECRET, namespace, name)
    if found is None:
        raise Unavailable(f"Secret {namespace}/{name}, the key of this release, is deleted repeatedly")
    where = f"Secret {namespace}/{name}"
    return _checked(base64.b64decode((found.get("data") or {}).get(_FIELD, "")), where)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise ConfigError(Problem(str(path), f"the key of this release cannot be read: {e.strerror}")) from e


def _checked(key: bytes, where: str) -> bytes:
    if len(key) < _LEAST:
        raise ConfigError(
            Problem(where, f"the key of this release has {len(key)} bytes; it must have at least {_LEAST}")
        )
    return key
