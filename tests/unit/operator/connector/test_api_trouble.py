"""What the API server refuses, as a status tells it: at once or once it lasts, in one text, and without an end of writes."""

from typing import Any

import pytest

from penstock_operator.connector.model.api_failures import RESOURCES_OF_TASKS, ApiTrouble, cause, reported_verdict
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.connector.render.status import status_with_trouble
from penstock_operator.errors import Conflict, NotYet, OperatorError, Refused, Unavailable
from penstock_operator.reasons import Reason

RBAC = Refused(
    "Reading Secret shop/db",
    answer='secrets "db" is forbidden: User "op" cannot get resource "secrets"',
    status=403,
    reason="Forbidden",
)
QUOTA = Refused(
    "Creating ConfigMap shop/a", answer="configmaps is forbidden: exceeded quota: full", status=403, reason="Forbidden"
)
LIMITED = Refused(
    "Creating Pod shop/a",
    answer='pods "a" is forbidden: maximum memory usage per Container is 256Mi, but limit is 2Gi',
    status=403,
    reason="Forbidden",
)
UNLIMITED = Refused(
    "Creating Pod shop/a",
    answer='pods "a" is forbidden: failed quota: team: must specify limits.cpu for: task',
    status=403,
    reason="Forbidden",
)
POLICY = Refused(
    "Creating ConfigMap shop/a",
    answer="ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    status=422,
    reason="Invalid",
)
WEBHOOK = Unavailable('Creating Pod shop/a: Internal error occurred: failed calling webhook "x": connection refused')


def trouble(*failures: tuple[float, OperatorError], looking: bool = False) -> ApiTrouble:
    made = ApiTrouble()
    for at, error in failures:
        made.failed(error, at, looking=looking)
    return made


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (RBAC, "Forbidden", "a Role of the chart"),
        (QUOTA, "QuotaExceeded", "make room"),
        (
            LIMITED,
            "ResourcesRefused",
            "change job.resources of the release, which every job pod has, or that LimitRange",
        ),
        (UNLIMITED, "ResourcesRefused", "set them in job.resources of the release"),
        (POLICY, "AdmissionDenied", "denied request: no"),
        (WEBHOOK, "AdmissionUnavailable", "failurePolicy"),
        (Unavailable("Listing pods of shop: etcdserver: timed out"), "ApiServerUnavailable", "etcdserver"),
        (Conflict("Writing the status of Connector shop/a: changed"), "Conflict", "repeatedly"),
        (NotYet("Creating Pod shop/a: too many requests", 1.0), "ApiServerBusy", "too many"),
    ],
)
def test_a_cause_has_a_reason_what_failed_and_what_to_do(error: OperatorError, reason: str, words: str) -> None:
    told = trouble((0, error), (100, error)).verdict
    assert told is not None
    assert (told.kind, told.reason) == (Kind.IN_PROGRESS, reason)
    assert told.message.startswith(str(error))
    assert words in told.message
    assert told.message.endswith("running tasks continue")


def test_a_task_whose_resources_are_refused_is_pointed_to_its_template() -> None:
    assert (
        cause(LIMITED, RESOURCES_OF_TASKS)[1] == "change spec.template.resources, or that LimitRange of the namespace"
    )


def test_what_could_not_be_looked_at_is_unknown() -> None:
    told = trouble((0, RBAC), looking=True).verdict
    assert told is not None
    assert told.kind is Kind.UNKNOWN


def test_a_refusal_is_reported_immediately_and_a_temporary_trouble_once_it_has_lasted() -> None:
    assert trouble((0, QUOTA)).verdict is not None
    assert trouble((0, WEBHOOK), (2, WEBHOOK)).verdict is None
    assert trouble((0, WEBHOOK), (4, WEBHOOK)).verdict is not None
    busy = NotYet("x", 1.0)
    assert trouble((0, busy), (20, busy)).verdict is None
    assert trouble((0, busy), (40, busy)).verdict is not None


def test_what_passed_is_no_longer_reported_and_starts_again() -> None:
    made = trouble((0, WEBHOOK), (4, WEBHOOK))
    assert made.passed()
    assert made.verdict is None
    assert not made.passed()
    made.failed(WEBHOOK, 10, looking=False)
    assert made.verdict is None


def test_words_that_change_with_every_try_change_the_status_every_five_minutes_at_most() -> None:
    made, texts = ApiTrouble(), set()
    for at in range(600):
        made.failed(Unavailable(f"Listing pods: read tcp 10.0.0.1:{40000 + at}: reset"), float(at), looking=True)
        texts.add(made.verdict)
    assert len(texts - {None}) == 2


def test_causes_that_take_turns_change_the_status_every_ten_seconds_at_most() -> None:
    made, changes = ApiTrouble(), 0
    for at in range(60):
        before = made.verdict
        made.failed((QUOTA, RBAC)[at % 2], float(at), looking=False)
        changes += made.verdict != before
    assert 2 <= changes <= 6


def document(*conditions: dict[str, Any], generation: int = 2, **status: Any) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "status": {"conditions": [*conditions], **status}}


def ready(status: str, reason: str, generation: int = 1) -> dict[str, Any]:
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": "m",
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


HINDERED = Verdict(Kind.IN_PROGRESS, "QuotaExceeded", "full")


def test_nothing_but_the_conditions_of_the_verdict_is_changed_and_a_second_time_nothing() -> None:
    valid = {**ready("True", "Valid"), "type": "ConfigValid"}
    before = document(valid, ready("True", "Running"), observedGeneration=1, state="Running", tasks=[{"id": 0}])
    found = status_with_trouble(before, HINDERED, 1_800_000_000.0)
    assert found is not None
    by_type = {c["type"]: c for c in found["conditions"]}
    assert by_type["ConfigValid"] == valid
    assert (by_type["Ready"]["status"], by_type["Ready"]["observedGeneration"]) == ("False", 2)
    assert by_type["Reconciling"]["reason"] == "QuotaExceeded"
    assert {k: v for k, v in found.items() if k != "conditions"} == {
        "observedGeneration": 1,
        "state": "Running",
        "tasks": [{"id": 0}],
    }
    assert status_with_trouble({**before, "status": found}, HINDERED, 1_900_000_000.0) is None


def test_a_connector_of_which_nothing_was_decided_is_pending() -> None:
    found = status_with_trouble({"metadata": {"generation": 1}}, HINDERED, 1_800_000_000.0)
    assert found is not None
    assert found["state"] == "Pending"
    assert "observedGeneration" not in found


def test_a_refused_name_stays_in_the_status_since_later_decisions_go_by_it() -> None:
    """Without Kafka nothing else tells that another one has it."""
    assert status_with_trouble(document(ready("False", Reason.NAME_CONFLICT, 2)), HINDERED, 0.0) is None
    conflict = Verdict(Kind.STALLED, Reason.NAME_CONFLICT, "taken")
    assert reported_verdict(conflict, HINDERED) is conflict
    assert reported_verdict(Verdict(Kind.READY, "Running", ""), HINDERED) is HINDERED
    assert reported_verdict(conflict, None) is conflict


def test_a_message_stays_within_its_bytes() -> None:
    found = status_with_trouble(document(), Verdict(Kind.IN_PROGRESS, "X", "é" * 40_000), 0.0)
    assert found is not None
    assert all(len(c["message"].encode()) <= 8_000 for c in found["conditions"])
