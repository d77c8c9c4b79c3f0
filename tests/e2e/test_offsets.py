"""The engineer at night: stop it, forget where it stood, run it again from the beginning (KIP-875). With kubectl alone."""

import time
from collections.abc import Callable
from typing import Any

from .api import Object
from .place import Connector, Place


def outcome(connector: Connector, token: str) -> dict[str, Any]:
    """The entry of a reset, once it has its result."""

    def entry(found: Object) -> dict[str, Any] | None:
        entries = (found.get("status") or {}).get("offsetsActions", ())
        return next((e for e in entries if e["token"] == token and e["result"] != "Pending"), None)

    return connector.until(entry, f"reset {token} has its result")


def test_a_stopped_source_whose_offsets_are_reset_begins_anew_once_per_token(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 200})
    source.reaches("Running")
    source.annotate(reset_offsets="r0")
    refused = outcome(source, "r0")
    assert refused["result"] == "Refused"
    assert "must be in the STOPPED state" in refused["message"]
    place.kafka.records(source.topic, least=200)
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
    assert [e["token"] for e in source.status["offsetsActions"]] == ["r0", "r1"]
