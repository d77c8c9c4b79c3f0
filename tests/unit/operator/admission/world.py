"""Namespace in which the wrong manifests are applied: two policies, and three PluginVersions, one not verified yet."""

import base64
from pathlib import Path
from typing import Any, Final

import yaml

from penstock_model.contracts.definitions import KEY, ClassDefinition, ConfigKey, PackedDefinitions, pack, unpack

__all__ = ["DEFINITIONS", "POLICIES", "VERSIONS", "WRONG", "config_map", "manifest", "status"]

Json = dict[str, Any]
_API: Final = "penstock.dev/v1alpha1"
_DIGEST: Final = "0" * 64
WRONG: Final[list[Json]] = yaml.safe_load(Path(__file__).with_name("wrong_manifests.yaml").read_text())


def _key(name: str, type_: str, *, required: bool = False) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=type_,
        required=required,
        default_value=None,
        importance="HIGH",
        documentation="Text.",
        display_name=name,
    )


DEFINITIONS: Final[dict[str, PackedDefinitions]] = {
    "files-1": pack(
        [
            ClassDefinition(
                class_name="Files", type="source", version="1.0", config=(_key("paths", "LIST", required=True),)
            )
        ]
    ),
    "shop-1": pack(
        [
            ClassDefinition(
                class_name="com.example.ShopSource",
                type="source",
                version="2.0",
                paths=("shop",),
                config=(
                    *(_key(name, "STRING", required=True) for name in ("name", "connector.class", "tasks.max")),
                    _key("poll.interval.ms", "LONG"),
                    _key("password", "PASSWORD"),
                ),
            ),
            ClassDefinition(
                class_name="com.example.ShopConverter",
                type="converter",
                version="2.0",
                paths=("shop",),
                config=(_key("converter.type", "STRING", required=True), _key("ratio", "DOUBLE")),
            ),
            ClassDefinition(
                class_name="com.example.ShopHeaderConverter",
                type="headerConverter",
                version="2.0",
                paths=("shop",),
                config=(_key("converter.type", "STRING", required=True),),
            ),
            ClassDefinition(
                class_name="com.example.ShopTransform",
                type="transform",
                version="2.0",
                paths=("shop",),
                config=(_key("type", "CLASS", required=True), _key("field", "STRING", required=True)),
            ),
        ]
    ),
}


def _version(name: str, **spec: Any) -> Json:
    image = f"{name}@sha256:{_DIGEST}"
    return {"apiVersion": _API, "kind": "PluginVersion", "metadata": {"name": name}, "spec": {"image": image, **spec}}


VERSIONS: Final[list[Json]] = [
    _version("files-1", plugin="files", version="1.0", classes=[{"alias": "Files", "type": "source"}]),
    _version("shop-1", runtime="Java"),
    _version("unseen-1", plugin="unseen", version="1.0", classes=[{"alias": "Unseen", "type": "source"}]),
]
POLICIES: Final[list[Json]] = [
    {"apiVersion": _API, "kind": "TopicCreationPolicy", "metadata": {"name": name}, "spec": spec}
    for name, spec in {
        "strict": {"default": {"partitions": 3}},
        "limits": {"limits": {"maxPartitions": 50}},
    }.items()
]


def status(name: str) -> Json | None:
    """The status of a PluginVersion after its verification; None: it is not verified yet."""
    packed = DEFINITIONS.get(name)
    if packed is None:
        return None
    found = {"definitions": {"configMap": f"{name}-definitions", "digest": packed.digest}}
    if name != "shop-1":
        return found
    java = unpack(packed.content, packed.digest).classes
    classes = [{"class": c.class_name, "type": c.type, "version": c.version, "paths": [*c.paths]} for c in java]
    return {**found, "verifiedBy": "runtime", "classes": classes}


def config_map(name: str, namespace: str) -> Json:
    """The ConfigMap with the definitions of a PluginVersion."""
    content = base64.b64encode(DEFINITIONS[name].content).decode()
    metadata = {"name": f"{name}-definitions", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": {KEY: content}}


def manifest(case: Json, namespace: str) -> Json:
    """The resource of a case."""
    metadata = {"name": "wrong", "namespace": namespace}
    if "resource" in case:
        return {"apiVersion": _API, "metadata": metadata, **case["resource"]}
    class_name = case.get("class", "FileStreamSource")
    config = {"file": "/data/x", "topic": "orders"} if class_name == "FileStreamSource" else {}
    config = {n: t for n, t in {**config, **case.get("config", {})}.items() if t is not None}
    spec = {"class": class_name, "config": config, **case.get("spec", {})}
    return {"apiVersion": _API, "kind": "Connector", "metadata": metadata, "spec": spec}
