"""Transaction of a producer that starts with the first record, so that a batch without records starts none.

`source_process` adds the offsets, and commits it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from penstock_kafka.errors import Fenced, TransactionExpired
from penstock_runtime.kafka.producer_buffer import Outgoing, Refused
from penstock_runtime.kafka.transactional_producer import TransactionalProducer

__all__ = ["OpenTransaction"]


class OpenTransaction:
    """Transactions of a producer, each from the first `send` to `commit`. After an error, this object cannot be used.

    Attributes:
        sent: number of portions passed to the producer, in all transactions.
        void: whether a transaction failed, or its outcome is unknown: fence the producer before another one writes.
    """

    def __init__(self, producer: TransactionalProducer, clock: Callable[[], float] = time.monotonic) -> None:
        self._producer = producer
        self._clock = clock
        self._since: float | None = None
        self.sent = 0
        self.void = False

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Send records as `TransactionalProducer.send`; begin a transaction before the first ones.

        Raises:
            TransactionExpired: the transaction was open for too long, and the brokers have ended it or will end it.
        """
        if self._since is None:
            self._producer.begin()
            self._since = self._clock()
        self.check()  # records that are sent later would be aborted
        self.sent += 1
        with self._expiring():
            return self._producer.send(outgoing)

    def commit(self) -> None:
        """Commit the transaction, if one is open. Raises as `TransactionalProducer.commit`, and TransactionExpired."""
        if self._since is None:
            return
        with self._expiring():
            self._producer.commit()
        self._since = None

    def roll_back(self) -> None:
        """Abort the transaction, if one is open; the next `send` begins another one. Raises as `commit`."""
        if self._since is None:
            return
        with self._expiring():
            self._producer.roll_back()
        self._since = None

    def check(self) -> None:
        """Check that the brokers have not ended the transaction.

        Raises:
            TransactionExpired: it was open for too long.
        """
        if self._expired:
            raise TransactionExpired(self._too_long())

    def abandon(self) -> None:
        """Abort the transaction if possible; the producer is not used again."""
        self.void = True
        with suppress(Exception):
            self._producer.abort()

    @property
    def _expired(self) -> bool:
        return self._since is not None and self._clock() - self._since >= self._producer.timeout

    @contextmanager
    def _expiring(self) -> Iterator[None]:
        try:
            yield
        except Fenced as e:
            if self._expired:
                raise TransactionExpired(f"{self._too_long()}: {e}") from e
            raise

    def _too_long(self) -> str:
        age = 0.0 if self._since is None else self._clock() - self._since
        return (
            f"a transaction was open for {age:.0f} s, and the brokers abort one that is open for "
            f"{self._producer.timeout:g} s (transaction.timeout.ms)"
        )
