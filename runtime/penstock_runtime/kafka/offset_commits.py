"""Commit offsets to a consumer group as a client that is not a member of it."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_kafka.client_renewal import ClientRenewal, close_in_background
from penstock_kafka.errors import AUTHORIZATION, translated, translating
from penstock_kafka.watermarks import GONE, names_of
from penstock_model.backoff import ExponentialBackoff

__all__ = ["GroupCommits"]

_READ_SECONDS: Final = 30.0
_COMMIT_SECONDS: Final = 10.0
_POLL_BACKOFF: Final = ExponentialBackoff(first=0.001, longest=0.05)
"""Pauses between polls for an answer."""


class GroupCommits:
    """Reader and committer of a group's offsets. Not thread-safe.

    Uses a separate client without assigned partitions, created on first use, so that polling for the answer to a commit
    returns no records. The client's synchronous commit would block forever if its broker became unreachable.

    Args:
        config: the client's properties, including `group.id`.
        clock: returns monotonic seconds.
    """

    def __init__(self, config: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._config = {**config, "error_cb": self._take_error}
        self._renewal = ClientRenewal(clock)
        self._clock = clock
        self._client: Consumer | None = None
        self._pending: dict[TopicPartition, int] | None = None
        self._error: KafkaError | None = None
        self._answer: tuple[KafkaError | None, list[Position]] = (None, [])
        self._group = config["group.id"]
        self._where = f"group '{self._group}' at {config.get('bootstrap.servers')}"

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets that the group has committed for these partitions. Partitions without one are omitted.

        Raises:
            RetriableError: no answer.
            ConnectError: another failure, such as missing authorization.
        """
        doing = f"Reading the offsets of {self._where}"
        self._error = None
        with translating(doing):
            client = self._connected()
            try:
                answers = client.committed([Position(t, p) for t, p in partitions], timeout=_READ_SECONDS)
            except KafkaException as e:
                # The call gets no answer if the principal may not use the group; only a poll reports that.
                self._poll(client, 0.0)
                if self._error is not None and self._error.code() in AUTHORIZATION:
                    raise translated(self._error, doing) from e
                self._disconnect_if_silent()
                raise
        self._renewal.answered()
        for f in answers:
            if f.error is not None:
                raise translated(f.error, doing)
        return {TopicPartition(f.topic, f.partition): f.offset for f in answers if f.offset != OFFSET_INVALID}

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets. First waits for an earlier commit that timed out, so that it cannot arrive after this one.

        Raises:
            RetriableError: no answer in time.
            ConnectError: the commit was refused; if the group has members, another process runs this connector.
        """
        doing = f"Committing offsets to {self._where}"
        self._error = None
        with translating(doing):
            client, given_up = self._connected(), self._pending
            self._await(client, doing)
            if given_up == offsets and self._refusal(doing) is None:
                return  # the earlier commit has arrived
            self._pending = dict(offsets)
            try:
                client.commit(offsets=[Position(t, p, o) for (t, p), o in offsets.items()], asynchronous=True)
            except BaseException:
                self._pending = None
                raise
            self._await(client, doing)
        refusal = self._refusal(doing)
        if refusal is not None:
            raise refusal

    def close(self) -> None:
        """Close the connection, unless a commit is pending: closing would block until it is answered."""
        if self._client is not None and self._pending is None:
            with suppress(KafkaException):
                self._client.close()

    def _connected(self) -> Consumer:
        if self._client is None:

            def answered(error: KafkaError | None, partitions: list[Position]) -> None:
                if client is self._client:  # an earlier client may still report its last commit
                    self._answered(error, partitions)

            client = self._client = Consumer({**self._config, "on_commit": answered})
        return self._client

    def _disconnect_if_silent(self) -> None:
        """Drop a client that has had no answer for too long, and its pending commit."""
        if self._client is not None and self._renewal.is_due(f"The client that commits for group '{self._group}'"):
            close_in_background(self._client)
            self._client = self._pending = None

    def _poll(self, client: Consumer, seconds: float) -> None:
        message = client.poll(seconds)
        if message is not None and (error := message.error()) is not None:
            self._error = error

    def _take_error(self, error: KafkaError) -> None:
        self._error = error

    def _answered(self, error: KafkaError | None, partitions: list[Position]) -> None:
        self._answer = (error, partitions)
        self._pending = None
        self._renewal.answered()

    def _await(self, client: Consumer, doing: str) -> None:
        deadline = self._clock() + _COMMIT_SECONDS
        polls = 0
        while self._pending is not None:
            if self._clock() > deadline:
                why = "" if self._error is None else f": {self._error.str()} ({self._error.name()})"
                self._disconnect_if_silent()
                raise RetriableError(f"{doing}: no answer for {_COMMIT_SECONDS:.0f} s{why}")
            polls += 1
            self._poll(client, _POLL_BACKOFF.pause(polls))  # it does not return early for an answer

    def _refusal(self, doing: str) -> ConnectError | None:
        """Return the error in the last answer, if any."""
        error, partitions = self._answer
        if error is not None:
            if error.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION):
                return ConnectError(
                    f"cannot commit offsets to group '{self._group}': the group has members, so another client runs this "
                    f"connector (Kafka Connect, or another consumer); stop it first"
                )
            if error.code() in GONE:  # all of them are
                return RetriableError(
                    f"{doing}: these partitions were deleted: {names_of((p.topic, p.partition) for p in partitions)}"
                )
            return translated(error, doing)
        for p in partitions:
            if p.error is not None:
                if p.error.code() in GONE:  # the next refresh of the assignment drops it; the others are committed
                    return RetriableError(f"{doing}: deleted: {p.topic}-{p.partition}")
                return translated(p.error, doing)
        return None
