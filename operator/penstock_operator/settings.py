"""Configuration file of the operator, written by Helm and read once at startup."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, PrivateAttr, ValidationError
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError, Problem
from penstock_model.connect.config_providers import java_providers, own_providers
from penstock_model.connect.redaction import Redactor, client_secrets
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.connect.worker_warnings import warnings
from penstock_model.contracts.pod_layout import SECRETS_DIR
from penstock_model.kafka_properties.client_kinds import CLIENT_KINDS
from penstock_model.kafka_properties.translation import translate_layers
from penstock_model.resources.messages import field_problems
from penstock_model.resources.values import ConfigText

__all__ = [
    "USER",
    "Console",
    "ConsoleProxy",
    "Level",
    "Release",
    "Resources",
    "Rollout",
    "Settings",
    "UnknownProperties",
    "Webhook",
    "Worker",
]

_LABEL_LENGTH: Final = 63
USER: Final = 65532
"""User of the images, unless the platform sets another one."""

Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise ValueError(f"names {', '.join(twice)} twice; remove one of them")
    if any(not n.strip() for n in names):
        raise ValueError("contains an empty name; remove it")
    return names


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _portion(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    if isinstance(value, str) and re.fullmatch("(100|[1-9][0-9]?)%", value):
        return value
    raise ValueError('must be a number of Connectors, at least 1, or a percentage from "1%" to "100%"')


Size = Annotated[str, Field(pattern=r"^([0-9]+([.][0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?)?$", strict=True)]
"""Size of a volume in Kubernetes' notation; empty: no limit."""
Portion = Annotated[int | str, PlainValidator(_portion)]
Names = Annotated[tuple[str, ...], AfterValidator(_once)]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$", strict=True)]
"""DNS name, without scheme and port."""
Text = Annotated[str, AfterValidator(_filled)]
UnknownProperties: TypeAlias = Literal["Warn", "RefuseSimilar", "RefuseAll"]
"""Unknown properties (read by no plugin) that the webhook refuses: none, those similar to a known name, or all."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Release(_Part):
    """Helm release, which corresponds to a Connect cluster.

    Attributes:
        name, namespace: Helm's.
        cluster: id of the Kubernetes cluster in claims in Kafka; empty until it was looked up.
        installation: uid of the release's Lease, which distinguishes clusters with the same id; empty until it was read.
    """

    name: Text
    namespace: Text
    service_account: str = ""
    cluster: str = ""
    installation: str = ""

    @property
    def operator(self) -> str:
        """Return the name of the release within its cluster, as in claims and Kafka Connect's states."""
        return f"{self.namespace}/{self.name}"

    @property
    def label(self) -> str:
        """Return the value of `penstock.dev/operator`: objects with this label belong to this release."""
        text = f"{self.namespace}.{self.name}"
        if len(text) <= _LABEL_LENGTH:
            return text
        return f"{text[: _LABEL_LENGTH - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


class Level(StrEnum):
    """Level of the Pod Security Standards; Unrestricted is their Privileged."""

    RESTRICTED = "Restricted"
    BASELINE = "Baseline"
    UNRESTRICTED = "Unrestricted"


class PodSecurity(_Part):
    """Limits on the templates of Connectors."""

    level: Level = Level.RESTRICTED


class Images(_Part):
    """Images of the pods that the operator creates."""

    runtime: Text
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    pull_secrets: Names = ()


def _none_shared(names: tuple[str, ...]) -> tuple[str, ...]:
    if names:
        raise ValueError("must be empty: only PluginVersions of a Connector's own namespace are used in this release")
    return names


class Plugins(_Part):
    """Settings for plugins: how images are mounted in pods, and shared namespaces, which are refused until implemented."""

    mount: Literal["ImageVolume", "InitContainer"] = "ImageVolume"
    shared_namespaces: Annotated[Names, AfterValidator(_none_shared)] = ()


class Secrets(_Part):
    """Switch for watching changes of Secrets."""

    watch: bool = Field(default=True, strict=True)


class Limits(_Part):
    """Limits of parallel job pods and reconciliations."""

    job_pods: Count = 10
    reconciles: Count = 8


class Resources(_Part):
    """Resources of a container, as Kubernetes defines them."""

    requests: dict[str, ConfigText] = {}
    limits: dict[str, ConfigText] = {}


class Rollout(_Part):
    """Limits on restarts of Connectors for a change of the release.

    Attributes:
        max_unavailable: number, or percentage (`10%`), of Connectors that restart in parallel; at least one.
        min_ready_seconds: seconds for which a Connector must have been Ready before the next one follows.
        progress_deadline_seconds: seconds after which a Connector that was Ready before, and is not, has failed.
    """

    max_unavailable: Portion = "10%"
    min_ready_seconds: Annotated[int, Field(ge=0, strict=True)] = 10
    progress_deadline_seconds: Count = 600

    def of(self, count: int) -> int:
        """Return how many of `count` may restart in parallel."""
        share = self.max_unavailable
        return share if isinstance(share, int) else max(1, count * int(share[:-1]) // 100)


class Job(_Part):
    """Job pods."""

    deadline_seconds: Count = 120
    resources: Resources = Resources(requests={"cpu": "50m", "memory": "128Mi"}, limits={"memory": "512Mi"})


class Task(_Part):
    """Task pods, and their security contexts, which job pods share."""

    resources: Resources = Resources(requests={"cpu": "50m", "memory": "128Mi"}, limits={"memory": "2Gi"})
    termination_grace_period_seconds: Count = 30
    node_lost_seconds: Count = 30
    liveness_probe: bool = True
    temporary_size: Size = "10Gi"
    pod_security_context: dict[str, Any] = {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    security_context: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


class Listener(_Part):
    """Port that the operator listens on."""

    port: Port


class Worker:
    """Worker configuration with its variables resolved to their current values; its secrets are never shown.

    Attributes:
        config: typed configuration; `config.clients(kind)` contains secrets.
        redact: removes its secrets from a string.
        warnings: properties that have no effect here, or are not known.
    """

    def __init__(self, texts: Mapping[str, str], secrets_dir: Path | str) -> None:
        """Resolve and validate the worker configuration.

        Raises:
            ConfigError: all problems together, redacted.
        """
        resolved = resolve(texts, secrets_dir, providers=own_providers(texts))
        self.redact = Redactor([*resolved.secrets, *client_secrets(resolved.values)])
        problems = [*resolved.problems, *_of_java(texts)]
        found = list(warnings(texts, frozenset(p.name for p in WorkerConfig.properties())))
        if not texts.get("bootstrap.servers", "").strip():
            problems.append(Problem("bootstrap.servers", "is missing; write the host:port of a broker, or several"))
        try:
            self.config = WorkerConfig.parse(resolved.values)
        except ConfigError as e:
            unresolved = {p.property for p in problems}
            problems += (p for p in e.problems if p.property not in unresolved)
        else:
            for kind in CLIENT_KINDS:
                clients = translate_layers(kind, self.config.clients(kind))
                problems += clients.problems
                found += [*clients.meaningless, *clients.unknown]
        if problems:
            raise ConfigError(dict.fromkeys(map(self.redact.problem, problems)))
        self.warnings = tuple(dict.fromkeys(map(self.redact.problem, found)))

    def __repr__(self) -> str:
        return "Worker(...)"


def _of_java(texts: Mapping[str, str]) -> Iterator[Problem]:
    for name, cls in java_providers(texts).items():
        remedy = "use ${secret:<name>:<key>}, or mount the values as files and use ${dir:<path>:<file>}"
        text = f"cannot use {cls}: Java config providers do not run on Kubernetes, only with `penstock run`; {remedy}"
        yield Problem(f"config.providers.{name}.class", text)


class Webhook(_Part):
    """Validating admission webhook.

    Attributes:
        enabled: whether the operator serves it.
        port: port that the API server connects to, through the Service.
        service: name of the Service in the release's namespace, for which the certificate is issued.
        configuration: name of the ValidatingWebhookConfiguration.
        certificate: Penstock: the operator creates the certificate and writes the caBundle. Mounted: another controller,
            such as cert-manager, renews the certificate in a mounted Secret and writes the caBundle.
        unknown_properties: properties read by no plugin that are refused, unless a label of the namespace overrides it.
    """

    enabled: bool = Field(default=False, strict=True)
    port: Port = 9443
    service: str = ""
    configuration: str = ""
    certificate: Literal["Penstock", "Mounted"] = "Penstock"
    unknown_properties: UnknownProperties = "RefuseSimilar"


class ConsoleActions(_Part):
    """Switch for actions in the console."""

    enabled: bool = Field(default=False, strict=True)


class ConsoleProxy(_Part):
    """Authenticating proxy of the console.

    Attributes:
        secret_name: Secret in the release's namespace, whose entry `secret` the proxy sends to authenticate; empty: none.
        user_header, groups_header: headers with the user, and with the user's groups, separated by commas.
    """

    secret_name: str = ""
    user_header: Text = "X-Forwarded-User"
    groups_header: Text = "X-Forwarded-Groups"


class Console(_Part):
    """Console that shows the Connectors, and Kafka Connect's REST API.

    Attributes:
        enabled: whether the operator serves it.
        port: port of the operator's pod.
        service: Service of the console, in the release's namespace.
        hosts: further host names under which users reach it, such as that of an Ingress.
        require_user: whether reading, too, requires an authenticated user.
    """

    enabled: bool = Field(default=False, strict=True)
    port: Port = 8090
    service: str = ""
    hosts: tuple[HostName, ...] = ()
    require_user: bool = Field(default=False, strict=True)
    actions: ConsoleActions = ConsoleActions()
    proxy: ConsoleProxy = ConsoleProxy()


class Settings(_Part):
    """Whole configuration. `worker` contains the properties with unresolved variables, as pods receive them."""

    release: Release
    watch_namespaces: Names = ()
    allowed_connect_names: Names = ()
    worker: dict[str, ConfigText]
    images: Images
    plugins: Plugins = Plugins()
    secrets: Secrets = Secrets()
    limits: Limits = Limits()
    pod_security: PodSecurity = PodSecurity()
    rollout: Rollout = Rollout()
    job: Job = Job()
    task: Task = Task()
    metrics: Listener = Listener(port=8080)
    probes: Listener = Listener(port=8081)
    webhook: Webhook = Webhook()
    console: Console = Console()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    _secrets_dir: Path = PrivateAttr(default=Path(SECRETS_DIR))
    _at_start: Worker | None = PrivateAttr(default=None)

    @classmethod
    def read(cls, path: Path, secrets_dir: Path | str = SECRETS_DIR) -> Self:
        """Read the settings from a file.

        Args:
            path: YAML file.
            secrets_dir: folder with the values of `${secret:<name>:<key>}` in the worker configuration.

        Raises:
            ConfigError: all problems together, each naming the file and the field.
        """
        try:
            found = cls.of(_document(path), secrets_dir)
        except ConfigError as e:
            named = ((f"{path}: {p.property}" if p.property else str(path), p.message) for p in e.problems)
            raise ConfigError(Problem(*n) for n in named) from None
        return found

    @classmethod
    def of(cls, document: Any, secrets_dir: Path | str = SECRETS_DIR) -> Self:
        """Return the settings of a parsed document.

        Raises:
            ConfigError: all problems together, each under its field.
        """
        problems: list[Problem] = []
        settings = None
        try:
            settings = cls.model_validate(document)
        except ValidationError as e:
            problems += field_problems(cls, e)
        worker = None
        texts = document.get("worker") if isinstance(document, Mapping) else None
        if isinstance(texts, Mapping) and not any(p.property.startswith("worker") for p in problems):
            try:
                plain = _Texts.model_validate({"texts": texts}).texts
                worker = Worker(plain, secrets_dir)
            except ConfigError as e:
                problems += (Problem(f"worker.{p.property}" if p.property else "worker", p.message) for p in e.problems)
        if settings is not None and settings.metrics.port == settings.probes.port:
            problems.append(
                Problem("probes.port", f"is {settings.probes.port}, the same as metrics.port; choose another")
            )
        if settings is not None and settings.webhook.port in (settings.metrics.port, settings.probes.port):
            text = f"is {settings.webhook.port}, the same as metrics.port or probes.port; choose another"
            problems.append(Problem("webhook.port", text))
        if settings is not None and settings.console.enabled:
            others = (settings.metrics.port, settings.probes.port, settings.webhook.port)
            if settings.console.port in others:
                text = (
                    f"is {settings.console.port}, the same as metrics.port, probes.port or webhook.port; choose another"
                )
                problems.append(Problem("console.port", text))
        if problems or settings is None:
            raise ConfigError(problems)
        settings._secrets_dir = Path(secrets_dir)  # noqa: SLF001 (its own class)
        settings._at_start = worker  # noqa: SLF001 (its own class)
        return settings

    @property
    def at_start(self) -> Worker:
        """Return the worker configuration, with secrets as they were when the file was read."""
        return self._at_start or self.worker_now()

    @property
    def worker_config(self) -> WorkerConfig:
        """Return the typed worker configuration for topic names and settings; not for clients, since `raw` is unresolved."""
        return self.at_start.config.with_raw(self.worker)

    def in_cluster(self, cluster: str) -> Self:
        """Return the same settings for a release in this cluster."""
        return self.model_copy(update={"release": self.release.model_copy(update={"cluster": cluster})})

    def in_installation(self, uid: str) -> Self:
        """Return these settings with the uid of the release's Lease."""
        return self.model_copy(update={"release": self.release.model_copy(update={"installation": uid})})

    def worker_now(self) -> Worker:
        """Return the worker configuration with secrets as they are mounted now; they may have changed since the start.

        Raises:
            ConfigError: it can no longer be resolved.
        """
        return Worker(self.worker, self._secrets_dir)


class _Texts(_Part):
    texts: dict[str, ConfigText]


class _Loader(yaml.SafeLoader):
    """Loader that refuses a duplicate key in a mapping, of which PyYAML would silently drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for name, _ in node.value:
            key = self.construct_object(name, deep=True)
            if key in seen:
                line = name.start_mark.line + 1
                raise ConfigError(Problem(str(key), f"is a duplicate key, repeated in line {line}; remove one of them"))
            seen.add(key)
        return super().construct_mapping(node, deep)


def _document(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
        raise ConfigError(Problem("", f"cannot be read: {reason}")) from None
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise ConfigError(
            Problem("", f"{where}is not YAML: {getattr(e, 'problem', None) or 'check its syntax'}")
        ) from None
