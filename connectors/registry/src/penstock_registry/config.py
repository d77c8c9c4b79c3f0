"""Properties of the registry that all converters share."""

from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import field_validator, model_validator

from penstock import Config, ConfigError, Importance, Int, Password, Problem, prop
from penstock.rules import at_least, words
from penstock_registry.class_names import one_class
from penstock_registry.subjects import Strategy, strategy_named, subject_strategy
from penstock_registry.urls import RegistryUrl, Url
from penstock_registry.wire import ConfluentFormat, WireFormat

__all__ = ["RegistryConfig", "pem_problems"]

_SSL: Final = "schema.registry.ssl."
_HEADER: Final = "HeaderSchemaIdSerializer"
_DUAL: Final = "DualSchemaIdDeserializer"
_PACKAGE: Final = ("io.confluent.kafka.serializers.schema.id.",)
_ID_WRITER: Final = one_class(
    _PACKAGE, (_HEADER, "PrefixSchemaIdSerializer"), "other serializers in Java are not supported"
)
_ID_READER: Final = one_class(
    _PACKAGE,
    (_DUAL, "PrefixSchemaIdDeserializer"),
    "other deserializers in Java are not supported, nor is one id for all messages",
)


class RegistryConfig(Config):
    """Properties with Confluent's names."""

    converter_type: Annotated[str | None, words("key", "value", "header")] = prop(
        "converter.type",
        None,
        doc="How this converter will be used. It is set automatically.",
        importance=Importance.LOW,
    )
    urls: list[RegistryUrl] = prop(
        "schema.registry.url",
        hidden=True,
        doc="URLs of the schema registry, separated by commas. If one does not respond, the next one is used. The user and "
        "password of `basic.auth.credentials.source=URL` are those of the first URL.",
        importance=Importance.HIGH,
        min_length=1,
    )
    auto_register: bool = prop(
        "auto.register.schemas",
        True,
        doc="Register the schemas of written records. Otherwise they must be registered already.",
    )
    use_latest: bool = prop(
        "use.latest.version",
        False,
        doc="Write with the latest schema of the subject. It has an effect only if `auto.register.schemas` is false.",
        importance=Importance.LOW,
    )
    latest_metadata: list[str] = prop(
        "use.latest.with.metadata",
        [],
        doc="Write with the latest schema of the subject that has all of this metadata: pairs `name=value`, separated by "
        "commas. It has an effect only if `auto.register.schemas` is false.",
        importance=Importance.LOW,
    )
    latest_cache_seconds: Int = prop(
        "latest.cache.ttl.sec",
        -1,
        doc="Seconds after which the latest schema is fetched again; -1 for never.",
        importance=Importance.LOW,
        ge=-1,
    )
    normalize: bool = prop(
        "normalize.schemas",
        False,
        doc="Let the registry normalize schemas, so that equivalent schemas have the same id.",
    )
    key_strategy: subject_strategy = prop(
        "key.subject.name.strategy",
        "TopicNameStrategy",
        doc="How the subject of a key's schema is named: `<topic>-key`, the name of the record, or `<topic>-<record>`. "
        "Confluent's class names are accepted.",
    )
    value_strategy: subject_strategy = prop(
        "value.subject.name.strategy",
        "TopicNameStrategy",
        doc="How the subject of a value's schema is named: `<topic>-value`, the name of the record, or `<topic>-<record>`. "
        "Confluent's class names are accepted.",
    )
    key_id_writer: Annotated[str, _ID_WRITER] = prop(
        "key.schema.id.serializer",
        "PrefixSchemaIdSerializer",
        doc="Where the id of a key's schema is: before the data, or as a GUID in the header `__key_schema_id`, which the "
        "registry must support. Confluent's class names are accepted.",
    )
    key_id_reader: Annotated[str, _ID_READER] = prop(
        "key.schema.id.deserializer",
        _DUAL,
        doc="Whether the header `__key_schema_id` is read, if a record has it, or ignored.",
        importance=Importance.LOW,
    )
    value_id_writer: Annotated[str, _ID_WRITER] = prop(
        "value.schema.id.serializer",
        "PrefixSchemaIdSerializer",
        doc="Where the id of a value's schema is: before the data, or as a GUID in the header `__value_schema_id`, which "
        "the registry must support. Confluent's class names are accepted.",
    )
    value_id_reader: Annotated[str, _ID_READER] = prop(
        "value.schema.id.deserializer",
        _DUAL,
        doc="Whether the header `__value_schema_id` is read, if a record has it, or ignored.",
        importance=Importance.LOW,
    )
    cache_size: Annotated[Int, at_least(1)] = prop(
        "schemas.cache.config",
        1000,
        doc="Maximum number of schemas in memory, for each direction.",
        importance=Importance.LOW,
    )
    basic_source: str = prop(
        "basic.auth.credentials.source",
        "URL",
        doc="Where the user and password for the registry are: in the URL, or in `basic.auth.user.info`.",
        valid="URL, USER_INFO",
    )
    user_info: Password | None = prop(
        "basic.auth.user.info",
        None,
        doc="User and password, `user:password`, for `basic.auth.credentials.source=USER_INFO`. The name with the prefix "
        "`schema.registry.` is accepted, too.",
    )
    user_info_prefixed: Password | None = prop(
        "schema.registry.basic.auth.user.info",
        None,
        doc="The same as `basic.auth.user.info`.",
        importance=Importance.LOW,
    )
    bearer_source: str | None = prop(
        "bearer.auth.credentials.source",
        None,
        doc="Source of the token for the registry: `STATIC_TOKEN`, or `OAUTHBEARER` for an OAuth server.",
        valid="STATIC_TOKEN, OAUTHBEARER",
    )
    bearer_token: Password | None = prop(
        "bearer.auth.token", None, doc="The token, for `bearer.auth.credentials.source=STATIC_TOKEN`."
    )
    bearer_url: Url | None = prop(
        "bearer.auth.issuer.endpoint.url", None, doc="Token URL of the OAuth server, for `OAUTHBEARER`.", hidden=True
    )
    bearer_client: str | None = prop("bearer.auth.client.id", None, doc="Client id, for `OAUTHBEARER`.")
    bearer_secret: Password | None = prop("bearer.auth.client.secret", None, doc="Client secret, for `OAUTHBEARER`.")
    bearer_scope: str | None = prop("bearer.auth.scope", None, doc="Scope, for `OAUTHBEARER`.")
    bearer_cluster: str | None = prop(
        "bearer.auth.logical.cluster",
        None,
        doc="The registry's name in Confluent Cloud (`target-sr-cluster`).",
        importance=Importance.LOW,
    )
    bearer_pool: str | None = prop(
        "bearer.auth.identity.pool.id", None, doc="Identity pool in Confluent Cloud.", importance=Importance.LOW
    )
    connect_timeout: Annotated[Int, at_least(1)] = prop(
        "http.connect.timeout.ms",
        60_000,
        doc="Milliseconds to wait for a connection to the registry.",
        importance=Importance.LOW,
    )
    read_timeout: Annotated[Int, at_least(1)] = prop(
        "http.read.timeout.ms",
        60_000,
        doc="Milliseconds to wait for a response of the registry.",
        importance=Importance.LOW,
    )
    proxy_host: str | None = prop("proxy.host", None, doc="Host of an HTTP proxy.", importance=Importance.LOW)
    proxy_port: Int = prop("proxy.port", -1, doc="Port of the proxy.", importance=Importance.LOW)
    truststore: str | None = prop(
        f"{_SSL}truststore.location",
        None,
        doc="PEM file of the certificate authorities that sign the registry's certificate. By default, those of the image.",
    )
    keystore: str | None = prop(
        f"{_SSL}keystore.location",
        None,
        doc="PEM file with the client certificate and its private key, for mutual TLS.",
    )
    key_password: Password | None = prop(f"{_SSL}key.password", None, doc="Password of the private key.")

    @field_validator("latest_metadata")
    @classmethod
    def _are_pairs(cls, pairs: list[str]) -> list[str]:
        if not all("=" in pair for pair in pairs):
            raise ValueError("expected name=value pairs, separated by commas")
        return pairs

    @field_validator("basic_source")
    @classmethod
    def _is_source(cls, source: str) -> str:
        if source not in ("URL", "USER_INFO"):
            raise ValueError("String must be one of: URL, USER_INFO; SASL_INHERIT is not supported: set USER_INFO")
        return source

    @field_validator("bearer_source")
    @classmethod
    def _is_bearer_source(cls, source: str | None) -> str | None:
        if source not in (None, "STATIC_TOKEN", "OAUTHBEARER"):
            raise ValueError("String must be one of: STATIC_TOKEN, OAUTHBEARER; providers in Java are not supported")
        return source

    @model_validator(mode="after")
    def _fits(self) -> Self:
        problems: list[Problem] = []
        if self.basic_source == "USER_INFO" and ":" not in (self.credentials or ""):
            problems.append(Problem("basic.auth.user.info", "USER_INFO requires `user:password`"))
        needed: dict[str, dict[str, str | None]] = {
            "STATIC_TOKEN": {"bearer.auth.token": self.bearer_token},
            "OAUTHBEARER": {
                "bearer.auth.issuer.endpoint.url": self.bearer_url,
                "bearer.auth.client.id": self.bearer_client,
                "bearer.auth.client.secret": self.bearer_secret,
            },
        }
        for name, value in needed.get(self.bearer_source or "", {}).items():
            if not value:
                problems.append(Problem(name, f"{self.bearer_source} requires a value"))
        problems += pem_problems(f"{_SSL}truststore.location", self.truststore)
        problems += pem_problems(f"{_SSL}keystore.location", self.keystore)
        if problems:
            raise ConfigError(problems)
        return self

    @property
    def uses_latest(self) -> bool:
        """Return whether records are written with the latest schema of their subject."""
        return not self.auto_register and bool(self.use_latest or self.latest_metadata)

    def strategy(self, *, is_key: bool) -> Strategy:
        """Return the strategy that names the subjects of keys or values."""
        return strategy_named(self.key_strategy if is_key else self.value_strategy)

    def wire_format(self, *, is_key: bool) -> WireFormat:
        """Return the format in which keys or values identify their schema."""
        return ConfluentFormat(
            "__key_schema_id" if is_key else "__value_schema_id",
            reads_headers=(self.key_id_reader if is_key else self.value_id_reader) == _DUAL,
            writes_headers=(self.key_id_writer if is_key else self.value_id_writer) == _HEADER,
        )

    @property
    def credentials(self) -> str | None:
        """Return `user:password`; None if it is not configured."""
        given = self.user_info or self.user_info_prefixed
        return given.reveal() if given is not None else None

    def client_properties(self) -> dict[str, Any]:
        """Return the configuration of Confluent's Python client."""
        seconds = {"connect": self.connect_timeout / 1000, "read": self.read_timeout / 1000}
        made: dict[str, Any] = {
            "url": ",".join(self.urls),
            "timeout": (seconds["connect"], seconds["read"], seconds["read"], seconds["connect"]),
            "max.retries": 0,  # the runtime retries, and reports that it waits
            "cache.capacity": self.cache_size,
            "cache.latest.ttl.sec": self.latest_cache_seconds if self.latest_cache_seconds >= 0 else None,
            "basic.auth.user.info": self.credentials if self.basic_source == "USER_INFO" else None,
            "ssl.ca.location": self.truststore,
            "ssl.certificate.location": self.keystore,
            "ssl.key.password": self.key_password.reveal() if self.key_password is not None else None,
            "proxy": f"http://{self.proxy_host}:{self.proxy_port}" if self.proxy_host else None,
        }
        return {name: value for name, value in (made | self._bearer()).items() if value is not None}

    def _bearer(self) -> dict[str, Any]:
        if self.bearer_source is None:
            return {}
        made: dict[str, Any] = {
            "bearer.auth.credentials.source": self.bearer_source,
            "bearer.auth.logical.cluster": self.bearer_cluster or "",  # the client requires one
            "bearer.auth.identity.pool.id": self.bearer_pool,
        }
        if self.bearer_source == "STATIC_TOKEN":
            return {**made, "bearer.auth.token": self.bearer_token.reveal() if self.bearer_token else ""}
        return {
            **made,
            "bearer.auth.issuer.endpoint.url": self.bearer_url,
            "bearer.auth.client.id": self.bearer_client,
            "bearer.auth.client.secret": self.bearer_secret.reveal() if self.bearer_secret else "",
            "bearer.auth.scope": self.bearer_scope or "",
        }


def pem_problems(name: str, location: str | None) -> list[Problem]:
    """Return a problem if a file is a Java keystore. A file that is missing now may exist in the task's pod."""
    if location is None or not Path(location).is_file():
        return []
    if b"-----BEGIN " in Path(location).read_bytes():
        return []
    remedy = "convert it (keytool -exportcert -rfc, or openssl pkcs12) and set the converted file"
    return [Problem(name, f"{location} is not a PEM file: {remedy}")]
