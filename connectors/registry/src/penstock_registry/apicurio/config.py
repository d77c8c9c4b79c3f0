"""Properties of Apicurio's AvroConverter."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Self

from pydantic import field_validator, model_validator

from penstock import Config, ConfigError, Importance, Int, Password, Problem, prop
from penstock.rules import at_least, words
from penstock_registry.apicurio.strategies import artifact_strategy, strategy_for
from penstock_registry.apicurio.wire_format import ApicurioFormat
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.class_names import one_class
from penstock_registry.config import pem_problems
from penstock_registry.subjects import Strategy
from penstock_registry.urls import RegistryUrl, Url

__all__ = ["ApicurioAvroConfig"]

_REGISTRY: Final = "apicurio.registry."
_AUTH: Final = "apicurio.auth."
_HEADERS: Final = f"{_REGISTRY}request.headers."
_PATH: Final = re.compile(r"/apis/registry/v(\d)/?$")
_SIZES: Final = {
    "DefaultIdHandler": 8,
    "Legacy8ByteIdHandler": 8,
    "Legacy4ByteIdHandler": 4,
    "Default4ByteIdHandler": 4,
}
_FINDS: Final = ("RETURN_OR_UPDATE", "FIND_OR_CREATE_VERSION")

_REFUSED: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    f"{_REGISTRY}auto-register.if-exists": (
        _FINDS,
        "a schema is registered as a new version unless the registry has it: remove this property",
    ),
    f"{_REGISTRY}artifact.version": ((), "set find-latest, which writes with the latest version"),
    f"{_REGISTRY}artifact.schema.location": ((), "remove it: the schema is derived from the records"),
    f"{_REGISTRY}avro.encoding": (("BINARY",), "only BINARY is supported: remove this property"),
    f"{_REGISTRY}avro-datum-provider": (
        ("io.apicurio.registry.serde.avro.DefaultAvroDatumProvider",),
        "Java classes are not supported: remove this property",
    ),
    f"{_REGISTRY}dereference-schema": (
        ("true",),
        "schemas are registered without references to others: remove this property",
    ),
    f"{_REGISTRY}headers.handler": (
        ("io.apicurio.registry.serde.headers.DefaultHeadersHandler",),
        "Java classes are not supported: remove this property",
    ),
    f"{_REGISTRY}schema-resolver": (
        ("io.apicurio.registry.resolver.DefaultSchemaResolver",),
        "Java classes are not supported: remove this property",
    ),
    f"{_REGISTRY}converter.serializer": ((), "Java classes are not supported: remove this property"),
    f"{_REGISTRY}converter.deserializer": ((), "Java classes are not supported: remove this property"),
    f"{_REGISTRY}fallback.artifact-id": ((), "a message without an id has no schema: remove this property"),
    f"{_REGISTRY}fallback.provider": ((), "a message without an id has no schema: remove this property"),
    f"{_REGISTRY}proxy.host": ((), "proxies are not supported: set a URL that needs none"),
    f"{_REGISTRY}tls.trust-all": (("false",), "set request.ssl.truststore.location instead"),
} | {
    f"{_REGISTRY}headers.{side}.{what}.name": ((), "only Apicurio's default names are supported: remove this property")
    for side in ("key", "value")
    for what in ("globalId", "contentId", "contentHash", "groupId", "artifactId", "version")
}
"""Accepted values of partly supported properties, and the remedy for other values."""


class ApicurioAvroConfig(Config):
    """Properties with Apicurio's names."""

    open_prefixes = secret_prefixes = (_HEADERS,)
    refused: ClassVar = _REFUSED

    converter_type: Annotated[str | None, words("key", "value", "header")] = prop(
        "converter.type",
        None,
        doc="How this converter will be used. It is set automatically.",
        importance=Importance.LOW,
    )
    url: RegistryUrl = prop(
        f"{_REGISTRY}url",
        hidden=True,
        doc="URL of the registry's API, such as `http://registry:8080/apis/registry/v2`. The defaults of other properties "
        "are those of Apicurio's converter of this version: 2, or 3 for `v3`.",
        importance=Importance.HIGH,
    )
    auto_register: bool = prop(
        f"{_REGISTRY}auto-register",
        False,
        doc="Register the schemas of written records. Otherwise they must be registered already.",
        importance=Importance.HIGH,
    )
    find_latest: bool = prop(
        f"{_REGISTRY}find-latest",
        False,
        doc="Write with the latest schema of the artifact. It has an effect only if `apicurio.registry.auto-register` is "
        "false.",
    )
    strategy_name: artifact_strategy = prop(
        f"{_REGISTRY}artifact-resolver-strategy",
        "TopicIdStrategy",
        doc="How the artifact of a schema is named: `<topic>-key` or `<topic>-value`, the topic, the full name of the "
        "record, its name in the group of its namespace, or `<topic>-<name>` in that group. Apicurio's class names are "
        "accepted.",
    )
    group: str | None = prop(f"{_REGISTRY}artifact.group-id", None, doc="Group of all artifacts of written records.")
    artifact: str | None = prop(f"{_REGISTRY}artifact.artifact-id", None, doc="Artifact of all written records.")
    headers_enabled: bool | None = prop(
        f"{_REGISTRY}headers.enabled",
        None,
        doc="Write and read schema ids in headers, such as `apicurio.value.globalId`, instead of before the data. Messages "
        "without such a header are read, too. Default: true, or false if the registry URL has `v3`.",
    )
    use_id: Annotated[str | None, words("globalId", "contentId")] = prop(
        f"{_REGISTRY}use-id",
        None,
        doc="The kind of schema id in messages: `globalId` identifies a version of an artifact, `contentId` its content, as "
        "in the API of Confluent's registry. Default: `globalId`, or `contentId` if the registry URL has `v3`.",
    )
    id_handler: Annotated[
        str | None,
        one_class(
            ("io.apicurio.registry.serde.",),
            tuple(_SIZES),
            "other Java classes are not supported; ids have four or eight bytes",
        ),
    ] = prop(
        f"{_REGISTRY}id-handler",
        None,
        doc="Size of an id before the data. Default: eight bytes, or four if the registry URL has `v3`. Apicurio's class "
        "names are accepted.",
    )
    as_confluent: bool = prop(
        f"{_REGISTRY}as-confluent", False, doc="Write and read ids of four bytes before the data, as Confluent does."
    )
    check_period: Annotated[Int, at_least(0)] = prop(
        f"{_REGISTRY}check-period-ms",
        30_000,
        doc="Milliseconds after which the latest schema is fetched again.",
        importance=Importance.LOW,
    )
    username: str | None = prop(f"{_AUTH}username", None, doc="User name for the registry.")
    password: Password | None = prop(f"{_AUTH}password", None, doc="Password of this user.")
    token_url: Url | None = prop(
        f"{_AUTH}service.token.endpoint",
        None,
        doc="Token URL of an OAuth server, for the client credentials flow.",
        hidden=True,
    )
    auth_url: Url | None = prop(
        f"{_AUTH}service.url",
        None,
        doc="URL of Keycloak, which issues tokens of `apicurio.auth.realm`.",
        hidden=True,
    )
    realm: str | None = prop(f"{_AUTH}realm", None, doc="Realm of Keycloak, for `apicurio.auth.service.url`.")
    client: str | None = prop(f"{_AUTH}client.id", None, doc="Client id at the OAuth server.")
    client_secret: Password | None = prop(f"{_AUTH}client.secret", None, doc="Client secret at the OAuth server.")
    scope: str | None = prop(f"{_AUTH}client.scope", None, doc="Scope at the OAuth server.")
    truststore: str | None = prop(
        f"{_REGISTRY}request.ssl.truststore.location",
        None,
        doc="PEM file of the certificate authorities that sign the registry's certificate. By default, those of the image.",
    )
    keystore: str | None = prop(
        f"{_REGISTRY}request.ssl.keystore.location",
        None,
        doc="PEM file with the client certificate and its private key, for mutual TLS.",
    )
    key_password: Password | None = prop(
        f"{_REGISTRY}request.ssl.key.password", None, doc="Password of the private key."
    )
    enhanced: bool = prop(
        "enhanced.avro.schema.support",
        False,
        doc="Write enums that were read as enums, and use full names of types for the branches of unions.",
    )
    metadata: bool = prop(
        "connect.meta.data",
        True,
        doc="Add names, versions, parameters and documentation of Connect to the Avro schema, and read them from it.",
        importance=Importance.LOW,
    )
    cache_size: Annotated[Int, at_least(1)] = prop(
        "schemas.cache.config",
        1000,
        doc="Maximum number of schemas in memory, for each direction.",
        importance=Importance.LOW,
    )

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Parse properties, also with the names that Apicurio's converters of version 3 have for credentials and TLS.

        Raises:
            ConfigError: there are problems; it lists all of them, including unsupported properties.
        """
        older = {_of_version_2(name): text for name, text in texts.items()} | dict(texts)
        problems = [
            Problem(f"{prefix}{name}", f"{prefix}{name} does not support this value: {otherwise}")
            for name, (accepted, otherwise) in cls.refused.items()
            if texts.get(name) is not None and texts[name].strip() not in accepted
        ]
        try:
            config = super().parse(older, prefix)
        except ConfigError as e:
            raise ConfigError([*e.problems, *problems]) from None
        if problems:
            raise ConfigError(problems)
        return config

    @field_validator("url")
    @classmethod
    def _has_path(cls, url: str) -> str:
        found = _PATH.search(url)
        if found is None and "/apis/" in url:
            raise ValueError(
                "the URL must end with /apis/registry/v2 or /apis/registry/v3; for /apis/ccompat, use "
                "io.confluent.connect.avro.AvroConverter"
            )
        if found is not None and found[1] not in "23":
            raise ValueError("only versions 2 and 3 of the registry's API are supported: /apis/registry/v2")
        return url

    @model_validator(mode="after")
    def _fits(self) -> Self:
        problems: list[Problem] = []
        if self.username is not None and self.password is None:
            problems.append(Problem(f"{_AUTH}password", f"{_AUTH}username requires a password"))
        if self.auth_url is not None and self.realm is None:
            problems.append(Problem(f"{_AUTH}realm", f"{_AUTH}service.url requires the realm"))
        if self.token_endpoint is not None:
            for name, value in ((f"{_AUTH}client.id", self.client), (f"{_AUTH}client.secret", self.client_secret)):
                if not value:
                    problems.append(Problem(name, "is missing: the OAuth server requires it for a token"))
        problems += pem_problems(f"{_REGISTRY}request.ssl.truststore.location", self.truststore)
        problems += pem_problems(f"{_REGISTRY}request.ssl.keystore.location", self.keystore)
        if problems:
            raise ConfigError(problems)
        return self

    @property
    def api(self) -> str:
        """Return the URL of version 2 of the API, which supports both kinds of ids. Servers of version 3 offer it, too."""
        return _PATH.sub("", self.url.rstrip("/")) + "/apis/registry/v2"

    @property
    def token_endpoint(self) -> str | None:
        """Return the URL of the OAuth server's tokens; None if there is no such server."""
        if self.auth_url is None or self.realm is None:
            return self.token_url
        return f"{self.auth_url}/realms/{self.realm}/protocol/openid-connect/token"

    @property
    def by_content(self) -> bool:
        """Return whether messages have content ids, not global ids."""
        return (self.use_id or ("contentId" if self._is_newer else "globalId")) == "contentId"

    @property
    def uses_latest(self) -> bool:
        """Return whether records are written with the latest schema of their artifact."""
        return self.find_latest and not self.auto_register

    @property
    def request_headers(self) -> dict[str, str]:
        """Return the headers to add to each request."""
        return self.open_properties(_HEADERS)

    @property
    def settings(self) -> AvroSettings:
        """Return the settings of the mapping."""
        return AvroSettings(
            enhanced=self.enhanced, metadata=self.metadata, scrub=False, optional_keys=False, null_stays=False
        )

    @property
    def _is_newer(self) -> bool:
        found = _PATH.search(self.url)
        return found is not None and found[1] == "3"

    def strategy(self, *, is_key: bool) -> Strategy:
        """Return the strategy that names artifacts, by their paths."""
        return strategy_for(self.strategy_name, self.group, self.artifact)

    def wire_format(self, *, is_key: bool) -> ApicurioFormat:
        """Return the format in which keys or values identify their schema."""
        size = 4 if self._is_newer else 8
        if self.id_handler is not None:
            size = _SIZES[self.id_handler]
        return ApicurioFormat(
            side="key" if is_key else "value",
            by_content=self.by_content,
            size=4 if self.as_confluent else size,
            headers=(not self._is_newer) if self.headers_enabled is None else self.headers_enabled,
        )


def _of_version_2(name: str) -> str:
    for newer, older in ((f"{_REGISTRY}auth.", _AUTH), (f"{_REGISTRY}tls.", f"{_REGISTRY}request.ssl.")):
        if name.startswith(newer):
            return older + name.removeprefix(newer)
    return name
