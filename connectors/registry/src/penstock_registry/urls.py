"""URLs of registries and token servers, which may contain passwords."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from httpx2 import URL, InvalidURL
from pydantic import AfterValidator

__all__ = ["RegistryUrl", "Url", "without_password"]


def without_password(url: str) -> str:
    """Return a URL without its user and password, for messages."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _checked(url: str) -> str:
    if not re.match(r"https?://[^/]", url):
        raise ValueError("a URL must begin with http:// or https:// and a host name")
    try:
        URL(url)
        urlsplit(url)
    except (InvalidURL, ValueError):
        raise ValueError(
            "the host or the port is not valid; percent-encode special characters in a user or password (/ as %2F, @ as %40)"
        ) from None
    return url


def _without_query(url: str) -> str:
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise ValueError(
            "a URL of a registry cannot have a query (?...) or a fragment (#...), because paths are appended to it; use "
            "the properties for credentials"
        )
    return url


Url = Annotated[str, AfterValidator(lambda url: _checked(url) if url else url)]
"""URL, or an empty string."""
RegistryUrl = Annotated[str, AfterValidator(_checked), AfterValidator(_without_query)]
"""URL to which the paths of requests can be appended."""
