"""Client of Apicurio's registry that uses Apicurio's own API."""

import time
from typing import Any, Final

import httpx2
from authlib.integrations.httpx_client import OAuth2Client
from cachetools import LRUCache
from confluent_kafka.schema_registry.error import SchemaRegistryError

from penstock import ConfigError, Problem
from penstock_registry.apicurio.config import ApicurioAvroConfig
from penstock_registry.apicurio.strategies import Artifact
from penstock_registry.apicurio.wire_format import other_kind
from penstock_registry.call_errors import Calls
from penstock_registry.references import Reference, collect_references
from penstock_registry.registry import Found
from penstock_registry.urls import without_password
from penstock_registry.wire import Id

__all__ = ["ApicurioRegistry"]

_SECONDS: Final = 60
_OFF: Final = " (apicurio.registry.auto-register=false: the schema must be registered already)"


class ApicurioRegistry:
    """Client of the registry, whose subjects are the paths of artifacts. Errors are those of `Registry`."""

    def __init__(self, config: ApicurioAvroConfig, kind: str) -> None:
        self._config = config
        self._kind = kind
        try:
            self._client = _client(config)
        except (OSError, ValueError, TypeError, httpx2.InvalidURL) as e:
            raise ConfigError(
                Problem("apicurio.registry.url", f"cannot set up the client: {type(e).__name__}: {e}")
            ) from e
        self._calls = Calls(without_password(config.url), config.cache_size, "apicurio.auth.*")
        self._ids: LRUCache[tuple[str, str], Id] = LRUCache(config.cache_size)
        self._latest: LRUCache[str, tuple[float, Found]] = LRUCache(config.cache_size)

    def id_of(self, subject: str, text: str) -> Id:
        """Return the id of a schema in an artifact, registered first if `apicurio.registry.auto-register` allows it."""
        known = self._ids.get((subject, text))
        if known is not None:
            return known
        register = self._config.auto_register
        what = f"register a schema in {subject}" if register else f"find the schema in {subject}{_OFF}"
        with self._calls.asking(what, (subject, text)):
            number = self._id(self._registered(subject, text) if register else self._metadata(subject, text))
        self._ids[subject, text] = number
        return number

    def latest(self, subject: str) -> Found:
        """Return the latest schema of an artifact."""
        asked, known = self._latest.get(subject, (0.0, None))
        if known is not None and time.monotonic() < asked + self._config.check_period / 1000:
            return known
        with self._calls.asking(f"find the latest schema of {subject}", (subject,)):
            metadata = self._ask("GET", f"{subject}/meta").json()
            found = self._found(self._id(metadata), f"ids/globalIds/{metadata['globalId']}")
        self._latest[subject] = time.monotonic(), found
        return found

    def schema(self, number: Id) -> Found:
        """Return the schema with this id."""
        other = other_kind(number)
        by_content = self._config.by_content is (other is None)
        plain = other if isinstance(number, bytes) else number
        kind = "content" if by_content else "global"
        path = f"ids/{kind}Ids/{plain}"
        with self._calls.asking(f"find the schema with {kind} id {plain}", (path,)):
            return self._found(number, path)

    def version(self, number: Id, subject: str) -> int | None:
        """Return None: like Apicurio's converter, this one does not set the versions of schemas."""
        return None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _registered(self, subject: str, text: str) -> Any:
        artifact = Artifact.at(subject)
        group = Artifact(artifact.group, "").path.rstrip("/")
        headers = {"X-Registry-ArtifactId": artifact.id, "X-Registry-ArtifactType": self._kind}
        return self._ask("POST", f"{group}?ifExists=RETURN_OR_UPDATE", text, headers).json()

    def _metadata(self, subject: str, text: str) -> Any:
        return self._ask("POST", f"{subject}/meta?canonical=true", text).json()

    def _id(self, metadata: Any) -> int:
        return int(metadata["contentId" if self._config.by_content else "globalId"])

    def _found(self, number: Id, path: str) -> Found:
        references = collect_references(self._references(path), self._referenced)
        return Found(number, self._kind, self._ask("GET", path).text, references)

    def _references(self, path: str) -> list[tuple[str, str]]:
        """Return the names and the paths of the references of a schema."""
        found = []
        for each in self._ask("GET", f"{path}/references").json():
            artifact = Artifact(each.get("groupId") or "default", each["artifactId"])
            found.append((each.get("name") or "", f"{artifact.path}/versions/{each['version']}"))
        return found

    def _referenced(self, key: tuple[str, str]) -> tuple[Reference, list[tuple[str, str]]]:
        name, version = key
        return Reference(name, self._ask("GET", version).text), self._references(version)

    def _ask(self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> Any:
        client = self._client
        if isinstance(client, OAuth2Client) and not client.token:
            client.fetch_token(grant_type="client_credentials")
        kind = {} if body is None else {"Content-Type": "application/json"}
        answer = client.request(method, f"{self._config.api}/{path}", content=body, headers=kind | (headers or {}))
        if answer.is_success:
            return answer
        try:
            said = answer.json()
            is_incompatible = answer.status_code == 400 and said["name"] == "RuleViolationException"  # of version 3
            raise SchemaRegistryError(
                409 if is_incompatible else answer.status_code, said["error_code"], said["message"]
            )
        except (ValueError, KeyError, TypeError):
            raise SchemaRegistryError(answer.status_code, -1, answer.text) from None


def _client(config: ApicurioAvroConfig) -> httpx2.Client:
    context = httpx2.create_ssl_context()
    if config.truststore is not None:
        context.load_verify_locations(config.truststore)
    if config.keystore is not None:
        password = None if config.key_password is None else config.key_password.reveal()
        context.load_cert_chain(config.keystore, password=password)
    given: dict[str, Any] = {"verify": context, "timeout": _SECONDS, "headers": config.request_headers}
    if config.token_endpoint is not None:
        made: httpx2.Client = OAuth2Client(
            client_id=config.client,
            client_secret=config.client_secret.reveal() if config.client_secret else "",
            scope=config.scope,
            token_endpoint=config.token_endpoint,
            grant_type="client_credentials",
            **given,
        )
        return made
    if config.username is not None:
        given["auth"] = (config.username, config.password.reveal() if config.password else "")
    return httpx2.Client(**given)
