"""Errors of requests to the API server or Kafka, classified by what the operator does next.

    OperatorError
    ├── Conflict       the object has changed since it was read: observe again immediately
    ├── NotYet         the server asks to wait: retry after `retry_after`
    ├── Unavailable    no answer, or a server error: retry with back-off
    │   └── NoSuchKind the CRD of the object is not installed
    ├── Refused        the server does not accept the request: the message is for the user
    └── Unforeseen     an internal error of the operator

All messages may be shown to users; they begin with the request that failed.
"""

from penstock.errors import ConnectError
from penstock_operator.reasons import Reason

__all__ = ["Conflict", "NoSuchKind", "NotYet", "OperatorError", "Refused", "Unavailable", "Unforeseen"]


class OperatorError(ConnectError):
    """Raised when the API server or Kafka did not carry out a request."""


class Conflict(OperatorError):
    """Raised when the object has changed since it was read."""


class NotYet(OperatorError):
    """Raised when the server asks to retry later.

    Args:
        message: the request, and the answer.
        retry_after: seconds to wait.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(OperatorError):
    """Raised when there is no answer, or only a server error that says nothing about the request.

    Args:
        message: the request, and what was received instead of an answer.
        retry_after: seconds to wait, if the server specified them.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoSuchKind(Unavailable):
    """Raised when the API server does not have a kind of object: its CRD is not installed, or not served yet."""


class Refused(OperatorError):
    """Raised when the server refused the request: not allowed, not valid, over quota, denied by admission.

    Args:
        message: the request.
        answer: the server's message.
        status: the HTTP status.
        reason: the server's reason (`Forbidden`, `Invalid`).
        causes: the reasons in the details of its answer (`FieldValueInvalid`, `NamespaceTerminating`).
        fields: the fields in these details, each with its problem.
    """

    def __init__(
        self,
        message: str,
        *,
        answer: str = "",
        status: int = 0,
        reason: str = "",
        causes: frozenset[str] = frozenset(),
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(f"{message}: {answer}" if answer else message)
        self.answer = answer
        self.status = status
        self.reason = reason
        self.causes = causes
        self.fields = fields

    @property
    def namespace_ends(self) -> bool:
        """Return whether the cause is that the namespace is being deleted."""
        return Reason.NAMESPACE_TERMINATING in self.causes

    @property
    def over_quota(self) -> bool:
        """Return whether the cause is an exhausted ResourceQuota, so that a later request may succeed."""
        return self.reason == Reason.FORBIDDEN and "exceeded quota" in self.answer


class Unforeseen(OperatorError):
    """Raised instead of an unexpected exception, whose message may contain secrets. The log has its traceback."""

    def __init__(self) -> None:
        super().__init__("The operator failed to reconcile this Connector because of an internal error")
