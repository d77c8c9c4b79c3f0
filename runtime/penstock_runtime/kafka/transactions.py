"""Transactional producers: records and offsets together, or not at all (KIP-98, KIP-618)."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.kafka.errors import REFUSED, Fenced, TransactionAborted, translated, translating
from penstock_runtime.kafka.outbox import Outbox, Outgoing, Refused
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["TransactionalProducer", "fence"]

_INIT_SECONDS: Final = 30.0
_SLICE: Final = 1.0


class TransactionalProducer:
    """One transactional id, kept across batches; used by one thread.

    After any error but a refused record it is of no more use: `close` it, and let the engine decide what comes next.

    Raises:
        Fenced, RetriableError, ConnectError: as `init_transactions` went.
    """

    def __init__(self, settings: ClientSettings, transactional_id: str, *, client_id: str) -> None:
        self.transactional_id = transactional_id
        config = settings.for_producer(transactional_id=transactional_id, client_id=client_id)
        self.timeout = float(config.setdefault("transaction.timeout.ms", 60_000)) / 1000
        with translating(f"Starting a producer for {settings.bootstrap}"):
            self._producer = Producer(config)
        _init(self._producer, transactional_id, settings.bootstrap)
        self._outbox = Outbox(
            self._producer, bytes_limit=settings.queue_bytes, patience=self.timeout, servers=settings.bootstrap
        )
        self._open = False

    def begin(self) -> None:
        """Begin a transaction. The broker hears of it with the first record."""
        with translating("Beginning a transaction"):
            self._producer.begin_transaction()
        self._outbox.forget()
        self._open = True

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Add records to the transaction; waits while the queue is full. Returns the ones the client refused."""
        return self._outbox.give(outgoing)

    def commit(self) -> None:
        """Make everything since `begin` visible.

        Raises:
            Fenced: another producer has this id now; nothing of this transaction shows, unless it was committed before.
            TransactionAborted: it failed or its outcome is unknown.
            ConnectError: the brokers refused a record, and would again.
        """
        try:
            _in_slices(self._producer, self._producer.commit_transaction, self.timeout, self._outbox.ask)
        except RetriableError as e:
            raise TransactionAborted(str(e)) from e
        except KafkaException as e:
            ours = translated(e.args[0], "Committing a transaction")
            if isinstance(ours, Fenced) or e.args[0].code() in REFUSED:
                raise ours from e
            raise TransactionAborted(str(ours)) from e
        self._open = False

    def abort(self) -> None:
        """Make nothing since `begin` visible. Errors are not raised: fencing ends the transaction as well."""
        if not self._open:
            return
        self._open = False
        try:
            self._producer.abort_transaction(5)
        except KafkaException:
            return

    def close(self) -> None:
        """Let go of the connections. An open transaction stays open until it is fenced or times out."""
        with warnings.catch_warnings():
            # It aborts what is open, and warns where fencing has ended that already.
            warnings.simplefilter("ignore", RuntimeWarning)
            # A producer that was fenced raises on its way out, too.
            with suppress(KafkaException):
                self._producer.purge()
                self._producer.close()


def fence(settings: ClientSettings, transactional_ids: Iterable[str]) -> None:
    """End every transaction of these ids and shut their producers out, several at a time.

    Raises:
        RetriableError: the brokers did not answer in time; nothing is known of the ids that are left.
        ConnectError: not authorised, say.
    """

    def one(transactional_id: str) -> None:
        producer = Producer(settings.for_producer(transactional_id=transactional_id, client_id="penstock-fence"))
        try:
            _init(producer, transactional_id, settings.bootstrap)
        finally:
            producer.close()

    ids: Sequence[str] = sorted(set(transactional_ids))
    with ThreadPoolExecutor(max_workers=min(8, max(1, len(ids)))) as pool:
        list(pool.map(one, ids))


def _init(producer: Producer, transactional_id: str, servers: str) -> None:
    try:
        with translating(f"Taking over transactional id {transactional_id} at {servers}"):
            # A search for the coordinator that finds no connection is repeated only after half a second. The first
            # answer comes over the address that was given, the second over the broker's own connection.
            for _ in range(2):
                producer.list_topics("__transaction_state", timeout=_INIT_SECONDS)
            _in_slices(producer, producer.init_transactions, _INIT_SECONDS)
    except Fenced as e:
        # Two producers began with this id at the same moment; who is right is told by the incarnation record.
        raise RetriableError(str(e)) from e
    except TransactionAborted as e:
        raise ConnectError(str(e)) from e


def _in_slices(
    producer: Producer, work: Callable[[float], None], seconds: float, between: Callable[[], None] = lambda: None
) -> None:
    """A call that the client goes on with when it is made again; in between the client tells its troubles."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            work(max(0.1, min(_SLICE, left)))
        except KafkaException as e:
            if not e.args[0].retriable() or left <= 0:
                raise
            producer.poll(0)
            between()
        else:
            return
