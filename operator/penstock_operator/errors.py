"""What goes wrong between the operator and the API server or Kafka, split by what follows from it.

    OperatorError
    ├── Conflict       somebody else changed the object: gather again, at once
    ├── NotYet         the server asks for patience: again after `retry_after`
    ├── Unavailable    nobody answers, or with an error of their own: again with back-off
    ├── Refused        the request itself is not accepted: its message is for the user
    └── Unforeseen     a fault of the operator's own, or an answer that nobody gives

All messages are sentences that may be shown: they begin with what was being done.
"""

from penstock.errors import ConnectError
from penstock_operator.reasons import Reason

__all__ = ["Conflict", "NotYet", "OperatorError", "Refused", "Unavailable", "Unforeseen"]


class OperatorError(ConnectError):
    """Something outside did not do what was asked of it."""


class Conflict(OperatorError):
    """The object was changed since it was read."""


class NotYet(OperatorError):
    """Not now.

    Args:
        message: what was asked, and who asks for patience.
        retry_after: seconds.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(OperatorError):
    """No answer, or one that says nothing about the request.

    Args:
        message: what was asked, and what came instead.
        retry_after: seconds, where the server said so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Refused(OperatorError):
    """The server understood the request and does not want it: not allowed, not valid, over quota, denied by admission.

    Args:
        message: what was asked.
        answer: the server's own sentence.
        status: the HTTP status.
        reason: the server's word for it (`Forbidden`, `Invalid`).
        causes: its words for details (`FieldValueInvalid`, `NamespaceTerminating`).
    """

    def __init__(
        self, message: str, *, answer: str = "", status: int = 0, reason: str = "", causes: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(f"{message}: {answer}" if answer else message)
        self.answer = answer
        self.status = status
        self.reason = reason
        self.causes = causes

    @property
    def namespace_ends(self) -> bool:
        """Whether that is because the namespace is being deleted."""
        return Reason.NAMESPACE_TERMINATING in self.causes

    @property
    def over_quota(self) -> bool:
        """Whether a ResourceQuota is used up: room may come."""
        return self.reason == Reason.FORBIDDEN and "exceeded quota" in self.answer


class Unforeseen(OperatorError):
    """What the log holds with its trace: its words may hold anything, and are not shown."""

    def __init__(self) -> None:
        super().__init__("The operator failed at this Connector by a fault of its own")
