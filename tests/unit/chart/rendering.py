"""Renders the chart as Helm does."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[3]
CHART: Final = ROOT / "helm" / "penstock"
NAMESPACE: Final = "penstock-system"
KUBERNETES: Final = ("--kube-version", "1.30.0")
"""The oldest that the chart takes; without it Helm takes the one of its own making for the cluster's."""
Document = dict[str, Any]
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, where it is there, takes a tenth of the time."""


class Refused(Exception):
    """Helm refused the values; its words."""


@dataclass(frozen=True)
class Rendered:
    """What a release consists of."""

    documents: Sequence[Document]

    def of(self, kind: str) -> list[Document]:
        return [d for d in self.documents if d["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> Document:
        found = [d for d in self.of(kind) if name is None or d["metadata"]["name"] == name]
        assert len(found) == 1, [(d["kind"], d["metadata"]["name"]) for d in self.documents]
        return found[0]

    @property
    def configuration(self) -> Document:
        """The operator's configuration file, parsed."""
        annotations = self.one("Deployment")["spec"]["template"]["metadata"]["annotations"]
        text = annotations["penstock.dev/configuration"]
        parsed: Document = yaml.load(text, _LOADER)
        return parsed

    @property
    def pod(self) -> Document:
        """The operator's pod spec."""
        spec: Document = self.one("Deployment")["spec"]["template"]["spec"]
        return spec

    def rules(self) -> Iterator[tuple[str | None, Document]]:
        """Every rule that the operator's ServiceAccount is given, and the namespace where; None: everywhere."""
        for kind in ("ClusterRole", "Role"):
            bound = {b["roleRef"]["name"] for b in self.of(f"{kind}Binding")}
            for role in self.of(kind):
                if role["metadata"]["name"] in bound:
                    yield from ((role["metadata"].get("namespace"), rule) for rule in role["rules"])


@dataclass(frozen=True)
class Helm:
    """The program."""

    path: Path
    folder: Path

    def run(self, *arguments: str) -> str:
        # No cluster, no settings and no plugins of whoever runs the tests.
        own = {f"HELM_{kind}_HOME": str(self.folder / "helm") for kind in ("CACHE", "CONFIG", "DATA")}
        environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(self.folder / "no-cluster"), **own}
        done = subprocess.run(
            [self.path, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode:
            raise Refused(done.stderr + done.stdout)
        return done.stdout

    def template(self, values: Mapping[str, Any] | str, release: str = "penstock", namespace: str = NAMESPACE) -> str:
        """The text of a release with these values over the chart's; as YAML where a text says more than a mapping."""
        file = self.folder / "values.yaml"
        file.write_text(values if isinstance(values, str) else yaml.safe_dump(dict(values)))
        return self.run("template", release, str(CHART), "--namespace", namespace, "--values", str(file), *KUBERNETES)

    def render(
        self, values: Mapping[str, Any] | str, release: str = "penstock", namespace: str = NAMESPACE
    ) -> Rendered:
        text = self.template(values, release, namespace)
        return Rendered([d for d in yaml.load_all(text, _LOADER) if d])


def least(**values: Any) -> dict[str, Any]:
    """The least that must be set, and more; `worker` is added to, not replaced."""
    return {**values, "worker": {"bootstrap.servers": "kafka:9092", **values.get("worker", {})}}


def names_in(text: str) -> set[str]:
    """The metrics that a query, or a text with queries, names."""
    return set(re.findall(r"\b(?:penstock|kafka_connect)_[a-z_]+[a-z]\b", text))
