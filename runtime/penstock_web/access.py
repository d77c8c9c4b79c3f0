"""Who sends a request, and what this user may do. The operator implements it with the user's own rights in Kubernetes."""

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
    """The user may not do it, or the API server refused it. Its message is shown to the user."""


class Access(Protocol):
    """Authenticates users, and carries out what they are allowed to do. None instead of one: everything is read-only."""

    async def user(self, headers: Mapping[str, str]) -> User | None:
        """Return the user who sent a request with these headers; None: nobody is authenticated.

        Raises:
            ConnectError: the API server cannot be asked.
        """

    async def can_patch(self, user: User, namespace: str, name: str) -> bool:
        """Return whether the user may patch a Connector.

        Raises:
            ConnectError: the API server cannot be asked.
        """

    async def patch(self, user: User, namespace: str, name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        """Apply a JSON merge patch to a Connector for the user, with their rights; return the Connector.

        Raises:
            Denied: the user may not, the Connector does not exist, or the API server refuses the patch.
            ConnectError: the API server cannot be asked.
        """
