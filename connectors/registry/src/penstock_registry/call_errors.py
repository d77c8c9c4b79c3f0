"""Errors of calls to a registry, as errors of Penstock that name the registry and the cause.

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
"""Seconds for which an answer that fails a record counts for the next records with the same question."""


class InvalidSchemaError(DataError):
    """The registry does not accept a schema as one of its format."""


class Calls:
    """Calls to a registry. It remembers what the registry refused, for some seconds.

    Args:
        where: URLs of the registry, without passwords.
        size: number of refused questions to remember.
        credentials: names of the properties with the credentials.
        before: called before each question.
        nonsense: called after an answer that is not that of a registry.
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
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # else it logs each request, with the password in its URL
        self._where = where
        self._credentials = credentials
        self._before = before
        self._nonsense = nonsense
        self._refusals: TTLCache[tuple[object, ...], DataError] = TTLCache(size, _REFUSED_SECONDS)

    @contextmanager
    def asking(self, what: str, question: tuple[object, ...]) -> Iterator[None]:
        """Raise the errors of a call in words.

        Args:
            what: what the call does, as a verb and its object.
            question: what distinguishes it from other calls.

        Raises:
            RetriableError: the registry is unavailable or refuses the credentials, which concerns all records.
            DataError: it refuses the schema, or does not have it.
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
        except DataError as e:  # of what the registry has
            self._refusals[question] = e
            raise
        except (HTTPError, OAuthError, OAuthTokenError, OSError) as e:
            raise self.unavailable(what, _cause(e)) from e
        except (ValueError, TypeError, KeyError, AttributeError) as e:  # the answer is no JSON, or none of a registry
            self._nonsense()
            raise self.unavailable(what, f"its answer is not that of a registry ({type(e).__name__})") from e

    def _explained(self, what: str, error: SchemaRegistryError) -> DataError | RetriableError:
        status, code, text = error.http_status_code, error.error_code, error.error_message
        said = " ".join(str(text).split())[:2000]
        match status:
            case 409:
                return DataError(
                    f"cannot {what}: it is not compatible with the earlier versions, says the registry: {said}; change the "
                    "schema, or the compatibility of the subject"
                )
            case 404 if code not in (
                None,
                SchemaRegistryError.UNKNOWN,
            ):  # else the answer of a proxy, or of another path
                return DataError(f"cannot {what}: it does not exist, says the registry at {self._where}: {said}")
            case 422:
                return InvalidSchemaError(f"cannot {what}: it is not valid, says the registry: {said}")
            case 401 | 403:
                return self.unavailable(
                    what, f"it refuses the credentials (status {status}); check {self._credentials}"
                )
            case _:
                return self.unavailable(what, f"it answers with status {status}: {said[:200]}")

    def unavailable(self, what: str, cause: str) -> RetriableError:
        """Return the error of a registry that is unavailable for all records."""
        return RetriableError(f"cannot {what}: the registry at {self._where} is unavailable: {cause}", outage=True)


def _cause(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
