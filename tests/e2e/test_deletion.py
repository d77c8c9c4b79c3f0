"""What is left of a connector that is deleted."""

import time
from collections.abc import Callable

import pytest

from .place import Place


@pytest.mark.slow
def test_a_connector_that_is_recreated_continues_where_the_deleted_one_was(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 100})
    source.reaches("Running")
    place.kafka.records(source.topic, least=50)
    assert "finalizers" not in source.get()["metadata"]
    source.delete()
    count = len(place.kafka.values(source.topic))
    source.apply()
    source.reaches("Running")
    numbers = place.kafka.values(source.topic, least=count + 20)
    assert numbers == list(range(len(numbers)))
    assert source.status["tasks"][0]["incarnation"] == 1, "its lives are counted anew"


@pytest.mark.slow
def test_with_offsets_reset_a_connector_that_is_recreated_starts_again(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 100}, deletion={"offsets": "Reset"})
    source.reaches("Running")
    place.kafka.records(source.topic, least=50)
    assert source.get()["metadata"]["finalizers"] == ["penstock.dev/reset-offsets"]
    begun = time.monotonic()
    source.delete()
    measured("kubectl delete with deletion.offsets: Reset", time.monotonic() - begun)
    count = len(place.kafka.values(source.topic))
    source.apply()
    source.reaches("Running")
    numbers = place.kafka.values(source.topic, least=count + 20)
    assert numbers == [*range(count), *range(len(numbers) - count)]


@pytest.mark.slow
def test_a_namespace_with_running_connectors_can_be_deleted(place: Place) -> None:
    kept = place.datagen("kept")
    reset = place.datagen("reset", deletion={"offsets": "Reset"})
    place.datagen("starting")  # in the middle of it
    kept.reaches("Running")
    reset.reaches("Running")
    begun = time.monotonic()
    place.cluster.delete_namespaces(place.namespace, wait=True)
    print(f"the namespace was gone after {time.monotonic() - begun:.1f} s")
    assert place.cluster.api.get("namespaces", None, place.namespace) is None
