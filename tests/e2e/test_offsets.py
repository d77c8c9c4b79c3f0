"""The engineer at night: see where it stands, stop it, run it again from the beginning (KIP-875). With kubectl alone."""

import json
import time
from collections.abc import Callable
from typing import Any

from .api import Object
from .place import Connector, Place


def outcome(connector: Connector, token: str) -> dict[str, Any]:
    """The entry of an action, once it has its result."""

    def entry(found: Object) -> dict[str, Any] | None:
        entries = (found.get("status") or {}).get("offsetsActions", ())
        return next((e for e in entries if e["token"] == token and e["result"] != "Pending"), None)

    return connector.until(entry, f"{token} has its result")


def test_a_source_that_runs_is_listed_and_once_it_is_stopped_and_reset_begins_anew(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 200})
    source.reaches("Running")
    source.annotate(reset_offsets="r0")
    refused = outcome(source, "r0")
    assert refused["result"] == "Refused"
    assert "must be in the STOPPED state" in refused["message"]
    place.kafka.records(source.topic, least=200)
    begun = time.monotonic()
    source.annotate(list_offsets="l1")
    listed = outcome(source, "l1")
    measured("kubectl annotate of list-offsets has returned to its result in the status", time.monotonic() - begun)
    assert (listed["result"], listed["message"][:11]) == ("Succeeded", "1 position:"), listed
    text = source.kubectl("get", "configmap", "orders-offsets", "-o", r"jsonpath={.data.offsets\.json}")
    (entry,) = json.loads(text)["offsets"]
    assert entry["offset"]["count"] > 0
    source.apply(state="Stopped")
    source.reaches("Stopped")
    before = place.kafka.values(source.topic)
    assert before == list(range(len(before)))  # what was refused was not done later either

    begun = time.monotonic()
    source.annotate(reset_offsets="r1")
    done = outcome(source, "r1")
    measured("kubectl annotate of reset-offsets has returned to its result in the status", time.monotonic() - begun)
    assert done["result"] == "Succeeded", done
    assert "1 position was removed" in done["message"]
    source.until_pods(lambda pods: not pods, "the pod of the reset is gone")

    source.annotate(reset_offsets="r1")
    source.apply(state="Running")
    source.reaches("Running")
    values = place.kafka.values(source.topic, least=len(before) + 50)
    assert values == [*before, *range(len(values) - len(before))]
    assert [e["token"] for e in source.status["offsetsActions"]] == ["r0", "l1", "r1"]
