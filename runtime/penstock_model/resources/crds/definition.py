"""CustomResourceDefinitions of the three resources as JSON objects. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from penstock_model.resources.base import API_VERSION
from penstock_model.resources.connector import Connector
from penstock_model.resources.connector_status import ConnectorStatus
from penstock_model.resources.crds.schema import structural
from penstock_model.resources.plugin_version import PluginVersion, PluginVersionStatus
from penstock_model.resources.topic_creation_policy import TopicCreationPolicy, TopicCreationPolicyStatus

__all__ = ["GROUP", "RESOURCES", "VERSION", "CustomResource", "definition"]

GROUP, _, VERSION = API_VERSION.partition("/")

Json = dict[str, Any]


@dataclass(frozen=True)
class CustomResource:
    """One kind of resource.

    Attributes:
        model: the resource; its title or name is the kind.
        status: the model of its status.
        text: the description of the resource, for `kubectl explain`.
        spec_text: the description of its spec.
        plural: the name in URLs and for kubectl.
        short_name: for kubectl; the prefix p distinguishes it from those of Kubernetes and other connector operators.
        columns: columns of `kubectl get`, before the age.
        scale: paths of the scale subresource.
    """

    model: type[BaseModel]
    status: type[BaseModel]
    text: str
    spec_text: str
    plural: str
    short_name: str
    columns: Sequence[Json]
    scale: Json | None = None

    @property
    def kind(self) -> str:
        return self.model.__name__

    @property
    def name(self) -> str:
        """Return the name of the definition."""
        return f"{self.plural}.{GROUP}"


def _column(name: str, path: str, text: str, *, kind: str = "string", wide: bool = False) -> Json:
    column: Json = {"name": name, "type": kind, "jsonPath": path, "description": text}
    return {**column, "priority": 1} if wide else column


def _condition(name: str, part: str, text: str, *, of: str = "Ready", wide: bool = False) -> Json:
    return _column(name, f'.status.conditions[?(@.type=="{of}")].{part}', text, wide=wide)


_READY: Final = (
    _condition("Ready", "status", "Whether the resource is ready."),
    _condition("Reason", "reason", "The reason, as one word."),
)
_AGE: Final[Json] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}

RESOURCES: Final = (
    CustomResource(
        model=Connector,
        status=ConnectorStatus,
        text="A connector, which moves records from a system into Kafka (a source), or from Kafka into a system (a sink). "
        "Each of its tasks is a pod.",
        spec_text="The desired state of the connector.",
        plural="connectors",
        short_name="pconn",
        columns=(
            _column("Class", ".spec.class", "The plugin."),
            _column("State", ".status.state", "The current state."),
            _column("Desired", ".spec.state", "The desired state.", wide=True),
            _column("Tasks", ".status.taskSummary", "The number of running tasks and of all tasks."),
            *_READY,
            _column("Last Record", ".status.lastRecordTime", "The time since it last delivered a record.", kind="date"),
            _column("Topics", ".status.activeTopicCount", "The number of topics used.", kind="integer", wide=True),
            _column("Version", ".status.connector.version", "The version of the plugin."),
            _column("Newer", ".status.newerPluginVersions", "Newer versions that a restart would choose.", wide=True),
            _condition(
                "Update Pending", "reason", "Why a change has not reached all tasks.", of="UpdatePending", wide=True
            ),
            _condition(
                "Config", "message", "Warnings about the configuration, or its problems.", of="ConfigValid", wide=True
            ),
        ),
        scale={
            "specReplicasPath": ".spec.tasksMax",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.labelSelector",
        },
    ),
    CustomResource(
        model=TopicCreationPolicy,
        status=TopicCreationPolicyStatus,
        text="Rules for the creation of Kafka topics for source connectors: partitions, replicas and settings by topic "
        "name. Existing topics are never changed.",
        spec_text="The rules and limits.",
        plural="topiccreationpolicies",
        short_name="ptopic",
        columns=(
            _column("Partitions", ".spec.default.partitions", "Partitions, if no group matches.", kind="integer"),
            _column("Replication", ".spec.default.replicationFactor", "Replicas, if no group matches.", kind="integer"),
            *_READY,
            _column("Connectors", ".status.connectorCount", "The number of connectors it applies to.", kind="integer"),
        ),
    ),
    CustomResource(
        model=PluginVersion,
        status=PluginVersionStatus,
        text="One version of a package of plugins, as an image. Connectors select versions with spec.version and with "
        "properties such as value.converter.plugin.version.",
        spec_text="The plugins and their image. Immutable.",
        plural="pluginversions",
        short_name="pplugin",
        columns=(
            _column("Plugin", ".spec.plugin", "The package."),
            _column("Version", ".spec.version", "The version of the package."),
            _column("Runtime", ".spec.runtime", "The runtime of the plugins."),
            *_READY,
            _column("Path", ".spec.path", "The folder in the image.", wide=True),
            _column("Used By", ".status.usedBy", "The connectors that run it.", wide=True),
            _column("Image", ".spec.image", "The image.", wide=True),
        ),
    ),
)


def definition(resource: CustomResource) -> Json:
    """Return the definition as the API server returns it: with all defaults, without a status."""
    version: Json = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema(resource)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [*resource.columns, _AGE],
    }
    if resource.scale is not None:
        version["subresources"]["scale"] = resource.scale
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.name},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": [resource.short_name],
                "categories": ["penstock"],
            },
            "scope": "Namespaced",
            "conversion": {"strategy": "None"},
            "versions": [version],
        },
    }


def _schema(resource: CustomResource) -> Json:
    schema = structural(resource.model)
    fields = schema["properties"]
    fields |= {
        "apiVersion": {"type": "string", "description": f"{API_VERSION}."},
        "kind": {"type": "string", "description": f"{resource.kind}."},
        # A rule can refer to the name only if the schema has the field.
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {**fields["spec"], "description": resource.spec_text},
        # Flux and kubectl wait read it before the operator has handled a new resource; -1 means that it has not.
        "status": {**structural(resource.status), "default": {"observedGeneration": -1}},
    }
    return {**schema, "description": resource.text, "required": ["spec"]}
