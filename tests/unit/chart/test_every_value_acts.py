"""Every value of the chart changes what is installed, or is refused with the reason."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from .rendering import CHART, Helm, Refused, least

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
WHOLE = ("resources", "podSecurityContext", "securityContext")
"""Given on as they are: one field of them stands for all."""
EVERYTHING: dict[str, Any] = {
    "metrics": {
        "serviceMonitor": {"enabled": True},
        "podMonitor": {"enabled": True},
        "alerts": {"enabled": True},
        "dashboard": {"enabled": True},
    },
    "argoCD": {"configMap": True},
    "webhook": {"certManager": {"enabled": True}},
    "watchNamespaces": ["billing"],
    "networkPolicy": {"egress": {"enabled": True, "kafka": [{"ports": [{"port": 9092}]}]}},
}
"""What must be switched on for its own values to matter."""
OTHERS: Mapping[str, Any] = {
    "worker": {"group.id": "other"},
    "workerSecretName": "kafka-client",
    "watchNamespaces": ["shop"],
    "allowedConnectNames": ["shop/orders"],
    "images.operator.digest": f"sha256:{'0' * 64}",
    "images.runtime.digest": f"sha256:{'0' * 64}",
    "images.pullPolicy": "Always",
    "images.pullSecrets": ["mine"],
    "secretHashKey.existingSecret": "mine",
    "job.resources": {"limits": {"memory": "1Gi"}},
    "task.resources": {"limits": {"memory": "1Gi"}},
    "operator.resources": {"limits": {"memory": "1Gi"}},
    "task.podSecurityContext": {"fsGroup": 1},
    "task.securityContext": {"readOnlyRootFilesystem": False},
    "operator.podSecurityContext": {"fsGroup": 1},
    "operator.securityContext": {"readOnlyRootFilesystem": False},
    "logLevel": "DEBUG",
    "rollout.maxUnavailable": "20%",
    "podSecurity.level": "Baseline",
    "operator.podLabels": {"a": "b"},
    "operator.podAnnotations": {"a": "b"},
    "operator.env": [{"name": "A", "value": "b"}],
    "operator.nodeSelector": {"a": "b"},
    "operator.tolerations": [{"operator": "Exists"}],
    "operator.affinity": {"podAffinity": {}},
    "operator.temporarySize": "1Mi",
    "task.temporarySize": "1Gi",
    "serviceAccount.annotations": {"a": "b"},
    "metrics.service.annotations": {"a": "b"},
    "metrics.serviceMonitor.interval": "1m",
    "metrics.podMonitor.interval": "1m",
    "metrics.serviceMonitor.labels": {"a": "b"},
    "metrics.podMonitor.labels": {"a": "b"},
    "metrics.alerts.labels": {"a": "b"},
    "metrics.dashboard.labels": {"a": "b"},
    "metrics.dashboard.annotations": {"a": "b"},
    "networkPolicy.metricsFrom": [{"podSelector": {}}],
    "networkPolicy.egress.enabled": False,
    **{
        f"networkPolicy.egress.{rules}": [{"ports": [{"port": 1}]}]
        for rules in ("kafka", "dns", "apiServer", "connectors")
    },
    "webhook.from": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
    "webhook.unknownProperties": "Warn",
    "webhook.certManager.issuerRef": {"name": "mine"},
    "console.from": [{"podSelector": {}}],
    "console.hosts": ["penstock.example.com"],
    "plugins.mount": "InitContainer",
    "plugins.sharedNamespaces": ["shop"],
}
"""Other values than the chart's, where one more, one letter more or the opposite will not do."""
REFUSED = {"plugins.sharedNamespaces"}


def leaves(values: Any, path: str = "") -> Iterator[str]:
    """Every value that is set by itself."""
    name = path.rpartition(".")[2]
    if not isinstance(values, dict) or not values or name in WHOLE or path == "worker" or name == "labels":
        yield path
        return
    for inner, value in values.items():
        yield from leaves(value, f"{path}.{inner}" if path else inner)


def value_of(path: str) -> Any:
    found: Any = VALUES
    for part in path.split("."):
        found = found[part]
    return found


def other(path: str) -> Any:
    """A value that is not the chart's."""
    if path in OTHERS:
        return OTHERS[path]
    value = value_of(path)
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


def changed(path: str, over: Mapping[str, Any]) -> dict[str, Any]:
    """These values, and that one changed."""
    found: dict[str, Any] = yaml.safe_load(yaml.safe_dump(over))
    *groups, name = path.split(".")
    node = found
    for group in groups:
        node = node.setdefault(group, {})
    node[name] = other(path)
    return least(**found)


@pytest.fixture(scope="module")
def before(helm_program: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """With everything switched on, and with the chart's own values."""
    helm = Helm(helm_program, tmp_path_factory.mktemp("before"))
    return helm.template(least(**EVERYTHING)), helm.template(least())


@pytest.mark.parametrize("path", list(leaves(VALUES)))
def test_a_value_changes_what_is_installed_or_is_refused_with_the_reason(
    helm: Helm, before: tuple[str, str], path: str
) -> None:
    if path in REFUSED:
        with pytest.raises(Refused, match=rf"{path} must be .*: .* in this release; "):
            helm.template(changed(path, EVERYTHING))
    else:
        assert helm.template(changed(path, {})) != before[1] or helm.template(changed(path, EVERYTHING)) != before[0], (
            "nothing changes"
        )


def test_what_is_tried_is_a_value_of_the_chart() -> None:
    assert {*OTHERS, *REFUSED} <= set(leaves(VALUES))
    assert "dummy.value" in set(leaves({"dummy": {"value": 1}}))


def test_a_value_that_no_template_reads_would_be_found(helm: Helm, before: tuple[str, str]) -> None:
    assert helm.template(least(**EVERYTHING, **{"global": {"dummy": True}})) == before[0]
