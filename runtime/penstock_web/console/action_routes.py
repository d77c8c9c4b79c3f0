"""Handlers of actions that a user requests on a Connector, and of previews, which change nothing."""

import json
import time
from collections.abc import Awaitable
from typing import Final, TypeVar

from aiohttp import web

from penstock.errors import ConnectError
from penstock_web.access import Access, Denied, User
from penstock_web.actions import annotation_patch, state_patch
from penstock_web.console.offsets_view import MOST_OFFSETS, changes_of
from penstock_web.console.rendering import Renderer
from penstock_web.options import WebOptions
from penstock_web.source import Document, WebSource

__all__ = ["ActionRoutes"]

_T = TypeVar("_T")
_STATES: Final = {"pause": "Paused", "resume": "Running", "stop": "Stopped"}
_REQUESTS: Final = frozenset(
    {"restart", "restart-failed", "reset-topics", "list-offsets", "reset-offsets", "alter-offsets"}
)
_QUESTIONS: Final = {
    "stop": "All tasks stop. The configuration and the offsets are kept. Stop this Connector?",
    "restart": "All tasks are replaced, and newer plugin versions are used. Restart this Connector?",
    "reset-topics": "The list of active topics is cleared. The topics themselves are kept. Reset the list?",
}


class ActionRoutes:
    """Handlers of requests for actions and previews."""

    def __init__(self, source: WebSource, options: WebOptions, access: Access | None, render: Renderer) -> None:
        self._source = source
        self._options = options
        self._access = access
        self._render = render

    async def forms(self, request: web.Request) -> web.Response:
        """Answer with the forms of the actions that this user may currently request."""
        namespace, name = _names(request)
        document = self._document(request)
        user = await self._user(request)
        can_patch = False
        if user is not None and self._access is not None:
            can_patch = await _asked(self._access.can_patch(user, namespace, name))
        state = str((document.get("spec") or {}).get("state") or "Running")
        text = self._render(
            "actions.html",
            is_enabled=self._access is not None,
            user=None if user is None else user.name,
            can_patch=can_patch,
            namespace=namespace,
            name=name,
            is_stopped=state == "Stopped",
            document="",
            questions=_QUESTIONS,
            buttons=[
                ("pause", "Pause", state == "Running"),
                ("resume", "Resume", state != "Running"),
                ("stop", "Stop", state != "Stopped"),
                ("restart-failed", "Restart failed tasks", state != "Stopped" and _has_failed(document)),
                ("restart", "Restart", state != "Stopped"),
                ("list-offsets", "List offsets", True),
                ("reset-topics", "Reset active topics", bool((document.get("status") or {}).get("activeTopics"))),
            ],
        )
        return _html(text)

    async def act(self, request: web.Request) -> web.Response:
        """Request an action, and answer with a confirmation."""
        namespace, name = _names(request)
        action = request.match_info["action"]
        if self._access is None:
            raise web.HTTPForbidden(text="this console is read-only\n")
        if action not in _STATES and action not in _REQUESTS:
            raise web.HTTPNotFound(text="there is no such action\n")
        self._document(request)
        user = await self._user(request)
        if user is None:
            raise web.HTTPUnauthorized(text="sign in with a token first\n", headers={"WWW-Authenticate": "Bearer"})
        content = ""
        if action == "alter-offsets":
            document = await self._field(request, "document")
            try:
                changes_of({}, document)
            except ConnectError as e:
                raise web.HTTPBadRequest(text=f"{e}\n") from None
            content = document.strip()
        patch = (
            state_patch(_STATES[action])
            if action in _STATES
            else annotation_patch(action, f"console-{time.time() * 1000:.0f}", content)
        )
        try:
            await _asked(self._access.patch(user, namespace, name, patch))
        except Denied as e:
            raise web.HTTPForbidden(text=f"{e}\n") from None
        done = f"spec.state is now {_STATES[action]}" if action in _STATES else f"{action} was requested"
        return web.Response(text=f"{done}; the operator acts within seconds.\n")

    async def preview(self, request: web.Request) -> web.Response:
        """Answer with the effect that a change or a reset (`how`) of the offsets would have."""
        self._document(request)
        is_reset = await self._field(request, "how") == "reset"
        document = None if is_reset else await self._field(request, "document")
        listed = await _asked(self._source.offsets(*_names(request)))
        try:
            changes = changes_of(listed or {}, document)
        except ConnectError as e:
            raise web.HTTPBadRequest(text=f"{e}\n") from None
        text = self._render(
            "changes.html",
            changes=changes[:MOST_OFFSETS],
            more=max(0, len(changes) - MOST_OFFSETS),
            is_listed=listed is not None,
        )
        return _html(text)

    async def transform(self, request: web.Request) -> web.Response:
        """Answer with what each step of the chain does to a record."""
        document = self._document(request)
        if self._options.transform is None:
            raise web.HTTPNotFound(text="this console cannot run transforms\n")
        record = await self._field(request, "record")
        try:
            text = await self._options.transform(document, record)
        except ConnectError as e:
            raise web.HTTPBadRequest(text=f"{e}\n") from None
        return _html(self._render("transformed.html", text=text))

    async def _user(self, request: web.Request) -> User | None:
        return None if self._access is None else await _asked(self._access.user(request.headers))

    async def _field(self, request: web.Request, name: str) -> str:
        """Return a field of the JSON in the body."""
        try:
            value = json.loads(await request.read())[name]
        except (ValueError, KeyError, TypeError, RecursionError, web.RequestPayloadError):
            raise web.HTTPBadRequest(text=f"the request must be a JSON object with a string {name}\n") from None
        if not isinstance(value, str):
            raise web.HTTPBadRequest(text=f"{name} must be a string\n")
        return value

    def _document(self, request: web.Request) -> Document:
        document = self._source.connector(*_names(request))
        if document is None:
            raise web.HTTPNotFound(text="there is no such Connector\n")
        return document


async def _asked(answer: Awaitable[_T]) -> _T:
    """Return an answer of the API server.

    Raises:
        HTTPBadGateway: it is unreachable.
    """
    try:
        return await answer
    except ConnectError as e:
        raise web.HTTPBadGateway(text=f"{e}\n") from None


def _has_failed(document: Document) -> bool:
    tasks = (document.get("status") or {}).get("tasks") or ()
    return any(task.get("state") == "Failed" for task in tasks)


def _names(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["name"]


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})
