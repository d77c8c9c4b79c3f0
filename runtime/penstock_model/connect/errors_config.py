"""`errors.*`: what happens to records that fail (KIP-298)."""

from typing import Annotated

from penstock.config import Config, prop
from penstock.rules import long, short, words

__all__ = ["ErrorsConfig"]


class ErrorsConfig(Config):
    """The properties of a connector, or of a worker for all of its connectors."""

    errors_tolerance: Annotated[str, words("none", "all")] = prop(
        "errors.tolerance",
        "none",
        doc="What a failing record does: `none` fails the task, `all` leaves the record out and goes on.",
    )
    errors_retry_timeout: Annotated[int, long] = prop(
        "errors.retry.timeout",
        0,
        doc="How long, in milliseconds, a step that fails in passing is tried again. 0: not at all; -1: for ever.",
    )
    errors_retry_delay_max_ms: Annotated[int, long] = prop(
        "errors.retry.delay.max.ms",
        60_000,
        doc="The longest pause between two tries, in milliseconds. Pauses start at 300 ms and double.",
    )
    errors_log_enable: bool = prop("errors.log.enable", default=False, doc="Whether each failing record is logged.")
    errors_log_include_messages: bool = prop(
        "errors.log.include.messages",
        default=False,
        doc="Whether that log line tells the record: its position, and at a source its key and value.",
    )
    dlq_topic: str = prop(
        "errors.deadletterqueue.topic.name",
        "",
        doc="The topic that failing records are written to. Empty: there is none. Penstock has it for sources too.",
    )
    dlq_replication_factor: Annotated[int, short] = prop(
        "errors.deadletterqueue.topic.replication.factor",
        3,
        doc="The replication factor of the dead letter queue when it must be created. -1: the broker's default.",
    )
    dlq_headers: bool = prop(
        "errors.deadletterqueue.context.headers.enable",
        default=False,
        doc="Whether headers `__connect.errors.*` say where and why the record failed.",
    )
