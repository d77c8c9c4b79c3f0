"""PluginVersions on a real API server: connectors wait for them, keep them, and name them (KIP-891)."""

import base64
from typing import Any

import pytest

from penstock_model.contracts.definitions import ClassDefinition, ConfigKey, unpack
from penstock_model.contracts.verification import FoundClass

from ..running import until
from .world.plugin_versions import image_of, plugin_version
from .world.site import Site, condition

FILES: dict[str, Any] = {"class": "Files", "version": "[1,2)"}


def images(site: Site, name: str) -> list[str]:
    """Of PluginVersions in the living pods of a Connector, as the API server has them."""
    pods = site.kubelet.alive(site.key(name))
    return [v["image"]["reference"] for pod in pods for v in pod["spec"]["volumes"] if "image" in v]


def events(site: Site) -> list[tuple[str, str, str]]:
    """Type, reason and object of each Event."""
    found = site.api.list("events.k8s.io/v1", "Event", site.namespace)
    return [(e["type"], e["reason"], e["regarding"]["name"]) for e in found]


@pytest.mark.slow
def test_a_connector_waits_for_a_version_in_its_range_keeps_it_and_takes_another_when_asked(site: Site) -> None:
    operator = site.operator().start().ready()
    site.api.create(plugin_version(site, "2.0.0"))
    site.create("orders", **FILES, rollout={"canaryTasks": 0})
    told = "False PluginVersionMissing: spec.version: Plugin Files not found that matches the version range [1,2)"
    site.until("orders", lambda b: condition(b, "Ready").startswith(told), "waits")
    assert condition(site.get("orders"), "Stalled") == "False NotStalled: "
    site.until("orders", lambda b: "available versions: [2.0.0]" in condition(b, "ConfigValid"), "2.0.0 is verified")

    site.api.create(plugin_version(site, "1.0.0"))
    status = site.settled("orders")["status"]
    assert (status["connector"]["version"], status["connector"]["pluginVersion"]) == ("1.0.0", "files-1.0.0")
    assert status["tasks"][0]["versions"] == {"connector": "1.0.0"}
    assert images(site, "orders") == [image_of("1.0.0")]
    first = plugin_version(site, "1.0.0")
    until(lambda: condition(site.api.get(first), "Ready").startswith("True Verified"), what="it is verified")
    until(lambda: site.api.get(first)["status"]["usedBy"] == ["orders"], what="it names who runs it")

    site.api.create(plugin_version(site, "1.1.0"))  # a newer one in the range changes nothing,
    site.until("orders", lambda b: b["status"].get("newerPluginVersions") == ["files-1.1.0"], "it is reported")
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


def ready(site: Site, resource: dict[str, Any], begins: str) -> dict[str, Any]:
    """The resource, as soon as its condition Ready begins like that."""
    until(lambda: condition(site.api.get(resource), "Ready").startswith(begins), what=f"Ready is {begins}")
    return site.api.get(resource)


def test_a_new_connector_takes_the_version_before_one_whose_image_cannot_be_pulled(site: Site) -> None:
    site.kubelet.cannot_pull(image_of("2.0.0"))
    site.operator().start().ready()
    good, bad = plugin_version(site, "1.0.0"), plugin_version(site, "2.0.0")
    site.api.create(good)
    site.api.create(bad)
    ready(site, good, "True Verified")
    site.create("orders", **{"class": "Files"})
    status = site.settled("orders")["status"]
    assert status["connector"]["pluginVersion"] == "files-1.0.0"
    site.until(
        "orders",
        lambda b: (
            "PluginVersion files-2.0.0 has the newer version 2.0.0, but is not used until it is verified"
            in condition(b, "ConfigValid")
        ),
        "it names the newer one",
    )
    site.kubelet.can_pull(image_of("2.0.0"))
    site.until("orders", lambda b: b["status"].get("newerPluginVersions") == ["files-2.0.0"], "it is offered")
    site.check()


def verifying(site: Site) -> list[str]:
    """The names of the pods that verify something now."""
    return [
        p["metadata"]["name"]
        for p in list(site.kubelet.pods.objects.values())
        if p["metadata"]["labels"].get("penstock.dev/role") == "verify"
    ]


def test_one_pod_looks_into_an_image_whatever_becomes_of_the_operator_and_decides_for_good(site: Site) -> None:
    site.kubelet.refuses(image_of("2.0.0"), "its image holds files 1.0.0")
    site.kubelet.hold(lambda pod: pod["metadata"]["labels"]["penstock.dev/role"] == "verify")
    operator = site.operator().start().ready()
    good, bad = plugin_version(site, "1.0.0"), plugin_version(site, "2.0.0")
    site.api.create(good)
    site.api.create(bad)
    until(lambda: len(verifying(site)) == 2, what="both are looked at")
    assert condition(ready(site, good, "False Verifying"), "Reconciling").startswith("True")
    operator.kill()
    operator.ended()
    operator.start().ready()
    site.kubelet.let_go()
    found = ready(site, good, "True Verified")
    assert found["status"]["verifiedBy"]
    assert condition(ready(site, bad, "False VerificationFailed: its image holds"), "Stalled").startswith("True")
    until(lambda: verifying(site) == [], what="their pods are deleted")
    assert sorted(site.kubelet.verified) == [image_of("1.0.0"), image_of("2.0.0")]  # one pod each
    operator.kill()
    operator.ended()
    operator.start().ready()
    third = plugin_version(site, "3.0.0")
    site.api.create(third)
    ready(site, third, "True Verified")
    assert sorted(site.kubelet.verified) == [image_of(v) for v in ("1.0.0", "2.0.0", "3.0.0")]
    site.check()


def test_java_classes_of_an_image_are_listed_and_connectors_that_waited_for_them_run(site: Site) -> None:
    clock = "com.acme.ClockConnector"
    classes = [FoundClass(class_name=clock, type="source", version="2.1.0", paths=("clock",))]
    site.kubelet.holds(image_of("7"), *classes)
    site.kubelet.hold(lambda pod: pod["metadata"]["labels"]["penstock.dev/role"] == "verify")
    site.operator().start().ready()
    spec = {"runtime": "Java", "image": image_of("7"), "path": "/kafka/connect"}
    java = {**plugin_version(site, "7"), "spec": spec}
    site.api.create(java)
    site.create("orders", **{"class": clock})
    waits = (
        "False PluginVersionMissing: spec.class: waiting for a pod to check whether the Java plugins of files-7 contain"
    )
    site.until("orders", lambda b: condition(b, "Ready").startswith(waits), "waits")
    site.kubelet.let_go()
    listed = ready(site, java, "True Verified")["status"]["classes"]
    assert listed == [{"class": clock, "type": "source", "version": "2.1.0", "paths": ["clock"]}]
    status = site.settled("orders")["status"]
    assert (status["connector"]["version"], status["connector"]["pluginVersion"]) == ("2.1.0", "files-7")
    assert images(site, "orders") == [image_of("7")]
    until(lambda: site.api.get(java)["status"].get("usedBy") == ["orders"], what="it names who runs it")
    assert site.api.get(java)["status"]["classes"] == listed
    site.check()


FILES_KEY = ConfigKey(
    name="path",
    type="STRING",
    required=True,
    default_value=None,
    importance="HIGH",
    documentation="The folder to read.",
    display_name="path",
)
DEFINED = ClassDefinition(class_name="Files", type="source", version="1.0.0", config=(FILES_KEY,))


def config_map(site: Site, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": site.namespace}}


def published(site: Site, resource: dict[str, Any]) -> list[str]:
    """The classes whose configuration is in the ConfigMap that the status names."""
    document = site.api.get(resource)
    where = document["status"]["definitions"]
    found = site.api.get(config_map(site, where["configMap"]))
    assert [o["uid"] for o in found["metadata"]["ownerReferences"]] == [document["metadata"]["uid"]]
    content = unpack(base64.b64decode(found["binaryData"]["definitions.json.gz"]), where["digest"])
    return [c.class_name for c in content.classes]


def test_configurations_are_published_again_where_they_are_gone_and_earlier_ones_are_removed(site: Site) -> None:
    site.kubelet.defines(image_of("1.0.0"), DEFINED)
    operator = site.operator().start().ready()
    files = plugin_version(site, "1.0.0")
    site.api.create(files)
    first = ready(site, files, "True Verified")["status"]["definitions"]
    assert published(site, files) == ["Files"]
    until(lambda: verifying(site) == [], what="its pod, whose log has the definitions, is deleted")
    operator.kill()
    operator.ended()

    written = site.api.get(config_map(site, first["configMap"]))
    earlier = config_map(site, "earlier")
    earlier["metadata"]["labels"] = written["metadata"]["labels"]
    site.api.create(earlier)
    site.api.delete(written)
    site.kubelet.defines(image_of("1.0.0"), DEFINED, DEFINED.model_copy(update={"class_name": "Other"}))
    operator.start().ready()
    until(lambda: site.api.get(files)["status"]["definitions"] != first, what="what is published now is named")
    assert published(site, files) == ["Files", "Other"]
    until(lambda: not any(m["metadata"]["name"] == "earlier" for m in site.api.list("v1", "ConfigMap", site.namespace)))
    assert condition(site.api.get(files), "Ready").startswith("True Verified")
    site.check()


@pytest.mark.slow
def test_a_log_that_is_gone_leaves_it_verified_without_configurations_after_three_pods_and_it_says_so(
    site: Site,
) -> None:
    site.kubelet.defines(image_of("1.0.0"), DEFINED)
    site.kubelet.loses_logs()
    site.operator().start().ready()
    files = plugin_version(site, "1.0.0")
    site.api.create(files)
    ready(site, files, "False DefinitionsUnpublished: cannot publish its configuration definitions: the log of pod")
    until(
        lambda: condition(site.api.get(files), "Ready").startswith("True Verified"), seconds=120, what="it is decided"
    )
    assert "cannot publish its configuration definitions: the log" in condition(site.api.get(files), "Ready")
    assert "definitions" not in site.api.get(files)["status"]
    assert len(site.kubelet.verified) == 3
    site.check()


@pytest.mark.slow
def test_an_image_that_is_gone_holds_up_only_lost_tasks_and_new_connectors_and_they_say_which(site: Site) -> None:
    clock, other = "com.acme.ClockConnector", "com.acme.OtherConnector"
    gone, never = image_of("7"), image_of("8")
    site.kubelet.holds(gone, FoundClass(class_name=clock, type="source", version="2.1.0", paths=("clock",)))
    site.kubelet.holds(never, FoundClass(class_name=other, type="source", version="1.0.0", paths=("other",)))
    site.operator().start().ready()
    first, second = ({**plugin_version(site, v), "spec": {"runtime": "Java", "image": image_of(v)}} for v in "78")
    site.api.create(first)
    ready(site, first, "True Verified")
    site.create("orders", **{"class": clock}, tasksMax=2)
    site.settled("orders")
    stays, lost = (p["metadata"] for p in site.kubelet.alive(site.key("orders")))

    site.kubelet.cannot_pull(gone)
    site.kubelet.cannot_pull(never)
    site.api.delete(first)
    site.kubelet.vanish(f"{site.namespace}/{lost['name']}")
    site.until("orders", lambda b: gone in condition(b, "Ready"), "it names the image")
    assert "ImagePullBackOff" in condition(site.get("orders"), "Ready")
    assert stays["uid"] in [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]

    site.api.create(second)
    site.create("late", **{"class": other})
    waits = (
        "False PluginVersionMissing: spec.class: waiting for a pod to check whether the Java plugins of files-8 contain"
    )
    site.until("late", lambda b: condition(b, "Ready").startswith(waits), "waits")
    assert never in condition(ready(site, second, "False ImagePullBackOff"), "Ready")
    written = ("Warning", "ImagePullBackOff", second["metadata"]["name"])
    until(lambda: events(site).count(written) == 1, what="there is an Event of it")

    site.kubelet.can_pull(gone)
    site.settled("orders")
    assert stays["uid"] in [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    site.kubelet.can_pull(never)
    site.settled("late")
    site.check()


@pytest.mark.slow
def test_one_that_is_deleted_while_its_pod_waits_leaves_no_pod_and_gives_its_turn_to_others(site: Site) -> None:
    site.kubelet.refuse(lambda pod: pod["metadata"]["labels"]["penstock.dev/role"] == "verify")
    site.operator().start().ready()
    stuck = [plugin_version(site, f"1.0.{n}") for n in range(6)]
    for resource in stuck:
        site.api.create(resource)

    def those(begins: str) -> int:
        found = list(site.api.list(first["apiVersion"], first["kind"], site.namespace))
        return sum(condition(r, "Ready").startswith(f"False {begins}") for r in found)

    first = stuck[0]
    until(lambda: (those("Unschedulable"), those("Verifying")) == (3, 3), what="three wait for their turn")
    placed = [r for r in stuck if condition(site.api.get(r), "Ready").startswith("False Unschedulable")]
    assert len(verifying(site)) == 3  # the last place is for another namespace
    for resource in placed:
        site.api.delete(resource)
    until(lambda: those("Unschedulable") == 3, what="the others are looked at")
    until(lambda: len(verifying(site)) == 3, what="pods of those that were deleted are gone")
    site.check()
