"""What a Java connector is given as its properties, and which connector is refused."""

from typing import cast

import pytest

from penstock import PluginContext
from penstock_runtime.java_plugins.classes import adapter
from penstock_runtime.java_plugins.java_class import JavaConfig


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("JsonConverter", "org.apache.kafka.connect.json.JsonConverter"),
        ("ByteArray", "org.apache.kafka.connect.converters.ByteArrayConverter"),
        ("org.apache.kafka.connect.storage.StringConverter", "org.apache.kafka.connect.storage.StringConverter"),
        ("com.example.OwnConverter", "com.example.OwnConverter"),
    ],
)
def test_aliases_of_converters_become_java_classes(written: str, given: str) -> None:
    cls = adapter("source", "/plugins/mirror", "org.example.MirrorSourceConnector")
    connector = cls()
    connector.context = PluginContext("copy", "connector", "1.0")
    config = cast("JavaConfig", cls.Config.parse({"key.converter": written, "topic": "t"}))
    assert connector.properties(config.texts) == {
        "key.converter": given,
        "topic": "t",
        "name": "copy",
        "connector.class": "org.example.MirrorSourceConnector",
    }


def test_the_ancestor_of_apaches_iceberg_sink_is_refused() -> None:
    name = "io.tabular.iceberg.connect.IcebergSinkConnector"
    cls = adapter("sink", "/plugins/iceberg", name)
    connector = cls()
    connector.context = PluginContext("orders", "connector", "1.0")
    (problem,) = connector.validate(cast("JavaConfig", cls.Config.parse({"topics": "orders"})))
    assert problem.message == (
        f"cannot run {name}: it needs the worker's own consumer; use its successor, "
        "org.apache.iceberg.connect.IcebergSinkConnector of Apache Iceberg"
    )
