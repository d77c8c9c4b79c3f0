"""Set the dates in a Java trust store to 1970, so that builds of an image are equal: `python trust_store.py FILE`.

Debian's package writes the time of its installation into every entry. Java only shows these dates. This module imports
nothing of Penstock: the image runs it before our code is there.
"""

import hashlib
import struct
import sys
from pathlib import Path
from typing import Final

__all__ = ["without_dates"]

_MAGIC: Final = 0xFEEDFEED
_CERTIFICATE: Final = 2
_DATE_BYTES: Final = 8
_DIGEST_BYTES: Final = 20


def without_dates(store: bytes, password: str = "changeit") -> bytes:  # noqa: S107 (everybody's)
    """Return a trust store in the format JKS with other dates.

    Raises:
        ValueError: it has another format, another version, or entries that are not certificates.
    """
    magic, version, count = struct.unpack_from(">III", store)
    if (magic, version) != (_MAGIC, 2):
        raise ValueError("the trust store is not in version 2 of JKS")
    content = bytearray(store[:-_DIGEST_BYTES])
    place = struct.calcsize(">III")
    for _ in range(count):
        (kind,) = struct.unpack_from(">I", content, place)
        if kind != _CERTIFICATE:
            raise ValueError("the trust store has an entry that is not a certificate")
        place = _after(content, place + 4, ">H")  # the alias
        content[place : place + _DATE_BYTES] = bytes(_DATE_BYTES)
        place = _after(content, place + _DATE_BYTES, ">H")  # the type of the certificate
        place = _after(content, place, ">I")
    if place != len(content):
        raise ValueError("the trust store has something after its last entry")
    salted = password.encode("utf-16-be") + b"Mighty Aphrodite" + content
    return bytes(content) + hashlib.sha1(salted).digest()  # noqa: S324 (the format)


def _after(content: bytearray, place: int, length: str) -> int:
    """Return the place after a field that begins with its length."""
    return place + struct.calcsize(length) + int(struct.unpack_from(length, content, place)[0])


if __name__ == "__main__":
    _file = Path(sys.argv[1])
    _file.write_bytes(without_dates(_file.read_bytes()))
