"""Look up the largest batch that each topic accepts: brokers apply `max.message.bytes` to whole batches."""

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.kafka.admin import batch_limits
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["BatchLimits"]

log = logging.getLogger(__name__)
_SECONDS: Final = 5.0
"""Minimum seconds between two requests for the same topic."""
_UNKNOWN_SECONDS: Final = 60.0
"""Seconds after which an unknown limit is requested again."""
_SHRINK: Final = 16


class BatchLimits:
    """Batch limits of the topics that one process writes to. Each is requested once; one request covers all new topics.

    If the brokers do not return a limit (the principal may not describe the topic, or the topic does not exist yet), a limit
    is assumed once a batch is refused. An assumed limit only bounds batches: no record is refused because of it.

    Attributes:
        least: smallest limit of all topics, known or assumed; None if there is none.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._known: dict[str, int] = {}
        self._assumed: dict[str, int] = {}
        self._asked: dict[str, float] = {}
        self.least: int | None = None

    def known(self, topic: str) -> int | None:
        """Return the limit that the brokers reported, if any."""
        return self._known.get(topic)

    def asked(self, topic: str) -> bool:
        """Return whether the limit has been requested."""
        return topic in self._asked

    def learn(self, topics: Iterable[str]) -> None:
        """Request the limits that were not requested yet. Without an answer they stay unknown."""
        if new := [t for t in topics if t not in self._asked]:
            self._ask(new)

    def renew(self, topics: Iterable[str]) -> None:
        """Request limits again if some seconds have passed, since they may have changed."""
        now = time.monotonic()
        if old := [t for t in topics if now - self._asked.get(t, 0.0) > _SECONDS]:
            self._ask(old)

    def forget_unknown(self) -> None:
        """Allow limits that have been unknown for a minute to be requested again: the topics may exist by now."""
        earliest = time.monotonic() - _UNKNOWN_SECONDS
        for topic in [t for t, asked in self._asked.items() if asked < earliest and t not in self._known]:
            del self._asked[topic]

    def refused(self, topic: str, batch_size: int) -> None:
        """Record that a batch of at most this size was too large for the topic."""
        if self._assumed.get(topic, batch_size) < batch_size:
            return  # the batch was built before the limit was assumed
        self._ask([topic])
        if self._known.get(topic, batch_size) >= batch_size:
            self._assumed[topic] = max(1, batch_size // _SHRINK)
            log.info(
                "Topic '%s' refused a batch of up to %d bytes, but its max.message.bytes is unknown or larger; limiting "
                "batches to %d bytes",
                topic,
                batch_size,
                self._assumed[topic],
            )
        self._update_least()

    def _ask(self, topics: list[str]) -> None:
        self._asked |= dict.fromkeys(topics, time.monotonic())
        found: Mapping[str, int] = {}
        try:
            found = batch_limits(self._settings, topics)
        except ConnectError as e:
            log.debug("Cannot fetch the batch limits of topics: %s", e)
        self._known |= found
        self._update_least()

    def _update_least(self) -> None:
        self.least = min((*self._known.values(), *self._assumed.values()), default=None)
