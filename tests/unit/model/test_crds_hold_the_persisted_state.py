"""The API server drops fields that a definition does not name: what the operator remembers in status must be there."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.resources.crds import RESOURCES, definition
from penstock_operator.connector.model.persisted_state import (
    FailedJob,
    OffsetsAction,
    PersistedCanary,
    PersistedState,
    PersistedTask,
    task_status,
)
from penstock_operator.rollout.progress import RolloutRestart

VERSIONS = dict.fromkeys(
    ("connector", "key.converter", "value.converter", "header.converter", "transforms.a", "predicates.a"), "1"
)
VALUES: Mapping[str, Any] = {"state": "Running", "versions": VERSIONS, "epoch": PlanEpoch(generation=1, plan="p")}
BY_TYPE: Mapping[str, Any] = {
    "int": 1,
    "str": "x",
    "float": 1.0,
    "bool": True,
    "float | None": 1.0,
    "str | None": "x",
    "tuple[str, ...]": ("x",),
}


def full(kind: type[Any]) -> Any:
    """A value of this dataclass with something in every field that can be filled."""
    filled = {
        field.name: VALUES.get(field.name, BY_TYPE.get(str(getattr(field.type, "__name__", field.type))))
        for field in fields(kind)
    }
    return kind(**{name: value for name, value in filled.items() if value is not None})


def status_schema() -> Mapping[str, Any]:
    version = definition(RESOURCES[0])["spec"]["versions"][0]
    found: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    return found


def lost(value: Any, schema: Mapping[str, Any], at: str) -> list[str]:
    """The places that the definition does not name."""
    if isinstance(value, list):
        return [place for item in value for place in lost(item, schema["items"], f"{at}[]")]
    if not isinstance(value, Mapping) or "additionalProperties" in schema:
        return []
    known = schema.get("properties", {})
    return [
        place
        for name, inner in value.items()
        for place in (lost(inner, known[name], f"{at}.{name}") if name in known else [f"{at}.{name}"])
    ]


def test_nothing_that_is_remembered_of_a_task_is_lost() -> None:
    status = task_status(full(PersistedTask))
    assert {"state", "retryAt", "versions", "trace"} <= status.keys()
    assert lost({"tasks": [status]}, status_schema(), "status") == []


def test_nothing_that_only_the_operator_uses_is_lost() -> None:
    state = replace(
        full(PersistedState),
        job=full(FailedJob),
        rollout=full(RolloutRestart),
        canary=full(PersistedCanary),
        tasks={1: full(PersistedTask)},
        offsets=(full(OffsetsAction),),
    )
    own = state.operator_state()
    assert own.keys() == {"plan", "job", "rollout", "canary", "tasks", "offsetsActions"}
    assert lost({"operatorState": own}, status_schema(), "status") == []
