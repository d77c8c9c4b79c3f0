"""Console of the chart: nobody in the cluster reaches it unless allowed, and it gives the operator no right by itself."""

from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock_operator.settings import Settings
from penstock_operator.web.access import SECRET_FILE
from penstock_operator.web.console import POD_IP_VARIABLE

from .rendering import NAMESPACE, Document, Helm, Refused, Rendered, least
from .test_network_policies import policies
from .test_rights import rights

PROXY = {"actions": {"enabled": True}, "proxy": {"secretName": "proxy"}}


def reached_by(rendered: Rendered) -> list[Document]:
    """Who may connect to the console's port."""
    (rule,) = [r for r in policies(rendered)[NAMESPACE]["ingress"] if r["ports"] == [{"port": "console"}]]
    found: list[Document] = rule["from"]
    return found


def test_by_default_no_pod_reaches_it_but_operators_of_the_release(rendered: Rendered) -> None:
    (own,) = reached_by(rendered)
    assert list(own) == ["podSelector"]
    labels = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert own["podSelector"]["matchLabels"].items() <= labels.items()


def test_those_who_are_named_reach_it(helm: Helm) -> None:
    who = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
    assert reached_by(helm.render(least(console={"from": [who]})))[1:] == [who]


def test_the_service_leads_to_every_operator(rendered: Rendered) -> None:
    """Those on standby pass connections on, so no label of the leader and no right to set it is needed."""
    spec = rendered.one("Service", "penstock-console")["spec"]
    assert spec["type"] == "ClusterIP"
    assert spec["selector"].items() <= rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"].items()
    assert spec["ports"] == [{"name": "http", "port": 8090, "targetPort": "console"}]
    container = rendered.pod["containers"][0]
    assert {"name": "console", "containerPort": 8090} in container["ports"]
    address = {"name": POD_IP_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert address in container["env"]


def test_operators_reach_each_other_where_outgoing_connections_are_limited(helm: Helm) -> None:
    kafka = [{"ports": [{"protocol": "TCP", "port": 9092}]}]
    rendered = helm.render(least(networkPolicy={"egress": {"enabled": True, "kafka": kafka}}))
    rules = policies(rendered)[NAMESPACE]["egress"]
    (own,) = [r for r in rules if {"protocol": "TCP", "port": "console"} in r["ports"]]
    labels = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert own["to"][0]["podSelector"]["matchLabels"].items() <= labels.items()
    assert not [
        r
        for r in policies(
            helm.render(least(console={"enabled": False}, networkPolicy={"egress": {"enabled": True, "kafka": kafka}}))
        )[NAMESPACE]["egress"]
        if {"protocol": "TCP", "port": "console"} in r["ports"]
    ]


@pytest.mark.parametrize("console", [{}, {"actions": {"enabled": True}}, {"requireUser": True}, {"enabled": False}])
@pytest.mark.parametrize("namespaces", [[], ["shop"]])
def test_users_with_tokens_need_no_right_of_the_operator(
    helm: Helm, console: dict[str, Any], namespaces: list[str]
) -> None:
    """Each question and each patch is sent with the user's own token."""
    off = helm.render(least(console={"enabled": False}, watchNamespaces=namespaces))
    on = helm.render(least(console=console, watchNamespaces=namespaces))
    assert rights(on) == rights(off)
    assert on.one("ValidatingAdmissionPolicy") == off.one("ValidatingAdmissionPolicy")


def test_for_users_of_a_proxy_the_operator_may_ask_and_change_only_what_actions_change(helm: Helm) -> None:
    rendered = helm.render(least(console=PROXY))
    assert rights(rendered)[None, "subjectaccessreviews"] == {"create"}
    assert {*rights(rendered)} - {*rights(helm.render(least()))} == {(None, "subjectaccessreviews")}
    validations = rendered.one("ValidatingAdmissionPolicy")["spec"]["validations"]
    assert [v["message"] for v in validations] == [
        "the operator may not change the spec of a Connector, except its state",
        "the operator may not change the annotations of a Connector, except Penstock's",
        "the operator may not change the labels of a Connector",
        "the operator may not change the ownerReferences of a Connector",
        "the operator may not change the finalizers of others",
    ]


def test_the_secret_of_the_proxy_is_mounted_and_read_nowhere_else(helm: Helm) -> None:
    rendered = helm.render(least(console=PROXY))
    (volume,) = [v for v in rendered.pod["volumes"] if v["name"] == "console-proxy"]
    assert volume["secret"]["secretName"] == "proxy"
    assert volume["secret"]["items"] == [{"key": "secret", "path": SECRET_FILE.name}]
    (mount,) = [m for m in rendered.pod["containers"][0]["volumeMounts"] if m["name"] == "console-proxy"]
    assert mount["mountPath"] == str(SECRET_FILE.parent)
    assert rendered.configuration["console"]["proxy"]["secretName"] == "proxy"


def test_without_the_console_nothing_of_it_is_installed(helm: Helm) -> None:
    rendered = helm.render(least(console={"enabled": False, **PROXY}))
    assert not [d for d in rendered.documents if "console" in str(d["metadata"]["name"])]
    container = rendered.pod["containers"][0]
    assert "console" not in [p["name"] for p in container["ports"]]
    assert POD_IP_VARIABLE not in [e["name"] for e in container["env"]]
    assert "console" not in str(policies(rendered))
    assert "console" not in str(rendered.pod["volumes"])
    assert not Settings.of(rendered.configuration).console.enabled


def test_the_operator_reads_what_the_chart_writes(helm: Helm) -> None:
    given = {"port": 8099, "requireUser": True, "hosts": ["penstock.example.com"], **PROXY}
    found = Settings.of(helm.render(least(console=given)).configuration).console
    assert (found.service, found.hosts) == ("penstock-console", ("penstock.example.com",))
    assert (found.enabled, found.port, found.require_user, found.actions.enabled) == (True, 8099, True, True)
    assert (found.proxy.secret_name, found.proxy.user_header) == ("proxy", "X-Forwarded-User")


@pytest.mark.parametrize("host", ["https://penstock.example.com", "penstock.example.com:443", "*", "", "-a", "a."])
def test_what_is_not_a_host_name_is_refused_by_chart_and_operator(helm: Helm, rendered: Rendered, host: str) -> None:
    with pytest.raises(Refused, match="hosts"):
        helm.render(least(console={"hosts": [host]}))
    with pytest.raises(ConfigError, match="hosts"):
        Settings.of({**rendered.configuration, "console": {"hosts": [host]}})
