"""The API server as the operator sees it: each answer is what was asked, or an error that says what follows."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.errors import ConfigError
from penstock_operator.connector.render.status import is_unchanged
from penstock_operator.errors import Conflict, NotYet, Refused, Unavailable
from penstock_operator.kubernetes import client as module
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR, EVENT, NAMESPACE, POD, Kind
from penstock_operator.metrics import Metrics

from ..cluster_api.api import Api
from ..ports import free_port
from .faults import FaultProxy, cut, drop, fail, slow

NOTHING = Kind("penstock.dev/v1alpha1", "Nothing", "nothings")


def config_map(namespace: str, name: str, **data: str) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name, "labels": {"app.kubernetes.io/managed-by": "penstock"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def connector(namespace: str, name: str = "orders-in") -> dict[str, Any]:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"class": "FileStreamSource", "config": {"file": "/data/x", "topic": "orders"}},
    }


def pod(namespace: str, name: str = "orders-in-0-1") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"containers": [{"name": "task", "image": "none:0"}], "automountServiceAccountToken": False},
    }


def running(kind: str, **more: Any) -> dict[str, Any]:
    return {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": kind,
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
        **more,
    }


def test_an_object_is_made_once_read_and_deleted(kube: Kube, namespace: str) -> None:
    assert kube.get(CONFIG_MAP, namespace, "a") is None
    made = kube.create(config_map(namespace, "a", x="1"))
    assert made is not None
    assert kube.create(config_map(namespace, "a", x="2")) is None
    found = kube.get(CONFIG_MAP, namespace, "a")
    assert found is not None
    assert (found["data"], found["kind"], found["apiVersion"]) == ({"x": "1"}, "ConfigMap", "v1")
    assert kube.delete(CONFIG_MAP, namespace, "a")
    assert not kube.delete(CONFIG_MAP, namespace, "a")


def test_a_list_is_read_page_by_page_and_names_its_kind(
    kube: Kube, namespace: str, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        kube.create(config_map(namespace, f"c{n}"))
    monkeypatch.setattr(module, "_PAGE", 2)
    found = kube.list(CONFIG_MAP, namespace, labels={"app.kubernetes.io/managed-by": "penstock"})
    assert [f["metadata"]["name"] for f in found] == [f"c{n}" for n in range(5)]
    assert {(f["kind"], f["apiVersion"]) for f in found} == {("ConfigMap", "v1")}
    assert metrics.requests()["list", "ConfigMap", "200"] == 3
    first = kube.list(CONFIG_MAP, namespace, labels={"app.kubernetes.io/managed-by": "penstock"}, most=3)
    assert [f["metadata"]["name"] for f in first] == ["c0", "c1", "c2"]
    assert metrics.requests()["list", "ConfigMap", "200"] == 5
    assert kube.list(CONFIG_MAP, namespace, fields="metadata.name=c3")[0]["metadata"]["name"] == "c3"
    assert kube.list(POD, namespace) == []
    assert isinstance(kube.list(CONFIG_MAP, None), list)


def test_a_list_without_bodies_holds_only_the_metadata(
    kube: Kube, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        kube.create(config_map(namespace, f"c{n}", x="1"))
    monkeypatch.setattr(module, "_PAGE", 2)
    found = kube.list(CONFIG_MAP, namespace, labels={"app.kubernetes.io/managed-by": "penstock"}, bodies=False)
    assert [set(f) for f in found] == [{"apiVersion", "kind", "metadata"}] * 3
    assert [(f["kind"], f["apiVersion"], f["metadata"]["name"]) for f in found] == [
        ("ConfigMap", "v1", f"c{n}") for n in range(3)
    ]
    assert all(f["metadata"]["uid"] for f in found)


def test_a_list_whose_rest_has_expired_is_read_again(
    spoilt: Kube, faults: FaultProxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        spoilt.create(config_map(namespace, f"c{n}"))
    monkeypatch.setattr(module, "_PAGE", 2)
    rule = faults.spoil(fail(410, reason="Expired"), path="continue=")
    assert len(spoilt.list(CONFIG_MAP, namespace, labels={"app.kubernetes.io/managed-by": "penstock"})) == 5
    assert rule.hits == 1
    faults.spoil(fail(410, reason="Expired"), path="continue=", times=None)
    with pytest.raises(Unavailable, match="faster than it could be read"):
        spoilt.list(CONFIG_MAP, namespace)


def test_a_replacement_of_what_was_changed_since_is_a_conflict(kube: Kube, namespace: str) -> None:
    read = kube.create(config_map(namespace, "a", x="1"))
    assert read is not None
    assert kube.replace({**read, "data": {"x": "2"}}) is not None
    with pytest.raises(Conflict):
        kube.replace({**read, "data": {"x": "3"}})
    kube.delete(CONFIG_MAP, namespace, "a")
    read["metadata"].pop("resourceVersion")
    read["metadata"].pop("uid")
    assert kube.replace(read) is None


def test_status_is_applied_to_the_object_that_was_meant_and_to_no_other(kube: Kube, namespace: str) -> None:
    made = kube.create(connector(namespace))
    assert made is not None
    uid = made["metadata"]["uid"]
    status = running("Running", observedGeneration=1)
    found = kube.apply_status(CONNECTOR, namespace, "orders-in", status, uid=uid, manager="penstock")
    assert found is not None
    assert found["status"]["observedGeneration"] == 1
    assert found["metadata"]["generation"] == 1
    assert kube.apply_status(CONNECTOR, namespace, "orders-in", status, uid="another", manager="penstock") is None
    kube.delete(CONNECTOR, namespace, "orders-in")
    assert kube.apply_status(CONNECTOR, namespace, "orders-in", status, uid=uid, manager="penstock") is None
    assert kube.get(CONNECTOR, namespace, "orders-in") is None


def test_a_status_is_not_written_to_an_object_that_took_the_name_meanwhile(kube: Kube, namespace: str) -> None:
    old = kube.create(connector(namespace))
    assert old is not None
    kube.delete(CONNECTOR, namespace, "orders-in")
    kube.create(connector(namespace))
    uid, version = old["metadata"]["uid"], old["metadata"]["resourceVersion"]
    written = kube.apply_status(
        CONNECTOR, namespace, "orders-in", running("Running"), uid=uid, manager="penstock", resource_version=version
    )
    assert written is None
    found = kube.get(CONNECTOR, namespace, "orders-in")
    assert found is not None
    assert "conditions" not in found["status"]


def test_a_status_is_written_over_what_changed_since_it_was_read(
    kube: Kube, api: Api, namespace: str, metrics: Metrics
) -> None:
    made = kube.create(connector(namespace))
    assert made is not None
    meta = made["metadata"]

    def write() -> object:
        return kube.apply_status(
            CONNECTOR,
            namespace,
            "orders-in",
            running("Running"),
            uid=meta["uid"],
            manager="penstock",
            resource_version=meta["resourceVersion"],
        )

    api.merge(made, {"metadata": {"labels": {"team": "a"}}})
    assert write() is not None
    requests = metrics.requests()
    assert requests["apply", "Connector", "409"] == requests["get", "Connector", "200"] == 1
    assert requests["apply", "Connector", "200"] == 1


@pytest.mark.parametrize("how", ["applied", "updated"])
def test_a_condition_of_another_controller_stays_and_what_a_restore_left_goes(
    kube: Kube, api: Api, namespace: str, how: str
) -> None:
    made = kube.create(connector(namespace))
    assert made is not None
    uid = made["metadata"]["uid"]
    own: dict[str, Any] = running("Running", state="Running")
    (ready,) = own["conditions"]
    theirs, old = {**ready, "type": "example.com/Audited"}, {**ready, "type": "Lagging"}
    stalled = {**ready, "type": "Stalled", "status": "False"}
    own["conditions"].append(stalled)

    def write(status: dict[str, Any]) -> dict[str, Any]:
        found = kube.apply_status(CONNECTOR, namespace, "orders-in", status, uid=uid, manager="penstock")
        assert found is not None
        stored: dict[str, Any] = found["status"]
        return stored

    write(own)
    if how == "applied":
        manifest = {n: v for n, v in connector(namespace).items() if n != "spec"}
        api.apply({**manifest, "status": {"conditions": [theirs]}}, manager="auditor", part="status")
    else:
        found = api.merge(made, {"status": {"conditions": [theirs, *own["conditions"]]}}, "status")
        assert len(found["status"]["conditions"]) == 3
    assert is_unchanged(own, write(own))
    api.merge(made, {"status": {"operatorState": {}, "conditions": [theirs, old, stalled, ready]}}, "status")
    changed: dict[str, Any] = {"state": "Failed", "conditions": [{**ready, "status": "False"}, stalled]}
    stored = write(changed)
    assert theirs in stored["conditions"]
    assert is_unchanged(changed, stored)
    if how == "applied":
        gone = api.apply({**manifest, "status": {}}, manager="auditor", part="status")
        assert {c["type"] for c in gone["status"]["conditions"]} == {"Ready", "Stalled"}


def test_only_the_object_of_that_uid_is_deleted(kube: Kube, namespace: str) -> None:
    made = kube.create(pod(namespace))
    assert made is not None
    assert not kube.delete(POD, namespace, "orders-in-0-1", uid="another")
    assert kube.get(POD, namespace, "orders-in-0-1") is not None
    assert kube.delete(POD, namespace, "orders-in-0-1", uid=made["metadata"]["uid"])
    assert kube.get(POD, namespace, "orders-in-0-1") is None


def test_finalizers_are_replaced_only_as_they_were_read(kube: Kube, namespace: str) -> None:
    made = kube.create(connector(namespace))
    assert made is not None

    def put(version: str, *names: str) -> bool:
        return kube.finalizers(CONNECTOR, namespace, "orders-in", names, resource_version=version)

    old = made["metadata"]["resourceVersion"]
    assert put(old, "penstock.dev/offsets")
    assert not put(old)
    found = kube.get(CONNECTOR, namespace, "orders-in")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["penstock.dev/offsets"]
    assert put(found["metadata"]["resourceVersion"])
    assert not kube.finalizers(CONNECTOR, namespace, "gone", [], resource_version="1")


def test_what_the_server_refuses_comes_with_its_own_sentence(kube: Kube, namespace: str) -> None:
    wrong = {**pod(namespace), "spec": {"containers": []}}
    with pytest.raises(Refused, match=r"Creating Pod .*: .*spec.containers: Required value") as caught:
        kube.create(wrong)
    assert (caught.value.status, caught.value.reason) == (422, "Invalid")


def test_a_namespace_that_is_not_there_refuses_and_is_no_answer_to_a_read(kube: Kube) -> None:
    with pytest.raises(Refused, match="not found"):
        kube.create(config_map("no-such-namespace", "a"))
    assert kube.get(CONFIG_MAP, "no-such-namespace", "a") is None
    assert kube.list(CONFIG_MAP, "no-such-namespace") == []


def test_a_namespace_that_ends_is_recognized(kube: Kube, api: Api, namespace: str) -> None:
    held = config_map(namespace, "held")
    held["metadata"]["finalizers"] = ["penstock.dev/test"]
    kube.create(held)
    api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    try:
        with pytest.raises(Refused) as caught:
            kube.create(config_map(namespace, "late"))
        assert caught.value.namespace_ends
    finally:
        found = kube.get(CONFIG_MAP, namespace, "held")
        assert found is not None
        kube.finalizers(CONFIG_MAP, namespace, "held", [], resource_version=found["metadata"]["resourceVersion"])


def test_a_used_up_quota_is_recognized(kube: Kube, api: Api, namespace: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"namespace": namespace, "name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }
    api.create(quota)
    api.merge(quota, {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}, "status")
    refused = _refused_soon(lambda: kube.create(pod(namespace)))
    assert refused.over_quota
    assert "exceeded quota: none" in refused.answer


def _refused_soon(act: Callable[[], object]) -> Refused:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            act()
        except Refused as e:
            if e.over_quota:
                return e
        time.sleep(0.2)  # until the admission plugin has seen the quota
    raise AssertionError("never refused")


def test_pod_security_refuses_with_its_reason(kube: Kube, api: Api, namespace: str) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    api.merge(space, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    with pytest.raises(Refused, match='violates PodSecurity "restricted:latest"'):
        kube.create(pod(namespace))


def test_a_kind_that_is_not_installed_is_reported(kube: Kube, namespace: str) -> None:
    assert kube.serves(CONNECTOR)
    assert kube.serves(POD)
    assert not kube.serves(NOTHING)
    assert not kube.serves(Kind("nowhere.dev/v1", "Nothing", "nothings"))
    for act in (lambda: kube.get(NOTHING, namespace, "a"), lambda: kube.list(NOTHING, namespace)):
        with pytest.raises(Unavailable, match="install the CRDs"):
            act()


def test_kinds_without_a_namespace_are_read(kube: Kube) -> None:
    assert kube.get(NAMESPACE, None, "no-such-namespace") is None
    assert isinstance(kube.list(NAMESPACE, None), list)


def test_the_log_of_a_pod_that_has_not_begun_or_is_gone_is_empty(kube: Kube, namespace: str) -> None:
    kube.create(pod(namespace))
    assert kube.log(namespace, "orders-in-0-1", "task", limit_bytes=1000) == ""
    assert kube.log(namespace, "gone-0-1", "task", limit_bytes=1000) == ""


def test_the_log_of_a_container_that_waits_is_not_there_yet(spoilt: Kube, faults: FaultProxy, namespace: str) -> None:
    faults.spoil(fail(400, reason="BadRequest", message='container "task" is waiting to start: ContainerCreating'))
    with pytest.raises(NotYet, match="waiting to start"):
        spoilt.log(namespace, "orders-in-0-1", "task", limit_bytes=1000)


def test_an_event_is_reported_once_and_refers_to_its_object(kube: Kube, namespace: str) -> None:
    made = kube.create(connector(namespace))
    assert made is not None
    for _ in range(3):
        kube.event(made, type_="Warning", reason="TaskFailed", message="x" * 3_000, action="Restarting")
    kube.event(made, type_="Normal", reason="Running", message="all tasks run", action="Reconciling")
    found = {e["reason"]: e for e in kube.list(EVENT, namespace)}
    assert sorted(found) == ["Running", "TaskFailed"]
    assert found["TaskFailed"]["regarding"]["uid"] == made["metadata"]["uid"]
    assert len(found["TaskFailed"]["note"]) <= 1_024
    assert found["Running"]["reportingController"] == "penstock-operator"
    warnings = kube.list(EVENT, namespace, fields="regarding.kind=Connector,type=Warning")
    assert [e["reason"] for e in warnings] == ["TaskFailed"]
    assert not kube.list(EVENT, namespace, fields="regarding.kind=Pod,type=Warning")


def test_an_event_that_cannot_be_written_fails_nobody_and_is_reported_later(
    spoilt: Kube, faults: FaultProxy, namespace: str
) -> None:
    made = spoilt.create(connector(namespace))
    assert made is not None
    faults.spoil(fail(500), path="/events")
    for _ in range(2):
        spoilt.event(made, type_="Normal", reason="Running", message="all tasks run", action="Reconciling")
    assert len(spoilt.list(EVENT, namespace)) == 1


def test_patience_that_the_server_asks_for_is_passed_on(spoilt: Kube, faults: FaultProxy, namespace: str) -> None:
    faults.spoil(fail(429, retry_after=7))
    with pytest.raises(NotYet) as caught:
        spoilt.get(CONFIG_MAP, namespace, "a")
    assert caught.value.retry_after == 7.0
    assert len(faults.asked) == 1


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_server_in_trouble_is_unavailable_and_asked_once(
    spoilt: Kube, faults: FaultProxy, namespace: str, code: int
) -> None:
    faults.spoil(fail(code))
    with pytest.raises(Unavailable, match="injected"):
        spoilt.create(config_map(namespace, "a"))
    assert [a.code for a in faults.asked] == [code]


def test_a_read_survives_a_connection_that_was_closed_while_idle(
    spoilt: Kube, faults: FaultProxy, namespace: str
) -> None:
    spoilt.get(CONFIG_MAP, namespace, "a")
    faults.spoil(drop())
    assert spoilt.get(CONFIG_MAP, namespace, "a") is None


def test_a_write_whose_answer_was_lost_is_not_written_twice(spoilt: Kube, faults: FaultProxy, namespace: str) -> None:
    faults.spoil(cut(), method="POST")
    with pytest.raises(Unavailable):
        spoilt.create(config_map(namespace, "a"))
    assert len(faults.writes()) == 1
    assert spoilt.create(config_map(namespace, "a")) is None


def test_a_server_that_does_not_answer_is_given_up(spoilt: Kube, faults: FaultProxy, namespace: str) -> None:
    faults.spoil(slow(30), times=None)
    with pytest.raises(Unavailable, match="no answer from"):  # and no answer, which would have come later
        spoilt.create(config_map(namespace, "a"))


def test_a_server_that_is_unavailable_is_reported_without_urllib_s_layers(tmp_path: Path, metrics: Metrics) -> None:
    port = free_port()
    away = Kube.connect(kubeconfig=_kubeconfig(tmp_path, f"http://127.0.0.1:{port}"), on_request=metrics.requested)
    with pytest.raises(Unavailable) as caught:
        away.get(CONFIG_MAP, "shop", "a")
    assert str(caught.value) == (
        f"Reading ConfigMap shop/a: no answer from http://127.0.0.1:{port}: [Errno 111] Connection refused"
    )
    assert metrics.requests() == {("get", "ConfigMap", "0"): 1}
    away.close()


def test_credentials_that_are_not_accepted_are_no_fault_of_the_user(spoilt: Kube, faults: FaultProxy) -> None:
    faults.spoil(fail(401, reason="Unauthorized", message="Unauthorized"))
    with pytest.raises(Unavailable, match="does not accept the operator's credentials"):
        spoilt.get(CONFIG_MAP, "shop", "a")


def test_a_service_account_s_token_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kubernetes.config import incluster_config

    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_text("certificate")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    kube = Kube.connect()
    assert kube.server.authorization() == "bearer first"
    assert kube.server.connection.server == "https://10.0.0.1:443"
    (tmp_path / "token").write_text("second")
    monkeypatch.setattr(incluster_config, "datetime", _InTwoMinutes)
    assert kube.server.authorization() == "bearer second"


class _InTwoMinutes:
    import datetime as _real

    timedelta = _real.timedelta

    class datetime:  # noqa: N801 (the module's name for it)
        @staticmethod
        def now() -> Any:
            import datetime

            return datetime.datetime.now() + datetime.timedelta(minutes=2)  # noqa: DTZ005 (as the client does)


def test_outside_of_a_cluster_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(_kubeconfig(tmp_path, "http://127.0.0.1:1")))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConfigError, match="Outside of a cluster, set --kubeconfig"):
        Kube.connect()


def test_a_kubeconfig_file_that_does_not_help_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        Kube.connect(kubeconfig=tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no-such-context"):
        Kube.connect(kubeconfig=_kubeconfig(tmp_path, "http://127.0.0.1:1"), context="no-such-context")


def _kubeconfig(folder: Path, server: str) -> Path:
    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    return path
