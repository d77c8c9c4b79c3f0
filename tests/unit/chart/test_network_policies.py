"""Who may reach the operator's and connectors' pods, and what those may reach."""

from typing import Any

import pytest

from penstock_model.contracts import pod_layout
from penstock_operator import names

from .rendering import NAMESPACE, Document, Helm, Refused, Rendered, least

KAFKA: list[Document] = [
    {
        "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kafka"}}}],
        "ports": [{"protocol": "TCP", "port": 9093}],
    }
]
DATABASE: list[Document] = [
    {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"protocol": "TCP", "port": 5432}]}
]


def policies(rendered: Rendered) -> dict[str, Document]:
    """Their specs by namespace."""
    return {p["metadata"]["namespace"]: p["spec"] for p in rendered.of("NetworkPolicy")}


def closed(**egress: Any) -> Document:
    given = {"kafka": KAFKA, "connectors": DATABASE, **egress}
    return least(watchNamespaces=["shop"], networkPolicy={"egress": {"enabled": True, **given}})


def test_in_each_watched_namespace_only_who_reads_metrics_and_the_operator_get_into_connectors_pods(helm: Helm) -> None:
    who = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]
    rendered = helm.render(least(watchNamespaces=["shop", "audit"], networkPolicy={"metricsFrom": who}))
    found = policies(rendered)
    assert set(found) == {NAMESPACE, "shop", "audit"}
    operator = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    for namespace in ("shop", "audit"):
        assert found[namespace]["policyTypes"] == ["Ingress"]
        rule, *of_spark = found[namespace]["ingress"]
        assert rule["ports"] == [{"port": "metrics"}]
        assert [p["port"] for r in of_spark for p in r["ports"] if not p["port"].startswith("spark-")] == []
        *others, own = rule["from"]
        assert others == who
        assert own["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": NAMESPACE}
        assert own["podSelector"]["matchLabels"].items() <= operator.items()
    assert policies(helm.render(least(watchNamespaces=["shop"], networkPolicy={"enabled": False}))) == {}


def test_who_may_read_metrics_does_not_keep_the_charts_own_test_out(helm: Helm) -> None:
    who = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]
    rendered = helm.render(least(networkPolicy={"metricsFrom": who}))
    (pod,) = [p for p in rendered.of("Pod") if p["metadata"]["annotations"]["helm.sh/hook"] == "test"]
    (rule,) = [r for r in policies(rendered)[NAMESPACE]["ingress"] if r["ports"] == [{"port": "metrics"}]]
    (own,) = [f for f in rule["from"] if f not in who]
    assert list(own) == ["podSelector"]
    assert own["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    operator = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert not own["podSelector"]["matchLabels"].items() <= operator.items()


@pytest.mark.parametrize("role", ["task", "job", names.EXECUTOR])
def test_the_policy_is_about_all_pods_that_the_operator_makes_and_no_others(helm: Helm, role: str) -> None:
    rendered = helm.render(least(watchNamespaces=["shop"]))
    selected = policies(rendered)["shop"]["podSelector"]["matchLabels"]
    operator = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    made = names.labels(operator=f"{NAMESPACE}.penstock", connector="orders", uid="u", role=role, task=0)
    assert selected.items() <= made.items()
    assert not selected.items() <= operator.items()
    others = names.labels(operator="elsewhere.penstock", connector="orders", uid="u", role=role, task=0)
    assert not selected.items() <= others.items()


def test_the_open_port_is_the_one_with_the_metrics_of_tasks(helm: Helm) -> None:
    ports = [
        r["ports"] for r in policies(helm.render(least(watchNamespaces=["shop"])))["shop"]["ingress"] if "from" not in r
    ]
    assert ports == [[{"port": "metrics"}]]
    assert pod_layout.METRICS_PORT == 9404  # which docs/tenants.md names


def test_where_all_namespaces_are_watched_there_is_a_policy_only_for_the_operator(rendered: Rendered) -> None:
    assert set(policies(rendered)) == {NAMESPACE}


def test_what_may_be_reached_is_left_open_until_somebody_says_where_kafka_is(helm: Helm) -> None:
    for policy in policies(helm.render(least(watchNamespaces=["shop"]))).values():
        assert "egress" not in policy
    with pytest.raises(Refused, match=r"networkPolicy\.egress\.kafka is empty"):
        helm.template(closed(kafka=[]))


def test_closed_egress_leads_to_dns_and_kafka_and_each_pod_to_what_only_it_needs(helm: Helm) -> None:
    found = policies(helm.render(closed()))
    for policy in found.values():
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        ports = [{"protocol": p, "port": 53} for p in ("UDP", "TCP")]
        assert policy["egress"][0]["ports"] == ports
        assert policy["egress"][1:2] == KAFKA
    api_server: list[Document] = [{"ports": [{"protocol": "TCP", "port": p} for p in (443, 6443)]}]
    *leads, to_tasks, _ = found[NAMESPACE]["egress"][2:]  # the last one leads to the console of the other operators
    assert leads == api_server
    assert to_tasks["ports"] == [{"protocol": "TCP", "port": "metrics"}]
    (pods,) = to_tasks["to"]
    made = names.labels(operator=f"{NAMESPACE}.penstock", connector="orders", uid="u", role="task", task=0)
    assert pods["podSelector"]["matchLabels"].items() <= made.items()
    *others, of_spark = found["shop"]["egress"][2:]
    assert others == DATABASE
    assert [p["port"] for p in of_spark["ports"]] == ["spark-master", "spark-driver", "spark-blocks"]
    assert all("namespaceSelector" not in to for to in of_spark["to"])


def test_executors_reach_the_tasks_of_their_release_and_both_fetch_blocks_from_each_other(helm: Helm) -> None:
    _, from_executors, from_tasks = policies(helm.render(least(watchNamespaces=["shop"])))["shop"]["ingress"]

    def selects(rule: Document, role: str, release: str = "penstock") -> bool:
        made = names.labels(operator=f"{NAMESPACE}.{release}", connector="orders", uid="u", role=role, task=0)
        (source,) = rule["from"]
        return bool(source["podSelector"]["matchLabels"].items() <= made.items())

    assert [p["port"] for p in from_executors["ports"]] == ["spark-master", "spark-driver", "spark-blocks"]
    assert selects(from_executors, names.EXECUTOR)
    assert [p["port"] for p in from_tasks["ports"]] == ["spark-blocks"]
    assert selects(from_tasks, "task")
    for rule, role in ((from_executors, "task"), (from_executors, "job"), (from_tasks, names.EXECUTOR)):
        assert not selects(rule, role)
    assert not selects(from_executors, names.EXECUTOR, "other")


def test_connectors_reach_nothing_outside_and_no_api_server_unless_it_is_given(helm: Helm) -> None:
    found = policies(helm.render(closed(connectors=[])))["shop"]["egress"]
    assert found[1:-1] == KAFKA


def test_policies_of_two_releases_that_share_a_namespace_have_names_of_their_own(helm: Helm) -> None:
    names_ = {
        p["metadata"]["name"]
        for release in ("penstock", "other")
        for p in helm.render(least(watchNamespaces=["shop"]), release).of("NetworkPolicy")
        if p["metadata"]["namespace"] == "shop"
    }
    assert names_ == {f"{NAMESPACE}.penstock.connectors", f"{NAMESPACE}.other.connectors"}


@pytest.mark.parametrize(
    ("egress", "told"),
    [
        ({"kafka": [{"from": []}]}, "'from' not allowed"),
        ({"kafka": [{"ports": [{"port": 9092, "protocol": "tcp"}]}]}, "/networkPolicy/egress/kafka/0/ports/0/protocol"),
        ({"kafka": "kafka:9092"}, "/networkPolicy/egress/kafka"),
    ],
)
def test_a_rule_that_is_none_is_refused_at_its_place(helm: Helm, egress: Document, told: str) -> None:
    with pytest.raises(Refused) as refusal:
        helm.template(closed(**egress))
    assert told in str(refusal.value)
