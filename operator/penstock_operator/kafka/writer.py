"""Writes single records to the status topic, and waits for each."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock_operator.errors import Unavailable
from penstock_operator.kafka.clients import producer_properties
from penstock_operator.kafka.connectivity import credentials_refused
from penstock_operator.settings import Worker

__all__ = ["Entry", "Writer"]

Entry = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""

_TURN: Final = 0.1
_SECONDS: Final = 5.0
_SILENCE: Final = 30.0
"""Seconds without an acknowledgement after which a new producer is made: see the reader's."""


class Writer:
    """A producer that is made when it is first needed, and anew when its credentials are refused or nobody answers it.

    For many threads.

    Args:
        topic: which must exist.
        sentence: an error in words.
        seconds: after which the client gives a record up; whoever writes may give up earlier.
        permit: asked before records are written that may take so many seconds to arrive; raises where they must not be.
    """

    def __init__(
        self, topic: str, sentence: Callable[[KafkaError], str], *, seconds: float = _SECONDS,
        permit: Callable[[float], None] = lambda seconds: None,
    ) -> None:  # fmt: skip
        self._topic = topic
        self._sentence = sentence
        self._seconds = seconds
        self._permit = permit
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._error: KafkaError | None = None
        self._silent_since: float | None = None

    def write(self, worker: Worker, entries: Sequence[Entry], timeout: float) -> None:
        """Write and wait for the acknowledgement of every one.

        Raises:
            Unavailable: not in time, or refused; they may still arrive. Or they must not be written.
        """
        answers: list[KafkaError | None] = []
        deadline = time.monotonic() + timeout
        try:
            producer = self._made(worker)
            self._permit(self._seconds)
            for key, value in entries:
                producer.produce(self._topic, key=key, value=value, on_delivery=lambda e, _: answers.append(e))
            while len(answers) < len(entries) and time.monotonic() < deadline:
                producer.poll(_TURN)
        except KafkaException as e:
            raise Unavailable(self._words(e.args[0])) from e
        except RuntimeError as e:  # another thread's write met refused credentials, and let go of this client
            raise Unavailable(self._words(self._error)) from e
        except BufferError as e:
            raise Unavailable(f"Writing to topic {self._topic}: too much is waiting to be written") from e
        error = next((e for e in answers if e is not None), None)
        if error is not None or len(answers) < len(entries):
            self._given_up()
            raise Unavailable(self._words(self._error or error))
        self._error = self._silent_since = None  # what was met before is over

    def close(self) -> None:
        """Let go of the connections; what was not acknowledged is dropped."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaException):
                producer.purge()
                producer.close()

    def _made(self, worker: Worker) -> Producer:
        with self._lock:
            if self._producer is None:
                self._error = None
                self._producer = Producer(producer_properties(worker, self._heard, self._seconds))
            return self._producer

    def _heard(self, error: KafkaError) -> None:
        if self._error is None or error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self._error = error

    def _given_up(self) -> None:
        with self._lock:
            now = time.monotonic()
            since = self._silent_since = now if self._silent_since is None else self._silent_since
            silent = now - since > _SILENCE
            if silent:
                self._silent_since = None
        if silent or (self._error is not None and credentials_refused(self._error)):
            self.close()

    def _words(self, error: Any) -> str:
        doing = f"Writing to topic {self._topic}"
        if isinstance(error, KafkaError) and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return f"{doing}: Kafka does not allow the operator to write to topic {self._topic} (Write is needed)"
        return f"{doing}: {self._sentence(error)}" if isinstance(error, KafkaError) else f"{doing}: no answer in time"
