"""Requests to change offsets, in the form in which offsets are listed (KIP-875). Pure."""

import json
from typing import Any, Final

from penstock.errors import ConfigError, DataError, Problem
from penstock.offsets import SourcePartition

__all__ = ["offset_changes"]

_FORM: Final = '{"offsets": [{"partition": {...}, "offset": {...}}]}'


def offset_changes(document: str, where: str) -> dict[SourcePartition, Any]:
    """Return the new offset of each partition in a JSON document; None removes it.

    Args:
        document: the JSON document.
        where: name of its file or field, for messages.

    Raises:
        ConfigError: the document does not have the expected form.
    """
    try:
        read = json.loads(document)
    except (ValueError, RecursionError) as e:
        raise ConfigError(Problem(where, f"is not JSON: {e}")) from None
    entries = read.get("offsets") if isinstance(read, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(Problem(where, f"must have the form {_FORM}"))
    changes: dict[SourcePartition, Any] = {}
    for n, entry in enumerate(entries):
        partition, offset = (entry.get("partition"), entry.get("offset")) if isinstance(entry, dict) else (None, None)
        if not isinstance(partition, dict) or "offset" not in entry or not isinstance(offset, dict | None):
            raise ConfigError(
                Problem(
                    f"{where}: offsets[{n}]", 'must be {"partition": {...}, "offset": {...}}; the offset can be null'
                )
            )
        try:
            changes[SourcePartition(partition)] = offset
        except DataError as e:
            raise ConfigError(Problem(f"{where}: offsets[{n}]", str(e))) from None
    return changes
