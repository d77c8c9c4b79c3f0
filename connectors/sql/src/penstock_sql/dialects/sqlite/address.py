"""URLs of SQLite. Pure."""

import re
from typing import Final
from urllib.parse import unquote

from penstock import ConfigError, Problem
from penstock_sql.dialects.base import Url

__all__ = ["read_sqlite"]

_MEMORY: Final = "SQLite needs a file, since several processes write to it; write jdbc:sqlite:FILE"


def read_sqlite(rest: str) -> Url:
    """Parse the rest of a URL after `jdbc:sqlite:`.

    Raises:
        ConfigError: the URL does not name a file.
    """
    file = unquote(rest.removeprefix("///")) if rest.startswith("///") else rest
    if not file or file.startswith(":memory:") or "mode=memory" in file:
        raise ConfigError(Problem("connection.url", _MEMORY))
    if re.search(r"\?\w+=", rest):  # otherwise the parameters would become part of the file's name
        raise ConfigError(Problem("connection.url", "cannot have parameters: write jdbc:sqlite:FILE"))
    if file.startswith(("file:", ":")):
        raise ConfigError(Problem("connection.url", "must name a file by its path: write jdbc:sqlite:FILE"))
    return Url(file, {"dbname": file})
