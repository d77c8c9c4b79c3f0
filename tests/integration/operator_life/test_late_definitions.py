"""Definitions that come after the operator has begun are found, and those that go end nothing else."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ..api_servers import ROOT
from ..cluster_api.api import ApiRefused
from .test_topic_policies import RULES, policy, ready
from .world.plugin_versions import observed, plugin_version
from .world.site import Site, condition

pytestmark = pytest.mark.slow

Json = dict[str, Any]
PLURALS = {"TopicCreationPolicy": "topiccreationpolicies", "PluginVersion": "pluginversions"}


def served(site: Site, plural: str) -> bool:
    try:
        site.api.call("GET", f"/apis/penstock.dev/v1alpha1/namespaces/{site.namespace}/{plural}")
    except ApiRefused:
        return False
    return True


@pytest.fixture
def definitions(site: Site) -> Iterator[dict[str, Json]]:
    """Those of kinds that the operator can do without; they are put back."""
    known = {
        kind: yaml.safe_load((ROOT / "crds" / f"{plural}.penstock.dev.yaml").read_text())
        for kind, plural in PLURALS.items()
    }
    yield copy.deepcopy(known)
    for definition in known.values():
        site.api.apply(definition, manager="kubectl")


def test_definitions_may_come_and_go_while_the_operator_runs(site: Site, definitions: dict[str, Json]) -> None:
    for definition in definitions.values():
        site.api.delete(definition)
    operator = site.operator().start().ready()
    operator.until(lambda: all(not served(site, p) for p in PLURALS.values()), "they are gone")
    operator.until(lambda: operator.logged("does not serve pluginversions: their CRD is not installed"), "the warning")
    site.create("orders", topicCreationPolicyRef={"name": "shop-topics"})
    site.until("orders", lambda b: condition(b, "Ready").startswith("False PolicyMissing"), "waits for its policy")
    for kind, plural in PLURALS.items():
        site.api.apply(definitions[kind], manager="kubectl")
        operator.until(lambda p=plural: served(site, p), f"{plural} are served")  # type: ignore[misc]
    site.api.create(plugin_version(site))
    observed(site, plugin_version(site))
    site.api.create(policy(site, RULES))
    ready(site)
    site.settled("orders")
    site.api.delete(definitions["PluginVersion"])
    operator.until(
        lambda: sum("does not serve pluginversions" in str(n.get("message")) for n in operator.lines()) == 2,
        "the second warning",
        90,
    )
    site.change("orders", state="Paused")
    site.settled("orders", "Paused")
    assert operator.probe("healthz")[0] == 200
    site.api.apply(definitions["PluginVersion"], manager="kubectl")
    operator.until(lambda: served(site, "pluginversions"), "served again")
    site.api.create(plugin_version(site))
    observed(site, plugin_version(site))
    assert operator.starts == 1
    site.api.delete(plugin_version(site))
    site.api.delete(policy(site, RULES))
    site.check()
