"""Dead letter queue of a sink (KIP-298): failed records as read from Kafka, with headers that describe the failure."""

import logging
from collections.abc import Callable
from math import inf

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.producer import FINAL_WRITE_SECONDS, PlainProducer
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.dead_letters import FailedRecord, dead_letter
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, Failure
from penstock_runtime.pipeline.summary import Summary

__all__ = ["DeadLetters"]

log = logging.getLogger(__name__)


class DeadLetters:
    """Writer of one process to the dead letter queue; writes nothing if the policy names no queue.

    Args:
        settings: connection to Kafka.
        connector, task: the task whose records fail.
        policy: has the topic, and whether to add headers.
        redact: masks secrets in messages of plugins.
        lost: called with the counts of dead letters that Kafka did not accept, because their failed batch is not counted.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        connector: str,
        task: int,
        policy: ErrorPolicy,
        redact: Callable[[str], str],
        lost: Callable[[Summary], None],
    ) -> None:
        self._settings = settings
        self._connector = connector
        self._task = task
        self._policy = policy
        self._topic = policy.dead_letter_topic
        self._redact = redact
        self._lost = lost
        self._producer: PlainProducer | None = None

    def bury(self, failure: Failure, consumed: Consumed, summary: Summary) -> None:
        """Start writing the failed record to the queue, and count it.

        Raises:
            ConnectError: the client or Kafka rejects the record.
        """
        if self._topic is None:
            return
        summary.dead_letters += 1
        if self._producer is None:
            client = f"connector-dlq-producer-{self._connector}-{self._task}"
            self._producer = PlainProducer(self._settings, client_id=client, keep=True)
        row, (topic, partition) = failure.position, consumed.source
        record = FailedRecord(
            self._connector,
            self._task,
            topic,
            partition,
            consumed.offset[row],
            key=None if consumed.key is None else consumed.key[row],
            value=consumed.value[row],
            headers=() if consumed.headers is None else consumed.headers[row],
            timestamp=consumed.timestamp[row],
        )
        letter = dead_letter(record, failure, self._policy, self._redact)
        try:
            refused = self._producer.send(letter)
        except RetriableError:
            self._drop()
            raise
        if refused:
            self._report_lost(1, summary)
            raise ConnectError(
                f"cannot write the record at {topic}-{partition} offset {record.offset} to the dead letter queue "
                f"'{self._topic}': {refused[0].error}"
            )

    def bury_last(self, failure: Failure, consumed: Consumed) -> None:
        """Write the record that fails the task as a dead letter too, as Kafka Connect does; a failure is only logged."""
        if self._topic is None:
            return
        summary = Summary()
        try:
            self.bury(failure, consumed, summary)
            self.finish(summary, within=FINAL_WRITE_SECONDS)
        except ConnectError as e:  # the task fails anyway, and for another reason
            log.warning("Cannot write the record that fails the task to the dead letter queue '%s': %s", self._topic, e)

    def finish(self, summary: Summary, *, within: float = inf) -> None:
        """Wait up to `within` seconds until the dead letters are in Kafka. Commit offsets past them only after this.

        Raises:
            RetriableError: Kafka or the topic is unavailable.
            ConnectError: Kafka rejects a dead letter.
        """
        if self._producer is None:
            return
        where = f"the dead letter queue '{self._topic}'"
        try:
            lost = self._producer.flush(within=within)
        except RetriableError as e:
            self._report_lost(summary.dead_letters, summary)
            self._drop()
            raise RetriableError(f"cannot write records to {where} yet: {e}") from e
        if lost:
            self._report_lost(len(lost), summary)
            raise ConnectError(f"cannot write records to {where}: {lost[0]}")

    def close(self) -> None:
        """Close the client."""
        self._drop()

    def _drop(self) -> None:
        """Close the client. After a failure it may be unusable; the next record gets a new one."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close()

    def _report_lost(self, count: int, summary: Summary) -> None:
        self._lost(Summary(dead_letters=summary.dead_letters, dead_letters_lost=count))
