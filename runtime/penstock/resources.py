"""The `Connector` resource (`penstock.dev/v1alpha1`), the same for the operator and for `penstock run`. Pure."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError, Problem
from penstock.resource_draft import PLACEHOLDER, Reading, as_far_as_readable
from penstock.resource_values import ConfigText, Duration
from penstock.taskspec import SparkStart

__all__ = [
    "API_VERSION",
    "NAME_LENGTH",
    "OWNED",
    "UNNAMED",
    "Backoff",
    "Connector",
    "ConnectorSpec",
    "Metadata",
    "Reading",
    "Restart",
    "State",
]

API_VERSION: Final = "penstock.dev/v1alpha1"
NAME_LENGTH: Final = 45
"""So that pod names `<connector>-<task>-<incarnation>` and labels keep to Kubernetes' 63."""

UNNAMED: Final = "unnamed"
"""In a draft, of a resource without a name, or with a wrong one."""

Flag = Annotated[bool, Field(strict=True)]

OWNED: Final[Mapping[str, str]] = {
    "connector.class": "spec.class",
    "connector.plugin.version": "spec.version",
    "name": "metadata.name (or spec.connectName, to keep a name of Kafka Connect)",
    "tasks.max": "spec.tasksMax",
}
"""Properties of Kafka Connect that a field of the resource owns."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class State(StrEnum):
    """What a connector is meant to be."""

    RUNNING = "Running"
    PAUSED = "Paused"
    STOPPED = "Stopped"


def _label(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
        raise ValueError("must be lower case letters, digits and '-', and begin and end with a letter or digit")
    return name


def _connector_name(name: str) -> str:
    if len(name) > NAME_LENGTH:
        raise ValueError(f"has {len(name)} characters; at most {NAME_LENGTH} are allowed, so that pod names fit")
    return _label(name)


class Metadata(BaseModel):
    """Kubernetes' metadata, as far as Penstock reads it; the rest is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    name: Annotated[str, AfterValidator(_connector_name)] = Field(examples=["orders-in"])
    namespace: Annotated[str, AfterValidator(_label)] | None = Field(None, examples=["shop"])
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str | None = None
    generation: int = 1


class Backoff(_Part):
    """How long to wait before restart n: `initial * factor^(n-1)`, at most `max`."""

    initial: Duration = Field("10s", validate_default=True)
    factor: float = Field(2, ge=1)
    max: Duration = Field("10m", validate_default=True)


class Restart(_Part):
    """What follows a task's failure.

    Attributes:
        on_failure: whether it is restarted at all.
        max_restarts: how often in a row.
        reset_after: how long a task must run for the count to begin anew.
    """

    on_failure: Flag = True
    max_restarts: int = Field(10, ge=0, strict=True)
    backoff: Backoff = Backoff()
    reset_after: Duration = Field("30m", validate_default=True)


class Rollout(_Part):
    """A change of versions: that many tasks first, the rest when they run."""

    canary: int = Field(1, ge=0, strict=True)
    timeout: Duration = Field("5m", validate_default=True)


class Deletion(_Part):
    """What becomes of the offsets when the connector is deleted."""

    offsets: Literal["Keep", "Reset"] = "Keep"


class Spark(_Part):
    """The Spark session of each task."""

    executors: int = Field(0, ge=0, strict=True)
    conf: dict[str, ConfigText] = Field({}, examples=[{"spark.executor.memory": "2g"}])
    start: SparkStart = SparkStart.EAGER


class Reference(_Part):
    """Another resource of the same namespace."""

    name: str


class Offsets(_Part):
    """Where offsets are listed to and altered from; None: `<connector>-offsets`."""

    config_map: str | None = None


class ConnectorSpec(_Part):
    """What a user asks for."""

    class_name: Annotated[str, AfterValidator(lambda s: _stripped(s))] = Field(
        alias="class", examples=["FileStreamSource"]
    )
    version: Annotated[str, BeforeValidator(lambda v: _version(v))] | None = Field(None, examples=["[1.2,2.0)"])
    tasks_max: int = Field(1, ge=1, strict=True)
    state: State = State.RUNNING
    config: dict[str, ConfigText] = Field({}, examples=[{"file": "/data/orders.jsonl", "topic": "orders"}])
    topic_creation_policy: Reference | None = Field(None, examples=[{"name": "shop-topics"}])
    restart: Restart = Field(Restart(), examples=[{"maxRestarts": 10}])
    rollout: Rollout = Rollout()
    deletion: Deletion = Deletion()
    on_secret_change: Literal["Restart", "Ignore"] = "Restart"  # noqa: S105 (no password)
    spark: Spark = Field(Spark(), examples=[{"start": "OnDemand"}])
    template: dict[str, Any] = Field({}, examples=[{"nodeSelector": {"disk": "ssd"}}])
    offsets: Offsets = Field(Offsets(), examples=[{"configMap": "orders-in-offsets"}])
    connect_name: Annotated[str, AfterValidator(lambda s: _stripped(s))] | None = Field(None, examples=["Orders_In"])


class Connector(_Part):
    """One connector."""

    api_version: Literal["penstock.dev/v1alpha1"] = API_VERSION
    kind: Literal["Connector"] = "Connector"
    metadata: Metadata = Field(examples=[{"name": "orders-in"}])
    spec: ConnectorSpec = Field(examples=[{"class": "FileStreamSource", "config": {"file": "/data/orders.jsonl"}}])
    status: dict[str, Any] | None = None

    _reading: Reading = PrivateAttr(default_factory=Reading)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """The resource in a parsed document.

        Raises:
            ConfigError: every problem at once, each under its field path (`spec.config.file`).
        """
        found = cls.draft(document)
        if found.reading.flaws:
            raise ConfigError(found.reading.flaws)
        return found

    @classmethod
    def draft(cls, document: Mapping[str, Any]) -> Self:
        """The resource as far as it can be read: what is wrong is left out, and stands in `reading.flaws`.

        For a check that is to tell everything at once (`penstock_runtime.plan` refuses a draft with flaws, with what it
        finds in the rest).

        Raises:
            ConfigError: nothing can be made of it.
        """
        owned = _owned(document)
        config = document["spec"]["config"] if owned else {}
        class_name = config.get("connector.class")
        needed = {
            ("metadata",): {"name": UNNAMED},
            ("metadata", "name"): UNNAMED,
            ("spec",): {"class": PLACEHOLDER},
            ("spec", "class"): class_name if isinstance(class_name, str) and class_name.strip() else PLACEHOLDER,
        }
        found, flaws = as_far_as_readable(cls, document, needed)
        if owned:
            rest = {name: text for name, text in found.spec.config.items() if name not in OWNED}
            found = found.model_copy(update={"spec": found.spec.model_copy(update={"config": rest})})
        return found.with_reading(Reading(flaws=(*flaws, *owned)))

    @property
    def reading(self) -> Reading:
        """What is known of the text that this was read from."""
        return self._reading

    def with_reading(self, reading: Reading) -> Self:
        """The same resource, with this in the place of what was known."""
        other = self.model_copy()
        other._reading = reading  # noqa: SLF001 (its own class)
        return other

    @property
    def connect_name(self) -> str:
        """The name in Kafka: of the consumer group, of status and offsets keys."""
        if self.spec.connect_name is not None:
            return self.spec.connect_name
        return f"{self.metadata.namespace}.{self.metadata.name}" if self.metadata.namespace else self.metadata.name


def _owned(document: Mapping[str, Any]) -> list[Problem]:
    spec = document.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    names = [name for name in config if name in OWNED] if isinstance(config, Mapping) else []
    return [Problem(f"spec.config.{n}", f"belongs to {OWNED[n]}; move it there") for n in names]


def _stripped(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _version(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError(f'must be a string; write "{value}" in quotes, since YAML reads it as a number')  # noqa: TRY004
    return value
