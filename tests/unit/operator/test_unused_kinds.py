"""What a resource says of itself that this release does nothing with."""

from typing import Any

import pytest

from penstock_operator.unsupported_kinds import UNUSED, unsupported_status

NOW = 1_800_000_000.0


def resource(kind: str, generation: int = 3, **status: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"generation": generation}, "status": status or {"observedGeneration": -1}}


@pytest.mark.parametrize("kind", UNUSED)
def test_it_is_not_ready_and_stalled_for_the_generation_that_was_seen(kind: str) -> None:
    found = unsupported_status(resource(kind), NOW)
    assert found is not None
    assert found["observedGeneration"] == 3
    told = {c["type"]: (c["status"], c["reason"], c["observedGeneration"]) for c in found["conditions"]}
    assert told == {"Ready": ("False", "NotImplemented", 3), "Stalled": ("True", "NotImplemented", 3)}
    assert all("in this release; " in c["message"] for c in found["conditions"])


def test_what_is_said_already_is_not_said_again() -> None:
    found = unsupported_status(resource("PluginVersion"), NOW)
    assert found is not None
    assert unsupported_status(resource("PluginVersion", **found, classes=[]), NOW + 60) is None


def test_another_generation_is_told_and_the_time_of_a_condition_stays() -> None:
    first = unsupported_status(resource("PluginVersion"), NOW)
    assert first is not None
    found = unsupported_status(resource("PluginVersion", 4, **first), NOW + 60)
    assert found is not None
    assert found["observedGeneration"] == 4
    assert found["conditions"][0]["lastTransitionTime"] == first["conditions"][0]["lastTransitionTime"]
