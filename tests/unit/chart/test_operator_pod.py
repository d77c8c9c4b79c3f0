"""The operator's pod: as safe as the strictest Pod Security Standard asks, and rolled by every change that matters."""

from typing import Any

import pytest

from penstock_model.contracts.pod_layout import POD_NAME_VARIABLE, POD_UID_VARIABLE
from penstock_operator.web.console import POD_IP_VARIABLE

from .rendering import Document, Helm, Refused, Rendered, least

DIGEST = "sha256:" + "0123456789abcdef" * 4


def pods(rendered: Rendered) -> list[Document]:
    return [rendered.pod, *(d["spec"] for d in rendered.of("Pod"))]


def test_pods_keep_to_the_restricted_pod_security_standard(rendered: Rendered) -> None:
    found = pods(rendered)
    assert len(found) == 2
    for pod in found:
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == 65532
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]
        allowed = {"downwardAPI", "secret", "emptyDir"}
        assert all(set(volume) <= {"name", *allowed} for volume in pod.get("volumes", []))


def test_one_operator_is_the_default(rendered: Rendered) -> None:
    spec = rendered.one("Deployment")["spec"]
    assert spec["replicas"] == 1
    assert rendered.of("PodDisruptionBudget") == []
    assert "topologySpreadConstraints" not in rendered.pod


@pytest.mark.parametrize("replicas", [2, 3])
def test_standby_operators_are_spread_and_drained_one_by_one(helm: Helm, replicas: int) -> None:
    rendered = helm.render(least(operator={"replicas": replicas}))
    spec = rendered.one("Deployment")["spec"]
    assert spec["replicas"] == replicas
    budget = rendered.one("PodDisruptionBudget")["spec"]
    assert budget == {"maxUnavailable": 1, "selector": spec["selector"]}
    spread = rendered.pod["topologySpreadConstraints"]
    assert [s["topologyKey"] for s in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert all(s["labelSelector"] == spec["selector"] for s in spread)
    assert all(s["whenUnsatisfiable"] == "ScheduleAnyway" for s in spread)


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_operator_ends_only_once_its_successor_is_ready(helm: Helm, replicas: int) -> None:
    spec = helm.render(least(operator={"replicas": replicas})).one("Deployment")["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_an_operator_that_starts_again_keeps_the_values_of_its_own_pod(rendered: Rendered) -> None:
    volume = next(v for v in rendered.pod["volumes"] if v["name"] == "configuration")
    field = "metadata.annotations['penstock.dev/configuration']"
    assert volume["downwardAPI"]["items"] == [{"path": "operator.yaml", "fieldRef": {"fieldPath": field}}]


def test_the_cause_of_an_operators_end_is_in_its_pod(rendered: Rendered) -> None:
    assert rendered.pod["containers"][0]["terminationMessagePolicy"] == "FallbackToLogsOnError"


@pytest.mark.parametrize("replicas", [0, 4, "2", 1.5])
def test_no_other_number_of_operators_is_taken(helm: Helm, replicas: Any) -> None:
    with pytest.raises(Refused, match="replicas"):
        helm.template(least(operator={"replicas": replicas}))


def test_only_the_operator_has_a_token(rendered: Rendered) -> None:
    assert rendered.one("ServiceAccount")["automountServiceAccountToken"] is False
    assert rendered.pod["automountServiceAccountToken"] is True
    assert rendered.one("Pod")["spec"]["automountServiceAccountToken"] is False


def test_the_only_place_to_write_to_is_a_bounded_tmp(rendered: Rendered) -> None:
    mounts = rendered.pod["containers"][0]["volumeMounts"]
    assert [m["mountPath"] for m in mounts if not m.get("readOnly")] == ["/tmp"]
    assert {"name": "temporary", "emptyDir": {"sizeLimit": "64Mi"}} in rendered.pod["volumes"]


def test_probes_ask_on_the_port_for_probes(helm: Helm) -> None:
    rendered = helm.render(least(probes={"port": 9001}, metrics={"port": 9002}))
    container = rendered.pod["containers"][0]
    assert {p["name"]: p["containerPort"] for p in container["ports"]} == {
        "probes": 9001,
        "metrics": 9002,
        "webhook": 9443,
        "console": 8090,
    }
    asked = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert asked == {
        "startup": {"path": "/healthz", "port": "probes"},
        "liveness": {"path": "/healthz", "port": "probes"},
        "readiness": {"path": "/readyz", "port": "probes"},
    }
    assert rendered.configuration["probes"] == {"port": 9001}
    assert rendered.configuration["metrics"] == {"port": 9002}
    assert rendered.one("Service", "penstock-operator")["spec"]["ports"][0]["port"] == 9002


def test_a_changed_configuration_rolls_the_operator(helm: Helm) -> None:
    def template(values: dict[str, Any]) -> Document:
        found: Document = helm.render(values).one("Deployment")["spec"]["template"]
        return found

    same = template(least())
    assert template(least()) == same
    assert template(least(worker={"group.id": "other"})) != same
    assert template(least(limits={"jobPods": 3})) != same


def test_two_renders_are_equal(helm: Helm) -> None:
    everything = least(
        metrics={n: {"enabled": True} for n in ("serviceMonitor", "podMonitor", "alerts", "dashboard")},
        argoCD={"configMap": True},
        watchNamespaces=["shop", "audit"],
    )
    assert helm.template(everything) == helm.template(everything)


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ({}, "penstock-{}:0.1.0"),
        ({"tag": "1.2.3"}, "penstock-{}:1.2.3"),
        ({"repository": "registry.example:5000/team/it", "tag": "edge"}, "registry.example:5000/team/it:edge"),
        ({"tag": "1.2.3", "digest": DIGEST}, "penstock-{}@" + DIGEST),
    ],
)
def test_images_by_tag_or_digest(helm: Helm, image: dict[str, str], wanted: str) -> None:
    rendered = helm.render(
        least(images={"operator": image, "runtime": image, "pullPolicy": "Always", "pullSecrets": ["a", "b"]})
    )
    for pod in pods(rendered):
        assert pod["containers"][0]["image"] == wanted.format("operator")
        assert pod["containers"][0]["imagePullPolicy"] == "Always"
        assert pod["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert rendered.configuration["images"] == {
        "runtime": wanted.format("runtime"),
        "pullPolicy": "Always",
        "pullSecrets": ["a", "b"],
    }


def test_one_value_names_the_registry_of_both_images(helm: Helm) -> None:
    pinned = {"digest": DIGEST}
    rendered = helm.render(least(images={"registry": "registry.example:5000/data", "runtime": pinned}))
    for pod in pods(rendered):
        assert pod["containers"][0]["image"] == "registry.example:5000/data/penstock-operator:0.1.0"
    assert rendered.configuration["images"]["runtime"] == f"registry.example:5000/data/penstock-runtime@{DIGEST}"


def test_the_pod_can_be_placed_and_labelled(helm: Helm) -> None:
    rendered = helm.render(
        least(
            operator={
                "priorityClassName": "system-cluster-critical",
                "nodeSelector": {"kubernetes.io/arch": "amd64"},
                "tolerations": [{"key": "control", "operator": "Exists"}],
                "affinity": {"nodeAffinity": {}},
                "podLabels": {"team": "data", "app.kubernetes.io/name": "not-yours"},
                "podAnnotations": {"note": "1"},
                "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            }
        )
    )
    deployment = rendered.one("Deployment")["spec"]
    assert rendered.pod["priorityClassName"] == "system-cluster-critical"
    assert rendered.pod["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert rendered.pod["tolerations"] == [{"key": "control", "operator": "Exists"}]
    assert rendered.pod["affinity"] == {"nodeAffinity": {}}
    env = rendered.pod["containers"][0]["env"]
    assert env[4:] == [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]
    own = [POD_NAME_VARIABLE, POD_UID_VARIABLE, POD_IP_VARIABLE, "MALLOC_MMAP_THRESHOLD_"]
    assert [e["name"] for e in env[:4]] == own
    labels = deployment["template"]["metadata"]["labels"]
    assert labels["team"] == "data"
    assert deployment["selector"]["matchLabels"].items() <= labels.items()
    assert deployment["template"]["metadata"]["annotations"]["note"] == "1"


def test_the_hash_key_is_the_operators_own_or_a_given_secret(helm: Helm) -> None:
    def volume(**values: Any) -> list[Document]:
        return [v["secret"] for v in helm.render(least(**values)).pod["volumes"] if v["name"] == "hash-key"]

    assert volume() == [{"secretName": "penstock-secret-hash-key", "optional": True}]
    given = {"existingSecret": "mine"}
    assert volume(secretHashKey=given) == [{"secretName": "mine", "optional": False}]
    assert volume(secrets={"watch": False}) == []


def test_no_template_makes_a_secret(rendered: Rendered) -> None:
    assert rendered.of("Secret") == []


def test_long_names_of_releases_fit(helm: Helm) -> None:
    rendered = helm.render(least(metrics={"podMonitor": {"enabled": True}}), release="r" * 53)
    assert all(
        len(d["metadata"]["name"]) <= 63 for d in rendered.documents if d["kind"] in ("Service", "Deployment", "Pod")
    )


def test_only_metrics_probes_the_webhook_and_for_operators_the_console_may_be_asked(
    helm: Helm, rendered: Rendered
) -> None:
    policy = rendered.one("NetworkPolicy")["spec"]
    assert policy["podSelector"]["matchLabels"] == rendered.one("Deployment")["spec"]["selector"]["matchLabels"]
    assert policy["policyTypes"] == ["Ingress"]
    ports = [rule["ports"] for rule in policy["ingress"]]
    assert ports == [[{"port": "probes"}], [{"port": "webhook"}], [{"port": "console"}], [{"port": "metrics"}]]
    assert policy["ingress"][2]["from"] == [{"podSelector": policy["podSelector"]}]
    who = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]
    values = least(networkPolicy={"metricsFrom": who}, webhook={"enabled": False}, console={"enabled": False})
    narrow = helm.render(values).one("NetworkPolicy")["spec"]["ingress"]
    assert "from" not in narrow[0]
    assert narrow[1]["from"][: len(who)] == who  # and the pod of `helm test`
    api_server = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    narrow = helm.render(least(webhook={"from": api_server})).one("NetworkPolicy")["spec"]["ingress"]
    assert narrow[1] == {"ports": [{"port": "webhook"}], "from": api_server}
    assert helm.render(least(networkPolicy={"enabled": False})).of("NetworkPolicy") == []
