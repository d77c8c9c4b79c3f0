"""`penstock topics --active`: the topics that a connector has used, all of them (KIP-558)."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from penstock.errors import ConfigError, Problem
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.connect.status_records import ActiveTopic, is_topic_of
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.job.offsets_target import target_by_name
from penstock_runtime.job.preparing import ClientErrors, with_kafka
from penstock_runtime.kafka.compacted_topic import read_to_end
from penstock_runtime.local.offsets.given import redacted, request_of
from penstock_runtime.local.offsets.options import OffsetsOptions
from penstock_runtime.logs import say

__all__ = ["active_topics", "show_active_topics"]


def show_active_topics(options: OffsetsOptions) -> ExitCode:
    """Print a line for each topic, by name: since when it is used, by which task first, and its name.

    Raises:
        ConfigError: the file or the worker configuration is wrong, or topics are not tracked.
        ConnectError: Kafka is away, or refuses.
    """
    request, redactor = request_of(options)
    if not WorkerConfig.parse(request.worker).topic_tracking_enable:
        raise ConfigError(Problem("topic.tracking.enable", "Topic tracking is disabled."))

    def read() -> tuple[str, Sequence[ActiveTopic]]:
        errors = ClientErrors()
        place = target_by_name(request, errors).place

        def entries() -> Sequence[Entry]:
            try:
                return read_to_end(place.shared, place.status_topic)
            except NoSuchTopic:
                return ()

        return place.connector, active_topics(with_kafka(entries, place.shared, client_errors=errors), place.connector)

    name, topics = redacted(redactor, read)
    for topic in topics:
        since = datetime.fromtimestamp(topic.discovered / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        sys.stdout.write(f"{since}   {topic.task:>4}   {topic.name}\n")
    hint = ""
    if not topics and "." not in name:
        hint = f". On Kubernetes the name in Kafka is <namespace>.{name}: set metadata.namespace or spec.connectName"
    say(f"{name}: {len(topics)} active topic{'' if len(topics) == 1 else 's'}{hint}")
    return ExitCode.OK


def active_topics(entries: Iterable[Entry], connector: str) -> Sequence[ActiveTopic]:
    """The active topics of a connector in the records of the status topic, by name; of each that which came first."""
    records: dict[bytes, bytes] = {}
    for key, value in entries:
        if not is_topic_of(key, connector):
            continue
        if value is None:
            records.pop(key, None)
        else:
            records[key] = ActiveTopic.earlier(records.get(key), value)
    return sorted(t for value in records.values() if (t := ActiveTopic.of(value)) is not None)
