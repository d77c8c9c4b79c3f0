"""What hinders a connector stands in its status within a minute, and when it is gone the connector starts by itself."""

import json

import pytest

from .place import Place, condition


@pytest.mark.slow
def test_a_task_that_no_node_takes_says_so(place: Place) -> None:
    huge = {"resources": {"requests": {"memory": "1Ti"}, "limits": {"memory": "1Ti"}}}
    source = place.datagen("orders", template=huge)
    source.says("Unschedulable", "Insufficient memory")
    source.tells("Unschedulable", "Insufficient memory")
    source.apply(template={})
    source.reaches("Running")


def test_a_missing_secret_is_named_and_when_it_comes_the_connector_starts(place: Place) -> None:
    source = place.datagen("orders", config={"producer.override.client.id": "${secret:kafka-client:id}"})
    message = source.says("SecretMissing")
    assert "Secret kafka-client is missing (producer.override.client.id of spec.config refers to it)" in message
    place.secret("kafka-client", other="x")
    source.says("SecretMissing", "Secret kafka-client has no key id")
    place.secret("kafka-client", id="e2e", other="x")
    source.reaches("Running")


def test_all_errors_of_a_configuration_are_told_at_once_and_the_old_tasks_go_on(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 50})
    source.reaches("Running")
    before = source.lives()
    good = source.spec
    source.configure(rate="fast", partitions=0, value_converter="JsonConvertor")
    message = source.says("ConfigInvalid", "rate", "partitions", "JsonConvertor")
    found = source.get()
    assert "JsonConverter" in message, "what was probably meant is told"
    assert condition(found, "ConfigValid")["status"] == "False"
    assert condition(found, "Stalled")["reason"] == "ConfigInvalid"
    assert found["status"]["state"] == "Running"
    assert source.lives() == before
    assert place.kafka.arriving(source.topic, seconds=1) > 0
    source.apply(**good)
    source.reaches("Running")
    assert source.lives() == before


def test_what_a_field_owns_is_refused_at_kubectl_apply(place: Place) -> None:
    source = place.unapplied("orders", "Datagen", {"topic": "t", "tasks.max": "2"})
    refused = refusal(place, source.manifest())
    assert "tasks.max belongs to spec.tasksMax" in refused


@pytest.mark.slow
def test_a_pod_template_that_the_platform_does_not_allow_is_named(place: Place) -> None:
    source = place.datagen("orders", template={"volumes": [{"name": "host", "hostPath": {"path": "/"}}]})
    source.says("ConfigInvalid", "spec.template.volumes[host].hostPath: ")
    assert source.pods() == {}


def refusal(place: Place, manifest: str) -> str:
    from .cluster import Failed

    try:
        place.cluster.apply(manifest)
    except Failed as e:
        return str(e)
    raise AssertionError(f"it was accepted: {json.loads(manifest)['spec']}")
