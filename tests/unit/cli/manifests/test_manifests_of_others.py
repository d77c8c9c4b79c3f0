"""Commands that read Connectors, given the resource of another operator."""

from pathlib import Path

import pytest

from ..command import penstock


@pytest.mark.parametrize("command", ["validate", "transform"])
@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("kafka.strimzi.io/v1beta2", "KafkaConnector"),
        ("kafka.strimzi.io/v1", "KafkaConnector"),
        ("kafka.strimzi.io/v1", "KafkaConnect"),
        ("eventstreams.ibm.com/v1beta2", "KafkaConnector"),
        ("platform.confluent.io/v1beta1", "Connector"),
    ],
)
def test_validate_and_transform_name_import_for_a_connector_of_another_operator(
    tmp_path: Path, command: str, api_version: str, kind: str
) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(
        f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: orders}}\n"
        "spec: {class: FileStreamSink, config: {topics: orders, file: /tmp/out}}\n"
    )
    done = penstock(command, file)
    assert done.returncode != 0
    assert done.stdout == ""
    assert f"{kind} is a resource of {api_version.partition('/')[0]}; `penstock import FILE` converts it" in done.stderr
