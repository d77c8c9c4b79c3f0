"""Committing offsets to a consumer group from outside, as a client that is no member of it."""

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
_PATIENCE: Final = 10.0
_POLL_BACKOFF: Final = ExponentialBackoff(first=0.001, longest=0.05)
"""Between two looks for an answer."""


class GroupCommits:
    """The offsets of a group. Used by one thread.

    A client of its own, made when it is first needed, that has no partitions: looking for the answer to a commit brings no
    records. The client's synchronous commit would wait without a bound when its broker goes away under it.

    Args:
        config: the client's properties, `group.id` among them.
        clock: seconds, monotonic.
    """

    def __init__(self, config: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._config = {**config, "error_cb": self._heard}
        self._renewal = ClientRenewal(clock)
        self._clock = clock
        self._client: Consumer | None = None
        self._under_way: dict[TopicPartition, int] | None = None
        self._trouble: KafkaError | None = None
        self._answer: tuple[KafkaError | None, list[Position]] = (None, [])
        self._group = config["group.id"]
        self._where = f"group '{self._group}' at {config.get('bootstrap.servers')}"

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed of these.

        Raises:
            RetriableError, ConnectError: no answer, or not authorised.
        """
        doing = f"Reading the offsets of {self._where}"
        self._trouble = None
        with translating(doing):
            client = self._made()
            try:
                found = client.committed([Position(t, p) for t, p in partitions], timeout=_READ_SECONDS)
            except KafkaException as e:
                self._look(
                    client, 0.0
                )  # a client that may not use the group is told so apart, and the call has no answer
                if self._trouble is not None and self._trouble.code() in AUTHORIZATION:
                    raise translated(self._trouble, doing) from e
                self._renew()
                raise
        self._renewal.answered()
        for f in found:
            if f.error is not None:
                raise translated(f.error, doing)
        return {TopicPartition(f.topic, f.partition): f.offset for f in found if f.offset != OFFSET_INVALID}

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these; one that was given up is waited for first, so that none comes after a later one.

        Raises:
            RetriableError: no answer in time.
            ConnectError: refused; with members in the group somebody else owns this connector.
        """
        doing = f"Committing offsets to {self._where}"
        self._trouble = None
        with translating(doing):
            client, given_up = self._made(), self._under_way
            self._await(client, doing)
            if given_up == offsets and self._refusal(doing) is None:
                return  # they have come through meanwhile
            self._under_way = dict(offsets)
            try:
                client.commit(offsets=[Position(t, p, o) for (t, p), o in offsets.items()], asynchronous=True)
            except BaseException:
                self._under_way = None
                raise
            self._await(client, doing)
        refusal = self._refusal(doing)
        if refusal is not None:
            raise refusal

    def close(self) -> None:
        """Let go of the connection; not of one that waits for a broker's answer, which would be waited for."""
        if self._client is not None and self._under_way is None:
            with suppress(KafkaException):
                self._client.close()

    def _made(self) -> Consumer:
        if self._client is None:

            def answered(error: KafkaError | None, partitions: list[Position]) -> None:
                if client is self._client:  # one that was let go may still tell of its last commit
                    self._answered(error, partitions)

            client = self._client = Consumer({**self._config, "on_commit": answered})
        return self._client

    def _renew(self) -> None:
        """Go on with a new client, where this one has had no answer for long. What it was to commit counts no more."""
        if self._client is not None and self._renewal.is_due(f"The client that commits for group '{self._group}'"):
            close_in_background(self._client)
            self._client = self._under_way = None

    def _look(self, client: Consumer, seconds: float) -> None:
        message = client.poll(seconds)
        if message is not None and (error := message.error()) is not None:
            self._trouble = error

    def _heard(self, error: KafkaError) -> None:
        self._trouble = error

    def _answered(self, error: KafkaError | None, partitions: list[Position]) -> None:
        self._answer = (error, partitions)
        self._under_way = None
        self._renewal.answered()

    def _await(self, client: Consumer, doing: str) -> None:
        deadline = self._clock() + _PATIENCE
        looks = 0
        while self._under_way is not None:
            if self._clock() > deadline:
                why = "" if self._trouble is None else f": {self._trouble.str()} ({self._trouble.name()})"
                self._renew()
                raise RetriableError(f"{doing}: no answer for {_PATIENCE:.0f} s{why}")
            looks += 1
            self._look(client, _POLL_BACKOFF.pause(looks))  # it does not return for an answer

    def _refusal(self, doing: str) -> ConnectError | None:
        """What the last answer says against its offsets."""
        error, partitions = self._answer
        if error is not None:
            if error.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION):
                return ConnectError(
                    f"Committing offsets to group '{self._group}' was refused because the group has members: somebody "
                    f"else runs this connector (Kafka Connect, or another consumer). Stop it there first."
                )
            if error.code() in GONE:  # all of them are
                return RetriableError(f"{doing}: {names_of((p.topic, p.partition) for p in partitions)} is gone")
            return translated(error, doing)
        for p in partitions:
            if p.error is not None:
                if p.error.code() in GONE:  # the next look for topics lets go of it; the others are committed
                    return RetriableError(f"{doing}: {p.topic}-{p.partition} is gone")
                return translated(p.error, doing)
        return None
