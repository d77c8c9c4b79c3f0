"""What the resources' models make of what was written."""

from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock_model.resources.connector import Connector
from penstock_model.resources.connector_status import ConnectorStatus
from penstock_model.resources.plugin_version import PluginVersion
from penstock_model.resources.topic_creation_policy import TopicCreationPolicy

DIGEST = "0123456789abcdef" * 4


def connector(**spec: Any) -> Connector:
    return Connector.read({"metadata": {"name": "a"}, "spec": {"class": "X", **spec}})


def policy(**spec: Any) -> TopicCreationPolicy:
    default = {"replicationFactor": 3, "partitions": 5}
    return TopicCreationPolicy.read({"metadata": {"name": "a"}, "spec": {"default": default, **spec}})


def test_a_template_is_the_mapping_that_was_written() -> None:
    template = {
        "nodeSelector": {"disk": "ssd"},
        "securityContext": {"fsGroup": None},
        "env": [{"name": "A", "value": "b"}],
    }
    read = connector(template=template)
    assert read.spec.template == template
    assert read.model_dump(mode="json", by_alias=True)["spec"]["template"] == template


def test_each_field_that_a_template_does_not_have_is_named() -> None:
    with pytest.raises(ConfigError) as refused:
        connector(template={"containers": [], "hostNetwork": True})
    assert [p.property for p in refused.value.problems] == ["spec.template.containers", "spec.template.hostNetwork"]


def test_a_resource_that_was_read_can_be_read_again() -> None:
    read = connector(config={"a": 1}, template={"labels": {"a": "b"}}, restart={"resetAfter": "90s"}, connectName="b")
    assert Connector.read(read.model_dump(mode="json", by_alias=True, exclude_none=True)) == read


def test_a_group_leaves_open_what_it_does_not_say() -> None:
    (group,) = policy(groups=[{"name": "a", "include": ["a.*"], "partitions": -1}]).spec.groups
    assert (group.partitions, group.replication_factor, group.exclude, group.config) == (-1, None, [], {})


def test_settings_of_topics_are_texts() -> None:
    found = policy(groups=[{"name": "a", "include": ["a"], "config": {"retention.ms": 86400000, "preallocate": True}}])
    assert found.spec.groups[0].config == {"retention.ms": "86400000", "preallocate": "true"}


def test_a_pattern_is_a_regular_expression_of_java() -> None:
    assert policy(limits={"topics": [r"\p{javaLowerCase}+"]}).spec.limits is not None
    with pytest.raises(ConfigError, match=r"spec.groups.0.include.0: Invalid regex"):
        policy(groups=[{"name": "a", "include": ["("]}])


def test_every_problem_is_reported_together() -> None:
    with pytest.raises(ConfigError) as refused:
        PluginVersion.read(
            {"metadata": {"name": "A"}, "spec": {"plugin": "", "version": "[1,2]", "image": "a:b", "classes": []}}
        )
    places = {problem.property for problem in refused.value.problems}
    assert places == {"metadata.name", "spec.plugin", "spec.version", "spec.image", "spec.classes"}


def test_the_folder_of_plugins_has_a_default() -> None:
    classes = [{"alias": "Files", "type": "source"}]
    spec = {"plugin": "files", "version": "1.0", "image": f"files@sha256:{DIGEST}", "classes": classes}
    assert PluginVersion.read({"metadata": {"name": "a"}, "spec": spec}).spec.path == "/plugin"


def test_a_status_of_a_newer_operator_can_be_read() -> None:
    status = ConnectorStatus.model_validate(
        {"observedGeneration": 2, "novelty": 1, "tasks": [{"id": 0, "state": "Running"}]}
    )
    assert status.to_manifest() == {"observedGeneration": 2, "tasks": [{"id": 0, "state": "Running"}]}


def test_a_status_that_was_never_written_is_of_no_generation() -> None:
    assert ConnectorStatus.model_validate({}).observed_generation == -1
