"""Split many envelopes into schema and payload without parsing these parts. `envelope` reads one exactly."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

import msgspec

from penstock_plugins.converters.json.envelope import ENVELOPE_END, envelope_start

__all__ = ["split", "split_same_schema"]

_LAST: Final = itemgetter(-1)
_END: Final = set(ENVELOPE_END)
_KEYS: Final = (b'"schema"', b'"payload"')


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    schema: msgspec.Raw
    payload: msgspec.Raw


_OPEN: Final = msgspec.json.Decoder(_Envelope).decode


def split(messages: Sequence[bytes]) -> tuple[list[bytes], list[bytes]] | None:
    """Return the schema texts and the payloads; None if a message is not an envelope or not JSON."""
    try:
        parts = list(map(_OPEN, messages))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    schemas, payloads = [bytes(part.schema) for part in parts], [bytes(part.payload) for part in parts]
    return None if any(map(_repeats_key, messages, schemas, payloads)) else (schemas, payloads)


def _repeats_key(message: bytes, schema: bytes, payload: bytes) -> bool:
    """Return whether a key of the envelope occurs twice: msgspec did not validate the first value."""
    return any(message.count(key) > 1 + schema.count(key) + payload.count(key) for key in _KEYS)


def split_same_schema(messages: Sequence[bytes]) -> tuple[bytes, list[bytes]] | None:
    """Return the schema text and the payloads of messages that begin with the same text up to their payload; else None.

    The payload is the text between that beginning and the last brace. It is valid JSON only if the message is an envelope;
    reading the payloads detects other messages.
    """
    first = split(messages[:1])
    if not first or not first[0]:
        return None
    schema = first[0][0]
    start = envelope_start(schema)
    payloads = [m[len(start) : -1] for m in messages if m.startswith(start)]
    return (schema, payloads) if len(payloads) == len(messages) and set(map(_LAST, messages)) == _END else None
