"""Determine the Secrets that a connector refers to and whether they exist, and hash their values. Pure.

The operator never resolves a reference: `plan_hashes` compares keyed hashes of the values, with the key of
`secret_hash_key`.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock_model.connect.variables import SECRET_REFERENCE

__all__ = ["Reference", "Secrets", "examine", "references", "too_many", "with_namespace"]

_LENGTH: Final = 16
_KEY_LENGTH: Final = 8
_MOST: Final = 256
"""Maximum number of Secrets: each requires a request in each run of the Connector, and a volume in its pods."""


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """Reference `${secret:<name>:<key>}`, and the property that first contains it."""

    name: str
    key: str
    property: str
    worker: bool = False

    def __str__(self) -> str:
        return f"${{secret:{self.name}:{self.key}}}"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Referenced Secrets, as far as they are known.

    Attributes:
        names: names of all Secrets, which pods mount.
        missing: message for each reference without a value.
        worker_missing: whether a reference of the worker configuration has no value.
        hash: hash of the values, keyed and truncated; None: a value is missing, or Secrets are not read.
        key: id of the key of the hash: only hashes with the same key can be compared.
    """

    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    worker_missing: bool = False
    hash: str | None = None
    key: str = ""


def references(config: Mapping[str, str], worker: Mapping[str, str]) -> tuple[Reference, ...]:
    """Return every reference to a Secret once."""
    by_name: dict[tuple[str, str], Reference] = {}
    for properties, is_worker in ((config, False), (worker, True)):
        for name, text in properties.items():
            for match in SECRET_REFERENCE.finditer(text):
                if "/" not in match[1]:  # `with_namespace` reports it; no Secret has such a name
                    by_name.setdefault((match[1], match[2]), Reference(match[1], match[2], name, is_worker))
    return tuple(sorted(by_name.values()))


def with_namespace(config: Mapping[str, str]) -> list[str]:
    """Return a problem for each reference that contains a namespace, as Strimzi's references do."""
    return [
        f"config.{name}: cannot resolve {match[0]}: it contains a namespace; write "
        f"${{secret:{match[1].rpartition('/')[2]}:{match[2]}}}, and create the Secret in the Connector's namespace"
        for name, text in config.items()
        for match in SECRET_REFERENCE.finditer(text)
        if "/" in match[1]
    ]


def too_many(config: Mapping[str, str]) -> list[str]:
    """Return a problem if a configuration refers to too many Secrets, otherwise an empty list."""
    count = len({r.name for r in references(config, {})})
    if count <= _MOST:
        return []
    return [f"config refers to {count} Secrets, but the maximum is {_MOST}; put more keys into fewer Secrets"]


def examine(
    references: Iterable[Reference], documents: Mapping[str, Mapping[str, Any] | None] | None, key: bytes
) -> Secrets:
    """Return which of these references have values, and the hash of the values.

    Args:
        references: references to Secrets.
        documents: the Secrets by name, None for one that does not exist; None: Secrets are not read.
        key: key of the release for the hash.
    """
    references = tuple(references)
    names = tuple(sorted({r.name for r in references}))
    if documents is None:
        return Secrets(names)
    missing: list[str] = []
    worker_missing = False
    values = hmac.new(key, digestmod=hashlib.sha256)
    for reference in references:
        secret = documents.get(reference.name)
        data = (secret or {}).get("data") or {}
        if secret is None or reference.key not in data:
            what = f"Secret {reference.name}" + ("" if secret is None else f" has no key {reference.key}")
            where = "the worker configuration" if reference.worker else "spec.config"
            missing.append(
                f"{what}{' is missing' if secret is None else ''} ({reference.property} of {where} refers to it)"
            )
            worker_missing = worker_missing or reference.worker
            continue
        value = base64.b64decode(data[reference.key])
        for part in (reference.name.encode(), reference.key.encode(), value):
            values.update(len(part).to_bytes(8, "big") + part)
    key_id = hmac.new(key, b"key", hashlib.sha256).hexdigest()[:_KEY_LENGTH]
    return Secrets(names, tuple(missing), worker_missing, None if missing else values.hexdigest()[:_LENGTH], key_id)
