"""What the dashboard and the alerts ask for is what the code measures."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from penstock_operator.metrics import STATES
from penstock_operator.settings import Settings

from .exposed import exposed
from .rendering import CHART, NAMESPACE, Helm, Rendered, least, names_in

Labels = dict[str, set[str]]


def samples(page: bytes) -> Labels:
    """Labels by sample."""
    found: Labels = {}
    for metric in text_string_to_metric_families(page.decode()):
        for sample in metric.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.fixture(scope="module")
def measured() -> Labels:
    """Every metric of the code, with its labels; those that Prometheus adds are there too."""
    found: Labels = {}
    for page in exposed().values():
        found.update(samples(page))
    return {name: labels | {"namespace", "pod"} for name, labels in found.items()}


def dashboard() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((CHART / "files" / "dashboards" / "penstock.json").read_text())
    return parsed


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> Iterator[str]:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["definition"]
    for rule in rules():
        yield rule["expr"]


def test_every_metric_that_is_asked_for_is_measured(measured: Labels) -> None:
    asked = {name for query in queries() for name in names_in(query)}
    assert len(asked) > 20
    assert asked - measured.keys() == set()


def test_every_label_that_is_matched_is_one_of_the_metric(measured: Labels) -> None:
    for query in queries():
        for name, matchers in re.findall(r"((?:penstock|kafka_connect)_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)\s*(?:=|!)", matchers)) <= measured[name], query
        for by in re.findall(r"by \(([^)]*)\)", query):
            known = set.union(*(measured[name] for name in names_in(query)))
            assert set(re.findall(r"\w+", by)) <= known, query


def test_every_state_that_is_asked_for_is_one() -> None:
    asked = {word for query in queries() for word in re.findall(r'penstock_connector_tasks\{state="(\w+)"', query)}
    assert asked
    assert asked <= set(STATES)


def test_alerts_say_how_bad_it_is_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["alert"].startswith("Penstock")
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"].keys() == {"summary", "description"}


def test_panels_have_numbers_and_places_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + dx, at["y"] + dy) for dx in range(at["w"]) for dy in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_nothing_needs_the_prometheus_operator_unless_it_is_asked_for(rendered: Rendered) -> None:
    assert {d["apiVersion"] for d in rendered.documents if "monitoring" in d["apiVersion"]} == set()
    assert [d for d in rendered.of("ConfigMap") if "dashboard" in d["metadata"]["name"]] == []


def test_monitors_find_the_operator_and_the_tasks_of_this_release(helm: Helm) -> None:
    on = {"enabled": True, "labels": {"release": "prometheus"}}
    rendered = helm.render(
        least(metrics={"serviceMonitor": on, "podMonitor": on, "alerts": on}, watchNamespaces=["shop"])
    )
    service = rendered.one("Service", "penstock-operator")
    monitor = rendered.one("ServiceMonitor")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["honorLabels"] is True
    tasks = rendered.one("PodMonitor")["spec"]
    assert tasks["namespaceSelector"] == {"matchNames": ["shop"]}
    assert tasks["podMetricsEndpoints"][0]["port"] == "metrics"
    assert tasks["selector"]["matchLabels"] == {
        "app.kubernetes.io/managed-by": "penstock",
        "penstock.dev/operator": f"{NAMESPACE}.penstock",
        "penstock.dev/role": "task",
    }
    assert rendered.one("PrometheusRule")["spec"]["groups"]
    for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule"):
        assert rendered.one(kind)["metadata"]["labels"]["release"] == "prometheus"
    everywhere = helm.render(least(metrics={"podMonitor": {"enabled": True}})).one("PodMonitor")
    assert everywhere["spec"]["namespaceSelector"] == {"any": True}


def test_the_dashboard_is_where_grafana_looks(helm: Helm) -> None:
    rendered = helm.render(least(metrics={"dashboard": {"enabled": True}}))
    found = rendered.one("ConfigMap", "penstock-dashboard")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(found["data"]["penstock.json"]) == dashboard()


def test_the_alerts_of_the_release_are_those_of_the_file(helm: Helm) -> None:
    rendered = helm.render(least(metrics={"alerts": {"enabled": True}}))
    found = [r for g in rendered.one("PrometheusRule")["spec"]["groups"] for r in g["rules"]]
    absent = next(r for r in found if r["alert"] == "PenstockOperatorAbsent")
    assert absent["expr"] == f'absent(penstock_operator_build_info{{release="{NAMESPACE}.penstock"}})'
    absent["expr"] = "absent(penstock_operator_build_info)"
    assert found == rules()


@pytest.mark.parametrize("release", ["penstock", "r" * 47, "r" * 48, "r" * 53])
def test_tasks_are_found_by_the_label_that_the_operator_gives_them(helm: Helm, release: str, tmp_path: Path) -> None:
    values = least(metrics={"podMonitor": {"enabled": True}}, fullnameOverride="penstock")
    rendered = helm.render(values, release)
    label = rendered.one("PodMonitor")["spec"]["selector"]["matchLabels"]["penstock.dev/operator"]
    assert label == Settings.of(rendered.configuration, tmp_path).release.label
    assert len(label) <= 63
