"""Convert errors of calls to a registry to Penstock's errors, which name the registry and the cause.

Timeouts are in `config`. Nothing is retried here: the runtime retries after a `RetriableError`.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from authlib.integrations.base_client import OAuthError
from cachetools import TTLCache
from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError
from httpx2 import HTTPError

from penstock import DataError, RetriableError

__all__ = ["Calls", "InvalidSchemaError"]

_REFUSED_SECONDS: Final = 10
"""Seconds for which an error that fails a record is reused for records with the same request."""


class InvalidSchemaError(DataError):
    """Raised when the registry rejects a schema as invalid."""


class Calls:
    """Calls to a registry. Rejected requests are remembered for a few seconds.

    Args:
        where: URLs of the registry, without passwords.
        size: maximum number of rejected requests to remember.
        credentials: names of the properties with the credentials.
        before: called before each request.
        nonsense: called after a response that is not from a registry.
    """

    def __init__(
        self,
        where: str,
        size: int,
        credentials: str,
        *,
        before: Callable[[], None] = lambda: None,
        nonsense: Callable[[], None] = lambda: None,
    ) -> None:
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log each request's URL with a password
        self._where = where
        self._credentials = credentials
        self._before = before
        self._nonsense = nonsense
        self._refusals: TTLCache[tuple[object, ...], DataError] = TTLCache(size, _REFUSED_SECONDS)

    @contextmanager
    def asking(self, what: str, question: tuple[object, ...]) -> Iterator[None]:
        """Convert the errors of a call to Penstock's errors.

        Args:
            what: action of the call, as a verb and its object.
            question: key of the request, different from that of other requests.

        Raises:
            RetriableError: the registry is unavailable or rejects the credentials, which affects all records.
            DataError: it rejects the schema, or does not have it.
        """
        refused = self._refusals.get(question)
        if refused is not None:
            raise type(refused)(str(refused))
        self._before()
        try:
            yield
        except SchemaRegistryError as e:
            error = self._explained(what, e)
            if isinstance(error, DataError):
                self._refusals[question] = error
            raise error from e
        except DataError as e:  # of a schema in the registry
            self._refusals[question] = e
            raise
        except (HTTPError, OAuthError, OAuthTokenError, OSError) as e:
            raise self.unavailable(what, _cause(e)) from e
        except (ValueError, TypeError, KeyError, AttributeError) as e:  # not JSON, or not from a registry
            self._nonsense()
            raise self.unavailable(what, f"its response is not that of a registry ({type(e).__name__})") from e

    def _explained(self, what: str, error: SchemaRegistryError) -> DataError | RetriableError:
        status, code, text = error.http_status_code, error.error_code, error.error_message
        said = " ".join(str(text).split())[:2000]
        match status:
            case 409:
                return DataError(
                    f"cannot {what}: the registry rejects it as incompatible with the earlier versions: {said}; change the "
                    "schema, or the compatibility of the subject"
                )
            case 404 if code not in (None, SchemaRegistryError.UNKNOWN):  # not from a proxy, or of another path
                return DataError(f"cannot {what}: it does not exist in the registry at {self._where}: {said}")
            case 422:
                return InvalidSchemaError(f"cannot {what}: the registry rejects it as invalid: {said}")
            case 401 | 403:
                return self.unavailable(
                    what, f"it rejects the credentials (status {status}); check {self._credentials}"
                )
            case _:
                return self.unavailable(what, f"it responds with status {status}: {said[:200]}")

    def unavailable(self, what: str, cause: str) -> RetriableError:
        """Return the error of a registry that is unavailable for all records."""
        return RetriableError(f"cannot {what}: the registry at {self._where} is unavailable: {cause}", outage=True)


def _cause(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
