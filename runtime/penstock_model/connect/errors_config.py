"""`errors.*`: handling of records that fail (KIP-298)."""

from typing import Annotated

from penstock.config import Config, prop
from penstock.rules import long, short, words

__all__ = ["ErrorsConfig"]


class ErrorsConfig(Config):
    """Properties of a connector, or of a worker for all of its connectors."""

    errors_tolerance: Annotated[str, words("none", "all")] = prop(
        "errors.tolerance",
        "none",
        doc="Behavior for a failing record: `none` fails the task, `all` skips the record and continues.",
    )
    errors_retry_timeout: Annotated[int, long] = prop(
        "errors.retry.timeout",
        0,
        doc="How long, in milliseconds, a step with a temporary failure is retried. 0: not at all; -1: forever.",
    )
    errors_retry_delay_max_ms: Annotated[int, long] = prop(
        "errors.retry.delay.max.ms",
        60_000,
        doc="Maximum delay between retries in milliseconds. Delays start at 300 ms and double.",
    )
    errors_log_enable: bool = prop("errors.log.enable", default=False, doc="Whether each failing record is logged.")
    errors_log_include_messages: bool = prop(
        "errors.log.include.messages",
        default=False,
        doc="Whether that log line includes the record: its position, and for a source its key and value.",
    )
    dlq_topic: str = prop(
        "errors.deadletterqueue.topic.name",
        "",
        doc="The topic that failing records are written to. Empty: none. Penstock supports it for sources too.",
    )
    dlq_replication_factor: Annotated[int, short] = prop(
        "errors.deadletterqueue.topic.replication.factor",
        3,
        doc="The replication factor of the dead letter queue if it must be created. -1: the broker's default.",
    )
    dlq_headers: bool = prop(
        "errors.deadletterqueue.context.headers.enable",
        default=False,
        doc="Whether headers `__connect.errors.*` describe where and why the record failed.",
    )
