"""What values the chart takes, and what becomes of them in the operator's configuration."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.errors import Problem
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.connect.worker_warnings import warnings
from penstock_operator.settings import Settings

from .rendering import CHART, ROOT, Helm, Refused, Rendered, least

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


def settings_of(rendered: Rendered, secrets: Path) -> Settings:
    return Settings.of(rendered.configuration, secrets)


def test_the_operator_reads_what_the_chart_writes(rendered: Rendered, tmp_path: Path) -> None:
    settings = settings_of(rendered, tmp_path)
    assert (settings.release.name, settings.release.namespace) == ("penstock", "penstock-system")
    assert settings.at_start.warnings == ()


def test_the_charts_defaults_are_the_operators(rendered: Rendered, tmp_path: Path) -> None:
    least_of_all = {
        "release": {"name": "penstock", "namespace": "penstock-system", "serviceAccount": "penstock-operator"},
        "worker": {"bootstrap.servers": "kafka:9092"},
        "images": {"runtime": "penstock-runtime:0.1.0"},
        "webhook": {
            "enabled": True,
            "service": "penstock-webhook",
            "configuration": "penstock-operator.penstock-system.penstock.dev",
        },
        "console": {"enabled": True, "service": "penstock-console"},
    }
    ours = settings_of(rendered, tmp_path).model_dump()
    theirs = Settings.of(least_of_all, tmp_path).model_dump()
    assert {**ours, "worker": {}} == {**theirs, "worker": {}}


@pytest.mark.parametrize("most", [3, 1_000_000, "25%"])
def test_the_pace_of_a_rollout_reaches_the_operator(helm: Helm, tmp_path: Path, most: int | str) -> None:
    rendered = helm.render(least(rollout={"maxUnavailable": most}))
    assert settings_of(rendered, tmp_path).rollout.max_unavailable == most


def test_the_worker_properties_that_are_spelled_out_have_the_defaults_of_the_worker() -> None:
    known = {p.name: p.default for p in WorkerConfig.properties()}
    spelled_out = {n: v for n, v in VALUES["worker"].items() if n in known and n != "bootstrap.servers"}
    assert spelled_out == {n: known[n] for n in spelled_out}
    assert set(VALUES["worker"]) - set(known) == {"security.protocol"}


def test_a_missing_bootstrap_servers_is_reported_in_words(helm: Helm) -> None:
    for worker in ({}, {"bootstrap.servers": "  "}, {"bootstrap.servers": None}):
        with pytest.raises(Refused, match=r"worker has no bootstrap\.servers: set it to host:port pairs of your Kafka"):
            helm.template({"worker": worker})


def test_numbers_and_booleans_become_texts_without_an_exponent(helm: Helm) -> None:
    text = """
worker:
  bootstrap.servers: kafka:9092
  offset.flush.interval.ms: 1000000
  consumer.fetch.max.bytes: 1234567890123
  producer.delivery.timeout.ms: 9007199254740991
  admin.some.share: 0.000001
  admin.some.text: "1e6"
  admin.some.offset: -5
  topic.creation.enable: false
  errors.tolerance: null
"""
    worker = helm.render(text).configuration["worker"]
    assert {
        n: worker[n] for n in worker if n.startswith(("admin", "consumer", "producer", "offset.fl", "topic.c"))
    } == {
        "admin.some.offset": "-5",
        "admin.some.share": "0.000001",
        "admin.some.text": "1e6",
        "consumer.fetch.max.bytes": "1234567890123",
        "offset.flush.interval.ms": "1000000",
        "offset.flush.timeout.ms": "5000",
        "producer.delivery.timeout.ms": "9007199254740991",
        "topic.creation.enable": "false",
    }
    assert "errors.tolerance" not in worker
    assert all(isinstance(value, str) for value in worker.values())


def test_a_number_that_yaml_would_round_is_refused(helm: Helm) -> None:
    with pytest.raises(Refused, match=r"worker\.admin\.n is too large for a YAML number; write it in quotes"):
        helm.template("worker: {bootstrap.servers: k, admin.n: 9223372036854775807}")
    quoted = helm.render('worker: {bootstrap.servers: k, admin.n: "9223372036854775807"}')
    assert quoted.configuration["worker"]["admin.n"] == "9223372036854775807"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"wroker": {}}, "'wroker' not allowed"),
        ({"worker": {"grup.id": "x"}}, "'grup.id' not allowed"),
        ({"worker": {"errors.toleranz": "all"}}, "'errors.toleranz' not allowed"),
        ({"worker": {"group.id": {"a": 1}}}, "/worker/group.id"),
        ({"worker": {"producer.acks": ["all"]}}, "/worker/producer.acks"),
        ({"worker": {"topic.creation.enable": "yes"}}, "/worker/topic.creation.enable"),
        ({"worker": {"offset.storage.partitions": "many"}}, "/worker/offset.storage.partitions"),
        ({"watchNamespaces": "shop"}, "/watchNamespaces"),
        ({"watchNamespaces": ["Shop"]}, "/watchNamespaces/0"),
        ({"images": {"runtime": {"digest": "sha256:12"}}}, "/images/runtime/digest"),
        ({"images": {"pullPolicy": "Sometimes"}}, "/images/pullPolicy"),
        ({"job": {"resources": {"request": {}}}}, "'request' not allowed"),
        ({"task": {"resources": {"limits": {"memory": "2GB"}}}}, "/task/resources/limits/memory"),
        ({"rollout": {"maxUnavailable": "0%"}}, "/rollout/maxUnavailable"),
        ({"rollout": {"maxUnavailable": 0}}, "/rollout/maxUnavailable"),
        ({"logLevel": "debug"}, "/logLevel"),
        ({"podSecurity": {"level": "Privileged"}}, "/podSecurity/level"),
        ({"task": {"podSecurityContext": {"runAsUsr": 1}}}, "'runAsUsr' not allowed"),
        ({"operator": {"securityContext": {"privileged": True}}}, "'privileged' not allowed"),
        ({"crds": {"instal": True}}, "'instal' not allowed"),
    ],
)
def test_a_typing_error_is_refused_at_its_place(helm: Helm, values: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused) as refusal:
        helm.template(least(**values))
    assert told in str(refusal.value)


def test_every_object_of_the_schema_is_closed() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    kubernetes_own = ("env.items.valueFrom", "operator.tolerations", "operator.affinity", "peer.")

    def open_objects(node: Any, path: str) -> Iterator[str]:
        if isinstance(node, dict):
            if node.get("type") == "object" and "additionalProperties" not in node:
                yield path
            for key, value in node.items():
                yield from open_objects(value, path if key in ("properties", "definitions") else f"{path}.{key}")

    found = [p for p in open_objects(schema, "") if not any(own in p for own in kubernetes_own)]
    assert found == [".global"]


def test_every_value_of_the_chart_is_in_the_schema_and_the_other_way_round() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())

    def leaves(node: Mapping[str, Any], path: str = "") -> Iterator[str]:
        node = schema["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        properties = node.get("properties") if path != ".worker" else None
        if not properties:
            yield path
        for name, inner in (properties or {}).items():
            yield from leaves(inner, f"{path}.{name}")

    def paths(node: Any, path: str = "") -> Iterator[str]:
        if not isinstance(node, dict) or not node or path in known:
            yield path
            return
        for name, inner in node.items():
            yield from paths(inner, f"{path}.{name}")

    known = set(leaves(schema)) - {".global"}
    depth = {
        p
        for p in known
        if p.startswith((".operator.affinity", ".job.resources", ".task.resources", ".operator.res"))
        or "ecurityContext." in p
    }
    assert {p for p in paths(VALUES) if not p.startswith(tuple(depth))} - {".operator.affinity"} == known - depth


@pytest.mark.parametrize(
    "name",
    [
        "listeners",
        "rest.port",
        "config.storage.topic",
        "plugin.path",
        "producer.acks",
        "offset.storage.min.isr",
        "value.converter.plugin.version",
        "ssl.truststore.location",
        "errors.toleranz",
        "grup.id",
        "produser.acks",
    ],
)
def test_the_schema_refuses_what_the_worker_would_not_know(helm: Helm, name: str) -> None:
    known = frozenset(p.name for p in WorkerConfig.properties())
    unknown: list[Problem] = [w for w in warnings({name: "1"}, known) if "is unknown" in w.message]
    if unknown:
        with pytest.raises(Refused, match=name):
            helm.template(least(worker={name: "1"}))
    else:
        helm.template(least(worker={name: "1"}))


def test_the_worker_configuration_has_one_secret(helm: Helm) -> None:
    worker = {"sasl.jaas.config": "${secret:kafka-client:jaas}"}
    with pytest.raises(Refused, match=r'worker\.sasl\.jaas\.config refers to Secret "kafka-client"'):
        helm.template(least(worker=worker))
    with pytest.raises(Refused, match=r'workerSecretName is "other"'):
        helm.template(least(worker=worker, workerSecretName="other"))
    rendered = helm.render(least(worker=worker, workerSecretName="kafka-client"))
    mounts = {m["mountPath"]: m for m in rendered.pod["containers"][0]["volumeMounts"]}
    assert "subPath" not in mounts["/etc/penstock/secrets/kafka-client"]
    assert {"name": "worker-secret", "secret": {"secretName": "kafka-client"}} in rendered.pod["volumes"]
    assert rendered.configuration["worker"]["sasl.jaas.config"] == "${secret:kafka-client:jaas}"


def test_the_generated_files_of_the_chart_are_up_to_date() -> None:
    script = ROOT / "scripts" / "generate-chart"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_chart_has_the_version_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["version"] == chart["appVersion"] == project["version"]


def test_users_and_groups_are_left_to_a_cluster_that_deals_them_out(helm: Helm, tmp_path: Path) -> None:
    ours = {"podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}}
    rendered = helm.render(least(task=ours, operator=ours))
    assert rendered.pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert rendered.one("Pod")["spec"]["securityContext"] == rendered.pod["securityContext"]
    assert settings_of(rendered, tmp_path).task.pod_security_context == rendered.pod["securityContext"]


def test_a_large_number_of_a_user_keeps_its_digits(helm: Helm, tmp_path: Path) -> None:
    rendered = helm.render(
        least(task={"podSecurityContext": {"runAsUser": 1000770000}}, podSecurity={"level": "Baseline"})
    )
    settings = settings_of(rendered, tmp_path)
    assert settings.task.pod_security_context["runAsUser"] == 1000770000
    assert isinstance(settings.task.pod_security_context["runAsUser"], int)
    assert settings.pod_security.level == "Baseline"


def test_lint_has_nothing_to_say(helm: Helm) -> None:
    for values in ([], ["--set", r"worker.bootstrap\.servers=kafka:9092"]):
        helm.run("lint", "--strict", str(CHART), *values)
