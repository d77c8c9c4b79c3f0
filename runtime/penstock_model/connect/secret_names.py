"""Names and texts that indicate a secret, for properties and options whose type is unknown. Pure.

The console, the import of connectors and the warnings about JVM options share these patterns. A false match is preferable
to a secret that is shown or ends up in Git. All repeats are bounded, because the operator applies the patterns on its event
loop.
"""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["has_secret_text", "has_secret_word", "is_secret_name", "secret_parts"]

_NAME: Final = re.compile(
    r"passw|passphrase|passcode|pass$|pwd|(^|[._-])(pass|pw|sas)($|[._-])|secret|credential|token|jaas|(?<!oauth)bearer|"
    r"authorization|auth[._-]?basic|access[._-]?signature|user[._-]?info|keyfile|dsn|"
    r"webhook($|[._-]?(endpoint|path|ur[il]))|connection[._-]?string|"
    r"(api|access|account|auth|client|consumer|encryption|hmac|master|primary|private|sas|shared|signing|ssl|storage|"
    r"subscription)[._-]?key(?!space|store)|keystore[._-]key|key[._-]pem",
    re.IGNORECASE,
)
_ABOUT_A_SECRET: Final = re.compile(
    r"[._-](mode|fields?|columns?|types?|formats?|class(es)?|enabled?|ms|sec(ond)?s|minutes|bytes|size|algorithms?|providers?|"
    r"names?|strategy|version|encoding|files?|location|(de)?serializers?)$",
    re.IGNORECASE,
)
"""Suffixes of properties about a secret or about a table's key, which contain no secret: `primary.key.mode`."""
_TEXT: Final = re.compile(
    r"://[^:/\s@]{0,200}+:(?P<url>[^\s@]{1,2000}+)@|"  # user information
    r"thin:[^/\s@]{1,200}+/(?P<thin>[^\s@]{1,2000}+)@|"  # Oracle's `thin:user/password@host`
    r"(?:passw(?:or)?d|passphrase|pwd|secret|credentials?|(?:access|api|auth|bearer|sas|security)[._-]?token|"
    r"(?:api|access|account|private)[._-]?key|[?&;](?:sig|sas|key|token))"
    r"\s{0,5}={1,2}\s{0,5}(?P<value>[^=;&\s][^;&\s]{0,4000}+)|"  # parameters of drivers and URLs
    r"(?:passw(?:or)?d|passphrase|secret|token|credential|authorization|(?:api|access|account|private)[._-]?key)"
    r"\"\s{0,5}:\s{0,5}\"(?P<json>[^\"]{1,4000}+)\"|"
    r"private[ _]key|\b(?:bearer|basic)\s{1,5}[\w.~+/=-]{8}|^\s{0,5}(?:bearer|basic)\s{1,5}\S|hooks\.slack\.com/services/",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Return whether the name of a property or option indicates that its value is a secret."""
    return has_secret_word(name) and _ABOUT_A_SECRET.search(name) is None


def has_secret_word(name: str) -> bool:
    """Return whether a name contains a word for secrets, even with a suffix such as that of `token.bytes`."""
    return _NAME.search(name) is not None


def has_secret_text(text: str) -> bool:
    """Return whether a text contains something that looks like a secret: a password in a URL, a private key, a token."""
    return _TEXT.search(text) is not None


def secret_parts(text: str) -> Iterator[str]:
    """Yield the passwords in a text, for which `has_secret_text` is true, as far as they can be separated from it."""
    yield from (part for match in _TEXT.finditer(text) for part in match.groups() if part)
