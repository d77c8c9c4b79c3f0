"""Answers to admission requests, as an AdmissionReview. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.errors import Problem

__all__ = ["ALLOWED", "API_VERSION", "Answer", "admission_review"]

API_VERSION: Final = "admission.k8s.io/v1"
_MOST: Final = 50
"""Maximum number of problems, and of warnings, in one answer."""
_LONGEST_WARNING: Final = 250
"""Maximum characters of a warning. The API server truncates longer warnings at 256 if there are many."""
_FIELDS: Final = ("spec", "metadata")


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to one request.

    Attributes:
        problems: why the object is refused; empty: it is allowed.
        warnings: warnings for the user who applies it.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def result(self) -> str:
        """Return the result for the metrics."""
        return "refused" if self.problems else "warned" if self.warnings else "allowed"


ALLOWED: Final = Answer()


def admission_review(uid: str, request: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Return the response to a request. kubectl prints each cause on a separate line."""
    response: dict[str, Any] = {"uid": uid, "allowed": not answer.problems}
    if answer.warnings:
        shown = [_cut(f"{field_path(p.property)}: {p.message}") for p in answer.warnings[:_MOST]]
        rest = len(answer.warnings) - _MOST
        response["warnings"] = [*shown, *([f"{rest} more warnings"] if rest > 0 else [])]
    if answer.problems:
        response["status"] = _refusal(request, answer.problems)
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}


def field_path(name: str) -> str:
    """Return the path of a field in the object; a property of a Connector is a field of `spec.config`."""
    if not name:
        return "spec"
    return name if name.partition(".")[0] in _FIELDS else f"spec.config.{name}"


def _refusal(request: Mapping[str, Any], problems: Sequence[Problem]) -> dict[str, Any]:
    causes = [
        {"reason": "FieldValueInvalid", "field": field_path(p.property), "message": p.message} for p in problems[:_MOST]
    ]
    if len(problems) > _MOST:
        more = f"{len(problems) - _MOST} more problems"
        causes.append({"reason": "FieldValueInvalid", "field": "spec", "message": more})
    kind = request.get("kind") or {}
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "; ".join(f"{c['field']}: {c['message']}" for c in causes),
        "details": {
            "group": kind.get("group", ""),
            "kind": kind.get("kind", ""),
            "name": str(request.get("name") or ""),
            "causes": causes,
        },
    }


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_WARNING else f"{text[:_LONGEST_WARNING]}..."
