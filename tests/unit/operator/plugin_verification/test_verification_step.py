"""The verification of a PluginVersion: what each end of its pod means, and when another one looks (KIP-891)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.verification import FoundClass, VerificationRequest, classes_text
from penstock_model.resources.plugin_offers import offer_of
from penstock_model.resources.plugin_version import PublishedDefinitions
from penstock_operator.connector.model.persisted_state import FailedJob
from penstock_operator.connector.model.pod_end import Ended
from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.plugin_verification.definitions_map import definitions_map, definitions_name
from penstock_operator.plugin_verification.verification_step import (
    Finding,
    Logged,
    Seen,
    Step,
    published,
    step,
    unpublished,
)
from penstock_operator.plugin_verification.verifying_pod import name_of, verifying_pod
from penstock_operator.settings import Settings

NAME, NOW = "ticker-verify-1", 1_000.0
READY = Verdict(Kind.READY, "Verified", "the image holds what is declared")


def pod(name: str = NAME, phase: Phase = Phase.WAITING, **more: Any) -> JobPod:
    return JobPod(name=name, phase=phase, **{"uid": name, "owner": "", "role": "verify", "created": NOW, **more})


def ended(code: int | None, message: str | None = None, reason: str = "Error", name: str = NAME, **more: Any) -> JobPod:
    word = None if message is None else TerminationMessage(exit_code=code or 0, message=message)
    how = Ended(code=code, reason=reason, message="", word=word, at=NOW, memory_limit="512Mi")
    return pod(name, phase=Phase.ENDED, node="n", ended=how, **more)


def seen(*pods: JobPod, **more: Any) -> Seen:
    usual: dict[str, Any] = {
        "name": NAME,
        "pods": pods,
        "runtime": "runtime:2",
        "verified_by": "",
        "said": None,
        "is_lost": False,
        "is_decided": False,
        "failure": FailedJob(),
        "slot": True,
        "deadline": 120.0,
        "node_timeout": 30.0,
        "now": NOW,
    }
    return Seen(**{**usual, **more})


def told(found: Step) -> tuple[Kind, str, str]:
    return found.verdict.kind, found.verdict.reason, found.verdict.message


def test_a_new_one_gets_a_pod_and_is_under_way_until_that_has_looked() -> None:
    first = step(seen())
    assert (first.create, first.verdict.kind, first.verdict.reason) == (NAME, Kind.IN_PROGRESS, "Verifying")
    assert step(seen(pod())).create is None
    assert step(seen(pod())).requeue_after == 120


def test_it_waits_for_its_turn_where_enough_others_are_looked_at() -> None:
    waits = step(seen(slot=False))
    assert (waits.create, waits.queued, waits.verdict.reason) == (None, True, "Verifying")
    assert "waiting for its turn" in waits.verdict.message


def test_a_pod_that_found_what_is_declared_makes_it_ready_by_that_runtime() -> None:
    found = step(seen(ended(0, "all is there", "Completed")))
    assert told(found) == (Kind.READY, "Verified", "all is there")
    assert (found.verified_by, [p.name for p in found.delete], found.is_decided) == ("runtime:2", [NAME], True)


def test_the_java_classes_that_a_pod_has_found_go_into_the_status_and_stay_until_another_runtime_has_looked() -> None:
    classes = (FoundClass(class_name="com.acme.Clock", type="source", version="1.0", paths=("clock",)),)
    word = TerminationMessage(exit_code=0, message="it holds 1 class", classes=classes_text(classes))
    done = ended(0, "", "Completed")
    assert done.ended is not None
    done = replace(done, ended=replace(done.ended, word=word))
    assert step(seen(done)).finding == Finding(classes)
    assert step(seen(verified_by="runtime:2", said=READY)).finding is None
    assert step(seen(verified_by="runtime:1", said=READY)).finding is None
    assert step(seen(ended(2, "no jar"), verified_by="runtime:1", said=READY)).finding == Finding()


def logged(name: str = NAME, **more: Any) -> JobPod:
    """A pod that has the configuration definitions of its classes in its log."""
    done = ended(0, "all is there", "Completed", name=name, **more)
    assert done.ended is not None
    word = TerminationMessage(exit_code=0, message="all is there", definitions="sha256:1")
    return replace(done, ended=replace(done.ended, word=word))


def test_definitions_are_published_before_it_is_ready_and_the_status_says_where() -> None:
    found = step(seen(logged()))
    assert found.publish == Logged(NAME, "sha256:1")
    done = published(found, PublishedDefinitions(config_map="ticker-definitions-1", digest="sha256:1"))
    assert (done.verdict, done.is_decided) == (Verdict(Kind.READY, "Verified", "all is there"), True)
    assert done.finding is not None
    assert done.finding.fields() == {"definitions": {"configMap": "ticker-definitions-1", "digest": "sha256:1"}}


def test_where_they_cannot_be_had_two_more_pods_look_and_the_third_decides_without_them_and_says_why() -> None:
    first = unpublished(seen(logged()), step(seen(logged())), "the log is gone")
    assert told(first)[:2] == (Kind.IN_PROGRESS, "DefinitionsUnpublished")
    assert "the log is gone; it is retried automatically" in first.verdict.message
    assert (first.is_decided, first.finding, [p.name for p in first.delete]) == (False, None, [NAME])
    leaves = seen(logged(leaving=NOW, leaves_by=NOW + 1), failure=first.failure)
    assert (step(leaves).publish, step(leaves).verdict.reason) == (None, "DefinitionsUnpublished")

    again = seen(logged(), failure=first.failure, now=NOW + 20)
    second = unpublished(again, step(again), "the log is gone")
    assert (second.failure.attempts, second.is_decided) == (2, False)
    last = seen(logged(), failure=second.failure, now=NOW + 60)
    third = unpublished(last, step(last), "the log is gone")
    why = "all is there; cannot publish its configuration definitions: the log is gone"
    assert (told(third), third.is_decided) == ((Kind.READY, "Verified", why), True)
    assert third.finding == Finding()


def test_failures_of_another_kind_before_take_nothing_from_the_tries_to_publish() -> None:
    pulled = FailedJob(NAME, 7, None, "ErrImagePull", "no such image")
    found = unpublished(seen(logged(), failure=pulled), step(seen(logged(), failure=pulled)), "the log is gone")
    assert (found.failure.attempts, found.is_decided) == (1, False)


@pytest.mark.parametrize("is_decided", [False, True])
def test_it_is_looked_at_again_where_the_published_definitions_are_gone_and_stays_as_it_is_meanwhile(
    is_decided: bool,
) -> None:
    found = step(seen(said=READY, verified_by="runtime:2", is_lost=True, is_decided=is_decided))
    assert (found.create, found.verdict, found.finding) == (NAME, READY, None)


def test_published_definitions_stay_in_the_status_until_another_pod_has_verified() -> None:
    assert step(seen(said=READY, verified_by="runtime:2")).finding is None
    assert step(seen(logged(), said=READY, verified_by="runtime:1")).publish is not None


def test_the_config_map_belongs_to_the_plugin_version_never_changes_and_is_named_by_its_content() -> None:
    document = {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": "t" * 253, "namespace": "shop", "uid": "u-1"},
    }
    made = definitions_map(document, b"content", "sha256:1")
    assert (made["immutable"], made["binaryData"]) == (True, {"definitions.json.gz": "Y29udGVudA=="})
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("PluginVersion", "u-1", True)
    assert made["metadata"]["labels"]["penstock.dev/plugin-version-uid"] == "u-1"
    name = made["metadata"]["name"]
    assert (len(name), name == definitions_name(document, "sha256:1")) == (253, True)
    assert name != definitions_name(document, "sha256:2")


def test_a_pod_that_found_something_else_has_it_stalled_for_good() -> None:
    found = step(seen(ended(2, "holds acme 2.0.0")))
    assert told(found) == (Kind.STALLED, "VerificationFailed", "holds acme 2.0.0")
    assert (found.verified_by, found.requeue_after) == ("runtime:2", None)


@pytest.mark.parametrize("said", [READY, Verdict(Kind.STALLED, "VerificationFailed", "no")])
def test_what_this_runtime_has_decided_is_not_looked_at_again(said: Verdict) -> None:
    found = step(seen(pod(), said=said, verified_by="runtime:2"))
    assert (found.verdict, found.create, [p.name for p in found.delete]) == (said, None, [NAME])


@pytest.mark.parametrize("pods", [(), (pod(),), (ended(None, reason="Evicted"),)])
def test_another_runtime_looks_again_and_the_previous_result_holds_meanwhile(pods: tuple[JobPod, ...]) -> None:
    found = step(seen(*pods, said=READY, verified_by="runtime:1"))
    assert (found.verdict, found.verified_by) == (READY, "runtime:1")
    assert (found.create is not None) == (not pods)


def test_a_pod_of_an_earlier_operator_with_another_runtime_is_deleted_and_not_believed() -> None:
    old = ended(0, "by the runtime before", "Completed", name="ticker-verify-0")
    found = step(seen(old))
    assert (found.create, [p.name for p in found.delete], found.verdict.reason) == (
        NAME,
        ["ticker-verify-0"],
        "Verifying",
    )
    both = step(seen(old, ended(2, "holds something else")))
    assert (both.verdict.kind, {p.name for p in both.delete}) == (Kind.STALLED, {NAME, "ticker-verify-0"})


def test_another_runtime_that_finds_something_else_is_believed() -> None:
    found = step(seen(ended(2, "built for Python 3.11"), said=READY, verified_by="runtime:1"))
    assert (found.verdict.kind, found.verified_by) == (Kind.STALLED, "runtime:2")


def test_two_releases_with_two_runtimes_in_one_namespace_do_not_take_turns() -> None:
    found = step(seen(said=READY, verified_by="runtime:of-the-other", is_decided=True))
    assert (found.create, found.verdict) == (None, READY)


def test_with_an_older_crd_that_drops_who_has_looked_one_pod_looks() -> None:
    assert step(seen(said=READY, is_decided=True)).create is None


@pytest.mark.parametrize(
    ("end", "reason", "words"),
    [
        (ended(137, reason="OOMKilled"), "OOMKilled", "OOMKilled"),
        (ended(1, "the import of Ticker did not end within 60 s"), "VerificationFailed", "did not end within 60 s"),
        (ended(0), "VerificationFailed", "exit code 0"),
        (ended(None, reason="Evicted"), "Evicted", "Evicted"),
        (ended(None, reason="DeadlineExceeded"), "DeadlineExceeded", "raise job.deadlineSeconds"),
        (
            ended(None, reason="DeadlineExceeded", hindrance=("ErrImagePull", "no such host")),
            "ErrImagePull",
            "no such host",
        ),
        (
            ended(1, "No module named penstock_runtime.verify"),
            "VerificationFailed",
            "No module named penstock_runtime.verify",
        ),
    ],
)
def test_a_pod_that_decided_nothing_is_reported_and_another_one_looks_after_a_pause(
    end: JobPod, reason: str, words: str
) -> None:
    found = step(seen(end))
    assert (found.verdict.kind, found.verdict.reason, found.is_decided) == (Kind.IN_PROGRESS, reason, False)
    assert words in found.verdict.message
    assert (found.requeue_after, [p.name for p in found.delete]) == (15, [NAME])
    waits = step(seen(failure=found.failure, now=NOW + 14))
    assert (waits.create, waits.requeue_after) == (None, 1)
    again = step(seen(failure=found.failure, now=NOW + 15))
    assert (again.create, again.verdict.reason) == (NAME, reason)  # the cause stands while another pod looks
    assert "retried automatically" in again.verdict.message
    assert step(seen(end, failure=found.failure, now=NOW + 20)).requeue_after == 30


def test_out_of_memory_names_the_limit_and_what_to_raise() -> None:
    message = step(seen(ended(137, reason="OOMKilled"))).verdict.message
    assert "used more memory than its limit of 512Mi" in message
    assert "job.resources.limits.memory" in message


def test_what_keeps_a_pod_from_starting_is_reported_while_it_waits_and_its_deadline_counts_from_its_creation() -> None:
    waiting = pod(hindrance=("Unschedulable", "0/1 nodes are available"))
    assert told(step(seen(waiting))) == (Kind.IN_PROGRESS, "Unschedulable", "0/1 nodes are available")
    late = step(seen(waiting, now=NOW + 120))
    assert ([p.name for p in late.delete], late.verdict.reason, late.create) == ([NAME], "Unschedulable", None)
    unseen = step(seen(pod(), now=NOW + 120))
    assert unseen.verdict.message.startswith("the verifying pod was not scheduled within 120 s")


def test_a_pod_on_a_node_that_is_unavailable_is_left_and_another_name_is_taken() -> None:
    away = pod(node="n", leaving=NOW - 100, leaves_by=NOW - 99)
    assert step(seen(away)).create == f"{NAME}-1"
    leaves = pod(node="n", leaving=NOW, leaves_by=NOW + 1)
    assert (step(seen(leaves)).create, step(seen(leaves)).requeue_after) == (None, 31)
    assert step(seen(pod(node="n", accepted=NOW), now=NOW + 150)).verdict.reason == "NodeLost"


def test_a_verdict_of_a_pod_that_somebody_deletes_still_counts() -> None:
    found = step(seen(ended(0, "all is there", "Completed", leaving=NOW, leaves_by=NOW + 1)))
    assert (found.verdict.kind, found.delete) == (Kind.READY, ())


SETTINGS = Settings.of(
    {
        "release": {"name": "penstock", "namespace": "ops"},
        "worker": {"bootstrap.servers": "kafka:9092"},
        "images": {"runtime": "runtime:2", "pullSecrets": ["registry"]},
    }
)
DOCUMENT: dict[str, Any] = {
    "apiVersion": "penstock.dev/v1alpha1",
    "kind": "PluginVersion",
    "metadata": {"name": "ticker-1.0.0", "namespace": "shop", "uid": "u-1", "generation": 1},
    "spec": {
        "plugin": "penstock-ticker",
        "version": "1.0.0",
        "image": f"plugins.example/ticker@sha256:{'0' * 64}",
        "path": "/opt/plugin",
        "classes": [{"alias": "Ticker", "type": "source"}],
    },
}


def test_its_pod_has_no_secret_no_token_a_limit_of_memory_and_of_time_and_goes_with_it() -> None:
    name = name_of(DOCUMENT, SETTINGS)
    made = verifying_pod(name, DOCUMENT, offer_of(DOCUMENT), SETTINGS)
    spec, meta = made["spec"], made["metadata"]
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert not [v for v in spec["volumes"] if "secret" in v or "projected" in v or "configMap" in v]
    assert "bootstrap" not in json.dumps(made)
    assert container["resources"]["limits"] == {"memory": "512Mi"}
    assert spec["activeDeadlineSeconds"] == 120
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert [v["image"]["reference"] for v in spec["volumes"] if "image" in v] == [DOCUMENT["spec"]["image"]]
    assert [(o["kind"], o["uid"]) for o in meta["ownerReferences"]] == [("PluginVersion", "u-1")]
    assert meta["labels"]["penstock.dev/role"] == "verify"
    assert "penstock.dev/connector" not in meta["labels"]
    request = VerificationRequest.from_json(meta["annotations"]["penstock.dev/verification"])
    assert (request.mount.folder, request.seconds) == ("/etc/penstock/plugins/0/opt/plugin", 60)
    assert [c.alias for c in request.mount.classes] == ["Ticker"]


def test_the_name_of_its_pod_is_a_host_name_and_another_for_another_runtime_release_or_resource() -> None:
    long = {**DOCUMENT, "metadata": {**DOCUMENT["metadata"], "name": "a." * 100 + "a"}}
    assert len(name_of(long, SETTINGS)) <= 60
    assert "." not in name_of(long, SETTINGS)
    other = {**DOCUMENT, "metadata": {**DOCUMENT["metadata"], "uid": "u-2"}}
    newer = SETTINGS.model_copy(update={"images": SETTINGS.images.model_copy(update={"runtime": "runtime:3"})})
    assert len({name_of(DOCUMENT, SETTINGS), name_of(other, SETTINGS), name_of(DOCUMENT, newer)}) == 3
