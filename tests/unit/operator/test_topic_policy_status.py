"""What a TopicCreationPolicy says of itself: whether it can be applied, and to which Connectors."""

from typing import Any

import pytest

from penstock_operator.topic_policy_status import policy_status

NOW = 1_800_000_000.0
GOOD: dict[str, Any] = {"default": {"replicationFactor": 1, "partitions": 2}}


def policy(generation: int = 3, spec: dict[str, Any] = GOOD, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "TopicCreationPolicy",
        "metadata": {"name": "shop-topics", "namespace": "shop", "generation": generation},
        "spec": spec,
        "status": status or {"observedGeneration": -1},
    }


def told(status: dict[str, Any] | None) -> dict[str, str]:
    assert status is not None
    return {c["type"]: f"{c['status']} {c['reason']}: {c['message']}" for c in status["conditions"]}


def test_a_good_policy_is_ready_for_the_generation_that_was_seen_and_names_its_connectors() -> None:
    status = policy_status(policy(), ["b", "a"], NOW)
    assert status is not None
    assert {c["type"]: c["status"] for c in status["conditions"]} == {"Ready": "True"}
    assert {c["observedGeneration"] for c in status["conditions"]} == {status["observedGeneration"]} == {3}
    assert (status["connectors"], status["connectorCount"]) == (["a", "b"], 2)


def test_at_most_a_hundred_names_are_given_and_all_are_counted() -> None:
    status = policy_status(policy(), [f"c{n:03}" for n in range(250)], NOW)
    assert status is not None
    assert (len(status["connectors"]), status["connectors"][-1], status["connectorCount"]) == (100, "c099", 250)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({**GOOD, "limits": {"topics": ["a("]}}, "spec.limits.topics.0: "),
        (
            {**GOOD, "connectorSelector": {}},
            "spec.connectorSelector: policies do not select connectors in this release",
        ),
        ({**GOOD, "allowOverrides": True}, "spec.allowOverrides: "),
        ({**GOOD, "limits": {"topics": ["x" * 1000] * 17}}, "spec: has 17,"),
        ({}, "spec.default: "),
        ({"default": "x"}, "spec.default: "),
    ],
)
def test_one_that_cannot_be_applied_is_stalled_so_that_nobody_waits_for_it_in_vain(
    spec: dict[str, Any], words: str
) -> None:
    found = told(policy_status(policy(spec=spec), [], NOW))
    assert found["Ready"].startswith(f"False PolicyInvalid: {words}")
    assert found["Stalled"].startswith(f"True PolicyInvalid: {words}")
    assert found["Ready"].endswith("connectors that run go on with the last good rules, others wait")


def test_what_is_said_already_is_not_said_again_and_a_corrected_policy_is_stalled_no_more() -> None:
    bad = policy_status(policy(spec={**GOOD, "allowOverrides": True}), ["a"], NOW)
    assert bad is not None
    assert policy_status(policy(spec={**GOOD, "allowOverrides": True}, **bad), ["a"], NOW + 60) is None
    good = policy_status(policy(4, **bad), ["a"], NOW + 60)
    assert [*told(good)] == ["Ready"]
    assert good is not None
    assert policy_status(policy(4, **good), ["a"], NOW + 120) is None
    again = policy_status(policy(5, **good), ["a"], NOW + 120)
    assert again is not None
    assert again["conditions"][0]["lastTransitionTime"] == good["conditions"][0]["lastTransitionTime"]
