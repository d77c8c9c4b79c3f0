"""Requests to Kafka Connect's REST API whose answers Penstock's are compared with."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["CONFIGS", "READS", "in_common"]

CONFIGS: Final[Mapping[str, Mapping[str, str]]] = {
    "lines-in": {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": "in.txt",
        "topic": "lines",
        "tasks.max": "1",
    },
    "lines-out": {
        "connector.class": "FileStreamSink",
        "file": "out.txt",
        "topics": "lines",
        "tasks.max": "2",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    },
    "broken": {
        "connector.class": "FileStreamSink",
        "file": "out.txt",
        "topics": "lines",
        "tasks.max": "1",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    },
    "halted": {"connector.class": "FileStreamSink", "file": "out.txt", "topics": "lines", "tasks.max": "1"},
    "waiting": {"connector.class": "FileStreamSink", "file": "out.txt", "topics": "lines", "tasks.max": "1"},
}
"""Configurations by name: `broken` fails, `halted` is stopped, `waiting` is paused."""

READS: Final = (
    "/health",
    "/connectors",
    "/connectors/",
    "/connectors?expand=status&expand=info",
    "/connectors?expand=status",
    "/connectors?expand=info",
    "/connectors?expand=nothing",
    *(
        f"/connectors/{name}{rest}"
        for name in (*CONFIGS, "none")
        for rest in (
            "",
            "/config",
            "/status",
            "/tasks",
            "/topics",
            "/tasks/0/status",
            "/tasks/9/status",
            "/tasks/x/status",
        )
    ),
    "/connectors/lines-in/offsets",
    "/connectors/lines-out/offsets",
    "/connectors/none/offsets",
    "/connectors/none/nothing",
    "/nothing",
    "/connector-plugins/Nope/config",
)
"""Paths that are read."""


def in_common(path: str, answer: Any) -> Any:
    """Return an answer without what differs on purpose: hosts, traces, the class of a task, the order of names."""
    if path in ("/connectors", "/connectors/"):
        return sorted(answer)
    return _normal(answer)


def _normal(value: Any) -> Any:
    match value:
        case dict():
            return dict(_entries(value))
        case list():
            return [_normal(v) for v in value]
        case _:
            return value


def _entries(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in sorted(value):
        match name:
            case "task.class":
                continue
            case "worker_id":
                yield name, "host:8083"
            case "trace":
                yield name, "a trace"
            case "version" if value[name] is not None:
                yield name, "1.0"
            case "topics" if isinstance(value[name], list):
                yield name, sorted(value[name])
            case _:
                yield name, _normal(value[name])
