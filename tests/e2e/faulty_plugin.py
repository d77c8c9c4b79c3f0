"""A source and a sink that fail on command, for pods: where, how and since when is in their configuration.

A call fails while the file `/tmp/broken` is in the pod, or with `at.once` until the file `/tmp/mended` is.
"""

from typing import Any, Final

from .place import Connector, Place

__all__ = ["breaks", "faulty_sink", "faulty_source", "mends"]

_TEXT: Final = """
import os
import time
from pathlib import Path

from penstock import (
    Config, PollingSource, Record, RetriableError, Sink, SinkConnector, SourceConnector, SourcePartition, Writer, prop
)

ALL = SourcePartition({"all": "records"})
held = []


class FaultyConfig(Config):
    topic: str = prop("topic", "", doc="Where a source writes to.")
    call: str = prop("call", "", doc="The call that fails: start, read, write or plan.")
    how: str = prop("how", "", doc="How it fails: waits, retries, raises, exits, grows or is slow.")
    at_once: bool = prop("at.once", False, doc="Whether it fails from the start on.")
    size: int = prop("size", 1, doc="Characters of a record.")


def is_broken(config):
    return Path("/tmp/broken").exists() or (config.at_once and not Path("/tmp/mended").exists())


def call(name, config, records=0):
    if config.call != name or not is_broken(config):
        return
    match config.how:
        case "waits":
            while is_broken(config):
                time.sleep(0.2)
        case "is slow":
            time.sleep(records / 20)
        case "retries":
            raise RetriableError("cannot connect to db.example:5432: connection refused")
        case "raises":
            raise ValueError("cannot read the answer of db.example: it ends in the middle")
        case "exits":
            os._exit(3)
        case "grows":
            while True:
                held.append(b"x" * (16 << 20))


class FaultySource(PollingSource):
    def __init__(self, config):
        self._config = config

    def start(self, offsets):
        call("start", self._config)

    def read(self, start, limits):
        call("read", self._config)
        time.sleep(0.1)
        number = start.get(ALL, {}).get("next") or 0
        yield [Record(topic=self._config.topic, value="x" * self._config.size)], {ALL: {"next": number + 1}}


class Source(SourceConnector):
    Config = FaultyConfig

    def task_configs(self, config, properties, max_tasks):
        call("plan", config)
        return [dict(properties)]

    def source(self, config):
        return FaultySource(config)

    def reader(self, config):
        raise NotImplementedError


class FaultySink(Sink):
    def __init__(self, config):
        self._config = config

    def start(self):
        call("start", self._config)


class FaultyWriter(Writer):
    def __init__(self, config):
        self._config = config

    def write(self, batches, report):
        call("write", self._config, sum(len(batch) for batch in batches))


class SinkOfNothing(SinkConnector):
    Config = FaultyConfig

    def sink(self, config):
        return FaultySink(config)

    def writer(self, config):
        return FaultyWriter(config)
"""


def faulty_source(place: Place, call: str = "", how: str = "", **config: Any) -> Connector:
    """A source, not applied, of ten records a second, one call of which can fail: `start`, `read` or `plan`."""
    own = {"topic": f"{place.namespace}.faulty", "call": call, "how": how, **_properties(config)}
    return place.unapplied("faulty", "faulty:Source", own, template=place.plugin("faulty", _TEXT))


def faulty_sink(place: Place, call: str = "", how: str = "", **config: Any) -> Connector:
    """A sink, not applied, of the topic `<namespace>.in`, one call of which can fail: `start` or `write`."""
    own = {"topics": f"{place.namespace}.in", "call": call, "how": how, **_properties(config)}
    return place.unapplied("faulty", "faulty:SinkOfNothing", own, template=place.plugin("faulty", _TEXT))


def breaks(connector: Connector) -> None:
    """Let the call fail from now on."""
    connector.kubectl("exec", connector.pod(), "--", "touch", "/tmp/broken")


def mends(connector: Connector) -> None:
    """Let the call succeed from now on."""
    connector.kubectl("exec", connector.pod(), "--", "sh", "-c", "rm -f /tmp/broken; touch /tmp/mended")


def _properties(config: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in config.items()}
