"""Delete a consumer group's offsets of single partitions, with Kafka's OffsetDelete request (KIP-496).

confluent_kafka has no method for it, but librdkafka, which confluent_kafka loads, has one: this module calls its C API, with
a separate client. Structures of that API are opaque except partition lists, whose layout is part of the API.
"""

import ctypes
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, cimpl

from penstock.errors import ConnectError

__all__ = ["check_deletion", "delete_offsets"]

_PRODUCER: Final = 0
"""Kind of client; any kind can send administrative requests."""
_ANY: Final = 0
"""RD_KAFKA_ADMIN_OP_ANY: options for any administrative request."""
_TEXT: Final = 512
_GRACE: Final = 2.0
"""Additional seconds to wait for librdkafka to report its timeout."""
_POINTERS: Final = (
    "rd_kafka_conf_new",
    "rd_kafka_new",
    "rd_kafka_queue_new",
    "rd_kafka_AdminOptions_new",
    "rd_kafka_topic_partition_list_new",
    "rd_kafka_topic_partition_list_add",
    "rd_kafka_DeleteConsumerGroupOffsets_new",
    "rd_kafka_queue_poll",
    "rd_kafka_event_DeleteConsumerGroupOffsets_result",
    "rd_kafka_DeleteConsumerGroupOffsets_result_groups",
    "rd_kafka_group_result_error",
    "rd_kafka_group_result_partitions",
)
_TEXTS: Final = ("rd_kafka_event_error_string", "rd_kafka_error_string", "rd_kafka_err2str")
_OTHERS: Final = (
    "rd_kafka_conf_set",
    "rd_kafka_conf_destroy",
    "rd_kafka_destroy",
    "rd_kafka_queue_destroy",
    "rd_kafka_AdminOptions_set_request_timeout",
    "rd_kafka_AdminOptions_destroy",
    "rd_kafka_topic_partition_list_destroy",
    "rd_kafka_DeleteConsumerGroupOffsets",
    "rd_kafka_DeleteConsumerGroupOffsets_destroy",
    "rd_kafka_event_error",
    "rd_kafka_event_destroy",
    "rd_kafka_error_code",
)
"""Functions that return numbers or nothing."""


class _Partition(ctypes.Structure):
    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("partition", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("metadata", ctypes.c_void_p),
        ("metadata_size", ctypes.c_size_t),
        ("opaque", ctypes.c_void_p),
        ("error", ctypes.c_int),
        ("private", ctypes.c_void_p),
    )


class _Partitions(ctypes.Structure):
    _fields_ = (("count", ctypes.c_int), ("size", ctypes.c_int), ("elements", ctypes.POINTER(_Partition)))


def check_deletion() -> None:
    """Check that librdkafka has all functions that `delete_offsets` calls.

    Raises:
        ConnectError: a function is missing.
    """
    try:
        _library()
    except (OSError, AttributeError) as e:
        raise ConnectError(f"cannot delete single offsets: {e}; reset all offsets instead") from e


def delete_offsets(
    config: Mapping[str, Any], group: str, partitions: Collection[tuple[str, int]], *, seconds: float
) -> None:
    """Delete the offsets that a group has committed for these partitions; other offsets remain.

    Args:
        config: properties of an admin client, with librdkafka's names. Python callbacks and loggers are ignored.
        group: group ID.
        partitions: topics and partition numbers.
        seconds: timeout of the request.

    Raises:
        KafkaException: the configuration is invalid, no broker answered in time, or Kafka rejects the request or one of the
            partitions.
    """
    with ExitStack() as closing:
        library = _library()
        client = closing.enter_context(_client(config))
        queue = _made(closing, "rd_kafka_queue_new", "rd_kafka_queue_destroy", client)
        options = _made(closing, "rd_kafka_AdminOptions_new", "rd_kafka_AdminOptions_destroy", client, _ANY)
        named = _made(
            closing, "rd_kafka_topic_partition_list_new", "rd_kafka_topic_partition_list_destroy", len(partitions)
        )
        for topic, number in partitions:
            library.rd_kafka_topic_partition_list_add(named, topic.encode(), ctypes.c_int32(number))
        request = _made(
            closing,
            "rd_kafka_DeleteConsumerGroupOffsets_new",
            "rd_kafka_DeleteConsumerGroupOffsets_destroy",
            group.encode(),
            named,
        )
        text = ctypes.create_string_buffer(_TEXT)
        milliseconds = ctypes.c_int(int(seconds * 1000))
        if code := library.rd_kafka_AdminOptions_set_request_timeout(options, milliseconds, text, _size(_TEXT)):
            raise _error(code, text.value)
        library.rd_kafka_DeleteConsumerGroupOffsets(client, ctypes.byref(request), _size(1), options, queue)
        event = ctypes.c_void_p(library.rd_kafka_queue_poll(queue, ctypes.c_int(int((seconds + _GRACE) * 1000))))
        if not event.value:
            raise _error(KafkaError._TIMED_OUT, b"no answer")  # noqa: SLF001 (the client's name of the code)
        closing.callback(library.rd_kafka_event_destroy, event)
        _check(event)


def _check(event: ctypes.c_void_p) -> None:
    """Raise the error in a response, if any."""
    library = _library()
    if code := library.rd_kafka_event_error(event):
        raise _error(code, library.rd_kafka_event_error_string(event))
    result = ctypes.c_void_p(library.rd_kafka_event_DeleteConsumerGroupOffsets_result(event))
    count = ctypes.c_size_t()
    found = library.rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, ctypes.byref(count))
    groups = ctypes.cast(found, ctypes.POINTER(ctypes.c_void_p))
    for number in range(count.value):
        group = ctypes.c_void_p(groups[number])
        if error := library.rd_kafka_group_result_error(group):
            refused = ctypes.c_void_p(error)
            raise _error(library.rd_kafka_error_code(refused), library.rd_kafka_error_string(refused))
        if not (listed := library.rd_kafka_group_result_partitions(group)):
            continue
        each = ctypes.cast(listed, ctypes.POINTER(_Partitions)).contents
        for partition in each.elements[: each.count]:
            if partition.error:
                raise _error(partition.error, library.rd_kafka_err2str(partition.error))


@contextmanager
def _client(config: Mapping[str, Any]) -> Iterator[ctypes.c_void_p]:
    library, text = _library(), ctypes.create_string_buffer(_TEXT)
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    try:
        for name, value in {**config, "log_level": 0}.items():  # librdkafka would write to standard error
            if not isinstance(value, (str, int, float)):
                continue
            as_text = str(value).lower() if isinstance(value, bool) else str(value)
            given = (name.encode(), as_text.encode(), text, _size(_TEXT))
            if library.rd_kafka_conf_set(conf, *given):
                raise _error(KafkaError._INVALID_ARG, text.value)  # noqa: SLF001 (as above)
        client = ctypes.c_void_p(library.rd_kafka_new(_PRODUCER, conf, text, _size(_TEXT)))
        if not client.value:
            raise _error(KafkaError._INVALID_ARG, text.value)  # noqa: SLF001 (as above)
    except BaseException:
        library.rd_kafka_conf_destroy(conf)
        raise
    try:
        yield client
    finally:
        library.rd_kafka_destroy(client)


def _made(closing: ExitStack, make: str, destroy: str, *arguments: Any) -> ctypes.c_void_p:
    """Create a librdkafka object, which `closing` destroys when it exits."""
    library = _library()
    found = ctypes.c_void_p(getattr(library, make)(*arguments))
    closing.callback(getattr(library, destroy), found)
    return found


def _size(number: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(number)


def _error(code: int, text: bytes | None) -> KafkaException:
    return KafkaException(KafkaError(code, (text or b"").decode(errors="replace")))


@cache
def _library() -> Any:
    """Return librdkafka, loaded through the extension module of confluent_kafka, which is linked to it."""
    library = ctypes.CDLL(cimpl.__file__)
    for name in _POINTERS:
        getattr(library, name).restype = ctypes.c_void_p
    for name in _TEXTS:
        getattr(library, name).restype = ctypes.c_char_p
    for name in _OTHERS:
        getattr(library, name)
    return library
