"""What a TopicCreationPolicy and a PluginVersion say of themselves: whether they can be used, and by which Connectors."""

from typing import Any

import pytest

from penstock_operator.connector.model import verdict
from penstock_operator.connector.model.verdict import Verdict
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION, POLICY, Kind
from penstock_operator.resource_status import new_cause, resource_status

NOW = 1_800_000_000.0
JAVA = "org.apache.kafka.connect.file.FileStreamSinkConnector"
RULES: dict[str, Any] = {"default": {"replicationFactor": 1, "partitions": 2}}
TICKER: dict[str, Any] = {
    "plugin": "penstock-ticker",
    "version": "1.0.0",
    "image": f"plugins.example/ticker@sha256:{'0' * 64}",
    "classes": [{"alias": "Ticker", "type": "source"}],
}
GOOD = {POLICY: RULES, PLUGIN_VERSION: TICKER}
BAD = {POLICY: {**RULES, "groups": [{"name": "a", "include": ["a("]}]}, PLUGIN_VERSION: {**TICKER, "classes": []}}
each_kind = pytest.mark.parametrize("kind", GOOD)


def document(spec: dict[str, Any], generation: int = 3, **status: Any) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "shop", "generation": generation}
    return {"metadata": metadata, "spec": spec, "status": status or {"observedGeneration": -1}}


def status_of(kind: Kind, found: dict[str, Any], *connectors: str, at: float = NOW) -> dict[str, Any]:
    status = resource_status(kind, found, connectors, at)
    assert status is not None
    return status


def told(status: dict[str, Any]) -> dict[str, str]:
    return {c["type"]: f"{c['status']} {c['reason']}: {c['message']}" for c in status["conditions"]}


@each_kind
def test_one_that_can_be_used_is_ready_for_the_generation_that_was_seen(kind: Kind) -> None:
    status = status_of(kind, document(GOOD[kind]))
    assert {c["type"]: f"{c['status']} {c['reason']}" for c in status["conditions"]} == {
        "Ready": "True Accepted",
        "Reconciling": "False NotReconciling",
        "Stalled": "False NotStalled",
    }
    assert {c["observedGeneration"] for c in status["conditions"]} == {status["observedGeneration"]} == {3}


def test_a_plugin_version_says_what_is_known_of_its_image_and_which_runtime_has_looked() -> None:
    verified = Verdict(verdict.Kind.READY, "Verified", "all is there")
    status = resource_status(PLUGIN_VERSION, document(TICKER), [], NOW, verified, "runtime:2")
    assert status is not None
    assert (told(status)["Ready"], status["verifiedBy"]) == ("True Verified: all is there", "runtime:2")
    assert resource_status(PLUGIN_VERSION, document(TICKER, **status), [], NOW + 60, verified, "runtime:2") is None
    bad = resource_status(PLUGIN_VERSION, document(BAD[PLUGIN_VERSION], **status), [], NOW + 60)
    assert bad is not None
    assert "verifiedBy" not in bad


def test_a_plugin_version_whose_image_cannot_be_pulled_has_one_cause_for_an_event() -> None:
    found, causes = document(TICKER), []
    for reason, kind in (
        ("Verifying", verdict.Kind.IN_PROGRESS),
        ("ErrImagePull", verdict.Kind.IN_PROGRESS),
        ("ImagePullBackOff", verdict.Kind.IN_PROGRESS),
        ("ErrImagePull", verdict.Kind.IN_PROGRESS),
        ("Verified", verdict.Kind.READY),
    ):
        status = resource_status(PLUGIN_VERSION, found, [], NOW, Verdict(kind, reason, f"because of {reason}"))
        assert status is not None
        cause = new_cause(status, found["status"])
        causes.append(cause and (cause["reason"], cause["message"]))
        found = document(TICKER, **status)
    assert causes == [
        ("Verifying", "because of Verifying"),
        ("ErrImagePull", "because of ErrImagePull"),
        None,
        None,
        None,
    ]


def test_a_policy_names_at_most_a_hundred_connectors_in_order_and_counts_all() -> None:
    status = status_of(POLICY, document(RULES), *(f"c{n:03}" for n in reversed(range(250))))
    assert (len(status["connectors"]), status["connectors"][-1], status["connectorCount"]) == (100, "c099", 250)


def test_a_plugin_version_names_at_most_a_hundred_connectors_that_run_it() -> None:
    assert status_of(PLUGIN_VERSION, document(TICKER), "orders-out", "orders-in")["usedBy"] == [
        "orders-in",
        "orders-out",
    ]
    assert len(status_of(PLUGIN_VERSION, document(TICKER), *(f"c-{n:04}" for n in range(2_000)))["usedBy"]) == 100


def test_classes_and_definitions_are_named_as_they_were_found_and_stay_while_nobody_looks_again() -> None:
    image = {"runtime": "Java", "image": TICKER["image"]}
    found = {
        "classes": [{"class": "com.acme.Clock", "type": "source", "version": "1.0", "paths": ["clock"]}],
        "definitions": {"configMap": "one-definitions-1", "digest": "sha256:1"},
    }
    verified = Verdict(verdict.Kind.READY, "Verified", "it holds 1 class")
    there = resource_status(PLUGIN_VERSION, document(image), [], NOW, verified, "runtime:1", found)
    assert there is not None
    assert {name: there[name] for name in found} == found
    assert resource_status(PLUGIN_VERSION, document(image, **there), [], NOW, verified, "runtime:1") is None
    gone = resource_status(PLUGIN_VERSION, document(image, **there), [], NOW, verified, "runtime:1", {})
    assert gone is not None
    assert found.keys().isdisjoint(gone)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limits": {"topics": ["a("]}}, "spec.limits.topics.0: "),
        ({"connectorSelector": {"matchLabels": {"a": 1}}}, "spec.connectorSelector.matchLabels.a: "),
        ({"limits": {"topics": ["x" * 1000] * 17}}, "spec: has 17,"),
        ({"default": None}, "spec: has neither rules"),
        ({"default": "x"}, "spec.default: "),
    ],
)
def test_a_policy_that_cannot_be_applied_is_stalled_so_that_nobody_waits_for_it_in_vain(
    change: dict[str, Any], words: str
) -> None:
    found = told(status_of(POLICY, document({**RULES, **change})))
    assert found["Ready"].startswith(f"False PolicyInvalid: {words}")
    assert found["Stalled"].startswith(f"True PolicyInvalid: {words}")
    assert found["Ready"].endswith("running connectors keep the last good rules, others wait")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image": "plugins.example/ticker:1.0.0"}, "spec.image"),
        ({"classes": []}, "spec.classes"),
        ({"classes": None}, "spec.classes"),
        ({"classes": [{"alias": "FileStreamSource", "type": "source"}]}, "spec.classes.0.alias: FileStreamSource is"),
        ({"classes": [{"alias": "F", "type": "sink", "javaNames": [JAVA]}]}, "spec.classes.0.javaNames"),
        ({"version": 7}, "spec.version"),
    ],
)
def test_a_plugin_version_that_cannot_be_used_is_stalled_and_says_why(change: dict[str, Any], words: str) -> None:
    found = told(status_of(PLUGIN_VERSION, document({**TICKER, **change})))
    assert words in found["Ready"]
    assert found["Ready"].startswith("False PluginVersionInvalid")
    assert found["Stalled"].startswith("True PluginVersionInvalid")


@each_kind
def test_a_condition_of_another_controller_is_neither_applied_nor_a_reason_to_write(kind: Kind) -> None:
    status = status_of(kind, document(GOOD[kind]))
    theirs = {**status["conditions"][0], "type": "example.com/Audited"}
    there = {**status, "conditions": [theirs, *status["conditions"]]}
    assert resource_status(kind, document(GOOD[kind], **there), [], NOW + 60) is None
    assert "example.com/Audited" not in told(status_of(kind, document(GOOD[kind], 4, **there)))


@each_kind
def test_what_is_said_already_is_not_said_again_and_one_that_was_corrected_is_stalled_no_more(kind: Kind) -> None:
    bad = status_of(kind, document(BAD[kind]), "a")
    assert resource_status(kind, document(BAD[kind], **bad), ["a"], NOW + 60) is None
    assert resource_status(kind, document(BAD[kind], **bad), ["a", "b"], NOW + 60) is not None
    good = status_of(kind, document(GOOD[kind], 4, **bad), "a", at=NOW + 60)
    assert told(good)["Stalled"] == "False NotStalled: "
    assert resource_status(kind, document(GOOD[kind], 4, **good), ["a"], NOW + 120) is None
    again = status_of(kind, document(GOOD[kind], 5, **good), "a", at=NOW + 120)
    assert again["conditions"][0]["lastTransitionTime"] == good["conditions"][0]["lastTransitionTime"]
