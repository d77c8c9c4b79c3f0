"""The largest batch that each topic takes, `max.message.bytes`: brokers hold it against a client's whole batches."""

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.kafka.admin import batch_limits
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["TopicLimits"]

log = logging.getLogger(__name__)
_SECONDS: Final = 5.0
"""Between two questions about one topic."""
_FORGET: Final = 60.0
_SHRINK: Final = 16


class TopicLimits:
    """The limits of the topics that one process writes to, each asked for once, all new ones in one request.

    Where the brokers do not say (the principal may not describe a topic, or it does not exist yet), a limit is assumed
    once a batch was refused; it holds for batches, and no record is refused by it.

    Attributes:
        least: of all topics, known or assumed; None while none is.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._known: dict[str, int] = {}
        self._assumed: dict[str, int] = {}
        self._asked: dict[str, float] = {}
        self.least: int | None = None

    def known(self, topic: str) -> int | None:
        """What the brokers said."""
        return self._known.get(topic)

    def asked(self, topic: str) -> bool:
        """Whether there is nothing to ask for."""
        return topic in self._asked

    def learn(self, topics: Iterable[str]) -> None:
        """Ask for those that were not asked for yet; where nobody answers, go on without knowing."""
        if new := [t for t in topics if t not in self._asked]:
            self._ask(new)

    def renew(self, topics: Iterable[str]) -> None:
        """Ask again, where some seconds have passed: somebody may have changed a limit."""
        now = time.monotonic()
        if old := [t for t in topics if now - self._asked.get(t, 0.0) > _SECONDS]:
            self._ask(old)

    def forget_unknown(self) -> None:
        """Ask again for those that told nothing for a minute, when they are written to next: they may exist by now."""
        then = time.monotonic() - _FORGET
        for topic in [t for t, asked in self._asked.items() if asked < then and t not in self._known]:
            del self._asked[topic]

    def refused(self, topic: str, batch_size: int) -> None:
        """A batch of this size at most was too large for the topic."""
        if self._assumed.get(topic, batch_size) < batch_size:
            return  # a batch that was made before that was known
        self._ask([topic])
        if self._known.get(topic, batch_size) >= batch_size:
            self._assumed[topic] = max(1, batch_size // _SHRINK)
            log.info(
                "Topic '%s' refused a batch of up to %d bytes, and its max.message.bytes is not known or says otherwise: "
                "batches of %d bytes from now on", topic, batch_size, self._assumed[topic],
            )  # fmt: skip
        self._count()

    def _ask(self, topics: list[str]) -> None:
        self._asked |= dict.fromkeys(topics, time.monotonic())
        found: Mapping[str, int] = {}
        try:
            found = batch_limits(self._settings, topics)
        except ConnectError as e:
            log.debug("Cannot ask for the limits of topics: %s", e)
        self._known |= found
        self._count()

    def _count(self) -> None:
        self.least = min((*self._known.values(), *self._assumed.values()), default=None)
