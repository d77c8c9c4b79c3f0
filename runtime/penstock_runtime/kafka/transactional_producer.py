"""Transactional producers: write records and offsets together, or not at all (KIP-98, KIP-618).

`source/task.py` handles `Fenced`.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.client_renewal import CLOSE_SECONDS, close_in_background
from penstock_kafka.errors import AUTHORIZATION, REFUSED, Fenced, TransactionAborted, translated, translating
from penstock_runtime.kafka.producer_buffer import Outgoing, ProducerBuffer, Refused
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.process.liveness import LOOP

__all__ = ["TransactionalProducer", "fence", "init_transactions"]

_INIT_SECONDS: Final = 30.0
_SLICE: Final = 1.0


class TransactionalProducer:
    """Producer with one transactional id, kept across batches. Not thread-safe.

    After any error except a refused record it can no longer be used and must be closed; the task decides how to proceed.

    Args:
        settings: client settings.
        transactional_id: every other producer with this id is fenced.
        client_id: `client.id`, as brokers see it.
        refusals: refused records that earlier producers have found; None for none.
        check: called after each takeover of the id; raises if a newer process may write (rule 3 of `incarnation`).

    Raises:
        Fenced, RetriableError, ConnectError: as `init_transactions`.
    """

    def __init__(
        self,
        settings: ClientSettings,
        transactional_id: str,
        *,
        client_id: str,
        refusals: Refusals | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.transactional_id = transactional_id
        self._settings = settings
        self._client_id = client_id
        self._refusals = refusals or Refusals(settings)
        self._check = check
        self._open = False
        self._closed = True
        self._void: str | None = None
        self._start()
        self._buffer = ProducerBuffer(
            self._producer,
            refusals=self._refusals,
            batch_size=self._batch_size,
            bytes_limit=settings.queue_bytes,
            delivery_seconds=self.timeout,
            max_block=min(settings.max_block, self.timeout / 2),
            servers=settings.bootstrap,
            begin_again=self._begin_again,
        )

    def begin(self) -> None:
        """Begin a transaction. The coordinator learns of it only with the first record.

        Raises:
            Superseded: a newer process may write.
            Fenced, TransactionAborted, ConnectError: the producer can no longer be used.
        """
        if self._refusals.outdates(self._batch_size, isolating=self._isolating):
            self._restart()
        with translating("Beginning a transaction"):
            self._producer.begin_transaction()
        self._buffer.reset()
        self._open, self._void = True, None

    def send(self, outgoing: Outgoing) -> list[Refused]:
        """Add records to the transaction; return those that client or brokers refuse. Blocks while the queue is full.

        Raises: as `ProducerBuffer.append`.
        """
        try:
            return self._buffer.append(outgoing)
        except TransactionAborted as e:
            if self._closed:  # the new client could not be started, and the previous one reports nothing
                raise
            self._await_cause()
            raise self._refused() or self._not_authorized() or e from e

    def commit(self) -> None:
        """Commit the transaction: everything since `begin` becomes visible.

        Raises:
            Fenced: another producer has this id now; nothing of this transaction is visible unless already committed.
            TransactionAborted: it failed or its outcome is unknown, or the brokers refused records: the next producer with
                these `refusals` finds out which, unless they are already known.
            ConnectError: another failure, such as missing authorization.
        """
        if self._void is not None:
            raise TransactionAborted(self._void)
        try:
            _in_slices(self._producer, self._producer.commit_transaction, self.timeout, self._buffer.check_topics)
        except RetriableError as e:
            raise TransactionAborted(str(e)) from e
        except KafkaException as e:
            error = e.args[0]
            ours = translated(error, "Committing a transaction")
            if isinstance(ours, Fenced) or error.code() in AUTHORIZATION:
                raise ours from e
            if error.code() in REFUSED and not self._buffer.losses.refused:
                self._refusals.isolate(set(), self._batch_size)
            raise self._refused() or TransactionAborted(str(ours)) from e
        self._open = False
        self._refusals.settled()

    def roll_back(self) -> None:
        """Abort the transaction, so that another one may begin.

        Raises:
            Fenced: another producer has this id now, or the brokers have ended the transaction.
            TransactionAborted, ConnectError: the producer can no longer be used.
        """
        try:
            with translating("Aborting a transaction"):
                _in_slices(self._producer, self._producer.abort_transaction, self.timeout)
        except RetriableError as e:
            raise TransactionAborted(str(e)) from e
        self._open = False

    def abort(self) -> None:
        """Abort the transaction, so that nothing since `begin` becomes visible.

        Errors are not raised: fencing ends the transaction as well.
        """
        if self._closed or not self._open:
            return
        self._open = False
        try:
            self._producer.abort_transaction(5)
        except KafkaException:
            return

    def close(self) -> None:
        """Close the connections. If brokers do not answer, a transaction stays open until fenced or timed out."""
        if self._closed:  # the client would raise
            return
        self._closed = True
        with warnings.catch_warnings():
            # The client aborts an open transaction, and warns if fencing has already ended it.
            warnings.simplefilter("ignore", RuntimeWarning)
            close_in_background(self._producer, within=CLOSE_SECONDS)

    def _start(self) -> None:
        settings = self._settings
        config = settings.for_producer(transactional_id=self.transactional_id, client_id=self._client_id)
        config = self._refusals.fit(config)
        config["delivery.report.only.error"] = not settings.reports_all
        self.timeout = float(config.setdefault("transaction.timeout.ms", 60_000)) / 1000
        self._batch_size = int(config["batch.size"])
        self._isolating = self._refusals.isolating
        with translating(f"Starting a producer for {settings.bootstrap}"):
            self._producer = Producer(config)
        self._closed = False
        try:
            init_transactions(self._producer, self.transactional_id, settings.bootstrap)
            self._check()
        except BaseException:
            self.close()
            raise

    def _restart(self) -> None:
        """Replace the client because it needs other properties or its transaction is void."""
        self.close()
        try:
            self._start()
        except RetriableError as e:  # the task tries again, with another producer
            raise TransactionAborted(str(e)) from e
        self._buffer.replace_producer(self._producer, self._batch_size)

    def _begin_again(self) -> None:
        self._void = "Kafka refused individual records of this transaction; the batch is sent again without them"
        self._restart()
        with translating("Beginning a transaction"):
            self._producer.begin_transaction()

    def _await_cause(self) -> None:
        """Wait briefly: the client reports a refused record only shortly after it reports that the transaction is void."""
        deadline = time.monotonic() + _SLICE
        with suppress(KafkaException):
            while not self._buffer.losses.refused and time.monotonic() < deadline:
                self._producer.poll(0.05)

    def _not_authorized(self) -> ConnectError | None:
        """Return the authorization error that made the transaction void, if that is the reason.

        Only `commit_transaction` reports why a transaction is void; it never commits a void transaction.
        """
        try:
            self._producer.commit_transaction(_SLICE)
        except KafkaException as e:
            if e.args[0].code() in AUTHORIZATION:
                return translated(e.args[0], "Writing records in a transaction")
        return None

    def _refused(self) -> TransactionAborted | None:
        losses = self._buffer.losses
        if not losses.refused:
            return None
        self._refusals.isolate(losses.too_large, self._batch_size)
        return TransactionAborted(
            f"Kafka refused {losses.refused} records that were sent together; their batch is sent again in smaller "
            f"portions, and one by one where necessary: {losses.first}"
        )


def fence(settings: ClientSettings, transactional_ids: Iterable[str]) -> None:
    """End every transaction of these ids and fence their producers, several at a time.

    Raises:
        RetriableError: the brokers did not answer in time; the state of the remaining ids is unknown.
        ConnectError: another failure, such as missing authorization.
    """

    def fence_id(transactional_id: str) -> None:
        with translating(f"Taking over transactional id {transactional_id} at {settings.bootstrap}"):
            producer = Producer(settings.for_producer(transactional_id=transactional_id, client_id="penstock-fence"))
        try:
            init_transactions(producer, transactional_id, settings.bootstrap)
        finally:
            close_in_background(producer, within=CLOSE_SECONDS)

    ids: Sequence[str] = sorted(set(transactional_ids))
    with ThreadPoolExecutor(max_workers=min(8, max(1, len(ids)))) as pool:
        list(pool.map(fence_id, ids))


def init_transactions(producer: Producer, transactional_id: str, servers: str) -> None:
    """Take over a transactional id, which fences every other producer that has it.

    Raises:
        RetriableError: the brokers did not answer in time, or another producer took over the id at the same time.
        ConnectError: another failure, such as missing authorization.
    """
    try:
        with translating(f"Taking over transactional id {transactional_id} at {servers}"):
            # Without a connection, librdkafka repeats the search for the coordinator only after half a second. The first
            # answer comes from the configured address, the second over the connection to the broker itself.
            for _ in range(2):
                producer.list_topics("__transaction_state", timeout=_INIT_SECONDS)
            _in_slices(producer, producer.init_transactions, _INIT_SECONDS)
    except Fenced as e:
        # Two producers took over this id at the same time; the incarnation record determines which of them may write.
        raise RetriableError(str(e)) from e
    except TransactionAborted as e:
        raise ConnectError(str(e)) from e


def _in_slices(
    producer: Producer, work: Callable[[float], None], seconds: float, between: Callable[[], None] = lambda: None
) -> None:
    """Call `work` with short timeouts; the client resumes where it left off. Between calls, poll the client for errors."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            work(max(0.1, min(_SLICE, left)))
        except KafkaException as e:
            if not e.args[0].retriable() or left <= 0:
                raise
            producer.poll(0)
            LOOP.turned()
            between()
        else:
            return
