"""Users of the web server, and their actions. The operator implements it with the user's permissions in Kubernetes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Access", "Denied", "User"]


@dataclass(frozen=True, slots=True)
class User:
    """Authenticated user.

    Attributes:
        name: name in Kubernetes.
        groups: groups in Kubernetes.
        uid: uid in Kubernetes, if any.
        extra: further attributes, as a TokenReview returns them.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Denied(Exception):
    """Raised when the user lacks the permission, or the API server rejects the request. Its message is shown to the user."""


class Access(Protocol):
    """Authentication of users, and actions on their behalf. Where it is None, everything is read-only."""

    async def user(self, headers: Mapping[str, str]) -> User | None:
        """Return the user who sent a request with these headers; None: it is not authenticated.

        Raises:
            ConnectError: the API server does not respond, or cannot be used.
        """

    async def can_patch(self, user: User, namespace: str, name: str) -> bool:
        """Return whether the user may patch a Connector.

        Raises:
            ConnectError: the API server does not respond, or cannot be used.
        """

    async def patch(self, user: User, namespace: str, name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        """Apply a JSON merge patch to a Connector with the user's permissions; return the Connector.

        Raises:
            Denied: the user lacks the permission, the Connector does not exist, or the API server rejects the patch.
            ConnectError: the API server does not respond, or cannot be used.
        """
