"""Exchange calls, records and requests with one JVM, and kill it if it does not respond."""

import logging
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from copy import copy
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_model.resources.task_settings import Java
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded, JvmLost
from penstock_runtime.java_plugins.jvm.jvm_process import Jvm
from penstock_runtime.java_plugins.wire import LENGTH, PROTOCOL, decode, frame

__all__ = ["Connection"]

log = logging.getLogger(__name__)
_SILENCE: Final = 30.0
"""Seconds without a message after which a JVM counts as frozen; it sends one every 5 s."""
_SLICE: Final = 0.5
_LONGEST_SLICE: Final = 2.0
"""Maximum seconds of one check that count as silence: if it took longer, this process itself was suspended."""
_CLOSE: Final = 2.0  # seconds

Message = list[Any]


class Connection:
    """Connection to a running plugin host. Any thread may make calls; only one thread may take records.

    Args:
        java, is_long: as for `Jvm`.

    Attributes:
        on_task_request: called in another thread with the epoch of a sink task, its request and the arguments.
        on_connector_request: called in another thread with a request of the Connector object and the arguments.
        answer: answers a lookup by the host: returns the committed offset, or None, of each source partition.

    Raises:
        ConnectError: Java cannot be started.
    """

    def __init__(self, java: Java, *, is_long: bool) -> None:
        self.answer: Callable[[Sequence[Mapping[str, Any] | None]], Sequence[Mapping[str, Any] | None]] = lambda p: [
            None for _ in p
        ]
        self.on_task_request: Callable[[int, str, Any], None] = lambda epoch, what, arguments: None
        self.on_connector_request: Callable[[str, Any], None] = lambda what, arguments: None
        self._jvm = Jvm(java, is_long=is_long)
        self._calls: dict[int, Future[Any]] = {}
        self._numbers = count(1)
        self._writing = threading.Lock()
        self._asking = threading.Lock()
        self._asked: Future[Any] | None = None
        self._arrived: SimpleQueue[Message | None] = SimpleQueue()
        self._heard = 0
        self._silence = 0.0
        self._checked = time.monotonic()
        self._seen = 0
        self._end: JvmEnded | None = None
        self._is_closed = False
        threading.Thread(target=self._read, name="messages of a plugin", daemon=True).start()

    @property
    def is_open(self) -> bool:
        """Return whether the JVM is running, as far as this process knows."""
        return self._end is None and not self._is_closed

    def call(self, method: str, timeout: float | None = None, **arguments: Any) -> Any:
        """Call a method of the host, and return its result.

        Args:
            method: name of the method (`Main.dispatch`).
            timeout: seconds to wait; None: until the JVM ends or freezes.
            arguments: arguments of the method.

        Raises:
            JavaError: the plugin threw an exception.
            JvmEnded: the JVM has ended or is frozen, or there is no answer in time.
        """
        future = self._send(method, arguments)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            rest = _SLICE if deadline is None else min(_SLICE, max(0.0, deadline - time.monotonic()))
            try:
                return future.result(rest)
            except FutureTimeoutError:
                self._check()
            if deadline is not None and time.monotonic() >= deadline:
                raise JvmEnded(f"its JVM has not answered {method} within {timeout:g} s")

    def ask(self, method: str, seconds: float) -> Any:
        """Call a method without arguments, without delaying the calls of the task.

        At most one such call is pending. A JVM that does not answer is not killed.

        Returns:
            The result; None if there is none in time, or the JVM has ended.
        """
        deadline = time.monotonic() + seconds
        if not self._asking.acquire(timeout=seconds):
            return None
        try:
            if self._asked is None or self._asked.done():
                self._asked = self._try_send(method, deadline)
            return None if self._asked is None else self._asked.result(max(0.0, deadline - time.monotonic()))
        except (FutureTimeoutError, JavaError, JvmEnded) as e:
            log.debug("The JVM of Java plugins has not answered %s: %s", method, e)
            return None
        finally:
            self._asking.release()

    def commit(self, epoch: int, sequence: int, places: Sequence[Any]) -> None:
        """Notify the task of that epoch that the records up to this message are in Kafka. Does not wait for the task.

        Args:
            epoch: epoch of the task.
            sequence: number of the last message.
            places: for each message its number and, for each record in Kafka, the row, topic, partition and offset; empty
                if the task does not need them.
        """
        self._write(["commit", epoch, sequence, places])

    def allow(self, epoch: int, polls: int) -> None:
        """Allow the task of that epoch `polls` more polls."""
        self._write(["credit", epoch, polls])

    def reported(self, epoch: int, number: int, failure: str | None) -> None:
        """Notify the sink task of that epoch that a record's dead letter is in Kafka, or why it is not."""
        self._write(["reported", epoch, number, failure])

    def check(self) -> None:
        """Raise `JvmEnded` if the JVM has ended, or is frozen."""
        self._check()

    def next(self, timeout: float) -> Message | None:
        """Return the next message: records, with the message's length in bytes appended, a boundary, or a poll failure.

        Returns None if there was none within `timeout` seconds.

        Raises:
            JvmEnded: the JVM has ended or is frozen.
        """
        try:
            message = self._arrived.get(timeout=timeout) if timeout > 0 else self._arrived.get_nowait()
        except Empty:
            self._check()
            return None
        if message is None:
            self._raise_end()
        return message

    def close(self) -> None:
        """End the JVM."""
        self._is_closed = True
        self._jvm.close(_CLOSE)

    def kill(self) -> None:
        """Kill the JVM."""
        self._is_closed = True
        self._jvm.kill()

    def _send(self, method: str, arguments: Mapping[str, Any]) -> "Future[Any]":
        number, future = next(self._numbers), Future[Any]()
        self._calls[number] = future
        self._write(["call", number, method, arguments])
        return future

    def _try_send(self, method: str, deadline: float) -> "Future[Any] | None":
        """Send a short call before the deadline; return None if other calls or a full pipe prevent that."""
        if not self._writing.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return None
        try:
            pipe = select.poll()
            pipe.register(self._jvm.requests, select.POLLOUT)
            if not pipe.poll(1000 * max(0.0, deadline - time.monotonic())):
                return None
            number, future = next(self._numbers), Future[Any]()
            self._calls[number] = future
            self._jvm.requests.write(frame(["call", number, method, {}]))
        except (OSError, ValueError):
            return None
        else:
            return future
        finally:
            self._writing.release()

    def _write(self, message: Message) -> None:
        content = frame(message)
        try:
            with self._writing:
                rest = memoryview(content)
                while rest:  # a raw pipe may accept only a part
                    rest = rest[self._jvm.requests.write(rest) :]
        except (OSError, ValueError):
            self._raise_end()

    def _read(self) -> None:
        pipe, end = self._jvm.messages, None
        try:
            while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
                (length,) = LENGTH.unpack(head)
                if len(content := pipe.read(length)) < length:
                    break  # the JVM ended within a message
                self._take(decode(content), length)
                self._heard += 1
        except JvmEnded:
            pass  # the JVM ended before it got an answer
        except Exception as e:
            log.exception("Cannot read the messages of a plugin's JVM")
            end = JvmEnded(f"a message of its JVM cannot be read: {type(e).__name__}: {e}")
            self._jvm.kill()
        finally:
            pipe.close()
            self._end = end or self._jvm.cause_of_end()
            self._arrived.put(None)
            for future in list(self._calls.values()):
                with suppress(Exception):  # the result is already set
                    future.set_exception(copy(self._end))

    def _take(self, message: Message, length: int) -> None:
        match message:
            case ["records", *_]:
                self._arrived.put([*message, length])
            case ["failed" | "boundary", *_]:
                self._arrived.put(message)
            case ["result", number, value]:
                self._calls.pop(number).set_result(value)
            case ["error", number, error]:
                future = self._calls.pop(number)
                future.set_exception(JavaError(*error))
            case ["request", epoch, what, arguments]:
                self.on_task_request(epoch, what, arguments)
            case ["connector", what, arguments]:
                self.on_connector_request(what, arguments)
            case ["lookup", number, partitions]:
                self._write(["answer", number, self._answered(partitions)])
            case ["ready", protocol] if protocol != PROTOCOL:
                raise ConnectError(f"the plugin host uses protocol version {protocol}, not {PROTOCOL}")
            case _:
                pass  # `ready` and `beat`: counted as a sign of life

    def _answered(self, partitions: Sequence[Mapping[str, Any] | None]) -> Any:
        try:
            return self.answer(partitions)
        except Exception as e:  # noqa: BLE001 (raised in Java, where the plugin asked)
            return str(e)

    def _check(self) -> None:
        """Raise `JvmEnded` if the JVM has ended; kill it if it is frozen."""
        if self._end is not None:
            self._raise_end()
        now = time.monotonic()
        if self._heard != self._seen:
            self._seen, self._silence = self._heard, 0.0
        else:
            self._silence += min(now - self._checked, _LONGEST_SLICE)
        self._checked = now
        if self._silence > _SILENCE:
            self.kill()
            raise JvmLost(f"its JVM was stopped or frozen: it did not answer for {self._silence:.0f} s, and was killed")

    def _raise_end(self) -> None:
        # The reading thread notices the end of the pipe at the same moment.
        raise copy(self._end if self._end is not None else self._jvm.cause_of_end())
