"""What others have written to a status is found, and nothing else; conditions of other controllers are theirs."""

from typing import Any

import pytest

from penstock_operator.kubernetes.leftovers import removal_of_leftovers

READY, LAGGING, AUDITED = ({"type": kind, "status": "True"} for kind in ("Ready", "Lagging", "example.com/Audited"))


@pytest.mark.parametrize(
    ("wanted", "found", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 1, "b": 2}, {"b": None}),
        ({"plan": {"hash": "x"}}, {"plan": {"hash": "x", "refused": "y"}}, {"plan": {"refused": None}}),
        ({"tasks": [{"id": 0}]}, {"tasks": [{"id": 0}, {"id": 1}]}, {"tasks": [{"id": 0}]}),
        ({"tasks": [{"id": 0}]}, {"tasks": [{"id": 0, "trace": "x"}]}, {"tasks": [{"id": 0}]}),
        ({"tasks": [{"id": 0}, {"id": 1, "a": 1}]}, {"tasks": [{"id": 1, "a": 1}, {"id": 0}]}, {}),
        ({"a": 1, "b": 2}, {"a": 1}, {}),  # an older definition drops what it does not know
        ({"conditions": [READY]}, {"conditions": [READY, AUDITED]}, {}),
        ({"conditions": [READY]}, {"conditions": [AUDITED, LAGGING, READY]}, {"conditions": [READY, AUDITED]}),
        ({"conditions": [READY]}, {"conditions": [AUDITED, {**READY, "a": 1}]}, {"conditions": [READY, AUDITED]}),
        ({"a": 1}, {"a": 1, "conditions": [AUDITED]}, {}),
        ({"a": 1}, {"a": 1, "conditions": [AUDITED, LAGGING]}, {"conditions": [AUDITED]}),
    ],
)
def test_only_fields_that_are_not_wanted_are_removed(
    wanted: dict[str, Any], found: dict[str, Any], patch: dict[str, Any]
) -> None:
    assert removal_of_leftovers(wanted, found) == patch
