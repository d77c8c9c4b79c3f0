"""Every field of the resources and of the operator's configuration acts, or is refused with the reason."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from penstock.errors import ConfigError
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Connector
from penstock_model.resources.refused_fields import refused_fields
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.policy.template_policy import refusals
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.settings import Settings

from .connector.world.plugins import tasks_of
from .connector.world.world import World

ROOT = Path(__file__).parents[3]
MODELS = (
    "connector_spec.py",
    "connector_parts.py",
    "task_settings.py",
    "pod_template.py",
    "connector_status.py",
    "settings.py",
)
"""Where fields are declared, which is not yet reading them."""


def schema(kind: str) -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "crds" / f"{kind}.penstock.dev.yaml").read_text())
    found: dict[str, Any] = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def leaves(node: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every field that holds no further fields."""
    if not node.get("properties"):
        yield path
    for name, inner in node.get("properties", {}).items():
        yield from leaves(inner, (*path, name))


def snake(name: str) -> str:
    found = re.sub(r"[A-Z]", lambda m: f"_{m[0].lower()}", name)
    return f"{found}_name" if found == "class" else found


@cache
def read_attributes() -> frozenset[tuple[str, str]]:
    """Every `parent.name` that the code reads outside of the models, with the last name of what stands before the dot."""
    found = set()
    for folder in ("operator/penstock_operator", "runtime/penstock_runtime", "runtime/penstock_model"):
        for file in (ROOT / folder).rglob("*.py"):
            if file.name in MODELS:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute | ast.Name):
                    parent = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
                    found.add((parent, node.attr))
    return frozenset(found)


def unread(paths: Iterator[tuple[str, ...]], root: str, also: Mapping[str, str]) -> set[str]:
    """Those that no code reads.

    Args:
        paths: paths of fields.
        root: what a variable is called that holds all of them.
        also: names of variables that hold a part, by that part.
    """
    found = set()
    for path in paths:
        parent, name = (path[-2] if len(path) > 1 else root), snake(path[-1])
        names = {snake(parent), also.get(".".join(path[:-1]), "")}
        if not any((n, name) in read_attributes() for n in names):
            found.add(".".join(path))
    return found


def connector(spec: dict[str, Any]) -> Connector:
    metadata = {"name": "orders-in", "namespace": "shop", "uid": "u-1", "generation": 7}
    return Connector.read({"metadata": metadata, "spec": {"class": "FileStreamSource", **spec}})


def plain_fields() -> Iterator[tuple[str, ...]]:
    return (path for path in leaves(schema("connectors")) if path[0] != "template")


OF_A_PART = {"autoscaling": "terms", "restart": "policy"}


def test_every_field_of_a_connector_is_read() -> None:
    assert unread(plain_fields(), "spec", OF_A_PART) == set()


def test_a_field_that_nobody_reads_would_be_found() -> None:
    dummy = iter([("restart", "dummy"), ("dummy",), ("rollout", "dummy")])
    assert unread(dummy, "spec", OF_A_PART) == {"restart.dummy", "dummy", "rollout.dummy"}


def test_a_setting_of_sparks_is_refused_where_it_would_break_a_guarantee_and_taken_where_it_would_not() -> None:
    conf = {"spark.driver.memory": "2g", "spark.master": "spark://x:7077", "spark.driver.port": "7078"}
    refused = [p.property for p in refused_fields(connector({"spark": {"conf": conf}}).spec)]
    assert refused == ["spec.spark.conf.spark.master", "spec.spark.conf.spark.driver.port"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"start": "Eager", "idleTimeout": "1m"}, "Spark keeps running"),
        ({"idleTimeout": "0s"}, "would stop after each batch"),
    ],
)
def test_a_time_after_which_spark_ends_is_refused_where_it_never_or_always_would(
    given: Mapping[str, Any], why: str
) -> None:
    (problem,) = refused_fields(connector({"spark": given}).spec)
    assert problem.property == "spec.spark.idleTimeout"
    assert why in problem.message


OF_TEMPLATE: dict[str, Any] = {
    "affinity": {"podAffinity": {}},
    "dnsConfig": {"searches": ["x"]},
    "envFrom": [{"prefix": "X"}],
    "hostAliases": [{"ip": "1.2.3.4"}],
    "resources": {"limits": {"cpu": "7"}},
    "securityContext": {"runAsUser": 7},
    "tolerations": [{"key": "x"}],
    "topologySpreadConstraints": [{"topologyKey": "x"}],
}


def sample(name: str, field: Mapping[str, Any]) -> Any:
    """A value for a field of the template."""
    of_type = {"boolean": True, "integer": 7, "string": "x", "array": [{"name": "x"}], "object": {"a": "b"}}
    return OF_TEMPLATE.get(name, of_type[field["type"]])


@pytest.mark.parametrize("name", schema("connectors")["properties"]["template"]["properties"])
def test_every_field_of_the_pod_template_changes_the_pod(name: str) -> None:
    settings = Settings.of(
        {
            "release": {"name": "p", "namespace": "p"},
            "worker": {"bootstrap.servers": "k:1"},
            "images": {"runtime": "r:1"},
            "podSecurity": {"level": "Unrestricted"},
        }
    )
    value = sample(name, schema("connectors")["properties"]["template"]["properties"][name])

    def pod(template: dict[str, Any]) -> dict[str, Any]:
        made = connector({"template": template})
        assert refusals(made, settings) == ()
        answer = tasks_of(1)
        pod_settings = PodSettings.of(settings, ())
        plan = Plan.of("asked", pod_settings, answer, (), "")
        manifests = PodManifests(made, settings, pod_settings)
        return manifests.task(plan, 0, 1, PlanEpoch(generation=1, plan="p"), TaskState.RUNNING)

    assert pod({name: value}) != pod({})


def test_refused_actions_are_limited_except_those_whose_token_is_still_there() -> None:
    world = World()
    for number in range(30):
        world.annotations = {"penstock.dev/list-offsets": str(number), "penstock.dev/alter-offsets": "always"}
        world.settle()
    tokens = [t["token"] for t in world.status["offsetsActions"]]
    assert len(tokens) == 10
    assert "always" in tokens
    assert tokens[-1] == "29"


def fields(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every field of the settings that holds no further fields."""
    for name, info in model.model_fields.items():
        inner = next((t for t in (info.annotation, *get_args(info.annotation)) if _is_model(t)), None)
        if inner is None:
            yield (*path, name)
        else:
            yield from fields(inner, (*path, name))


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


REFUSED_SETTINGS = {"plugins.shared_namespaces": ["shop"]}


def test_every_field_of_the_operators_configuration_is_read_or_refused() -> None:
    also = {**dict.fromkeys(("job.resources", "task.resources"), "resources"), "rollout": "limits"}
    found = unread(fields(Settings), "settings", {**also, "": "_settings"})
    whole = {f"{part}.resources.{name}" for part in ("job", "task") for name in ("requests", "limits")}  # as they are
    assert found - whole - set(REFUSED_SETTINGS) == set()


@pytest.mark.parametrize("path", REFUSED_SETTINGS)
def test_a_setting_that_does_nothing_yet_is_refused(path: str) -> None:
    group, name = path.split(".")
    document = {
        "release": {"name": "p", "namespace": "p"},
        "worker": {"bootstrap.servers": "k:1"},
        "images": {"runtime": "r:1"},
        group: {name: REFUSED_SETTINGS[path]},
    }
    with pytest.raises(ConfigError, match="in this release"):
        Settings.of(document)
