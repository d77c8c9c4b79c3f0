"""Routes of Kafka Connect's REST API for one namespace: `/connect/{namespace}/connectors` and so on.

Reading requires no permissions, and shows no secrets. Actions patch the Connector with the user's permissions.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any, Final, TypeVar

from aiohttp import web

from penstock.errors import ConfigError, ConnectError
from penstock_model.connect.built_in_definitions import built_in_definitions
from penstock_model.contracts.definitions import ClassDefinition, Definitions, config_key_info
from penstock_web.access import Access, Denied, User
from penstock_web.actions import annotation_patch, state_patch
from penstock_web.connect_rest.connector_json import (
    active_topics,
    connector_info,
    connector_status,
    name_of,
    task_infos,
    task_status,
)
from penstock_web.connect_rest.plugin_json import (
    NoSuchVersion,
    PluginRow,
    UnknownPlugin,
    plugin_infos,
    plugin_keys,
    plugin_rows,
)
from penstock_web.connect_rest.validation import config_infos, document_of, problems_of
from penstock_web.plugin_knowledge import knowledge_of, plugin_versions_of
from penstock_web.shown_config import shown_config
from penstock_web.source import Document, WebSource

__all__ = ["routes"]

API_VERSION: Final = "4.3.1"
"""Version of Kafka Connect whose REST API this is; clients choose their requests by it."""
_CHECKS: Final = 2
"""Maximum number of configurations that are checked concurrently. Anyone may send one."""
_LARGE: Final = 2
"""Maximum number of answers with all connectors that are created concurrently; others wait.

One takes 0.3 s of CPU time and 1.5 MB for 1,000 connectors.
"""
_MOST_LARGE: Final = 32
"""Maximum number of such answers that are created or waiting; others get 503, so that some connections remain free."""
_MOST_PROPERTIES: Final = 2_000
_ROOT: Final = "/connect/{namespace}"

_T = TypeVar("_T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Problem(Exception):
    """Raised to answer a request with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def routes(source: WebSource, access: Access | None) -> list[web.RouteDef]:
    """Return the routes.

    Args:
        source: resources that are shown.
        access: authenticates users of actions; None: actions are disabled.
    """
    api = _Api(source, access)
    c, p = f"{_ROOT}/connectors", f"{_ROOT}/connector-plugins"
    found: list[tuple[str, str, Handler]] = [
        ("GET", f"{_ROOT}/", api.root),
        ("GET", _ROOT, api.root),
        ("GET", f"{_ROOT}/health", api.health),
        ("GET", c, api.connectors),
        ("GET", f"{c}/", api.connectors),
        ("GET", f"{c}/{{name}}", api.connector),
        ("GET", f"{c}/{{name}}/config", api.config),
        ("GET", f"{c}/{{name}}/status", api.status),
        ("GET", f"{c}/{{name}}/tasks", api.tasks),
        ("GET", rf"{c}/{{name}}/tasks/{{task:\d{{1,9}}}}/status", api.task_status),
        ("GET", f"{c}/{{name}}/topics", api.topics),
        ("GET", f"{c}/{{name}}/offsets", api.offsets),
        ("PUT", f"{c}/{{name}}/pause", api.pause),
        ("PUT", f"{c}/{{name}}/resume", api.resume),
        ("PUT", f"{c}/{{name}}/stop", api.stop),
        ("PUT", f"{c}/{{name}}/topics/reset", api.reset_topics),
        ("POST", f"{c}/{{name}}/restart", api.restart),
        ("POST", rf"{c}/{{name}}/tasks/{{task:\d{{1,9}}}}/restart", api.restart_task),
        ("GET", p, api.plugins),
        ("GET", f"{p}/", api.plugins),
        ("GET", f"{p}/{{plugin}}/config", api.plugin_config),
        ("PUT", f"{p}/{{plugin}}/config/validate", api.validate),
    ]
    own = [web.RouteDef(method, path, _answering(handler), {}) for method, path, handler in found]
    return [*own, web.RouteDef("*", f"{_ROOT}/{{rest:.*}}", _answering(_other), {})]


class _Api:
    def __init__(self, source: WebSource, access: Access | None) -> None:
        self._source = source
        self._access = access
        self._checks = asyncio.Semaphore(_CHECKS)
        self._large = asyncio.Semaphore(_LARGE)
        self._large_asked = 0

    async def root(self, request: web.Request) -> web.Response:
        cluster = self._source.kafka_cluster_id()
        commit = f"penstock-{self._source.release()}"
        return _json({"version": API_VERSION, "commit": commit, "kafka_cluster_id": cluster or ""})

    async def health(self, request: web.Request) -> web.Response:
        text = "Worker has completed startup and is ready to handle requests."
        return _json({"status": "healthy", "message": text})

    # Connectors

    async def connectors(self, request: web.Request) -> web.Response:
        namespace = request.match_info["namespace"]
        there = [c for c in self._source.connectors() if c["metadata"].get("namespace") == namespace]
        there.sort(key=name_of)
        wanted = request.query.getall("expand", [])
        if not wanted:
            return _json([name_of(c) for c in there])
        if self._large_asked >= _MOST_LARGE:
            raise _Problem(
                503, f"cannot list all connectors: {_MOST_LARGE} clients are waiting for such lists; try again"
            )
        self._large_asked += 1
        try:
            async with self._large:
                body = await _to_the_end(lambda: self._expanded(namespace, there, wanted))
        finally:
            self._large_asked -= 1
        return web.Response(body=body, content_type="application/json", charset="utf-8")

    def _expanded(self, namespace: str, connectors: list[Document], wanted: list[str]) -> bytes:
        """Return the JSON, encoded connector by connector: other threads wait during each encoding."""
        knowledge, worker = knowledge_of(self._source, namespace), self._source.worker()
        found: list[str] = []
        for connector in connectors:
            answer: dict[str, Any] = {}
            if "status" in wanted:
                answer["status"] = connector_status(connector)
            if "info" in wanted:
                answer["info"] = connector_info(connector, shown_config(connector, knowledge, worker))
            found.append(f"{_text_of(name_of(connector))}:{_text_of(answer)}")
        return f"{{{','.join(found)}}}".encode()

    async def connector(self, request: web.Request) -> web.Response:
        connector = self._found(request)
        return _json(connector_info(connector, await asyncio.to_thread(self._shown, connector)))

    async def config(self, request: web.Request) -> web.Response:
        connector = self._found(request)
        return _json(connector_info(connector, await asyncio.to_thread(self._shown, connector))["config"])

    async def status(self, request: web.Request) -> web.Response:
        return _json(connector_status(self._found(request, "No status found for connector {name}")))

    async def tasks(self, request: web.Request) -> web.Response:
        connector = self._found(request)
        return _json(task_infos(connector, await asyncio.to_thread(self._shown, connector)))

    async def task_status(self, request: web.Request) -> web.Response:
        number = int(request.match_info["task"])
        missing = f"No status found for task {{name}}-{number}"
        connector = self._found(request, missing)
        task = _task(connector, number)
        if task is None:
            raise _Problem(404, missing.format(name=name_of(connector)))
        return _json(task_status(connector, task))

    async def topics(self, request: web.Request) -> web.Response:
        connector = self._source.connector(*_key(request))
        topics = [] if connector is None else active_topics(connector)
        return _json({request.match_info["name"]: {"topics": topics}})

    async def offsets(self, request: web.Request) -> web.Response:
        connector = self._found(request)
        found = await self._source.offsets(*_key(request))
        if found is None:
            name = name_of(connector)
            raise _Problem(
                404,
                f"cannot return the offsets of connector {name}: they have not been listed yet; request a list with "
                f"kubectl penstock offsets list {name}, or annotation penstock.dev/list-offsets",
            )
        return _json(found)

    # Plugins

    async def plugins(self, request: web.Request) -> web.Response:
        only = request.query.get("connectorsOnly", "true").lower() != "false"
        rows = await asyncio.to_thread(self._rows, request.match_info["namespace"])
        return _json(plugin_infos(rows, connectors_only=only))

    async def plugin_config(self, request: web.Request) -> web.Response:
        rows = await asyncio.to_thread(self._rows, request.match_info["namespace"])
        _, keys = plugin_keys(rows, request.match_info["plugin"], request.query.get("version"))
        return _json([config_key_info(key) for key in keys])

    async def validate(self, request: web.Request) -> web.Response:
        plugin, config = request.match_info["plugin"], await _config_of(request)
        wanted = config.get("connector.class")
        if wanted is None:
            raise _Problem(400, f"Connector config {{{', '.join(config)}}} contains no connector type")
        if not _is_same_class(wanted, plugin):
            raise _Problem(400, f"Included connector type {wanted} does not match request type {plugin}")
        if self._checks.locked():
            raise _Problem(503, f"cannot validate the configuration: {_CHECKS} others are being validated; try again")
        await self._checks.acquire()
        # A thread continues after a timeout: only its end allows the next check.
        check = asyncio.ensure_future(
            asyncio.to_thread(self._validated, plugin, config, request.match_info["namespace"])
        )
        check.add_done_callback(self._checked)
        return _json(await asyncio.shield(check))

    def _checked(self, check: asyncio.Future[dict[str, Any]]) -> None:
        self._checks.release()
        if not check.cancelled():
            check.exception()  # the client may be gone

    def _validated(self, plugin: str, config: Mapping[str, str], namespace: str) -> dict[str, Any]:
        definition, keys = plugin_keys(self._rows(namespace), plugin, config.get("connector.plugin.version"))
        if definition.type not in ("source", "sink"):
            raise _Problem(400, f"{plugin} is not a connector: only configurations of connectors can be validated")
        knowledge = knowledge_of(self._source, namespace)
        problems = problems_of(document_of(config, namespace), knowledge, self._source.worker())
        return config_infos(plugin, config, keys, problems)

    # Actions

    async def pause(self, request: web.Request) -> web.Response:
        return await self._set_state(request, "Paused", 202)

    async def resume(self, request: web.Request) -> web.Response:
        return await self._set_state(request, "Running", 202)

    async def stop(self, request: web.Request) -> web.Response:
        return await self._set_state(request, "Stopped", 204)

    async def _set_state(self, request: web.Request, state: str, status: int) -> web.Response:
        user = await self._user(request)
        self._found(request, "Unknown connector {name}")
        await self._patch(user, request, state_patch(state))
        return web.Response(status=status)

    async def restart(self, request: web.Request) -> web.Response:
        """Restart tasks. Without `includeTasks`, only failed ones: a connector here has no instance apart from its tasks."""
        user = await self._user(request)
        self._found(request, "Unknown connector: {name}")
        include, only_failed = (request.query.get(n, "false").lower() == "true" for n in ("includeTasks", "onlyFailed"))
        action = "restart" if include and not only_failed else "restart-failed"
        patched = await self._patch(user, request, annotation_patch(action, _token()))
        return _json(connector_status(patched), 202) if include or only_failed else web.Response(status=204)

    async def reset_topics(self, request: web.Request) -> web.Response:
        user = await self._user(request)
        self._found(request)
        await self._patch(user, request, annotation_patch("reset-topics", _token()))
        return web.Response(status=202)

    async def restart_task(self, request: web.Request) -> web.Response:
        user = await self._user(request)
        number = int(request.match_info["task"])
        connector = self._found(request, "Unknown connector: {name}")
        if _task(connector, number) is None:
            raise _Problem(404, f"Unknown task: {name_of(connector)}-{number}")
        await self._patch(user, request, annotation_patch("restart-tasks", _token(), str(number)))
        return web.Response(status=204)

    async def _user(self, request: web.Request) -> User:
        if self._access is None:
            raise _Problem(403, f"cannot {request.method} {request.path}: actions are disabled; use kubectl")
        user = await self._access.user(request.headers)
        if user is None:
            raise _Problem(401, f"cannot {request.method} {request.path}: authenticate with a token of Kubernetes")
        return user

    async def _patch(self, user: User, request: web.Request, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._access is not None
        return await self._access.patch(user, *_key(request), patch)

    # Resources

    def _found(self, request: web.Request, missing: str = "Connector {name} not found") -> Document:
        connector = self._source.connector(*_key(request))
        if connector is None:
            raise _Problem(404, missing.format(name=request.match_info["name"]))
        return connector

    def _shown(self, connector: Document) -> dict[str, str]:
        knowledge = knowledge_of(self._source, str(connector["metadata"].get("namespace") or ""))
        return shown_config(connector, knowledge, self._source.worker())

    def _rows(self, namespace: str) -> list[PluginRow]:
        found: list[ClassDefinition] = [*built_in_definitions(self._source.release()).classes]
        for document in plugin_versions_of(self._source, namespace):
            there: Definitions | None = self._source.definitions(namespace, document["metadata"]["name"])
            found += there.classes if there is not None else ()
        return plugin_rows(found)


def _answering(handler: Handler) -> Handler:
    """Return the handler with errors in Kafka Connect's format."""

    @wraps(handler)
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except _Problem as e:
            return _error(e.status, str(e))
        except Denied as e:
            return _error(403, str(e))
        except UnknownPlugin as e:
            return _error(404, e.problems[0].message)
        except NoSuchVersion as e:
            return _error(400, e.problems[0].message)
        except ConfigError as e:
            return _error(400, str(e))
        except ConnectError as e:
            return _error(500, str(e))

    return answer


async def _other(request: web.Request) -> web.Response:
    if request.method in ("GET", "HEAD"):
        raise _Problem(404, "HTTP 404 Not Found")
    raise _Problem(
        405,
        f"cannot {request.method} {request.path}: connectors are created, changed and deleted as Connector resources "
        f"(kubectl apply), and offsets by annotations",
    )


async def _config_of(request: web.Request) -> Mapping[str, str]:
    try:
        found = json.loads(await request.read())
    except web.HTTPRequestEntityTooLarge:
        raise _Problem(413, "the configuration is larger than a Kubernetes object can be") from None
    except (ValueError, RecursionError, web.RequestPayloadError):
        raise _Problem(400, "the body is not JSON; send the configuration as a JSON object") from None
    if isinstance(found, dict) and len(found) > _MOST_PROPERTIES:
        raise _Problem(413, f"the configuration has more than {_MOST_PROPERTIES} properties")
    if not isinstance(found, dict):
        raise _Problem(400, "the body is not a JSON object; send the configuration as one")
    nested = [name for name, value in found.items() if isinstance(value, dict | list)]
    if nested:
        raise _Problem(400, f"the values of {', '.join(nested)} are not strings; send each value as a string")
    return {name: _text(value) for name, value in found.items() if value is not None}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_same_class(wanted: str, plugin: str) -> bool:
    def short(name: str) -> str:
        return name.rpartition(".")[2].removesuffix("Connector")

    return wanted == plugin or (short(wanted) == short(plugin) and not ("." in wanted and "." in plugin))


def _task(connector: Document, number: int) -> Mapping[str, Any] | None:
    tasks = (connector.get("status") or {}).get("tasks") or ()
    return next((t for t in tasks if t["id"] == number), None)


def _key(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["name"]


def _token() -> str:
    return f"rest-{time.time_ns() // 1_000_000}"


async def _to_the_end(work: Callable[[], _T]) -> _T:
    """Run work in a thread. After a timeout, wait for the end of the thread, which cannot be stopped."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    finally:
        await asyncio.wait([running])


def _text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(text=_text_of(value), status=status, content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    response = _json({"error_code": status, "message": message}, status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "5"
    return response
