"""`penstock topics --active` and `--reset`: list or forget the topics that a connector has used (KIP-558)."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from penstock.errors import ConfigError, ConnectError, Problem
from penstock_cli.offsets.given import redacted, request_of
from penstock_cli.offsets.options import OffsetsOptions
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.status_records import ActiveTopic, topic_key
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import JobRequest
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.job.offsets_target import target_by_name
from penstock_runtime.job.rivals import known_in
from penstock_runtime.job.with_kafka import ClientErrors, with_kafka
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.status_topic import active_topics
from penstock_runtime.logs import say

__all__ = ["reset_active_topics", "show_active_topics"]


class _Found(NamedTuple):
    """Records of the status topic, and the active topics in them."""

    place: Place
    entries: Sequence[Entry]
    topics: Sequence[ActiveTopic]


def show_active_topics(options: OffsetsOptions) -> ExitCode:
    """Print a line for each topic, sorted by name: the time of its first use, the first task that used it, and its name.

    Raises:
        ConfigError: the file or the worker configuration is wrong, or topics are not tracked.
        ConnectError: Kafka is unreachable, or rejects the request.
    """
    request, redactor, _ = _given(options)
    place, _, topics = redacted(redactor, lambda: _read(request))
    for topic in topics:
        since = datetime.fromtimestamp(topic.discovered / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        sys.stdout.write(f"{since}   {topic.task:>4}   {topic.name}\n")
    say(f"{place.connector}: {_count(topics)}{_hint(place, topics)}")
    return ExitCode.OK


def reset_active_topics(options: OffsetsOptions) -> ExitCode:
    """Reset the active topics of a connector that is not running. Running tasks would not record their topics again.

    Raises:
        ConfigError: the file or the worker configuration is wrong, or topics are not tracked, or may not be reset.
        ConnectError: the connector may be running; Kafka is unreachable, or rejects the request.
    """
    request, redactor, worker = _given(options)
    if not worker.topic_tracking_allow_reset:
        raise ConfigError(Problem("topic.tracking.allow.reset", "Topic tracking reset is disabled."))

    def reset() -> _Found:
        found = _read(request)
        place, name = found.place, found.place.connector
        if known_in(found.entries, name).rival and not options.is_forced:
            raise ConnectError(
                f"cannot reset the active topics of {name}: according to its status topic, it is running, or an operator "
                f"manages it; stop `penstock run`, or stop the connector in Kafka Connect. For a Connector on Kubernetes, "
                f"use the annotation penstock.dev/reset-topics. If none of these exists any more, add --force"
            )
        writer = StatusWriter(place.shared, client_id=f"penstock-topics-{name}")
        try:
            writer.write(place.status_topic, [(topic_key(topic.name, name), None) for topic in found.topics])
        finally:
            writer.close()
        return found

    place, _, topics = redacted(redactor, reset)
    say(f"{place.connector}: {_count(topics)} reset{_hint(place, topics)}")
    return ExitCode.OK


def _given(options: OffsetsOptions) -> tuple[JobRequest, Redactor, WorkerConfig]:
    request, redactor = request_of(options)
    worker = WorkerConfig.parse(request.worker)
    if not worker.topic_tracking_enable:
        raise ConfigError(Problem("topic.tracking.enable", "Topic tracking is disabled."))
    return request, redactor, worker


def _read(request: JobRequest) -> _Found:
    errors = ClientErrors()
    place = target_by_name(request, errors).place

    def entries() -> Sequence[Entry]:
        try:
            return read_to_end(place.shared, place.status_topic)
        except NoSuchTopic:
            return ()

    found = with_kafka(entries, place.shared, client_errors=errors)
    return _Found(place, found, active_topics(found, place.connector))


def _count(topics: Sequence[ActiveTopic]) -> str:
    return f"{len(topics)} active topic{'' if len(topics) == 1 else 's'}"


def _hint(place: Place, topics: Sequence[ActiveTopic]) -> str:
    name = place.connector
    if topics or "." in name:
        return ""
    return f". On Kubernetes the name in Kafka is <namespace>.{name}: set metadata.namespace or spec.connectName"
