"""Small plugins, and a plan made with them in one line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock import (
    Config,
    ConfigError,
    Converter,
    HeaderConverter,
    Int,
    Password,
    Plugin,
    PollingSource,
    Predicate,
    Problem,
    Record,
    RetriableError,
    Sink,
    SinkConnector,
    SourceConnector,
    Transform,
    prop,
    source,
)
from penstock_model.resources.connector import Connector
from penstock_runtime.plan import Plan, plan
from penstock_runtime.plan.worker_check import worker_from
from penstock_runtime.plugins.discovery import Plugins


class TableConfig(Config):
    open_prefixes: ClassVar[tuple[str, ...]] = ("table.option.",)
    table: str = prop("table", doc="The table to read.")
    port: Int = prop("port", 5432, doc="The port.", ge=1)
    password: Password = prop("password", Password(""), doc="The password.")


class Tables(SourceConnector):
    Config = TableConfig
    java_names = ("org.example.TableSourceConnector",)

    def source(self, config: TableConfig) -> PollingSource:
        raise AssertionError

    def validate(self, config: TableConfig) -> Iterable[Problem]:
        if config.table == "crash":
            raise OSError("no route to host")
        if config.table == "away":
            raise RetriableError(f"db.example does not answer {config.password.reveal()}")
        if config.table == "exit":
            raise SystemExit(0)
        if config.table == "texts":
            yield "there is no such table"  # type: ignore[misc]
        if config.table == "gone":
            yield Problem("table", f"there is no table gone for {config.password.reveal()}")

    def task_configs(
        self, config: TableConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        if config.table == "numbers":
            return [{**properties, "shard": 0}]  # type: ignore[dict-item]
        count = {"many": 5, "none": 0, "few": 1}.get(config.table, max_tasks)
        if config.table == "leak":
            password = config.password.reveal()
            return [{**properties, "copied": password, "url": f"db://:{password}@h"}]
        return [{**properties, "shard": str(n)} for n in range(count)]


class Unrepeatable(Tables):
    def exactly_once(self, config: TableConfig) -> bool:
        return config.table == "log"


class OpenConfig(Config):
    """As of a Java connector whose definition has Kafka Connect's own properties too, as MirrorMaker's has."""

    open_prefixes = ("",)
    transforms: str = prop("transforms", "", doc="Kafka Connect's own.")
    value_converter: str = prop("value.converter", "", doc="Kafka Connect's own.")


class Open(SourceConnector):
    Config = OpenConfig

    def source(self, config: OpenConfig) -> PollingSource:
        raise AssertionError

    def task_configs(
        self, config: OpenConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        return [{"part": "1"}]


class Whole(SourceConnector):
    Config = TableConfig

    def source(self, config: TableConfig) -> PollingSource:
        raise AssertionError


def pages_found(config: TableConfig) -> list[str]:
    if config.table == "exit":
        raise SystemExit(0)
    raise KeyError(config.table)


@source(streams=pages_found)
def pages(config: TableConfig, stream: str, cursor: int | None) -> Iterator[tuple[Record, int]]:
    raise AssertionError


class Drain(SinkConnector):
    def sink(self, config: Any) -> Sink:
        raise AssertionError


class JsonConfig(Config):
    schemas_enable: bool = prop("schemas.enable", default=True, doc="Whether.")
    encoding: str = prop("encoding", "utf-8", doc="The encoding.")


class Json(Converter):
    Config = JsonConfig

    def configure(self, config: JsonConfig, *, is_key: bool) -> None:
        if config.encoding == "nope":
            raise ConfigError(Problem("encoding", f"Unsupported encoding nope of a {'key' if is_key else 'value'}"))

    def from_connect(self, *args: object) -> bytes | None: ...

    def to_connect(self, *args: object) -> Any: ...


class Headers(HeaderConverter):
    def from_connect(self, *args: object) -> bytes | None: ...

    def to_connect(self, *args: object) -> Any: ...


class HoistConfig(Config):
    field: str = prop("field", doc="The field.")


class Hoist(Transform):
    Config = HoistConfig
    variants = ("Key", "Value")

    def apply(self, record: Record) -> Record | None:
        return record


class Crash(Transform):
    def configure(self, config: Any) -> None:
        raise ZeroDivisionError("division by zero")

    def apply(self, record: Record) -> Record | None:
        return record


class Tombstone(Predicate):
    def test(self, record: Record) -> bool:
        return record.value is None


CLASSES: Mapping[str, type[Plugin]] = {
    "Tables": Tables,
    "Unrepeatable": Unrepeatable,
    "Open": Open,
    "Whole": Whole,
    "Pages": pages,
    "Drain": Drain,
    "JsonConverter": Json,
    "SimpleHeaderConverter": Headers,
    "Hoist": Hoist,
    "Crash": Crash,
    "Tombstone": Tombstone,
}
PLUGINS = Plugins.of(CLASSES, version="1.4")
SOURCE = {"table": "t"}
SINK = {"topics": "t"}
HOIST = {"transforms": "h", "transforms.h.type": "Hoist$Value", "transforms.h.field": "f"}


def planned(
    config: Mapping[str, Any],
    worker: Mapping[str, str] | None = None,
    secrets: Path | None = None,
    cls: str | None = None,
    *,
    policy_selects: bool = False,
    registered: bool = False,
    **spec: Any,
) -> Plan:
    """The plan of a connector; `cls` is guessed from the properties."""
    spec["class"] = cls or ("Drain" if "topics" in config or "topics.regex" in config else "Tables")
    document = {"metadata": {"name": "c", "generation": 7}, "spec": {**spec, "config": dict(config)}}
    worker_config, user = worker_from(worker or {}).config, {"USER": "anna"}
    given = {"policy_selects": policy_selects, "registered": registered}
    return plan(Connector.read(document), worker_config, PLUGINS, secrets, user, **given)


def problems(
    config: Mapping[str, Any],
    worker: Mapping[str, str] | None = None,
    cls: str | None = None,
    *,
    policy_selects: bool = False,
    **spec: Any,
) -> list[tuple[str, str]]:
    """The properties and messages that the plan refuses a connector for."""
    with pytest.raises(ConfigError) as caught:
        planned(config, worker, cls=cls, policy_selects=policy_selects, **spec)
    return [(p.property, p.message) for p in caught.value.problems]
