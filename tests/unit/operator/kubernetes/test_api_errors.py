"""What the API server says instead of what was asked, and what follows from it."""

import json
from typing import Any

import pytest

from penstock_operator.errors import Conflict, NoSuchKind, NotYet, OperatorError, Refused, Unavailable
from penstock_operator.kubernetes.api_errors import Answer, error_of


def answer(
    code: int, message: str = "", reason: str = "", *, headers: dict[str, str] | None = None, **details: Any
) -> Answer:
    status = {"kind": "Status", "message": message, "reason": reason, "details": details, "code": code}
    return Answer(code, headers or {}, json.dumps(status).encode())


QUOTA = 'pods "a-0-1" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=10, limited: pods=10'
SECURITY = 'pods "a-0-1" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
WEBHOOK = 'admission webhook "no.example.com" denied the request: not on Fridays'
INVALID = 'Pod "a" is invalid: spec.containers[0].image: Required value'


@pytest.mark.parametrize(
    ("given", "expected", "text"),
    [
        (answer(409, "the object has been modified", "Conflict"), Conflict, "modified"),
        (answer(429, "too many requests", "TooManyRequests", headers={"Retry-After": "7"}), NotYet, "busy"),
        (answer(403, QUOTA, "Forbidden"), Refused, QUOTA),
        (answer(403, SECURITY, "Forbidden"), Refused, SECURITY),
        (answer(403, WEBHOOK, "Forbidden"), Refused, WEBHOOK),
        (answer(400, WEBHOOK, "BadRequest"), Refused, WEBHOOK),
        (answer(422, INVALID, "Invalid"), Refused, INVALID),
        (answer(413, "Request entity too large", "RequestEntityTooLarge"), Refused, "too large"),
        (answer(404, 'namespaces "x" not found', "NotFound", name="x"), Refused, "not found"),
        (answer(401, "Unauthorized", "Unauthorized"), Unavailable, "credentials"),
        (answer(500, "etcdserver: request timed out", "InternalError"), Unavailable, "etcdserver"),
        (answer(503, "apiserver is shutting down", "ServiceUnavailable"), Unavailable, "shutting down"),
        (answer(504, "Timeout", "Timeout"), Unavailable, "Timeout"),
        (answer(410, "The provided continue parameter is too old", "Expired"), Unavailable, "too old"),
        (Answer(404, {}, b"404 page not found\n"), NoSuchKind, "install the CRDs"),
        (Answer(502, {}, b"<html>Bad Gateway</html>"), Unavailable, "Bad Gateway"),
        (Answer(307, {}, b""), Unavailable, "HTTP status 307"),
        (Answer(418, {}, b"not json"), Refused, "not json"),
    ],
)
def test_every_answer_has_its_error_with_the_server_s_own_words(
    given: Answer, expected: type[OperatorError], text: str
) -> None:
    error = error_of(given, "Creating Pod shop/a-0-1")
    assert type(error) is expected
    assert str(error).startswith("Creating Pod shop/a-0-1: ")
    assert text in str(error)


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({}, {}, 1.0),
        ({"Retry-After": "soon"}, {}, 1.0),
    ],
)
def test_the_server_s_patience_is_read(headers: dict[str, str], details: dict[str, Any], seconds: float) -> None:
    error = error_of(answer(429, "later", headers=headers, **details), "Reading")
    assert isinstance(error, NotYet)
    assert error.retry_after == seconds


def test_a_server_that_is_unavailable_may_say_for_how_long() -> None:
    error = error_of(answer(503, "later", headers={"Retry-After": "5"}), "Reading")
    assert isinstance(error, Unavailable)
    assert error.retry_after == 5.0


def test_a_used_up_quota_and_a_namespace_that_ends_are_distinguished() -> None:
    quota = error_of(answer(403, QUOTA, "Forbidden"), "Creating")
    assert isinstance(quota, Refused)
    assert (quota.over_quota, quota.namespace_ends) == (True, False)
    text = 'pods "a" is forbidden: unable to create new content in namespace x because it is being terminated'
    ends = error_of(answer(403, text, "Forbidden", causes=[{"reason": "NamespaceTerminating"}]), "Creating")
    assert isinstance(ends, Refused)
    assert (ends.over_quota, ends.namespace_ends) == (False, True)


def test_a_message_without_end_is_cut() -> None:
    assert len(str(error_of(answer(422, "x" * 1_000_000, "Invalid"), "Creating"))) < 3_000
