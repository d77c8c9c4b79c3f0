"""Context of a sink task's process: adds the consumer group, the topics and the limits of puts to the shared context."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

from penstock import _returned as returned
from penstock.errors import ConfigError
from penstock.sink import FrameSink, Sink, SinkConnector, SinkTaskContext, Writer
from penstock_java_compat.regex import compile_java
from penstock_model.connect.connector_config import SinkConfig
from penstock_model.connect.consumer_group import default_consumer_group
from penstock_runtime.java_plugins.group_sinks import client_prefix, with_worker_clients
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.sink.frames import FramePut
from penstock_runtime.sink.paused_partitions import PausedPartitions
from penstock_runtime.sink.plugin_requests import PluginRequests
from penstock_runtime.sink.reported_records import ReportedRecords
from penstock_runtime.sink.sink_process import PutRetries, SinkProcess
from penstock_runtime.spark.session import Spark

__all__ = ["SinkContext"]

_STAGED: Final = 6
"""Maximum duration of a staged part, as a multiple of `batch.max.ms`."""
_READING: Final = 60.0
"""Seconds that a Spark worker waits for records (`RangeReader`)."""


@dataclass(frozen=True, eq=False)
class SinkContext(TaskContext):
    """Context of a sink task."""

    framework: SinkConfig

    @staticmethod
    def parse_framework(config: Mapping[str, str]) -> SinkConfig:
        """See `TaskContext.parse_framework`."""
        return SinkConfig.parse(config)

    @cached_property
    def connector(self) -> SinkConnector:
        """Connector plugin."""
        return cast("SinkConnector", self.plugin())

    @property
    def driver_only(self) -> str | None:
        """See `TaskContext.driver_only`. With a rate limit, the driver reads, and Spark still writes DataFrames."""
        if (reason := super().driver_only) is not None or not self.connector.buffering:
            return reason
        return "its sink keeps records in the memory of one process"

    @property
    def batch_timeout(self) -> float:
        """Seconds after which a batch on Spark counts as lost.

        The sum of a worker's time for the batch, or the minute that it waits for records if that is longer, and the maximum
        duration of its last write. A worker that still responds detects a timeout earlier.
        """
        return max(_READING, self.range_seconds) + self.put_seconds

    @property
    def group(self) -> str:
        """Consumer group: `connect-<connector>` unless overridden."""
        return str(self.settings.consumer.get("group.id", default_consumer_group(self.spec.connector)))

    @property
    def client_prefix(self) -> str | None:
        """Prefix of the Kafka client properties of a Java sink that commits its offsets itself; None for any other sink."""
        return client_prefix(self.spec.plugins["connector"].reference)

    @cached_property
    def plugin_config(self) -> Any:
        """Parsed `Config` of the connector."""
        if self.client_prefix is None:
            return super().plugin_config
        layers = self.worker.clients("consumer")
        return self.connector.Config.parse(with_worker_clients(self.config, self.client_prefix, layers))

    @property
    def topics(self) -> list[str]:
        """Value of `topics`."""
        return self.framework.topics

    @cached_property
    def topic_matches(self) -> Callable[[str], object] | None:
        """Function that returns whether a name matches `topics.regex`; None if `topics` is set."""
        pattern = self.framework.topics_regex
        return compile_java(pattern).matches if pattern else None

    def reads(self, topic: str) -> object:
        """Return whether any task of the sink reads a topic, whether or not the topic exists."""
        return topic in self.topics if self.topic_matches is None else self.topic_matches(topic)

    @property
    def topics_text(self) -> str:
        """Topics of the sink, for messages."""
        if self.topics:
            return "topics " + ", ".join(f"'{t}'" for t in self.topics)
        return f"topics.regex '{self.framework.topics_regex}'"

    @property
    def put_records(self) -> int:
        """Maximum number of records of one `write`: `max.poll.records`."""
        return self.followed.get("max.poll.records", 5_000)

    @property
    def range_seconds(self) -> float:
        """Seconds after which a Spark worker ends its part of a batch, even if it is incomplete.

        If a part ends early, all later records must be staged again. Staged batches get more time in case a machine is busy.
        """
        return self.batch_seconds * (_STAGED if self.staged else 1)

    @property
    def put_seconds(self) -> float:
        """Seconds that one `write` may take in a Spark worker before the worker counts as lost: `max.poll.interval.ms`."""
        return self.followed.get("max.poll.interval.ms", 300_000) / 1000

    @property
    def frame_records(self) -> int:
        """Maximum number of records of one frame: `max.poll.records`.

        The default is larger than for `put_records`, because each frame costs a Spark job and files.
        """
        return self.followed.get("max.poll.records", min(self.limits.records, 100_000))

    @property
    def metadata_seconds(self) -> float:
        """Seconds between two searches for new topics and partitions: `metadata.max.age.ms`."""
        return self.followed.get("metadata.max.age.ms", 300_000) / 1000

    @property
    def commit_seconds(self) -> float:
        """Maximum seconds between writing records and committing their offsets."""
        seconds = self.worker.offset_flush_interval_ms / 1000
        return seconds if self.connector.buffering else min(1.0, seconds)

    @property
    def single_writer(self) -> bool:
        """Return whether the sink writes in one process only."""
        return self.connector.single_writer

    @property
    def staged(self) -> bool:
        """Return whether the sink's writers stage a backlog in several processes in parallel."""
        return self.connector.staged

    def sink(self, pauses: PausedPartitions, asked: PluginRequests, reported: ReportedRecords) -> Sink:
        """Return the driver half of the sink; its context forwards requests to these objects."""
        spec, sink = self.spec, self._sink
        start_id = f"{self.start_id}-{uuid.uuid4().hex[:12]}"
        given = (pauses.pause, pauses.resume, asked.seek, asked.commit, reported.report)
        sink.initialize(SinkTaskContext(spec.connector, spec.task, start_id, *given))
        return sink

    @property
    def takes_frames(self) -> bool:
        """Return whether the sink takes Spark DataFrames."""
        return isinstance(self._sink, FrameSink)

    @cached_property
    def _sink(self) -> Sink:
        """Driver half of the sink, not initialized. A process creates only one, because only a started one is closed."""
        return returned.instance(
            self.connector.sink(self.plugin_config), (Sink,), returned.name(self.connector, "sink")
        )

    def _writer(self) -> Writer:
        writer = self.connector.writer(self.plugin_config)
        return returned.instance(writer, (Writer,), returned.name(self.connector, "writer"))

    def writing_process(self, stopping: Callable[[], bool], **more: Any) -> SinkProcess:
        """Return this process's part of a sink task that has writers."""
        f = self.framework
        return SinkProcess(
            self.settings,
            connector=self.spec.connector,
            task=self.spec.task,
            steps=self.steps,
            converters=self.converters,
            policy=self.policy,
            retries=PutRetries(f.sink_retry_timeout_ms / 1000, f.sink_retry_delay_max_ms / 1000),
            writer=self._writer,
            stopping=stopping,
            redact=self.redactor,
            **more,
        )

    def sink_process(
        self, sink: Sink, stopping: Callable[[], bool], *, spark: Spark | None, **more: Any
    ) -> SinkProcess | FramePut:
        """Return the driver's part of a sink task."""
        process = self.writing_process(stopping, **more)
        if not isinstance(sink, FrameSink):
            return process
        if self.java_places:
            raise ConfigError(
                f"cannot use the Java plugin of {', '.join(self.java_places)}: Spark's workers make the DataFrames of this "
                "sink, but Java plugins run only in the task's process; use a Python plugin"
            )
        if spark is None:
            raise ConfigError("cannot run this sink without Spark: it takes Spark DataFrames")
        return FramePut(process, sink, spark, seconds=self.batch_seconds, stopping=stopping)
