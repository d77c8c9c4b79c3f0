"""Store a plan in a ConfigMap, and read it back. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_operator import names
from penstock_operator.connector.model.plans import (
    Plan,
    PodSettings,
    mounts_json,
    policy_json,
    stamped,
)
from penstock_operator.kubernetes.times import instant

__all__ = ["config_map_of", "plan_of"]

_PLAN_KEY: Final = "plan.json"


def config_map_of(plan: Plan, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ConfigMap that stores a plan."""
    header = {
        "hash": plan.hash,
        "kind": plan.kind,
        "class": plan.class_name,
        "version": plan.version,
        "tasks": len(plan.tasks),
        "warnings": list(plan.warnings),
        "secrets": plan.secrets,
        "asked": plan.inputs_hash,
        "shape": plan.pod_settings.to_json(),
        "restarted": plan.restarted,
        "digests": list(plan.digests),
        "earlierKinds": list(plan.earlier_kinds),
        **({} if plan.policy is None else {"policy": policy_json(plan.policy)}),
        **({} if not plan.mounts else {"mounts": mounts_json(plan.mounts)}),
        "split": plan.split,
        "pluginRequests": [list(r) for r in plan.plugin_requests],
    }
    data = {f"task-{n}.json": spec.to_json() for n, spec in enumerate(plan.tasks)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": dict(metadata),
        "immutable": True,
        "data": {_PLAN_KEY: json.dumps(header, sort_keys=True), **data},
    }


def plan_of(config_map: Mapping[str, Any]) -> Plan | None:
    """Return the plan in a ConfigMap; None: it cannot be read, or its hash does not match its contents.

    Users who may write ConfigMaps could forge a plan. But the hash, which identifies a plan for status and operator, covers
    its pod settings, policy and mounts. So a forged plan cannot give a pod an image or rights that the release did not
    grant, nor mount an image that belongs to no PluginVersion, nor relax a limit of a policy.
    """
    data = config_map.get("data") or {}
    try:
        header = json.loads(data[_PLAN_KEY])
        parts = [header["shape"], *([header["policy"]] if "policy" in header else [])]
        parts += [{"mounts": header["mounts"]}] if "mounts" in header else []
        if header["hash"] != names.digest(header["asked"], *parts):
            return None
        policy = TopicPolicy.model_validate(header["policy"]) if "policy" in header else None
        tasks = tuple(TaskSpec.from_json(data[f"task-{n}.json"]) for n in range(header["tasks"]))
        mounts = tuple(map(PluginMount.model_validate, header.get("mounts") or ()))
        if stamped(tasks, policy, mounts) != tasks:
            return None
        digests = tuple(map(str, header["digests"]))
        if len(digests) != len(tasks):
            return None
        return Plan(
            hash=header["hash"],
            kind=header["kind"],
            class_name=header["class"],
            version=header["version"],
            tasks=tasks,
            pod_settings=PodSettings.from_json(header["shape"]),
            digests=digests,
            inputs_hash=header["asked"],
            warnings=tuple(header["warnings"]),
            secrets=header["secrets"],
            created=instant(config_map["metadata"].get("creationTimestamp")) or 0.0,
            restarted=header["restarted"],
            earlier_kinds=tuple(header["earlierKinds"]),
            policy=policy,
            mounts=mounts,
            split=str(header.get("split", "")),
            plugin_requests=tuple(
                (str(place), str(name), None if version is None else str(version))
                for place, name, version in header.get("pluginRequests") or ()
            ),
        )
    except (
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        ConfigError,
    ):  # not written by this operator
        return None
