"""Credentials in the headers of a request: a token, or a user named by an authenticating proxy. Pure."""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from typing import Final

from penstock_operator.settings import ConsoleProxy
from penstock_web.access import User

__all__ = ["SECRET_HEADER", "SHORTEST_SECRET", "proxied_user", "token_of"]

SECRET_HEADER: Final = "X-Penstock-Proxy-Secret"  # noqa: S105 (its name)
"""Header with the secret that authenticates the proxy."""
SHORTEST_SECRET: Final = 16
"""Minimum bytes of an accepted secret."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{1,8192}", re.ASCII)
_AUTHENTICATED: Final = "system:authenticated"
_RESERVED: Final = "system:"
"""Prefix of Kubernetes' users and groups, such as `system:masters`, which an identity provider must not assign."""


def token_of(headers: Mapping[str, str]) -> str | None:
    """Return the token of `Authorization: Bearer TOKEN`, or of `Basic`, where it is the password; None: there is none."""
    scheme, _, rest = (_only(headers, "Authorization") or "").strip().partition(" ")
    token = rest.strip()
    if scheme.lower() == "basic":
        try:
            token = base64.b64decode(token, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    elif scheme.lower() != "bearer":
        return None
    return token if _TOKEN.fullmatch(token) else None


def proxied_user(headers: Mapping[str, str], secret: bytes, proxy: ConsoleProxy) -> User | None:
    """Return the user whom the proxy names; None: it names none, or the request was not sent by the proxy.

    Args:
        headers: headers of the request. Each may occur only once.
        secret: secret shared by the proxy and the operator.
        proxy: names of the headers.
    """
    given = (_only(headers, SECRET_HEADER) or "").encode(errors="surrogateescape")
    if len(secret) < SHORTEST_SECRET or not hmac.compare_digest(given, secret):
        return None
    name = (_only(headers, proxy.user_header) or "").strip()
    groups = _only(headers, proxy.groups_header)
    if not name or name.startswith(_RESERVED) or groups is None or not (name + groups).isprintable():
        return None
    own = (group.strip() for group in groups.split(","))
    return User(name, (*(g for g in own if g and not g.startswith(_RESERVED)), _AUTHENTICATED))


def _only(headers: Mapping[str, str], name: str) -> str | None:
    """Return the value of a header, empty if it is missing; None: it occurs more than once."""
    values = [value for key, value in headers.items() if key.lower() == name.lower()]
    return None if len(values) > 1 else "".join(values)
