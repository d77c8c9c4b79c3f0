"""What a PluginVersion says of itself."""

from typing import Any

import pytest

from penstock_operator.plugin_version_status import plugin_version_status

NOW = 1_795_284_104.0
JAVA = "org.apache.kafka.connect.file.FileStreamSinkConnector"
SPEC: dict[str, Any] = {
    "plugin": "penstock-ticker",
    "version": "1.0.0",
    "image": f"plugins.example/ticker@sha256:{'0' * 64}",
    "classes": [{"alias": "Ticker", "type": "source"}],
}


def document(spec: dict[str, Any] = SPEC, **status: Any) -> dict[str, Any]:
    metadata = {"name": "ticker-1.0.0", "namespace": "shop", "generation": 3}
    return {"metadata": metadata, "spec": spec, "status": status or {"observedGeneration": -1}}


def condition(status: dict[str, Any] | None, kind: str) -> str:
    assert status is not None
    found = next((c for c in status["conditions"] if c["type"] == kind), None)
    return "absent" if found is None else f"{found['status']} {found['reason']}: {found['message']}"


def test_one_that_is_well_formed_is_ready_in_its_generation_and_names_who_runs_it() -> None:
    status = plugin_version_status(document(), ["orders-out", "orders-in"], NOW)
    assert condition(status, "Ready").startswith("True Accepted")
    assert condition(status, "Stalled") == "absent"
    assert status is not None
    assert status["observedGeneration"] == 3
    assert status["usedBy"] == ["orders-in", "orders-out"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"image": "plugins.example/ticker:1.0.0"}, "spec.image"),
        ({"classes": []}, "spec.classes"),
        ({"classes": None}, "spec.classes"),
        ({"classes": [{"alias": "FileStreamSource", "type": "source"}]}, "spec.classes.0.alias: FileStreamSource is"),
        (
            {"classes": [{"alias": "F", "type": "sink", "javaNames": [JAVA]}]},
            "spec.classes.0.javaNames",
        ),
        ({"version": 7}, "spec.version"),
    ],
)
def test_one_that_cannot_be_used_is_stalled_and_says_why(change: dict[str, Any], told: str) -> None:
    status = plugin_version_status(document({**SPEC, **change}), [], NOW)
    assert told in condition(status, "Ready")
    assert condition(status, "Ready").startswith("False PluginVersionInvalid")
    assert condition(status, "Stalled").startswith("True PluginVersionInvalid")


def test_a_status_that_stands_is_not_written_again_and_one_that_changed_is() -> None:
    first = plugin_version_status(document(), [], NOW)
    assert first is not None
    assert plugin_version_status(document(SPEC, **first), [], NOW + 60) is None
    assert plugin_version_status(document(SPEC, **first), ["orders-in"], NOW + 60) is not None


def test_names_of_users_are_at_most_a_hundred() -> None:
    status = plugin_version_status(document(), [f"c-{n:04}" for n in range(2_000)], NOW)
    assert status is not None
    assert len(status["usedBy"]) == 100
