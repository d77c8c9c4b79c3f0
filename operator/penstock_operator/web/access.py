"""Users of the console and their permissions, which the API server decides.

For a request with a token, every review of its user and every patch is sent with only that token. The operator needs no
permission for this, and grants none.

A request from an authenticating proxy names its user: a SubjectAccessReview decides, and the operator sends the patch. A
ValidatingAdmissionPolicy restricts such patches to the state and Penstock's annotations.
"""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from penstock_operator.context import Run
from penstock_operator.errors import Conflict, Refused, Unavailable
from penstock_operator.kubernetes.api_errors import Answer, error_of, status_of
from penstock_operator.kubernetes.api_server import ApiServer
from penstock_operator.kubernetes.kinds import ACCESS_REVIEW, CONNECTOR, SELF_ACCESS_REVIEW, SELF_REVIEW, Kind
from penstock_operator.settings import Console
from penstock_operator.web.credentials import SHORTEST_SECRET, proxied_user, token_of
from penstock_operator.web.recent import Recent
from penstock_web.access import Denied, User

__all__ = ["FIELD_MANAGER", "SECRET_FILE", "KubernetesAccess"]

log = logging.getLogger(__name__)

FIELD_MANAGER: Final = "penstock-console"
SECRET_FILE: Final = Path("/etc/penstock/console-proxy/secret")
"""File with the proxy's secret, from a mounted Secret. It is read for each request, so that the secret can be changed."""
_MERGE: Final = "application/merge-patch+json"
_GROUP: Final = CONNECTOR.api_version.partition("/")[0]
_KEPT: Final = 10.0
"""Seconds for which a token's user and users' permissions are cached. For a patch, permissions are always checked."""
_MOST: Final = 1_000
_NAME_LENGTH: Final = 200
_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
"""Pattern of an object's name. The API server treats `a/status`, even encoded, as a subresource of `a`."""


@dataclass(frozen=True, slots=True)
class _TokenUser(User):
    """User who was authenticated by a token."""

    token: str = field(default="", repr=False, compare=False)


class KubernetesAccess:
    """Access with the users' own permissions. Used in one event loop.

    Args:
        settings: settings of the console.
        server: the API server, with short timeouts.
        run: runs blocking calls.
        secret: file with the secret of the proxy.
    """

    def __init__(self, settings: Console, server: ApiServer, run: Run, secret: Path = SECRET_FILE) -> None:
        self._settings = settings
        self._server = server
        self._bare = server.without_credentials()
        self._run = run
        self._secret = secret
        self._users: Recent[bytes, User | None] = Recent(_KEPT, _MOST)
        self._rights: Recent[tuple[object, ...], bool] = Recent(_KEPT, _MOST)

    async def user(self, headers: Mapping[str, str]) -> User | None:
        """Return the user of a request with these headers; None: no user is authenticated.

        An authenticated proxy has precedence, since it may forward a token that only it understands.

        Raises:
            OperatorError: the request to the API server failed.
        """
        if self._settings.proxy.secret_name:
            secret = await asyncio.to_thread(self._proxy_secret)
            if (named := proxied_user(headers, secret, self._settings.proxy)) is not None:
                return named
        token = token_of(headers)
        if token is None:
            return None
        found = await self._users.get(_digest(token), lambda: self._run(self._owner, token))
        return found and _TokenUser(found.name, found.groups, found.uid, found.extra, token)

    async def can_patch(self, user: User, namespace: str, name: str) -> bool:
        """Return whether the user may patch a Connector.

        Raises:
            OperatorError: the request to the API server failed.
        """
        if not self._settings.actions.enabled or not _are_names(namespace, name):
            return False
        who = _digest(user.token) if isinstance(user, _TokenUser) else (user.name, user.groups)
        key = (who, namespace, name)
        return await self._rights.get(key, lambda: self._run(self._may_patch, user, namespace, name))

    async def patch(self, user: User, namespace: str, name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        """Apply a JSON merge patch to a Connector with the user's permissions, and return the Connector.

        Raises:
            Denied: the user lacks permission, the Connector does not exist, or the API server refuses the patch.
            OperatorError: the request to the API server failed.
        """
        if not self._settings.actions.enabled:
            raise Denied("actions are not enabled in this console (console.actions.enabled of the chart)")
        if not _are_names(namespace, name):
            raise Denied("the path does not name a Connector")
        if not isinstance(user, _TokenUser) and not await self._run(self._may_patch, user, namespace, name):
            raise Denied(f"user {user.name} cannot patch connectors.{_GROUP} {name} in namespace {namespace}")
        patched = await self._run(self._patch, user, namespace, name, patch)
        fields = ", ".join(sorted(_fields(patch)))
        log.info(
            "Connector %s/%s was changed in the console by user %s: %s",
            namespace,
            name,
            user.name[:_NAME_LENGTH],
            fields,
        )
        return patched

    def _proxy_secret(self) -> bytes:
        try:
            secret = self._secret.read_bytes().strip()
        except OSError as e:
            log.error("Cannot read the secret of the console's proxy: %s; no request from it is accepted", e.strerror)
            return b""
        if len(secret) < SHORTEST_SECRET:
            log.error("Cannot accept the secret of the console's proxy: it has fewer than %d bytes", SHORTEST_SECRET)
        return secret

    def _owner(self, token: str) -> User | None:
        """Return the user to whom a token belongs; None: the API server does not accept it."""
        doing = "Asking for the user of a token"
        answer = self._ask(SELF_REVIEW, {}, doing, token)
        if answer.code == 401:
            return None
        info = _status(answer, doing).get("userInfo") or {}
        extra = {str(n): tuple(map(str, texts)) for n, texts in (info.get("extra") or {}).items()}
        groups = tuple(map(str, info.get("groups") or ()))
        return User(str(info.get("username", "")), groups, str(info.get("uid", "")), extra)

    def _may_patch(self, user: User, namespace: str, name: str) -> bool:
        doing = f"Asking whether a user may patch Connector {namespace}/{name}"
        right = {"group": _GROUP, "resource": CONNECTOR.plural, "verb": "patch", "namespace": namespace, "name": name}
        if isinstance(user, _TokenUser):
            answer = self._ask(SELF_ACCESS_REVIEW, {"resourceAttributes": right}, doing, user.token)
            return answer.code != 401 and _status(answer, doing).get("allowed") is True
        spec = {"user": user.name, "groups": [*user.groups], "resourceAttributes": right}
        return _status(self._ask(ACCESS_REVIEW, spec, doing, None), doing).get("allowed") is True

    def _patch(self, user: User, namespace: str, name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        doing = f"Patching Connector {namespace}/{name}"
        is_own = isinstance(user, _TokenUser)
        answer = (self._bare if is_own else self._server).request(
            "PATCH",
            CONNECTOR,
            CONNECTOR.path(namespace, name),
            doing,
            body=patch,
            content_type=_MERGE,
            query={"fieldManager": FIELD_MANAGER},
            authorization=f"Bearer {user.token}" if isinstance(user, _TokenUser) else None,
        )
        if answer.code == 401 and is_own:
            raise Denied("the API server no longer accepts the token; use a new one")
        if answer.code >= 300:
            error = error_of(answer, doing)
            if isinstance(error, (Conflict, Refused)):
                raise Denied(str(status_of(answer).get("message") or error))
            raise error
        return cast("Mapping[str, Any]", json.loads(answer.body))

    def _ask(self, kind: Kind, spec: Mapping[str, Any], doing: str, token: str | None) -> Answer:
        """Send a review as the user of the token, or without one as the operator."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **({"spec": spec} if spec else {})}
        server = self._server if token is None else self._bare
        return server.request(
            "POST", kind, kind.path(), doing, body=body, authorization=None if token is None else f"Bearer {token}"
        )


def _status(answer: Answer, doing: str) -> Mapping[str, Any]:
    if answer.code >= 300:
        raise error_of(answer, doing)
    try:
        status = json.loads(answer.body)["status"]
    except (ValueError, KeyError, TypeError):
        raise Unavailable(f"{doing}: the response is not from a Kubernetes API server") from None
    return cast("Mapping[str, Any]", status)


def _are_names(*texts: str) -> bool:
    return all(_OBJECT_NAME.fullmatch(text) and ".." not in text for text in texts)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _fields(patch: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of the fields in a patch, without their values, for the log."""
    for name, value in patch.items():
        where = f"{path}.{name}" if path else name
        if isinstance(value, Mapping) and value:
            yield from _fields(value, where)
        else:
            yield where
