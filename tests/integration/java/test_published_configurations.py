"""What `penstock plugins` prints of a Java plugin's configuration, beside Kafka Connect, and how large it is."""

import json
from pathlib import Path

import pytest
from tests.unit.cli.command import penstock

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.definitions import LARGEST, ClassDefinition, pack
from penstock_runtime.java_plugins.catalog import config_keys
from penstock_runtime.java_plugins.locations import plugin_locations

from ..connect_worker import ConnectWorker
from .capture import CLASS
from .plugins import debezium, folder_of

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
