"""Penstock, installed as its users do it: by Helm."""

import json
from collections.abc import Mapping
from typing import Any, Final

from .api import Object, ready
from .cluster import ROOT, Cluster
from .pod_logs import OPERATORS, PodLogs

__all__ = ["Release", "namespace_of"]

CHART: Final = ROOT / "helm" / "penstock"


class Release:
    """One release.

    Args:
        cluster: where.
        namespace: of its own; it is there.
        name: name of the release.
    """

    def __init__(self, cluster: Cluster, namespace: str, name: str = "penstock") -> None:
        self._cluster = cluster
        self.namespace = namespace
        self.name = name
        self.log = PodLogs(cluster.api, namespace, OPERATORS)

    @property
    def deployment(self) -> str:
        """Of its operator."""
        return f"{self.name}-operator"

    @property
    def console(self) -> str:
        """Name of the Service of its console."""
        return f"{self.name}-console"

    @property
    def webhook_configuration(self) -> str:
        """Name of its ValidatingWebhookConfiguration."""
        return f"{self.deployment}.{self.namespace}.penstock.dev"

    def install(self, worker: Mapping[str, Any], **values: Any) -> None:
        """Install or upgrade it, and wait until the operator is ready.

        Args:
            worker: the worker configuration, over what tests need.
            values: others.
        """
        images = {k: _image(self._cluster.images[k]) for k in ("operator", "runtime")}
        images |= values.pop("images", {})
        every = {
            "worker": {
                "offset.storage.replication.factor": 1,
                "status.storage.replication.factor": 1,
                "offset.storage.partitions": 5,
                **worker,
            },
            "images": images,
            # Tests apply invalid resources and read their conditions, as if the webhook did not answer.
            "webhook": {"enabled": False},
            **values,
        }
        words = ("--namespace", self.namespace, "--values", "-", "--take-ownership", "--wait", "--timeout", "120s")
        self._cluster.helm("upgrade", "--install", self.name, str(CHART), *words, stdin=json.dumps(every))

    def change_worker(self, name: str, value: str, *words: str) -> None:
        """Upgrade it with another value of the worker configuration, and wait for 40 s until the operator is ready.

        Args:
            name: name of the property.
            value: value of the property.
            words: more of `helm upgrade`.

        Raises:
            Failed: the upgrade has failed.
        """
        value = f"worker.{name.replace('.', chr(92) + '.')}={value}"
        to = ("--namespace", self.namespace, "--reuse-values", "--set-string", value, "--wait", "--timeout", "40s")
        self._cluster.helm("upgrade", self.name, str(CHART), *to, *words)

    def change_image(self, name: str, reference: str) -> None:
        """Upgrade it with another image, `operator` or `runtime`, and wait until the operator is ready."""
        values = [f"images.{name}.{field}={text}" for field, text in _image(reference).items()]
        to = ("--namespace", self.namespace, "--reuse-values", "--set-string", ",".join(values), "--wait")
        self._cluster.helm("upgrade", self.name, str(CHART), *to, "--timeout", "90s")
        self.operator()

    def change(self, values: Mapping[str, Any]) -> None:
        """Upgrade it with other values, and wait until as many operators as it then has are ready."""
        to = ("--namespace", self.namespace, "--reuse-values", "--values", "-", "--wait", "--timeout", "120s")
        self._cluster.helm("upgrade", self.name, str(CHART), *to, stdin=json.dumps(values))

    def enable_webhook(self, *, enabled: bool) -> None:
        """Upgrade it with or without its validating webhook, and wait until the operator is ready."""
        value = f"webhook.enabled={str(enabled).lower()}"
        to = ("--namespace", self.namespace, "--reuse-values", "--set", value, "--wait", "--timeout", "90s")
        self._cluster.helm("upgrade", self.name, str(CHART), *to)
        self.operator()

    def roll_back(self) -> None:
        """Roll its last upgrade back, and wait until the operator is ready."""
        self._cluster.helm("rollback", self.name, "--namespace", self.namespace, "--wait", "--timeout", "120s")

    def leader(self) -> str | None:
        """The pod of the operator that holds the Lease; None: nobody holds it."""
        lease = self._cluster.api.get("leases", self.namespace, self.deployment)
        return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "").partition("_")[0] or None

    def operators(self) -> list[Object]:
        """The pods of its operators, those that cannot start too."""
        return self._cluster.api.list("pods", self.namespace, labels=self._labels)

    def uninstall(self) -> None:
        """Take it away; its operator is gone afterwards."""
        self._cluster.helm("uninstall", self.name, "--namespace", self.namespace, "--wait", "--ignore-not-found")
        self.gone()

    def operator(self) -> Object:
        """Its operator's pod, ready."""
        return self._cluster.api.until_all(
            "pods", self.namespace, _ready_pod, "the operator is ready", 90, labels=self._labels
        )

    def gone(self) -> None:
        """Wait until no operator is left."""
        self._cluster.api.until_all(
            "pods", self.namespace, lambda found: not found, "no operator is left", 90, labels=self._labels
        )

    def scale(self, replicas: int) -> None:
        """Send the operator away (0), or call it back (1)."""
        words = ("scale", "deployment", self.deployment, "-n", self.namespace, f"--replicas={replicas}")
        self._cluster.kubectl(*words)
        if replicas:
            self.operator()
        else:
            self.gone()

    def kill(self) -> None:
        """Kill the operator without a word to it: its process where we reach the node, else its pod."""
        own = self.operator()["metadata"]
        if self._cluster.kind == "own":
            self._cluster.kill_pod(own["uid"])
        else:
            self._cluster.kubectl("delete", "pod", own["name"], "-n", self.namespace, "--grace-period=0", "--force")

    @property
    def _labels(self) -> str:
        return f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component=operator"


def namespace_of(name: str, *, restricted: bool = True) -> str:
    """The manifest of a namespace that admits only restricted pods."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"} if restricted else {}
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def _ready_pod(pods: Mapping[str, Object]) -> Object | None:
    there = [p for p in pods.values() if ready()(p) and not p["metadata"].get("deletionTimestamp")]
    return there[0] if len(there) == 1 and len(pods) == 1 else None


def _image(reference: str) -> dict[str, str]:
    repository, _, tag = reference.rpartition(":")
    return {"repository": repository, "tag": tag}
