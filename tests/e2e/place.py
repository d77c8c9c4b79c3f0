"""A namespace with connectors in it, and one connector, as its user sees it."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from .api import NotReached, Object
from .cluster import Cluster
from .kafka import Kafka

__all__ = ["Connector", "Place", "condition", "task"]

T = TypeVar("T")
_SMALL: Final = {"resources": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}}
_PLAIN: Final = {"value.converter": "JsonConverter", "value.converter.schemas.enable": False}


class Connector:
    """One Connector.

    Attributes:
        name: its own.
        namespace: its.
        topic: that it is told to use, unless the test says another one.
        spec: as it was applied last.
    """

    def __init__(self, cluster: Cluster, namespace: str, name: str, spec: dict[str, Any]) -> None:
        self._cluster = cluster
        self.namespace = namespace
        self.name = name
        self.topic = f"{namespace}.{name}"
        self.spec = spec

    def manifest(self) -> str:
        """As a user writes it."""
        own = {"name": self.name, "namespace": self.namespace}
        return json.dumps(
            {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": own, "spec": self.spec}, indent=1
        )

    def apply(self, **changes: Any) -> str:
        """`kubectl apply`, with these fields of the spec changed; what it printed."""
        self.spec = {**self.spec, **changes}
        return self._cluster.apply(self.manifest())

    def configure(self, **changes: Any) -> None:
        """Change properties of its configuration (`_` stands for a dot); None removes one."""
        config = {**self.spec["config"], **{k.replace("_", "."): v for k, v in changes.items()}}
        self.apply(config={k: v for k, v in config.items() if v is not None})

    def annotate(self, **annotations: str) -> None:
        """Set annotations of penstock.dev (`_` stands for a dash)."""
        words = [f"penstock.dev/{k.replace('_', '-')}={v}" for k, v in annotations.items()]
        self.kubectl("annotate", "connector", self.name, "--overwrite", *words)

    def delete(self, *, wait: bool = True) -> None:
        """Delete it, and wait until it and its pods are gone."""
        self.kubectl("delete", "connector", self.name, f"--wait={str(wait).lower()}")
        if wait:
            self.until_pods(lambda pods: not pods, "all pods are gone")

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """Run kubectl in its namespace."""
        return self._cluster.kubectl("--namespace", self.namespace, *words, stdin=stdin)

    # What it says

    def get(self) -> Object:
        """The resource as it is."""
        found = self._cluster.api.get("connectors", self.namespace, self.name)
        assert found is not None, f"there is no Connector {self.name}"
        return found

    @property
    def status(self) -> dict[str, Any]:
        """Its status."""
        return dict(self.get()["status"])

    def until(self, claim: Callable[[Object], T | None], what: str, limit: float = 60) -> T:
        """Watch it until something holds."""
        return self._cluster.api.until(
            "connectors", self.namespace, self.name, lambda c: None if c is None else claim(c), what, limit
        )

    def reaches(self, reason: str = "Running", limit: float = 90) -> Object:
        """Wait until it is, as it stands now, what is asked: `Ready=True` for this reason."""
        generation = self.get()["metadata"]["generation"]

        def there(found: Object) -> Object | None:
            status = found.get("status") or {}
            own = condition(found)
            done = own.get("status") == "True" and own.get("reason") == reason
            return found if done and status.get("observedGeneration", -1) >= generation else None

        return self.until(there, f"{self.name} is Ready, {reason}", limit)

    def says(self, reason: str, *words: str, limit: float = 60) -> str:
        """Wait until condition Ready gives this reason, and these words in its message; the message."""
        generation = self.get()["metadata"]["generation"]

        def there(found: Object) -> str | None:
            own = condition(found)
            message = str(own.get("message"))
            current = (found.get("status") or {}).get("observedGeneration", -1) >= generation
            return message if current and own.get("reason") == reason and all(w in message for w in words) else None

        return self.until(there, f"{self.name} says {reason} {words}", limit)

    # Its pods

    def pods(self, role: str = "task") -> dict[str, Object]:
        """Its pods of a role, by name; those that are on their way out too."""
        labels = f"penstock.dev/connector={self.name},penstock.dev/role={role}"
        found = self._cluster.api.list("pods", self.namespace, labels=labels)
        return {p["metadata"]["name"]: p for p in found}

    def lives(self) -> dict[str, str]:
        """Of its task pods: name and uid."""
        return {name: p["metadata"]["uid"] for name, p in self.pods().items()}

    def until_pods(self, claim: Callable[[Mapping[str, Object]], T | None], what: str, limit: float = 60) -> T:
        """Watch its pods, of all roles, until something holds."""
        labels = f"penstock.dev/connector={self.name}"
        return self._cluster.api.until_all("pods", self.namespace, claim, what, limit, labels=labels)

    def pod(self, number: int = 0) -> str:
        """The name of a task's present pod."""
        return str(task(self.get(), number)["pod"])

    def kill(self, number: int = 0) -> str:
        """Kill -9 of the process that does a task's work, in its pod; the pod's name."""
        return self._signal(number, 9)

    def freeze(self, number: int = 0) -> str:
        """Let that process stand still for good (SIGSTOP); the pod's name."""
        return self._signal(number, 19)

    def _signal(self, number: int, signal: int) -> str:
        pod = self.pod(number)
        # Process 1 is out of reach from within: the kernel protects it, and the work is done by its child.
        program = (
            "import os, pathlib, sys\n"
            "for f in pathlib.Path('/proc').glob('[0-9]*/stat'):\n"
            "    words = f.read_text().rpartition(')')[2].split()\n"
            "    if words[1] == '1' and int(f.parent.name) != os.getpid(): os.kill(int(f.parent.name), int(sys.argv[1]))"
        )
        self._cluster.python(self.namespace, pod, program, str(signal))
        return pod

    # What is told of it

    def events(self) -> list[tuple[str, str, str]]:
        """Its Events: type, reason, message."""
        found = self._cluster.api.list("events", self.namespace)
        mine = [e for e in found if e.get("regarding", {}).get("name") == self.name]
        return [(e.get("type", ""), e.get("reason", ""), e.get("note", "")) for e in mine]

    def tells(self, reason: str, *words: str, limit: float = 30) -> str:
        """Wait for an Event with this reason and these words; its message."""

        def there(found: Mapping[str, Object]) -> str | None:
            notes = (
                str(e.get("note"))
                for e in found.values()
                if e.get("regarding", {}).get("name") == self.name and e.get("reason") == reason
            )
            return next((n for n in notes if all(w in n for w in words)), None)

        try:
            return self._cluster.api.until_all("events", self.namespace, there, f"an Event {reason} {words}", limit)
        except NotReached as e:
            raise NotReached(f"no Event {reason} with {words}; there are: {self.events()}") from e


class Place:
    """A namespace for connectors; it admits restricted pods only."""

    def __init__(self, cluster: Cluster, kafka: Kafka, namespace: str) -> None:
        self.cluster = cluster
        self.kafka = kafka
        self.namespace = namespace

    def connector(self, name: str, class_name: str, config: Mapping[str, Any], **spec: Any) -> Connector:
        """Apply a Connector: a small one, whose Spark starts when it is needed."""
        made = self.unapplied(name, class_name, config, **spec)
        made.apply()
        return made

    def unapplied(self, name: str, class_name: str, config: Mapping[str, Any], **spec: Any) -> Connector:
        """The same, for the test to apply."""
        template = {**_SMALL, **spec.pop("template", {})}
        whole = {"class": class_name, "config": {**_PLAIN, **config}, "spark": {"start": "OnDemand"}, **spec}
        return Connector(self.cluster, self.namespace, name, {**whole, "template": template})

    def datagen(self, name: str, *, topic: str = "", **spec: Any) -> Connector:
        """A source of numbered orders; properties of Datagen are given in `config`."""
        config = {"topic": topic or f"{self.namespace}.{name}", "rate": 200, **spec.pop("config", {})}
        return self.connector(name, "Datagen", config, **spec)

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """Apply other objects."""
        whole = {"apiVersion": "v1", "kind": "List", "items": [*manifests]}
        self.cluster.apply(json.dumps(whole), self.namespace)

    def config_map(self, name: str, data: Mapping[str, str]) -> None:
        """Make a ConfigMap, or change it."""
        self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)})

    def plugin(self, name: str, text: str) -> dict[str, Any]:
        """Of a pod's template, what brings a Python module into the pods."""
        self.config_map(name, {f"{name}.py": text})
        return {
            "env": [{"name": "PYTHONPATH", "value": "/plugins"}],
            "volumes": [{"name": "plugins", "configMap": {"name": name}}],
            "volumeMounts": [{"name": "plugins", "mountPath": "/plugins"}],
        }

    def secret(self, name: str, **data: str) -> None:
        """Make a Secret, or change it."""
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})


def condition(found: Object, kind: str = "Ready") -> dict[str, Any]:
    """A condition; empty where it is absent."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c["type"] == kind), {})


def task(found: Object, number: int = 0) -> dict[str, Any]:
    """A task of the status; empty where there is none."""
    tasks = (found.get("status") or {}).get("tasks") or ()
    return next((t for t in tasks if t["id"] == number), {})
