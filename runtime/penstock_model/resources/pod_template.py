"""`spec.template` of a Connector: additions of users to its task pods. Pure."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from penstock_model.resources.base import ObjectName, Part
from penstock_model.resources.constraints import Mark, list_of, open_object

__all__ = ["TEMPLATE_TEXT", "PodTemplate", "Template"]

Open = Annotated[dict[str, Any], Mark(**open_object())]
OpenList = Annotated[list[Open], Mark(**list_of("atomic"))]
Variables = Annotated[
    list[Annotated[dict[str, Any], Mark(**open_object("name", "Name of the environment variable."))]],
    Mark(**list_of("map", "name")),
]
Volumes = Annotated[
    list[Annotated[dict[str, Any], Mark(**open_object("name", "Name of the volume."))]], Mark(**list_of("map", "name"))
]
Containers = Annotated[
    list[Annotated[dict[str, Any], Mark(**open_object("name", "Name of the container."))]],
    Mark(**list_of("map", "name")),
]
Secrets = Annotated[
    list[Annotated[dict[str, Any], Mark(**open_object("name", "Name of the Secret."))]], Mark(**list_of("map", "name"))
]
Mounts = Annotated[
    list[Annotated[dict[str, Any], Mark(**open_object("mountPath", "Path of the mount in the container."))]],
    Mark(**list_of("map", "mountPath")),
]

TEMPLATE_TEXT: Final = (
    "Fields of the pods of this connector, with the names of Kubernetes (kubectl explain pod.spec), but without nesting: "
    "fields of the pod and of its only container are on the same level. It is merged into Penstock's pod as a strategic "
    "merge patch: mappings key by key; env, volumes, initContainers and imagePullSecrets by name, volumeMounts by "
    "mountPath; other lists, such as tolerations, replace Penstock's. Labels and annotations that Penstock sets cannot be "
    "changed. Fields that would break a task do not exist here: image, command, restartPolicy, the network and processes "
    "of the host, and other containers, because the pod terminates with its task (write a sidecar as one of initContainers "
    "with restartPolicy: Always). At most 64 KiB as JSON. The platform limits the allowed values (podSecurity.level of the "
    "release). A change replaces the pods."
)


class PodTemplate(Part):
    """The fields of the template. They have no defaults: an absent field adds nothing to the pod."""

    model_config = ConfigDict(title="PodTemplate")

    labels: dict[str, str] | None = Field(None, description="Labels of the pod.")
    annotations: dict[str, str] | None = Field(None, description="Annotations of the pod.")
    resources: Open | None = Field(
        None,
        description="Requests and limits of cpu, memory and other resources of task pods, merged key by key over "
        "task.resources of the release; job pods and executors have their own. A task is a Python process, with an "
        "additional JVM if it has Java plugins or once Spark starts.",
    )
    env: Variables | None = Field(
        None, description="Environment variables, by name. Names that begin with PENSTOCK_ are reserved."
    )
    env_from: OpenList | None = Field(
        None, description="ConfigMaps and Secrets whose keys become environment variables."
    )
    volumes: Volumes | None = Field(
        None,
        description="Volumes of the pod, by name. Pods that plan or prepare have an empty folder instead of each volume "
        "that only one pod may mount, such as a persistentVolumeClaim.",
    )
    volume_mounts: Mounts | None = Field(
        None,
        description="Mounts of the volumes in the task, by mountPath. /etc/penstock is reserved. A mount at /tmp replaces "
        "Penstock's temporary volume.",
    )
    init_containers: Containers | None = Field(
        None, description="Containers that run before the task or, with restartPolicy: Always, next to it."
    )
    node_selector: dict[str, str] | None = Field(None, description="Labels that the node must have.")
    affinity: Open | None = Field(None, description="Affinity to nodes, and to or against other pods.")
    tolerations: OpenList | None = Field(
        None,
        description="Tolerations of node taints. They replace Penstock's tolerations, with which a task leaves a node that "
        "has been NotReady or unreachable for a while.",
    )
    topology_spread_constraints: OpenList | None = Field(None, description="How tasks are spread over zones or nodes.")
    priority_class_name: ObjectName | None = Field(None, description="The PriorityClass of the pod.")
    scheduler_name: str | None = Field(None, description="The scheduler that places the pod.")
    runtime_class_name: ObjectName | None = Field(
        None, description="The RuntimeClass of the pod, for example for a sandboxed container runtime."
    )
    service_account_name: ObjectName | None = Field(
        None,
        description="The ServiceAccount that the pod runs as, for example for a cloud identity. Its token is not "
        "mounted unless automountServiceAccountToken is true.",
    )
    automount_service_account_token: bool | None = Field(
        None, strict=True, description="Whether the token of the pod's ServiceAccount is mounted. Default: false."
    )
    image_pull_policy: str | None = Field(None, description="When the runtime's image is pulled.")
    image_pull_secrets: Secrets | None = Field(None, description="Secrets for the registries of images, by name.")
    security_context: Open | None = Field(
        None,
        description="The security settings of the pod, merged key by key into Penstock's (not root, uid 65532).",
    )
    termination_grace_period_seconds: int | None = Field(
        None,
        ge=0,
        le=2**31 - 1,
        strict=True,
        description="The time in seconds after which Kubernetes kills a task pod that is being deleted. Default: "
        "task.terminationGracePeriodSeconds of the release. A longer period does not give a task more time: it has "
        "task.shutdown.graceful.timeout.ms of the worker configuration to finish its batch, and as long again to close. "
        "Keep the period above the sum of these. Job pods and executors have their own.",
    )
    host_aliases: OpenList | None = Field(None, description="Entries of the pod's /etc/hosts.")
    dns_policy: str | None = Field(None, description="How host names are resolved.")
    dns_config: Open | None = Field(None, description="Name servers and search domains.")

    def to_manifest(self) -> dict[str, Any]:
        """Return the mapping that the user wrote, including inner nulls, which remove fields of the pod."""
        fields = ((info.alias or name, getattr(self, name)) for name, info in type(self).model_fields.items())
        return {name: value for name, value in fields if value is not None}


class _AsManifest:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            PodTemplate.to_manifest,
            handler.generate_schema(PodTemplate),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value),
        )


Template = Annotated[dict[str, Any], _AsManifest()]
"""Valid pod template, as the mapping that the user wrote."""
