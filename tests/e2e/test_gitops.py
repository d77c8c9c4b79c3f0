"""What GitOps tools rely on: applied twice changes nothing, and the operator writes nothing but status."""

import json

import pytest

from .place import Place


def test_applied_twice_a_connector_stays_as_it_is_and_a_diff_of_it_is_empty(place: Place) -> None:
    source = place.datagen("orders", restart={"backoff": {"initial": "10s"}})
    source.reaches("Running")
    found = source.until(lambda c: c if c["status"].get("activeTopics") else None, "its status has settled")
    for _ in range(2):
        assert "unchanged" in source.apply()
    place.cluster.kubectl("diff", "--filename=-", stdin=source.manifest())  # it fails where there is a difference
    after = source.get()
    assert after["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
    own = after["metadata"]
    assert set(own["annotations"]) == {"kubectl.kubernetes.io/last-applied-configuration"}
    assert "finalizers" not in own
    assert own.get("labels", {}) == {}
    for entry in json.loads(source.kubectl("get", "connector", "orders", "--show-managed-fields", "-o", "json"))[
        "metadata"
    ]["managedFields"]:
        if entry["manager"].startswith("kubectl"):
            assert "f:status" not in entry["fieldsV1"]
        else:
            assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
            assert set(entry["fieldsV1"]) == {"f:status"}


@pytest.mark.slow
def test_server_side_apply_finds_no_conflict_and_a_forced_one_takes_nothing_from_the_operator(place: Place) -> None:
    source = place.unapplied("orders", "Datagen", {"topic": f"{place.namespace}.orders"})
    words = ("apply", "--server-side", "--field-manager=flux", "--filename=-")
    place.cluster.kubectl(*words, stdin=source.manifest())
    running = source.reaches("Running")
    place.cluster.kubectl(*words, stdin=source.manifest())
    place.cluster.kubectl(*words, "--force-conflicts", stdin=source.manifest())
    assert source.get()["status"] == source.reaches("Running")["status"]
    assert source.get()["metadata"]["generation"] == running["metadata"]["generation"]


def test_a_connector_that_nobody_has_looked_at_yet_counts_as_in_progress(place: Place) -> None:
    source = place.unapplied("orders", "Datagen", {"topic": f"{place.namespace}.orders"})
    created = json.loads(place.cluster.kubectl("create", "--filename=-", "-o", "json", stdin=source.manifest()))
    assert created["status"] == {"observedGeneration": -1}
    source.reaches("Running")
