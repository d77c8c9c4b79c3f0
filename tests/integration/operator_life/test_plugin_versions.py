"""PluginVersions on a real API server: connectors wait for them, keep them, and name them (KIP-891)."""

from typing import Any

import pytest

from ..running import until
from .world.plugin_versions import image_of, observed, plugin_version
from .world.site import Site, condition

FILES: dict[str, Any] = {"class": "Files", "version": "[1,2)"}


def images(site: Site, name: str) -> list[str]:
    """Of PluginVersions in the living pods of a Connector, as the API server has them."""
    pods = site.kubelet.alive(site.key(name))
    return [v["image"]["reference"] for pod in pods for v in pod["spec"]["volumes"] if "image" in v]


@pytest.mark.slow
def test_a_connector_waits_for_a_version_in_its_range_keeps_it_and_takes_another_when_asked(site: Site) -> None:
    operator = site.operator().start().ready()
    site.api.create(plugin_version(site, "2.0.0"))
    site.create("orders", **FILES)
    told = "False PluginVersionMissing: spec.version: Plugin Files not found that matches the version range [1,2)"
    site.until("orders", lambda b: condition(b, "Ready").startswith(told), "waits")
    assert condition(site.get("orders"), "Stalled") == "absent"
    assert "available versions: [2.0.0]" in condition(site.get("orders"), "ConfigValid")

    site.api.create(plugin_version(site, "1.0.0"))
    status = site.settled("orders")["status"]
    assert (status["connector"]["version"], status["connector"]["pluginVersion"]) == ("1.0.0", "files-1.0.0")
    assert status["tasks"][0]["versions"] == {"connector": "1.0.0"}
    assert images(site, "orders") == [image_of("1.0.0")]
    first = observed(site, plugin_version(site, "1.0.0"))
    assert condition(first, "Ready").startswith("True Accepted")
    until(lambda: site.api.get(first)["status"]["usedBy"] == ["orders"], what="it names who runs it")

    site.api.create(plugin_version(site, "1.1.0"))  # a newer one in the range changes nothing,
    site.until("orders", lambda b: b["status"].get("newerPluginVersions") == ["files-1.1.0"], "it is told")
    site.api.delete(plugin_version(site, "1.0.0"))  # nor does it matter that the one that runs is deleted,
    operator.kill()  # nor who comes after this operator
    operator.ended()
    operator.start().ready()
    site.kubelet.vanish(f"{site.namespace}/{site.kubelet.alive(site.key('orders'))[0]['metadata']['name']}")
    site.until("orders", lambda b: b["status"]["tasks"][0]["incarnation"] == 2, "another pod")
    site.settled("orders")
    assert images(site, "orders") == [image_of("1.0.0")]
    site.change("orders", tasksMax=2)
    site.settled("orders")
    assert images(site, "orders") == [image_of("1.0.0")] * 2

    site.annotate("orders", restart="a")
    body = site.until("orders", lambda b: b["status"]["connector"]["version"] == "1.1.0", "taken up")
    assert body["status"]["connector"]["pluginVersion"] == "files-1.1.0"
    assert "newerPluginVersions" not in site.settled("orders")["status"]
    assert images(site, "orders") == [image_of("1.1.0")] * 2
    site.check()
