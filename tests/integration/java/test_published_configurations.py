"""What `penstock plugins` prints of a Java plugin's configuration, beside Kafka Connect, and how large it is."""

import json
from pathlib import Path

import pytest
from tests.unit.cli.command import penstock

from penstock_cli.embedded import EmbeddedKafka
from penstock_cli.manifests.connect_forms import connector
from penstock_model.contracts.definitions import LARGEST, ClassDefinition, Definitions, pack
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.validation.connector import PluginKnowledge, check_connector
from penstock_model.validation.topics import PolicyUse
from penstock_runtime.java_plugins.catalog import config_keys
from penstock_runtime.java_plugins.locations import plugin_locations
from penstock_runtime.plan.worker_check import worker_from

from ..connect_worker import ConnectWorker
from .capture import CLASS
from .plugins import apache_connectors, debezium, folder_of

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
BYTES = "io.debezium.converters.ByteArrayConverter"
DEBEZIUMS = 14
"""Connectors that Debezium has; they share most of their properties."""


def test_all_connectors_of_debezium_fit_into_one_config_map_with_their_documentation() -> None:
    (location,) = plugin_locations([str(debezium("postgres"))])
    keys = config_keys(str(location), CLASS)
    assert len(keys) > 100
    own = [k.model_copy(update={"name": f"{k.name}.{n}"}) for n in range(DEBEZIUMS) for k in keys]
    classes = [
        ClassDefinition(class_name=f"{CLASS}{n}", type="source", version="1", config=tuple(own[n::DEBEZIUMS]))
        for n in range(DEBEZIUMS)
    ]
    packed = pack(classes)
    assert (packed.documentation_cut, len(packed.content) < LARGEST) == (None, True)


def test_at_apply_a_java_definition_refuses_nothing_that_the_plan_completes() -> None:
    classes: list[ClassDefinition] = []
    for folder, type_, name in ((apache_connectors(), "source", MIRROR), (debezium("postgres"), "converter", BYTES)):
        (location,) = plugin_locations([str(folder)])
        keys = config_keys(str(location), name)
        assert {"name", "connector.class", "converter.type"} & {k.name for k in keys if k.required}
        found = {"class": name, "type": type_, "version": "1", "paths": ["."]}
        classes.append(ClassDefinition.model_validate({**found, "config": keys}))
    config = {
        "source.cluster.alias": "a",
        "source.cluster.bootstrap.servers": "a:9092",
        "source.consumer.max.poll.records": "10",
        "topics": "orders.*",
        "value.converter": BYTES,
    }
    offers = [
        PluginMount(name="java", plugin=c.class_name, version="1", image="i", folder="/p", runtime="Java", classes=[d])
        for c, d in ((c, DeclaredClass(alias=c.class_name, type=c.type)) for c in classes)
    ]
    knowledge = PluginKnowledge(offers, lambda name: Definitions(classes=tuple(classes)), "0.1.0")
    resource = connector({"name": "mirror", "connector.class": MIRROR, **config})
    worker = worker_from({"bootstrap.servers": "b:9092"}).config
    warnings = check_connector(resource, worker, knowledge, PolicyUse(), lambda found: found.is_similar)
    assert {w.property for w in warnings} <= {
        "",
        "source.cluster.bootstrap.servers",
        "source.consumer.max.poll.records",
    }


@pytest.mark.slow
def test_the_properties_of_debezium_are_printed_as_kafka_connect_answers_them(
    own_kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    archive = debezium("postgres")
    own_kafka.start()
    with ConnectWorker(
        own_kafka.bootstrap_servers, tmp_path / "connect", plugin_path=str(folder_of(archive))
    ) as worker:
        theirs = worker.do("GET", f"/connector-plugins/{CLASS}/config")
    ours = json.loads(penstock("plugins", CLASS, "-o", "json", "--plugin-path", archive).stdout)
    assert ours == theirs[: len(ours)]
    assert len(ours) > 100
    assert {"name", "connector.class", "tasks.max"} <= {k["name"] for k in theirs[len(ours) :]}
