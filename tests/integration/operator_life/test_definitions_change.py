"""What changes under running connectors: their namespace, their definition; and what an older one let in."""

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from ..api_servers import ROOT
from ..cluster_api.api import ApiRefused
from .world.processes import OperatorProcess
from .world.site import Site, condition

pytestmark = pytest.mark.slow

Json = dict[str, Any]


@pytest.fixture
def definition(site: Site) -> Iterator[Json]:
    """That of Connectors; it is put back."""
    known: Json = yaml.safe_load((ROOT / "crds" / "connectors.penstock.dev.yaml").read_text())
    yield copy.deepcopy(known)
    site.api.apply(known, manager="kubectl")
    in_force(site, LOOSE, lambda answer: answer is None)


LOOSE = {"class": "X", "tasksMax": 0}
"""What our definition refuses."""


def in_force(site: Site, spec: Json, holds: Callable[[Json | None], object]) -> None:
    """Wait until the API server goes by a definition that was written: it does so a moment later, and tells nobody.

    `holds` is asked of the spec that a Connector would have, None when it is refused.
    """
    path = f"/apis/penstock.dev/v1alpha1/namespaces/{site.namespace}/connectors"
    deadline = time.monotonic() + 30
    while True:
        try:
            answer = site.api.call("POST", path, {**site.manifest("asked"), "spec": spec}, dryRun="All")["spec"]
        except ApiRefused:
            answer = None
        if holds(answer):
            return
        assert time.monotonic() < deadline, f"the definition is not in force: {answer}"
        time.sleep(0.1)


def test_a_definition_that_grows_is_no_event_for_running_connectors(site: Site, definition: Json) -> None:
    operator = site.operator().start()
    site.create("orders", tasksMax=2)
    site.settled("orders")
    pods = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]

    version = definition["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["later"] = {"type": "string", "description": "Of a newer release."}
    site.api.apply(definition, manager="kubectl")
    in_force(site, {"class": "X", "later": "x"}, lambda answer: "later" in (answer or {}))
    site.change("orders", later="x")  # a field of a newer release: said, and the tasks go on
    site.until("orders", lambda b: "spec.later" in condition(b, "ConfigValid"), "it is told")
    site.change("orders", later=None)
    site.settled("orders")
    version["additionalPrinterColumns"].append({"name": "Later", "type": "string", "jsonPath": ".spec.later"})
    site.api.apply(definition, manager="kubectl")
    site.change("orders", state="Paused")
    site.settled("orders", "Paused")
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == pods
    site.create("others")
    site.settled("others")
    assert operator.starts == 1
    site.check()


def test_a_namespace_that_is_deleted_takes_its_connectors_along(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    home, shop = site.namespaces
    operator = site.operator().start()
    for name, spec in (("orders", {"tasksMax": 2}), ("resets", {"deletion": {"offsets": "Reset"}}), ("rests", {})):
        site.create(name, namespace=shop, **spec)
        site.settled(f"{shop}/{name}")
    site.create("stays", namespace=home)
    site.settled(f"{home}/stays")
    site.until(f"{shop}/resets", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    site.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shop}})
    for name in ("orders", "resets", "rests"):
        site.gone(f"{shop}/{name}", seconds=120)
        site.kubelet.records.until(lambda n=name: not site.kubelet.records.of(f"{shop}.{n}"), f"records of {name}")  # type: ignore[misc]
    site.change("stays", namespace=home, state="Paused")
    site.settled(f"{home}/stays", "Paused")
    assert operator.starts == 1
    site.check()


def loosened(definition: Json) -> Json:
    """The definition as an older release might have had it: it checks nothing of the spec."""
    found = copy.deepcopy(definition)
    for version in found["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema.pop("x-kubernetes-validations", None)
        schema.pop("required", None)
    return found


INVALID: dict[str, Json] = {
    "no-class": {"spec": {"config": {}}},
    "wrong-types": {"spec": {"class": "X", "tasksMax": 0, "config": {"a": ["x"]}}},
    "wrong-state": {"spec": {"class": "X", "state": "Sleeping"}},
    "unknown-field": {"spec": {"class": "X", "taskMax": 3}},
    "no-spec": {},
    "spec-of-nothing": {"spec": {}},
    "config-is-a-list": {"spec": {"class": "X", "config": ["a"]}},
    "twice": {"spec": {"class": "X", "config": {"connector.class": "Y", "tasks.max": "3"}}},
    "template-is-text": {"spec": {"class": "X", "template": "x"}},
    "restart-is-text": {"spec": {"class": "X", "restart": "x"}},
    "long-name-" + "x" * 60: {"spec": {"class": "FileStreamSource", "config": {"file": "a", "topic": "b"}}},
    "dotted.name": {"spec": {"class": "FileStreamSource", "config": {"file": "a", "topic": "b"}}},
}


@pytest.fixture
def loose(site: Site, definition: Json) -> Site:
    """The definition checks nothing."""
    body = site.api.get(definition)
    body["spec"] = loosened(definition)["spec"]
    site.api.replace(body)
    in_force(site, LOOSE, lambda answer: answer is not None)
    return site


def told(operator: OperatorProcess, site: Site, name: str) -> Json:
    body = site.until(
        name,
        lambda b: (b.get("status") or {}).get("observedGeneration") == b["metadata"]["generation"],
        "it is told",
        30,
    )
    assert operator.starts == 1
    return body


@pytest.mark.parametrize("name", INVALID)
def test_what_an_older_definition_let_in_is_reported_in_status(loose: Site, name: str) -> None:
    operator = loose.operator().start()
    manifest = {**loose.manifest(name), **INVALID[name]}
    if "spec" not in INVALID[name]:
        del manifest["spec"]
    loose.api.call(
        "POST", f"/apis/penstock.dev/v1alpha1/namespaces/{loose.namespace}/connectors", manifest
    )  # the rest of the definition may still refuse some of this, which is as good
    body = told(operator, loose, name)
    assert condition(body, "Stalled").startswith("True"), condition(body, "Ready")
    loose.delete(name)
    loose.gone(name)
    loose.check()
