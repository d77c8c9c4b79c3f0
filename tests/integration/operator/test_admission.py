"""The webhook on a real API server: invalid objects are refused at apply, and nothing depends on the operator."""

import base64
import datetime
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_operator.admission import certificates
from penstock_operator.admission.trust import authority_secret
from penstock_operator.admission.webhook import Webhook
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import SECRET

from ...unit.operator.admission.world import DEFINITIONS, POLICIES, VERSIONS, WRONG, config_map, manifest, status
from ..api_servers import ApiServer
from ..cluster_api.api import Api, ApiRefused
from ..ports import free_port
from ..running import until
from .faults import FaultProxy
from .served_webhook import Appliers, Served, connector, fields, uncounted
from .test_operator import Running, document
from .test_status_topic import make

Json = dict[str, Any]
DAYS = 86_400.0


@pytest.fixture
def served(api: Api, kube: Kube, namespace: str, tmp_path: Path) -> Iterator[Served]:
    made = Served(api, kube, namespace, tmp_path)
    made.install()
    made.start()
    yield made
    made.remove()


@pytest.fixture(scope="module")
def shop(api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A namespace with policies and PluginVersions."""
    api = api_server.api
    namespace, kube = api.new_namespace(), Kube.connect(kubeconfig=api_server.kubeconfig)
    made = Served(api, kube, namespace, tmp_path_factory.mktemp("shop"))
    for resource in (*VERSIONS, *POLICIES):
        name = resource["metadata"]["name"]
        own = {**resource, "metadata": {"name": name, "namespace": namespace}}
        api.apply(own)
        if resource["kind"] == "PluginVersion" and (found := status(name)) is not None:
            api.apply({**{k: v for k, v in own.items() if k != "spec"}, "status": found}, part="status")
    for name in DEFINITIONS:
        api.apply(config_map(name, namespace))
    made.install()
    made.start()
    yield made
    made.remove()
    kube.close()


def test_kubectl_prints_all_problems_of_a_connector_at_a_dry_run(
    served: Served, api_server: ApiServer, tmp_path: Path
) -> None:
    wrong = {"batch.max.recods": "5", "batch.size": "many", "errors.tolerance": "some", "leftover": "x"}
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(connector(served.namespace, **wrong)))
    with pytest.raises(RuntimeError) as refused:
        api_server.kubectl("apply", "--dry-run=server", "--filename", str(file))
    text = str(refused.value)
    assert 'The Connector "orders-in" is invalid' in text
    assert "spec.config.batch.max.recods: " in text
    assert "did you mean batch.max.records?" in text
    assert "spec.config.batch.size: " in text
    assert "spec.config.errors.tolerance: " in text
    assert "Warning: spec.config.leftover: is not known to FileStreamSource" in text


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w["claim"])
def test_a_wrong_manifest_is_refused_at_apply_by_field(shop: Served, wrong: Json) -> None:
    resource, wanted = manifest(wrong, shop.namespace), wrong.get("refused", {})
    if not wanted:
        shop.api.apply(resource, dry_run=True)
        return
    with pytest.raises(ApiRefused) as refused:
        shop.api.apply(resource, dry_run=True)
    assert fields(refused.value) == wanted.keys()


def test_objects_are_applied_while_the_operator_is_unavailable(served: Served) -> None:
    served.stop()
    served.api.apply(connector(served.namespace, **{"batch.size": "many"}))
    served.start()
    assert served.is_asked()


def test_objects_are_applied_while_the_operator_hangs(served: Served) -> None:
    served.stop()
    with socket.create_server(("", served.port), backlog=8):  # it accepts connections, and is silent
        served.api.apply(connector(served.namespace, **{"batch.size": "many"}))


def test_an_object_that_became_invalid_is_edited_and_deleted(served: Served) -> None:
    served.stop()
    wrong = served.api.apply(connector(served.namespace, **{"batch.size": "many"}))
    served.start()
    served.api.merge(wrong, {"metadata": {"annotations": {"penstock.dev/restart": "1"}}})
    served.api.merge(wrong, {"spec": {"tasksMax": 2}})
    with pytest.raises(ApiRefused):
        served.api.merge(wrong, {"spec": {"config": {"errors.tolerance": "some"}}})
    served.api.delete(wrong)


def test_a_refusal_never_rests_on_what_was_read_earlier(shop: Served) -> None:
    (version,) = ({**v, "metadata": {**v["metadata"], "namespace": shop.namespace}} for v in VERSIONS[:1])
    own = connector(shop.namespace, "files-in")
    own["spec"] = {"class": "Files", "config": {}}
    verified = {**{k: v for k, v in version.items() if k != "spec"}, "status": status("files-1")}

    def is_refused() -> bool:
        try:
            shop.api.apply(own, dry_run=True)
        except ApiRefused as refused:
            return "spec.config.paths" in fields(refused)
        return False

    until(is_refused)
    shop.api.delete(version)
    try:
        shop.api.apply(own, dry_run=True)
    finally:
        shop.api.apply(version)
        shop.api.apply(verified, part="status")


def test_a_label_of_the_namespace_refuses_every_unknown_property(served: Served) -> None:
    leftover = connector(served.namespace, leftover="x")
    served.api.apply(leftover, dry_run=True)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": served.namespace}}

    def refuses(value: str | None) -> bool:
        served.api.merge(space, {"metadata": {"labels": {"penstock.dev/unknown-properties": value}}})
        try:
            served.api.apply(leftover, dry_run=True)
        except ApiRefused as e:
            return fields(e) == {"spec.config.leftover"}
        return False

    until(lambda: refuses("RefuseAll"))
    until(lambda: not refuses(None))


def test_a_namespace_of_another_release_is_not_reviewed(served: Served, api: Api) -> None:
    other = api.new_namespace()
    api.apply(connector(other, **{"batch.size": "many"}))


def test_the_authority_is_replaced_while_objects_are_applied(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.stop()
    monkeypatch.setattr(certificates, "_SKEW", datetime.timedelta(days=700))  # valid now, although made later
    later = [0.0]
    webhook = served.start(lambda: time.time() + later[0])
    before = served.trusted()
    with Appliers(served) as appliers:
        appliers.until_more(20)
        later[0] = 600 * DAYS
        webhook.renew()  # trusted from now on
        both = served.trusted()
        appliers.until_more(20)
        webhook.renew()  # signs from now on
        appliers.until_more(20)
        assert appliers.accepted == 0
    assert both.count("BEGIN CERTIFICATE") == 2
    assert before in both
    assert served.connects(served.port)


def test_a_deleted_authority_is_made_again(served: Served) -> None:
    assert served.webhook is not None
    before = served.trusted()
    served.kube.delete(SECRET, served.namespace, authority_secret(served.settings))
    served.webhook.renew()
    served.webhook.renew()
    assert served.trusted() != before
    until(served.is_asked)


def test_another_upgrade_of_the_release_keeps_the_certificate(served: Served) -> None:
    before = served.trusted()
    served.install()
    assert served.trusted() == before


def test_operators_of_a_release_that_start_together_share_one_authority(
    api: Api, kube: Kube, namespace: str, tmp_path: Path
) -> None:
    made = Served(api, kube, namespace, tmp_path)
    made.install()
    ports = [free_port() for _ in range(3)]
    all_settings = [
        made.settings.model_copy(update={"webhook": made.settings.webhook.model_copy(update={"port": port})})
        for port in ports
    ]
    webhooks = [Webhook(settings, kube, uncounted) for settings in all_settings]
    try:
        for webhook in webhooks:
            webhook.start()
        until(lambda: all(webhook.port is not None for webhook in webhooks))
        assert all(made.connects(port) for port in ports)
    finally:
        for webhook in webhooks:
            webhook.close()
        made.remove()


def test_a_certificate_of_another_controller_is_taken_over_when_it_is_renewed(
    api: Api, kube: Kube, namespace: str, tmp_path: Path
) -> None:
    made = Served(api, kube, namespace, tmp_path)
    made.install()
    host = f"{made.settings.webhook.service}.{namespace}.svc"
    own = made.settings.webhook.model_copy(update={"certificate": "Mounted"})
    webhook = Webhook(made.settings.model_copy(update={"webhook": own}), kube, uncounted, certificates=tmp_path)
    try:
        for n in range(2):
            authority = certificates.new_authority(f"cert-manager {n}", time.time())
            issued = authority.issue(host, time.time())
            (tmp_path / "tls.crt").write_bytes(issued.certificate)
            (tmp_path / "tls.key").write_bytes(issued.key)
            webhook.renew()
            there = api.get(made.configuration)
            for each in there["webhooks"]:
                each["clientConfig"]["caBundle"] = base64.b64encode(authority.certificate).decode()
            api.replace(there)
            assert made.connects(made.port)
    finally:
        webhook.close()
        made.remove()


@pytest.mark.slow
def test_an_operator_on_standby_answers_too(
    faults: FaultProxy, api: Api, kube: Kube, kafka: str, topic: str, namespace: str, tmp_path: Path
) -> None:
    make(kafka, topic)
    made = Served(api, kube, namespace, tmp_path)
    made.install()
    running: list[Running] = []
    try:
        for name in ("leader", "standby"):  # the Service leads to the second one
            webhook = {**made.document["webhook"], "port": made.port if name == "standby" else free_port()}
            settings = made.settings.of({**document(kafka, topic, namespace), "webhook": webhook})
            running.append(Running(faults.kubeconfig, settings, name).until_ready())
        until(made.is_asked)
        assert running[1].context is None
    finally:
        for each in running:
            each.stop()
        made.remove()
